use super::{Other, assert_one_command, class, codex, gemini, long_brief, one_command, opencode};
use crate::other_model::{Answer, Told};

const OTHERS: [Other; 3] = [codex::CODEX, gemini::GEMINI, opencode::OPENCODE];

#[test]
fn an_attempt_is_seen_and_comes_to_its_answer() {
    for other in OTHERS {
        let Some((model, place)) = other.with_model(one_command) else { continue };

        let (signs, report) = place.work("make it", other.named);

        assert_one_command(&signs, &report, &format!("{}: echo done > made", other.runs));
        assert_eq!(report.usage.map(|used| used.tokens), Some(30), "{}", other.runs);
        assert!(place.project().join("made").exists());
        assert_eq!(model.told().len(), 2, "no model is asked for anything else");
    }
}

#[test]
fn a_long_brief_arrives_whole() {
    for other in OTHERS {
        let says = |_: &Told| Answer::Say("read".into());
        let Some((model, place)) = other.with_model(says) else { continue };
        let brief = long_brief();

        let (_, report) = place.work(&brief, other.named);

        assert_eq!(report.result, "read");
        let holds = |told: &Told| matches!(told, Told::Text(said) if said.contains(&brief));
        assert!(model.told().iter().any(holds), "{}", other.runs);
    }
}

#[test]
fn ended_without_an_answer_it_broke_off() {
    for other in OTHERS {
        let Some((model, place)) = other.with_model(|_| Answer::Hang) else { continue };

        let at_work = place.start(&place.call("hello", other.named));
        model.wait_for(1);

        assert_eq!(class(&at_work.end().1), "crash", "{}", other.runs);
    }
}

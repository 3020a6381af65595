//! The agents that need only a shell.

use specum_core::agent::{Order, Report, Sign, Trouble, by_name};
use specum_core::completion;

use super::long_brief;
use crate::host::Workplace;

const SIGNAL: &str = "TASK_COMPLETE";

fn order<'a>(brief: &'a str, script: Option<&'a str>) -> Order<'a> {
    Order {
        brief: brief.as_bytes(),
        model: None,
        script,
        attempt: 3,
        signal: SIGNAL,
        max_cost: None,
    }
}

fn script(script: Option<&str>) -> (Vec<Sign>, Report) {
    let place = Workplace::new("script", "/bin/sh".into());
    let agent = by_name("script", None).expect("an agent");
    place.start(&agent.call(&order("", script))).wait()
}

fn command(line: &str, brief: &str) -> Report {
    let place = Workplace::new("command", "/bin/sh".into());
    let agent = by_name("command", Some(line)).expect("an agent");
    place.start(&agent.call(&order(brief, None))).wait().1
}

#[test]
fn a_script_that_succeeds_says_the_word() {
    let (signs, report) = script(Some("printf 'attempt %s' \"$SPECUM_ATTEMPT\"\ncat"));
    assert_eq!(report.result, "attempt 3\nTASK_COMPLETE\n");
    assert_eq!(report.trouble, None);
    assert_eq!(signs[0], Sign::Text { text: "attempt 3".into() });
}

#[test]
fn a_task_without_a_script_has_only_its_check() {
    assert!(completion::says(&script(None).1.result, SIGNAL));
}

#[test]
fn a_script_ends_at_its_first_failure_and_does_not_say_the_word() {
    for failing in ["false\necho on", "echo TASK_COMPLETE; exit 3", "exec false", "syntax ( error"]
    {
        let (_, report) = script(Some(failing));
        assert!(!completion::says(&report.result, SIGNAL), "{failing}: {report:?}");
        assert!(!report.result.contains("on\n"), "{failing}: {report:?}");
        assert_eq!(report.trouble, None, "{failing}");
    }
}

#[test]
fn a_command_reads_the_brief_and_its_output_is_the_answer() {
    assert_eq!(
        command("wc -c | tr -d ' '", &long_brief()).result.trim(),
        long_brief().len().to_string()
    );
    let report = command("cat >&2; exit 4", "it hurts");
    assert_eq!(report.trouble, Some(Trouble::Crash("ended with code 4: it hurts".into())));
}

#[test]
fn a_command_that_is_not_there_is_missing() {
    let report = command("no-such-agent --yes", "hello");
    let Some(Trouble::Missing(why)) = report.trouble else { panic!("{report:?}") };
    assert!(why.contains("no-such-agent"), "{why}");
}

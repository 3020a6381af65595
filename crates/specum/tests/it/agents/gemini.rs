//! Gemini CLI.

use serde_json::{Value, json};
use specum_core::agent::{Report, Sign, Trouble};

use super::{
    STOP_HOOK, assert_arrives_whole, assert_one_command, assert_told_apart, class, one_command,
};
use crate::host::{self, Workplace, settle_gemini};
use crate::other_model::{Answer, Api, OtherModel, Told};

/// Without a name it would ask a model which model to ask.
const MODEL: Option<&str> = Some("gemini-2.5-flash");

fn model(script: impl Fn(&Told) -> Answer + Send + Sync + 'static) -> OtherModel {
    OtherModel::start(Api::Gemini, script)
}

fn workplace(model: &OtherModel) -> Option<Workplace> {
    let place = Workplace::new("gemini", host::gemini()?)
        .env("GEMINI_API_KEY", "dummy")
        .env("GOOGLE_GEMINI_BASE_URL", &model.url());
    settle_gemini(&place.home());
    Some(place)
}

#[test]
fn an_attempt_is_seen_and_comes_to_its_answer() {
    let model = model(one_command);
    let Some(place) = workplace(&model) else { return };

    let (signs, report) = place.work("make it", MODEL);

    assert_one_command(&signs, &report, "run_shell_command: echo done > made");
    assert_eq!(report.usage.map(|used| used.tokens), Some(30));
    assert!(place.project().join("made").exists());
}

#[test]
fn a_long_brief_arrives_whole() {
    let model = model(|_| Answer::Say("read".into()));
    let Some(place) = workplace(&model) else { return };

    assert_arrives_whole(&model, &place, MODEL);
}

#[test]
fn failures_are_told_apart() {
    let error = |status: u16, message: &str, details: Value| json!({"error": {"code": status, "message": message, "status": "S", "details": details}});
    let daily = json!([{
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
    }]);
    let refusals = [
        (401, error(401, "no", json!([])), "authentication"),
        (
            400,
            error(400, "API key not valid. Please pass a valid API key.", json!([])),
            "authentication",
        ),
        (429, error(429, "You exceeded your current quota", daily), "rate-limit"),
        (404, error(404, "models/nope is not found", json!([])), "missing"),
    ];
    assert_told_apart(&refusals, |status, body| {
        let model = model(move |_| Answer::Refuse(status, body.clone()));
        Some(workplace(&model)?.work("hello", MODEL).1)
    });
}

#[test]
fn what_it_was_waiting_for_is_known_when_it_is_ended() {
    for (status, expected) in [(429, "rate-limit"), (500, "server")] {
        let model = model(move |_| Answer::Refuse(status, json!({"error": {"message": "oh"}})));
        let Some(place) = workplace(&model) else { return };

        let at_work = place.start(&place.call("hello", MODEL));
        // It has told of the first refusal before it asks again.
        model.wait_for(2);

        assert_eq!(class(&at_work.end().1), expected, "{status}");
    }
}

#[test]
fn ended_without_an_answer_it_broke_off() {
    let model = model(|_| Answer::Hang);
    let Some(place) = workplace(&model) else { return };

    let at_work = place.start(&place.call("hello", MODEL));
    model.wait_for(1);

    assert_eq!(class(&at_work.end().1), "crash");
}

#[test]
fn without_a_sign_in_it_says_so() {
    let model = model(|_| Answer::Hang);
    let Some(place) = workplace(&model) else { return };
    place.write("home/.gemini/settings.json", "{}");
    let place = place.env("GEMINI_API_KEY", "");

    let (_, report) = place.work("hello", None);

    assert!(matches!(report.trouble, Some(Trouble::NotAuthenticated(_))), "{report:?}");
}

fn hooks() -> Value {
    let hook = json!({"type": "command", "name": "loop", "command": "sh \"$HOME/stop.sh\""});
    json!({"AfterAgent": [{"hooks": [hook]}]})
}

#[test]
fn hooks_of_a_project_do_not_run() {
    let model = model(|_| Answer::Say("I stop here".into()));
    let Some(place) = workplace(&model) else { return };
    place.write("home/stop.sh", STOP_HOOK);
    place.write("project/.gemini/settings.json", &json!({"hooks": hooks()}).to_string());
    let mut call = place.call("hello", MODEL);
    let trace = place.home().join("hook-ran");

    place.start(&call).wait();

    assert!(!trace.exists());

    // In a project that is trusted in another way they do.
    call.args.retain(|arg| arg != "--skip-trust");
    call.env.push(("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()));
    place.start(&call).wait();

    assert!(trace.exists());
}

#[test]
fn a_hook_of_the_person_runs_and_does_no_harm() {
    let model = model(|told| match told {
        Told::Text(text) if text.contains("one more") => Answer::Say("TASK_COMPLETE".into()),
        _ => Answer::Say("I stop here".into()),
    });
    let Some(place) = workplace(&model) else { return };
    place.write("home/stop.sh", STOP_HOOK);
    let auth = json!({"auth": {"selectedType": "gemini-api-key"}});
    let settings = json!({"security": auth, "hooks": hooks()});
    place.write("home/.gemini/settings.json", &settings.to_string());

    let (signs, report) = place.work("hello", MODEL);

    assert!(place.home().join("hook-ran").exists(), "there is a switch now: use it");
    let Report { result, trouble, .. } = report;
    assert_eq!((result.as_str(), trouble), ("TASK_COMPLETE", None));
    assert!(signs.contains(&Sign::Text { text: "I stop here".into() }));
}

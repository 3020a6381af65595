//! Gemini CLI.

use serde_json::{Value, json};
use specum_core::agent::{Report, Sign, Trouble};

use super::{Other, STOP_HOOK};
use crate::host::{self, Workplace, settle_gemini};
use crate::other_model::{Answer, Api, OtherModel, Told};

pub(super) const GEMINI: Other = Other {
    api: Api::Gemini,
    // Without a name it would ask a model which model to ask.
    named: Some("gemini-2.5-flash"),
    runs: "run_shell_command",
    settle: workplace,
};

fn workplace(model: &OtherModel) -> Option<Workplace> {
    let place = Workplace::new("gemini", host::gemini()?)
        .env("GEMINI_API_KEY", "dummy")
        .env("GOOGLE_GEMINI_BASE_URL", &model.url());
    settle_gemini(&place.home());
    Some(place)
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
    GEMINI.assert_told_apart(&refusals);
}

#[test]
fn what_it_was_waiting_for_is_known_when_it_is_ended() {
    GEMINI.assert_known_when_ended(&[(429, "oh", "rate-limit"), (500, "oh", "server")]);
}

#[test]
fn without_a_sign_in_it_says_so() {
    let Some((_model, place)) = GEMINI.with_model(|_| Answer::Hang) else { return };
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
    let stops = |_: &_| Answer::Say("I stop here".into());
    let Some((_model, place)) = GEMINI.with_model(stops) else { return };
    place.write("home/stop.sh", STOP_HOOK);
    place.write("project/.gemini/settings.json", &json!({"hooks": hooks()}).to_string());
    let mut call = place.call("hello", GEMINI.named);
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
    let stops_twice = |told: &Told| match told {
        Told::Text(text) if text.contains("one more") => Answer::Say("TASK_COMPLETE".into()),
        _ => Answer::Say("I stop here".into()),
    };
    let Some((_model, place)) = GEMINI.with_model(stops_twice) else { return };
    place.write("home/stop.sh", STOP_HOOK);
    let auth = json!({"auth": {"selectedType": "gemini-api-key"}});
    let settings = json!({"security": auth, "hooks": hooks()});
    place.write("home/.gemini/settings.json", &settings.to_string());

    let (signs, report) = place.work("hello", GEMINI.named);

    assert!(place.home().join("hook-ran").exists(), "there is a switch now: use it");
    let Report { result, trouble, .. } = report;
    assert_eq!((result.as_str(), trouble), ("TASK_COMPLETE", None));
    assert!(signs.contains(&Sign::Text { text: "I stop here".into() }));
}

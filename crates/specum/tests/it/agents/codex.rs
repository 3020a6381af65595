//! Codex.

use serde_json::json;
use specum_core::agent::{Reset, Sign, Trouble};

use super::{Other, STOP_HOOK};
use crate::host::{self, Workplace, settle_codex};
use crate::other_model::{Answer, Api, OtherModel};

pub(super) const CODEX: Other =
    Other { api: Api::Responses, named: Some("gpt-5"), runs: "Bash", settle: workplace };

fn workplace(model: &OtherModel) -> Option<Workplace> {
    let place = Workplace::new("codex", host::codex()?)
        .env("MOCK_KEY", "dummy")
        // It names times by the clock on the wall.
        .env("TZ", "UTC");
    settle_codex(&place.home(), &model.url());
    Some(place)
}

#[test]
fn failures_are_told_apart() {
    let refusals = [
        (401, json!({"error": {"message": "no"}}), "authentication"),
        (429, json!({"error": {"message": "slow down"}}), "rate-limit"),
        (429, json!({"error": {"type": "insufficient_quota", "message": "m"}}), "rate-limit"),
        (500, json!({"error": {"message": "oh"}}), "server"),
        (
            400,
            json!({"error": {"code": "context_length_exceeded", "message": "m"}}),
            "context-overflow",
        ),
        (404, json!({"error": {"message": "no such model"}}), "missing"),
    ];
    CODEX.assert_told_apart(&refusals);
}

#[test]
fn a_subscription_tells_when_its_limit_ends() {
    let refuses = |_: &_| {
        let error = json!({"type": "usage_limit_reached", "message": "m", "plan_type": "plus", "resets_at": 4_102_444_800_u64});
        Answer::Refuse(429, json!({"error": error}))
    };
    let Some((_model, place)) = CODEX.with_model(refuses) else { return };

    let (_, report) = place.work("hello", None);

    let Some(Trouble::RateLimited { reset, .. }) = report.trouble else { panic!("{report:?}") };
    assert_eq!(reset, Some(Reset::Local("2100-01-01T00:00:00".into())));
}

#[test]
fn a_lost_connection_is_told() {
    let body = json!({"error": {"message": "oh"}});
    let Some((_model, place)) = CODEX.refused(500, body) else { return };

    let (signs, _) = place.work("hello", None);

    assert!(signs.iter().any(|sign| matches!(sign, Sign::Retrying { .. })), "{signs:?}");
}

#[test]
fn hooks_of_the_person_do_not_run() {
    let stops = |_: &_| Answer::Say("I stop here".into());
    let Some((model, place)) = CODEX.with_model(stops) else { return };
    place.write("home/stop.sh", STOP_HOOK);
    let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh \"$HOME/stop.sh\""}]}]}}"#;
    place.write("home/.codex/hooks.json", hooks);
    trust_hook(&place);
    let mut call = place.call("hello", None);
    let trace = place.home().join("hook-ran");

    place.start(&call).wait();

    assert!(!trace.exists());
    assert_eq!(model.told().len(), 1);

    // Without the switch they do.
    let switch = call.args.iter().position(|arg| arg == "-c").expect("the switch");
    call.args.drain(switch..switch + 2);
    place.start(&call).wait();

    assert!(trace.exists());
    assert_eq!(model.told().len(), 3, "the hook sent it on");
}

/// Writes what Codex writes when a person trusts this very hook.
fn trust_hook(place: &Workplace) {
    const HASH: &str = "f9f2f701b89fae137644a8afe5873344298d384f892d615e2e8e6e08a70000f0";
    let config = std::fs::read_to_string(place.home().join(".codex/config.toml")).expect("settled");
    let hooks = place.home().join(".codex/hooks.json");
    let state = format!(
        "{config}\n[hooks.state.\"{}:stop:0:0\"]\ntrusted_hash = \"sha256:{HASH}\"\n",
        hooks.display()
    );
    place.write("home/.codex/config.toml", &state);
}

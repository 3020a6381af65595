//! opencode.

use serde_json::json;

use super::{Other, class, one_command};
use crate::host::{self, Workplace, settle_opencode};
use crate::other_model::{Answer, Api, OtherModel};

pub(super) const OPENCODE: Other =
    Other { api: Api::Chat, named: Some("mock/mock-1"), runs: "bash", settle: workplace };

fn workplace(model: &OtherModel) -> Option<Workplace> {
    let place = Workplace::new("opencode", host::opencode()?)
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
    settle_opencode(&place.home(), &model.url());
    Some(place)
}

#[test]
fn failures_are_told_apart() {
    let refusals = [
        (401, json!({"error": {"message": "no"}}), "authentication"),
        (
            400,
            json!({"error": {"code": "context_length_exceeded", "message": "m"}}),
            "context-overflow",
        ),
    ];
    OPENCODE.assert_told_apart(&refusals);
}

#[test]
fn what_it_was_waiting_for_is_known_when_it_is_ended() {
    OPENCODE.assert_known_when_ended(&[
        (429, "Rate limit reached", "rate-limit"),
        (500, "Internal Server Error", "server"),
    ]);
}

#[test]
fn it_counts_what_it_costs() {
    let Some((_model, place)) = OPENCODE.with_model(one_command) else { return };

    let (_, report) = place.work("make it", None);

    assert!(report.usage.and_then(|used| used.cost).is_some_and(|cost| cost > 0.0), "{report:?}");
}

#[test]
fn a_model_that_it_does_not_know_is_missing() {
    let Some((_model, place)) = OPENCODE.with_model(|_| Answer::Hang) else { return };

    let (_, report) = place.work("hello", Some("mock/nope"));

    assert_eq!(class(&report), "missing");
}

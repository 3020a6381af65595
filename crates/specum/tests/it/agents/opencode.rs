//! opencode.

use serde_json::json;

use super::{assert_arrives_whole, assert_one_command, assert_told_apart, class, one_command};
use crate::host::{self, Workplace, settle_opencode};
use crate::other_model::{Answer, Api, OtherModel, Told};

fn model(script: impl Fn(&Told) -> Answer + Send + Sync + 'static) -> OtherModel {
    OtherModel::start(Api::Chat, script)
}

fn workplace(model: &OtherModel) -> Option<Workplace> {
    let place = Workplace::new("opencode", host::opencode()?)
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
    settle_opencode(&place.home(), &model.url());
    Some(place)
}

#[test]
fn an_attempt_is_seen_and_comes_to_its_answer() {
    let model = model(one_command);
    let Some(place) = workplace(&model) else { return };

    let (signs, report) = place.work("make it", Some("mock/mock-1"));

    assert_one_command(&signs, &report, "bash: echo done > made");
    let used = report.usage.expect("it counts");
    assert_eq!(used.tokens, 30);
    assert!(used.cost.is_some_and(|cost| cost > 0.0));
    assert!(place.project().join("made").exists());
    assert_eq!(model.told().len(), 2, "no model is asked for a title");
}

#[test]
fn a_long_brief_arrives_whole() {
    let model = model(|_| Answer::Say("read".into()));
    let Some(place) = workplace(&model) else { return };

    assert_arrives_whole(&model, &place, None);
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
    assert_told_apart(&refusals, |status, body| {
        let model = model(move |_| Answer::Refuse(status, body.clone()));
        Some(workplace(&model)?.work("hello", None).1)
    });
}

#[test]
fn a_model_that_it_does_not_know_is_missing() {
    let model = model(|_| Answer::Hang);
    let Some(place) = workplace(&model) else { return };

    let (_, report) = place.work("hello", Some("mock/nope"));

    assert_eq!(class(&report), "missing");
}

#[test]
fn what_it_was_waiting_for_is_known_when_it_is_ended() {
    for (status, message, expected) in
        [(429, "Rate limit reached", "rate-limit"), (500, "Internal Server Error", "server")]
    {
        let model = model(move |_| Answer::Refuse(status, json!({"error": {"message": message}})));
        let Some(place) = workplace(&model) else { return };

        let at_work = place.start(&place.call("hello", None));
        // It has told of the first refusal before it asks again.
        model.wait_for(2);

        assert_eq!(class(&at_work.end().1), expected, "{message}");
    }
}

#[test]
fn ended_without_an_answer_it_broke_off() {
    let model = model(|_| Answer::Hang);
    let Some(place) = workplace(&model) else { return };

    let at_work = place.start(&place.call("hello", None));
    model.wait_for(1);

    assert_eq!(class(&at_work.end().1), "crash");
}

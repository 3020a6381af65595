use std::collections::BTreeSet;

use super::*;
use crate::authoring::{Event, Profile, step};
use crate::spec::Doc;

/// A session that has begun to plan and has asked for its work.
fn planned(events: impl IntoIterator<Item = Event>) -> Stage {
    let mut planning = Planning::new(Profile::Standard, false, BTreeSet::from(Doc::ALL));
    for event in events {
        planning = step(&planning, event).unwrap().planning;
    }
    Stage::with(|stage| {
        stage.tasks = None;
        stage.stake = Stake::Asked;
        stage.state().phase = Phase::Other("requirements".into());
        stage.state().planning = Some(planning);
    })
}

fn good(doc: Doc) -> [Event; 2] {
    [Event::Open(doc), Event::Valid { doc, digest: "1".into(), stale: Vec::new() }]
}

fn agreed(doc: Doc) -> [Event; 3] {
    let [open, valid] = good(doc);
    [open, valid, Event::Approve { doc, digest: "1".into() }]
}

fn all() -> Vec<Event> {
    [Doc::Requirements, Doc::Design, Doc::Tasks].into_iter().flat_map(agreed).collect()
}

fn planning(stage: &mut Stage) -> &mut Planning {
    stage.state().planning.as_mut().unwrap()
}

fn told(stage: &mut Stage) -> String {
    match stage.stop().output {
        HookOutput::Tell(text) => text,
        other => panic!("expected a word for the person, got {other:?}"),
    }
}

#[test]
fn a_document_that_is_due_sends_the_session_back() {
    let reason = planned([]).reason();
    assert!(reason.contains("`phase requirements` for `ralph-specum:product-manager`"), "{reason}");
    let reason = planned(agreed(Doc::Requirements)).reason();
    assert!(reason.contains("`phase design` for `ralph-specum:architect-reviewer`"), "{reason}");
    let mut stage = planned([]);
    stage.input.host = Host::Codex;
    let reason = stage.reason();
    assert!(reason.contains("specum finish requirements") && !reason.contains("Agent"), "{reason}");
}

#[test]
fn a_host_that_numbers_its_turns_hears_it_as_guidance() {
    let mut stage = planned([]);
    stage.input.turn_id = Some("7".into());
    match stage.stop().output {
        HookOutput::Guide { context, system_message } => {
            assert!(context.contains("`phase requirements`"), "{context}");
            assert_eq!(system_message, "demo: now requirements.md");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_that_all_is_done_lets_no_document_go() {
    let mut stage = planned([]);
    stage.message = Some("ALL_TASKS_COMPLETE");
    assert!(stage.reason().contains("`phase requirements`"));
}

#[test]
fn a_session_stops_where_a_person_is_waited_for() {
    let mut stage = planned(good(Doc::Requirements));
    let text = told(&mut stage);
    assert!(text.contains("requirements.md waits for you. /ralph-specum:approve"), "{text}");
    stage.input.host = Host::Gemini;
    assert!(told(&mut stage).contains("`specum approve`"));
    let doc = Doc::Requirements;
    let invalid = [Event::Open(doc), Event::Invalid(doc), Event::Invalid(doc), Event::Invalid(doc)];
    let text = told(&mut planned(invalid));
    assert!(text.contains("requirements.md has used its tries"), "{text}");
}

#[test]
fn a_plan_that_is_approved_lets_go_unless_the_work_was_asked_for() {
    let mut stage = planned(all());
    assert!(told(&mut stage).contains("the plan of demo is approved. /ralph-specum:implement"));
    planning(&mut stage).quick = true;
    assert!(stage.reason().contains("Every document is approved"));
    planning(&mut stage).plan_only = true;
    assert!(stage.is_silent());
}

#[test]
fn a_persons_own_turn_may_end_while_a_document_is_due() {
    let mut stage = planned([]);
    stage.stake = Stake::PersonsTurn;
    let text = told(&mut stage);
    assert!(text.contains("waits at requirements.md. /ralph-specum:start goes on"), "{text}");
}

#[test]
fn others_and_a_paused_planning_are_left_alone() {
    let mut stage = planned([]);
    stage.stake = Stake::None;
    assert!(stage.is_silent());
    let mut stage = planned([]);
    stage.state().standing = Standing::Paused(None);
    assert!(stage.is_silent());
}

#[test]
fn a_planning_that_does_not_move_is_let_go_and_one_that_does_is_not() {
    let mut stage = planned([]);
    stage.input.stop_hook_active = false;
    stage.reason();
    stage.input.stop_hook_active = true;
    assert!(stage.reason().contains("(1 of 2)"));
    assert!(stage.reason().contains("(2 of 2)"));
    let text = told(&mut stage);
    assert!(text.contains("Open: requirements.md."), "{text}");

    let mut stage = planned([Event::Open(Doc::Requirements)]);
    stage.reason();
    stage.input.stop_hook_active = true;
    let moved = step(planning(&mut stage), Event::Invalid(Doc::Requirements)).unwrap().planning;
    *planning(&mut stage) = moved;
    assert!(!stage.reason().contains("of 2"), "another try is progress");
}

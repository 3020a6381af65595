use proptest::prelude::*;

use super::*;

fn all() -> BTreeSet<Doc> {
    BTreeSet::from(Doc::ALL)
}

fn valid_of(doc: Doc) -> Event {
    Event::Valid { doc, digest: format!("digest of {doc}"), stale: Vec::new() }
}

/// What these events lead to.
fn after(planning: Planning, events: impl IntoIterator<Item = Event>) -> Planning {
    events.into_iter().fold(planning, |planning, event| step(&planning, event).unwrap().planning)
}

fn approve_of(doc: Doc) -> Event {
    Event::Approve { doc, digest: format!("digest of {doc}") }
}

/// A standard planning in which everything is approved.
fn finished() -> Planning {
    let events = Profile::Standard
        .docs()
        .iter()
        .flat_map(|doc| [Event::Open(*doc), valid_of(*doc), approve_of(*doc)]);
    after(Planning::new(Profile::Standard, false, all()), events)
}

#[test]
fn each_document_is_written_judged_and_approved_in_its_turn() {
    let mut planning = Planning::new(Profile::Full, false, all());
    for doc in Doc::ALL {
        assert_eq!(planning.due(), Due::Author(doc));
        planning = after(planning, [Event::Open(doc), valid_of(doc)]);
        assert_eq!(planning.due(), Due::Approve(doc));
        let agreed = step(&planning, approve_of(doc)).unwrap();
        assert_eq!(agreed.effects.last(), Some(&Effect::Commit(doc, ApprovedBy::Person)));
        planning = agreed.planning;
    }
    assert_eq!(planning.due(), Due::Start);
    planning.plan_only = true;
    assert_eq!(planning.due(), Due::Nothing);
}

#[test]
fn nobody_is_asked_in_quick_mode_in_a_small_spec_and_where_the_settings_say_so() {
    let by = |planning: Planning| {
        let doc = planning.profile.docs()[0];
        let open = after(planning, [Event::Open(doc)]);
        step(&open, valid_of(doc)).unwrap().effects.last().copied()
    };
    let quick = by(Planning::new(Profile::Standard, true, all()));
    assert_eq!(quick, Some(Effect::Commit(Doc::Requirements, ApprovedBy::Quick)));
    let small = by(Planning::new(Profile::Small, false, all()));
    assert_eq!(small, Some(Effect::Commit(Doc::Tasks, ApprovedBy::Setting)));
    let setting = by(Planning::new(Profile::Standard, false, [Doc::Design].into()));
    assert_eq!(setting, Some(Effect::Commit(Doc::Requirements, ApprovedBy::Setting)));
    let asked = by(Planning::new(Profile::Standard, false, all()));
    assert_eq!(asked, Some(Effect::Ask(Doc::Requirements)));
}

#[test]
fn an_author_who_is_wrong_three_times_is_not_asked_again() {
    let doc = Doc::Requirements;
    let open = after(Planning::new(Profile::Standard, false, all()), [Event::Open(doc)]);
    let first = step(&open, Event::Invalid(doc)).unwrap();
    assert_eq!(first.effects, [Effect::SendBack(doc)]);
    let second = step(&first.planning, Event::Invalid(doc)).unwrap();
    let third = step(&second.planning, Event::Invalid(doc)).unwrap();
    assert_eq!(third.effects, [Effect::Block(doc)]);
    assert_eq!(third.planning.due(), Due::Fix(doc));
    assert_eq!(step(&third.planning, Event::Open(doc)), Err(Refused::NotDue(doc)));
    let resumed = after(third.planning, [Event::Resume(doc), Event::Open(doc)]);
    assert_eq!(resumed.document(doc).attempts, 1);
}

#[test]
fn a_try_that_was_interrupted_does_not_count() {
    let doc = Doc::Requirements;
    let begun = Planning::new(Profile::Standard, false, all());
    let again = after(begun, [Event::Open(doc), Event::Abandon(doc), Event::Open(doc)]);
    assert_eq!(again.document(doc).attempts, 1);
    let revised = after(
        finished(),
        [Event::Revise { doc, text: "x".into() }, Event::Open(doc), Event::Abandon(doc)],
    );
    assert_eq!(revised.document(doc).status, Status::Stale, "what was good once is revised");
    assert_eq!(revised.document(doc).feedback.as_deref(), Some("x"));
}

#[test]
fn what_has_changed_since_it_was_shown_is_not_approved() {
    let doc = Doc::Requirements;
    let begun = Planning::new(Profile::Standard, false, all());
    let written = after(begun, [Event::Open(doc), valid_of(doc)]);
    let other = Event::Approve { doc, digest: "another".into() };
    assert_eq!(step(&written, other), Err(Refused::Changed(doc)));
    assert_eq!(step(&written, Event::Open(Doc::Design)), Err(Refused::NotDue(doc)));
}

#[test]
fn a_revision_makes_stale_only_what_stands_on_it() {
    let doc = Doc::Requirements;
    let open = after(finished(), [Event::Revise { doc, text: "x".into() }, Event::Open(doc)]);
    let valid = Event::Valid { doc, digest: "new".into(), stale: vec![Doc::Tasks] };
    let revised = after(open, [valid, Event::Approve { doc, digest: "new".into() }]);
    assert_eq!(revised.document(Doc::Design).status, Status::Approved);
    assert_eq!(revised.document(Doc::Tasks).status, Status::Stale);
    assert_eq!(revised.due(), Due::Author(Doc::Tasks));
    let edited = after(finished(), [Event::Edited(vec![Doc::Design])]);
    assert_eq!(edited.due(), Due::Author(Doc::Design));
}

#[test]
fn an_author_whose_ground_has_moved_begins_again() {
    let tasks = Doc::Tasks;
    let again = Event::Revise { doc: tasks, text: "x".into() };
    let open = after(finished(), [again, Event::Open(tasks)]);
    let moved = step(&open, Event::Edited(vec![Doc::Design])).unwrap();
    assert_eq!(moved.effects, [Effect::Withdraw(tasks)]);
    assert_eq!(moved.planning.document(tasks).attempts, 0, "the try does not count");
    assert_eq!(moved.planning.due(), Due::Author(Doc::Design));
}

#[test]
fn a_document_that_the_size_leaves_out_is_refused() {
    let small = Planning::new(Profile::Small, false, all());
    let refused = step(&small, Event::Open(Doc::Design)).unwrap_err();
    assert_eq!(refused.to_string(), "this spec has no design.md; its size leaves it out");
}

#[test]
fn a_state_without_phases_has_no_planning() {
    let state = serde_json::json!({"phase": "design", "quickMode": true});
    assert_eq!(Planning::of_state(state.as_object().unwrap()), None);
    let broken = serde_json::json!({"phases": {"design": {"status": "later"}}});
    assert_eq!(Planning::of_state(broken.as_object().unwrap()), None);
}

fn docs() -> impl Strategy<Value = Doc> {
    proptest::sample::select(&Doc::ALL[..])
}

fn events() -> impl Strategy<Value = Event> {
    let digest = || proptest::sample::select(vec!["a".to_owned(), "b".to_owned()]);
    prop_oneof![
        4 => docs().prop_map(Event::Open),
        1 => docs().prop_map(Event::Abandon),
        2 => docs().prop_map(Event::Invalid),
        4 => (docs(), digest(), proptest::collection::vec(docs(), 0..3))
            .prop_map(|(doc, digest, stale)| Event::Valid { doc, digest, stale }),
        4 => (docs(), digest()).prop_map(|(doc, digest)| Event::Approve { doc, digest }),
        1 => docs().prop_map(|doc| Event::Revise { doc, text: "x".into() }),
        1 => proptest::collection::vec(docs(), 0..3).prop_map(Event::Edited),
        1 => docs().prop_map(Event::Resume),
    ]
}

proptest! {
    /// Whatever happens: at most one document is open, all before it are approved, no try
    /// is above the limit, what is approved was judged good, and the state file keeps it.
    #[test]
    fn order_tries_and_approvals_hold_whatever_happens(
        profile in proptest::sample::select(vec![Profile::Small, Profile::Standard, Profile::Full]),
        quick in any::<bool>(),
        happens in proptest::collection::vec(events(), 0..60),
    ) {
        let mut planning = Planning::new(profile, quick, all());
        let mut is_good: BTreeSet<Doc> = BTreeSet::new();
        for event in happens {
            let judged = match &event {
                Event::Valid { doc, .. } => Some(*doc),
                _ => None,
            };
            let Ok(step) = step(&planning, event) else { continue };
            planning = step.planning;
            is_good.extend(judged);
            let status = |doc: &Doc| planning.document(*doc).status;
            let docs = profile.docs();
            let open: Vec<&Doc> = docs.iter().filter(|doc| status(doc) == Status::Open).collect();
            prop_assert!(open.len() <= 1);
            for doc in open {
                let before = docs.iter().take_while(|other| *other != doc);
                prop_assert!(before.into_iter().all(|other| status(other) == Status::Approved));
            }
            for doc in docs {
                prop_assert!(planning.document(*doc).attempts <= planning.max_attempts);
                let is_built_on = matches!(status(doc), Status::Approved | Status::Written);
                prop_assert!(!is_built_on || is_good.contains(doc));
                prop_assert!(!quick || status(doc) != Status::Written);
            }
            prop_assert_eq!(Planning::of_state(&planning.fields()), Some(planning.clone()));
        }
    }
}

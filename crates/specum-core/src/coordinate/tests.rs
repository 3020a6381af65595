use super::*;
use crate::agent::{Measures, Report, Sign, Usage};
use crate::budget::Charge;

const PATIENCE: Patience = Patience { task: 600_000, idle: 60_000 };
const BOTH: Measures = Measures { tokens: true, cost: true };

fn candidate(name: &str) -> Candidate {
    Candidate { name: name.into(), measures: BOTH, sign_in: format!("sign in to {name}") }
}

/// A run with these agents and places, and the time it has come to.
struct Story {
    run: Coordinator,
    now: Millis,
}

impl Story {
    fn new(agents: &[&str], places: usize) -> Story {
        Story::with_budget(agents, places, Budget::default())
    }

    fn with_budget(agents: &[&str], places: usize, budget: Budget) -> Story {
        let candidates = agents.iter().map(|name| candidate(name)).collect();
        Story { run: Coordinator::new(candidates, PATIENCE, budget, places), now: 0 }
    }

    fn on(&mut self, input: Input) -> Vec<Action> {
        self.run.handle(self.now, self.now, input)
    }

    /// The run begins: it asks what is due.
    fn begins(&mut self) {
        assert_eq!(self.on(Input::Tick), [Action::Open]);
    }

    /// These attempts are found to be due; gives the starts that follow.
    fn opens(&mut self, work: Vec<OpenWork>) -> Vec<Launch> {
        let actions = self.on(Input::Opened(work));
        starts(&actions)
    }

    fn ends(&mut self, launch: Launch, report: Report) -> Vec<Action> {
        self.on(Input::Ended(AgentEnd { launch, report, changed: true, resets_in: None }))
    }

    /// An agent that changed nothing ends with trouble.
    fn fails(&mut self, launch: Launch, trouble: Trouble) -> Vec<Action> {
        let report = Report { trouble: Some(trouble), ..Report::default() };
        self.on(Input::Ended(AgentEnd { launch, report, changed: false, resets_in: None }))
    }
}

fn id(name: &str) -> AttemptId {
    AttemptId::from(name)
}

/// A task in sequence, in the user's tree.
fn alone(name: &str) -> OpenWork {
    let (attempt, task) = (id(name), name.to_owned());
    OpenWork { attempt, task, place: 0, site: Site::Tree, stands: Stands::NeedsAgent }
}

/// A task of a group, at a place of the plan.
fn member(name: &str, place: usize) -> OpenWork {
    OpenWork { place, site: Site::Worktree, ..alone(name) }
}

fn starts(actions: &[Action]) -> Vec<Launch> {
    let start = |action: &Action| match action {
        Action::Start { launch, .. } => Some(*launch),
        _ => None,
    };
    actions.iter().filter_map(start).collect()
}

/// The actions without charges, which are looked at by themselves.
fn but_charges(actions: Vec<Action>) -> Vec<Action> {
    actions.into_iter().filter(|action| !matches!(action, Action::Charge { .. })).collect()
}

fn done() -> Report {
    Report { usage: Some(Usage { tokens: 10, cost: Some(1.0) }), ..Report::default() }
}

fn limited() -> Trouble {
    Trouble::RateLimited { why: "429".into(), reset: None }
}

#[test]
fn a_task_in_sequence_is_opened_worked_judged_and_followed_by_the_next() {
    let mut story = Story::new(&["claude"], 4);
    story.begins();
    let launches = story.opens(vec![alone("a")]);
    assert_eq!(launches, [Launch(1)]);
    let actions = but_charges(story.ends(Launch(1), done()));
    assert_eq!(actions, [Action::Integrate(id("a"))]);
    assert_eq!(story.on(Input::Tick), [], "one thing at a time in the user's tree");
    assert_eq!(story.on(Input::Settled(id("a"))), [Action::Open]);
    let complete = Action::Finish(Outcome::Complete);
    assert_eq!(story.on(Input::NothingDue(Outcome::Complete)), [complete]);
    assert_eq!(story.on(Input::Tick), [], "nothing follows the end");
}

#[test]
fn a_check_that_passes_needs_no_agent_and_one_that_fails_does() {
    for passes in [true, false] {
        let mut story = Story::new(&["claude"], 1);
        story.begins();
        let work = OpenWork { stands: Stands::NeedsCheck, ..alone("v") };
        assert_eq!(story.on(Input::Opened(vec![work])), [Action::Check(id("v"))]);
        if passes {
            assert_eq!(story.on(Input::Settled(id("v"))), [Action::Open]);
        } else {
            assert_eq!(starts(&story.on(Input::CheckFailed(id("v")))), [Launch(1)]);
        }
    }
}

#[test]
fn results_are_integrated_in_the_order_of_the_plan_as_soon_as_those_before_them_are() {
    let mut story = Story::new(&["claude"], 3);
    story.begins();
    let group = vec![member("a", 0), member("b", 1), member("c", 2)];
    let launches = story.opens(group);
    assert_eq!(launches.len(), 3);
    for launch in &launches[1..] {
        story.ends(*launch, done());
    }
    let later = but_charges(story.on(Input::Ready(id("c"))));
    assert!(!later.contains(&Action::Integrate(id("c"))), "{later:?}");
    story.on(Input::Ready(id("b")));
    story.ends(launches[0], done());
    let first = story.on(Input::Ready(id("a")));
    assert!(first.contains(&Action::Integrate(id("a"))), "{first:?}");
    let second = story.on(Input::Settled(id("a")));
    assert!(second.contains(&Action::Integrate(id("b"))), "{second:?}");
    let third = story.on(Input::Settled(id("b")));
    assert!(third.contains(&Action::Integrate(id("c"))), "{third:?}");
}

#[test]
fn a_task_that_is_added_in_front_of_one_that_is_ready_is_integrated_before_it() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    let launches = story.opens(vec![member("a", 0), member("c", 1)]);
    story.ends(launches[1], done());
    assert_eq!(story.on(Input::Ready(id("c"))), [Action::Join { room: 1 }]);
    // A person has written `b` in front of `c` meanwhile.
    let moved = |name, place| OpenWork { stands: Stands::UnderWay, ..member(name, place) };
    let joined = story.on(Input::Opened(vec![
        member("b", 1),
        moved("a", 0),
        moved("c", 2),
        moved("of another run", 3),
    ]));
    assert_eq!(starts(&joined), [Launch(3)]);
    story.ends(launches[0], done());
    let first = story.on(Input::Ready(id("a")));
    assert!(first.contains(&Action::Integrate(id("a"))), "{first:?}");
    let next = story.on(Input::Settled(id("a")));
    assert!(!next.contains(&Action::Integrate(id("c"))), "{next:?}");
    story.ends(Launch(3), done());
    let second = story.on(Input::Ready(id("b")));
    assert!(second.contains(&Action::Integrate(id("b"))), "{second:?}");
    let last = story.on(Input::Settled(id("b")));
    assert!(last.contains(&Action::Integrate(id("c"))), "{last:?}");
}

#[test]
fn a_place_that_gets_free_takes_the_next_task_of_the_group_at_once() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    let launches = story.opens(vec![member("a", 0), member("b", 1)]);
    // The second one is through; the first one, and with it the tree, is not.
    story.ends(launches[1], done());
    assert_eq!(story.on(Input::Ready(id("b"))), [Action::Join { room: 1 }]);
    assert_eq!(story.on(Input::Tick), [], "asked once");
    let joined = story.on(Input::Opened(vec![member("c", 2)]));
    assert_eq!(starts(&joined), [Launch(3)]);
    // Nobody more may join, until something is settled.
    story.ends(Launch(3), done());
    assert_eq!(story.on(Input::Ready(id("c"))), [Action::Join { room: 1 }]);
    assert_eq!(story.on(Input::Opened(Vec::new())), []);
    story.ends(launches[0], done());
    let actions = story.on(Input::Ready(id("a")));
    assert_eq!(actions, [Action::Integrate(id("a"))]);
    assert!(story.on(Input::Settled(id("a"))).contains(&Action::Join { room: 2 }));
}

#[test]
fn no_more_are_worked_on_at_once_than_there_are_places() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    // Begun by somebody who had more places.
    let batch = vec![member("a", 0), member("b", 1), member("c", 2)];
    assert_eq!(story.opens(batch), [Launch(1), Launch(2)]);
    assert_eq!(starts(&story.ends(Launch(2), done())), [], "its check runs in its place");
    assert_eq!(starts(&story.on(Input::Ready(id("b")))), [Launch(3)]);
}

#[test]
fn what_was_ready_in_an_earlier_run_needs_no_agent() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    let ready = OpenWork { stands: Stands::Ready, ..member("a", 0) };
    let actions = story.on(Input::Opened(vec![ready, member("b", 1)]));
    assert_eq!(starts(&actions), [Launch(1)]);
    assert!(actions.contains(&Action::Integrate(id("a"))), "{actions:?}");
}

#[test]
fn a_limit_is_waited_for_told_once_and_no_attempt() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    let actions = but_charges(story.fails(Launch(1), limited()));
    let wait = Action::TellWait { agent: 0, millis: 30_000, why: "429".into() };
    assert_eq!(actions, [wait]);
    assert_eq!(story.on(Input::Tick), []);
    story.now += 30_000;
    assert_eq!(starts(&story.on(Input::Tick)), [Launch(2)]);
}

#[test]
fn another_agent_takes_over_and_that_is_told() {
    let mut story = Story::new(&["claude", "codex"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    let actions = but_charges(story.fails(Launch(1), limited()));
    let change = Action::TellChange { from: 0, to: 1, why: "429".into() };
    assert_eq!(actions[0], change);
    assert_eq!(starts(&actions), [Launch(2)]);
}

#[test]
fn without_an_agent_that_is_signed_in_the_run_says_how_to_sign_in() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    let actions = story.fails(Launch(1), Trouble::NotAuthenticated("401".into()));
    let why = match actions.last() {
        Some(Action::Finish(Outcome::NoAgent { why })) => why,
        other => panic!("{other:?}"),
    };
    assert!(why.ends_with(". sign in to claude"), "{why}");
}

#[test]
fn whoever_is_silent_or_takes_too_long_is_ended_until_its_end_is_told() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    story.now = PATIENCE.idle;
    assert_eq!(story.on(Input::Tick), [Action::End(Launch(1))]);
    assert_eq!(story.on(Input::Tick), [Action::End(Launch(1))], "again");
    let actions = but_charges(story.ends(
        Launch(1),
        Report { trouble: Some(Trouble::Crash("signal 9".into())), ..Report::default() },
    ));
    let trouble = Trouble::Idle(PATIENCE.idle / 1000);
    assert_eq!(actions, [Action::GiveUp { attempt: id("a"), trouble }]);
}

#[test]
fn an_answer_stands_although_its_process_had_to_be_ended() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    story.on(Input::Answered(Launch(1), true));
    story.now = PATIENCE.idle;
    assert_eq!(story.on(Input::Tick), [Action::End(Launch(1))]);
    let actions = but_charges(story.ends(Launch(1), done()));
    assert_eq!(actions, [Action::Integrate(id("a"))]);
}

#[test]
fn nobody_was_silent_while_nobody_listened() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    story.now = PATIENCE.idle;
    assert_eq!(story.on(Input::WasAway), []);
    assert_eq!(story.on(Input::Tick), []);
}

#[test]
fn three_fruitless_attempts_end_the_run_after_the_last_was_given_up() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    for n in 1..=3 {
        let launches = match n {
            1 => story.opens(vec![alone("a")]),
            _ => {
                // A pause lies between them.
                assert_eq!(story.opens(vec![alone("a")]), []);
                story.now += 10_000;
                starts(&story.on(Input::Tick))
            }
        };
        assert_eq!(launches, [Launch(n)]);
        let actions = but_charges(story.fails(Launch(n), Trouble::Crash("no".into())));
        assert!(matches!(&actions[..], [Action::GiveUp { .. }]), "{actions:?}");
        let after = story.on(Input::Settled(id("a")));
        match n {
            3 => assert!(matches!(&after[..], [Action::Finish(Outcome::Circuit { .. })])),
            _ => assert_eq!(after, [Action::Open]),
        }
    }
}

#[test]
fn when_the_run_is_to_end_what_is_at_work_comes_to_its_end_and_nothing_begins() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    let launches = story.opens(vec![member("a", 0), member("b", 1)]);
    for _ in 0..2 {
        // Two that came to nothing before.
        story.run.agents.started(Launch(90), 0, 0);
        let crash = Trouble::Crash("no".into());
        let report = Report { trouble: Some(crash), ..Report::default() };
        story.run.agents.ended(Launch(90), &report, false, None, 0);
    }
    let actions = but_charges(story.fails(launches[0], Trouble::Crash("no".into())));
    assert!(matches!(&actions[..], [Action::GiveUp { .. }]), "{actions:?}");
    assert_eq!(story.on(Input::Settled(id("a"))), [], "no other task joins");
    story.ends(launches[1], done());
    assert_eq!(story.on(Input::Ready(id("b"))), [Action::Integrate(id("b"))]);
    let end = story.on(Input::Settled(id("b")));
    assert!(matches!(&end[..], [Action::Finish(Outcome::Circuit { .. })]), "{end:?}");
}

#[test]
fn every_start_is_charged_once_and_whoever_broke_off_like_the_dearest() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    story.now = 5_000;
    let charges = |actions: &[Action]| -> Vec<(Charge, Millis)> {
        let charge = |action: &Action| match action {
            Action::Charge { charge, millis, .. } => Some((*charge, *millis)),
            _ => None,
        };
        actions.iter().filter_map(charge).collect()
    };
    let actions = story.ends(Launch(1), done());
    let paid = Charge { tokens: Some(10), cost: Some(1.0), ..Charge::default() };
    assert_eq!(charges(&actions), [(paid, 5_000)]);
    assert_eq!(charges(&story.ends(Launch(1), done())), [], "an end is told once");
    story.on(Input::Settled(id("a")));
    story.opens(vec![alone("b")]);
    story.now = 6_000;
    let actions = story.fails(Launch(2), Trouble::Crash("no".into()));
    let lost = Charge { estimated: true, ..paid };
    assert_eq!(charges(&actions), [(lost, 1_000)]);
    assert_eq!(story.run.uncharged(7_500), 1_500);
}

#[test]
fn a_cap_that_is_reached_ends_everybody_and_what_is_done_is_complete_all_the_same() {
    for is_done in [true, false] {
        let budget = Budget { max_tokens: Some(50), ..Budget::default() };
        let mut story = Story::with_budget(&["claude"], 1, budget);
        story.begins();
        story.opens(vec![alone("a")]);
        let used = Sign::Used(Usage { tokens: 60, cost: None });
        story.on(Input::Said(Launch(1), vec![used]));
        let actions = story.on(Input::Tick);
        assert_eq!(actions[0], Action::EndAll);
        let actions = but_charges(story.fails(Launch(1), Trouble::Crash("signal 15".into())));
        assert_eq!(actions, [Action::CompleteIfDone], "the attempt stays open");
        let end = match is_done {
            true => story.on(Input::NothingDue(Outcome::Complete)),
            false => story.on(Input::NotDone),
        };
        match (is_done, &end[..]) {
            (true, [Action::Finish(Outcome::Complete)])
            | (false, [Action::Finish(Outcome::Capped { .. })]) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_run_that_cannot_even_look_at_the_boxes_when_a_cap_is_reached_ends() {
    let budget = Budget { max_tokens: Some(5), ..Budget::default() };
    let mut story = Story::with_budget(&["claude"], 1, budget);
    story.begins();
    story.opens(vec![alone("a")]);
    story.ends(Launch(1), done());
    let actions = story.on(Input::Settled(id("a")));
    assert_eq!(actions, [Action::Open]);
    let actions = story.opens(vec![alone("b")]);
    assert_eq!(actions, [], "the cap is reached");
    let broke = story.on(Input::Broke(Broken::Open));
    assert_eq!(broke.last(), Some(&Action::Finish(Outcome::Failed { why: String::new() })));
}

#[test]
fn under_a_cap_in_dollars_an_agent_works_alone_until_its_price_is_known() {
    let budget = Budget { max_cost: Some(10.0), ..Budget::default() };
    let mut story = Story::with_budget(&["claude"], 3, budget);
    story.begins();
    let group = vec![member("a", 0), member("b", 1), member("c", 2)];
    let actions = story.on(Input::Opened(group));
    assert_eq!(starts(&actions), [Launch(1)]);
    assert!(actions.contains(&Action::TellHeldBack));
    let actions = story.ends(Launch(1), done());
    let costs = actions.iter().filter_map(|action| match action {
        Action::Start { max_cost, .. } => *max_cost,
        _ => None,
    });
    assert_eq!(costs.collect::<Vec<_>>(), [8.0, 8.0], "each leaves the other its price");
}

#[test]
fn a_signal_ends_everybody_and_the_run_when_all_have_ended() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    let launches = story.opens(vec![member("a", 0), member("b", 1)]);
    story.ends(launches[0], done());
    assert_eq!(story.on(Input::Stop(Outcome::Interrupted)), [Action::EndAll]);
    assert_eq!(story.on(Input::Tick), [Action::EndAll], "somebody may be about to start");
    assert_eq!(story.on(Input::Stop(Outcome::Paused)), [], "the first reason counts");
    let actions = but_charges(story.fails(launches[1], Trouble::Crash("signal 15".into())));
    assert_eq!(actions, [], "the other one's check is still being broken off");
    let end = story.on(Input::BrokenOff(id("a")));
    assert_eq!(end, [Action::Finish(Outcome::Interrupted)]);
}

#[test]
fn pause_cancel_and_another_owner_end_a_run_as_what_they_are() {
    for outcome in [Outcome::Paused, Outcome::Cancelled, Outcome::TakenOver] {
        let mut story = Story::new(&["claude"], 1);
        story.begins();
        assert_eq!(story.on(Input::Stop(outcome.clone())), [Action::EndAll]);
        // What was asked for is answered before the run is over.
        assert_eq!(story.on(Input::Opened(vec![alone("a")])), [Action::Finish(outcome)]);
    }
}

#[test]
fn a_start_that_breaks_ends_the_run_when_the_others_have_ended() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    let launches = story.opens(vec![member("a", 0), member("b", 1)]);
    assert_eq!(story.on(Input::Broke(Broken::Start(launches[0], id("a")))), [Action::EndAll]);
    let end = but_charges(story.fails(launches[1], Trouble::Crash("signal 15".into())));
    assert!(matches!(&end[..], [Action::Finish(Outcome::Failed { .. })]), "{end:?}");
}

#[test]
fn an_attempt_that_is_forgotten_twice_in_a_row_ends_the_run() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    for n in 1..=2 {
        story.opens(vec![alone("a")]);
        story.ends(Launch(n), done());
        let actions = story.on(Input::Lost(id("a")));
        match n {
            1 => assert_eq!(actions, [Action::Open], "a person has changed the plan"),
            _ => {
                assert_eq!(actions[0], Action::TellForgotten("a".into()));
                assert!(matches!(actions.last(), Some(Action::Finish(_))), "{actions:?}");
            }
        }
    }
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    for n in 1..=4 {
        story.opens(vec![alone("a")]);
        story.ends(Launch(n), done());
        let input = if n % 2 == 1 { Input::Lost(id("a")) } else { Input::Settled(id("a")) };
        assert_eq!(story.on(input), [Action::Open], "work between them counts");
    }
}

#[test]
fn an_attempt_that_a_person_does_not_want_is_ended_and_its_task_begins_anew() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    assert_eq!(story.on(Input::Unwanted(id("a"))), [Action::End(Launch(1))]);
    assert_eq!(story.on(Input::Unwanted(id("a"))), [], "once is enough");
    assert_eq!(story.on(Input::Tick), [Action::End(Launch(1))], "until its end is told");
    let killed = Trouble::Crash("ended".into());
    assert_eq!(but_charges(story.fails(Launch(1), killed)), [Action::Drop(id("a"))]);
    assert_eq!(story.on(Input::Settled(id("a"))), [Action::Open]);
    assert_eq!(story.opens(vec![alone("b")]), [Launch(2)]);
    assert_eq!(story.on(Input::Unwanted(id("a"))), [], "it is over");
}

#[test]
fn what_an_unwanted_member_of_a_group_has_made_is_not_integrated() {
    let mut story = Story::new(&["claude"], 2);
    story.begins();
    story.opens(vec![member("a", 0), member("b", 1)]);
    story.ends(Launch(1), done());
    assert_eq!(story.on(Input::Unwanted(id("a"))), [], "its check runs");
    assert_eq!(story.on(Input::Ready(id("a"))), [Action::Drop(id("a"))]);
    story.on(Input::Settled(id("a")));
    let actions = but_charges(story.ends(Launch(2), done()));
    assert!(!actions.contains(&Action::Drop(id("b"))), "{actions:?}");
    assert_eq!(story.on(Input::Ready(id("b"))), [Action::Integrate(id("b"))]);
}

#[test]
fn an_unwanted_attempt_whose_verdict_comes_first_has_it() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    story.opens(vec![alone("a")]);
    story.ends(Launch(1), done());
    assert_eq!(story.on(Input::Unwanted(id("a"))), [], "it is being judged");
    assert_eq!(story.on(Input::Settled(id("a"))), [Action::Open]);
}

#[test]
fn two_attempts_that_are_forgotten_in_turn_end_the_run() {
    let mut story = Story::new(&["claude"], 1);
    story.begins();
    for (n, task) in (1..).zip(["a", "b", "a"]) {
        story.opens(vec![alone(task)]);
        story.ends(Launch(n), done());
        let actions = story.on(Input::Lost(id(task)));
        match n {
            1 | 2 => assert_eq!(actions, [Action::Open], "{task}: each for the first time"),
            _ => assert_eq!(actions[0], Action::TellForgotten("a".into())),
        }
    }
}

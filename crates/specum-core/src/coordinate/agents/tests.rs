use super::*;
use crate::budget::Charge;

fn run(agents: &[&str]) -> Agents {
    let agents = agents.iter().map(|&name| name.to_owned()).collect();
    Agents::new(agents, Patience { task: 60_000, idle: 10_000 })
}

fn troubled(trouble: Trouble) -> Report {
    Report { trouble: Some(trouble), ..Report::default() }
}

fn limit() -> Report {
    troubled(Trouble::RateLimited { why: "429".into(), reset: None })
}

#[test]
fn a_limit_is_waited_for_and_is_no_attempt() {
    let mut run = run(&["claude"]);
    run.started(Launch(0), 0, 0);
    assert_eq!(run.ended(Launch(0), &limit(), false, Some(9_000), 1_000), After::Again);
    let wait = Choice::Wait { agent: 0, until: 9_000, why: "429".into() };
    assert_eq!(run.choose(1_000), wait);
    assert_eq!(run.choose(9_000), Choice::Use(0));
}

#[test]
fn finding_51_an_agent_works_alone_under_a_cap_until_it_has_named_a_price() {
    let mut run = run(&["claude", "opencode"]);
    let mut budget = Budget { max_cost: Some(5.0), ..Budget::default() };
    let priced = |cost| Report { usage: Some(Usage { tokens: 1, cost }), ..Report::default() };
    assert!(run.may_start(0, &Budget::default()), "without a cap nothing holds it back");
    assert!(run.may_start(0, &budget), "the first one");
    run.started(Launch(0), 0, 0);
    assert!(!run.may_start(0, &budget), "nobody knows yet what that one costs");
    assert!(run.may_start(0, &Budget::default()));
    run.ended(Launch(0), &priced(None), false, None, 0);
    run.started(Launch(0), 0, 0);
    assert!(!run.may_start(0, &budget), "the first one has named no price");
    run.ended(Launch(0), &priced(Some(1.0)), false, None, 0);
    budget.spend(&Charge { cost: Some(1.0), ..Charge::default() });
    // $4 are left, for four at a dollar each.
    for launch in 0..4 {
        assert!(run.may_start(0, &budget), "{launch}");
        run.started(Launch(launch), 0, 0);
    }
    assert!(!run.may_start(0, &budget));
    run.ended(Launch(3), &priced(Some(0.5)), false, None, 0);
    budget.spend(&Charge { cost: Some(0.5), ..Charge::default() });
    assert!(!run.may_start(0, &budget), "$3.50 are left, and three dollars are taken");
    run.abandoned(Launch(2));
    assert!(run.may_start(0, &budget));
    assert!(!run.may_start(1, &budget), "the other agent has not named a price");
}

#[test]
fn finding_51_a_start_may_cost_what_the_cap_and_the_others_leave() {
    let mut run = run(&["claude"]);
    let mut budget = Budget { max_cost: Some(5.0), ..Budget::default() };
    run.started(Launch(0), 0, 0);
    assert_eq!(run.allowance(Launch(0), &Budget::default()), None);
    assert_eq!(run.allowance(Launch(0), &budget), Some(5.0));
    budget.spend(&Charge { cost: Some(1.0), ..Charge::default() });
    run.started(Launch(1), 0, 0);
    assert_eq!(run.allowance(Launch(1), &budget), Some(3.0), "the other is taken to cost a dollar");
    run.said(Launch(0), &Sign::Used(Usage { tokens: 1, cost: Some(3.5) }), 0);
    assert_eq!(run.allowance(Launch(1), &budget), Some(0.5), "it has named a higher price");
    run.said(Launch(0), &Sign::Used(Usage { tokens: 1, cost: Some(0.5) }), 0);
    run.answered(Launch(0), true);
    assert_eq!(run.allowance(Launch(1), &budget), Some(3.5), "that is all it costs");
}

#[test]
fn finding_52_a_wait_ends_by_whichever_clock_gets_there() {
    const HOUR: Millis = 3_600_000;
    let mut run = run(&["claude"]);
    let mut clock = WaitClock::default();
    let limited = |run: &mut Agents, now: Millis| {
        run.started(Launch(0), 0, now);
        run.ended(Launch(0), &limit(), false, Some(now + HOUR), now);
    };
    limited(&mut run, clock.now(10, 12));
    assert!(matches!(run.choose(clock.now(20, 22)), Choice::Wait { .. }));
    // The machine has slept.
    let now = clock.now(30, 2 * HOUR);
    assert_eq!(run.choose(now), Choice::Use(0));
    // The next wait is as long as it is named, by both of them.
    limited(&mut run, now);
    assert!(matches!(run.choose(clock.now(40, 2 * HOUR + 10)), Choice::Wait { .. }));
    assert!(matches!(run.choose(clock.now(50, 0)), Choice::Wait { .. }), "set back");
    assert_eq!(run.choose(clock.now(HOUR + 30, 0)), Choice::Use(0));
}

#[test]
fn a_limit_without_an_end_is_waited_for_longer_each_time() {
    let mut run = run(&["codex"]);
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..9 {
        run.started(Launch(0), 0, now);
        run.ended(Launch(0), &limit(), false, None, now);
        let Choice::Wait { until, .. } = run.choose(now) else { panic!("it waits") };
        waits.push((until - now) / 1000);
        now = until;
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
    run.started(Launch(0), 0, now);
    assert_eq!(run.ended(Launch(0), &Report::default(), true, None, now), After::Judge);
    run.started(Launch(0), 0, now);
    run.ended(Launch(0), &limit(), false, None, now);
    assert!(matches!(run.choose(now), Choice::Wait { until, .. } if until == now + 30_000));
}

#[test]
fn an_end_that_is_named_again_and_again_is_not_believed_for_ever() {
    let mut run = run(&["codex"]);
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..5 {
        run.started(Launch(0), 0, now);
        run.ended(Launch(0), &limit(), false, Some(now + 1_000), now);
        let Choice::Wait { until, .. } = run.choose(now) else { panic!("it waits") };
        waits.push((until - now) / 1000);
        now = until;
    }
    assert_eq!(waits, [1, 1, 120, 240, 480]);
}

#[test]
fn the_next_agent_takes_over_and_the_first_comes_back_after_its_limit() {
    let mut run = run(&["claude", "codex"]);
    run.started(Launch(0), 0, 0);
    run.ended(Launch(0), &limit(), false, Some(50_000), 0);
    assert_eq!(run.choose(0), Choice::Use(1));
    run.started(Launch(0), 1, 0);
    run.ended(Launch(0), &limit(), false, Some(40_000), 0);
    assert!(matches!(run.choose(0), Choice::Wait { agent: 1, until: 40_000, .. }));
    assert_eq!(run.choose(40_000), Choice::Use(1));
    assert_eq!(run.choose(50_000), Choice::Use(0));
}

#[test]
fn without_anybody_signed_in_it_is_over_at_once() {
    let mut run = run(&["claude", "codex"]);
    let refused = troubled(Trouble::NotAuthenticated("401".into()));
    run.started(Launch(0), 0, 0);
    assert_eq!(run.ended(Launch(0), &refused, false, None, 0), After::Again);
    assert_eq!(run.choose(0), Choice::Use(1));
    run.started(Launch(0), 1, 0);
    assert_eq!(run.ended(Launch(0), &refused, false, None, 0), After::Again);
    let Choice::Nobody(why) = run.choose(0) else { panic!("nobody is left") };
    assert!(why.contains("claude: ") && why.contains("codex: "), "{why}");
}

#[test]
fn three_attempts_that_come_to_nothing_open_the_circuit() {
    let mut run = run(&["claude"]);
    let crash = troubled(Trouble::Crash("code 1".into()));
    let mut end = |report: &Report, changed, now| {
        run.started(Launch(0), 0, now);
        let after = run.ended(Launch(0), report, changed, None, now);
        (after, run.choose(now))
    };
    let (after, choice) = end(&crash, false, 0);
    assert!(matches!(after, After::Fail(Trouble::Crash(_))));
    assert!(matches!(choice, Choice::Wait { until: 1_000, .. }), "not five times a second");
    assert!(matches!(end(&crash, false, 1_000).1, Choice::Wait { until: 3_000, .. }));
    let idle = troubled(Trouble::Idle(10));
    assert!(matches!(end(&idle, false, 3_000).0, After::Stop(_, Outcome::Circuit { .. })));
}

#[test]
fn work_between_them_closes_the_circuit_again() {
    let mut run = run(&["claude"]);
    let crash = troubled(Trouble::Crash("code 1".into()));
    for changed in [false, false, true, false, false] {
        run.started(Launch(0), 0, 0);
        assert!(matches!(run.ended(Launch(0), &crash, changed, None, 0), After::Fail(_)));
    }
    run.started(Launch(0), 0, 0);
    assert_eq!(run.ended(Launch(0), &Report::default(), false, None, 0), After::Judge);
    run.started(Launch(0), 0, 0);
    assert!(matches!(run.ended(Launch(0), &crash, false, None, 0), After::Fail(_)));
}

#[test]
fn silence_is_bounded_but_not_while_a_tool_runs() {
    let mut run = run(&["claude"]);
    run.started(Launch(0), 0, 0);
    run.started(Launch(1), 0, 0);
    run.said(Launch(1), &Sign::Tool { name: "Bash: make".into() }, 1_000);
    run.printed(Launch(0), 5_000);
    assert_eq!(run.overdue(14_999), []);
    assert_eq!(run.overdue(15_000), [(Launch(0), Trouble::Idle(10))]);
    run.said(Launch(1), &Sign::ToolEnded, 20_000);
    assert_eq!(run.overdue(30_000).len(), 2);
    run.said(Launch(1), &Sign::Tool { name: "Bash: make".into() }, 30_000);
    assert_eq!(run.overdue(60_000).pop(), Some((Launch(1), Trouble::Timeout(60))));
}

#[test]
fn of_two_tools_the_last_one_starts_the_clock() {
    let mut run = run(&["claude"]);
    run.started(Launch(0), 0, 0);
    for _ in 0..2 {
        run.said(Launch(0), &Sign::Tool { name: "Bash: make".into() }, 0);
    }
    run.said(Launch(0), &Sign::ToolEnded, 0);
    assert_eq!(run.overdue(59_999), []);
    run.said(Launch(0), &Sign::ToolEnded, 20_000);
    assert_eq!(run.overdue(30_000), [(Launch(0), Trouble::Idle(10))]);
    run.said(Launch(0), &Sign::Tool { name: "Bash: make".into() }, 30_000);
    // The model speaks when it has what it waited for.
    run.said(Launch(0), &Sign::Text { text: "done".into() }, 30_000);
    assert_eq!(run.overdue(40_000), [(Launch(0), Trouble::Idle(10))]);
}

#[test]
fn finding_44_whoever_has_answered_and_does_not_end_is_ended_soon() {
    let patience = Patience { task: 3_600_000, idle: 600_000 };
    let mut run = Agents::new(vec!["command".into()], patience);
    run.started(Launch(0), 0, 0);
    run.answered(Launch(0), true);
    assert_eq!(run.overdue(29_999), []);
    assert_eq!(run.overdue(30_000), [(Launch(0), Trouble::Idle(30))]);
    run.answered(Launch(0), false);
    assert_eq!(run.overdue(599_999), [], "it was not the last word");
}

#[test]
fn finding_43_nobody_was_silent_while_nobody_listened() {
    let mut run = run(&["claude"]);
    run.started(Launch(0), 0, 0);
    assert_eq!(run.overdue(10_000), [(Launch(0), Trouble::Idle(10))]);
    run.was_away(10_000);
    assert_eq!(run.overdue(19_999), []);
    assert_eq!(run.overdue(20_000), [(Launch(0), Trouble::Idle(10))]);
}

#[test]
fn whoever_has_answered_is_not_ended_for_what_it_cost() {
    let mut run = run(&["claude"]);
    let budget = Budget { max_tokens: Some(10), max_millis: Some(5), ..Budget::default() };
    run.started(Launch(0), 0, 0);
    run.answered(Launch(0), true);
    run.said(Launch(0), &Sign::Used(Usage { tokens: 20, cost: None }), 0);
    assert_eq!(run.exhausted(&budget, 0), None);
    assert!(run.exhausted(&budget, 5).is_some(), "time is up for everybody");
    run.started(Launch(1), 0, 0);
    assert!(run.exhausted(&budget, 0).is_some(), "another one still costs");
}

#[test]
fn an_agent_that_retries_by_itself_for_ever_is_silent() {
    let mut run = run(&["opencode"]);
    run.started(Launch(0), 0, 0);
    run.said(Launch(0), &Sign::Retrying { why: "429".into() }, 9_000);
    assert_eq!(run.overdue(10_000), [(Launch(0), Trouble::Idle(10))]);
}

#[test]
fn an_agent_that_cannot_reach_its_server_makes_way_for_one_that_can() {
    let retries = Sign::Retrying { why: "no network".into() };
    let gone = Trouble::Server("its server did not answer for a minute".into());
    let patience = Patience { task: 3_600_000, idle: 600_000 };
    let mut run = Agents::new(vec!["codex".into(), "claude".into()], patience);
    run.started(Launch(0), 0, 0);
    for at in [1_000, 30_000, 60_999] {
        run.said(Launch(0), &retries, at);
        assert_eq!(run.overdue(at), []);
    }
    assert_eq!(run.overdue(61_000), [(Launch(0), gone.clone())]);
    // An agent that gets on meanwhile is given the same time again.
    run.said(Launch(0), &Sign::Text { text: "here I am".into() }, 61_000);
    run.said(Launch(0), &retries, 62_000);
    assert_eq!(run.overdue(121_999), []);
    assert_eq!(run.overdue(122_000), [(Launch(0), gone.clone())]);
    // That was no attempt, and the other one is asked.
    let after = run.ended(Launch(0), &troubled(gone.clone()), false, None, 122_000);
    assert_eq!(after, After::Again);
    assert_eq!(run.choose(122_000), Choice::Use(1));
    let why = run.why_not(0, 122_000);
    assert_eq!(why.as_deref(), Some("its server did not answer for a minute"));
    assert_eq!(run.choose(152_000), Choice::Use(0), "it is asked again later");
    // What it has changed is not passed on in silence.
    run.started(Launch(1), 0, 152_000);
    let after = run.ended(Launch(1), &troubled(gone.clone()), true, None, 153_000);
    assert_eq!(after, After::Fail(gone.clone()));
    assert_eq!(run.choose(153_000), Choice::Use(1));
    // If nobody else can work, nothing is gained by ending it.
    run.started(Launch(2), 1, 153_000);
    run.said(Launch(2), &retries, 154_000);
    run.limit(0, "429", None, 200_000);
    assert_eq!(run.overdue(214_000), []);
    let after = run.ended(Launch(2), &troubled(gone.clone()), false, None, 214_000);
    assert_eq!(after, After::Fail(gone));
}

#[test]
fn agents_of_which_none_reaches_its_server_do_not_take_turns_for_ever() {
    let mut run = run(&["codex", "claude"]);
    let gone = troubled(Trouble::Server("no network".into()));
    let mut now = 0;
    for launch in 0..100 {
        let agent = match run.choose(now) {
            Choice::Use(agent) => agent,
            Choice::Wait { agent, until, .. } => {
                now = until;
                agent
            }
            Choice::Nobody(why) => panic!("{why}"),
        };
        run.started(Launch(launch), agent, now);
        if let After::Stop(_, outcome) = run.ended(Launch(launch), &gone, false, None, now) {
            assert!(matches!(outcome, Outcome::Circuit { .. }));
            assert!(launch < 10, "{launch} starts");
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn a_cap_binds_while_agents_run() {
    let mut run = run(&["claude"]);
    let budget = Budget { max_tokens: Some(100), tokens: 50, ..Budget::default() };
    for launch in 0..2 {
        run.started(Launch(launch), 0, 0);
        let usage = Usage { tokens: 20, cost: None };
        run.said(Launch(launch), &Sign::Used(usage), 0);
    }
    assert_eq!(run.exhausted(&budget, 0), None);
    run.said(Launch(1), &Sign::Used(Usage { tokens: 30, cost: None }), 0);
    assert!(run.exhausted(&budget, 0).is_some());
}

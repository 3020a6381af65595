use super::*;
use crate::owner::Asker;

mod planning;

const OPEN: &str = "- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n";
const DONE: &str = "- [x] 1.1 a\n- [x] 1.2 b\n- [x] 1.3 c\n";

/// A scene with everything owned, to be changed at will.
struct Stage {
    input: Input,
    state: Result<State, Corrupt>,
    tasks: Option<&'static str>,
    memory: Memory,
    message: Option<&'static str>,
    owner_gone: bool,
    stake: Stake,
    questions: Vec<String>,
}

impl Stage {
    fn new() -> Self {
        let mut state = State::new(3);
        state.task_index = 1;
        Stage {
            input: Input { cwd: "/p".into(), session_id: Some("me".into()), ..Input::default() },
            state: Ok(state),
            tasks: Some(OPEN),
            memory: Memory::default(),
            message: None,
            owner_gone: false,
            stake: Stake::Unclaimed,
            questions: Vec::new(),
        }
    }

    fn with(change: impl FnOnce(&mut Stage)) -> Self {
        let mut stage = Stage::new();
        change(&mut stage);
        stage
    }

    fn state(&mut self) -> &mut State {
        self.state.as_mut().unwrap()
    }

    /// Decides, and remembers what is to be remembered.
    fn stop(&mut self) -> Decision {
        let file = self.tasks.map(|text| TaskFile::scan(text.as_bytes()));
        let asker = Asker::Session(self.input.session_id.as_deref().unwrap_or_default());
        let state = self.state.as_ref().ok();
        let holder = Holder::of(state, &self.memory, asker, |_| !self.owner_gone);
        let decision = decide(&Scene {
            input: &self.input,
            spec: SpecName { name: "demo", path: "./specs/demo" },
            state: self.state.as_ref(),
            tasks: file.as_ref(),
            last_message: self.message,
            memory: &self.memory,
            host: None,
            now: "2026-01-01T00:00:00Z",
            holder: &holder,
            max_parallel: 5,
            stake: self.stake,
            questions: &self.questions,
            news: &[],
        });
        if let Some(memory) = &decision.memory {
            self.memory = memory.clone();
        }
        decision
    }

    fn reason(&mut self) -> String {
        match self.stop().output {
            HookOutput::Block { reason, .. } => reason,
            other => panic!("expected a block, got {other:?}"),
        }
    }

    fn is_silent(&mut self) -> bool {
        self.stop().output == HookOutput::Silent
    }
}

#[test]
fn tasks_that_remain_block() {
    let decision = Stage::new().stop();
    let HookOutput::Block { reason, system_message } = decision.output else { panic!() };
    assert!(reason.starts_with("Continue spec: demo (Task 2/3, Iter 1)\n"));
    assert_eq!(system_message, "Ralph-specum iteration 1 | Task 2/3");
    assert_eq!(
        decision.stderr,
        ["[ralph-specum] Session stopped during spec: demo | Task: 2/3 | Attempt: 1"]
    );
}

#[test]
fn a_false_promise_to_the_ralph_loop_is_sent_back_under_the_guard() {
    let mut stage = Stage::with(|s| {
        s.state().driver = Driver::RalphLoop;
        s.input.stop_hook_active = true;
        s.message = Some("Done: <promise>ALL_TASKS_COMPLETE</promise>");
    });
    insta::assert_snapshot!(stage.reason(), @"
    Not finished: ./specs/demo/tasks.md still has open boxes: 1.2, 1.3.

    The promise is true only when specum says that every task is done. Yours has ended the Ralph Loop: begin it again with `specum implement --driver ralph-loop`, then run `specum next --brief` and do what it says.
    ");
    assert!(stage.reason().contains("Stalled (1 of 2)"));
    assert!(stage.reason().contains("Stalled (2 of 2)"));
    assert!(matches!(stage.stop().output, HookOutput::Tell(_)), "and then let go");

    stage.message = Some("ALL_TASKS_COMPLETE");
    stage.state().global_iteration += 1;
    let reason = stage.reason();
    assert!(reason.contains("open boxes: 1.2, 1.3") && !reason.contains("begin it again"));

    let quiet = |change: fn(&mut Stage)| {
        let mut stage = Stage::with(|s| {
            s.state().driver = Driver::RalphLoop;
            s.message = Some(completion::PROMISE);
        });
        change(&mut stage);
        assert!(stage.is_silent());
    };
    quiet(|s| s.tasks = Some(DONE));
    quiet(|s| s.message = Some("1.2 is done."));
    quiet(|s| s.message = Some("I will say ALL_TASKS_COMPLETE at the end"));
    quiet(|s| s.state().standing = Standing::Paused(None));
    quiet(|s| s.state().global_iteration = 1000);
    quiet(|s| s.input.agents_running = true);
    quiet(|s| {
        s.state().owner =
            Some(Owner::Session { session_id: "other".into(), process: None, seen: None });
    });
}

#[test]
fn the_ralph_loop_and_other_owners_are_left_alone() {
    assert!(Stage::with(|s| s.state().driver = Driver::RalphLoop).is_silent());
    let other = Owner::Session { session_id: "other".into(), process: None, seen: None };
    let runner = Owner::Runner { process: Process { pid: 1, started: String::new(), space: None } };
    for owner in [other, runner] {
        for active in [false, true] {
            let mut stage = Stage::with(|s| {
                s.state().owner = Some(owner.clone());
                s.input.stop_hook_active = active;
            });
            let decision = stage.stop();
            assert_eq!(decision, Decision::silent());
        }
        assert!(
            !Stage::with(|s| {
                s.state().owner = Some(owner.clone());
                s.owner_gone = true;
            })
            .is_silent()
        );
    }
}

#[test]
fn the_first_blocked_session_claims_and_others_are_left_alone() {
    let mut stage = Stage::new();
    stage.reason();
    stage.input.session_id = Some("second".into());
    assert!(stage.is_silent());
    stage.input.stop_hook_active = true;
    assert!(stage.is_silent());
    stage.owner_gone = true;
    stage.input.stop_hook_active = false;
    assert!(!stage.is_silent(), "an owner whose process is gone holds nobody back");
    stage.owner_gone = false;
    stage.input.session_id = Some("me".into());
    assert!(stage.is_silent(), "now the second one owns it");
}

#[test]
fn a_claim_of_the_owner_in_the_state_beats_the_memory() {
    let mut stage = Stage::new();
    stage.reason();
    stage.state().owner =
        Some(Owner::Session { session_id: "second".into(), process: None, seen: None });
    assert!(stage.is_silent());
    stage.input.session_id = Some("second".into());
    assert!(!stage.is_silent());
}

#[test]
fn running_sub_agents_are_waited_for_by_the_host() {
    assert!(Stage::with(|s| s.input.agents_running = true).is_silent());
}

#[test]
fn a_true_claim_ends_the_loop_whatever_the_index_says() {
    let mut stage = Stage::with(|s| {
        s.message = Some("ALL_TASKS_COMPLETE");
        s.tasks = Some(DONE);
    });
    let decision = stage.stop();
    assert_eq!(decision.output, HookOutput::Silent);
    assert!(decision.stderr[0].starts_with("[ralph-specum] ALL_TASKS_COMPLETE detected"));
    stage.tasks = None;
    assert!(stage.is_silent(), "a missing tasks.md contradicts nothing");
    stage.state = Err(Corrupt::NotAnObject);
    assert!(stage.is_silent());
}

#[test]
fn a_false_claim_is_answered_with_the_open_ids() {
    let mut stage = Stage::with(|s| s.message = Some("Done!\n\n**ALL_TASKS_COMPLETE**"));
    assert!(stage.reason().contains("open boxes: 1.2, 1.3."));
    stage.state().task_index = 3;
    assert!(stage.reason().contains("open boxes: 1.2, 1.3."));
}

#[test]
fn a_false_claim_moves_neither_a_pause_nor_a_cap_nor_another_phase() {
    let claim = |change: fn(&mut State)| {
        let mut stage = Stage::with(|s| s.message = Some("ALL_TASKS_COMPLETE"));
        change(stage.state());
        stage.stop().output
    };
    assert_eq!(claim(|s| s.standing = Standing::Paused(None)), HookOutput::Silent);
    assert_eq!(claim(|s| s.phase = Phase::Other("design".into())), HookOutput::Silent);
    let HookOutput::Block { reason, .. } = claim(|s| s.global_iteration = 100) else { panic!() };
    assert!(reason.starts_with("ERROR: Maximum global iterations (100) reached."));
}

#[test]
fn corrupt_state_blocks_three_times_and_then_says_why() {
    let mut stage = Stage::with(|s| {
        s.state = Err(Corrupt::NotAnObject);
        s.input.stop_hook_active = true;
    });
    for _ in 0..3 {
        let reason = stage.reason();
        assert!(reason.starts_with("ERROR: Corrupt state file at ./specs/demo/.ralph-state.json"));
        assert!(reason.contains("Recovery options:"));
    }
    assert!(
        matches!(stage.stop().output, HookOutput::Tell(text) if text.contains("specum implement"))
    );
    stage.input.session_id = Some("other".into());
    assert!(stage.is_silent(), "the first session owns the spec");
}

#[test]
fn the_cap_blocks_once() {
    let mut stage = Stage::with(|s| {
        s.state().global_iteration = 100;
        s.input.stop_hook_active = true;
    });
    let decision = stage.stop();
    let HookOutput::Block { reason, system_message } = decision.output else { panic!() };
    assert!(reason.starts_with("ERROR: Maximum global iterations (100) reached.\n"));
    assert_eq!(system_message, "Ralph-specum: max iterations (100) reached");
    assert_eq!(decision.stderr.len(), 2);
    assert!(
        decision.stderr[1]
            .starts_with("[ralph-specum] ERROR: Maximum global iterations (100) reached")
    );
    assert_eq!(stage.stop(), Decision::silent());
}

#[test]
fn the_cap_does_not_spoil_a_finish_or_another_phase() {
    let mut done = Stage::with(|s| {
        s.state().global_iteration = 100;
        s.state().task_index = 3;
        s.tasks = Some(DONE);
    });
    assert!(done.is_silent());
    let mut design = Stage::with(|s| {
        s.state().global_iteration = 100;
        s.state().phase = Phase::Other("design".into());
    });
    assert!(design.is_silent());
}

#[test]
fn waiting_for_approval_is_silent_with_a_line_on_stderr() {
    let decision = Stage::with(|s| s.state().standing = Standing::Paused(None)).stop();
    assert_eq!(decision.output, HookOutput::Silent);
    assert!(decision.stderr[0].starts_with("[ralph-specum] awaitingApproval=true"));
}

#[test]
fn quick_mode_goes_on_outside_execution_only() {
    let mut quick = Stage::with(|s| {
        s.state().phase = Phase::Other("design".into());
        s.state().quick_mode = true;
    });
    assert!(quick.reason().starts_with("Continue spec: demo (phase design, quick mode)"));
    quick.input.stop_hook_active = true;
    assert!(quick.reason().contains("Stalled (1 of 2)"));
    quick.reason();
    assert!(matches!(quick.stop().output, HookOutput::Tell(_)));
    assert!(Stage::with(|s| s.state().phase = Phase::Other("design".into())).is_silent());
    assert!(Stage::with(|s| s.state().phase = Phase::Other(String::new())).is_silent());
}

#[test]
fn the_index_at_the_end_is_believed_unless_a_box_is_open() {
    let mut stage = Stage::with(|s| {
        s.state().task_index = 3;
        s.tasks = Some(DONE);
    });
    assert!(stage.is_silent());
    stage.tasks = None;
    assert!(stage.is_silent());
    stage.tasks = Some(OPEN);
    assert!(stage.reason().contains("open boxes: 1.2, 1.3."));
}

#[test]
fn a_missing_task_file_blocks_while_the_index_says_so() {
    let mut stage = Stage::with(|s| s.tasks = None);
    let reason = stage.reason();
    assert!(reason.starts_with("Continue spec: demo (Task 2/3, Iter 1)"));
    assert!(reason.contains("tasks.md is missing"));
    assert!(
        !Stage::with(|s| {
            s.tasks = None;
            s.state().global_iteration = 100;
        })
        .is_silent()
    );
}

#[test]
fn the_task_shown_is_the_open_one_even_if_the_index_lags() {
    let reason = Stage::with(|s| s.state().task_index = 0).reason();
    assert!(reason.starts_with("Continue spec: demo (Task 2/3"));
    assert!(reason.contains("- [ ] 1.2 b") && !reason.contains("- [ ] 1.3"));
}

#[test]
fn progress_is_what_lets_the_loop_go_on() {
    let mut stage = Stage::new();
    stage.reason();
    stage.input.stop_hook_active = true;
    let moves: [fn(&mut Stage); 4] = [
        |s| s.tasks = Some("- [x] 1.1 a\n- [x] 1.2 b\n- [ ] 1.3 c\n"),
        |s| s.state().task_index = 2,
        |s| s.state().task_iteration += 1,
        |s| s.state().global_iteration += 1,
    ];
    for change in moves {
        change(&mut stage);
        assert!(!stage.reason().contains("Stalled"));
    }
    assert!(stage.reason().contains("Stalled (1 of 2)"));
    assert!(stage.reason().contains("Stalled (2 of 2)"));
    assert!(
        matches!(stage.stop().output, HookOutput::Tell(text) if text.contains("nothing has moved"))
    );
}

#[test]
fn a_foreign_block_is_left_to_whoever_made_it() {
    let decision = Stage::with(|s| s.input.stop_hook_active = true).stop();
    assert_eq!((decision.output, decision.memory), (HookOutput::Silent, None));
    assert!(decision.stderr[0].contains("stop_hook_active=true"));
}

#[test]
fn a_memory_of_a_newer_version_is_left_alone() {
    assert!(Stage::with(|s| s.memory.format_version = 99).is_silent());
}

#[test]
fn a_loop_from_which_a_task_was_removed_is_not_finished_whatever_is_claimed() {
    for message in [Some("ALL_TASKS_COMPLETE"), Some("I stop here."), None] {
        let mut stage = Stage::with(|s| {
            s.stake = Stake::Asked;
            s.tasks = Some(DONE);
            s.state().task_index = 3;
            s.message = message;
        });
        assert!(stage.is_silent(), "nothing waits");
        stage.questions = vec!["task 1.4 (d) was removed; `specum accept 1.4` agrees".into()];
        let decision = stage.stop();
        let told = "specum waits for you: task 1.4 (d) was removed; `specum accept 1.4` agrees";
        assert_eq!(decision.output, HookOutput::Tell(told.into()), "{message:?}");
        assert_eq!(decision.stderr, Vec::<String>::new(), "and it is not called finished");
    }
}

//! `.ralph-state.json`: read, written and read again it is the same, other
//! programs' fields stay, and the loop can go on from any state that is read.

use serde_json::{Map, Value};
use specum_core::budget::Charge;
use specum_core::machine::{self, Due, Event, Raise, Start};
use specum_core::plan::Scope;
use specum_core::plan_record::PlanRecord;
use specum_core::state::State;
use specum_core::tasks::{TaskEdit, TaskFile};

use super::PLAN;

/// The fields that are the kernel's; every other belongs to somebody else.
const OURS: [&str; 22] = [
    "formatVersion",
    "phase",
    "taskIndex",
    "totalTasks",
    "taskIteration",
    "maxTaskIterations",
    "globalIteration",
    "maxGlobalIterations",
    "recoveryMode",
    "fixTaskMap",
    "maxFixTasksPerOriginal",
    "maxFixTaskDepth",
    "parallelGroup",
    "taskResults",
    "awaitingApproval",
    "quickMode",
    "driver",
    "owner",
    "blocked",
    "budget",
    "pausedFor",
    "ticks",
];

pub fn hold(bytes: &[u8]) {
    let state = match State::parse(bytes) {
        Ok(state) => state,
        Err(why) => {
            assert!(why.to_string().len() < 1000, "a reason is a line, not a file");
            return;
        }
    };
    let again = survives(&state);
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let found: Map<String, Value> = serde_json::from_slice(bytes).expect("a state is an object");
    keeps_what_is_not_ours(&found, &again.to_object());
    the_loop_goes_on(&state);
}

/// Gives back the state as it is read from what it writes.
fn survives(state: &State) -> State {
    let written = state.render();
    let again = State::parse(&written).expect("what is written can be read");
    assert_eq!(
        String::from_utf8_lossy(&again.render()),
        String::from_utf8_lossy(&written),
        "a second look finds the same"
    );
    again
}

fn keeps_what_is_not_ours(before: &Map<String, Value>, after: &Map<String, Value>) {
    let others = |fields: &Map<String, Value>| -> Vec<(String, Value)> {
        let foreign = fields.iter().filter(|(name, _)| !OURS.contains(&name.as_str()));
        foreign.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    assert_eq!(others(before), others(after));
}

/// Everything that may happen to a loop, one after the other.
fn the_loop_goes_on(state: &State) {
    let file = TaskFile::scan(PLAN);
    let fail = |index| Event::Fail { index, reason: "it does not work".into() };
    let charge = Charge { tokens: Some(u64::MAX), cost: Some(1e308), ..Charge::default() };
    let events = [
        Event::Start(Start::default()),
        Event::Open(vec![1, 2]),
        Event::SetAside { index: 1, reason: "it does not fit".into() },
        fail(2),
        Event::Open(vec![1]),
        fail(1),
        Event::Pass { index: 1, unverified: true },
        Event::TakeBack { index: 1, attempt: u64::MAX, reason: "no commit".into() },
        Event::Charge { charge, millis: u64::MAX },
        Event::Charge { charge, millis: 1 },
        Event::Pause { why: Some("a reason".into()) },
        Event::Wait { index: 0, reason: "a question".into() },
        Event::Follow { renames: vec![], settled: vec!["1.1".into()] },
        Event::Skip { index: 0 },
        Event::Unskip { index: 0 },
        Event::Retry { index: 1 },
        Event::Undo { index: 0 },
        Event::Resume(Raise { max_millis: Some(u64::MAX), ..Raise::default() }),
        Event::Release { millis: 1 },
    ];
    let mut state = state.clone();
    for event in events {
        if let Due::Work(unit) = machine::due(&state, &file, &Scope::all(5), &PlanRecord::default())
        {
            assert!(unit.tasks().iter().all(|&index| !file.tasks[index].done));
        }
        for task in &file.tasks {
            if let Some(result) = state.result_of(task) {
                assert!(result.next_attempt() > 0);
            }
        }
        let is_about_the_plan =
            !matches!(event, Event::Charge { .. } | Event::Release { .. } | Event::Pause { .. });
        let before = state.total_tasks;
        let step = machine::step(&state, &file, event);
        state = survives(step.state.as_ref().expect("none of these ends the loop"));
        let total = Some(total_after(&step, &file));
        assert_eq!(state.total_tasks, if is_about_the_plan { total } else { before });
    }
}

fn total_after(step: &machine::Step, file: &TaskFile<'_>) -> usize {
    let text = TaskEdit::apply_all(&step.edits(), file.text());
    TaskFile::scan(&text).tasks.len()
}

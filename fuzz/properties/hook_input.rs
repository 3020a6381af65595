//! What a host sends, and what the hooks remember: the answer is one that every
//! host accepts, and a session that does not get anywhere is let go.

use serde_json::Value;
use specum_core::guard::{self, Memory};
use specum_core::hook::{self, HookOutput, Input};
use specum_core::owner::{Asker, Holder};
use specum_core::prompt::SpecName;
use specum_core::state::State;
use specum_core::stop::{self, Scene};
use specum_core::tasks::TaskFile;

use super::PLAN;

/// More blocks than this in a row, without anything having moved, are a loop.
const MOST_BLOCKS: u32 = guard::MAX_UNMOVED_BLOCKS + guard::MAX_CORRUPT_BLOCKS + 1;

pub fn hold(bytes: &[u8]) {
    let memory = Memory::parse(bytes);
    assert_eq!(Memory::parse(&memory.render()), memory);
    let Some(input) = Input::parse(bytes) else { return };
    assert!(!input.cwd.is_empty());
    if let Some(arguments) = input.command_args.as_deref().and_then(hook::split_arguments) {
        let quoted: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        assert_eq!(hook::split_arguments(&quoted.join(" ")), Some(arguments));
    }
    let state = State::new(6);
    a_stuck_session_is_let_go(&input, &memory, Ok(&state));
    let corrupt = State::parse(b"{").expect_err("half an object is none");
    a_stuck_session_is_let_go(&input, &memory, Err(&corrupt));
}

/// An argument as a shell would want it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The same stop again and again: sooner or later the session may stop.
fn a_stuck_session_is_let_go(
    input: &Input,
    memory: &Memory,
    state: Result<&State, &specum_core::state::Corrupt>,
) {
    let tasks = TaskFile::scan(PLAN);
    let mut memory = memory.clone();
    for _ in 0..=MOST_BLOCKS {
        let asker = Asker::Session(input.session_id.as_deref().unwrap_or_default());
        let holder = Holder::of(state.ok(), &memory, asker, |_| true);
        let decision = stop::decide(&Scene {
            input,
            spec: SpecName { name: "demo", path: "./specs/demo" },
            state,
            tasks: Some(&tasks),
            last_message: input.last_message.as_deref(),
            memory: &memory,
            host: None,
            now: "2026-01-01T00:00:00Z",
            holder: &holder,
            max_parallel: 5,
            stake: stop::Stake::Unclaimed,
            questions: &[],
            news: &[],
        });
        is_portable(&decision.output);
        if !matches!(decision.output, HookOutput::Block { .. }) {
            return;
        }
        let remembered = decision.memory.expect("a block is remembered");
        assert_ne!(remembered, memory, "a block that leaves no trace has no end");
        memory = Memory::parse(&remembered.render());
    }
    panic!("more than {MOST_BLOCKS} blocks and nothing has moved");
}

fn is_portable(output: &HookOutput) {
    let line = output.render();
    if *output == HookOutput::Silent {
        assert_eq!(line, "");
        return;
    }
    assert!(!line.trim_end().contains('\n'));
    let answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
    let keys = answer.as_object().expect("an answer is an object").keys();
    const KNOWN: [&str; 3] = ["decision", "reason", "systemMessage"];
    assert!(keys.into_iter().all(|key| KNOWN.contains(&key.as_str())));
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.len() < 2048 + PLAN.len(), "a prompt carries the current task alone");
}

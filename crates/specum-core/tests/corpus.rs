//! Every case of the fuzz corpus, and changed ones, in an ordinary test: what fuzzing
//! has found once, and what lies near it, is looked for in every build.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};

#[path = "../../../fuzz/properties/lib.rs"]
#[allow(unreachable_pub, reason = "a crate of its own beside the fuzz targets")]
mod properties;

/// No case is long; one that takes longer than this shows a reader whose time
/// grows faster than its input.
const SLOW: Duration = Duration::from_secs(10);

/// How many changed cases of each target are tried.
const CHANGED: u32 = 128;

/// Holds every case of a target, and changed ones, against the properties of its format.
#[allow(clippy::disallowed_methods, reason = "the cases are files, and time is measured")]
fn replay(target: &str, hold: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&folder).expect("the corpus is part of the repository");
    let mut cases = Vec::new();
    for file in files {
        let path = file.expect("a folder can be listed").path();
        let bytes = fs::read(&path).expect("a case can be read");
        println!("{}", path.display());
        let began = Instant::now();
        hold(&bytes);
        assert!(began.elapsed() < SLOW, "{} is slow", path.display());
        cases.push(bytes);
    }
    assert!(!cases.is_empty(), "{} holds no case", folder.display());
    // A find becomes a case of the corpus, so proptest need not keep it.
    let config = Config { cases: CHANGED, failure_persistence: None, ..Config::default() };
    let tried = TestRunner::new(config).run(&changed(cases), |bytes| {
        hold(&bytes);
        Ok(())
    });
    tried.unwrap_or_else(|broken| panic!("{target}: {broken}"));
}

/// One of these cases, with a few stretches of it replaced.
fn changed(cases: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![select(b"\n\r\"{}[]:,-` x#*9\\".as_slice()), any::<u8>()];
    let stretch = (any::<Index>(), 0..20_usize, vec(byte, 0..6));
    (select(cases), vec(stretch, 1..6)).prop_map(|(mut case, stretches)| {
        for (at, length, bytes) in stretches {
            let from = at.index(case.len() + 1);
            case.splice(from..(from + length).min(case.len()), bytes);
        }
        case
    })
}

#[test]
fn task_files() {
    replay("task_file", properties::task_file::hold);
}

#[test]
fn states() {
    replay("state", properties::state::hold);
}

#[test]
fn settings() {
    replay("settings", properties::settings::hold);
}

#[test]
fn hook_inputs() {
    replay("hook_input", properties::hook_input::hold);
}

#[test]
fn journals() {
    replay("journal", properties::journal::hold);
}

#[test]
fn spec_documents() {
    replay("spec_documents", properties::spec_documents::hold);
}

#[test]
fn requests_of_executors() {
    replay("request", properties::request::hold);
}

#[test]
fn plans_of_other_tools() {
    replay("import", properties::import::hold);
}

#[test]
fn commands_that_read_only() {
    replay("read_only", properties::read_only::hold);
}

#[test]
fn streams() {
    for agent in ["claude", "codex", "gemini", "opencode", "command", "script"] {
        replay(&format!("stream_{agent}"), |bytes| properties::stream::hold(agent, bytes));
    }
}

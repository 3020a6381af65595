//! Every case of the fuzz corpus, in an ordinary test: what fuzzing has found
//! once is looked for in every build.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

#[path = "../../../fuzz/properties/lib.rs"]
#[allow(unreachable_pub, reason = "a crate of its own beside the fuzz targets")]
mod properties;

/// No case is long; one that takes longer than this shows a reader whose time
/// grows faster than its input.
const SLOW: Duration = Duration::from_secs(10);

/// Holds every case of a target against the properties of its format.
#[allow(clippy::disallowed_methods, reason = "the cases are files, and time is measured")]
fn replay(target: &str, hold: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let cases = fs::read_dir(&folder).expect("the corpus is part of the repository");
    let mut replayed = 0;
    for case in cases {
        let path = case.expect("a folder can be listed").path();
        let bytes = fs::read(&path).expect("a case can be read");
        println!("{}", path.display());
        let began = Instant::now();
        hold(&bytes);
        assert!(began.elapsed() < SLOW, "{} is slow", path.display());
        replayed += 1;
    }
    assert!(replayed > 0, "{} holds no case", folder.display());
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
fn streams() {
    for agent in ["claude", "codex", "gemini", "opencode", "command", "script"] {
        replay(&format!("stream_{agent}"), |bytes| properties::stream::hold(agent, bytes));
    }
}

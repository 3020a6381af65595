//! `SPECUM_LOG`: what specum does, for a bug report.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::world::{World, call};

fn logged(world: &World, log: &str, args: &[&str], input: &str) -> crate::world::Call {
    let mut command = world.command();
    command.args(args).env("SPECUM_LOG", log);
    call(command, input.as_bytes())
}

#[test]
fn what_is_done_is_added_to_the_file_and_to_nothing_else() {
    let world = World::with_tasks("- [ ] 1.1 a\n  - **Verify**: `true`\n");
    world.git_init();
    let log = world.home.join("specum.log");
    let name = log.to_str().unwrap();
    let plain = world.specum(&["status"]);
    let told = logged(&world, name, &["status"], "");
    assert_eq!((plain.stdout, plain.stderr), (told.stdout, told.stderr));
    let script = ["run", "--agent-command", "cat > /dev/null; echo TASK_COMPLETE"];
    logged(&world, name, &script, "").exits(0);
    let text = fs::read_to_string(&log).unwrap();
    for words in ["started", "\"status\"", "tells the coordinator", "Integrate", "git", "has ended"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours in a file");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_hook_answers_the_same_whether_or_not_it_can_write_the_file() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    let input = serde_json::json!({"session_id": "s", "cwd": world.root}).to_string();
    let log = world.home.join("specum.log");
    let answers = ["", log.to_str().unwrap(), "/nowhere/at/all"]
        .map(|log| logged(&world, log, &["hook", "session-start"], &input).stdout);
    assert!(!answers[0].is_empty());
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert!(fs::read_to_string(log).unwrap().contains("answers a hook"));
}

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};

use serde_json::json;

use super::TWO;
use crate::world::{Call, World, fifo};

/// Every box ticked, the index behind: silent if the transcript's claim is
/// found, a block if not.
fn behind() -> World {
    let world = World::with_tasks("- [x] 1.1 a\n");
    world.state(&json!({"phase": "execution", "taskIndex": 0, "totalTasks": 1}));
    world
}

fn with_transcript(world: &World, name: &str) -> Call {
    world.hook("stop", &json!({"transcript_path": world.path(name)}))
}

fn claim() -> String {
    json!({"type": "assistant", "message": {"role": "assistant", "content": "ALL_TASKS_COMPLETE"}})
        .to_string()
}

#[test]
fn input_that_names_no_directory_is_answered_with_silence() {
    let world = World::with_tasks(TWO);
    for text in [
        "",
        "\n",
        "not json",
        "[]",
        "null",
        "7",
        "{}",
        "{\"cwd\":",
        r#"{"session_id":"s"}"#,
        r#"{"cwd":null}"#,
        r#"{"cwd":7}"#,
        r#"{"cwd":""}"#,
        r#"{"cwd":"/no/such/directory"}"#,
        r#"{"cwd":"/dev/null"}"#,
        "{\"cwd\":\"/\\u0000\"}",
    ] {
        for event in specum::hook::EVENTS {
            let call = world.specum_with(&["hook", event], text.as_bytes());
            assert_eq!(call.silent().stderr, "", "{event} {text:?}");
        }
    }
    let call = world.specum_with(&["hook", "stop"], b"\xff\xfe{}");
    assert_eq!(call.silent().stderr, "");
    let good = format!(r#"{{"cwd":"{}"}}"#, world.root.display());
    let call = world.specum_with(&["hook", "stop"], good.as_bytes());
    assert!(call.reason().starts_with("Continue"), "it was the input");
}

#[test]
fn fields_of_the_wrong_type_are_as_good_as_absent() {
    let world = World::with_tasks(TWO);
    let call = world.hook(
        "stop",
        &json!({"session_id": 7, "stop_hook_active": "true", "transcript_path": [],
            "last_assistant_message": {}, "background_tasks": "x", "prompt_response": 1}),
    );
    assert!(call.reason().starts_with("Continue"));
}

#[test]
fn a_hundred_megabytes_of_input_are_read_to_the_end_and_left_unanswered() {
    let world = World::with_tasks(TWO);
    let head = format!(r#"{{"cwd":"{}","session_id":"s""#, world.root.display());
    let inside = format!(r#"{head},"x":"{}"}}"#, "x".repeat(100 * 1024 * 1024));
    let behind = format!("{head}}}{}", " ".repeat(100 * 1024 * 1024));
    for input in [inside, behind] {
        let call = world.specum_with(&["hook", "stop"], input.as_bytes());
        assert_eq!(call.silent().stderr, "");
    }
    assert!(world.stop().reason().starts_with("Continue"), "it was the length");
}

#[test]
fn a_transcript_that_cannot_be_read_says_nothing() {
    let world = behind();
    fs::create_dir(world.path("dir")).unwrap();
    fifo(&world.path("pipe"));
    std::os::unix::fs::symlink("loop", world.path("loop")).unwrap();
    world.write("empty", "");
    for name in ["missing", "dir", "pipe", "loop", "empty"] {
        let call = with_transcript(&world, name);
        assert!(call.reason().starts_with("Continue"), "{name}");
        assert!(call.stderr.starts_with("[ralph-specum] Session stopped"), "{}", call.stderr);
    }
    let call = world.hook("stop", &json!({"transcript_path": "/dev/zero"}));
    assert!(call.reason().starts_with("Continue"));
}

#[test]
fn a_torn_last_line_does_not_hide_the_whole_one_before_it() {
    let world = behind();
    world.write("t.jsonl", format!("{}\n{{\"type\":\"assistant\",\"mess", claim()));
    assert!(with_transcript(&world, "t.jsonl").silent().stderr.contains("detected"));
}

#[test]
fn a_transcript_of_binary_rubbish_is_no_claim() {
    let world = behind();
    let bytes: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
    world.write("t", bytes);
    assert!(with_transcript(&world, "t").reason().starts_with("Continue"));
}

#[test]
fn the_end_of_a_gigabyte_of_transcript_is_found() {
    let world = behind();
    for (last, claimed) in [(claim(), true), (json!({"type": "user"}).to_string(), false)] {
        let mut file = File::create(world.path("huge.jsonl")).unwrap();
        file.write_all(b"{\"type\":\"summary\"}\n").unwrap();
        file.set_len(1024 * 1024 * 1024).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        writeln!(file, "\n{last}").unwrap();
        let call = with_transcript(&world, "huge.jsonl");
        if claimed {
            assert!(call.silent().stderr.contains("detected"));
        } else {
            assert!(call.reason().starts_with("Continue"));
        }
    }
}

#[test]
fn a_last_line_that_is_longer_than_the_tail_is_no_claim() {
    let world = behind();
    let long = json!({"type": "assistant", "message": {"role": "assistant",
        "content": format!("{}\nALL_TASKS_COMPLETE", "x".repeat(2 * 1024 * 1024))}});
    world.write("t.jsonl", long.to_string());
    assert!(with_transcript(&world, "t.jsonl").reason().starts_with("Continue"));
}

use std::fs;

use serde_json::{Value, json};

use super::TWO;
use crate::world::World;

const DONE: &str = "- [x] 1.1 a\n- [x] 1.2 b\n";

fn says(message: &str) -> Value {
    json!({"last_assistant_message": message})
}

fn assistant(text: &str) -> String {
    json!({"type": "assistant", "message": {"role": "assistant",
        "content": [{"type": "text", "text": text}]}})
    .to_string()
}

fn user(text: &str) -> String {
    json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
}

/// A world in which index and boxes disagree, so that only the claim can end
/// the loop in silence: the index is behind, every box is ticked.
fn behind() -> World {
    let world = World::with_tasks(DONE);
    world.state(&json!({"phase": "execution", "taskIndex": 0, "totalTasks": 2}));
    world
}

#[test]
fn a_true_claim_ends_the_loop_and_is_logged() {
    let call = behind().hook("stop", &says("All done.\n\nALL_TASKS_COMPLETE\n"));
    assert!(call.silent().stderr.starts_with("[ralph-specum] ALL_TASKS_COMPLETE detected"));
    assert_eq!(call.stderr.lines().count(), 1);
    assert!(behind().stop().reason().starts_with("Continue"), "it was the claim that ended it");
}

#[test]
fn a_claim_with_open_boxes_is_false_and_they_are_named_ten_at_most() {
    let tasks: String = (1..=12).map(|n| format!("- [ ] 1.{n} t\n")).collect();
    let world = World::with_tasks(&tasks);
    let reason = world.hook("stop", &says("ALL_TASKS_COMPLETE")).reason();
    let top = reason.lines().take_while(|line| *line != "## State").collect::<String>();
    assert!(top.contains("1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 1.10 and 2 more"), "{top}");
    assert!(!top.contains("1.11"), "{top}");
}

#[test]
fn a_claim_without_a_task_file_is_believed() {
    let world = World::with_tasks(TWO);
    fs::remove_file(world.path("specs/test-spec/tasks.md")).unwrap();
    let call = world.hook("stop", &says("**ALL_TASKS_COMPLETE**"));
    assert!(call.silent().stderr.contains("ALL_TASKS_COMPLETE detected"));
}

#[test]
fn a_claim_comes_before_a_corrupt_state_and_before_the_cap() {
    let world = behind();
    world.raw_state("{");
    let call = world.hook("stop", &says("ALL_TASKS_COMPLETE"));
    assert!(call.silent().stderr.contains("detected"));
    world.state(&json!({"phase": "execution", "totalTasks": 2, "globalIteration": 100}));
    let call = world.hook("stop", &says("ALL_TASKS_COMPLETE"));
    assert!(call.silent().stderr.contains("detected"));
}

#[test]
fn a_mention_is_no_claim() {
    for text in [
        "I will say ALL_TASKS_COMPLETE at the end",
        "`ALL_TASKS_COMPLETE`",
        "```\nALL_TASKS_COMPLETE\n```",
        "> ALL_TASKS_COMPLETE",
        "ALL_TASKS_COMPLETED",
    ] {
        let reason = behind().hook("stop", &says(text)).reason();
        assert!(reason.starts_with("Continue"), "{text}");
    }
}

#[test]
fn a_claim_may_be_bold_a_heading_or_a_promise() {
    for text in [
        "ALL_TASKS_COMPLETE",
        "**ALL_TASKS_COMPLETE**",
        "# ALL_TASKS_COMPLETE",
        "<promise>ALL_TASKS_COMPLETE</promise>",
        "text\r\nALL_TASKS_COMPLETE\r\n",
    ] {
        let call = behind().hook("stop", &says(text));
        assert!(call.silent().stderr.contains("detected"), "{text}");
    }
}

#[test]
fn the_transcript_speaks_when_the_host_does_not_send_the_last_message() {
    let world = behind();
    let lines = [user("go"), assistant("ALL_TASKS_COMPLETE"), user("Stop hook feedback")];
    world.write("t.jsonl", lines.join("\n") + "\n");
    let transcript = json!({"transcript_path": world.path("t.jsonl")});
    assert!(world.hook("stop", &transcript).silent().stderr.contains("detected"));
}

#[test]
fn only_the_last_words_of_the_agent_itself_count() {
    let sidechain = json!({"isSidechain": true, "type": "assistant",
        "message": {"role": "assistant", "content": "ALL_TASKS_COMPLETE"}});
    for lines in [
        vec![assistant("ALL_TASKS_COMPLETE"), assistant("no, one more thing")],
        vec![assistant("working"), user("ALL_TASKS_COMPLETE")],
        vec![assistant("working"), sidechain.to_string()],
        vec![user("say\nALL_TASKS_COMPLETE")],
    ] {
        let world = behind();
        world.write("t.jsonl", lines.join("\n") + "\n");
        let call = world.hook("stop", &json!({"transcript_path": world.path("t.jsonl")}));
        assert!(call.reason().starts_with("Continue"), "{lines:?}");
    }
}

#[test]
fn the_message_in_the_input_beats_the_transcript() {
    let world = behind();
    world.write("t.jsonl", assistant("ALL_TASKS_COMPLETE"));
    let mut fields = says("still working");
    fields["transcript_path"] = json!(world.path("t.jsonl"));
    assert!(world.hook("stop", &fields).reason().starts_with("Continue"));
}

#[test]
fn a_plain_text_transcript_is_the_agents_own_text() {
    let world = behind();
    world.write("t.txt", "working\nALL_TASKS_COMPLETE\n");
    let call = world.hook("stop", &json!({"transcript_path": world.path("t.txt")}));
    assert!(call.silent().stderr.contains("detected"));
}

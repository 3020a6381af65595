//! The hooks around sub-agents and slash commands, one call at a time, with
//! the input that Claude Code sends.

/// `pre-tool-use`: which calls become attempts.
mod delegate;

/// `subagent-stop`: which results are judged, and how.
mod judge;

/// `post-tool-use`: what the coordinator reads.
mod answer;

/// `prompt`: what a person types behind a slash command.
mod prompt;

/// A planning: authors, the question, and what a person answers.
mod planning;

/// `submit` and `stop`: who opened a turn, and who may end it.
mod turn;

use std::fs;

use serde_json::{Value, json};

use crate::world::{Call, STATE, TASKS, World, call};

const EXECUTOR: &str = "ralph-specum:spec-executor";
const PLAN: &str = "- [ ] 1.1 a\n  - **Files**: a\n  - **Verify**: `test -f a`\n- [ ] 1.2 b\n";
const GROUP: &str = "- [ ] 1.1 [P] a\n  - **Files**: a\n  - **Verify**: `test -f a`\n- [ ] 1.2 [P] b\n  - **Files**: b\n  - **Verify**: `test -f b`\n- [ ] 1.3 c\n";

/// A repository whose spec the session `test-session` works.
fn session(tasks: &str) -> World {
    let world = World::planned(tasks);
    take_over(&world, "test-session").exits(0);
    world
}

fn take_over(world: &World, session: &str) -> Call {
    let mut command = world.command();
    command.args(["implement", "--json"]).env("CLAUDE_CODE_SESSION_ID", session);
    call(command, b"")
}

/// A call of the Agent tool, before it is made.
pub(crate) fn calls(world: &World, prompt: &str, id: &str) -> Call {
    calls_with(world, &json!({"tool_use_id": id}), &json!({"prompt": prompt}))
}

fn calls_with(world: &World, fields: &Value, tool_input: &Value) -> Call {
    let mut arguments = json!({"description": "do it", "subagent_type": EXECUTOR});
    merge(&mut arguments, tool_input);
    let mut input = json!({
        "hook_event_name": "PreToolUse",
        "permission_mode": "bypassPermissions",
        "effort": {"level": "high"},
        "tool_name": "Agent",
        "tool_input": arguments,
        "tool_use_id": "toolu_1",
    });
    merge(&mut input, fields);
    world.hook("pre-tool-use", &input)
}

fn merge(into: &mut Value, fields: &Value) {
    for (name, value) in fields.as_object().expect("an object") {
        into[name] = value.clone();
    }
}

/// What the call is made with.
#[track_caller]
pub(crate) fn given(call: &Call) -> Value {
    let answer = &call.exits(0).json()["hookSpecificOutput"];
    assert_eq!(answer["hookEventName"], "PreToolUse");
    assert!(answer["updatedInput"].is_object(), "{answer}");
    answer["updatedInput"].clone()
}

/// Why the call is not made.
#[track_caller]
pub(crate) fn refused(call: &Call) -> String {
    let answer = &call.exits(0).json()["hookSpecificOutput"];
    assert_eq!(answer["permissionDecision"], "deny", "{answer}");
    answer["permissionDecisionReason"].as_str().expect("a reason").to_owned()
}

/// The end of the sub-agent that a call started.
pub(crate) fn ends(world: &World, id: &str, said: &str) -> Call {
    ends_with(world, id, &json!({"last_assistant_message": said}))
}

fn ends_with(world: &World, id: &str, fields: &Value) -> Call {
    let transcript = transcript(id);
    world.write(&transcript, "{\"type\":\"user\",\"message\":{\"content\":\"no marker\"}}\n");
    let meta = json!({"agentType": EXECUTOR, "description": "x", "toolUseId": id, "spawnDepth": 1});
    world.write(&transcript.replace(".jsonl", ".meta.json"), meta.to_string());
    stops(world, &transcript, fields)
}

fn transcript(id: &str) -> String {
    format!("../home/.claude/projects/p/s/subagents/agent-{id}.jsonl")
}

fn stops(world: &World, transcript: &str, fields: &Value) -> Call {
    let mut input = json!({
        "hook_event_name": "SubagentStop",
        "agent_id": "a1",
        "agent_type": EXECUTOR,
        "agent_transcript_path": world.path(transcript),
        "last_assistant_message": "TASK_COMPLETE",
        "background_tasks": [],
    });
    merge(&mut input, fields);
    world.hook("subagent-stop", &input)
}

fn response(text: &str) -> Value {
    json!({
        "status": "completed",
        "prompt": "task",
        "agentId": "a1",
        "content": [{"type": "text", "text": text}],
        "totalTokens": 15,
        "usage": {"input_tokens": 10},
    })
}

/// What the coordinator reads as the result of a call.
#[track_caller]
fn result_of(world: &World, id: &str, text: &str) -> String {
    let call = returns(world, id, &response(text));
    let output = call.exits(0).json()["hookSpecificOutput"]["updatedToolOutput"].clone();
    output["content"][0]["text"].as_str().expect("a text").to_owned()
}

fn returns(world: &World, id: &str, response: &Value) -> Call {
    let input = json!({
        "hook_event_name": "PostToolUse",
        "tool_name": "Agent",
        "tool_input": {"description": "x", "prompt": "task", "subagent_type": EXECUTOR},
        "tool_response": response,
        "tool_use_id": id,
        "duration_ms": 12,
    });
    world.hook("post-tool-use", &input)
}

/// The ids of the tasks of these records.
fn recorded(world: &World, event: &str) -> Vec<String> {
    let id = |record: &Value| record["task"]["id"].as_str().unwrap_or_default().to_owned();
    world.journal(event).iter().map(id).collect()
}

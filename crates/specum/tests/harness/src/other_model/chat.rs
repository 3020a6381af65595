//! The Chat Completions API, as far as opencode uses it.

use serde_json::{Value, json};

use super::{Told, Turn, texts};

/// The last message of the conversation.
pub(super) fn told(body: &Value) -> Told {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(message) = messages.last() else { return Told::Text(String::new()) };
    let content = &message["content"];
    let text = content.as_str().map_or_else(|| texts(content, "text"), str::to_owned);
    if message["role"] == "tool" { Told::Output(text) } else { Told::Text(text) }
}

pub(super) fn events(turn: &Turn, number: usize) -> String {
    let (delta, reason) = match turn {
        Turn::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Turn::Run(command) => {
            let arguments = json!({"command": command, "description": "the task"}).to_string();
            let call = json!({
                "index": 0, "id": format!("call_{number}"), "type": "function",
                "function": {"name": "bash", "arguments": arguments},
            });
            (json!({"role": "assistant", "tool_calls": [call]}), "tool_calls")
        }
    };
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": format!("chat_{number}"), "object": "chat.completion.chunk", "created": 1,
            "model": "mock-1", "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    [
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), Value::Null),
        chunk(json!([]), usage),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

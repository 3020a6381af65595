//! The Responses API, as far as Codex uses it.

use serde_json::{Value, json};

use super::{Told, Turn, texts};

/// The last item of the conversation.
pub(super) fn told(body: &Value) -> Told {
    let items = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    match items.last() {
        Some(item) if item["type"] == "function_call_output" => {
            let output = &item["output"];
            Told::Output(output.as_str().map_or_else(|| texts(output, "text"), str::to_owned))
        }
        Some(item) => Told::Text(texts(&item["content"], "text")),
        None => Told::Text(String::new()),
    }
}

pub(super) fn events(turn: &Turn, number: usize) -> String {
    let item = match turn {
        Turn::Say(text) => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }),
        Turn::Run(command) => json!({
            "type": "function_call", "id": format!("fc_{number}"),
            "call_id": format!("call_{number}"), "name": "exec_command",
            "arguments": json!({"cmd": command}).to_string(),
        }),
    };
    let id = format!("resp_{number}");
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    });
    [
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": id, "usage": usage}}),
    ]
    .iter()
    .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("")))
    .collect()
}

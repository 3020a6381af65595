//! `streamGenerateContent`, as far as Gemini CLI uses it.

use serde_json::{Value, json};

use super::{Told, Turn, texts};

/// The last message of the conversation.
pub(super) fn told(body: &Value) -> Told {
    let messages = body["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let parts = messages.last().map_or(&Value::Null, |message| &message["parts"]);
    let results: Vec<String> = (parts.as_array().into_iter().flatten())
        .filter(|part| part["functionResponse"].is_object())
        .map(|part| part["functionResponse"]["response"].to_string())
        .collect();
    if results.is_empty() {
        Told::Text(texts(parts, "text"))
    } else {
        Told::Output(results.concat())
    }
}

/// The answer to the host's own question whether the conversation makes progress.
pub(super) fn no_loop() -> String {
    let says = json!({
        "unproductive_state_analysis": "each command is another one",
        "unproductive_state_confidence": 0.0,
    });
    response(&json!({"text": says.to_string()})).to_string()
}

pub(super) fn events(turn: &Turn) -> String {
    let part = match turn {
        Turn::Say(text) => json!({"text": text}),
        Turn::Run(command) => json!({"functionCall": {
            "name": "run_shell_command", "args": {"command": command, "description": "the task"},
        }}),
    };
    format!("data: {}\n\n", response(&part))
}

fn response(part: &Value) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    })
}

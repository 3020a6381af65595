//! Codex: a command is told when it begins and again when it has ended.

use super::{CALLS_UNDER_WAY, Digest, Spoken, Transcript, Value, blocks, call, cleaned, json};
use crate::agent::codex::unwrapped;

impl Transcript {
    pub(super) fn codex(&mut self, event: &Value) -> Vec<Spoken> {
        let item = &event["item"];
        let message = |value: &Value| cleaned(value.as_str().unwrap_or_default());
        match event["type"].as_str() {
            Some("item.started") => {
                let calls = calls(item);
                if !calls.is_empty() {
                    self.open.push_back(id(item));
                    if self.open.len() > CALLS_UNDER_WAY {
                        self.open.pop_front();
                    }
                }
                calls
            }
            Some("item.completed") => self.completed(item),
            Some("turn.failed") => vec![Spoken::Trouble(message(&event["error"]["message"]))],
            // It may be no more than a lost connection, and the turn says so if it fails.
            Some("error") => vec![Spoken::Note(message(&event["message"]))],
            _ => Vec::new(),
        }
    }

    fn completed(&mut self, item: &Value) -> Vec<Spoken> {
        let text = |name: &str| cleaned(item[name].as_str().unwrap_or_default());
        match item["type"].as_str() {
            Some("agent_message") => return vec![Spoken::Words(text("text"))],
            Some("error") => return vec![Spoken::Note(text("message"))],
            _ => {}
        }
        let id = id(item);
        let mut spoken = match self.open.iter().position(|open| *open == id) {
            Some(at) => {
                self.open.remove(at);
                Vec::new()
            }
            None => calls(item),
        };
        let is_error = item["status"] == "failed" || item["error"].is_object();
        let answer = match &item["error"]["message"] {
            Value::String(error) => cleaned(error),
            _ => text("aggregated_output"),
        };
        let answer = match item["exit_code"].as_i64().filter(|code| *code != 0) {
            Some(code) => format!("{answer}\nexit code {code}").trim_start().to_owned(),
            None => answer,
        };
        spoken.push(Spoken::Result { text: answer, is_error });
        spoken
    }
}

fn id(item: &Value) -> Digest {
    Digest::of(item["id"].as_str().unwrap_or_default().as_bytes())
}

/// The tool calls that an item is: a change may be one of several files.
fn calls(item: &Value) -> Vec<Spoken> {
    let field = |name: &str| item[name].as_str().unwrap_or_default();
    match field("type") {
        "command_execution" => {
            vec![call("Bash", &json!({ "command": unwrapped(field("command")) }))]
        }
        "file_change" => blocks(&item["changes"])
            .map(|change| call("Edit", &json!({ "path": change["path"] })))
            .collect(),
        "mcp_tool_call" => vec![call(field("tool"), &item["arguments"])],
        "web_search" => vec![call("Search", item)],
        "collab_tool_call" => vec![call(field("tool"), item)],
        _ => Vec::new(),
    }
}

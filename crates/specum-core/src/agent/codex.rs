//! Codex in `exec` mode.
//!
//! Its feature `hooks` is switched off for the session; configuration,
//! instructions and credentials stay the person's.
//!
//! `turn.completed` is its last word and the last `agent_message` the answer;
//! `turn.failed` is an error that has no code, only a text. An `error` item is
//! a warning, and an `error` event may be no more than a lost connection.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::text::{self, LONGEST_MESSAGE, TextTail};
use super::{Agent, Call, Measures, Order, Reader, Report, Sign, Trouble, Usage, diagnosis};
use crate::digest::Digest;
use crate::verify::ProcessEnd;

pub(super) struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn program(&self) -> Option<&'static str> {
        Some("codex")
    }

    fn measures(&self) -> Measures {
        Measures { tokens: true, cost: false }
    }

    fn call(&self, order: &Order<'_>) -> Call {
        const ARGS: [&str; 6] = [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "-c",
            "features.hooks=false",
        ];
        let mut call = Call::new("codex", &ARGS, order).model(order);
        // The prompt is on standard input.
        call.args.push("-".to_owned());
        call
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<CodexReader>::default()
    }

    fn sign_in(&self) -> &'static str {
        "run `codex login`"
    }
}

/// More items than these are not under way at once.
const ITEMS_UNDER_WAY: usize = 256;

#[derive(Default)]
struct CodexReader {
    began: bool,
    message: TextTail,
    used: Option<Usage>,
    /// The tool calls that were reported and have not ended.
    open: VecDeque<Digest>,
    /// The last error, which may have been overcome.
    complaint: Option<String>,
    completed: bool,
    failure: Option<String>,
}

impl Reader for CodexReader {
    fn line(&mut self, line: &[u8]) -> Vec<Sign> {
        let Some(event) = text::event(line) else { return Vec::new() };
        self.began = true;
        let item = &event["item"];
        match event["type"].as_str() {
            Some("item.started") => self.started(item).into_iter().collect(),
            Some("item.completed") => self.completed(item),
            Some("turn.completed") => {
                (self.completed, self.failure) = (true, None);
                self.count(&event["usage"])
            }
            Some("turn.failed") => {
                let message = event["error"]["message"].as_str().unwrap_or_default();
                (self.completed, self.failure) = (false, Some(bounded(message)));
                Vec::new()
            }
            Some("error") => self.error(event["message"].as_str().unwrap_or_default()),
            _ => Vec::new(),
        }
    }

    fn has_answered(&self) -> bool {
        self.completed || self.failure.is_some()
    }

    fn end(self: Box<Self>, ended: &ProcessEnd, stderr: &str) -> Report {
        let trouble = match (&self.failure, self.completed) {
            (Some(message), _) => Some(diagnosed(message)),
            (None, true) => None,
            (None, false) => Some(self.without_answer(ended, stderr)),
        };
        Report { result: self.message.end(LONGEST_MESSAGE), usage: self.used, trouble }
    }
}

impl CodexReader {
    fn started(&mut self, item: &Value) -> Option<Sign> {
        let name = tool(item)?;
        self.open.push_back(id(item));
        if self.open.len() > ITEMS_UNDER_WAY {
            self.open.pop_front();
        }
        Some(Sign::Tool { name })
    }

    fn completed(&mut self, item: &Value) -> Vec<Sign> {
        if item["type"] == "agent_message" {
            let said = item["text"].as_str().unwrap_or_default();
            self.message.replace(said, LONGEST_MESSAGE);
            return vec![Sign::Text { text: text::shown(said).into_owned() }];
        }
        let Some(name) = tool(item) else { return Vec::new() };
        let id = id(item);
        match self.open.iter().position(|open| *open == id) {
            Some(at) => {
                self.open.remove(at);
                vec![Sign::ToolEnded]
            }
            // Some are reported only when they are over.
            None => vec![Sign::Tool { name }, Sign::ToolEnded],
        }
    }

    /// The counts are those of the whole thread, which began with this call.
    /// Cached tokens are part of the input, reasoning is part of the output.
    fn count(&mut self, usage: &Value) -> Vec<Sign> {
        let count = |name: &str| usage[name].as_u64().unwrap_or_default();
        let tokens = count("input_tokens").saturating_add(count("output_tokens"));
        let used = Usage { tokens, cost: None };
        self.used = Some(used);
        vec![Sign::Used(used)]
    }

    fn error(&mut self, message: &str) -> Vec<Sign> {
        self.complaint = Some(bounded(message));
        if message.starts_with("Reconnecting") {
            return vec![Sign::Retrying { why: text::reason(message) }];
        }
        Vec::new()
    }

    /// A process that was ended in the midst of reconnecting has said why.
    fn without_answer(&self, ended: &ProcessEnd, stderr: &str) -> Trouble {
        let explained = self.complaint.as_deref().and_then(known);
        match ended {
            ProcessEnd::NotStarted(_) => diagnosis::without_answer(ended, stderr, self.began),
            _ => explained.unwrap_or_else(|| diagnosis::without_answer(ended, stderr, self.began)),
        }
    }
}

fn id(item: &Value) -> Digest {
    Digest::of(item["id"].as_str().unwrap_or_default().as_bytes())
}

/// What kind of tool call an item is, in a few words; `None` if it is none.
fn tool(item: &Value) -> Option<String> {
    let field = |name: &str| item[name].as_str().unwrap_or_default();
    match field("type") {
        "command_execution" => {
            let command = unwrapped(field("command"));
            Some(text::tool("Bash", &json!({ "command": command })))
        }
        "file_change" => Some(text::tool("Edit", &json!({ "path": item["changes"][0]["path"] }))),
        "mcp_tool_call" => Some(text::tool(field("tool"), &item["arguments"])),
        "web_search" => Some(text::tool("Search", item)),
        "collab_tool_call" => Some(text::tool(field("tool"), item)),
        _ => None,
    }
}

/// A command without the shell around it: `/bin/bash -lc 'cargo test'`.
pub(super) fn unwrapped(command: &str) -> &str {
    match command.split_once(" -lc ") {
        Some((shell, inner)) if !shell.contains(' ') => {
            let quoted = inner.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\''));
            quoted.unwrap_or(inner)
        }
        _ => command,
    }
}

fn bounded(message: &str) -> String {
    crate::line::head(message, 4096).to_owned()
}

fn diagnosed(message: &str) -> Trouble {
    known(message).unwrap_or_else(|| Trouble::Crash(text::reason(message)))
}

/// The status in the text says more than the words around it.
fn known(message: &str) -> Option<Trouble> {
    diagnosis::status_in(message)
        .and_then(|status| diagnosis::by_status(status, message))
        .or_else(|| diagnosis::by_words(message))
}

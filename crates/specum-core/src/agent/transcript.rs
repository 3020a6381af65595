//! What an agent said and did, from the log of one start, for a person who reads it
//! later.
//!
//! A [`Reader`](super::Reader) gives signs of life, cut short, while an agent is at
//! work; a transcript gives its words whole, its tool calls in one line each and what
//! they came to. It takes any bytes, line by line, and never fails: a line of a stream
//! that it does not know is passed over, and a line that is none of a stream stands as
//! it is.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::text;
use crate::digest::Digest;
use crate::{line, sanitize};

mod codex;

/// The longest text that is given in one piece.
const LONGEST: usize = 256 * 1024;
/// More calls than these are not under way at once.
const CALLS_UNDER_WAY: usize = 256;

/// A piece of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spoken {
    /// The agent says something.
    Words(String),
    /// It uses a tool: which, and on what, in one line.
    Call(String),
    /// What a call came to.
    Result {
        /// What the tool answered.
        text: String,
        /// Whether that is an error.
        is_error: bool,
    },
    /// Something that it waits for, or warns of.
    Note(String),
    /// An error of its own.
    Trouble(String),
    /// A line that is no part of its stream, as it stands: what an agent without a
    /// stream says, or one with a stream on standard error.
    Printed(String),
}

/// Which stream a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Claude,
    Codex,
    Gemini,
    Opencode,
    /// Plain text.
    Text,
}

/// Reads the log of one start of an agent.
#[derive(Debug)]
pub struct Transcript {
    /// `None` until it shows which one it is.
    stream: Option<Stream>,
    /// The calls that were told and have not ended.
    open: VecDeque<Digest>,
    /// A message whose end has not come yet.
    message: String,
}

impl Transcript {
    /// The transcript of an agent of this name. Without a name, the first event that an
    /// agent begins with says which one it is.
    pub fn of(agent: Option<&str>) -> Transcript {
        let stream = agent.map(|name| match name {
            "claude" => Stream::Claude,
            "codex" => Stream::Codex,
            "gemini" => Stream::Gemini,
            "opencode" => Stream::Opencode,
            _ => Stream::Text,
        });
        Transcript { stream, open: VecDeque::new(), message: String::new() }
    }

    /// A line of the log, without its end.
    pub fn line(&mut self, line: &[u8]) -> Vec<Spoken> {
        let event = match self.stream {
            Some(Stream::Text) => None,
            _ => text::event(line),
        };
        let Some(event) = event else {
            let mut spoken = self.message_over();
            spoken.push(Spoken::Printed(text::readable(line).into_owned()));
            return spoken;
        };
        if self.stream.is_none() {
            self.stream = begins(&event);
        }
        let mut spoken = match self.stream {
            Some(Stream::Claude) => claude(&event),
            Some(Stream::Codex) => self.codex(&event),
            Some(Stream::Gemini) => self.gemini(&event),
            Some(Stream::Opencode) => opencode(&event),
            Some(Stream::Text) | None => {
                vec![Spoken::Printed(text::readable(line).into_owned())]
            }
        };
        spoken.retain(|piece| !piece.is_empty());
        spoken
    }

    /// What is left when the log has ended.
    pub fn end(&mut self) -> Vec<Spoken> {
        self.message_over()
    }

    fn message_over(&mut self) -> Vec<Spoken> {
        let words = Spoken::Words(cleaned(&std::mem::take(&mut self.message)));
        if words.is_empty() { Vec::new() } else { vec![words] }
    }

    /// Gemini CLI: a message comes in pieces.
    fn gemini(&mut self, event: &Value) -> Vec<Spoken> {
        let kind = event["type"].as_str();
        if kind == Some("message") && event["role"] == "assistant" {
            self.message.push_str(event["content"].as_str().unwrap_or_default());
            let is_long = self.message.len() > LONGEST;
            return if is_long { self.message_over() } else { Vec::new() };
        }
        let mut spoken = self.message_over();
        match kind {
            Some("tool_use") => {
                let name = event["tool_name"].as_str().unwrap_or("a tool");
                spoken.push(call(name, &event["parameters"]));
            }
            Some("tool_result") => {
                let is_error = event["status"].as_str().is_some_and(|status| status != "success");
                let answer = match &event["error"]["message"] {
                    Value::String(error) => error,
                    _ => event["output"].as_str().unwrap_or_default(),
                };
                spoken.push(Spoken::Result { text: cleaned(answer), is_error });
            }
            Some("error") => {
                let message = cleaned(event["message"].as_str().unwrap_or_default());
                spoken.push(match event["severity"] == "warning" {
                    true => Spoken::Note(message),
                    false => Spoken::Trouble(message),
                });
            }
            Some("result") if event["status"] != "success" => {
                let message = event["error"]["message"].as_str().unwrap_or_default();
                spoken.push(Spoken::Trouble(cleaned(message)));
            }
            _ => {}
        }
        spoken
    }
}

impl Spoken {
    fn is_empty(&self) -> bool {
        match self {
            Spoken::Words(text)
            | Spoken::Call(text)
            | Spoken::Note(text)
            | Spoken::Trouble(text)
            | Spoken::Result { text, .. } => text.trim().is_empty(),
            Spoken::Printed(_) => false,
        }
    }
}

/// Which agent begins its stream with such an event.
fn begins(event: &Value) -> Option<Stream> {
    match event["type"].as_str()? {
        "system" | "assistant" => Some(Stream::Claude),
        "thread.started" | "turn.started" => Some(Stream::Codex),
        "init" => Some(Stream::Gemini),
        "step_start" => Some(Stream::Opencode),
        _ => None,
    }
}

/// Claude Code: messages of the agent, answers of its tools, and a last word, which
/// repeats the last message unless it is an error.
fn claude(event: &Value) -> Vec<Spoken> {
    let message = &event["message"];
    match event["type"].as_str() {
        // The words of an error stand in the last word, too.
        Some("assistant") if event["error"].is_string() => Vec::new(),
        Some("assistant") => blocks(&message["content"]).filter_map(claude_says).collect(),
        Some("user") => blocks(&message["content"]).filter_map(claude_result).collect(),
        Some("system") if event["subtype"] == "api_retry" => {
            let why = event["error"].as_str().unwrap_or("unknown").replace('_', " ");
            vec![Spoken::Note(format!("waits: {}", text::reason(&why)))]
        }
        Some("result") if event["is_error"] == true => {
            let errors: Vec<&str> = blocks(&event["errors"]).filter_map(Value::as_str).collect();
            let said = event["result"].as_str().map_or_else(|| errors.join("; "), str::to_owned);
            vec![Spoken::Trouble(cleaned(&said))]
        }
        _ => Vec::new(),
    }
}

fn claude_says(block: &Value) -> Option<Spoken> {
    match block["type"].as_str()? {
        "text" => Some(Spoken::Words(cleaned(block["text"].as_str()?))),
        "tool_use" => Some(call(block["name"].as_str().unwrap_or("a tool"), &block["input"])),
        _ => None,
    }
}

fn claude_result(block: &Value) -> Option<Spoken> {
    if block["type"] != "tool_result" {
        return None;
    }
    let content = &block["content"];
    let pieces = blocks(content).filter_map(|piece| piece["text"].as_str());
    let answer =
        content.as_str().map_or_else(|| pieces.collect::<Vec<_>>().join("\n"), str::to_owned);
    Some(Spoken::Result { text: cleaned(&answer), is_error: block["is_error"] == true })
}

/// opencode: a tool is told when it has ended.
fn opencode(event: &Value) -> Vec<Spoken> {
    let part = &event["part"];
    match event["type"].as_str() {
        Some("text") => {
            vec![Spoken::Words(cleaned(part["text"].as_str().unwrap_or_default()))]
        }
        Some("tool_use") => {
            let state = &part["state"];
            let name = part["tool"].as_str().unwrap_or("a tool");
            let is_error = state["status"] == "error";
            let answer = if is_error { &state["error"] } else { &state["output"] };
            let text = cleaned(answer.as_str().unwrap_or_default());
            vec![call(name, &state["input"]), Spoken::Result { text, is_error }]
        }
        Some("error") => {
            let error = &event["error"];
            let message = error["data"]["message"].as_str().or(error["name"].as_str());
            vec![Spoken::Trouble(cleaned(message.unwrap_or("it does not say why")))]
        }
        _ => Vec::new(),
    }
}

fn call(name: &str, input: &Value) -> Spoken {
    Spoken::Call(text::tool(name, input))
}

fn cleaned(text: &str) -> String {
    sanitize::clean(line::head(text, LONGEST)).trim_end().to_owned()
}

fn blocks(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests;

//! What a host asked the model, and the questions tests have about it.

use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::Value;

/// One recorded `POST /v1/messages`.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) arrived: Instant,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    /// Bytes of the body as sent.
    pub(crate) length: usize,
}

/// What a tool gave back to the model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolResult {
    pub(crate) tool_use_id: String,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Request {
    /// Whether a sub-agent asks, not the main conversation.
    pub(crate) fn is_subagent(&self) -> bool {
        self.agent_id().is_some()
    }

    pub(crate) fn agent_id(&self) -> Option<&str> {
        self.header("x-claude-code-agent-id")
    }

    pub(crate) fn session_id(&self) -> Option<&str> {
        self.header("x-claude-code-session-id")
    }

    /// The text of each user message, oldest first; tool results are not text.
    pub(crate) fn user_texts(&self) -> Vec<String> {
        self.messages("user").map(|message| text_of(&message["content"])).collect()
    }

    /// The text of the newest user message, empty if it has only tool results.
    pub(crate) fn last_user_text(&self) -> String {
        self.user_texts().pop().unwrap_or_default()
    }

    /// The tool results in the newest user message.
    pub(crate) fn tool_results(&self) -> Vec<ToolResult> {
        let Some(message) = self.messages("user").last() else {
            return Vec::new();
        };
        blocks(&message["content"])
            .filter(|block| block["type"] == "tool_result")
            .map(|block| ToolResult {
                tool_use_id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
                text: text_of(&block["content"]),
                is_error: block["is_error"] == true,
            })
            .collect()
    }

    /// Everything that the model has not answered yet: what was typed, what
    /// tools gave back, what hooks and the host have added.
    pub(crate) fn news(&self) -> String {
        let messages: Vec<&Value> = blocks(&self.body["messages"]).collect();
        let answered = messages.iter().rposition(|message| message["role"] == "assistant");
        let news = &messages[answered.map_or(0, |last| last + 1)..];
        let texts = news.iter().map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            content => blocks(content)
                .map(|block| text_of(block.get("text").unwrap_or(&block["content"])))
                .collect::<Vec<_>>()
                .join("\n"),
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Whether `needle` stands in any string of any message, tool calls and
    /// their results included.
    pub(crate) fn mentions(&self, needle: &str) -> bool {
        contains(&self.body["messages"], needle)
    }

    pub(crate) fn system_text(&self) -> String {
        text_of(&self.body["system"])
    }

    /// Whether the model is offered this tool.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        blocks(&self.body["tools"]).any(|tool| tool["name"] == name)
    }

    /// How many assistant messages the conversation has so far.
    pub(crate) fn assistant_turns(&self) -> usize {
        self.messages("assistant").count()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    // By role, because Claude Code puts `role: "system"` entries behind the
    // user's message: the last entry is often not the user's.
    fn messages<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a Value> {
        blocks(&self.body["messages"]).filter(move |message| message["role"] == role)
    }
}

fn blocks(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The text of a content field, which is a string or a list of blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        _ => blocks(content)
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn contains(value: &Value, needle: &str) -> bool {
    match value {
        Value::String(text) => text.contains(needle),
        Value::Array(items) => items.iter().any(|item| contains(item, needle)),
        Value::Object(fields) => fields.values().any(|field| contains(field, needle)),
        _ => false,
    }
}

//! What a host asked the model, and the questions tests have about it.

use std::time::Instant;

use axum::http::HeaderMap;
use serde_json::Value;

/// One recorded `POST /v1/messages`.
#[derive(Clone, Debug)]
pub struct Request {
    pub arrived: Instant,
    pub headers: HeaderMap,
    pub body: Value,
    /// Bytes of the body as sent.
    pub length: usize,
}

/// What a tool gave back to the model.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub tool_use_id: String,
    pub text: String,
    pub is_error: bool,
}

impl Request {
    /// Whether a sub-agent asks, not the main conversation.
    pub fn is_subagent(&self) -> bool {
        self.agent_id().is_some()
    }

    pub fn agent_id(&self) -> Option<&str> {
        self.header("x-claude-code-agent-id")
    }

    pub fn session_id(&self) -> Option<&str> {
        self.header("x-claude-code-session-id")
    }

    /// The text of each user message, oldest first; tool results are not text.
    pub fn user_texts(&self) -> Vec<String> {
        self.messages("user").map(|message| text_of(&message["content"])).collect()
    }

    /// The text of the newest user message, empty if it has only tool results.
    pub fn last_user_text(&self) -> String {
        self.user_texts().pop().unwrap_or_default()
    }

    /// The tool results in the newest user message.
    pub fn tool_results(&self) -> Vec<ToolResult> {
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

    /// What the model has just been told: its prompt or the results of its calls,
    /// without the frame that newer hosts put an agent's result into.
    pub fn told(&self) -> String {
        let results = self.tool_results();
        if results.is_empty() {
            return self.last_user_text();
        }
        let text = |result: ToolResult| match result.text.strip_prefix("[Subagent hand-back]") {
            Some(framed) => framed.replace("\n  ", "\n"),
            None => result.text,
        };
        results.into_iter().map(text).collect::<Vec<_>>().join("\n")
    }

    /// Everything that the model has not answered yet: what was typed, what
    /// tools gave back, what hooks and the host have added.
    pub fn news(&self) -> String {
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
    pub fn mentions(&self, needle: &str) -> bool {
        contains(&self.body["messages"], needle)
    }

    pub fn system_text(&self) -> String {
        text_of(&self.body["system"])
    }

    /// Whether the model is offered this tool.
    pub fn has_tool(&self, name: &str) -> bool {
        blocks(&self.body["tools"]).any(|tool| tool["name"] == name)
    }

    /// How many assistant messages the conversation has so far.
    pub fn assistant_turns(&self) -> usize {
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

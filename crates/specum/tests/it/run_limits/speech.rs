//! The lines in which agents speak, as lines of a script.

use serde_json::{Value, json};

fn say(event: &Value) -> String {
    format!("say {event}\n")
}

/// Claude Code.
pub(super) mod claude {
    use super::{json, say};

    /// A message, and what it used.
    pub(crate) fn text(id: &str, text: &str, tokens: u64) -> String {
        say(&json!({"type": "assistant", "parent_tool_use_id": null, "message": {
            "id": id, "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": tokens, "output_tokens": 0}}}))
    }

    /// Begins to use a tool.
    pub(crate) fn tool(id: &str, command: &str) -> String {
        say(&json!({"type": "assistant", "parent_tool_use_id": null, "message": {
            "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}}))
    }

    /// The tool has answered.
    pub(crate) fn answered(id: &str) -> String {
        say(&json!({"type": "user", "parent_tool_use_id": null, "message": {
            "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]}}))
    }

    /// The last word.
    pub(crate) fn done(text: &str, tokens: u64, cost: f64) -> String {
        say(&json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 2,
            "result": text, "total_cost_usd": cost, "terminal_reason": "completed",
            "modelUsage": {"m": {"inputTokens": tokens, "outputTokens": 0}}}))
    }

    /// Success, as it says itself.
    pub(crate) fn complete(tokens: u64, cost: f64) -> String {
        done("Done.\n\nTASK_COMPLETE", tokens, cost)
    }

    /// An error of the API in the place of an answer.
    pub(crate) fn fails(kind: &str, status: u64, text: &str) -> String {
        say(&json!({"type": "assistant", "error": kind, "parent_tool_use_id": null,
            "message": {"id": "e", "content": [{"type": "text", "text": text}]}}))
            + &say(&json!({"type": "result", "subtype": "success", "is_error": true,
                "api_error_status": status, "num_turns": 1, "result": text,
                "total_cost_usd": 0, "modelUsage": {}, "terminal_reason": "completed"}))
            + "exit 1\n"
    }

    /// A limit is reached, which ends at this second.
    pub(crate) fn limited_until(second: i64) -> String {
        say(&json!({"type": "rate_limit_event", "rate_limit_info": {
            "status": "rejected", "resetsAt": second, "rateLimitType": "five_hour"}}))
            + &fails("rate_limit", 429, "You've hit your session limit")
    }
}

/// Codex.
pub(super) mod codex {
    use super::{json, say};

    pub(crate) fn text(text: &str) -> String {
        say(
            &json!({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}}),
        )
    }

    pub(crate) fn done(said: &str, tokens: u64) -> String {
        text(said)
            + &say(
                &json!({"type": "turn.completed", "usage": {"input_tokens": tokens, "output_tokens": 0}}),
            )
    }

    pub(crate) fn complete(tokens: u64) -> String {
        done("TASK_COMPLETE", tokens)
    }

    /// It has no connection, and tries again.
    pub(crate) fn reconnects(why: &str) -> String {
        say(&json!({"type": "error", "message": format!("Reconnecting... {why}")}))
    }

    pub(crate) fn fails(message: &str) -> String {
        say(&json!({"type": "turn.failed", "error": {"message": message}})) + "exit 1\n"
    }
}

//! Claude Code in print mode.
//!
//! Hooks are switched off for the session, those of plugins included: a loop
//! that a person has set up for their own sessions would take an attempt for
//! one of them. Settings, instructions and credentials stay theirs.
//!
//! Its last `result` event is its last word. `subtype` says `success` even for
//! a refused key, so `is_error` counts; tokens are summed over `modelUsage`,
//! because `usage` leaves out sub-agents. A refusal by the model is an answer:
//! another task may well be accepted.

use std::collections::VecDeque;

use serde_json::Value;

use super::text::{self, LONGEST_MESSAGE};
use super::{Agent, Call, Measures, Order, Reader, Report, Reset, Sign, Trouble, Usage, diagnosis};
use crate::digest::Digest;
use crate::line;
use crate::sanitize::clean;
use crate::verify::ProcessEnd;

pub(super) struct Claude;

impl Agent for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn program(&self) -> Option<&'static str> {
        Some("claude")
    }

    fn measures(&self) -> Measures {
        Measures { tokens: true, cost: true }
    }

    fn call(&self, order: &Order<'_>) -> Call {
        const ARGS: [&str; 7] = [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            "--settings",
            r#"{"disableAllHooks":true}"#,
        ];
        let mut call = Call::new("claude", &ARGS, order).model(order);
        // It names its price only at its end, so it has to watch the cap itself. It
        // refuses 0; rounded up, so that it never stops below the cap.
        let most = order
            .max_cost
            .map(|dollars| ((dollars * 10_000.0 - 1e-6).ceil() / 10_000.0).max(0.0001));
        call.args.extend(most.map(|dollars| format!("--max-budget-usd={dollars:.4}")));
        call
            // It would try ten times and for minutes, even with a wrong key.
            .env("CLAUDE_CODE_MAX_RETRIES", "2")
            .env("DISABLE_AUTOUPDATER", "1")
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<ClaudeReader>::default()
    }

    fn sign_in(&self) -> &'static str {
        "run `claude` and type /login, or set ANTHROPIC_API_KEY"
    }
}

/// Agents side by side mix their messages; more than these are not under way.
const MESSAGES_UNDER_WAY: usize = 64;

#[derive(Default)]
struct ClaudeReader {
    began: bool,
    used: Option<Usage>,
    /// The messages counted last, each of which comes in several events.
    counted: VecDeque<Digest>,
    /// When the limit that was reached ends.
    reset: Option<Reset>,
    /// The kind of the last error that took the place of a message.
    complaint: Option<String>,
    last_word: Option<LastWord>,
}

/// A `result` event.
struct LastWord {
    text: String,
    failed: bool,
    status: Option<u64>,
    /// Why the conversation came to its end.
    reason: String,
    refused: bool,
}

impl Reader for ClaudeReader {
    fn line(&mut self, line: &[u8]) -> Vec<Sign> {
        let Some(event) = text::event(line) else { return Vec::new() };
        self.began = true;
        match event["type"].as_str() {
            Some("assistant") => self.assistant(&event),
            Some("user") => tool_results(&event["message"]["content"]),
            Some("system") if event["subtype"] == "api_retry" => vec![retrying(&event)],
            Some("rate_limit_event") => {
                let info = &event["rate_limit_info"];
                if info["status"] == "rejected" {
                    self.reset = info["resetsAt"].as_i64().map(Reset::At);
                }
                Vec::new()
            }
            Some("result") => self.result(&event),
            _ => Vec::new(),
        }
    }

    fn has_answered(&self) -> bool {
        self.last_word.is_some()
    }

    fn end(self: Box<Self>, ended: &ProcessEnd, stderr: &str) -> Report {
        let Some(last) = &self.last_word else {
            let trouble = Some(diagnosis::without_answer(ended, stderr, self.began));
            // What it has counted on the way is not all, and has no price.
            return Report { result: String::new(), usage: None, trouble };
        };
        let trouble = (last.failed && !last.refused).then(|| self.trouble(last));
        Report { result: last.text.clone(), usage: self.used, trouble }
    }
}

impl ClaudeReader {
    fn assistant(&mut self, event: &Value) -> Vec<Sign> {
        let message = &event["message"];
        if let Some(kind) = event["error"].as_str() {
            self.complaint = Some(text::reason(kind));
            return Vec::new();
        }
        let mut signs: Vec<Sign> = Vec::new();
        for block in blocks(&message["content"]) {
            match block["type"].as_str() {
                // What sub-agents say is said to the agent.
                Some("text") if event["parent_tool_use_id"].is_null() => {
                    let text = text::shown(block["text"].as_str().unwrap_or_default()).into_owned();
                    signs.push(Sign::Text { text });
                }
                Some("tool_use") => {
                    let name = block["name"].as_str().unwrap_or("a tool");
                    signs.push(Sign::Tool { name: text::tool(name, &block["input"]) });
                }
                _ => {}
            }
        }
        signs.extend(self.count(message));
        signs
    }

    /// Adds what a message used, the first time it is seen.
    fn count(&mut self, message: &Value) -> Option<Sign> {
        let id = Digest::of(message["id"].as_str()?.as_bytes());
        if self.counted.contains(&id) {
            return None;
        }
        self.counted.push_back(id);
        if self.counted.len() > MESSAGES_UNDER_WAY {
            self.counted.pop_front();
        }
        let tokens = sum(
            &message["usage"],
            &[
                "input_tokens",
                "output_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
            ],
        );
        let used = self.used.unwrap_or_default();
        let used = Usage { tokens: used.tokens.saturating_add(tokens), ..used };
        self.used = Some(used);
        Some(Sign::Used(used))
    }

    fn result(&mut self, event: &Value) -> Vec<Sign> {
        let field = |name: &str| event[name].as_str().unwrap_or_default();
        let errors: Vec<&str> = blocks(&event["errors"]).filter_map(Value::as_str).collect();
        let said = event["result"].as_str().map_or_else(|| errors.join("; "), str::to_owned);
        self.last_word = Some(LastWord {
            text: clean(line::tail(&said, LONGEST_MESSAGE)).into_owned(),
            failed: event["is_error"] == true || field("subtype") != "success",
            status: event["api_error_status"].as_u64(),
            reason: text::reason(match field("subtype") {
                "success" => field("terminal_reason"),
                other => other,
            }),
            refused: field("stop_reason") == "refusal",
        });
        let models = event["modelUsage"].as_object().into_iter().flatten();
        let tokens = models.fold(0_u64, |tokens, (_, used)| {
            tokens.saturating_add(sum(
                used,
                &[
                    "inputTokens",
                    "outputTokens",
                    "cacheReadInputTokens",
                    "cacheCreationInputTokens",
                ],
            ))
        });
        let before = self.used.unwrap_or_default();
        let used = Usage {
            // What was counted on the way is never more than an estimate, but
            // a count never goes down.
            tokens: tokens.max(before.tokens),
            cost: event["total_cost_usd"].as_f64().or(before.cost),
        };
        self.used = Some(used);
        vec![Sign::Used(used)]
    }

    /// What the error in a last word comes down to.
    fn trouble(&self, last: &LastWord) -> Trouble {
        let why = text::reason(if last.text.is_empty() { &last.reason } else { &last.text });
        match last.reason.as_str() {
            "prompt_too_long" => return Trouble::ContextOverflow(why),
            "error_max_budget_usd" => return Trouble::OverBudget(why),
            _ => {}
        }
        match self.complaint.as_deref() {
            Some("authentication_failed" | "oauth_org_not_allowed") => {
                Trouble::NotAuthenticated(why)
            }
            Some("rate_limit") => self.limited(&last.text),
            // Nobody knows when a credit card will be found.
            Some("billing_error") => Trouble::RateLimited { why, reset: None },
            Some("overloaded" | "server_error") => Trouble::Server(why),
            Some("model_not_found") => Trouble::Missing(why),
            Some("max_output_tokens") => Trouble::ContextOverflow(why),
            _ => (last.status.and_then(|status| diagnosis::by_status(status, &last.text)))
                .or_else(|| diagnosis::by_words(&last.text))
                .unwrap_or(Trouble::Crash(why)),
        }
    }

    fn limited(&self, message: &str) -> Trouble {
        match (diagnosis::limited(message), &self.reset) {
            (Trouble::RateLimited { why, .. }, Some(reset)) => {
                Trouble::RateLimited { why, reset: Some(reset.clone()) }
            }
            (trouble, _) => trouble,
        }
    }
}

fn tool_results(content: &Value) -> Vec<Sign> {
    let results = blocks(content).filter(|block| block["type"] == "tool_result");
    results.map(|_| Sign::ToolEnded).collect()
}

fn retrying(event: &Value) -> Sign {
    let why = event["error"].as_str().unwrap_or("unknown").replace('_', " ");
    let why = match event["error_status"].as_u64() {
        Some(status) => format!("{why} ({status})"),
        None => why,
    };
    Sign::Retrying { why: text::reason(&why) }
}

fn blocks(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn sum(counts: &Value, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| counts[*name].as_u64()).fold(0, u64::saturating_add)
}

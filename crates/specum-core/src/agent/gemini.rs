//! Gemini CLI with a prompt on standard input.
//!
//! It has no switch that turns hooks off for one session: the settings file
//! that could must belong to root. `--skip-trust` leaves the hooks of a project
//! out that the person has not trusted before; those in the person's own
//! settings and extensions run. One that blocks the end of a turn prolongs the
//! attempt, which the stream shows as a warning and which is no failure.
//!
//! The `result` event is its last word. The exit code of a failure is the HTTP
//! status modulo 256, so 145 is a refused key and no signal. While it waits for
//! a limit to end it tells only its standard error.

use serde_json::Value;

use super::text::{self, LONGEST_MESSAGE, TextTail};
use super::{Agent, Call, Measures, Order, Reader, Report, Sign, Trouble, Usage, diagnosis};
use crate::line;
use crate::verify::ProcessEnd;

pub(super) struct Gemini;

impl Agent for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn program(&self) -> Option<&'static str> {
        Some("gemini")
    }

    fn measures(&self) -> Measures {
        Measures { tokens: true, cost: false }
    }

    fn call(&self, order: &Order<'_>) -> Call {
        const ARGS: [&str; 4] = ["-o", "stream-json", "-y", "--skip-trust"];
        Call::new("gemini", &ARGS, order).model(order)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<GeminiReader>::default()
    }

    fn sign_in(&self) -> &'static str {
        "run `gemini` and choose how to sign in, or set GEMINI_API_KEY"
    }
}

/// A line this long is shown before it is over.
const LONGEST_LINE: usize = 4 * 1024;

#[derive(Default)]
struct GeminiReader {
    began: bool,
    /// What it has said since it last used a tool.
    message: TextTail,
    /// The line of it that is not over yet.
    line: String,
    used: Option<Usage>,
    /// The last error on the way.
    complaint: Option<String>,
    last_word: Option<Result<(), String>>,
}

impl Reader for GeminiReader {
    fn line(&mut self, line: &[u8]) -> Vec<Sign> {
        let Some(event) = text::event(line) else { return Vec::new() };
        self.began = true;
        match event["type"].as_str() {
            Some("message") if event["role"] == "assistant" => {
                self.piece(event["content"].as_str().unwrap_or_default())
            }
            Some("tool_use") => {
                let name = event["tool_name"].as_str().unwrap_or("a tool");
                let mut signs = self.message_over();
                signs.push(Sign::Tool { name: text::tool(name, &event["parameters"]) });
                self.message.clear();
                signs
            }
            Some("tool_result") => vec![Sign::ToolEnded],
            Some("error") => {
                let message = event["message"].as_str().unwrap_or_default();
                self.error(message, event["severity"] == "warning")
            }
            Some("result") => self.result(&event),
            _ => Vec::new(),
        }
    }

    fn has_answered(&self) -> bool {
        self.last_word.is_some()
    }

    fn end(self: Box<Self>, ended: &ProcessEnd, stderr: &str) -> Report {
        let trouble = match &self.last_word {
            Some(Ok(())) => None,
            Some(Err(message)) => Some(failed(message, ended)),
            None => Some(self.without_answer(ended, stderr)),
        };
        Report { result: self.message.end(LONGEST_MESSAGE), usage: self.used, trouble }
    }
}

impl GeminiReader {
    /// Takes a piece of a message and gives the lines that it completes.
    fn piece(&mut self, piece: &str) -> Vec<Sign> {
        self.message.push(piece, LONGEST_MESSAGE);
        let mut signs = Vec::new();
        for part in line::tail(piece, LONGEST_MESSAGE).split_inclusive('\n') {
            self.line.push_str(line::head(part, LONGEST_LINE));
            if part.ends_with('\n') || self.line.len() >= LONGEST_LINE {
                signs.extend(self.message_over());
            }
        }
        signs
    }

    fn message_over(&mut self) -> Vec<Sign> {
        let text = text::shown(&std::mem::take(&mut self.line)).into_owned();
        if text.is_empty() { Vec::new() } else { vec![Sign::Text { text }] }
    }

    fn error(&mut self, message: &str, only_warning: bool) -> Vec<Sign> {
        let signs = self.message_over();
        if !only_warning {
            self.complaint = Some(text::reason(message));
        } else if message.starts_with("Agent execution blocked") {
            // A hook has sent it on: what it says now is another message.
            self.message.clear();
        }
        signs
    }

    fn result(&mut self, event: &Value) -> Vec<Sign> {
        let error = event["error"]["message"].as_str().unwrap_or_default();
        self.last_word = Some(match event["status"].as_str() {
            Some("success") => Ok(()),
            _ => Err(line::head(error, 4096).to_owned()),
        });
        let mut signs = self.message_over();
        if let Some(tokens) = event["stats"]["total_tokens"].as_u64() {
            let used = Usage { tokens, cost: None };
            self.used = Some(used);
            signs.push(Sign::Used(used));
        }
        signs
    }

    fn without_answer(&self, ended: &ProcessEnd, stderr: &str) -> Trouble {
        let words = diagnosis::last_words(stderr);
        let words = self.complaint.as_ref().filter(|_| words.is_empty()).unwrap_or(&words);
        match ended {
            ProcessEnd::Code(41) => Trouble::NotAuthenticated(words.clone()),
            // Input, sandbox, configuration, trust: it never began.
            ProcessEnd::Code(42 | 44 | 52 | 55) => Trouble::Missing(words.clone()),
            ProcessEnd::Code(53) => {
                Trouble::Crash(format!("its limit of turns is reached: {words}"))
            }
            ProcessEnd::NotStarted(_) => diagnosis::without_answer(ended, stderr, self.began),
            _ => waiting(stderr)
                .unwrap_or_else(|| diagnosis::without_answer(ended, stderr, self.began)),
        }
    }
}

/// What it was waiting for when it was ended: `Attempt 3 failed with status 429.
/// Retrying with backoff...`.
fn waiting(stderr: &str) -> Option<Trouble> {
    let attempt = stderr.lines().rev().find(|line| line.contains("Retrying with backoff"))?;
    diagnosis::by_status(diagnosis::status_in(attempt)?, attempt)
}

/// A refused key comes as a plain 400, so the words are asked before the code.
fn failed(message: &str, ended: &ProcessEnd) -> Trouble {
    let status = match ended {
        ProcessEnd::Code(code @ 144..=255) => u64::try_from(code + 256).ok(),
        _ => None,
    };
    diagnosis::by_words(message)
        .or_else(|| status.and_then(|status| diagnosis::by_status(status, message)))
        .unwrap_or_else(|| match message {
            message if message.contains("is not found") => Trouble::Missing(text::reason(message)),
            message => Trouble::Crash(text::reason(message)),
        })
}

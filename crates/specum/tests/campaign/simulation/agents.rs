//! Simulated agents: what they do, and what they print while they do it, in the
//! words of Claude Code or of a plain command.

use serde_json::json;
use specum_core::agent::{self, Reader, Report, Sign};
use specum_core::verify::ProcessEnd;

use super::Chance;

/// The agents a run may have, in the order in which they are asked.
pub(crate) const TEAMS: [&[&str]; 3] = [&["claude"], &["claude", "command"], &["command"]];

/// What an agent will come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// It does the task and says so.
    Good,
    /// It says so and has not.
    FalseClaim,
    /// It does the task and says nothing of it.
    NoWord,
    /// It says so, and in the same breath that something is left.
    Contradiction,
    /// It prints what nobody understands.
    Garbage,
    /// It has reached a limit that ends in so many seconds.
    Limit(i64),
    /// It has reached a limit and does not say until when.
    EndlessLimit,
    /// It is not signed in.
    SignedOut,
    /// It dies.
    Death,
    /// Its server fails.
    ServerError,
    /// The task is too long for it.
    TooLong,
    /// It never says another word.
    Silence,
}

impl Act {
    pub(crate) fn random(chance: &mut Chance) -> Act {
        match chance.below(24) {
            0..10 => Act::Good,
            10..13 => Act::FalseClaim,
            13 => Act::NoWord,
            14 => Act::Contradiction,
            15 => Act::Garbage,
            16 => Act::Limit(i64::from(chance.below(20)) * 600 - 600),
            17 => Act::EndlessLimit,
            18 => Act::SignedOut,
            19 | 20 => Act::Death,
            21 => Act::ServerError,
            22 => Act::TooLong,
            _ => Act::Silence,
        }
    }

    /// Whether the check will pass.
    pub(crate) fn is_good_work(self) -> bool {
        matches!(self, Act::Good | Act::NoWord | Act::Contradiction)
    }
}

/// An agent at work.
pub(crate) struct Worker {
    pub(crate) act: Act,
    is_claude: bool,
    reader: Box<dyn Reader>,
    messages: u32,
    /// What it has used.
    tokens: u64,
}

impl Worker {
    pub(crate) fn new(name: &str, act: Act) -> Worker {
        let agent = agent::by_name(name, Some("cat")).expect("an agent of this name");
        let is_claude = name == "claude";
        Worker { act, is_claude, reader: agent.reader(), messages: 0, tokens: 0 }
    }

    /// It does something that can be seen.
    pub(crate) fn goes_on(&mut self, chance: &mut Chance) -> Vec<Sign> {
        self.messages += 1;
        let id = format!("m{}", self.messages);
        if !self.is_claude {
            return self.reader.line(b"working");
        }
        self.tokens += 10;
        let usage = json!({"input_tokens": 10});
        let line = match chance.below(4) {
            0 => json!({"type": "assistant", "message": {"id": id, "usage": usage,
                "content": [{"type": "text", "text": "working"}]}}),
            1 => json!({"type": "assistant", "message": {"id": id, "usage": usage,
                "content": [{"type": "tool_use", "name": "Bash", "input": {"command": "make"}}]}}),
            2 => json!({"type": "user", "message": {"content": [{"type": "tool_result"}]}}),
            _ => json!({"type": "system", "subtype": "api_retry", "error": "overloaded"}),
        };
        self.reader.line(line.to_string().as_bytes())
    }

    /// It ends by itself, or is ended.
    pub(crate) fn ends(mut self, word: &str, wall: i64, ended_by_us: bool) -> (Vec<Sign>, Report) {
        let (lines, ended, stderr) = if ended_by_us {
            (Vec::new(), ProcessEnd::Signal(9), "")
        } else if self.is_claude {
            self.last_words_of_claude(word, wall)
        } else {
            self.last_words_of_a_command(word)
        };
        let signs = lines.iter().flat_map(|line| self.reader.line(line.as_bytes())).collect();
        (signs, self.reader.end(&ended, stderr))
    }

    fn last_words_of_claude(
        &self,
        word: &str,
        wall: i64,
    ) -> (Vec<String>, ProcessEnd, &'static str) {
        let answer = |text: &str| {
            let tokens = self.tokens + 5;
            json!({"type": "result", "subtype": "success", "is_error": false, "result": text,
                "total_cost_usd": 0.25, "modelUsage": {"m": {"inputTokens": tokens}}})
            .to_string()
        };
        let failure = |error: &str, text: &str| {
            let message = json!({"type": "assistant", "error": error, "message": {}});
            let last = json!({"type": "result", "subtype": "success", "is_error": true,
                "result": text, "total_cost_usd": 0});
            vec![message.to_string(), last.to_string()]
        };
        let (lines, code) = match self.act {
            Act::Good | Act::FalseClaim => (vec![answer(&format!("done\n\n{word}\n"))], 0),
            Act::NoWord => (vec![answer("done, I think")], 0),
            Act::Contradiction => {
                (vec![answer(&format!("This requires manual work.\n\n{word}\n"))], 0)
            }
            Act::Garbage => (vec!["\u{1b}[2J{\"type\":".into(), "\u{0}nonsense".into()], 0),
            Act::Limit(seconds) => {
                let info = json!({"type": "rate_limit_event", "rate_limit_info":
                    {"status": "rejected", "resetsAt": wall / 1000 + seconds}});
                let mut lines = vec![info.to_string()];
                lines.extend(failure("rate_limit", "rejected (429)"));
                (lines, 1)
            }
            Act::EndlessLimit => (failure("rate_limit", "rejected (429)"), 1),
            Act::SignedOut => (failure("authentication_failed", "Invalid API key"), 1),
            Act::ServerError => (failure("server_error", "529 Overloaded"), 1),
            Act::TooLong => (failure("max_output_tokens", "too much"), 1),
            Act::Death | Act::Silence => return (Vec::new(), ProcessEnd::Signal(11), "killed"),
        };
        (lines, ProcessEnd::Code(code), "")
    }

    fn last_words_of_a_command(&self, word: &str) -> (Vec<String>, ProcessEnd, &'static str) {
        match self.act {
            Act::Good | Act::FalseClaim => (vec![word.into()], ProcessEnd::Code(0), ""),
            Act::NoWord | Act::Garbage => (vec!["\u{7}done?".into()], ProcessEnd::Code(0), ""),
            Act::Contradiction => {
                (vec!["It needs human eyes.".into(), word.into()], ProcessEnd::Code(0), "")
            }
            Act::SignedOut => (Vec::new(), ProcessEnd::Code(127), "sh: aidr: not found"),
            _ => (Vec::new(), ProcessEnd::Signal(11), "killed"),
        }
    }
}

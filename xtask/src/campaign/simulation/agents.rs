//! Simulated agents: what they do, and what they print while they do it, in the
//! words of Claude Code or of a plain command.

use serde_json::json;
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
    /// It does nothing and asks for a task of this number.
    Asks(u32),
}

impl Act {
    pub(crate) fn random(chance: &mut Chance) -> Act {
        match chance.below(26) {
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
            24 | 25 => Act::Asks(0),
            _ => Act::Silence,
        }
    }

    /// Whether it does what it was asked to.
    pub(crate) fn does_the_work(self) -> bool {
        matches!(self, Act::Good | Act::NoWord | Act::Contradiction)
    }
}

/// What an agent leaves at its end.
#[derive(Debug, Clone)]
pub(crate) struct LastWords {
    pub(crate) lines: Vec<String>,
    pub(crate) ended: ProcessEnd,
    pub(crate) stderr: String,
}

/// A line of an agent at work, and what it has used up to then.
pub(crate) fn line(is_claude: bool, messages: u32, chance: &mut Chance) -> String {
    if !is_claude {
        return "working".to_owned();
    }
    let (id, usage) = (format!("m{messages}"), json!({"input_tokens": 10}));
    let line = match chance.below(4) {
        0 => json!({"type": "assistant", "message": {"id": id, "usage": usage,
            "content": [{"type": "text", "text": "working"}]}}),
        1 => json!({"type": "assistant", "message": {"id": id, "usage": usage,
            "content": [{"type": "tool_use", "name": "Bash", "input": {"command": "make"}}]}}),
        2 => json!({"type": "user", "message": {"content": [{"type": "tool_result"}]}}),
        _ => json!({"type": "system", "subtype": "api_retry", "error": "overloaded"}),
    };
    line.to_string()
}

/// What an agent says at its end; `word` is the one that ends its task.
pub(crate) fn last_words(
    act: Act,
    is_claude: bool,
    (task, word): (&str, &str),
    wall: i64,
) -> LastWords {
    let (lines, ended, stderr) = match is_claude {
        true => of_claude(act, (task, word), wall),
        false => of_a_command(act, (task, word)),
    };
    LastWords { lines, ended, stderr: stderr.to_owned() }
}

/// The end of an agent that somebody has ended.
pub(crate) fn killed() -> LastWords {
    LastWords { lines: Vec::new(), ended: ProcessEnd::Signal(9), stderr: String::new() }
}

/// What the executor of a session says at its end.
pub(crate) fn report(act: Act, task: &str, word: &str) -> String {
    match act {
        Act::Asks(number) => request(task, number),
        Act::Good | Act::FalseClaim => format!("done\n\n{word}\n"),
        Act::Contradiction => format!("It requires manual work.\n\n{word}\n"),
        _ => "I could not.".to_owned(),
    }
}

/// What is asked for: each kind in its turn, and now and then what is refused.
fn request(task: &str, number: u32) -> String {
    let kinds = ["SPLIT_TASK", "ADD_PREREQUISITE", "ADD_FOLLOWUP", "SPLIT_TASK"];
    let check =
        if number.is_multiple_of(7) { "echo fine".into() } else { format!("test -s f{number}") };
    let block = format!(
        "- [ ] 9.9 Task {number}\n  - **Do**: it\n  - **Files**: f{number}\n  - **Done when**: it \
         holds\n  - **Verify**: `{check}`\n  - **Commit**: `feat: it`"
    );
    let object = json!({"type": kinds[number as usize % kinds.len()], "originalTaskId": task,
        "reasoning": "it is two things", "proposedTasks": [block]});
    format!("It is too large.\n\nTASK_MODIFICATION_REQUEST\n```json\n{object}\n```\n")
}

fn of_claude(
    act: Act,
    (task, word): (&str, &str),
    wall: i64,
) -> (Vec<String>, ProcessEnd, &'static str) {
    let answer = |text: &str| {
        json!({"type": "result", "subtype": "success", "is_error": false, "result": text,
            "total_cost_usd": 0.25, "modelUsage": {"m": {"inputTokens": 100}}})
        .to_string()
    };
    let failure = |error: &str, text: &str| {
        let message = json!({"type": "assistant", "error": error, "message": {}});
        let last = json!({"type": "result", "subtype": "success", "is_error": true,
            "result": text, "total_cost_usd": 0});
        vec![message.to_string(), last.to_string()]
    };
    let (lines, code) = match act {
        Act::Good | Act::FalseClaim => (vec![answer(&format!("done\n\n{word}\n"))], 0),
        Act::NoWord => (vec![answer("done, I think")], 0),
        Act::Asks(number) => (vec![answer(&request(task, number))], 0),
        Act::Contradiction => (vec![answer(&format!("This requires manual work.\n\n{word}\n"))], 0),
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

fn of_a_command(act: Act, (task, word): (&str, &str)) -> (Vec<String>, ProcessEnd, &'static str) {
    match act {
        Act::Good | Act::FalseClaim => (vec![word.into()], ProcessEnd::Code(0), ""),
        Act::NoWord | Act::Garbage => (vec!["\u{7}done?".into()], ProcessEnd::Code(0), ""),
        Act::Contradiction => {
            (vec!["It needs human eyes.".into(), word.into()], ProcessEnd::Code(0), "")
        }
        Act::Asks(number) => {
            let lines = request(task, number).lines().map(str::to_owned).collect();
            (lines, ProcessEnd::Code(0), "")
        }
        Act::SignedOut => (Vec::new(), ProcessEnd::Code(127), "sh: aidr: not found"),
        _ => (Vec::new(), ProcessEnd::Signal(11), "killed"),
    }
}

//! What the real programs printed, and what the readers make of it.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod strange;

use super::{Order, Report, Sign, by_name};
use crate::verify::ProcessEnd;

const ORDER: Order<'_> = Order {
    brief: b"Do it.",
    model: None,
    script: None,
    attempt: 2,
    signal: "TASK_COMPLETE",
    max_cost: None,
};

/// Reads an output to its end.
fn read(agent: &str, output: &str, ended: &ProcessEnd, stderr: &str) -> (Vec<Sign>, Report) {
    let agent = by_name(agent, Some("cat")).expect("an agent of this name");
    let mut reader = agent.reader();
    let signs = output.lines().flat_map(|line| reader.line(line.as_bytes())).collect();
    (signs, reader.end(ended, stderr))
}

/// The class of the trouble that an output comes to, or an empty text.
fn class(agent: &str, output: &str, ended: &ProcessEnd, stderr: &str) -> String {
    let (_, report) = read(agent, output, ended, stderr);
    report.trouble.map_or_else(String::new, |trouble| trouble.class().to_string())
}

fn said(text: &str) -> Sign {
    Sign::Text { text: text.into() }
}

fn tool(name: &str) -> Sign {
    Sign::Tool { name: name.into() }
}

fn used(tokens: u64, cost: Option<f64>) -> Sign {
    Sign::Used(super::Usage { tokens, cost })
}

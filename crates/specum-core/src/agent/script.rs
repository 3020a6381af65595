//! The task's own shell block, without any model.
//!
//! A block that ends with code 0 has done the task, and the word that an agent
//! would say is printed behind its output. Any other end is the task's failure,
//! not an agent's: the answer quotes the output, so that no line of it is taken
//! for the word. A task without a block has nothing to do but its check.

use super::command::PlainReader;
use super::{Agent, Call, Measures, Order, Reader, Report, Sign, Signs, diagnosis};
use crate::verify::ProcessEnd;

pub(super) struct Script;

/// Runs its first argument and then prints the second. The block has a shell of
/// its own, in which it may end or replace itself as it likes.
const RUN_AND_SAY: &str = r#"sh -ec "$1" && printf '\n%s\n' "$2""#;

impl Agent for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn program(&self) -> Option<&'static str> {
        None
    }

    fn measures(&self) -> Measures {
        Measures { tokens: false, cost: false }
    }

    fn call(&self, order: &Order<'_>) -> Call {
        let script = order.script.unwrap_or("true");
        let call = Call::new("sh", &["-c", RUN_AND_SAY, "specum", script, order.signal], order);
        Call { stdin: Vec::new(), ..call }
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<ScriptReader>::default()
    }

    fn sign_in(&self) -> &'static str {
        "a script needs no sign-in"
    }
}

#[derive(Default)]
struct ScriptReader(PlainReader);

impl Reader for ScriptReader {
    fn line(&mut self, line: &[u8]) -> Vec<Sign> {
        self.0.line(line)
    }

    fn read(&mut self, line: &[u8], signs: &mut Signs) {
        self.0.read(line, signs);
    }

    fn end(self: Box<Self>, ended: &ProcessEnd, stderr: &str) -> Report {
        match ended {
            ProcessEnd::Code(0) => Report { result: self.0.answer(), ..Report::default() },
            ProcessEnd::Code(code) => {
                let output = self.0.answer() + &diagnosis::last_words(stderr);
                let quoted = output.lines().map(|line| format!("> {line}\n"));
                let result =
                    format!("The script ended with code {code}.\n\n{}", quoted.collect::<String>());
                Report { result, ..Report::default() }
            }
            _ => Report {
                result: String::new(),
                usage: None,
                trouble: Some(diagnosis::without_answer(ended, stderr, true)),
            },
        }
    }
}

//! Any command line that reads a brief and prints an answer.
//!
//! The shell runs it with the brief on standard input. What it prints is the
//! answer, of which the end is kept; an exit code other than 0 is a failure of
//! the command, and what it printed until then is kept all the same. If its last
//! line is the word that ends a task, it need not end by itself.

use super::text::{self, TextTail};
use super::{Agent, Call, Measures, Order, Reader, Report, Sign, Signs, Trouble, diagnosis};
use crate::completion::{self, TASK_COMPLETE, VERIFICATION_PASS};
use crate::verify::ProcessEnd;

/// How much of the output's end is kept.
const LONGEST_ANSWER: usize = 64 * 1024;

pub(super) struct CommandLine {
    line: String,
}

impl CommandLine {
    pub(super) fn new(line: &str) -> CommandLine {
        CommandLine { line: line.to_owned() }
    }
}

impl Agent for CommandLine {
    fn name(&self) -> &'static str {
        "command"
    }

    fn program(&self) -> Option<&'static str> {
        None
    }

    fn measures(&self) -> Measures {
        Measures { tokens: false, cost: false }
    }

    fn call(&self, order: &Order<'_>) -> Call {
        Call::new("sh", &["-c", &self.line], order)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::<PlainReader>::default()
    }

    fn sign_in(&self) -> &'static str {
        "sign in to the program that the command runs"
    }
}

/// Plain output, line by line.
#[derive(Default)]
pub(super) struct PlainReader {
    answer: TextTail,
    /// Whether the last line that is not blank is the word that ends a task.
    is_done: bool,
}

impl PlainReader {
    /// Takes a line of output.
    fn push(&mut self, line: &[u8], signs: &mut Signs) {
        let text = text::readable(line);
        self.answer.push_line(&text, LONGEST_ANSWER);
        if !text.trim().is_empty() {
            // Most lines say nothing of the kind, and an agent may print millions. Both
            // words have a letter that few others have.
            let says = |word| text.contains(word) && completion::says(&text, word);
            self.is_done = memchr::memchr(b'_', line).is_some()
                && (says(TASK_COMPLETE) || says(VERIFICATION_PASS));
        }
        let text = text::shown(&text);
        if !text.is_empty() {
            signs.say(&text);
        }
    }

    /// The end of the output.
    pub(super) fn answer(&self) -> String {
        self.answer.end(LONGEST_ANSWER)
    }
}

impl Reader for PlainReader {
    fn line(&mut self, line: &[u8]) -> Vec<Sign> {
        let mut signs = Signs::default();
        self.push(line, &mut signs);
        signs.into()
    }

    fn read(&mut self, line: &[u8], signs: &mut Signs) {
        self.push(line, signs);
    }

    fn has_answered(&self) -> bool {
        self.is_done
    }

    fn end(self: Box<Self>, ended: &ProcessEnd, stderr: &str) -> Report {
        let said = diagnosis::last_words(stderr);
        let trouble = match ended {
            ProcessEnd::Code(0) => None,
            // It did not end by itself, and had nothing more to say.
            ProcessEnd::Signal(_) if self.is_done => None,
            // The shell's words for a program that is not there.
            ProcessEnd::Code(126 | 127) if !said.is_empty() => Some(Trouble::Missing(said)),
            ProcessEnd::Code(code @ (126 | 127)) => {
                Some(Trouble::Missing(format!("ended with code {code}")))
            }
            ProcessEnd::Code(code) if said.is_empty() => {
                Some(Trouble::Crash(format!("ended with code {code}")))
            }
            ProcessEnd::Code(code) => {
                Some(Trouble::Crash(format!("ended with code {code}: {said}")))
            }
            _ => Some(diagnosis::without_answer(ended, stderr, true)),
        };
        Report { result: self.answer(), usage: None, trouble }
    }
}

//! The Verify fields of a task: which commands they ask for, and what each is
//! to print.
//!
//! All commands are run, in their order, and all must pass. Whether code in a
//! sentence is a command or a name depends on the programs that are there;
//! a caller that can look passes a [`Lookup`].

use serde::{Deserialize, Serialize};
use std::fmt;

use super::expect::{self, Clause, Expectation};
use super::shell::{self, First};
use super::spans;
use crate::line;
use crate::suite::{self, Suite};

/// The Verify fields of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What may be run, in its order. Which of it is run, [`Check::commands`]
    /// tells.
    spans: Vec<Command>,
    /// Fenced blocks that are not run, by what is written behind the fence.
    unrun_fences: Vec<String>,
    /// The words, without the blanks around them.
    text: String,
    /// What is run for the whole plan: in place of commands that there are not, and
    /// behind them.
    #[serde(default, skip_serializing_if = "Suite::is_empty")]
    suite: Suite,
}

/// One command of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The bytes that the shell is given.
    pub text: Vec<u8>,
    /// Which shell, and how.
    pub shell: Shell,
    /// What it is to print, if the words behind it say so.
    pub expect: Option<Expectation>,
    /// Whether it is only run if the one before it has failed, and makes up
    /// for it.
    pub instead: bool,
    /// Whether it is a check of the whole plan, and no proof of this task's work alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suite: bool,
    /// Whether it stands in a sentence, where code may be a name.
    in_sentence: bool,
    /// Whether words stand in front of it that do not ask to run it.
    mentioned: bool,
    /// The words behind it that sound like an expectation and are none.
    unread: Option<String>,
    /// Whether `returns 0` was taken for the exit code.
    by_exit_code: bool,
    /// Whether it is run only if nothing in front of it is: a block that does
    /// not say what it is for. Behind a command it is what the command prints.
    if_first: bool,
}

/// How a command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shell {
    /// A code span: `sh -c`.
    Sh,
    /// A fenced block: `sh -e -c`, which stops at the first line that fails.
    ShBlock,
    /// A fenced block that says `bash`: `bash -e -c`.
    BashBlock,
}

/// What is known of a word that may be a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// It can be started.
    Found,
    /// There is such a file, and it cannot be started.
    NotExecutable,
    /// There is none.
    Missing,
}

/// Tells what is known of a name: on PATH, or a path from the project's root.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Program;

/// A part of a Verify field.
pub(super) enum Piece {
    /// Words with code spans: a paragraph or a list item.
    Words(Vec<u8>),
    /// A fenced block, with what is written behind its first fence.
    Fence { info: String, body: Vec<u8> },
}

impl Check {
    /// The check that Verify fields ask for, as
    /// [`TaskFile::verify_lines`](super::TaskFile::verify_lines) gives them.
    pub fn of_lines(lines: &[u8]) -> Option<Check> {
        super::fields::check_of_lines(lines)
    }

    pub(super) fn of_pieces(pieces: &[Piece], text: String) -> Option<Check> {
        if text.is_empty() && pieces.is_empty() {
            return None;
        }
        let mut check = Check { text, ..Check::default() };
        for piece in pieces {
            match piece {
                Piece::Words(words) => check.spans.extend(commands_in(words)),
                Piece::Fence { info, body } => check.add_fence(info, body),
            }
        }
        Some(check)
    }

    fn add_fence(&mut self, info: &str, body: &[u8]) {
        let language = info.split([' ', ',', '{', '}']).find(|word| !word.is_empty());
        let shell = match language {
            None | Some("sh" | "shell" | "dash") => Shell::ShBlock,
            Some("bash") => Shell::BashBlock,
            Some(_) => return self.unrun_fences.push(info.to_owned()),
        };
        let mut command = Command::new(body.to_vec(), shell);
        command.if_first = language.is_none();
        self.spans.push(command);
    }

    /// What checks a task in a plan with such checks of its own; `None` if nothing does.
    pub fn in_plan(own: Option<Check>, suite: &Suite) -> Option<Check> {
        if own.is_none() && suite.is_empty() {
            return None;
        }
        Some(Check { suite: suite.clone(), ..own.unwrap_or_default() })
    }

    /// What is run, in this order: the task's own commands, or those of the plan if it
    /// has none, and then what is run for every task.
    pub fn commands(&self, lookup: Lookup<'_>) -> Vec<Command> {
        let mut commands = self.sorted(lookup).0;
        if commands.is_empty() {
            commands.extend(suite::commands(&self.suite.verify));
        }
        for command in suite::commands(&self.suite.verify_all) {
            if commands.iter().all(|known| known.text != command.text) {
                commands.push(command);
            }
        }
        commands
    }

    /// The code and the blocks that are not run, as a person would name them.
    pub fn not_run(&self, lookup: Lookup<'_>) -> Vec<String> {
        let spans = self.sorted(lookup).1;
        let spans = spans.iter().map(|span| format!("`{}`", span.head()));
        let fences = self.unrun_fences.iter().map(|info| format!("the `{info}` block"));
        spans.chain(fences).collect()
    }

    /// What is run, and what is not.
    fn sorted(&self, lookup: Lookup<'_>) -> (Vec<Command>, Vec<&Command>) {
        let (mut commands, mut names): (Vec<Command>, Vec<&Command>) = Default::default();
        let mut was_run = false;
        for span in &self.spans {
            let is_run = (commands.is_empty() || !span.if_first) && span.is_run(lookup);
            if is_run {
                let mut command = span.clone();
                // An alternative to something that is no command is none.
                command.instead &= was_run;
                commands.push(command);
            } else {
                names.push(span);
            }
            was_run = is_run;
        }
        (commands, names)
    }

    /// The words of the fields.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Command {
    fn new(text: Vec<u8>, shell: Shell) -> Command {
        Command {
            text,
            shell,
            expect: None,
            instead: false,
            suite: false,
            in_sentence: false,
            mentioned: false,
            unread: None,
            by_exit_code: false,
            if_first: false,
        }
    }

    /// A command that a shell runs and that must succeed.
    pub fn plain(text: &str) -> Command {
        Command::new(text.as_bytes().to_vec(), Shell::Sh)
    }

    /// The first line, for messages.
    pub fn head(&self) -> String {
        let text = line::readable(&self.text);
        let first = text.lines().next().unwrap_or_default();
        let cut = line::head(first, 120);
        let more =
            if cut.len() < text.trim_end().len() && text.lines().count() > 1 { " …" } else { "" };
        format!("{cut}{more}")
    }

    /// The part of it that keeps it from failing, if nothing is compared.
    pub fn never_fails(&self) -> Option<String> {
        match self.expect {
            Some(_) => None,
            None => shell::never_fails(&self.text, self.shell != Shell::Sh),
        }
    }

    /// The lines of a block whose failure does not stop it.
    pub fn lines_that_do_not_stop(&self) -> Vec<String> {
        match self.shell {
            Shell::Sh => Vec::new(),
            Shell::ShBlock | Shell::BashBlock => shell::lines_that_do_not_stop(&self.text),
        }
    }

    /// The pipes of a block whose last part hides that something in front of it
    /// has failed.
    pub fn pipes_that_go_on(&self) -> Vec<String> {
        match self.shell {
            Shell::Sh => Vec::new(),
            Shell::ShBlock | Shell::BashBlock => shell::pipes_that_go_on(&self.text),
        }
    }

    /// The programs it cannot do without.
    pub fn programs(&self) -> Vec<String> {
        let mut programs = shell::programs(&self.text);
        if self.shell == Shell::BashBlock {
            programs.insert(0, "bash".to_owned());
        }
        programs
    }

    /// The paths it may run, as far as its words name them.
    pub fn files(&self) -> Vec<String> {
        shell::files_it_runs(&self.text)
    }

    /// The simple commands of it, each as its words; `None` if it is more than a list
    /// of them.
    pub fn calls(&self) -> Option<Vec<Vec<String>>> {
        shell::calls(&self.text)
    }

    /// The paths that its words name, whether it runs them or reads them.
    pub fn paths(&self) -> Vec<String> {
        let words = self.calls().unwrap_or_default().into_iter().flatten();
        let is_path = |word: &String| {
            !word.starts_with('-') && word.contains(['/', '.']) && !word.contains(['$', '*', '`'])
        };
        words.filter(is_path).map(|word| word.trim_start_matches("./").to_owned()).collect()
    }

    /// A word that only bash knows, if `sh` is to run it.
    pub fn bash_word(&self) -> Option<String> {
        shell::bash_word(&self.text).filter(|_| self.shell != Shell::BashBlock)
    }

    /// The words behind it that sound like an expectation and are not read.
    pub fn unread(&self) -> Option<&str> {
        self.unread.as_deref()
    }

    /// Whether `returns 0` behind it was taken for its exit code.
    pub fn is_by_exit_code(&self) -> bool {
        self.by_exit_code
    }

    /// Whether nothing but commands stands in its paragraph.
    pub fn stands_alone(&self) -> bool {
        !self.in_sentence
    }

    /// Whether it is a command at all. In a sentence code may be a name; what
    /// an agent could delete from the project does not decide that.
    fn is_run(&self, lookup: Lookup<'_>) -> bool {
        if !self.in_sentence {
            return true;
        }
        let text = line::readable(&self.text);
        let alone = !text.contains(char::is_whitespace);
        match shell::first(&self.text) {
            First::Builtin => !alone,
            First::Assignment => false,
            First::Unknown => !alone && text.starts_with(['(', '$']),
            First::Program(name) if name.starts_with("./") || name.starts_with("../") => true,
            First::Program(name) if name.starts_with('/') => lookup(&name) == Program::Found,
            First::Program(name) if name.contains('/') => is_script(&name, alone),
            First::Program(name) => !(alone && self.mentioned) && lookup(&name) == Program::Found,
        }
    }
}

/// Whether a path in a sentence is there to be run: `scripts/check.sh`, or
/// `bin/tool --all`, and not `docs/guide.md` or `src/main`.
fn is_script(path: &str, alone: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, "sh" | "bash")) => true,
        Some((_, "py" | "rb" | "pl" | "js" | "mjs")) | None => !alone && !path.contains(':'),
        Some(_) => false,
    }
}

impl fmt::Display for Command {
    /// The whole command, and what is compared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", line::readable(&self.text))?;
        if self.shell == Shell::BashBlock {
            f.write_str(" (bash)")?;
        }
        match &self.expect {
            Some(what) => write!(f, ", which must print {what}"),
            None => Ok(()),
        }
    }
}

/// Commands in one text: all of them, in their order.
pub fn shown(commands: &[Command]) -> String {
    let mut text = String::new();
    for (at, command) in commands.iter().enumerate() {
        text.push_str(match (at, command.instead) {
            (0, _) => "",
            (_, true) => " or ",
            (_, false) => ", then ",
        });
        text.push_str(&command.to_string());
    }
    text
}

/// The bare commands in one text, as a shell would have them.
pub fn joined(commands: &[Command]) -> String {
    let mut text = String::new();
    for (at, command) in commands.iter().enumerate() {
        text.push_str(match (at, command.instead) {
            (0, _) => "",
            (_, true) => " || ",
            (_, false) => " && ",
        });
        text.push_str(&line::readable(&command.text));
    }
    text
}

/// The commands of a paragraph.
fn commands_in(paragraph: &[u8]) -> Vec<Command> {
    let (lead, candidates) = spans::candidates(paragraph);
    let clauses: Vec<Clause> = candidates.iter().map(|c| expect::read(&c.clause)).collect();
    let is_read =
        |clause: &Clause| matches!(clause, Clause::Succeeds | Clause::Prints { more: false, .. });
    let in_sentence = !lead.is_empty() || !clauses.iter().all(is_read);
    let commands = candidates.into_iter().zip(clauses).map(|(candidate, clause)| {
        let mut command = Command::new(candidate.text, Shell::Sh);
        (command.instead, command.mentioned) = (candidate.instead, candidate.mentioned);
        command.in_sentence = in_sentence;
        match clause {
            // People say of any command that it returns 0. Of one that does not
            // print a number they mean its exit code.
            Clause::Prints { what: Expectation::Number(0), returned: true, .. }
                if !shell::prints_a_number(&command.text) =>
            {
                command.by_exit_code = true;
            }
            Clause::Prints { what, .. } => command.expect = Some(what),
            Clause::Unread { expects } if expects || candidate.has_value => {
                command.unread = Some(candidate.clause.trim().to_owned());
            }
            Clause::Succeeds | Clause::Unread { .. } => {}
        }
        command
    });
    commands.collect()
}

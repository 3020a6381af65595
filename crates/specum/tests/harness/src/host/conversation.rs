//! Claude Code on a terminal, and a person who types.

use std::process::{Command, ExitStatus};

use tempfile::TempDir;

use crate::terminal::{CTRL_C, ENTER, ESCAPE, Terminal};

/// An open session of Claude Code; killed if dropped.
///
/// ```ignore
/// let mut person = ClaudeRun::interactive(&program, &model.url(), &world.root).open();
/// person.says("/ralph-specum:implement");
/// person.sees("ALL_TASKS_COMPLETE");
/// person.leaves();
/// ```
#[derive(Debug)]
pub struct Conversation {
    terminal: Terminal,
    _home: Option<TempDir>,
}

/// What stands in front of the line a person types into.
const PROMPT: &str = "❯";

impl Conversation {
    pub(super) fn open(command: Command, home: Option<TempDir>) -> Conversation {
        let terminal = Terminal::start(command);
        terminal.shows("bypass permissions on");
        Conversation { terminal, _home: home }
    }

    /// Types a message and sends it. While the host is busy, it queues it.
    pub fn says(&mut self, text: &str) {
        let before = times(&self.terminal.screen(), text);
        self.types(text);
        self.terminal.press(ENTER);
        // Some hosts leave what was sent in the line at times; then it stands
        // in the conversation all the same.
        self.terminal.until(&format!("`{text}` sent"), |screen| {
            input(screen) != text || times(screen, text) > before + 1
        });
    }

    /// Types without sending. What comes with its Enter at once would be taken
    /// for something pasted.
    pub fn types(&mut self, text: &str) {
        self.terminal.press(text);
        self.terminal.until(&format!("`{text}` typed"), |screen| input(screen) == text);
    }

    /// Presses keys, where the host shows something else than a line to type into.
    pub fn presses(&mut self, keys: &str) {
        self.terminal.press(keys);
    }

    /// Presses a key, again after a while, until a text is on the screen: a host that
    /// has just drawn may throw away what is typed.
    pub fn presses_until(&mut self, keys: &str, text: &str) -> String {
        self.terminal.press_until(keys, text)
    }

    /// The same until a text is gone.
    pub fn presses_until_gone(&mut self, keys: &str, text: &str) {
        self.terminal.press_until_gone(keys, text);
    }

    /// Presses Esc, and waits until what was at work is interrupted.
    pub fn interrupts(&mut self) {
        self.terminal.press(ESCAPE);
        self.sees("Interrupted");
    }

    /// Waits until a text is on the screen, and gives the screen.
    pub fn sees(&self, text: &str) -> String {
        self.terminal.shows(text)
    }

    /// Waits until the turn has ended, its Stop hooks included: the next word
    /// is the person's.
    pub fn is_asked(&self) -> String {
        self.terminal.until("end of the turn", |screen| !screen.contains("esc to interrupt"))
    }

    /// The screen as it is now.
    pub fn screen(&self) -> String {
        self.terminal.screen()
    }

    /// Leaves by Ctrl-C. An idle host wants it twice; a turn that is just ending is
    /// interrupted by the first, and the host then puts its words back into the line,
    /// which the second empties.
    pub fn leaves(mut self) -> ExitStatus {
        self.is_asked();
        self.terminal.press_until_ended(CTRL_C)
    }
}

/// What stands in the line that a person types into, the last with a prompt.
fn input(screen: &str) -> &str {
    prompts(screen).last().unwrap_or_default()
}

/// How often a text was said, or is about to be.
fn times(screen: &str, text: &str) -> usize {
    prompts(screen).filter(|said| *said == text).count()
}

/// What was said so far, and what stands in the line to type into.
fn prompts(screen: &str) -> impl Iterator<Item = &str> {
    screen.lines().filter_map(|line| line.trim().strip_prefix(PROMPT)).map(str::trim)
}

//! Plans: tasks with work that can be told afterwards, in all the shapes that
//! people write.

use std::fmt;

use fastrand::Rng;

/// How a task is worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// In sequence.
    Alone,
    /// `[P]`.
    Beside,
    /// `[VERIFY]`.
    Verify,
}

/// What a task leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A file of its own.
    File,
    /// One whose name needs care.
    OddFile,
    /// A line in a file of the user's, where others add theirs.
    Shared,
    /// Nothing: a check that passes.
    Nothing,
}

/// How its check is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// A code span.
    Span,
    /// A code span and what it is to print.
    Returns,
    /// A fenced block.
    Fence,
    /// Several commands, of which the last one tells.
    List,
    /// Words for people: nothing can be run.
    Prose,
}

/// A task of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub marker: Marker,
    pub work: Work,
    pub check: Check,
    /// Whether it names its commit.
    pub commit: bool,
    /// The phase it stands in.
    pub phase: usize,
}

/// What the plan looks like, and what the user has in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Lines end as on Windows.
    pub crlf: bool,
    /// Between the tasks stands what looks like tasks.
    pub noise: bool,
    /// No task has an id.
    pub bare: bool,
    /// The user has changes that are not committed.
    pub dirty: bool,
    /// How many agents work at once.
    pub jobs: usize,
    /// How often a task is tried.
    pub attempts: usize,
    /// The run goes on with what does not need a blocked task.
    pub keep_going: bool,
    /// A person lets each phase begin.
    pub approve: bool,
    /// A run waits for the person where it would end.
    pub stay: bool,
}

/// The file of the user's to which tasks add lines.
pub const SHARED: &str = "shared.txt";

impl Layout {
    pub fn draw(rng: &mut Rng) -> Layout {
        Layout {
            crlf: rng.u8(0..5) == 0,
            noise: rng.bool(),
            bare: rng.u8(0..3) == 0,
            dirty: rng.u8(0..3) == 0,
            jobs: rng.usize(2..=4),
            attempts: rng.usize(2..=5),
            keep_going: false,
            approve: false,
            stay: false,
        }
    }

    /// With what a person asks of the whole run, by lot of its own, so that nothing else
    /// of a story depends on it.
    pub fn with_wishes(self, seed: u64) -> Layout {
        let mut rng = Rng::with_seed(seed ^ 0x5eed_0f11_55e5);
        let mut one_in_four = || rng.u8(0..4) == 0;
        let (keep_going, approve, stay) = (one_in_four(), one_in_four(), one_in_four());
        Layout { keep_going, approve, stay, ..self }
    }
}

/// A few tasks, at least one of them in sequence.
pub fn draw(rng: &mut Rng) -> Vec<Task> {
    let mut tasks = vec![Task::draw(Marker::Alone, "1.1".to_owned(), 1, rng)];
    let (mut phase, mut number, mut checks) = (1, 1, 0);
    while tasks.len() < 8 && rng.u8(0..5) > 0 {
        if rng.u8(0..4) == 0 {
            (phase, number) = (phase + 1, 0);
        }
        match rng.u8(0..6) {
            0..=1 => {
                number += 1;
                tasks.push(Task::draw(Marker::Alone, format!("{phase}.{number}"), phase, rng));
            }
            2..=4 => {
                for _ in 0..rng.usize(2..=3) {
                    number += 1;
                    tasks.push(Task::draw(Marker::Beside, format!("{phase}.{number}"), phase, rng));
                }
            }
            _ => {
                checks += 1;
                tasks.push(Task::draw(Marker::Verify, format!("V{checks}"), phase, rng));
            }
        }
    }
    tasks
}

impl Task {
    fn draw(marker: Marker, id: String, phase: usize, rng: &mut Rng) -> Task {
        let work = match rng.u8(0..6) {
            0 => Work::OddFile,
            1..=2 => Work::Shared,
            3 if marker == Marker::Verify => Work::Nothing,
            _ => Work::File,
        };
        let check = match rng.u8(0..8) {
            0 => Check::Returns,
            1 => Check::Fence,
            3 => Check::List,
            2 if marker != Marker::Verify => Check::Prose,
            _ => Check::Span,
        };
        Task { id, marker, work, check, commit: rng.bool(), phase }
    }

    /// A task that a person adds in the middle.
    pub fn added(id: &str) -> Task {
        let (marker, work, check) = (Marker::Alone, Work::File, Check::Span);
        Task { id: id.to_owned(), marker, work, check, commit: false, phase: 0 }
    }

    /// Whether an agent is started for it even if nothing goes wrong.
    pub fn needs_agent(&self) -> bool {
        self.work != Work::Nothing
    }

    /// The file it leaves, if it is its own.
    pub fn file(&self) -> Option<String> {
        match self.work {
            Work::File => Some(format!("out/{}.txt", self.id)),
            Work::OddFile => Some(format!("out/{} ä/it's [odd] *.txt", self.id)),
            Work::Shared | Work::Nothing => None,
        }
    }

    /// The line that its work comes to.
    pub fn line(&self) -> String {
        format!("done {}", self.id)
    }

    fn place(&self) -> String {
        let path = self.file().unwrap_or_else(|| SHARED.to_owned());
        format!("'{}'", path.replace('\'', "'\\''"))
    }

    /// The shell command that does the work, and may have been done before.
    pub fn doing(&self) -> String {
        let (line, place) = (self.line(), self.place());
        match self.work {
            Work::Nothing => "true".to_owned(),
            // What somebody before has left halfway goes.
            Work::Shared => format!(
                "grep -qx '{line}' {place} || {{ sed -i '/^half$/d' {place}; echo '{line}' >> {place}; }}"
            ),
            Work::File | Work::OddFile => {
                format!("mkdir -p \"$(dirname {place})\" && echo '{line}' > {place}")
            }
        }
    }

    /// The shell command that does half of it.
    pub fn doing_half(&self) -> String {
        self.doing().replace(&format!("echo '{}'", self.line()), "echo 'half'")
    }

    /// The command of its check, which leaves evidence where no agent works.
    fn checking(&self) -> String {
        let test = match self.work {
            Work::Nothing => "test -d specs".to_owned(),
            _ => format!("grep -cx '{}' {}", self.line(), self.place()),
        };
        format!("{test} && echo passed >> \"$EVIDENCE/{}\"", self.id)
    }

    /// What its title begins with, whatever becomes of its id and of the rest.
    pub fn title(&self) -> String {
        format!("Work {}", self.id.to_lowercase())
    }

    /// The task as it stands in the plan, before any change of line endings.
    pub fn block(&self, bare: bool) -> String {
        let marker = match self.marker {
            Marker::Alone => "",
            Marker::Beside => "[P] ",
            Marker::Verify => "[VERIFY] ",
        };
        let id = if bare { String::new() } else { format!("{} ", self.id) };
        let mut block = format!("- [ ] {id}{marker}{}, über alles\n", self.title());
        block += "  - **Do**: what the title says\n";
        // Where tasks have no ids, a step would be one.
        block += if bare { "" } else { "    - [ ] a step\n    - [x] another\n" };
        // One that lines of others go into is not named, so that they meet.
        if let Some(file) = self.file().filter(|file| !file.contains(',')) {
            block += &format!("  - **Files**: `{file}` (new)\n");
        }
        let command = self.checking();
        let counted = if self.work == Work::Nothing { "" } else { " returns 1" };
        block += &match self.check {
            Check::Span => format!("  - **Verify**: `{command}`\n"),
            Check::Returns => format!("  - **Verify**: `{command}`{counted}\n"),
            Check::Fence => format!("  - **Verify**:\n    ```sh\n    {command}\n    ```\n"),
            Check::List => format!(
                "  - **Verify**: `test -f none` or `test -d specs`, then\n    - `{command}`\n"
            ),
            Check::Prose => "  - **Verify**: somebody looks at it\n".to_owned(),
        };
        if self.commit {
            block += &format!("  - **Commit**: `feat({}): done`\n", self.id);
        }
        block
    }
}

/// The task that a line, a title or a message is about: whatever it is called,
/// its title tells.
pub fn named_in(text: &str) -> Option<String> {
    let behind = text.split_once("Work ")?.1;
    let end = behind.find(|c: char| c != '.' && !c.is_ascii_alphanumeric());
    Some(behind[..end.unwrap_or(behind.len())].to_uppercase())
}

/// The task file.
pub fn render(layout: Layout, tasks: &[Task]) -> Vec<u8> {
    let mut text = "# The plan\n\nSome words ahead.\n".to_owned();
    let mut phase = 0;
    for task in tasks {
        if task.phase != phase {
            phase = task.phase;
            text += &format!("\n## Phase {phase}: part {phase}\n\n");
            if layout.noise {
                text += "```\n- [ ] 9.1 in a fence\n```\n<!--\n- [ ] 9.2 in a comment\n-->\n\n";
            }
        }
        text += &task.block(layout.bare);
        if layout.noise && !layout.bare && task.id.ends_with('2') {
            text += "- [ ] a box without an id, from a pasted text\n";
        }
    }
    let mut bytes = if layout.crlf { text.replace('\n', "\r\n") } else { text }.into_bytes();
    if layout.noise {
        bytes.extend_from_slice(b"\nNotes: \xff\xfe\tand no end of line");
    }
    bytes
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:?}, leaves {:?}, checked by {:?}",
            self.id, self.marker, self.work, self.check
        )
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attempts each, {} at once", self.attempts, self.jobs)?;
        for (holds, what) in [
            (self.crlf, "CRLF"),
            (self.bare, "no ids"),
            (self.noise, "things that look like tasks"),
            (self.dirty, "changes of the user's own in the tree"),
            (self.keep_going, "goes on without what is blocked"),
            (self.approve, "a person lets each phase begin"),
            (self.stay, "a run stays"),
        ] {
            if holds {
                write!(f, ", {what}")?;
            }
        }
        Ok(())
    }
}

//! A person: writes the plan, and does not leave it alone.

use serde_json::Value;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event, Start, Step};
use specum_core::state::{self, State};
use specum_core::tasks::{Task, TaskEdit, TaskFile, apply};

use super::Chance;
use super::truth::End;
use super::work::took_effect;
use super::world::{Halt, World};

/// A plan of a few tasks.
pub(crate) fn plan(chance: &mut Chance) -> Vec<u8> {
    let mut text = String::from("# Plan\n\nSome words.\n\n## Phase 1: One\n\n");
    let tasks = 1 + chance.below(8);
    for n in 1..=tasks {
        if n > 1 && chance.once_in(4) {
            text.push_str("\nMore words.\n\n## Phase 2: Two\n\n");
        }
        let marker = chance.one_of(&["", "[P] ", "[P] ", "[VERIFY] ", "[SEQUENTIAL] "]);
        text.push_str(&task(&format!("1.{n}"), marker, chance));
    }
    if chance.once_in(4) {
        text = text.replace('\n', "\r\n");
    }
    if chance.once_in(4) {
        text.truncate(text.trim_end().len());
    }
    text.into_bytes()
}

fn task(id: &str, marker: &str, chance: &mut Chance) -> String {
    let verify = chance.one_of(&["`make`", "`grep -c x f` returns 1", "`a` and `b`", "look at it"]);
    let mark = if chance.once_in(12) { 'x' } else { ' ' };
    format!("- [{mark}] {id} {marker}Task {id}\n  - **Files**: f{id}\n  - **Verify**: {verify}\n")
}

impl World {
    /// Nobody works: a person starts something, or mends what keeps it from
    /// being started.
    pub(crate) fn somebody_starts(&mut self) -> Result<(), Halt> {
        let state = self.state();
        if self.fair {
            if state.as_ref().is_some_and(|state| state.awaiting_approval) {
                return self.happen(Event::Resume, Entry::Resumed);
            }
            // Room for whatever is left to be done.
            return self.run_starts(&Start {
                max_global_iterations: Some(100_000),
                max_tokens: Some(u64::MAX),
                ..Start::default()
            });
        }
        let start = Start {
            // Never fewer than before: what was allowed stays allowed.
            max_task_iterations: (self.disk.state.is_none())
                .then(|| 1 + u64::from(self.chance.below(3))),
            max_global_iterations: self
                .chance
                .once_in(6)
                .then(|| self.truth.iterations + 2 + u64::from(self.chance.below(10))),
            recovery_mode: Some(self.chance.below(2) == 0),
            max_tokens: self.chance.once_in(8).then(|| self.truth.tokens + 200),
            ..Start::default()
        };
        match self.chance.below(4) {
            0 | 1 => self.run_starts(&start),
            2 => self.session_starts(&start),
            _ => self.happen(Event::Resume, Entry::Resumed),
        }
    }

    pub(crate) fn person_acts(&mut self) -> Result<(), Halt> {
        match self.chance.below(12) {
            0 => Ok(()),
            1 => self.edits(World::adds_a_task),
            2 => self.edits(World::removes_a_task),
            3 => self.edits(World::moves_a_task),
            4 => self.edits(World::rewrites_a_title),
            5 | 6 => self.ticks(),
            7 => self.happen(Event::Pause, Entry::Paused),
            8 => self.happen(Event::Resume, Entry::Resumed),
            9 if self.chance.once_in(3) => self.cancels(),
            10 => self.another_program_writes(),
            11 if self.chance.once_in(3) => self.spoils_the_state(),
            _ => {
                // The terminal is closed.
                self.session = None;
                Ok(())
            }
        }
    }

    pub(crate) fn happen(&mut self, event: Event, entry: Entry) -> Result<(), Halt> {
        self.lock()?;
        let Some(state) = self.state() else { return Ok(()) };
        self.story(format!("a person: {entry:?}"));
        let text = self.disk.tasks.clone();
        let step = machine::step(&state, &TaskFile::scan(&text), event);
        self.write(entry, &step)
    }

    fn cancels(&mut self) -> Result<(), Halt> {
        self.lock()?;
        if self.state().is_none() {
            return Ok(());
        }
        self.story("a person cancels".into());
        let step = Step { state: None, effects: Vec::new() };
        let written = self.write(Entry::Cancelled, &step);
        if took_effect(&written) {
            self.truth.ended(End::Cancelled);
            // Whoever starts anew takes the boxes as they stand.
            self.truth.rogues_are_found_out(true);
            self.disk.memory = None;
        }
        written
    }

    fn edits(
        &mut self,
        edit: fn(&mut World, &TaskFile<'_>) -> Option<Vec<u8>>,
    ) -> Result<(), Halt> {
        // An editor shows the file as it is recovered.
        self.lock()?;
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        if let Some(after) = edit(self, &file) {
            let order = |text: &[u8]| -> Vec<String> {
                TaskFile::scan(text).tasks.iter().map(Task::name).collect()
            };
            if order(&after) != order(&text) {
                self.truth.moved_at = Some(self.disk.records.len());
            }
            self.disk.tasks = after;
            let tasks = self.disk.tasks.clone();
            self.truth.person_has_edited(&tasks);
        }
        Ok(())
    }

    fn adds_a_task(&mut self, file: &TaskFile<'_>) -> Option<Vec<u8>> {
        // An id of its own: what was known of an earlier one is another's.
        self.truth.added += 1;
        let id = format!("7.{}", self.truth.added);
        let marker = self.chance.one_of(&["", "[P] "]);
        let block = task(&id, marker, &mut self.chance).replace("[x]", "[ ]");
        self.truth.forget(&id);
        self.story(format!("a person adds {id}"));
        Some(match self.some_task(file) {
            Some(before) => apply(file.text(), &[file.insert_before(&before, &block)]),
            None => [file.text(), b"\n", block.as_bytes()].concat(),
        })
    }

    fn removes_a_task(&mut self, file: &TaskFile<'_>) -> Option<Vec<u8>> {
        let task = self.some_task(file).filter(|_| file.tasks.len() > 2)?;
        let id = task.name();
        self.story(format!("a person removes {id}"));
        self.truth.forget(&id);
        Some([&file.text()[..task.block.start], &file.text()[task.block.end..]].concat())
    }

    fn moves_a_task(&mut self, file: &TaskFile<'_>) -> Option<Vec<u8>> {
        let (task, before) = (self.some_task(file)?, self.some_task(file)?);
        let text = file.text();
        // The last line of a file may not be ended.
        if task.index <= before.index || !text.ends_with(b"\n") {
            return None;
        }
        self.story(format!("a person moves {} before {}", task.name(), before.name()));
        let (start, end) = (task.block.start, task.block.end);
        let at = before.block.start;
        Some([&text[..at], &text[start..end], &text[at..start], &text[end..]].concat())
    }

    fn rewrites_a_title(&mut self, file: &TaskFile<'_>) -> Option<Vec<u8>> {
        let task = self.some_task(file)?;
        let block = String::from_utf8_lossy(file.block(&task)).into_owned();
        let block = block.replacen(" Task ", " Better task ", 1);
        self.story(format!("a person rewrites {}", task.name()));
        let text = file.text();
        Some([&text[..task.block.start], block.as_bytes(), &text[task.block.end..]].concat())
    }

    /// A task that is no fix.
    fn some_task(&mut self, file: &TaskFile<'_>) -> Option<Task> {
        let own: Vec<&Task> = file.tasks.iter().filter(|task| task.fixes().is_none()).collect();
        (!own.is_empty()).then(|| self.chance.one_of(&own).clone())
    }

    fn ticks(&mut self) -> Result<(), Halt> {
        self.lock()?;
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let Some(task) = self.some_task(&file) else { return Ok(()) };
        let name = task.name();
        self.truth.forget(&name);
        if task.done {
            self.story(format!("a person opens {name} again"));
            self.truth.reopened.insert(name, self.disk.records.len());
            self.disk.tasks = TaskEdit::Untick(task.key()).apply(&text);
        } else {
            self.story(format!("a person ticks {name}"));
            self.truth.by_person.insert(name);
            self.disk.tasks = TaskEdit::Tick(task.key()).apply(&text);
        }
        Ok(())
    }

    fn another_program_writes(&mut self) -> Result<(), Halt> {
        self.lock()?;
        let Some(state) = self.state() else { return Ok(()) };
        let mut object = state.to_object();
        let number = u64::from(self.chance.below(1000));
        object.insert("x-other".into(), Value::from(number));
        self.story("another program writes its field".into());
        self.truth.foreign = Some(number);
        self.disk.state = Some(state::render_object(&object));
        Ok(())
    }

    fn spoils_the_state(&mut self) -> Result<(), Halt> {
        self.lock()?;
        let Some(bytes) = self.disk.state.clone() else { return Ok(()) };
        let half = bytes[..bytes.len() / 2].to_vec();
        if State::parse(&half).is_err() {
            self.story("somebody spoils the state file".into());
            self.truth.foreign = Some(u64::MAX);
            self.disk.state = Some(half);
        }
        Ok(())
    }
}

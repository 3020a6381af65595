//! What is done to the plan with an editor, by a person or by an agent: nobody
//! asks for the lock, and nothing is told to the loop.

use specum_core::tasks::{Task, TaskEdit, TaskFile, apply};

use super::plan::{self, Proof, soul};
use super::truth::Edited;
use super::world::{Halt, World, tasks_path};

/// An edit: what kind it is, and the text behind it.
type Edit = Option<(Edited, Vec<u8>)>;

impl World {
    /// A person edits the plan.
    pub(crate) fn person_edits(&mut self) -> Result<(), Halt> {
        let edit = match self.chance.below(10) {
            0 | 1 => World::adds_a_task,
            2 => World::removes_a_task,
            3 => World::moves_a_task,
            4 => World::rewrites_a_title,
            5 => World::rewrites_what_to_do,
            6 => World::changes_a_check,
            7 => World::numbers_a_task_anew,
            8 => World::numbers_everything_anew,
            _ => World::puts_a_task_back,
        };
        self.edits("a person", edit)
    }

    /// An agent, or the coordinator of a session, does what it was told not to.
    pub(crate) fn agent_meddles(&mut self, who: &str) -> Result<(), Halt> {
        if self.fair || !self.chance.once_in(5) {
            return Ok(());
        }
        match self.chance.below(10) {
            0..4 => self.ticks_a_box(who),
            4 => self.ticks_every_box(who),
            5 => self.edits(who, World::ticks_a_step),
            6 => self.edits(who, World::weakens_a_check),
            7 => self.edits(who, World::removes_a_task),
            8 => self.edits(who, World::adds_a_task),
            _ => self.opens_a_box(who),
        }
    }

    fn edits(
        &mut self,
        who: &str,
        edit: fn(&mut World, &TaskFile<'_>) -> Edit,
    ) -> Result<(), Halt> {
        let text = self.recovered_plan()?;
        let file = TaskFile::scan(&text);
        let told = self.story.len();
        let Some((kind, after)) = edit(self, &file) else { return Ok(()) };
        // Without a loop nobody has to follow anything.
        let together = match self.state_bytes() {
            Some(_) => self.truth.edited.with(kind),
            None => Some(Edited::PLACES),
        };
        let Some(together) = together else {
            self.story.truncate(told);
            return Ok(());
        };
        if let Some(event) = self.story.get_mut(told) {
            *event = format!("{who} {event}");
        }
        self.truth.edited = together;
        self.plan_becomes(&after);
        let souls: Vec<String> = TaskFile::scan(&after).tasks.iter().map(soul).collect();
        self.truth.tasks.rogue.retain(|ticked| souls.contains(ticked));
        self.truth.plan_is(&after);
        Ok(())
    }

    /// The plan as an editor shows it: as it is recovered.
    fn recovered_plan(&mut self) -> Result<Vec<u8>, Halt> {
        self.recover()?;
        Ok(self.tasks())
    }

    /// Somebody writes the plan with an editor.
    pub(crate) fn plan_becomes(&mut self, text: &[u8]) {
        self.disk.put(&tasks_path(), text);
        self.observer.plan_becomes(text);
    }

    fn adds_a_task(&mut self, file: &TaskFile<'_>) -> Edit {
        self.truth.numbers += 1;
        let number = self.truth.numbers;
        let id = (file.has_ids).then(|| format!("7.{number}"));
        let marker = self.chance.one_of(&["", "[P] "]);
        let block = plan::block(id.as_deref(), ' ', marker, number, &mut self.chance);
        let renumbers = file.has_ids && self.chance.once_in(3);
        let before = self.some_task(file);
        self.story(format!("adds {number} before {:?}", before.as_ref().map(soul)));
        let text = match before {
            Some(before) => apply(file.text(), &[file.insert_before(&before, &block)]),
            None => [file.text(), b"\n", block.as_bytes()].concat(),
        };
        Some(match plan::renumbered(&text).filter(|_| renumbers) {
            Some(renumbered) => (Edited::NUMBERS, renumbered),
            None => (Edited::PLACES, text),
        })
    }

    fn removes_a_task(&mut self, file: &TaskFile<'_>) -> Edit {
        // Nobody leaves a fix of what is gone: such a plan cannot be worked.
        let is_fixed = |name: &str| file.tasks.iter().any(|task| task.goes_before() == Some(name));
        let task = self.some_task(file).filter(|_| file.tasks.len() > 2)?;
        if is_fixed(&task.name()) {
            return None;
        }
        self.story(format!("removes {} ({})", task.name(), soul(&task)));
        // Without ids, another one in its place would be the same one rewritten.
        let kind = if file.has_ids { Edited::REMOVED } else { Edited::TITLE };
        Some((kind, plan::without(file, &task)))
    }

    fn moves_a_task(&mut self, file: &TaskFile<'_>) -> Edit {
        let (task, before) = (self.some_task(file)?, self.some_task(file)?);
        let text = file.text();
        // The last line of a file may not be ended.
        if task.index <= before.index || !text.ends_with(b"\n") {
            return None;
        }
        self.story(format!("moves {} before {}", task.name(), before.name()));
        let (start, end) = (task.block.start, task.block.end);
        let at = before.block.start;
        let moved = [&text[..at], &text[start..end], &text[at..start], &text[end..]].concat();
        Some((Edited::PLACES, moved))
    }

    fn rewrites_a_title(&mut self, file: &TaskFile<'_>) -> Edit {
        let task = self.some_task(file)?;
        if self.truth.tasks.known.get(&soul(&task)).is_some_and(|known| known.removal) {
            // Put back under another title, before anybody has looked, it is another task.
            return None;
        }
        let kind = if file.has_ids { Edited::WORDS } else { Edited::TITLE };
        let text = plan::reworded(file, &task, "Task ", "Better task ")
            .or_else(|| plan::reworded(file, &task, "Better task ", "Task "))?;
        self.story(format!("rewrites the title of {}", task.name()));
        Some((kind, text))
    }

    fn rewrites_what_to_do(&mut self, file: &TaskFile<'_>) -> Edit {
        let task = self.some_task(file)?;
        let text = plan::reworded(file, &task, "**Do**: it", "**Do**: it well")?;
        self.story(format!("rewrites what {} asks for", task.name()));
        Some((Edited::WORDS, text))
    }

    fn changes_a_check(&mut self, file: &TaskFile<'_>) -> Edit {
        let (task, proof) = (self.some_task(file)?, self.chance.one_of(&Proof::ALL));
        let text = plan::rechecked(file, &task, proof)?;
        self.story(format!("changes the check of {} to {proof:?}", task.name()));
        Some((Edited::WORDS, text))
    }

    fn weakens_a_check(&mut self, file: &TaskFile<'_>) -> Edit {
        let task = self.some_task(file)?;
        let proof = self.chance.one_of(&[Proof::Hollow, Proof::Words, Proof::Nothing]);
        let text = plan::rechecked(file, &task, proof)?;
        self.story(format!("weakens the check of {} to {proof:?}", task.name()));
        Some((Edited::WORDS, text))
    }

    fn numbers_a_task_anew(&mut self, file: &TaskFile<'_>) -> Edit {
        let task = self.some_task(file).filter(|_| file.has_ids)?;
        self.truth.numbers += 1;
        let id = format!("8.{}", self.truth.numbers);
        self.story(format!("calls {} {id}", task.name()));
        Some((Edited::NUMBERS, plan::with_numbers(file, &[(task.name(), id)])))
    }

    fn numbers_everything_anew(&mut self, file: &TaskFile<'_>) -> Edit {
        let renumbered = plan::renumbered(file.text()).filter(|_| file.has_ids)?;
        self.story("numbers every task anew".into());
        Some((Edited::NUMBERS, renumbered))
    }

    /// A task that was removed while somebody was at work.
    pub(crate) fn puts_a_task_back(&mut self, file: &TaskFile<'_>) -> Edit {
        // Nobody may have looked since it was put back.
        let is_there = |name: &String| file.tasks.iter().any(|task| soul(task) == *name);
        let mut known = self.truth.tasks.known.iter();
        let removed = known.find(|(soul, known)| known.removal && !is_there(soul));
        let (soul, known) = removed.map(|(soul, known)| (soul.clone(), known.clone()))?;
        let block = String::from_utf8_lossy(&known.block).replace("- [x]", "- [ ]");
        let there = TaskFile::scan(block.as_bytes());
        let id = there.tasks.first()?.id.clone();
        let is_taken = file.tasks.iter().any(|task| task.id.is_some() && task.id == id);
        if is_taken && known.asked.is_some() {
            // Another number and another check make another task.
            return None;
        }
        self.truth.numbers += 1;
        let (kind, block) = match (is_taken, id) {
            (true, Some(id)) => {
                let new = (id, format!("8.{}", self.truth.numbers));
                (Edited::NUMBERS, plan::with_numbers(&there, &[new]))
            }
            _ => (Edited::PLACES, block.into_bytes()),
        };
        let before = self.some_task(file)?;
        self.story(format!("puts {soul} back"));
        let block = String::from_utf8_lossy(&block).into_owned();
        Some((kind, apply(file.text(), &[file.insert_before(&before, &block)])))
    }

    fn ticks_a_step(&mut self, file: &TaskFile<'_>) -> Edit {
        let text = String::from_utf8_lossy(file.text()).into_owned();
        let ticked = text.replacen("- [ ] a step", "- [x] a step", 1);
        (ticked != text).then(|| self.story("ticks a step".into()))?;
        // Steps are no tasks, and their ticks no edits.
        Some((Edited::NO, ticked.into_bytes()))
    }

    /// A task that is no fix.
    pub(crate) fn some_task(&mut self, file: &TaskFile<'_>) -> Option<Task> {
        let own: Vec<&Task> =
            file.tasks.iter().filter(|task| task.goes_before().is_none()).collect();
        (!own.is_empty()).then(|| self.chance.one_of(&own).clone())
    }

    /// Somebody ticks a box in the file.
    pub(crate) fn ticks_a_box(&mut self, who: &str) -> Result<(), Halt> {
        let text = self.recovered_plan()?;
        let file = TaskFile::scan(&text);
        let open: Vec<&Task> = file.open().collect();
        if !open.is_empty() {
            let task = self.chance.one_of(&open).clone();
            self.tick_in_file(who, &task);
        }
        Ok(())
    }

    fn ticks_every_box(&mut self, who: &str) -> Result<(), Halt> {
        let text = self.recovered_plan()?;
        for task in TaskFile::scan(&text).open() {
            self.tick_in_file(who, task);
        }
        Ok(())
    }

    fn tick_in_file(&mut self, who: &str, task: &Task) {
        self.story(format!("{who} ticks {} in the file", task.name()));
        let held = self.is_held() && self.state_bytes().is_some();
        self.truth.tasks.ticked(&soul(task), held);
        self.plan_becomes(&TaskEdit::Tick(task.key()).apply(&self.tasks()));
    }

    /// Somebody opens a box that is ticked.
    pub(crate) fn opens_a_box(&mut self, who: &str) -> Result<(), Halt> {
        let text = self.recovered_plan()?;
        let file = TaskFile::scan(&text);
        let done: Vec<&Task> = file.tasks.iter().filter(|task| task.done).collect();
        if !done.is_empty() {
            let task = self.chance.one_of(&done).clone();
            self.story(format!("{who} opens {} again", task.name()));
            self.truth.tasks.unticked(&soul(&task));
            self.plan_becomes(&TaskEdit::Untick(task.key()).apply(&text));
        }
        Ok(())
    }
}

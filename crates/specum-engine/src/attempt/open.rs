//! The beginning of an attempt: what is due, what stands before the work begins,
//! and what its executor is given to read.

use std::path::Path;
use std::time::Duration;

use specum_core::attempt::{Attempt, AttemptId, Ledger};
use specum_core::brief::{self, Brief, Surroundings};
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Due, Event, Hold, Step};
use specum_core::plan::Unit;
use specum_core::progress::{self, Section};
use specum_core::prompt::SpecName;
use specum_core::state::{Driver, State, TaskResult};
use specum_core::tasks::{TaskFile, TaskKey};
use specum_core::verify::Role;

use super::review::{ReviewedPlan, review, take_back};
use super::tree::TreeState;
use super::{AttemptError, Workspace, pending};
use crate::git::Status;
use crate::ports::World;
use crate::ralph_loop;
use crate::store::{Locked, View};

/// How long a look at the work tree counts as one of this moment.
const THIS_MOMENT: Duration = Duration::from_millis(100);

/// The next piece of work, opened.
#[derive(Debug)]
pub enum NextWork {
    /// These attempts, to be worked at once if there are several.
    Work(Vec<Attempt>),
    /// Nothing now; why.
    Wait(Due),
    /// Every box is ticked; the loop has ended.
    Complete,
}

impl Workspace {
    /// Opens what is due. Asked twice, it gives the same attempts again.
    pub fn open(&self) -> Result<NextWork, AttemptError> {
        loop {
            self.complete_commits()?;
            let known = self.store.ledger()?.results();
            let tree = match self.remembered() {
                Some(status) => self.tree_of(status),
                None => self.tree()?,
            };
            let (locked, reviewed) = self.enter()?;
            let ledger = self.store.ledger()?;
            // What has passed and is not committed is not done, and a tree that
            // was looked at before its commit is not the one to begin from.
            let is_uncommitted = self.git.is_ok() && ledger.uncommitted().is_some();
            if ledger.results() != known || is_uncommitted {
                drop(locked);
                continue;
            }
            // It would be copied for the next record.
            drop(ledger);
            return self.open_due(&locked, &reviewed, &tree);
        }
    }

    /// Opens at most `room` more attempts at tasks of the group that is worked on.
    /// They are made in worktrees, from the newest commit; the user's tree, in which
    /// a neighbour's work may be tried at this moment, is not looked at.
    pub fn join(&self, room: usize) -> Result<Vec<Attempt>, AttemptError> {
        // A git that cannot tell now gives no attempt a commit to begin from.
        let head @ Some(_) = self.repository()?.head() else { return Ok(Vec::new()) };
        let (locked, reviewed) = self.enter()?;
        let (Some(state), file) = (&reviewed.view.state, reviewed.view.file()) else {
            return Ok(Vec::new());
        };
        let mut joining = machine::joiners(state, &file, &self.scope, room);
        let ledger = self.store.ledger()?;
        // A person may have skipped a task and want it after all before its agent was ended.
        let open = ledger.open_attempts();
        joining
            .retain(|&index| open.iter().all(|other| !file.tasks[index].is_named(&other.key.id)));
        let neighbour = pending(state, &file, &ledger).into_iter().find_map(|(_, opened)| opened);
        let (Some(neighbour), false) = (neighbour, joining.is_empty()) else {
            return Ok(Vec::new());
        };
        if reviewed.has_changed {
            self.refuse_mistakes(&file)?;
        }
        let tree = TreeState {
            head,
            branch: neighbour.branch,
            dirty: neighbour.dirty,
            open_elsewhere: neighbour.open_elsewhere,
            dirty_submodules: Vec::new(),
        };
        let step = machine::step(state, &file, Event::Join(joining.clone()));
        self.record_opened(&locked, (state, &file), (&joining, &step), &tree)
    }

    /// Opens what is due in a tree that is known.
    fn open_due(
        &self,
        locked: &Locked<'_>,
        reviewed: &ReviewedPlan,
        tree: &TreeState,
    ) -> Result<NextWork, AttemptError> {
        let view = &reviewed.view;
        let Some(state) = view.state.as_ref() else {
            // Asked again after the end, it is still the end.
            let file = view.file();
            let done = !file.tasks.is_empty() && file.is_complete() && file.unread.is_empty();
            let none = || AttemptError::NoLoop(self.spec.name.clone());
            return done.then_some(NextWork::Complete).ok_or_else(none);
        };
        // A file that is gone is not a file without open boxes.
        if view.tasks.is_none() {
            return Err(AttemptError::NoTasks(self.spec.shown.clone()));
        }
        let file = view.file();
        // Nor is a plan without tasks one that is done.
        if file.tasks.is_empty() {
            return Err(AttemptError::Empty(self.spec.shown.clone()));
        }
        if reviewed.has_changed {
            self.refuse_mistakes(&file)?;
        }
        if machine::batch_is_over(state, &file) {
            let step = machine::step(state, &file, Event::EndBatch);
            locked.write_step(Entry::BatchEnded, &step)?;
            // It may have brought a fix task, which is to be on record.
            let mut again = review(&self.store, locked, locked.read()?)?;
            take_back(locked, &mut again)?;
            self.tell(&mut again);
            again.has_changed |= reviewed.has_changed;
            return self.open_due(locked, &again, tree);
        }
        match machine::due(state, &file, &self.scope, &reviewed.plan_record) {
            Due::Work(unit) => self.open_unit(locked, (state, &file), &unit, tree),
            Due::Complete => {
                let step = machine::step(state, &file, Event::Complete);
                let promise = state.driver == Driver::RalphLoop;
                let completed = Entry::Completed { tasks: file.count(), promise };
                locked.write_step(completed, &step)?;
                // The owner of the loop holds nothing any more.
                self.store.forget_memory()?;
                ralph_loop::end(&self.spec)?;
                Ok(NextWork::Complete)
            }
            wait => Ok(NextWork::Wait(wait)),
        }
    }

    /// The attempts at a unit: those that are under way, else new ones.
    fn open_unit(
        &self,
        locked: &Locked<'_>,
        (state, file): (&State, &TaskFile<'_>),
        unit: &Unit,
        tree: &TreeState,
    ) -> Result<NextWork, AttemptError> {
        let ledger = self.store.ledger()?;
        let new = |index| opening((self, tree), state, file, index, &ledger);
        // A batch is worked to its end before anything joins it, unless the one who
        // asks wants something else.
        let mut pending = pending(state, file, &ledger);
        pending.retain(|(index, _)| self.scope.holds(&file.tasks[*index]));
        if !pending.is_empty() {
            let again = pending.into_iter().map(|(index, opened)| match opened {
                Some(opened) => Ok(opened),
                None => {
                    let opened = new(index);
                    locked.record_of(&opened.id, opened.entry())?;
                    Ok(opened)
                }
            });
            return Ok(NextWork::Work(again.collect::<Result<_, AttemptError>>()?));
        }
        let under_way = |index: &usize| ledger.open_attempt(&file.tasks[*index].key());
        if let Some(again) = unit.tasks().iter().map(under_way).collect() {
            return Ok(NextWork::Work(again));
        }
        let first = unit.tasks().first();
        if let Some(hold) = first.and_then(|&first| machine::hold_before(state, file, first)) {
            return self.hold(locked, (state, file), hold);
        }
        let step = machine::step(state, file, Event::Open(unit.tasks().to_vec()));
        let opened = self.record_opened(locked, (state, file), (unit.tasks(), &step), tree)?;
        Ok(NextWork::Work(opened))
    }

    /// Lets the loop wait for a person before anything new is begun.
    fn hold(
        &self,
        locked: &Locked<'_>,
        (state, file): (&State, &TaskFile<'_>),
        hold: Hold,
    ) -> Result<NextWork, AttemptError> {
        let event = match hold {
            Hold::Pause => Event::Pause { why: None },
            Hold::Approval(phase) => Event::AwaitApproval { phase },
        };
        let step = machine::step(state, file, event);
        let due = step.state.as_ref().and_then(machine::held);
        let due = due.unwrap_or(Due::Paused(None));
        let why = match &due {
            Due::Paused(why) => why.clone(),
            _ => None,
        };
        locked.write_step(Entry::Paused { why, branch: None }, &step)?;
        Ok(NextWork::Wait(due))
    }

    /// Records new attempts at some tasks, and the step that they are.
    fn record_opened(
        &self,
        locked: &Locked<'_>,
        (state, file): (&State, &TaskFile<'_>),
        (tasks, step): (&[usize], &Step),
        tree: &TreeState,
    ) -> Result<Vec<Attempt>, AttemptError> {
        let ledger = self.store.ledger()?;
        let new = |index: &usize| opening((self, tree), state, file, *index, &ledger);
        let opened: Vec<Attempt> = tasks.iter().map(new).collect();
        drop(ledger);
        for (n, attempt) in opened.iter().enumerate() {
            // The state changes with the first record; the others only tell.
            let (id, entry) = (&attempt.id, attempt.entry());
            match n {
                0 => locked.write_step_of(id, entry, step)?,
                _ => locked.record_of(id, entry)?,
            }
        }
        Ok(opened)
    }

    /// Keeps a look at the work tree for the next caller that needs one.
    pub(super) fn remember(&self, status: Status) {
        *self.after_commit.lock().expect("no holder panics") =
            Some((self.world().clock.elapsed(), status));
    }

    /// The last look at the work tree, once, if it is of this moment.
    fn remembered(&self) -> Option<Status> {
        let kept = self.after_commit.lock().expect("no holder panics").take();
        let now = self.world().clock.elapsed();
        kept.filter(|(at, _)| now - *at < THIS_MOMENT).map(|(_, status)| status)
    }

    /// What an executor of a session is to read.
    pub fn brief(&self, opened: &Attempt, in_batch: bool) -> Result<String, AttemptError> {
        let place = if in_batch { brief::WorkPlace::Shared } else { brief::WorkPlace::Alone };
        Ok(line::readable(&self.brief_at(opened, place, &self.spec.root, None)?))
    }

    /// What an executor is to read who works at this place. What a check has
    /// just shown counts more than what the last attempt failed with.
    pub fn brief_at(
        &self,
        opened: &Attempt,
        place: brief::WorkPlace,
        root: &Path,
        shown: Option<&(String, String)>,
    ) -> Result<Vec<u8>, AttemptError> {
        // Its name may be another task's since it was opened.
        let opened = &self.renamed(opened)?;
        let view = self.store.read()?;
        let file = view.file();
        let name = self.name_in(&view, &opened.key)?;
        let task = file.tasks.iter().find(|task| task.name() == name);
        let ledger = self.store.ledger()?;
        let (reasons, output) = match shown {
            Some((reason, output)) => (vec![reason.clone()], output.clone()),
            None => ledger
                .last_failure(&opened.key)
                .map(|(reasons, output)| (reasons.to_vec(), output.to_owned()))
                .unwrap_or_default(),
        };
        let kept = ledger.kept(&opened.key);
        let progress = self.store.read_progress()?;
        let learnings = line::readable(progress::section(&progress, Section::Learnings));
        let mut surroundings = self.surroundings(&opened.fields().files);
        if let Some(task) = task {
            surroundings.context = file.context(task);
        }
        let plan = &mut surroundings.context.plan;
        if let Some(goal) = progress::goal(&progress).filter(|_| plan.text.is_empty()) {
            plan.say(&goal);
        }
        Ok(Brief {
            spec: SpecName { name: &self.spec.name, path: &self.spec.shown },
            block: task.map_or(&opened.block, |task| file.block(task)),
            root: &root.to_string_lossy(),
            task: &opened.key.id,
            index: task.map_or(0, |task| task.index),
            attempt: opened.number,
            id: &opened.id,
            check: &self.commands_of(opened)?,
            is_green: self.is_green_before(opened)?,
            may_ask: self.may_modify && opened.role == Role::Executor,
            role: opened.role,
            place,
            surroundings: &surroundings,
            kept,
            words: &ledger.notes_for(&opened.key),
            reasons: &reasons,
            output: &output,
            learnings: &learnings,
        }
        .render())
    }

    /// What a task on record is called in a plan that nobody may have looked at yet.
    fn name_in(&self, view: &View, key: &TaskKey) -> Result<String, AttemptError> {
        let file = view.file();
        if view.state.as_ref().is_none_or(|state| state.has_reviewed(&file)) {
            return Ok(key.id.clone());
        }
        let found = self.plan_record()?.review(&file, Some(""));
        let renames = found.renames();
        Ok(renames.get(key.id.as_str()).map_or(&key.id, |now| &now.id).clone())
    }

    /// The documents next to the plan, and the rules that count for these files.
    fn surroundings(&self, files: &[String]) -> Surroundings {
        let (disk, spec) = (&self.world().disk, &self.spec);
        // A folder that cannot be listed has nothing to be read either.
        let names = disk.list(&spec.dir).unwrap_or_default();
        let names = names.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let documents = brief::documents(&names.collect::<Vec<_>>());
        let is_there = |path: &String| disk.look_behind(&spec.root.join(path)).is_ok();
        let rules = brief::rules_for(files).into_iter().filter(is_there).collect();
        Surroundings { documents, rules, ..Surroundings::default() }
    }
}

/// An attempt at a task as it stands.
pub(super) fn opening(
    (workspace, tree): (&Workspace, &TreeState),
    state: &State,
    file: &TaskFile<'_>,
    index: usize,
    ledger: &Ledger,
) -> Attempt {
    let task = &file.tasks[index];
    let dirty = ledger.baseline(&task.key(), &tree.dirty);
    let mut left_before = workspace.as_recorded(&dirty, &tree.dirty).into_owned();
    left_before.retain(|path, digest| dirty.get(path) != Some(digest));
    Attempt {
        key: task.key(),
        number: state.result_of(task).map_or(1, TaskResult::next_attempt),
        block: file.block(task).to_vec(),
        role: Role::of(task.mode()),
        at: workspace.world().clock.now().into(),
        head: tree.head.clone(),
        branch: tree.branch.clone(),
        dirty,
        left_before,
        open_elsewhere: tree.open_elsewhere.clone(),
        id: attempt_id(workspace.world()),
        was: Vec::new(),
    }
}

/// An id that no other attempt has.
pub(super) fn attempt_id(world: &World) -> AttemptId {
    let (at, process, count) = world.new_id();
    AttemptId::new(at, process, count)
}

//! An attempt at a task, from its opening to its verdict.
//!
//! [`Workspace::open`] records what stands before anybody works;
//! [`Workspace::judge`] compares it with what stands afterwards, runs the
//! Verify command as it stood at the opening, and carries out the verdict:
//! tick, note and commit, or a note of what failed. The lock is held for the
//! records and the writes, never while a check or git runs.

mod commit;
mod end;
mod history;
mod judge;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use specum_core::brief::{self, Brief};
use specum_core::check;
use specum_core::claim;
use specum_core::journal::{Entry, Record};
use specum_core::line;
use specum_core::machine::{self, Due, Event, Start};
use specum_core::plan::{self, Scope};
use specum_core::progress::{self, Section};
use specum_core::prompt::{self, DueTask, Spec as PromptSpec};
use specum_core::state::{Owner, State, TaskResult};
use specum_core::tasks::{Fields, Mode, TaskFile, TaskKey};
use specum_core::verify::Role;
use thiserror::Error;

pub use self::end::Tried;
pub use self::history::{Delegation, History, Launched, open_attempt, pending};
pub use self::judge::{By, Found, Judged, foreign_ticks, without_foreign_ticks};
use self::tree::Tree;
use crate::files::FileError;
use crate::git::{Git, GitError, Status};
use crate::process;
use crate::project::{Project, Spec};
use crate::store::{Store, StoreError, View};

/// Why there is no attempt or no verdict.
#[derive(Debug, Error)]
pub enum AttemptError {
    /// The spec's files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the spec.
    #[error(transparent)]
    File(#[from] FileError),
    /// The repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is no loop.
    #[error("no loop is running for {0}; start one with `specum implement`")]
    NoLoop(String),
    /// There is nothing to work.
    #[error("{0} has no tasks.md; write one, `specum check` tells whether it is good")]
    NoTasks(String),
    /// There is a plan, and nothing in it.
    #[error("{0}/tasks.md has no tasks; one is a line such as `- [ ] 1.1 Add the parser`")]
    Empty(String),
    /// No such task.
    #[error("there is no task {0}; `specum status` lists them")]
    NoTask(String),
    /// Two tasks cannot be told apart.
    #[error("tasks.md cannot be worked: {0}; `specum check` lists all such mistakes")]
    Mistaken(String),
    /// Somebody else works the spec.
    #[error("{spec} is worked by {by}; stop it there first")]
    Held {
        /// The spec.
        spec: String,
        /// Who.
        by: String,
    },
    /// Somebody who does not own the spec has asked.
    #[error("somebody else works {0} by now")]
    NotYours(String),
    /// The attempt began on another branch.
    #[error(
        "HEAD is on {now}, the attempt began on {before}: paused. Switch back, then `specum resume`"
    )]
    OtherBranch {
        /// Where the attempt began.
        before: String,
        /// Where HEAD is.
        now: String,
    },
    /// There is no repository.
    #[error("no git repository: {0}")]
    NoRepository(String),
    /// Nobody has begun this task.
    #[error("task {0} has no open attempt; `specum next` opens what is due")]
    NotOpen(String),
}

/// A spec with everything needed to work it.
#[derive(Debug)]
pub struct Workspace {
    /// The spec.
    pub spec: Spec,
    /// Its files.
    pub store: Store,
    /// The repository, or why there is none.
    pub git: Result<Git, String>,
    /// What is to be worked, and how many at once.
    pub scope: Scope,
    /// The work tree as it was when a commit had just been made.
    after_commit: Mutex<Option<(Instant, Status)>>,
}

/// How long a look at the work tree counts as one of this moment.
const THIS_MOMENT: Duration = Duration::from_millis(100);

/// An attempt that has begun.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The task.
    pub key: TaskKey,
    /// From 1.
    pub attempt: u64,
    /// The task's block as it stood.
    pub block: Vec<u8>,
    /// Who is to work it.
    pub role: Role,
    /// When, in RFC 3339.
    at: String,
    head: Option<String>,
    branch: Option<String>,
    dirty: BTreeMap<String, String>,
    ticks: String,
}

impl Opened {
    fn entry(&self) -> Entry {
        Entry::Opened {
            task: self.key.clone(),
            attempt: self.attempt,
            head: self.head.clone(),
            block: line::readable(&self.block),
            dirty: self.dirty.clone(),
            branch: self.branch.clone(),
            ticks: self.ticks.clone(),
        }
    }

    /// The commit it began from.
    pub fn base(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// What the task asked for when the attempt began.
    pub fn fields(&self) -> Fields {
        let file = TaskFile::scan(&self.block);
        file.tasks.first().map(|task| file.fields(task)).unwrap_or_default()
    }
}

/// The next piece of work, opened.
#[derive(Debug)]
pub enum Next {
    /// These attempts, to be worked at once if there are several.
    Work(Vec<Opened>),
    /// Nothing now; why.
    Wait(Due),
    /// Every box is ticked; the loop has ended.
    Complete,
}

impl Workspace {
    /// Everything needed to work a spec.
    ///
    /// Without a repository there is nothing to tell the work of two executors
    /// apart, so groups run in sequence. A repository that git does not open is
    /// no such case: work that should be committed would be left lying.
    pub fn new(project: &Project, spec: Spec) -> Result<Workspace, AttemptError> {
        let git = match Git::open(&spec.root) {
            Err(error) if !error.means_no_repository() => return Err(error.into()),
            other => other.map_err(|error| error.to_string()),
        };
        let scope = Scope::all(if git.is_ok() { project.settings.max_parallel } else { 1 });
        Ok(Workspace { store: Store::of(&spec), git, scope, after_commit: Mutex::default(), spec })
    }

    /// Refuses a plan that cannot be worked, or that has nothing to be worked.
    pub fn refuse_bad_plan(&self) -> Result<(), AttemptError> {
        let tasks = self.store.read_tasks()?;
        let tasks = tasks.ok_or_else(|| AttemptError::NoTasks(self.spec.shown.clone()))?;
        let file = TaskFile::scan(&tasks);
        if file.tasks.is_empty() {
            return Err(AttemptError::Empty(self.spec.shown.clone()));
        }
        refuse_mistakes(&file)
    }

    /// Starts the loop, or starts it again with what it has learned. A state
    /// that cannot be read is rebuilt from the boxes.
    pub fn start(&self, start: Start) -> Result<View, AttemptError> {
        if let Ok(git) = &self.git {
            git.exclude_own_files()?;
        }
        let locked = self.store.lock()?;
        let tasks = self.store.read_tasks()?;
        let tasks = tasks.ok_or_else(|| AttemptError::NoTasks(self.spec.shown.clone()))?;
        let file = TaskFile::scan(&tasks);
        refuse_mistakes(&file)?;
        let state = match self.store.read_state() {
            Some(Ok(state)) => state,
            // What was written last is in the journal, so a broken file is no
            // amnesty for what has failed.
            Some(Err(_)) => History(&self.store.read_journal()?)
                .last_state()
                .unwrap_or_else(|| State::new(file.tasks.len())),
            None => State::new(file.tasks.len()),
        };
        if let Some(Owner::Runner { process }) = &state.owner
            && process::is_alive(process)
        {
            let by = format!("`specum run` (process {})", process.pid);
            return Err(AttemptError::Held { spec: self.spec.name.clone(), by });
        }
        let step = machine::step(&state, &file, Event::Start(start));
        let open = file.open().count();
        locked.write_step(Entry::Started { tasks: file.tasks.len(), open }, &step)?;
        locked.begin_progress()?;
        Ok(locked.read()?)
    }

    /// Opens what is due. Asked twice, it gives the same attempts again.
    pub fn open(&self) -> Result<Next, AttemptError> {
        self.complete_commits()?;
        let tree = match self.remembered() {
            Some(status) => self.tree_of(status),
            None => self.tree()?,
        };
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let Some(state) = view.state.as_ref() else {
            // Asked again after the end, it is still the end.
            let file = view.file();
            let done = !file.tasks.is_empty() && file.open().next().is_none();
            let none = || AttemptError::NoLoop(self.spec.name.clone());
            return done.then_some(Next::Complete).ok_or_else(none);
        };
        // A file that is gone is not a file without open boxes.
        if view.tasks.is_none() {
            return Err(AttemptError::NoTasks(self.spec.shown.clone()));
        }
        let file = view.file();
        let unit = match machine::due(state, &file, &self.scope) {
            Due::Work(unit) => unit,
            Due::Complete => {
                let step = machine::step(state, &file, Event::Complete);
                locked.write_step(Entry::Completed { tasks: file.tasks.len() }, &step)?;
                // Whoever held the loop holds nothing any more.
                self.store.forget_memory()?;
                return Ok(Next::Complete);
            }
            wait => return Ok(Next::Wait(wait)),
        };
        let journal = self.store.read_journal()?;
        // A batch is worked to its end before anything joins it.
        let pending = pending(state, &file, &journal);
        if !pending.is_empty() {
            let again = pending.into_iter().map(|(index, opened)| match opened {
                Some(opened) => Ok(opened),
                None => {
                    let opened = opening(state, &file, index, &tree, &journal);
                    locked.record(opened.entry()).map(|()| opened)
                }
            });
            return Ok(Next::Work(again.collect::<Result<_, _>>()?));
        }
        let opened: Vec<Option<Opened>> = unit
            .tasks()
            .iter()
            .map(|&index| open_attempt(&journal, &file.tasks[index].key()))
            .collect();
        if let Some(again) = opened.into_iter().collect::<Option<Vec<Opened>>>() {
            return Ok(Next::Work(again));
        }
        let step = machine::step(state, &file, Event::Open(unit.tasks().to_vec()));
        let opened: Vec<Opened> = unit
            .tasks()
            .iter()
            .map(|&index| opening(state, &file, index, &tree, &journal))
            .collect();
        for (n, attempt) in opened.iter().enumerate() {
            // The state changes with the first record; the others only tell.
            let entry = attempt.entry();
            if n == 0 { locked.write_step(entry, &step)? } else { locked.record(entry)? }
        }
        Ok(Next::Work(opened))
    }

    /// Keeps a look at the work tree for whoever needs one next.
    fn remember(&self, status: Status) {
        *self.after_commit.lock().expect("no holder panics") = Some((Instant::now(), status));
    }

    /// The last look at the work tree, once, if it is of this moment.
    fn remembered(&self) -> Option<Status> {
        let kept = self.after_commit.lock().expect("no holder panics").take();
        kept.filter(|(at, _)| at.elapsed() < THIS_MOMENT).map(|(_, status)| status)
    }

    /// Opens what is due and tells a coordinator what to call.
    pub fn announce(&self) -> Result<String, AttemptError> {
        Ok(match self.open()? {
            Next::Work(attempts) => {
                let due: Vec<DueTask<'_>> = attempts
                    .iter()
                    .map(|opened| DueTask {
                        id: &opened.key.id,
                        title: &opened.key.title,
                        role: opened.role,
                        attempt: opened.attempt,
                    })
                    .collect();
                prompt::due(&due)
            }
            Next::Complete => {
                let word = claim::ALL_TASKS_COMPLETE;
                format!("{} Say {word} alone on a line, and stop.\n", prompt::ALL_DONE)
            }
            Next::Wait(due) => format!("{}\nTell the person, and stop.\n", prompt::waiting(&due)),
        })
    }

    /// Judges the attempts that have reported and wait for their verdict: once
    /// the last of a batch has, or when the judge before was cut off.
    pub fn judge_reported(&self, by: By<'_>) -> Result<Vec<Judged>, AttemptError> {
        let mut judged = Vec::new();
        for (opened, result) in self.reports()? {
            match self.judge(&opened, &result, by) {
                Ok(verdict) => judged.push(verdict),
                // Another judge was faster with this one.
                Err(AttemptError::NotOpen(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(judged)
    }

    /// What the executors of the open attempts said; nothing as long as one of
    /// them still works.
    pub fn reports(&self) -> Result<Vec<(Opened, String)>, AttemptError> {
        let view = self.store.read()?;
        let Some(state) = &view.state else { return Ok(Vec::new()) };
        let journal = self.store.read_journal()?;
        let file = view.file();
        let current = plan::current(&file.tasks).map(|index| file.tasks[index].key());
        let open = match current {
            Some(key) if state.parallel_group.is_none() => {
                open_attempt(&journal, &key).into_iter().collect()
            }
            _ => history::running(state, &file, &journal),
        };
        let reports: Option<Vec<(Opened, String)>> = open
            .into_iter()
            .map(|opened| History(&journal).reported(&opened).map(|result| (opened, result)))
            .collect();
        Ok(reports.unwrap_or_default())
    }

    /// What an executor of a session is to read.
    pub fn brief(&self, opened: &Opened, in_batch: bool) -> Result<String, AttemptError> {
        let place = if in_batch { brief::Place::Shared } else { brief::Place::Alone };
        Ok(line::readable(&self.brief_at(opened, place, None)?))
    }

    /// What an executor is to read who works at this place. What a check has
    /// just shown counts more than what the last attempt failed with.
    pub fn brief_at(
        &self,
        opened: &Opened,
        place: brief::Place,
        shown: Option<&(String, String)>,
    ) -> Result<Vec<u8>, AttemptError> {
        let view = self.store.read()?;
        let file = view.file();
        let task = file.tasks.iter().find(|task| task.name() == opened.key.id);
        let journal = self.store.read_journal()?;
        let (reasons, output) = match shown {
            Some((reason, output)) => (vec![reason.clone()], output.clone()),
            None => History(&journal).last_failure(&opened.key).unwrap_or_default(),
        };
        let kept = History(&journal).kept(&opened.key);
        let progress = self.store.read_progress()?;
        let learnings = line::readable(progress::section(&progress, Section::Learnings));
        Ok(Brief {
            spec: PromptSpec { name: &self.spec.name, path: &self.spec.shown },
            block: task.map_or(&opened.block, |task| file.block(task)),
            task: &opened.key.id,
            index: task.map_or(0, |task| task.index),
            attempt: opened.attempt,
            role: opened.role,
            place,
            kept,
            reasons: &reasons,
            output: &output,
            learnings: &learnings,
        }
        .render())
    }

    /// The repository.
    pub fn repository(&self) -> Result<&Git, AttemptError> {
        self.git.as_ref().map_err(|why| AttemptError::NoRepository(why.clone()))
    }

    /// Whether several attempts are under way at once.
    pub fn in_batch(&self) -> Result<bool, AttemptError> {
        Ok(self.store.read()?.state.is_some_and(|state| state.parallel_group.is_some()))
    }

    /// Whether no attempt at the task has failed since it passed last.
    pub fn has_never_failed(&self, opened: &Opened) -> Result<bool, AttemptError> {
        let journal = self.store.read_journal()?;
        Ok(History(&journal).last_failure(&opened.key).is_none())
    }

    /// Whether every box is ticked.
    pub fn is_done(&self) -> Result<bool, AttemptError> {
        let view = self.store.read()?;
        let file = view.file();
        Ok(!file.tasks.is_empty() && file.open().next().is_none())
    }

    /// Whether a person has ended the loop, or removed the spec.
    pub fn was_cancelled(&self) -> bool {
        !self.spec.dir.exists()
            || self.store.read_journal().is_ok_and(|journal| History(&journal).was_cancelled())
    }

    /// Whether the loop has ended because every box is ticked.
    pub fn is_complete(&self) -> bool {
        self.store.read_journal().is_ok_and(|journal| History(&journal).is_complete())
    }

    /// Fetches the notes of an executor from where it worked.
    pub fn bring_notes(&self, opened: &Opened, from: &Path) -> Result<(), AttemptError> {
        let view = self.store.read()?;
        let file = view.file();
        match file.tasks.iter().find(|task| task.name() == opened.key.id) {
            Some(task) => Ok(self.store.bring_part(task.index, from)?),
            None => Ok(()),
        }
    }

    /// The open attempt at a task that a person names.
    pub fn opened(&self, address: &str) -> Result<Opened, AttemptError> {
        let view = self.store.read()?;
        if view.state.is_none() {
            return Err(AttemptError::NoLoop(self.spec.name.clone()));
        }
        let file = view.file();
        let task =
            file.by_address(address).ok_or_else(|| AttemptError::NoTask(address.to_owned()))?;
        open_attempt(&self.store.read_journal()?, &task.key())
            .ok_or_else(|| AttemptError::NotOpen(task.name()))
    }
}

/// Two tasks that cannot be told apart cannot be worked.
fn refuse_mistakes(file: &TaskFile<'_>) -> Result<(), AttemptError> {
    let mistake = check::check(file)
        .into_iter()
        .find(|finding| finding.severity == check::Severity::Error && !file.tasks.is_empty());
    match mistake {
        Some(found) => {
            Err(AttemptError::Mistaken(format!("line {}: {}", found.line, found.message)))
        }
        None => Ok(()),
    }
}

/// An attempt at a task as it stands.
fn opening(
    state: &State,
    file: &TaskFile<'_>,
    index: usize,
    tree: &Tree,
    journal: &[Record],
) -> Opened {
    let task = &file.tasks[index];
    let name = task.name();
    Opened {
        key: task.key(),
        attempt: state.result_of(index, &name).map_or(1, TaskResult::next_attempt),
        block: file.block(task).to_vec(),
        role: role(task.mode()),
        at: Timestamp::now().to_string(),
        head: tree.head.clone(),
        branch: tree.branch.clone(),
        dirty: history::baseline(journal, &name, &tree.dirty),
        ticks: file.ticks(),
    }
}

fn role(mode: Mode) -> Role {
    match mode {
        Mode::Verify => Role::QaEngineer,
        Mode::Sequential | Mode::Parallel => Role::Executor,
    }
}

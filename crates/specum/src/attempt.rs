//! An attempt at a task, from its opening to its verdict.
//!
//! [`Workspace::open`] records what stands before anybody works;
//! [`Workspace::judge`] compares it with what stands afterwards, runs the
//! Verify command as it stood at the opening, and carries out the verdict:
//! tick, note and commit, or a note of what failed. The lock is held for the
//! records and the writes, never while a check or git runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use specum_core::digest::Digest;
use specum_core::journal::{Entry, Record};
use specum_core::line;
use specum_core::machine::{self, Due, Effect, Event, Signal, Start, Step};
use specum_core::plan::Unit;
use specum_core::state::{State, Status};
use specum_core::tasks::{Check, Fields, Found, Mode, TaskFile, TaskKey, short_title};
use specum_core::verify::{self, CheckRun, CommitRun, Evidence, Role, Verdict};
use thiserror::Error;

use crate::files::{self, FileError};
use crate::git::{Git, GitError};
use crate::process;
use crate::project::{Project, Spec};
use crate::store::{Locked, Store, StoreError, View};

/// How long a Verify command may run.
const VERIFY_LIMIT: Duration = Duration::from_secs(480);
/// How much of a check's output is kept in the journal.
const KEPT_EVIDENCE: usize = 4 * 1024;
/// The largest changed file whose content is compared.
const MAX_COMPARED: u64 = 64 * 1024 * 1024;

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
    /// No such task.
    #[error("there is no task {0}; `specum status` lists them")]
    NoTask(String),
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
    max_parallel: usize,
}

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
    dirty: BTreeMap<String, String>,
}

impl Opened {
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

/// An attempt that has its verdict.
#[derive(Debug)]
pub struct Judged {
    /// The task.
    pub key: TaskKey,
    /// Which attempt it was.
    pub attempt: u64,
    /// What the layers said.
    pub verdict: Verdict,
    /// The end of the Verify command's output.
    pub output: String,
    /// The commit, if there was something to commit.
    pub commit: Option<String>,
    /// What the loop says of itself.
    pub signals: Vec<Signal>,
    /// What the attempt changed.
    changed: Vec<String>,
}

impl Workspace {
    /// Everything needed to work a spec.
    pub fn new(project: &Project, spec: Spec) -> Workspace {
        Workspace {
            store: Store::of(&spec),
            git: Git::open(&spec.root).map_err(|error| error.to_string()),
            max_parallel: project.settings.max_parallel,
            spec,
        }
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
        let state = match self.store.read_state() {
            Some(Ok(state)) => state,
            Some(Err(_)) | None => State::new(file.tasks.len()),
        };
        let step = machine::step(&state, &file, Event::Start(start));
        let open = file.open().count();
        locked.write_step(Entry::Started { tasks: file.tasks.len(), open }, &step)?;
        Ok(locked.read()?)
    }

    /// Opens what is due. Asked twice, it gives the same attempts again.
    pub fn open(&self) -> Result<Next, AttemptError> {
        let dirty = self.dirty()?;
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        // A file that is gone is not a file without open boxes.
        if view.tasks.is_none() {
            return Err(AttemptError::NoTasks(self.spec.shown.clone()));
        }
        let file = view.file();
        let unit = match machine::due(state, &file, self.max_parallel) {
            Due::Work(unit) => unit,
            Due::Complete => {
                let step = machine::step(state, &file, Event::Complete);
                locked.write_step(Entry::Completed { tasks: file.tasks.len() }, &step)?;
                return Ok(Next::Complete);
            }
            wait => return Ok(Next::Wait(wait)),
        };
        let journal = self.store.read_journal()?;
        // A batch is worked to its end before anything joins it.
        let running = running(state, &file, &journal);
        if !running.is_empty() {
            return Ok(Next::Work(running));
        }
        let opened: Vec<Option<Opened>> = unit
            .tasks()
            .iter()
            .map(|&index| open_attempt(&journal, &file.tasks[index].key()))
            .collect();
        if let Some(again) = opened.into_iter().collect::<Option<Vec<Opened>>>() {
            return Ok(Next::Work(again));
        }
        let before = |id: &str| baseline(&journal, id, &dirty);
        self.open_unit(&locked, state, &file, &unit, before).map(Next::Work)
    }

    fn open_unit(
        &self,
        locked: &Locked<'_>,
        state: &State,
        file: &TaskFile<'_>,
        unit: &Unit,
        baseline: impl Fn(&str) -> BTreeMap<String, String>,
    ) -> Result<Vec<Opened>, AttemptError> {
        let head = self.git.as_ref().ok().and_then(Git::head);
        let step = machine::step(state, file, Event::Open(unit.tasks().to_vec()));
        let mut opened = Vec::new();
        for &index in unit.tasks() {
            let task = &file.tasks[index];
            let name = task.name();
            let attempt = state.result_of(index, &name).map_or(0, |result| result.attempts) + 1;
            opened.push(Opened {
                key: task.key(),
                attempt,
                block: file.block(task).to_vec(),
                role: role(task.mode()),
                at: Timestamp::now().to_string(),
                head: head.clone(),
                dirty: baseline(&name),
            });
        }
        for (n, attempt) in opened.iter().enumerate() {
            let entry = Entry::Opened {
                task: attempt.key.clone(),
                attempt: attempt.attempt,
                head: attempt.head.clone(),
                block: line::readable(&attempt.block),
                dirty: attempt.dirty.clone(),
            };
            // The state changes with the first record; the others only tell.
            if n == 0 { locked.write_step(entry, &step)? } else { locked.record(entry)? }
        }
        Ok(opened)
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

    /// Judges an attempt by its result and by what stands now.
    pub fn judge(&self, opened: &Opened, result: &str) -> Result<Judged, AttemptError> {
        let fields = opened.fields();
        let check = run_check(&fields, &self.spec.root);
        let changed = self.changed_by(opened)?;
        let files = self.in_repository(fields.files.clone());
        let output = match &check {
            CheckRun::Ran { output, .. } => line::tail(output, KEPT_EVIDENCE).to_owned(),
            CheckRun::Unverified => String::new(),
        };

        let locked = self.store.lock()?;
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        let file = view.file();
        // Somebody may have judged it while the check ran.
        let journal = self.store.read_journal()?;
        if open_attempt(&journal, &opened.key).is_none_or(|now| now.attempt != opened.attempt) {
            return Err(AttemptError::NotOpen(opened.key.id.clone()));
        }
        let (Found::Same(index) | Found::Retitled(index)) = file.find(&opened.key) else {
            return Err(AttemptError::NoTask(opened.key.id.clone()));
        };
        // The journal keeps text, so both sides are compared as text.
        let block_before = line::readable(&opened.block);
        let block_after = line::readable(file.block(&file.tasks[index]));
        let evidence = Evidence {
            role: opened.role,
            result,
            block_before: block_before.as_bytes(),
            block_after: Some(block_after.as_bytes()),
            check,
            files: &files,
            changed: &changed,
            commit: CommitRun::NotApplicable,
        };
        let judged = Judged {
            key: opened.key.clone(),
            attempt: opened.attempt,
            verdict: verify::judge(&evidence),
            output,
            commit: None,
            signals: Vec::new(),
            changed: changed.clone(),
        };
        if !judged.verdict.passed() {
            return self.fail(&locked, state, &file, index, opened, judged);
        }
        let event = Event::Pass { index, unverified: judged.verdict.unverified };
        let step = machine::step(state, &file, event);
        let entry = Entry::Passed {
            task: opened.key.clone(),
            attempt: opened.attempt,
            unverified: judged.verdict.unverified,
            outside: judged.verdict.outside.clone(),
            output: judged.output.clone(),
            millis: millis_since(&opened.at),
        };
        locked.write_step(entry, &step)?;
        drop(locked);
        self.commit(opened, &fields, &step, evidence, judged)
    }

    fn fail(
        &self,
        locked: &Locked<'_>,
        state: &State,
        file: &TaskFile<'_>,
        index: usize,
        opened: &Opened,
        mut judged: Judged,
    ) -> Result<Judged, AttemptError> {
        let reason = judged.verdict.reason();
        let step = machine::step(state, file, Event::Fail { index, reason });
        locked.write_step(failed(opened, &judged), &step)?;
        judged.signals = signals(&step);
        Ok(judged)
    }

    /// Commits a passed attempt. If git refuses, it has not passed after all.
    fn commit(
        &self,
        opened: &Opened,
        fields: &Fields,
        passed: &Step,
        evidence: Evidence<'_>,
        mut judged: Judged,
    ) -> Result<Judged, AttemptError> {
        judged.signals = signals(passed);
        let Ok(git) = &self.git else { return Ok(judged) };
        let mut paths = evidence.changed.to_vec();
        paths.extend(self.spec_files(git));
        let commit = match git.commit(&paths, &self.message(opened, fields)) {
            Ok(commit) => {
                judged.commit = commit;
                let now = git.changed()?;
                CommitRun::Left(paths.into_iter().filter(|path| now.contains(path)).collect())
            }
            Err(error) => CommitRun::Refused(error.to_string()),
        };
        judged.verdict = verify::judge(&Evidence { commit, ..evidence });
        let locked = self.store.lock()?;
        if !judged.verdict.passed() {
            return self.take_back(&locked, opened, passed, judged);
        }
        if let Some(commit) = judged.commit.clone() {
            locked.record(Entry::Committed { task: opened.key.clone(), commit })?;
        }
        Ok(judged)
    }

    /// Opens a box again whose work could not be committed.
    fn take_back(
        &self,
        locked: &Locked<'_>,
        opened: &Opened,
        passed: &Step,
        mut judged: Judged,
    ) -> Result<Judged, AttemptError> {
        let view = locked.read()?;
        let file = view.file();
        let (Some(state), Found::Same(index)) = (&view.state, file.find(&opened.key)) else {
            return Err(AttemptError::NoTask(opened.key.id.clone()));
        };
        let reason = judged.verdict.reason();
        let attempt = opened.attempt;
        let step = machine::step(state, &file, Event::TakeBack { index, attempt, reason });
        let mut changes = locked.changes(&step)?;
        changes.retracted = passed
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Note(note) => Some(note.clone()),
                _ => None,
            })
            .collect();
        locked.write(failed(opened, &judged), changes)?;
        judged.signals = signals(&step);
        Ok(judged)
    }

    fn message(&self, opened: &Opened, fields: &Fields) -> String {
        let (spec, id) = (&self.spec.name, &opened.key.id);
        let subject = fields.commit.clone().unwrap_or_else(|| format!("chore({spec}): {id}"));
        let title = short_title(&opened.key.title);
        let body = if fields.commit.is_none() { format!("\n\n{title}") } else { String::new() };
        let attempt = opened.attempt;
        format!("{subject}{body}\n\nSpec: {spec}\nTask: {id}\nAttempt: {attempt}\n")
    }

    /// The spec's own files that go into a task's commit.
    fn spec_files(&self, git: &Git) -> Vec<String> {
        [self.store.tasks_path(), self.store.progress_path()]
            .iter()
            .filter(|path| path.exists())
            .filter_map(|path| path.strip_prefix(&git.root).ok())
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// What the attempt changed: whatever is uncommitted now and was not, or
    /// was different, and whatever it committed itself.
    fn changed_by(&self, opened: &Opened) -> Result<Vec<String>, AttemptError> {
        let Ok(git) = &self.git else { return Ok(Vec::new()) };
        let own = self.spec_files(git);
        let mut changed: Vec<String> = self
            .dirty()?
            .into_iter()
            .filter(|(path, digest)| opened.dirty.get(path) != Some(digest))
            .map(|(path, _)| path)
            .collect();
        if let Some(head) = &opened.head {
            changed.extend(git.changed_since(head)?);
        }
        let others = self.files_of_neighbours(opened)?;
        changed.retain(|path| !own.contains(path) && !others.contains(path));
        changed.sort();
        changed.dedup();
        Ok(changed)
    }

    /// The files that the others of a running batch have been given.
    fn files_of_neighbours(&self, opened: &Opened) -> Result<Vec<String>, AttemptError> {
        let view = self.store.read()?;
        let batch = view.state.as_ref().filter(|state| state.parallel_group.is_some());
        let Some(state) = batch else { return Ok(Vec::new()) };
        let file = view.file();
        let given = state
            .task_results
            .values()
            .filter(|result| result.id != opened.key.id)
            .filter_map(|result| file.tasks.iter().find(|task| task.name() == result.id))
            .flat_map(|task| file.fields(task).files);
        Ok(self.in_repository(given))
    }

    /// Paths that a task names, as git names them: the project may lie below
    /// the root of its repository.
    fn in_repository(&self, files: impl IntoIterator<Item = String>) -> Vec<String> {
        let below = self.git.as_ref().ok().and_then(|git| {
            let below = self.spec.root.strip_prefix(&git.root).ok()?;
            (!below.as_os_str().is_empty()).then_some(below)
        });
        let named = |file: String| match below {
            Some(below) => below.join(file).to_string_lossy().into_owned(),
            None => file,
        };
        files.into_iter().map(named).collect()
    }

    /// What is uncommitted, with a digest of each file.
    fn dirty(&self) -> Result<BTreeMap<String, String>, AttemptError> {
        let Ok(git) = &self.git else { return Ok(BTreeMap::new()) };
        let with_digest = |path: String| {
            let digest = match files::read(&git.root.join(&path), MAX_COMPARED) {
                Ok(bytes) => Digest::of(&bytes).hex(),
                Err(error) => error.kind().to_string(),
            };
            (path, digest)
        };
        Ok(git.changed()?.into_iter().map(with_digest).collect())
    }
}

fn role(mode: Mode) -> Role {
    match mode {
        Mode::Verify => Role::QaEngineer,
        Mode::Sequential | Mode::Parallel => Role::Executor,
    }
}

fn signals(step: &Step) -> Vec<Signal> {
    step.effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Signal(signal) => Some(*signal),
            _ => None,
        })
        .collect()
}

fn failed(opened: &Opened, judged: &Judged) -> Entry {
    Entry::Failed {
        task: opened.key.clone(),
        attempt: opened.attempt,
        changed: judged.changed.clone(),
        reasons: judged.verdict.failures.iter().map(|failure| failure.message.clone()).collect(),
        output: judged.output.clone(),
        millis: millis_since(&opened.at),
    }
}

/// The last attempt at a task, unless it has its verdict or the loop was
/// started anew since.
fn open_attempt(journal: &[Record], key: &TaskKey) -> Option<Opened> {
    for record in journal.iter().rev() {
        match &record.entry {
            Entry::Passed { task, .. } | Entry::Failed { task, .. } if task.id == key.id => {
                return None;
            }
            Entry::Cancelled | Entry::Completed { .. } => return None,
            Entry::Opened { task, attempt, head, block, dirty } if task == key => {
                let mode = TaskFile::scan(block.as_bytes()).tasks.first()?.mode();
                return Some(Opened {
                    key: key.clone(),
                    attempt: *attempt,
                    block: block.clone().into_bytes(),
                    role: role(mode),
                    at: record.at.clone(),
                    head: head.clone(),
                    dirty: dirty.clone(),
                });
            }
            _ => {}
        }
    }
    None
}

/// The attempts of the running batch that have no verdict yet.
fn running(state: &State, file: &TaskFile<'_>, journal: &[Record]) -> Vec<Opened> {
    if state.parallel_group.is_none() {
        return Vec::new();
    }
    let pending = state.task_results.values().filter(|result| result.status == Status::Pending);
    pending
        .filter_map(|result| file.tasks.iter().find(|task| task.name() == result.id))
        .filter(|task| !task.done)
        .filter_map(|task| open_attempt(journal, &task.key()))
        .collect()
}

/// What was uncommitted before anybody worked at a task: what is so now, but
/// for what a failed attempt at it has left.
fn baseline(
    journal: &[Record],
    id: &str,
    dirty: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut left: Option<&[String]> = None;
    for record in journal.iter().rev() {
        match &record.entry {
            Entry::Passed { task, .. } if task.id == id && left.is_none() => break,
            Entry::Cancelled | Entry::Completed { .. } => break,
            Entry::Failed { task, changed, .. } if task.id == id && left.is_none() => {
                left = Some(changed);
            }
            Entry::Opened { task, dirty: before, .. } if task.id == id => {
                let left = left.unwrap_or_default();
                let stood = |(path, now): (&String, &String)| {
                    let digest = if left.contains(path) { before.get(path)? } else { now };
                    Some((path.clone(), digest.clone()))
                };
                return dirty.iter().filter_map(stood).collect();
            }
            _ => {}
        }
    }
    dirty.clone()
}

fn run_check(fields: &Fields, root: &Path) -> CheckRun {
    let Some(Check::Command { command, expect }) = &fields.verify else {
        return CheckRun::Unverified;
    };
    let run = process::shell(command, root, VERIFY_LIMIT);
    CheckRun::Ran {
        command: command.clone(),
        ended: run.ended,
        output: String::from_utf8_lossy(&run.output).into_owned(),
        expect: expect.clone(),
        stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
    }
}

fn millis_since(at: &str) -> u64 {
    at.parse::<Timestamp>().map_or(0, |at| {
        u64::try_from(Timestamp::now().as_millisecond() - at.as_millisecond()).unwrap_or(0)
    })
}

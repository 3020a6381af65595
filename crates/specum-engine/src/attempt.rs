//! An attempt at a task, from its opening to its verdict.
//!
//! [`Workspace::open`] records what stands before the work begins;
//! [`Workspace::judge`] compares it with what stands afterwards, runs the
//! Verify command as it stood at the opening, and carries out the verdict:
//! tick, note and commit, or a note of what failed. The lock is held for the
//! records and the writes, never while a check or git runs.

mod abandon;
mod author;
mod by_hand;
mod commit;
mod digests;
mod elsewhere;
mod error;
mod fault;
mod judge;
mod keep;
mod modify;
mod open;
mod red;
mod review;
mod suite;
mod tree;
mod worktree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use specum_core::attempt::{Attempt, Judgement, Ledger, LoopStanding};
use specum_core::digest::Digest;
use specum_core::duration;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event, Start};
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::plan::{Scope, Unit};
use specum_core::plan_record;
use specum_core::spec::red::RedFirst;
use specum_core::state::{self, State};
use specum_core::suite::Suite;
use specum_core::tasks::{TaskEdit, TaskFile};
use specum_core::verify::CheckTime;

pub use self::abandon::Trial;
pub use self::author::{Approved, AuthorsWork, Change, DocumentVerdict, NextDocument, Question};
use self::digests::Digests;
pub use self::error::AttemptError;
pub(crate) use self::judge::run_check;
pub use self::judge::{By, Examination};
pub use self::modify::Asked;
pub use self::open::NextWork;
pub use self::red::{FirstLook, Reach};
pub(crate) use self::review::{checks_on_record, review};
pub use self::review::{release_session, taken_back_in_words, without_ticks};
pub(crate) use self::suite::{counted_suite, waiting_for_it};
pub use self::worktree::{Renewed, Worktree};
use crate::git::Status;
use crate::lint;
use crate::owner;
use crate::ports::{Repository, World};
use crate::project::{Project, Spec};
use crate::session;
use crate::store::{Store, View};

/// A spec with everything needed to work it.
pub struct Workspace {
    /// The spec.
    pub spec: Spec,
    /// Its files.
    pub store: Store,
    /// The repository, or why there is none.
    pub git: Result<Arc<dyn Repository>, String>,
    /// What is to be worked, and how many at once.
    pub scope: Scope,
    /// The work tree as it was when a commit had just been made.
    after_commit: Mutex<Option<(Duration, Status)>>,
    /// The folders of the project's other specs.
    others: Vec<PathBuf>,
    /// Which of their plans git ignores, once that was asked.
    hidden_plans: OnceLock<Vec<String>>,
    /// What reviews of the plan have found and a person has not been shown yet.
    news: Mutex<Vec<String>>,
    /// How long a check may take.
    pub check_time: CheckTime,
    /// What is done about checks that pass before the work.
    pub red_first: RedFirst,
    /// Whether executors may have tasks added to the plan.
    pub may_modify: bool,
    /// How many tasks may be added so in a loop; `None`: as the plan is long.
    most_added: Option<usize>,
    /// The check of the whole plan that was typed for this run.
    pub typed_suite: Suite,
    /// The folder with what the team adds to the briefs of authors, from the project's
    /// root.
    brief_extra: Option<String>,
    /// What is known of files that are not committed.
    digests: Digests,
    /// The plan in which no mistakes were found.
    found_fit: Mutex<Option<Digest>>,
}

impl Workspace {
    /// Everything needed to work a spec.
    ///
    /// Without a repository there is nothing to tell the work of two executors
    /// apart, so groups run in sequence. A repository that git does not open is
    /// no such case: work that should be committed would be left lying. Nor is
    /// a loop worked that came with the repository: its journal says which
    /// commands are run, and nobody here has begun it.
    pub fn new(project: &Project, spec: Spec) -> Result<Workspace, AttemptError> {
        let git = match spec.world.repositories.open(&spec.root) {
            Err(error) if !error.means_no_repository() => return Err(error.into()),
            other => other.map_err(|error| error.to_string()),
        };
        let store = Store::of(&spec);
        if let Ok(git) = &git {
            let of_commits = [store.tasks_path(), store.progress_path()];
            if let Some(file) = git.committed_loop(&store.loop_files()?, &of_commits)? {
                return Err(AttemptError::CameAlong(file));
            }
        }
        let scope = Scope::all(if git.is_ok() { project.settings.max_parallel } else { 1 });
        let others = project.specs()?.into_iter().map(|spec| spec.dir);
        let others = others.filter(|dir| *dir != spec.dir).collect();
        let (after_commit, news) = (Mutex::default(), Mutex::default());
        let check_time = CheckTime::new(time_set(project));
        Ok(Workspace {
            spec,
            store,
            git,
            scope,
            after_commit,
            others,
            hidden_plans: OnceLock::new(),
            news,
            check_time,
            red_first: project.settings.run.red_first.unwrap_or_default(),
            may_modify: project.settings.run.modifications.unwrap_or(true),
            most_added: project.settings.run.max_added_tasks,
            typed_suite: Suite::default(),
            brief_extra: project.settings.plan.brief_extra.clone(),
            digests: Digests::default(),
            found_fit: Mutex::default(),
        })
    }

    /// The same for a hook, for which a host does not wait for ever.
    pub fn in_hook(project: &Project, spec: Spec) -> Result<Workspace, AttemptError> {
        let check_time = CheckTime::in_hook(time_set(project));
        Ok(Workspace { check_time, ..Workspace::new(project, spec)? })
    }

    /// Where all this is.
    pub fn world(&self) -> &World {
        &self.spec.world
    }

    /// Refuses a plan that cannot be worked, or that has nothing to be worked.
    pub fn refuse_bad_plan(&self) -> Result<(), AttemptError> {
        let tasks = self.store.read_tasks()?;
        let tasks = tasks.ok_or_else(|| AttemptError::NoTasks(self.spec.shown.clone()))?;
        let file = tasks.file();
        if file.tasks.is_empty() {
            return Err(AttemptError::Empty(self.spec.shown.clone()));
        }
        self.refuse_mistakes(&file)
    }

    /// Two tasks that cannot be told apart cannot be worked, and a check that cannot
    /// be started is not worth an agent's time. A plan is looked at once.
    fn refuse_mistakes(&self, file: &TaskFile<'_>) -> Result<(), AttemptError> {
        let mut found_fit = self.found_fit.lock().expect("no holder panics");
        if *found_fit == Some(file.digest()) || file.tasks.is_empty() {
            return Ok(());
        }
        let suite = match self.plan_record()?.has_begun() {
            true => self.suite()?,
            false => self.suite_now(file.text()),
        };
        let mistake = lint::mistake(self.world(), &self.spec.root, file, &suite);
        if let Some(found) = mistake {
            let mistake = format!("line {}: {}", found.line, found.message);
            return Err(AttemptError::Mistaken(mistake));
        }
        *found_fit = Some(file.digest());
        Ok(())
    }

    /// Starts the loop, or starts it again with what it has learned. A state
    /// that cannot be read is rebuilt from the boxes.
    pub fn start(&self, start: Start) -> Result<View, AttemptError> {
        self.begin(start, None)
    }

    /// The same for a caller that has seen who held the loop. Refused if another has
    /// taken it since: of two who find its owner dead, the first gets it.
    pub fn start_after(&self, start: Start, seen: &Holder) -> Result<View, AttemptError> {
        self.begin(start, Some(seen))
    }

    fn begin(&self, start: Start, seen: Option<&Holder>) -> Result<View, AttemptError> {
        if let Ok(git) = &self.git {
            git.refuse_old()?;
            git.refuse_half_done()?;
            git.refuse_without_identity()?;
            self.refuse_off_branch(&**git)?;
            // Otherwise the hooks commit, outside of the host's sandbox, and see to
            // our own files there.
            if session::judged_by_hooks(self.world()).is_none() {
                git.refuse_read_only()?;
                git.refuse_unsigned()?;
                git.exclude_own_files()?;
            }
        }
        self.bring_back()?;
        self.take_back_ticks()?;
        let locked = self.store.lock()?;
        let tasks = self.store.read_tasks()?;
        let tasks = tasks.ok_or_else(|| AttemptError::NoTasks(self.spec.shown.clone()))?;
        let file = tasks.file();
        self.refuse_mistakes(&file)?;
        // What was written last is in the journal, so a broken or missing file is
        // no amnesty for what has failed.
        let state = self.known_state()?.unwrap_or_else(|| State::new(file.tasks.len()));
        self.refuse_beside_a_run(&state)?;
        if let Some(planning) = state.planning.as_ref().filter(|planning| !planning.is_agreed()) {
            return Err(AttemptError::NotPlanned {
                spec: self.spec.name.clone(),
                why: planning.wait(),
            });
        }
        if let Some(seen) = seen {
            self.refuse_if_taken_since(&state, &start, seen)?;
        }
        // A loop that is new to us finds the plan as it is; what is ticked counts.
        let is_new = !self.plan_record()?.has_begun();
        let plan = if is_new { plan_record::beginning(&file) } else { Vec::new() };
        let mut step = machine::step(&state, &file, Event::Start(start));
        let open = file.open().count();
        if is_new {
            if let Some(state) = &mut step.state {
                plan_record::note_beginning(&plan, state, &file);
            }
            locked.begin_segment()?;
        }
        locked.write_step(Entry::Started { tasks: file.tasks.len(), open, plan }, &step)?;
        self.record_fixes(&locked, &step)?;
        let suite = self.suite_now(file.text());
        if is_new && !suite.is_empty() {
            locked.record(Entry::SuiteChanged { suite, during: None })?;
        }
        locked.begin_progress()?;
        Ok(locked.read()?)
    }

    /// A loop that waits because HEAD has left the branch of an attempt waits until
    /// it is back, or a person says that it is to go on where it is.
    fn refuse_off_branch(&self, git: &dyn Repository) -> Result<(), AttemptError> {
        let ledger = self.store.ledger()?;
        let Some(before) = ledger.left_branch() else { return Ok(()) };
        match git.status()?.branch {
            Some(now) if now == before => Ok(()),
            now => Err(AttemptError::OffBranch {
                before: before.to_owned(),
                now: now.unwrap_or_else(|| "no branch".into()),
                spec: self.spec.name.clone(),
            }),
        }
    }

    /// Judges the attempts that have reported and wait for their verdict: once
    /// the last of a batch has, or when the judge before was cut off.
    pub fn judge_reported(&self, by: By<'_>) -> Result<Vec<Judgement>, AttemptError> {
        self.judge_each(self.reports()?, by)
    }

    /// Judges the attempts that have reported, although others of their batch
    /// have not and will not.
    pub fn judge_finished(&self, by: By<'_>) -> Result<Vec<Judgement>, AttemptError> {
        let view = self.view_on_record()?;
        let Some(state) = &view.state else { return Ok(Vec::new()) };
        let ledger = self.store.ledger()?;
        let running = running(state, &view.file(), &ledger).into_iter();
        let reported = |opened: Attempt| {
            let result = ledger.reported(&opened.id)?.to_owned();
            Some((opened, result))
        };
        self.judge_each(running.filter_map(reported).collect(), by)
    }

    fn judge_each(
        &self,
        reports: Vec<(Attempt, String)>,
        by: By<'_>,
    ) -> Result<Vec<Judgement>, AttemptError> {
        let mut judged = Vec::new();
        for (opened, result) in reports {
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
    pub fn reports(&self) -> Result<Vec<(Attempt, String)>, AttemptError> {
        let view = self.view_on_record()?;
        let Some(state) = &view.state else { return Ok(Vec::new()) };
        let ledger = self.store.ledger()?;
        let file = view.file();
        let open = match machine::unit(state, &file, &self.scope) {
            Unit::Sequential(index) | Unit::Verify(index) if state.parallel_group.is_none() => {
                ledger.open_attempt(&file.tasks[index].key()).into_iter().collect()
            }
            _ => running(state, &file, &ledger),
        };
        let reports: Option<Vec<(Attempt, String)>> = open
            .into_iter()
            .map(|opened| {
                let result = ledger.reported(&opened.id)?.to_owned();
                Some((opened, result))
            })
            .collect();
        Ok(reports.unwrap_or_default())
    }

    /// State and plan, each calling the tasks the same: a person may have given
    /// the name of one to another since the state was written. Ticks that have
    /// nothing behind them are left out, and taken back with the next decision.
    fn view_on_record(&self) -> Result<View, AttemptError> {
        let locked = self.store.lock()?;
        let mut reviewed = review(&self.store, &locked, locked.read()?)?;
        drop(locked);
        self.tell(&mut reviewed);
        let unticks: Vec<TaskEdit> = reviewed.unproved.into_iter().map(TaskEdit::Untick).collect();
        let View { state, tasks } = reviewed.view;
        let tasks = tasks.map(|tasks| Arc::new(TaskEdit::apply_to(&unticks, &tasks.file())));
        Ok(View { state, tasks })
    }

    /// The repository.
    pub fn repository(&self) -> Result<&dyn Repository, AttemptError> {
        self.git.as_deref().map_err(|why| AttemptError::NoRepository(why.clone()))
    }

    /// Whether several attempts are under way at once.
    pub fn in_batch(&self) -> Result<bool, AttemptError> {
        Ok(self.store.read()?.state.is_some_and(|state| state.parallel_group.is_some()))
    }

    /// Whether no attempt at the task has failed since it passed last.
    pub fn has_never_failed(&self, opened: &Attempt) -> Result<bool, AttemptError> {
        let ledger = self.store.ledger()?;
        Ok(ledger.last_failure(&opened.key).is_none())
    }

    /// Whether every box is ticked that has to be, and none was left unread.
    pub fn is_done(&self) -> Result<bool, AttemptError> {
        let view = self.store.read()?;
        let file = view.file();
        Ok(!file.tasks.is_empty() && file.is_complete() && file.unread.is_empty())
    }

    /// Whether a person has ended the loop, or removed the spec.
    pub fn was_cancelled(&self) -> bool {
        !self.world().disk.exists(&self.spec.dir)
            || self.store.ledger().is_ok_and(|ledger| ledger.standing() == LoopStanding::Cancelled)
    }

    /// Whether the loop has ended because every box is ticked.
    pub fn is_complete(&self) -> bool {
        self.store.ledger().is_ok_and(|ledger| ledger.standing() == LoopStanding::Completed)
    }

    /// Fetches the notes of an executor from where it worked.
    pub fn bring_notes(&self, opened: &Attempt, from: &Path) -> Result<(), AttemptError> {
        let view = self.store.read()?;
        let file = view.file();
        match file.tasks.iter().find(|task| task.name() == opened.key.id) {
            Some(task) => Ok(self.store.bring_part(task.index, from)?),
            None => Ok(()),
        }
    }

    /// Refuses to start a loop again, or to end an attempt, while a run works in the
    /// tree: what its agent does from then on would belong to no attempt.
    pub(super) fn refuse_beside_a_run(&self, state: &State) -> Result<(), AttemptError> {
        match owner::holder(&self.store, Some(state), Asker::Runner(&self.world().launcher.me())) {
            Holder::Other(owner @ Owner::Runner { .. }) => {
                let by = owner.description();
                Err(AttemptError::Held { spec: self.spec.name.clone(), by })
            }
            Holder::Nobody | Holder::Me | Holder::Other(Owner::Session { .. }) => Ok(()),
        }
    }

    fn refuse_if_taken_since(
        &self,
        state: &State,
        start: &Start,
        seen: &Holder,
    ) -> Result<(), AttemptError> {
        let asker = start.owner.as_ref().map_or(Asker::Person, Owner::asker);
        match owner::holder(&self.store, Some(state), asker) {
            Holder::Other(other) if !seen.other().is_some_and(|seen| seen.is_same(&other)) => {
                let (spec, by) = (self.spec.name.clone(), other.description());
                Err(AttemptError::HeldByOther { spec, by })
            }
            _ => Ok(()),
        }
    }

    /// Refuses to open an attempt while a run works: it would be worked twice.
    pub fn refuse_while_a_run_works(&self) -> Result<(), AttemptError> {
        let state = self.store.read_state().and_then(Result::ok);
        state.map_or(Ok(()), |state| self.refuse_beside_a_run(&state))
    }

    /// The open attempt at a task that a person names.
    pub fn opened(&self, address: &str) -> Result<Attempt, AttemptError> {
        if !self.store.has_state() {
            return Err(AttemptError::NoLoop(self.spec.name.clone()));
        }
        // Under the names that tasks have now.
        let locked = self.store.lock()?;
        let mut reviewed = review(&self.store, &locked, locked.read()?)?;
        drop(locked);
        self.tell(&mut reviewed);
        if reviewed.view.state.is_none() {
            return Err(AttemptError::NoLoop(self.spec.name.clone()));
        }
        let file = reviewed.view.file();
        let ledger = self.store.ledger()?;
        // An agent that was told to work on `no.1` means that task, although another
        // one may stand there by now; of several, the one that was told last.
        let open = ledger.open_attempts();
        let told = open.into_iter().rev().find(|opened| opened.is_called(address));
        if let Some(opened) = told {
            return Ok(opened);
        }
        let task =
            file.by_address(address).ok_or_else(|| AttemptError::NoTask(address.to_owned()))?;
        ledger.open_attempt(&task.key()).ok_or_else(|| AttemptError::NotOpen(task.name()))
    }
}

/// The tasks of the running batch that have no verdict yet, each with its attempt;
/// none if that is to begin anew.
pub fn pending(
    state: &State,
    file: &TaskFile<'_>,
    ledger: &Ledger,
) -> Vec<(usize, Option<Attempt>)> {
    if state.parallel_group.is_none() {
        return Vec::new();
    }
    let pending =
        state.task_results.values().filter(|result| result.status == state::Status::Pending);
    pending
        .filter_map(|result| file.tasks.iter().find(|task| task.name() == result.id))
        .map(|task| (task.index, ledger.open_attempt(&task.key())))
        .collect()
}

/// The attempts of the running batch that are under way.
fn running(state: &State, file: &TaskFile<'_>, ledger: &Ledger) -> Vec<Attempt> {
    pending(state, file, ledger).into_iter().filter_map(|(_, opened)| opened).collect()
}

/// How long a check may take, if a person has set it. What cannot be read as a
/// time is refused by `specum run`, and passed over where nothing can refuse.
fn time_set(project: &Project) -> Option<u64> {
    let typed = std::env::var("SPECUM_VERIFY_TIMEOUT").ok();
    let typed = typed.and_then(|time| duration::millis(&time)).filter(|millis| *millis > 0);
    typed.or(project.settings.run.verify_timeout)
}

#[cfg(test)]
pub(crate) mod tests;

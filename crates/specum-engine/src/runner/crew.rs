//! The crew carries out the coordinator's actions: it opens attempts, makes out work
//! orders, receives and judges results, and gives up what failed.
//!
//! Each function carries out one action and returns the input that answers it. Those
//! that touch the user's tree are called one at a time.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use specum_core::agent::{Order, Report, Trouble};
use specum_core::attempt::{Attempt, AttemptId, ReadyWork};
use specum_core::brief;
use specum_core::coordinate::{Input, Launch, OpenWork, Site, Stands};
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::Due;
use specum_core::prompt;
use specum_core::protocol::{CheckedWork, PROTOCOL, WorkOrder, WorkResult};
use specum_core::tasks::{self, TaskFile, TaskKey};
use specum_core::verify::{CheckRun, Role};

use super::foreman::Foreman;
use super::isolate::WarmTree;
use super::worker::{self, Checkout};
use super::worktree::{PreparedWorktree, worktree_name};
use super::{Listener, Options, RunError, Tell, recover};
use crate::attempt::{AttemptError, By, NextWork, Reach, Workspace};
use crate::files::FileError;
use crate::git::Programs;
use crate::logs;
use crate::names::ready_reference;
use crate::process::Handle;

/// Why everybody is to stop, once they are.
#[derive(Default)]
pub(super) struct Stop(Mutex<Option<Outcome>>);

impl Stop {
    /// The first reason counts.
    pub(super) fn set(&self, why: Outcome) {
        lock(&self.0).get_or_insert(why);
    }

    pub(super) fn get(&self) -> Option<Outcome> {
        lock(&self.0).clone()
    }

    pub(super) fn is_set(&self) -> bool {
        lock(&self.0).is_some()
    }
}

/// What those who work for a run share.
pub(super) struct Crew<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) options: &'a Options,
    pub(super) listener: &'a dyn Listener,
    pub(super) stop: &'a Stop,
    /// What git would start when the last agent had ended.
    pub(super) programs: Mutex<Programs>,
    /// The attempts that are worked on.
    pub(super) works: Mutex<HashMap<AttemptId, Arc<Work>>>,
    /// The worktree of an isolated run, once it is made.
    pub(super) warm: Mutex<Option<WarmTree>>,
    /// What each start has come to, for its charge.
    pub(super) starts: Mutex<HashMap<Launch, StartEnd>>,
}

/// An attempt that is worked on.
pub(super) struct Work {
    pub(super) attempt: Attempt,
    pub(super) site: Site,
    /// What specum's own check has shown, for the agent that is to fix it.
    shown: Mutex<Option<(String, String)>>,
    /// What its agent came to, and what there is of it.
    pub(super) result: Mutex<PassedWork>,
    /// Its worktree, if it has one of its own.
    pub(super) worktree: Mutex<Option<PreparedWorktree>>,
}

/// What the last agent of an attempt came to.
#[derive(Debug, Clone, Default)]
pub(super) struct PassedWork {
    pub(super) report: Report,
    /// The commit that holds it, if it was made in a worktree.
    pub(super) commit: String,
    /// The check that it has passed there, unless that was in an earlier run.
    pub(super) check: Option<CheckRun>,
}

/// What a look at a check before the work means for the worktree that it was run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// It is as it was.
    Clean,
    /// The check may have changed something there.
    Free,
    /// The check proves nothing, and the loop waits for a person.
    Halted,
}

/// How a start of an agent ended.
pub(super) struct StartEnd {
    pub(super) millis: u64,
    pub(super) log: PathBuf,
}

/// A start that the coordinator wants.
pub(super) struct StartRequest {
    pub(super) launch: Launch,
    pub(super) attempt: AttemptId,
    /// Which of the agents.
    pub(super) agent: usize,
    /// Most dollars that it may cost.
    pub(super) max_cost: Option<f64>,
}

impl Crew<'_> {
    /// Opens what is due.
    pub(super) fn open(&self) -> Result<Input, RunError> {
        if let Ok(git) = &self.workspace.git {
            git.clear_locks()?;
        }
        if self.options.plan.is_some() {
            return self.open_document();
        }
        let next = self.open_looked_at()?;
        self.record_news()?;
        Ok(match next {
            NextWork::Work(opened) => Input::Opened(self.take_up(opened)?),
            NextWork::Complete => Input::NothingDue(Outcome::Complete),
            NextWork::Wait(due) => Input::NothingDue(waits(&due)),
        })
    }

    /// Opens more tasks of the group that is worked on.
    pub(super) fn join(&self, room: usize) -> Result<Input, RunError> {
        let opened = self.workspace.join(room)?;
        self.record_news()?;
        if opened.is_empty() {
            return Ok(Input::Opened(Vec::new()));
        }
        let sites = vec![Site::Worktree; opened.len()];
        let mut open = self.works_of(opened.into_iter().zip(sites))?;
        open.extend(self.works_under_way(&open)?);
        Ok(Input::Opened(open))
    }

    /// Where the others stand in the plan by now: a person may have edited it since they
    /// were opened.
    fn works_under_way(&self, joining: &[OpenWork]) -> Result<Vec<OpenWork>, RunError> {
        let (view, ledger) = (self.workspace.store.read()?, self.workspace.store.ledger()?);
        let file = view.file();
        let mut others = ledger.open_attempts();
        others.retain(|other| joining.iter().all(|work| work.attempt != other.id));
        let under_way = |other: Attempt| OpenWork {
            place: place_of(&file, &other.key),
            attempt: other.id,
            task: other.key.id,
            site: Site::Worktree,
            stands: Stands::UnderWay,
        };
        Ok(others.into_iter().map(under_way).collect())
    }

    /// Completes the loop if every box is ticked.
    pub(super) fn complete_if_done(&self) -> Result<Input, RunError> {
        let is_done = match self.options.plan {
            Some(_) => self.is_planned()?,
            None => self.workspace.is_done()?,
        };
        match is_done {
            true => self.open(),
            false => Ok(Input::NotDone),
        }
    }

    /// Opens what is due. The check of a task that is worked in the user's tree is run
    /// there first; what it leaves is part of what the attempt finds.
    fn open_looked_at(&self) -> Result<NextWork, RunError> {
        loop {
            let next = self.workspace.open()?;
            let NextWork::Work(opened) = &next else { return Ok(next) };
            let [alone] = opened.as_slice() else { return Ok(next) };
            if self.site_of(opened)? != Site::Tree {
                return Ok(next);
            }
            let root = &self.workspace.spec.root;
            let look = self.workspace.look_first(alone, root, Reach::All)?;
            let Some(look) = look.filter(|_| !self.stop.is_set()) else { return Ok(next) };
            if !self.workspace.record_look(alone, &look, true)? {
                let ledger = self.workspace.store.ledger()?;
                return Ok(NextWork::Work(ledger.open_attempt(&alone.key).into_iter().collect()));
            }
        }
    }

    /// Where attempts are worked on that were opened at once.
    fn site_of(&self, opened: &[Attempt]) -> Result<Site, RunError> {
        Ok(match opened {
            [alone] if alone.base().is_none() || !self.workspace.in_batch()? => {
                match self.options.isolate || self.workspace.waits_in_worktree(alone)? {
                    true => Site::Isolated,
                    false => Site::Tree,
                }
            }
            _ => Site::Worktree,
        })
    }

    /// Decides where each of the attempts is worked on.
    fn take_up(&self, opened: Vec<Attempt>) -> Result<Vec<OpenWork>, RunError> {
        let site = self.site_of(&opened)?;
        if opened.len() > 1 {
            let tasks = opened.iter().map(|opened| opened.key.clone()).collect();
            self.workspace.store.lock()?.record(Entry::GroupStarted { tasks })?;
        }
        let sites = vec![site; opened.len()];
        self.works_of(opened.into_iter().zip(sites))
    }

    pub(super) fn works_of(
        &self,
        opened: impl Iterator<Item = (Attempt, Site)>,
    ) -> Result<Vec<OpenWork>, RunError> {
        let (view, ledger) = (self.workspace.store.read()?, self.workspace.store.ledger()?);
        let file = view.file();
        let mut works = lock(&self.works);
        let mut open = Vec::new();
        for (attempt, site) in opened {
            let stands = match ledger.ready(&attempt.id) {
                Some(_) => Stands::Ready,
                // What was split is done perhaps, once its parts are.
                None if site != Site::Worktree
                    && (attempt.role == Role::QaEngineer || ledger.is_split(&attempt.key))
                    && ledger.last_failure(&attempt.key).is_none()
                    && !self.workspace.commands_of(&attempt)?.is_empty() =>
                {
                    Stands::NeedsCheck
                }
                None => Stands::NeedsAgent,
            };
            open.push(OpenWork {
                attempt: attempt.id.clone(),
                task: attempt.key.id.clone(),
                place: place_of(&file, &attempt.key),
                site,
                stands,
            });
            let ready = ledger.ready(&attempt.id).map(|ReadyWork { result, commit }| PassedWork {
                report: Report { result: result.clone(), ..Report::default() },
                commit: commit.clone(),
                check: None,
            });
            works.entry(attempt.id.clone()).or_insert_with(|| {
                Arc::new(Work {
                    attempt,
                    site,
                    shown: Mutex::default(),
                    result: Mutex::new(ready.unwrap_or_default()),
                    worktree: Mutex::default(),
                })
            });
        }
        Ok(open)
    }

    /// An attempt that was opened.
    pub(super) fn work(&self, attempt: &AttemptId) -> Result<Arc<Work>, RunError> {
        let lost = || AttemptError::NotOpen(attempt.to_string());
        Ok(Arc::clone(lock(&self.works).get(attempt).ok_or_else(lost)?))
    }

    /// Runs the check of an attempt for which no agent has worked yet.
    pub(super) fn check(&self, attempt: &AttemptId) -> Result<Input, RunError> {
        let work = self.work(attempt)?;
        let opened = &work.attempt;
        if work.site == Site::Isolated {
            return self.check_isolated(&work);
        }
        self.record_check(opened, false)?;
        let found = self.workspace.examine(opened, opened.role.signal(), None)?;
        if self.stop.is_set() {
            return Ok(Input::BrokenOff(attempt.clone()));
        }
        if let Some(why) = found.failed_check()
            && !self.workspace.finds_plan_fault(opened, found.check())?
        {
            work.show(why);
            return Ok(Input::CheckFailed(attempt.clone()));
        }
        match self.workspace.conclude(opened, found, By::Run) {
            Err(AttemptError::OtherCheck(_)) => return self.check(attempt),
            judged => judged?,
        };
        self.record_news()?;
        Ok(Input::Settled(attempt.clone()))
    }

    /// Judges an attempt in the user's tree, or lets the tree take in what was made
    /// elsewhere.
    pub(super) fn integrate(&self, attempt: &AttemptId) -> Result<Input, RunError> {
        let work = self.work(attempt)?;
        let passed = lock(&work.result).clone();
        if let Role::Author(doc) = work.attempt.role {
            return self.judge_author(&work, doc, &passed);
        }
        match work.site {
            Site::Tree => self.judge_in_tree(&work, &passed),
            Site::Worktree if !self.options.isolate => self.bring_in(&work, &passed),
            Site::Worktree | Site::Isolated => self.take_in(&work, passed),
        }
    }

    fn judge_in_tree(&self, work: &Work, passed: &PassedWork) -> Result<Input, RunError> {
        let (opened, report) = (&work.attempt, &passed.report);
        self.record_check(opened, false)?;
        let found = self.workspace.examine(opened, &report.result, None)?;
        if self.stop.is_set() {
            return Ok(Input::BrokenOff(opened.id.clone()));
        }
        match self.workspace.conclude(opened, found, By::Run) {
            Err(AttemptError::OtherCheck(_)) => return self.judge_in_tree(work, passed),
            judged => judged?,
        };
        self.record_news()?;
        Ok(Input::Settled(opened.id.clone()))
    }

    /// Ends an attempt as failed, for a reason that lies with its agent.
    pub(super) fn give_up(
        &self,
        attempt: &AttemptId,
        trouble: &Trouble,
    ) -> Result<Input, RunError> {
        let work = self.work(attempt)?;
        let opened = &work.attempt;
        if let Role::Author(_) = opened.role {
            return self.give_up_author(&work, trouble);
        }
        let mut left = Vec::new();
        match work.site {
            Site::Tree => {
                if self.workspace.pause_if_rewritten(opened)? {
                    self.stop.set(Outcome::Paused);
                    return Ok(Input::Stop(Outcome::Paused));
                }
                left = self.workspace.changed_now(opened)?;
            }
            Site::Worktree => {
                if let Some(worktree) = lock(&work.worktree).take() {
                    self.keep_all(&worktree, opened)?;
                    worktree.remove(self.workspace)?;
                }
            }
            Site::Isolated => self.keep_warm(opened)?,
        }
        self.workspace.give_up_on(opened, trouble, left)?;
        self.record_news()?;
        Ok(Input::Settled(attempt.clone()))
    }

    /// Ends an attempt that a person does not want any more: what it has made is kept,
    /// nothing of it stays in the user's tree, and it counts for nothing.
    pub(super) fn drop_unwanted(&self, attempt: &AttemptId) -> Result<Input, RunError> {
        let work = self.work(attempt)?;
        let opened = &work.attempt;
        let ready = self.workspace.store.ledger()?.ready(attempt).cloned();
        match (&self.workspace.git, work.site) {
            (Ok(git), _) if let Some(ready) = ready => {
                self.workspace.keep_commit(opened, &ready.commit)?;
                git.delete_reference(&ready_reference(&self.workspace.spec, &opened.key.id))?;
            }
            (Ok(git), Site::Tree) => {
                if self.workspace.pause_if_rewritten(opened)? {
                    self.stop.set(Outcome::Paused);
                    return Ok(Input::Stop(Outcome::Paused));
                }
                self.workspace.put_away(&**git, opened, None)?;
            }
            (Ok(_), Site::Isolated) => self.keep_warm(opened)?,
            (Err(_), _) | (Ok(_), Site::Worktree) => {}
        }
        if let Some(worktree) = lock(&work.worktree).take() {
            self.keep_all(&worktree, opened)?;
            worktree.remove(self.workspace)?;
        }
        let number = opened.number;
        self.workspace.record(opened, |task| Entry::Cleared { task, attempt: number })?;
        self.workspace.take_back_ticks()?;
        lock(&self.works).remove(attempt);
        self.record_news()?;
        Ok(Input::Settled(attempt.clone()))
    }

    /// Keeps whatever was changed in a worktree, if it is still there.
    pub(super) fn keep_all(
        &self,
        worktree: &PreparedWorktree,
        opened: &Attempt,
    ) -> Result<(), RunError> {
        if worktree.is_there(self.workspace)? {
            let changed = worktree.changed()?;
            self.workspace.keep(&*worktree.git, opened, &changed)?;
        }
        Ok(())
    }

    /// Starts an agent and sees its work through: to its end in the user's tree, to a
    /// result in a worktree.
    pub(super) fn start(
        &self,
        request: &StartRequest,
        handle: Handle,
        tell: &Tell<'_>,
    ) -> Result<Option<Input>, RunError> {
        let work = self.work(&request.attempt)?;
        if let Role::Author(_) = work.attempt.role {
            return self.start_author(request, &work, handle, tell);
        }
        match work.site {
            Site::Tree => {
                let root = &self.workspace.spec.root;
                self.carry_out(request, &work, (root, None), handle, tell)
            }
            Site::Worktree => self.start_in_worktree(request, &work, handle, tell),
            Site::Isolated => self.start_isolated(request, &work, handle, tell),
        }
    }

    fn start_in_worktree(
        &self,
        request: &StartRequest,
        work: &Work,
        handle: Handle,
        tell: &Tell<'_>,
    ) -> Result<Option<Input>, RunError> {
        let mut place = lock(&work.worktree);
        // An agent may have reached a limit in it, and another one goes on there.
        if place.as_ref().is_none_or(|tree| !tree.is_there(self.workspace).unwrap_or(false)) {
            *place = self.prepare(&work.attempt)?;
            if let Some(tree) = place.take() {
                let look = self.look_first(work, &tree.root)?;
                if look == Looked::Halted {
                    tree.remove(self.workspace)?;
                    self.record_news()?;
                    return Ok(Some(Input::Settled(work.attempt.id.clone())));
                }
                *place = Some(if look == Looked::Free { tree.once_prepared()? } else { tree });
            }
        }
        let Some(worktree) = place.as_ref() else {
            return Ok(Some(Input::NotStarted(request.launch)));
        };
        let ended = self.carry_out(request, work, (&worktree.root, Some(worktree)), handle, tell);
        if self.stop.is_set() {
            // A run that is stopped keeps what it finds there.
            return ended;
        }
        match &ended {
            // The agent has failed, and the coordinator says what follows.
            Ok(None) => return ended,
            Ok(Some(_)) => {}
            Err(_) => {
                if self.keep_all(worktree, &work.attempt).is_err() {
                    // What is kept nowhere stays where it is.
                    return ended.map_err(|error| error.in_worktree(worktree.git.root()));
                }
            }
        }
        worktree.remove(self.workspace)?;
        *place = None;
        ended
    }

    /// Runs the check of an attempt in its worktree before its agent is started.
    pub(super) fn look_first(&self, work: &Work, root: &Path) -> Result<Looked, RunError> {
        let look = self.workspace.look_first(&work.attempt, root, Reach::All)?;
        let Some(look) = look.filter(|_| !self.stop.is_set()) else { return Ok(Looked::Clean) };
        Ok(match self.workspace.record_look(&work.attempt, &look, false)? {
            true => Looked::Halted,
            false if look.may_have_changed() => Looked::Free,
            false => Looked::Clean,
        })
    }

    /// A worktree for an attempt; none if everybody stops.
    pub(super) fn prepare(&self, opened: &Attempt) -> Result<Option<PreparedWorktree>, RunError> {
        let worktree =
            PreparedWorktree::add(self.workspace, &worktree_name(opened), opened.base())?;
        if self.options.worktree_setup.is_none() {
            return Ok(Some(worktree));
        }
        if let Err(error) = self.set_up(&worktree) {
            worktree.remove(self.workspace)?;
            return Err(error);
        }
        if self.stop.is_set() {
            return Ok(None);
        }
        Ok(Some(worktree.once_prepared()?))
    }

    /// Runs `worktree_setup`, if there is one. It may have been ended because everybody
    /// stops, which is no failure.
    pub(super) fn set_up(&self, worktree: &PreparedWorktree) -> Result<(), RunError> {
        let Some(setup) = &self.options.worktree_setup else { return Ok(()) };
        match worktree.set_up(setup, &self.workspace.spec.root) {
            Err(_) if self.stop.is_set() => Ok(()),
            done => done,
        }
    }

    /// Makes out an order, has it carried out, and receives its result. Nothing is
    /// left to tell if the agent has failed, or worked in the user's tree.
    pub(super) fn carry_out(
        &self,
        request: &StartRequest,
        work: &Work,
        (root, worktree): (&Path, Option<&PreparedWorktree>),
        handle: Handle,
        tell: &Tell<'_>,
    ) -> Result<Option<Input>, RunError> {
        let opened = &work.attempt;
        let order = self.order(request, work, root)?;
        let log = self.new_log(opened)?;
        self.record_start(work, &order.agent, &log, worktree.is_some())?;
        let world = self.workspace.world();
        // A document is judged by whoever has ordered it, wherever it was written.
        let checked = worktree.filter(|_| !matches!(opened.role, Role::Author(_)));
        let checkout = Checkout { world, root, worktree: checked, log: &log, handle };
        let foreman = Foreman {
            crew: self,
            work,
            launch: request.launch,
            worktree,
            log: log.clone(),
            began: self.workspace.world().clock.elapsed(),
            talks_until: Cell::default(),
            tell,
        };
        let result = worker::work(&order, &checkout, &foreman)?;
        assert!(result.answers(&order), "a worker answers the order it was given");
        let Some(worktree) = checked else { return Ok(None) };
        self.receive(work, worktree, result)
    }

    /// What a worker is given.
    fn order(
        &self,
        request: &StartRequest,
        work: &Work,
        root: &Path,
    ) -> Result<WorkOrder, RunError> {
        let opened = &work.attempt;
        let agent = self.options.agents[request.agent].as_ref();
        let at = match work.site {
            Site::Tree => brief::WorkPlace::Alone,
            Site::Worktree => brief::WorkPlace::Beside,
            Site::Isolated => brief::WorkPlace::Isolated,
        };
        let shown = lock(&work.shown).clone();
        let is_author = matches!(opened.role, Role::Author(_));
        let brief = match is_author {
            true => self.workspace.author_brief(opened, root)?.into_bytes(),
            false => self.workspace.brief_at(opened, at, root, shown.as_ref())?,
        };
        let script = opened.fields().script.filter(|_| !is_author);
        let call = agent.call(&Order {
            brief: &brief,
            model: self.options.model.as_deref(),
            script: script.as_deref(),
            attempt: opened.number,
            signal: opened.role.signal(),
            max_cost: request.max_cost,
        });
        Ok(WorkOrder {
            protocol: PROTOCOL,
            attempt: opened.id.clone(),
            fence: request.launch,
            task: opened.key.clone(),
            site: work.site,
            base: opened.base().map(str::to_owned),
            agent: agent.name().to_owned(),
            call,
            check: if is_author { None } else { self.workspace.check_of(opened)? },
            check_time: self.workspace.check_time,
            message: format!("{} {}", self.workspace.spec.name, opened.key.id),
        })
    }

    fn new_log(&self, opened: &Attempt) -> Result<PathBuf, RunError> {
        let spec = &self.workspace.spec;
        let (task, attempt) = (&opened.key.id, opened.number);
        Ok(logs::new_log(spec, task, attempt).map_err(|error| {
            let dir = logs::log_dir(spec).unwrap_or_else(|| PathBuf::from(task));
            FileError::new("create a log in", &dir, error)
        })?)
    }

    fn record_start(
        &self,
        work: &Work,
        agent: &str,
        log: &Path,
        beside: bool,
    ) -> Result<(), RunError> {
        let (opened, site) = (&work.attempt, work.site);
        let attempt = opened.number;
        Ok(self.workspace.record(opened, |task| Entry::Launched {
            task,
            attempt,
            agent: agent.to_owned(),
            beside,
            isolated: site == Site::Isolated,
            log: Some(log.to_string_lossy().into_owned()),
        })?)
    }

    /// Judges what a worker has made in a worktree. What has passed is kept until it
    /// is integrated.
    fn receive(
        &self,
        work: &Work,
        worktree: &PreparedWorktree,
        result: WorkResult,
    ) -> Result<Option<Input>, RunError> {
        let (opened, report) = (&work.attempt, result.report);
        if report.trouble.is_some() {
            return Ok(None);
        }
        if self.stop.is_set() {
            return Ok(Some(Input::BrokenOff(opened.id.clone())));
        }
        let Some(CheckedWork { changed, check, commit }) = result.checked else {
            let gone = Trouble::Crash("it has deleted the worktree it was given".into());
            self.workspace.give_up_on(opened, &gone, Vec::new())?;
            self.record_news()?;
            return Ok(Some(Input::Settled(opened.id.clone())));
        };
        let tried = self.workspace.weigh(opened, &report.result, check, &changed);
        if !tried.verdict.passed() {
            self.workspace.keep(&*worktree.git, opened, &changed)?;
            self.workspace.fail(opened, tried, By::Run)?;
            self.record_news()?;
            return Ok(Some(Input::Settled(opened.id.clone())));
        }
        // Ahead of the record that lets the worktree go.
        worktree.bring_notes(self.workspace, opened)?;
        let git = self.workspace.repository()?;
        git.adopt_submodules(worktree.git.root(), &changed)?;
        git.point(&ready_reference(&self.workspace.spec, &opened.key.id), &commit)?;
        self.record_ready(opened, &report, &commit)?;
        *lock(&work.result) = PassedWork { report, commit, check: Some(tried.check) };
        Ok(Some(Input::Ready(opened.id.clone())))
    }

    pub(super) fn record_ready(
        &self,
        opened: &Attempt,
        report: &Report,
        commit: &str,
    ) -> Result<(), RunError> {
        Ok(self.workspace.record(opened, |task| Entry::Ready {
            task,
            attempt: opened.number,
            result: line::tail(&report.result, 64 * 1024).to_owned(),
            commit: commit.to_owned(),
        })?)
    }

    /// Notices, before git is called again, that an agent has changed what git
    /// starts: the run pauses, unless the settings accept it.
    pub(super) fn look_at_programs(&self, opened: &Attempt) -> Result<Option<Input>, RunError> {
        let Ok(git) = &self.workspace.git else { return Ok(None) };
        let mut known = lock(&self.programs);
        let now = git.programs(Some(&known))?;
        let what = known.differing(&now);
        if what.is_empty() {
            return Ok(None);
        }
        let (id, names) = (opened.key.shown(), what.join(", "));
        let text = format!("the attempt at {id} changed what git starts: {names}");
        let (before, after) = (known.digest(), now.digest());
        *known = now;
        if self.options.accept_git_changes {
            self.workspace.warn(text)?;
            return Ok(None);
        }
        self.workspace.record(opened, |task| Entry::GitChanged { task, before, after, what })?;
        self.pause(format!("{text}. Look at it; `specum accept git` takes it")).map(Some)
    }

    /// Lets the loop wait for a person, and says why.
    pub(super) fn pause(&self, why: String) -> Result<Input, RunError> {
        self.workspace.pause(&why)?;
        self.workspace.warn(why)?;
        self.stop.set(Outcome::Paused);
        Ok(Input::Stop(Outcome::Paused))
    }

    /// What an error means for the run, if it is none of the engine's: a person, or
    /// another session, has changed something.
    pub(super) fn meaning_of(
        &self,
        error: RunError,
        attempt: Option<&AttemptId>,
    ) -> Result<Input, RunError> {
        match (error, attempt) {
            (RunError::Attempt(AttemptError::NotOpen(_)), Some(attempt)) => {
                Ok(Input::Lost(attempt.clone()))
            }
            (RunError::Attempt(error @ AttemptError::InTheWay { .. }), _) => {
                self.pause(error.to_string())
            }
            (RunError::Attempt(AttemptError::NotYours(_)), _) => {
                Ok(Input::Stop(Outcome::TakenOver))
            }
            (RunError::Attempt(AttemptError::NoLoop(_)), _) => Ok(Input::Stop(Outcome::Cancelled)),
            (error, _) => Err(error),
        }
    }

    /// Leaves nothing undecided in the user's tree after something has failed there.
    pub(super) fn clear_tree(&self) -> Result<(), RunError> {
        recover::take_out_undecided(self.workspace)
    }

    /// A check begins.
    pub(super) fn record_check(&self, opened: &Attempt, integrated: bool) -> Result<(), RunError> {
        let commands = self.workspace.commands_of(opened)?;
        let command = (!commands.is_empty()).then(|| tasks::joined(&commands));
        let attempt = opened.number;
        Ok(self.workspace.record(opened, |task| Entry::Checking {
            task,
            attempt,
            command,
            integrated,
        })?)
    }

    /// What the last look at the plan has found.
    pub(super) fn record_news(&self) -> Result<(), RunError> {
        let news = self.workspace.take_news();
        Ok(news.into_iter().try_for_each(|text| self.workspace.warn(text))?)
    }
}

impl Work {
    /// Remembers what a check has shown.
    pub(super) fn show(&self, why: (String, String)) {
        *lock(&self.shown) = Some(why);
    }
}

/// Where a task stands in the plan; behind all others if it is gone.
fn place_of(file: &TaskFile<'_>, key: &TaskKey) -> usize {
    file.tasks.iter().position(|task| task.name() == key.id).unwrap_or(usize::MAX)
}

/// What it means for a run that nothing is to be worked.
fn waits(due: &Due) -> Outcome {
    match due {
        Due::Paused(_) => Outcome::Paused,
        Due::Blocked(why) => Outcome::Blocked { why: why.clone() },
        Due::Waits(questions) => Outcome::Waits { why: questions.join("; ") },
        Due::ChosenDone { skipped } => Outcome::ChosenDone { skipped: skipped.len() },
        Due::Complete => Outcome::Complete,
        Due::Capped | Due::Spent(_) | Due::Work(_) => Outcome::Capped { why: prompt::waiting(due) },
    }
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("no holder panics")
}

//! The side of a run that works: opens what is due, runs agents and checks, and
//! has what they did judged. Everything it needs to know from the world it asks
//! the dispatcher for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use specum_core::agent::{Agent, Order, Report, Sign, Trouble};
use specum_core::attempt::Attempt;
use specum_core::brief;
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::machine::Due;
use specum_core::prompt;
use specum_core::run::{After, Slot};
use specum_core::tasks;
use specum_core::verify::{ProcessEnd, Role};

use super::beside::changed_in;
use super::isolate::WarmTree;
use super::{
    AfterExit, AgentExit, Launch, Listener, Message, Options, RunError, Stop, millis_since,
};
use crate::attempt::{self, AttemptError, By, Workspace};
use crate::files::FileError;
use crate::git::{Git, Programs};
use crate::logs;
use crate::process::{self, Chunk, Handle, Log};

/// How often a sign of life without a meaning is passed on.
const PULSE: Duration = Duration::from_millis(100);
/// How many signs are passed on at once: more would be held in memory.
const MOST_SIGNS: usize = 64;

#[derive(Clone)]
pub(super) struct Executor<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) options: &'a Options,
    pub(super) outlet: &'a dyn Listener,
    pub(super) line: SyncSender<Message>,
    pub(super) stop: &'a Stop,
    /// What git would start when the last agent had ended.
    pub(super) programs: &'a Mutex<Programs>,
    /// The worktree of an isolated run, once it is made.
    pub(super) isolated: &'a Mutex<Option<WarmTree>>,
}

/// What became of the agent of one attempt.
pub(super) enum AgentWork {
    /// It has answered.
    Answered(Report),
    /// It has failed, and with it the attempt; perhaps the run ends for it.
    Failed(Trouble, Option<Outcome>),
    /// Everybody stops; the attempt stays open.
    Stopped,
}

/// Where an attempt is worked.
pub(super) struct WorkSite<'p> {
    pub(super) slot: Slot,
    /// The project's root there.
    pub(super) root: &'p Path,
    /// What kind of place that is.
    pub(super) at: brief::WorkPlace,
    /// What specum's own check has shown, for whoever is to fix it.
    pub(super) shown: Option<(String, String)>,
}

impl Executor<'_> {
    /// Works until nothing is due or somebody says stop.
    pub(super) fn work(&self) -> Result<Outcome, RunError> {
        let mut lost = None;
        loop {
            match self.stop.get() {
                // What is done is done, although its last task reached a cap.
                Some(Outcome::Capped { .. }) if self.workspace.is_done()? => {}
                Some(outcome) => return Ok(outcome),
                None => {}
            }
            if let Ok(git) = &self.workspace.git {
                git.clear_locks()?;
            }
            let next = self.workspace.open()?;
            self.record_news()?;
            let opened = match next {
                attempt::NextWork::Work(opened) => opened,
                attempt::NextWork::Complete => return Ok(Outcome::Complete),
                attempt::NextWork::Wait(due) => return Ok(waits(&due)),
            };
            // A batch may have been begun by somebody who had more at once, or
            // who needed no commit to begin from.
            let at_once = opened.len().min(self.workspace.scope.max_parallel);
            let ended = match &opened[..at_once] {
                [alone] if alone.base().is_none() || !self.workspace.in_batch()? => {
                    match self.options.isolate || self.workspace.waits_in_worktree(alone)? {
                        true => self.work_isolated(alone),
                        false => self.work_alone(alone),
                    }
                }
                group => self.work_group(group),
            };
            match ended {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => lost = None,
                // A person has changed the plan under our feet. Not twice in a
                // row, though: an agent that deletes the journal would be
                // started for ever, and no attempt be counted.
                Err(RunError::Attempt(AttemptError::NotOpen(id))) => {
                    if lost.as_ref() == Some(&id) {
                        return Err(RunError::Forgotten(id));
                    }
                    lost = Some(id);
                }
                Err(RunError::Attempt(error @ AttemptError::InTheWay { .. })) => {
                    return self.pause(error.to_string());
                }
                Err(RunError::Attempt(AttemptError::NotYours(_))) => return Ok(Outcome::TakenOver),
                Err(RunError::Attempt(AttemptError::NoLoop(_))) => return Ok(Outcome::Cancelled),
                Err(error) => return Err(error),
            }
        }
    }

    /// Works one task in the user's tree. An outcome ends the run.
    fn work_alone(&self, opened: &Attempt) -> Result<Option<Outcome>, RunError> {
        let mut shown = None;
        if opened.role == Role::QaEngineer && self.workspace.has_never_failed(opened)? {
            // A check costs nothing; only what it finds does.
            match self.check_alone(opened)? {
                CheckAlone::Done => return Ok(None),
                CheckAlone::Stopped => return Ok(self.stop.get()),
                CheckAlone::Failed(why) => shown = why,
            }
        }
        let root = &self.workspace.spec.root;
        let place = WorkSite { slot: 0, root, at: brief::WorkPlace::Alone, shown };
        let report = match self.run_agent(opened, &place)? {
            AgentWork::Answered(report) => report,
            AgentWork::Stopped => return Ok(self.stop.get()),
            AgentWork::Failed(trouble, outcome) => {
                if self.workspace.pause_if_rewritten(opened)? {
                    return Ok(Some(Outcome::Paused));
                }
                let left = self.workspace.changed_now(opened)?;
                self.workspace.give_up_on(opened, &trouble, left)?;
                self.record_news()?;
                return Ok(outcome);
            }
        };
        self.record_check(opened, false)?;
        let found = self.workspace.examine(opened, &report.result, None)?;
        if let Some(outcome) = self.stop.get() {
            return Ok(Some(outcome));
        }
        self.workspace.conclude(opened, found, By::Run)?;
        self.record_news()?;
        Ok(None)
    }

    /// Runs the command of a `[VERIFY]` task.
    fn check_alone(&self, opened: &Attempt) -> Result<CheckAlone, RunError> {
        if self.workspace.commands_of(opened)?.is_empty() {
            return Ok(CheckAlone::Failed(None));
        }
        self.record_check(opened, false)?;
        let found = self.workspace.examine(opened, opened.role.signal(), None)?;
        if self.stop.get().is_some() {
            return Ok(CheckAlone::Stopped);
        }
        if let Some(why) = found.failed_check() {
            return Ok(CheckAlone::Failed(Some(why)));
        }
        self.workspace.conclude(opened, found, By::Run)?;
        self.record_news()?;
        Ok(CheckAlone::Done)
    }

    /// Has an agent work an attempt: as often as it takes for one to get to
    /// work at all.
    pub(super) fn run_agent(
        &self,
        opened: &Attempt,
        place: &WorkSite<'_>,
    ) -> Result<AgentWork, RunError> {
        loop {
            let (reply, answer) = mpsc::channel();
            let slot = place.slot;
            self.say(Message::WhoWorks { slot, reply });
            let (agent, max_cost) = match answer.recv() {
                Ok(Launch::Use { agent, max_cost }) => (agent, max_cost),
                Ok(Launch::Stop) | Err(_) => return Ok(AgentWork::Stopped),
            };
            let started = self.start_agent(opened, place, (agent, max_cost));
            // Others may wait for its price.
            let (next, report) = started.inspect_err(|_| self.say(Message::Abandoned { slot }))?;
            match next {
                AfterExit::Stop => return Ok(AgentWork::Stopped),
                AfterExit::After(After::Judge) => return Ok(AgentWork::Answered(report)),
                AfterExit::After(After::Fail(trouble)) => {
                    return Ok(AgentWork::Failed(trouble, None));
                }
                AfterExit::After(After::Stop(trouble, outcome)) => {
                    return Ok(AgentWork::Failed(trouble, Some(outcome)));
                }
                AfterExit::After(After::Again) => {}
            }
        }
    }

    /// Starts an agent and waits for its end.
    fn start_agent(
        &self,
        opened: &Attempt,
        place: &WorkSite<'_>,
        (index, max_cost): (usize, Option<f64>),
    ) -> Result<(AfterExit, Report), RunError> {
        let agent = self.options.agents[index].as_ref();
        let (id, attempt, slot) = (&opened.key.id, opened.number, place.slot);
        let spec = &self.workspace.spec;
        let (log_path, log) = logs::open_log(spec, id, attempt).map_err(|error| {
            let dir = logs::log_dir(spec).unwrap_or_else(|| PathBuf::from(id));
            FileError::new("create a log in", &dir, error)
        })?;
        let command = self.command(opened, place, (agent, max_cost))?;
        let (name, at) = (agent.name().to_owned(), place.at);
        self.workspace.record(opened, |task| Entry::Launched {
            task,
            attempt,
            agent: name,
            beside: at != brief::WorkPlace::Alone,
            isolated: at == brief::WorkPlace::Isolated,
            log: Some(log_path.to_string_lossy().into_owned()),
        })?;
        let began = Instant::now();
        let report = self.stream(command, index, (slot, opened), &Arc::new(log));
        self.workspace.bring_back()?;
        self.look_at_programs(opened)?;
        let changed = report.trouble.is_some()
            && self.stop.get().is_none()
            && self.has_changes(opened, place)?;
        let (reply, answer) = mpsc::channel();
        self.say(Message::Ended(Box::new(AgentExit {
            slot,
            opened: opened.clone(),
            agent: index,
            report: report.clone(),
            changed,
            millis: millis_since(began),
            log: log_path,
            reply,
        })));
        Ok((answer.recv().unwrap_or(AfterExit::Stop), report))
    }

    /// Notices, before git is called again, that an agent has changed what git
    /// starts: the run pauses, unless the settings accept it.
    fn look_at_programs(&self, opened: &Attempt) -> Result<(), RunError> {
        let Ok(git) = &self.workspace.git else { return Ok(()) };
        let mut known = self.programs.lock().expect("no holder panics");
        let now = git.programs(Some(&known))?;
        let what = known.differing(&now);
        if what.is_empty() {
            return Ok(());
        }
        let (id, names) = (opened.key.shown(), what.join(", "));
        let text = format!("the attempt at {id} changed what git starts: {names}");
        let (before, after) = (known.digest(), now.digest());
        *known = now;
        if self.options.accept_git_changes {
            return Ok(self.workspace.warn(text)?);
        }
        self.workspace.record(opened, |task| Entry::GitChanged { task, before, after, what })?;
        self.stop.set(self.pause(format!("{text}. Look at it; `specum accept git` takes it"))?);
        Ok(())
    }

    /// Lets the loop wait for a person, and says why.
    pub(super) fn pause(&self, why: String) -> Result<Outcome, RunError> {
        self.workspace.pause(&why)?;
        self.workspace.warn(why)?;
        Ok(Outcome::Paused)
    }

    fn has_changes(&self, opened: &Attempt, place: &WorkSite<'_>) -> Result<bool, RunError> {
        if place.at == brief::WorkPlace::Alone {
            return Ok(!self.workspace.changed_now(opened)?.is_empty());
        }
        let git = Git::at(place.root.to_owned());
        let changed = changed_in(&git, opened.base().unwrap_or("HEAD"), self.workspace);
        // It may have deleted the worktree, which is a change too.
        Ok(changed.map_or(true, |changed| !changed.is_empty()))
    }

    fn command(
        &self,
        opened: &Attempt,
        place: &WorkSite<'_>,
        (agent, max_cost): (&dyn Agent, Option<f64>),
    ) -> Result<(Command, Vec<u8>), RunError> {
        let brief = self.workspace.brief_at(opened, place.at, place.root, place.shown.as_ref())?;
        let script = opened.fields().script;
        let call = agent.call(&Order {
            brief: &brief,
            model: self.options.model.as_deref(),
            script: script.as_deref(),
            attempt: opened.number,
            signal: opened.role.signal(),
            max_cost,
        });
        let mut command = Command::new(&call.program);
        command.args(&call.args).current_dir(place.root);
        call.unset.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(call.env.iter().map(|(name, value)| (name, value)));
        Ok((command, call.stdin))
    }

    /// Runs an agent and passes on what it says.
    fn stream(
        &self,
        (command, input): (Command, Vec<u8>),
        index: usize,
        (slot, opened): (Slot, &Attempt),
        log: &Arc<Log>,
    ) -> Report {
        let handle = Handle::default();
        self.say(Message::Started { slot, agent: index, handle: handle.clone() });
        let mut reader = self.options.agents[index].reader();
        let mut pulse = Instant::now();
        let mut answered = false;
        let said = |signs: Vec<Sign>| {
            if !signs.is_empty() {
                self.outlet.keep_pace();
                self.say(Message::Said { slot, task: opened.key.clone(), signs });
            }
        };
        let streamed = process::stream(command, &input, log, &handle, |printed| {
            let lines = match printed {
                Chunk::Lines(lines) => lines,
                Chunk::Noise => &[],
            };
            let mut is_silent = true;
            let mut signs = Vec::new();
            for line in lines {
                let of_line = reader.line(line);
                is_silent &= of_line.is_empty();
                // Ahead of what it says it has used: no cap is to end it for that.
                if answered != reader.has_answered() {
                    answered = !answered;
                    said(std::mem::take(&mut signs));
                    self.say(Message::Answered { slot, answered });
                }
                signs.extend(of_line);
                if signs.len() >= MOST_SIGNS {
                    said(std::mem::take(&mut signs));
                }
            }
            said(signs);
            if is_silent && pulse.elapsed() >= PULSE {
                pulse = Instant::now();
                self.say(Message::Printed { slot });
            }
        });
        if let ProcessEnd::NotStarted(why) = streamed.ended {
            return Report { trouble: Some(Trouble::Missing(why)), ..Report::default() };
        }
        reader.end(&streamed.ended, &String::from_utf8_lossy(&streamed.stderr))
    }

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

    fn say(&self, message: Message) {
        // A dispatcher that is gone has ended the run.
        let _ = self.line.send(message);
    }
}

/// What became of a check without an agent.
enum CheckAlone {
    /// It has passed, and so has the task.
    Done,
    /// It has failed, with what it showed; nothing if there is no command.
    Failed(Option<(String, String)>),
    /// Everybody stops.
    Stopped,
}

/// What it means for a run that nothing is to be worked.
fn waits(due: &Due) -> Outcome {
    match due {
        Due::Paused(_) => Outcome::Paused,
        Due::Blocked(why) => Outcome::Blocked { why: why.clone() },
        Due::Waits(questions) => Outcome::Waits { why: questions.join("; ") },
        Due::ChosenDone => Outcome::ChosenDone,
        Due::Complete => Outcome::Complete,
        Due::Capped | Due::Spent(_) | Due::Work(_) => Outcome::Capped { why: prompt::waiting(due) },
    }
}

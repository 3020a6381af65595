//! The side of a run that faces the world: signals, time, the display, what
//! others do to the spec, and what is spent.
//!
//! [`Dispatcher::dispatch`] turns everything into one [`Message`] after
//! another; what each of them means is decided by [`specum_core::run::Run`].

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime};

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use specum_core::agent::{Reset, Trouble};
use specum_core::attempt::AttemptId;
use specum_core::budget::{Budget, Charge};
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::machine::{self, Event};
use specum_core::run::{Choice, Millis, Run, Slot, WaitClock};

use super::{
    AfterExit, AgentExit, Launch, Listener, Message, Options, RunError, RunResult, Stop,
    WAITING_MESSAGES, millis_since,
};
use crate::attempt::Workspace;
use crate::clock;
use crate::os;
use crate::owner;
use crate::process::{self, Handle};

/// How often we look around when nobody says anything.
const TICK: Duration = Duration::from_millis(100);
/// If we have not looked around for that long, we were stopped, or the machine
/// was.
const ABSENCE: Duration = Duration::from_secs(1);
/// The longest a named limit is waited for before it is asked again: whoever
/// names a later time may be mistaken.
const LONGEST_LIMIT: i64 = 8 * 24 * 3600;

pub(super) struct Dispatcher<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    outlet: &'a dyn Listener,
    stop: &'a Stop,
    began: Instant,
    /// The same by the clock on the wall.
    began_at: Timestamp,
    waits: WaitClock,
    run: Run,
    /// What is spent, as the state has it.
    budget: Budget,
    /// Up to when the time is part of that.
    charged_until: Millis,
    looked: Instant,
    running: BTreeMap<Slot, Handle>,
    /// Who was ended for taking too long.
    ended_by_us: BTreeMap<Slot, Trouble>,
    /// Who needs an agent.
    waiting: Vec<(Slot, Sender<Launch>)>,
    /// Whether the user knows that starts are held back until a price is known.
    has_told_hold: bool,
    /// Until when we have said that we wait.
    announced: Option<Millis>,
    /// Who was started last.
    last: Option<usize>,
    /// The state file as we saw it last, if we have looked.
    seen: Option<Option<FileVersion>>,
}

/// Tells one version of a file from another: every write is a rename.
#[derive(PartialEq, Eq)]
struct FileVersion {
    modified: Option<SystemTime>,
    identity: u64,
}

impl<'a> Dispatcher<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        options: &'a Options,
        outlet: &'a dyn Listener,
        stop: &'a Stop,
        (began, budget): (Instant, Budget),
    ) -> Self {
        let names = options.agents.iter().map(|agent| agent.name().to_owned()).collect();
        Dispatcher {
            workspace,
            options,
            outlet,
            stop,
            began,
            began_at: clock::now(),
            waits: WaitClock::default(),
            run: Run::new(names, options.patience),
            budget,
            charged_until: 0,
            looked: began,
            running: BTreeMap::new(),
            ended_by_us: BTreeMap::new(),
            waiting: Vec::new(),
            has_told_hold: false,
            announced: None,
            last: None,
            seen: None,
        }
    }

    /// Serves the executor until it has ended.
    pub(super) fn dispatch(mut self, messages: &Receiver<Message>) -> RunResult {
        let mut failure = None;
        let outcome = 'serving: loop {
            let first = match messages.recv_timeout(TICK) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                // The executor has panicked, which is told when it is joined.
                Err(RecvTimeoutError::Disconnected) => break Ok(Outcome::Interrupted),
            };
            // All that waits, before anybody is found to be silent.
            let waiting = messages.try_iter().take(WAITING_MESSAGES);
            let mut served = Ok(());
            for message in first.into_iter().chain(waiting) {
                match message {
                    Message::Finished(result) => break 'serving failure.map_or(result, Err),
                    message => served = served.and(self.handle(message)),
                }
            }
            if let Err(error) = served.and_then(|()| self.look_around()) {
                // Whoever runs is ended in order before the error is told.
                failure.get_or_insert(error);
                self.stop.set(Outcome::Interrupted);
            }
        };
        RunResult { outcome, uncharged: self.now() - self.charged_until }
    }

    fn now(&self) -> Millis {
        millis_since(self.began).saturating_mul(haste())
    }

    /// The time by which waits begin and end.
    fn waiting_now(&mut self) -> Millis {
        let wall = clock::now().as_millisecond() - self.began_at.as_millisecond();
        let wall = u64::try_from(wall).unwrap_or(0).saturating_mul(haste());
        self.waits.now(self.now(), wall)
    }

    fn handle(&mut self, message: Message) -> Result<(), RunError> {
        let now = self.now();
        match message {
            Message::WhoWorks { slot, reply } => {
                self.waiting.push((slot, reply));
                self.serve_waiting()?;
            }
            Message::Started { slot, agent, handle } => {
                self.run.started(slot, agent, now);
                self.running.insert(slot, handle);
            }
            Message::Printed { slot } => self.run.printed(slot, now),
            Message::Said { slot, task, signs } => {
                signs.iter().for_each(|sign| self.run.said(slot, sign, now));
                self.outlet.said(task, signs);
            }
            Message::Answered { slot, answered } => self.run.answered(slot, answered),
            Message::Ended(ended) => {
                self.ended(*ended)?;
                self.serve_waiting()?;
            }
            Message::Abandoned { slot } => {
                self.run.abandoned(slot);
                self.running.remove(&slot);
                self.ended_by_us.remove(&slot);
                self.serve_waiting()?;
            }
            Message::Finished(_) => unreachable!("handled by the loop"),
        }
        Ok(())
    }

    /// What nobody tells us.
    fn look_around(&mut self) -> Result<(), RunError> {
        if self.looked.elapsed() < TICK {
            return Ok(());
        }
        let now = self.now();
        if self.looked.elapsed() > ABSENCE {
            self.run.was_away(now);
        }
        self.looked = Instant::now();
        for (slot, trouble) in self.run.overdue(now) {
            // Again, if need be, until its end is told.
            self.ended_by_us.entry(slot).or_insert(trouble);
            self.running.get(&slot).inspect(|handle| handle.end());
        }
        if let Some(why) = self.run.exhausted(&self.budget, now - self.charged_until) {
            self.stop_now(Outcome::Capped { why });
        }
        self.look_at_state();
        if self.stop.get().is_some() {
            // Again and again: somebody may just have been about to start.
            self.end_everybody();
        }
        self.serve_waiting()?;
        self.outlet.tick();
        Ok(())
    }

    fn stop_now(&mut self, outcome: Outcome) {
        self.stop.set(outcome);
        self.end_everybody();
    }

    fn end_everybody(&self) {
        self.running.values().for_each(Handle::doom);
        process::end_everything();
    }

    /// A person may pause or end the loop, or give it to somebody else, from
    /// another terminal.
    fn look_at_state(&mut self) {
        let path = self.workspace.store.state_path();
        let seen = fs::metadata(path).ok().map(|file| FileVersion {
            modified: file.modified().ok(),
            identity: os::identity(&file),
        });
        if self.seen.as_ref() == Some(&seen) {
            return;
        }
        match self.workspace.store.read_state() {
            // The executor ends the loop too, when every box is ticked.
            None if self.workspace.was_cancelled() => self.stop_now(Outcome::Cancelled),
            // `git clean -x` by an agent, for one.
            None if !self.workspace.is_complete() => {
                if self.workspace.bring_back().is_err() || !self.workspace.store.has_state() {
                    let why = "the loop's state was deleted while it ran; `specum run` begins anew \
                               from the boxes";
                    self.stop_now(Outcome::Blocked { why: why.to_owned() });
                }
            }
            Some(Ok(state)) if !owner::is_this_run(&state) => self.stop_now(Outcome::TakenOver),
            Some(Ok(state)) if state.awaiting_approval && state.blocked.is_none() => {
                self.stop_now(Outcome::Paused);
            }
            None | Some(_) => {}
        }
        self.seen = Some(seen);
    }

    /// Gives those who need an agent one, if one can work.
    fn serve_waiting(&mut self) -> Result<(), RunError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let now = self.waiting_now();
        if let Some(why) = self.budget.spent(&self.run.in_use()) {
            self.stop_now(Outcome::Capped { why });
        }
        if self.stop.get().is_none() {
            match self.run.choose(now) {
                Choice::Use(agent) => {
                    self.announced = None;
                    self.launch(agent)?;
                }
                Choice::Wait { agent, until, why } => self.tell_wait(agent, until, why, now)?,
                Choice::Nobody(why) => {
                    let why = why + &self.how_to_sign_in();
                    self.stop_now(Outcome::NoAgent { why });
                }
            }
        }
        if self.stop.get().is_some() {
            for (_, reply) in self.waiting.drain(..) {
                let _ = reply.send(Launch::Stop);
            }
        }
        Ok(())
    }

    /// Lets as many of those who wait start this agent as a cap in dollars leaves
    /// room for; the others wait on.
    fn launch(&mut self, agent: usize) -> Result<(), RunError> {
        let now = self.now();
        let mut starting = Vec::new();
        while !self.waiting.is_empty() && self.run.may_start(agent, &self.budget) {
            let (slot, reply) = self.waiting.remove(0);
            // Until it has been started, so that it counts from now on.
            self.run.started(slot, agent, now);
            starting.push((slot, reply));
        }
        if !starting.is_empty() {
            self.tell_change_to(agent)?;
        }
        for (slot, reply) in starting {
            let max_cost = self.run.allowance(slot, &self.budget);
            let _ = reply.send(Launch::Use { agent, max_cost });
        }
        if !self.waiting.is_empty() && !std::mem::replace(&mut self.has_told_hold, true) {
            let text = "not all tasks of the group start at once: with --max-cost the first start \
                        of an agent works alone until its price is known, and the next ones as the \
                        rest of the cap allows";
            self.workspace.warn(text.to_owned())?;
        }
        Ok(())
    }

    /// What a person can do about those who are not signed in.
    fn how_to_sign_in(&self) -> String {
        let agents = self.options.agents.iter().enumerate();
        let hints: Vec<&str> = agents
            .filter(|(index, _)| self.run.is_signed_out(*index))
            .map(|(_, agent)| agent.sign_in())
            .collect();
        if hints.is_empty() { String::new() } else { format!(". {}", hints.join("; or ")) }
    }

    fn tell_change_to(&mut self, agent: usize) -> Result<(), RunError> {
        if let Some(before) = self.last.replace(agent).filter(|before| *before != agent) {
            let (from, to) = (self.run.name(before).to_owned(), self.run.name(agent).to_owned());
            let again = || format!("{to} is available again");
            let now = self.waiting_now();
            let why = self.run.why_not(before, now).unwrap_or_else(again);
            self.workspace.store.lock()?.record(Entry::AgentChanged { from, to, why })?;
        }
        Ok(())
    }

    fn tell_wait(
        &mut self,
        agent: usize,
        until: Millis,
        why: String,
        now: Millis,
    ) -> Result<(), RunError> {
        if self.announced != Some(until) {
            self.announced = Some(until);
            let (agent, millis) = (self.run.name(agent).to_owned(), until - now);
            self.workspace.store.lock()?.record(Entry::Waited { agent, why, millis })?;
        }
        Ok(())
    }

    fn ended(&mut self, mut ended: AgentExit) -> Result<(), RunError> {
        let now = self.waiting_now();
        self.running.remove(&ended.slot);
        if let Some(ours) = self.ended_by_us.remove(&ended.slot) {
            // An answer stands however long its process went on behind it, and
            // it may have told what it was waiting for.
            let trouble = &mut ended.report.trouble;
            if trouble.as_ref().is_some_and(|told| !told.is_told_by_the_agent()) {
                *trouble = Some(ours);
            }
        }
        self.charge(&ended)?;
        if let (Some(Trouble::OverBudget(_)), Some(why)) =
            (&ended.report.trouble, self.budget.spent(&[]))
        {
            // It stopped by itself where we would have stopped it.
            self.stop_now(Outcome::Capped { why });
        }
        let reset = reset_of(ended.report.trouble.as_ref(), &local_now()).map(|wait| now + wait);
        let after = self.run.ended(ended.slot, &ended.report, ended.changed, reset, now);
        let next = match self.stop.get() {
            Some(_) => AfterExit::Stop,
            None => AfterExit::After(after),
        };
        let _ = ended.reply.send(next);
        Ok(())
    }

    fn charge(&mut self, ended: &AgentExit) -> Result<(), RunError> {
        let agent = &self.options.agents[ended.agent];
        let so_far = self.run.used_by(ended.slot);
        let never_worked = matches!(
            ended.report.trouble,
            Some(Trouble::RateLimited { .. } | Trouble::NotAuthenticated(_) | Trouble::Missing(_))
        );
        let broke_off = ended.report.usage.is_none() && !never_worked;
        let usage = ended.report.usage.or(Some(so_far));
        let charge = self.budget.charge(agent.measures(), usage, broke_off);
        let task = self.workspace.key_now(&ended.opened)?;
        let entry = Entry::Charged {
            task,
            attempt: ended.opened.number,
            agent: agent.name().to_owned(),
            tokens: charge.tokens,
            cost: charge.cost,
            estimated: charge.estimated,
            millis: ended.millis,
            log: Some(ended.log.to_string_lossy().into_owned()),
        };
        self.write_charge(&ended.opened.id, entry, charge)
    }

    fn write_charge(
        &mut self,
        attempt: &AttemptId,
        entry: Entry,
        charge: Charge,
    ) -> Result<(), RunError> {
        let now = self.now();
        let millis = now - self.charged_until;
        self.charged_until = now;
        self.budget.spend(&charge);
        self.budget.millis = self.budget.millis.saturating_add(millis);
        self.workspace.charge(attempt, entry, charge, millis)
    }
}

/// How many times faster our clock runs: tests do not want to wait for hours.
fn haste() -> u64 {
    #[cfg(feature = "test-support")]
    if let Some(haste) = std::env::var("SPECUM_HASTE").ok().and_then(|haste| haste.parse().ok()) {
        return haste;
    }
    1
}

impl Workspace {
    /// Writes down what is spent.
    pub(super) fn charge(
        &self,
        attempt: &AttemptId,
        entry: Entry,
        charge: Charge,
        millis: u64,
    ) -> Result<(), RunError> {
        let locked = self.store.lock()?;
        let view = locked.read()?;
        match &view.state {
            Some(state) => {
                let step = machine::step(state, &view.file(), Event::Charge { charge, millis });
                locked.write_step_of(attempt, entry, &step)?;
            }
            // Cancelled meanwhile: what was spent is told nevertheless.
            None => locked.record_of(attempt, entry)?,
        }
        Ok(())
    }
}

fn local_now() -> Zoned {
    clock::now().to_zoned(TimeZone::system())
}

/// How long until a limit ends that an agent has told of.
fn reset_of(trouble: Option<&Trouble>, now: &Zoned) -> Option<Millis> {
    let Some(Trouble::RateLimited { reset: Some(reset), .. }) = trouble else { return None };
    let seconds = match reset {
        Reset::In(seconds) => i64::try_from(*seconds).ok()?,
        Reset::At(at) => at.saturating_sub(now.timestamp().as_second()),
        Reset::Local(text) => {
            let at = on_the_wall(text, now)?;
            at.timestamp().as_second() - now.timestamp().as_second()
        }
    };
    // A second more: clocks differ, and a limit that is asked for too early
    // starts anew with some of them.
    let seconds = seconds.saturating_add(1).clamp(0, LONGEST_LIMIT);
    u64::try_from(seconds).ok()?.checked_mul(1000)
}

/// The moment that a clock on the wall shows: a date and a time, or a time of
/// today, or of tomorrow if that is over.
fn on_the_wall(text: &str, now: &Zoned) -> Option<Zoned> {
    let zone = now.time_zone();
    if let Ok(moment) = text.parse::<DateTime>() {
        return moment.to_zoned(zone.clone()).ok();
    }
    let time: Time = text.parse().ok()?;
    let today = now.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
    if today > *now {
        return Some(today);
    }
    now.date().tomorrow().ok()?.to_datetime(time).to_zoned(zone.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_ends_when_the_agent_says() {
        let now: Zoned = "2026-11-15T22:00:00+01:00[Europe/Berlin]".parse().unwrap();
        let seconds = |reset: Reset| {
            let trouble = Trouble::RateLimited { why: String::new(), reset: Some(reset) };
            reset_of(Some(&trouble), &now).map(|millis| millis / 1000)
        };
        let local = |text: &str| seconds(Reset::Local(text.into()));
        assert_eq!(seconds(Reset::In(30)), Some(31));
        assert_eq!(seconds(Reset::At(now.timestamp().as_second() + 30)), Some(31));
        assert_eq!(seconds(Reset::At(0)), Some(0), "long ago");
        assert_eq!(seconds(Reset::At(i64::MIN)), Some(0), "before all time");
        assert_eq!(seconds(Reset::At(i64::MAX)), Some(8 * 24 * 3600), "after all time");
        assert_eq!(local("2026-11-16T00:46:00"), Some(166 * 60 + 1));
        assert_eq!(local("22:30:00"), Some(30 * 60 + 1), "today");
        assert_eq!(local("03:33:00"), Some(333 * 60 + 1), "tomorrow");
        assert_eq!(local("soon"), None);
        assert_eq!(reset_of(Some(&Trouble::Idle(1)), &now), None);
    }
}

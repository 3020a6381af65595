//! A session of a host: its coordinator asks what is due, calls executors, and
//! wants to stop. The Stop hook sends it back or lets it go.

use specum_core::attempt::Attempt;
use specum_core::guard::{self, Memory};
use specum_core::hook::{HookOutput, Input};
use specum_core::journal::{Changes, Entry, StateChange};
use specum_core::machine::{self, Event, Start};
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::plan::Unit;
use specum_core::plan_record::PlanRecord;
use specum_core::prompt::SpecName;
use specum_core::state::State;
use specum_core::stop::{self, Scene, Stake};
use specum_core::tasks::{TaskEdit, TaskFile};
use specum_engine::attempt;

use super::agents::Act;
use super::plan::soul_of;
use super::work::{Ending, NextWork, Outcome, took_effect};
use super::world::{Halt, World, promise};

/// More blocks in a row without anything having moved are a loop without end.
const MOST_BLOCKS: u32 = guard::MAX_UNMOVED_BLOCKS + guard::MAX_CORRUPT_BLOCKS + 1;
/// How often one attempt may be given out without a verdict.
const MAX_DELEGATIONS: usize = 4;

pub(crate) struct Session {
    id: String,
    /// The calls whose executors are at work.
    calls: Vec<Call>,
    /// How many calls it has made.
    made: u32,
    /// Whether a person has opened the turn with words of their own.
    is_a_persons_turn: bool,
    /// Whether the turn goes on because a hook blocked a stop.
    sent_back: bool,
    /// Blocks since something moved.
    blocks: u32,
    /// What stood when it was last blocked.
    seen: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

struct Call {
    opened: Attempt,
    tool_use_id: String,
    /// A person who resumes a loop says that nobody is at work.
    is_disowned: bool,
}

impl Session {
    /// A person lets the loop go on: calls that do not come back are forgotten.
    pub(crate) fn disown_calls(&mut self) {
        self.calls.iter_mut().for_each(|call| call.is_disowned = true);
    }
}

impl World {
    /// A session takes the spec.
    pub(crate) fn session_starts(&mut self, start: &Start) -> Result<(), Halt> {
        let id = format!("s{}", self.disk.records.len());
        let owner = Some(Owner::Session { session_id: id.clone(), process: None, seen: None });
        self.story(format!("session {id} starts"));
        self.start(Start { owner, ..start.clone() })?;
        self.session = Some(Session {
            id,
            calls: Vec::new(),
            made: 0,
            is_a_persons_turn: false,
            sent_back: false,
            blocks: 0,
            seen: None,
        });
        Ok(())
    }

    /// The terminal is closed: the host tells so, or is killed.
    pub(crate) fn terminal_is_closed(&mut self) -> Result<(), Halt> {
        let Some(session) = self.session.take() else { return Ok(()) };
        if self.chance.once_in(2) {
            self.story(format!("session {} is killed", session.id));
            self.living = None;
            self.truth.tasks.holder_is_gone();
            return Ok(());
        }
        self.session_ends(&session.id)
    }

    /// `specum hook session-end`.
    fn session_ends(&mut self, id: &str) -> Result<(), Halt> {
        self.story(format!("session {id} ends"));
        self.disk.memory = None;
        let reviewed = self.enter()?;
        let owns = |owner: &Owner| owner.is_session(id);
        if let Some(mut state) =
            reviewed.state.filter(|state| state.owner.as_ref().is_some_and(owns))
        {
            state.owner = None;
            let state = StateChange::Write(state.to_object());
            let changes = Changes { state, ..Changes::default() };
            let at = self.at();
            let entry = Entry::Released { session: id.to_owned() };
            let written = self.disk.write(&at, entry, changes).map_err(Halt::from);
            if took_effect(&written) {
                self.truth.tasks.at_work.clear();
            }
            written?;
        }
        self.living = None;
        self.truth.tasks.holder_is_gone();
        Ok(())
    }

    /// One step of the session.
    pub(crate) fn session_goes_on(&mut self) -> Result<(), Halt> {
        let Some(mut session) = self.session.take() else { return Ok(()) };
        self.agent_meddles("the coordinator")?;
        let goes_on = match self.chance.below(5) {
            0 | 1 if !session.calls.is_empty() => self.a_call_ends(&mut session)?,
            0..4 => self.calls(&mut session)?,
            _ => self.wants_to_stop(&mut session)?,
        };
        match goes_on {
            true => self.session = Some(session),
            false => self.session_ends(&session.id)?,
        }
        Ok(())
    }

    /// The coordinator asks what is due and calls an executor for it.
    fn calls(&mut self, session: &mut Session) -> Result<bool, Halt> {
        self.judge_reported()?;
        let due = match self.open()? {
            NextWork::Work(due) => due,
            NextWork::Wait(_) | NextWork::Complete | NextWork::NoLoop => {
                return self.wants_to_stop(session);
            }
        };
        let history = &self.disk.ledger;
        let due: Vec<Attempt> =
            due.into_iter().filter(|opened| history.reported(&opened.id).is_none()).collect();
        if due.is_empty() {
            return Ok(true);
        }
        let opened =
            due[self.chance.below(u32::try_from(due.len()).expect("few")) as usize].clone();
        if self.disk.ledger.delegations(&opened.id) >= MAX_DELEGATIONS {
            self.given_out_in_vain(&opened)?;
            return Ok(true);
        }
        let soul = soul_of(&opened.key);
        let history = &self.disk.ledger;
        // An executor whose attempt has its verdict works for nobody.
        let is_over = |call: &Call| {
            let attempt = history.called(&call.tool_use_id);
            attempt.is_none_or(|attempt| history.has_verdict(&attempt.id))
        };
        let is_it =
            |call: &Call| !call.is_disowned && !is_over(call) && soul_of(&call.opened.key) == soul;
        let is_worked = session.calls.iter().any(is_it);
        let calls = self.disk.ledger.calls_at_work();
        let is_refused = calls.iter().any(|call| call.task.id == opened.key.id);
        promise!(is_refused || !is_worked, "two executors work on {soul}");
        if is_refused {
            // Of a call that a person broke off the host tells nobody, until
            // somebody types something.
            if !is_worked {
                self.person_types(session)?;
            }
            return Ok(true);
        }
        session.made += 1;
        session.is_a_persons_turn = false;
        let tool_use_id = format!("{}-{}", session.id, session.made);
        self.story(format!("the coordinator calls {}", opened.key.id));
        let (task, attempt) = (opened.key.clone(), opened.number);
        let entry = Entry::Delegated { task, attempt, tool_use_id: tool_use_id.clone() };
        let written = self.record(entry);
        if took_effect(&written) {
            self.truth.tasks.at_work.insert(soul);
        }
        written?;
        session.calls.push(Call { opened, tool_use_id, is_disowned: false });
        self.agent_meddles("the executor")?;
        Ok(true)
    }

    /// A task was given out again and again, and nobody came back.
    fn given_out_in_vain(&mut self, opened: &Attempt) -> Result<(), Halt> {
        self.judge_finished()?;
        let why = Some(format!("task {} never came back", opened.key.id));
        self.happen(Event::Pause { why: why.clone() }, Entry::Paused { why, branch: None })
    }

    /// Something is typed: no call is under way any more.
    fn person_types(&mut self, session: &mut Session) -> Result<(), Halt> {
        self.story("a person types something".into());
        session.is_a_persons_turn = true;
        session.sent_back = false;
        session.calls.clear();
        self.lock()?;
        let calls: Vec<_> = self
            .disk
            .ledger
            .calls_at_work()
            .iter()
            .map(|call| (call.task.clone(), call.tool_use_id.to_owned()))
            .collect();
        for (task, tool_use_id) in calls {
            self.record(Entry::Returned { task, tool_use_id })?;
        }
        Ok(())
    }

    /// A call comes back, or does not.
    fn a_call_ends(&mut self, session: &mut Session) -> Result<bool, Halt> {
        let at = self.chance.below(u32::try_from(session.calls.len()).expect("few")) as usize;
        let call = session.calls.remove(at);
        if !self.fair && self.chance.once_in(6) {
            self.story(format!("the call for {} is lost", call.opened.key.id));
            self.lock()?;
            let calls = self.disk.ledger.calls_at_work();
            let lost = calls.iter().find(|at_work| at_work.tool_use_id == call.tool_use_id);
            let lost = lost.map(|lost| (lost.task.clone(), lost.tool_use_id.to_owned()));
            // Sometimes the host tells, sometimes nobody does.
            if let Some((task, tool_use_id)) = lost.filter(|_| self.chance.once_in(2)) {
                self.record(Entry::Returned { task, tool_use_id })?;
            }
            return Ok(true);
        }
        let act = if self.fair { Act::Good } else { Act::random(&mut self.chance) };
        if self.executor_ends(&call.opened, act)? {
            session.calls.push(call);
        }
        Ok(true)
    }

    /// `specum hook subagent-stop`: whether the executor is sent back.
    fn executor_ends(&mut self, opened: &Attempt, act: Act) -> Result<bool, Halt> {
        self.lock()?;
        let Some(state) = self.state() else { return Ok(false) };
        let mut opened = opened.clone();
        opened.key = self.disk.ledger.key_now(&opened);
        if !self.disk.ledger.is_open(&opened.id) {
            return Ok(false);
        }
        let said = said(&opened, act);
        let (task, attempt) = (opened.key.clone(), opened.number);
        let written = self.record(Entry::Reported { task, attempt, result: said.clone() });
        if took_effect(&written) {
            self.acts.insert(soul_of(&opened.key), act);
        }
        written?;
        if state.parallel_group.is_some() {
            self.judge_reported()?;
            return Ok(false);
        }
        let exam = self.examine(&opened, act)?;
        let ended = self.end(&opened, &Ending::Executor { said: &said, act, exam })?;
        Ok(ended == Outcome::SentBack)
    }

    /// Judges the attempts that have reported: once the last of a batch has, or
    /// when the judge before was cut off.
    fn judge_reported(&mut self) -> Result<(), Halt> {
        let Some((state, text)) = self.view_on_record()? else { return Ok(()) };
        let file = TaskFile::scan(&text);
        let open: Vec<Attempt> = match machine::unit(&state, &file, &self.scope()) {
            Unit::Sequential(index) | Unit::Verify(index) if state.parallel_group.is_none() => {
                let key = file.tasks[index].key();
                self.disk.ledger.open_attempt(&key).into_iter().collect()
            }
            _ => self.running(&state, &file),
        };
        let history = &self.disk.ledger;
        let reports: Option<Vec<(Attempt, String)>> = open
            .into_iter()
            .map(|opened| {
                let result = history.reported(&opened.id)?.to_owned();
                Some((opened, result))
            })
            .collect();
        for (opened, said) in reports.unwrap_or_default() {
            self.judge_report(&opened, &said)?;
        }
        Ok(())
    }

    /// Judges those that have reported, although others will not.
    fn judge_finished(&mut self) -> Result<(), Halt> {
        let Some((state, text)) = self.view_on_record()? else { return Ok(()) };
        for opened in self.running(&state, &TaskFile::scan(&text)) {
            let said = self.disk.ledger.reported(&opened.id).map(str::to_owned);
            if let Some(said) = said {
                self.judge_report(&opened, &said)?;
            }
        }
        Ok(())
    }

    /// State and plan under the same names, without ticks that nothing is behind.
    fn view_on_record(&mut self) -> Result<Option<(State, Vec<u8>)>, Halt> {
        self.lock()?;
        let reviewed = self.review(self.state())?;
        let unticks: Vec<TaskEdit> = reviewed.unproved.into_iter().map(TaskEdit::Untick).collect();
        let text = TaskEdit::apply_all(&unticks, &self.disk.tasks);
        Ok(reviewed.state.map(|state| (state, text)))
    }

    fn judge_report(&mut self, opened: &Attempt, said: &str) -> Result<(), Halt> {
        self.complete_commits()?;
        let act = self.acts.get(&soul_of(&opened.key)).copied().unwrap_or(Act::Death);
        let exam = self.examine(opened, act)?;
        self.end(opened, &Ending::Judgement { said, act, exam })?;
        Ok(())
    }

    fn running(&self, state: &State, file: &TaskFile<'_>) -> Vec<Attempt> {
        let pending = attempt::pending(state, file, &self.disk.ledger);
        pending.into_iter().filter_map(|(_, opened)| opened).collect()
    }

    /// Whether the session goes on.
    fn wants_to_stop(&mut self, session: &mut Session) -> Result<bool, Halt> {
        let stands = (self.disk.tasks.clone(), self.disk.state.clone());
        if session.seen.replace(stands.clone()) != Some(stands) {
            session.blocks = 0;
        }
        let claims = self.chance.once_in(4);
        let stake = if session.is_a_persons_turn { Stake::PersonsTurn } else { Stake::Asked };
        let output = self.stop(&session.id, session.sent_back, claims, stake)?;
        promise!(
            self.stop("somebody else", true, false, Stake::None)? == HookOutput::Silent,
            "a session that has nothing to do with the spec is held"
        );
        if !matches!(output, HookOutput::Block { .. }) {
            self.story(format!("session {} stops", session.id));
            return Ok(false);
        }
        promise!(!session.is_a_persons_turn, "a person's own turn may not end");
        session.blocks += 1;
        promise!(session.blocks <= MOST_BLOCKS, "a session that is stuck is not let go");
        session.sent_back = true;
        let done = TaskFile::scan(&self.disk.tasks).open().next().is_none();
        let done = done && self.truth.tasks.rogue.is_empty();
        // An index behind the boxes sends the session to `specum next` once more,
        // which ends the loop; so does a state that cannot be read.
        let has_ended =
            self.state().is_some_and(|state| Some(state.task_index) >= state.total_tasks);
        promise!(!done || !has_ended, "every box is ticked, and the session may not stop");
        // A person may type something, which begins another turn.
        if self.chance.once_in(5) {
            self.person_types(session)?;
        }
        Ok(true)
    }

    /// What the Stop hook says, and what it remembers.
    fn stop(
        &mut self,
        id: &str,
        active: bool,
        claims: bool,
        stake: Stake,
    ) -> Result<HookOutput, Halt> {
        let Some(bytes) = &self.disk.state else { return Ok(HookOutput::Silent) };
        let state = State::parse(bytes);
        let message = if claims { "ALL_TASKS_COMPLETE" } else { "so far" };
        let input = Input {
            cwd: "/p".into(),
            session_id: Some(id.to_owned()),
            stop_hook_active: active,
            last_message: Some(message.into()),
            ..Input::default()
        };
        let memory = self.disk.memory.as_deref().map(Memory::parse).unwrap_or_default();
        let (text, questions) = self.proved(state.as_ref().ok());
        let tasks = TaskFile::scan(&text);
        let holder = Holder::of(state.as_ref().ok(), &memory, Asker::Session(id), |_| true);
        let decision = stop::decide(&Scene {
            input: &input,
            spec: SpecName { name: "demo", path: "./specs/demo" },
            state: state.as_ref(),
            tasks: Some(&tasks),
            last_message: input.last_message.as_deref(),
            memory: &memory,
            host: None,
            now: "2026-01-01T00:00:00Z",
            holder: &holder,
            max_parallel: self.max_parallel,
            stake,
            questions: &questions,
            news: &[],
        });
        let blocks = matches!(decision.output, HookOutput::Block { .. });
        promise!(!blocks || decision.memory.is_some(), "a block that nobody remembers");
        if let Some(memory) = decision.memory {
            promise!(Memory::parse(&memory.render()) == memory, "the memory is not what it was");
            self.disk.memory = Some(memory.render());
        }
        Ok(decision.output)
    }

    /// The plan as it counts for the Stop hook, and what waits for a person.
    fn proved(&self, state: Option<&State>) -> (Vec<u8>, Vec<String>) {
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let is_reviewed = state.is_some_and(|state| state.has_reviewed(&file));
        if file.open().next().is_some() && is_reviewed {
            return (text, Vec::new());
        }
        let plan_record = PlanRecord::of(&self.disk.records);
        let unproved: Vec<TaskEdit> =
            plan_record.unproved(&file).into_iter().map(TaskEdit::Untick).collect();
        (TaskEdit::apply_all(&unproved, &text), plan_record.questions().collect())
    }
}

/// What an executor says at its end.
fn said(opened: &Attempt, act: Act) -> String {
    let word = opened.role.signal();
    match act {
        Act::Good | Act::FalseClaim => format!("done\n\n{word}\n"),
        Act::Contradiction => format!("It requires manual work.\n\n{word}\n"),
        _ => "I could not.".to_owned(),
    }
}

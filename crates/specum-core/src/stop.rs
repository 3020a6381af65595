//! May the agent stop?
//!
//! [`decide`] is one list of questions, asked in order; the first that applies
//! answers. Everything it needs is in the [`Scene`]; everything that is to
//! happen is in the [`Decision`].

use crate::authoring::{self, Planning};
use crate::completion;
use crate::digest::Digest;
use crate::guard::{self, Guard, Memory, Permit};
use crate::hook::{HookOutput, Host, Input};
use crate::machine::{self, Due};
use crate::owner::{Holder, Owner, Process};
use crate::plan::{Scope, Unit};
use crate::prompt::{self, DueTask, Notice, PlanPosition, SpecName};
use crate::state::{Corrupt, Driver, Phase, Standing, State, TaskResult};
use crate::tasks::{Mode, Task, TaskFile};
use crate::verify::Role;

/// All that is known when a session wants to stop.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// What the host said.
    pub input: &'a Input,
    /// The active spec.
    pub spec: SpecName<'a>,
    /// Its state file.
    pub state: Result<&'a State, &'a Corrupt>,
    /// Its tasks; `None` when there is no such file.
    pub tasks: Option<&'a TaskFile<'a>>,
    /// The agent's last message, from the input or the transcript.
    pub last_message: Option<&'a str>,
    /// What the hooks remember.
    pub memory: &'a Memory,
    /// The host's process.
    pub host: Option<&'a Process>,
    /// The time, in RFC 3339.
    pub now: &'a str,
    /// Who holds the spec, as this session asks.
    pub holder: &'a Holder,
    /// How many tasks of a group run at once.
    pub max_parallel: usize,
    /// What the session has to do with the loop.
    pub stake: Stake,
    /// What waits for a person's word about the plan.
    pub questions: &'a [String],
    /// What has just been judged, a line each.
    pub news: &'a [String],
}

/// What a session has to do with a loop that no one else holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stake {
    /// Another program began the loop: the session that is blocked first holds it.
    Unclaimed,
    /// The session has asked for its work.
    Asked,
    /// The session has, but a person opened this turn with words of their own,
    /// and no task was called in it.
    PersonsTurn,
    /// The session has never asked.
    None,
}

/// What a stop leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// For the host.
    pub output: HookOutput,
    /// For people who read logs.
    pub stderr: Vec<String>,
    /// To be written before the output is given: a block that cannot be
    /// remembered must not be made.
    pub memory: Option<Memory>,
}

impl Decision {
    fn silent() -> Self {
        Decision { output: HookOutput::Silent, stderr: Vec::new(), memory: None }
    }

    fn silent_but(line: String) -> Self {
        Decision { stderr: vec![line], ..Decision::silent() }
    }
}

/// Whether the agent may stop.
pub fn decide(scene: &Scene<'_>) -> Decision {
    if scene.holder.other().is_some() || scene.memory.is_newer_format() {
        return Decision::silent();
    }
    if scene.input.agents_running || scene.stake == Stake::None {
        return Decision::silent();
    }
    if let Ok(state) = scene.state
        && state.driver == Driver::RalphLoop
    {
        return scene.beside_the_ralph_loop(state);
    }
    if let Ok(state) = scene.state
        && state.phase != Phase::Execution
        && let Some(planning) = &state.planning
    {
        return scene.planning(state, planning);
    }
    let claimed = scene
        .last_message
        .is_some_and(|text| completion::says(text, completion::ALL_TASKS_COMPLETE));
    let any_open = scene.tasks.is_some_and(|file| !file.is_complete());
    // A loop from which a task was removed is not finished, whatever the boxes say.
    if claimed && !any_open && scene.questions.is_empty() {
        let spec = scene.spec.name;
        return Decision::silent_but(format!(
            "[ralph-specum] ALL_TASKS_COMPLETE detected, spec finished: {spec}"
        ));
    }
    if scene.stake == Stake::PersonsTurn {
        return scene.person_is_free();
    }
    let state = match scene.state {
        Ok(state) => state,
        // A newer specum works here; it is not ours to call that corrupt.
        Err(Corrupt::Newer(_)) => return Decision::silent(),
        Err(why) => return scene.corrupt(why),
    };
    if state.phase != Phase::Execution {
        return if state.quick_mode { scene.quick_mode(state) } else { Decision::silent() };
    }
    let total = state.total_tasks.or(scene.tasks.map(|file| file.tasks.len())).unwrap_or(0);
    let by_index = state.task_index < total;
    let all_ticked = scene.tasks.is_some_and(|file| !file.tasks.is_empty()) && !any_open;
    if (any_open || (by_index && !all_ticked)) && state.attempts_left() == 0 {
        return scene.capped(state);
    }
    if let Some(due) = machine::held(state) {
        return scene.waits(&due);
    }
    if !by_index && !any_open && scene.questions.is_empty() {
        return Decision::silent();
    }
    if scene.stake == Stake::Asked && scene.unit(state) == Unit::Complete {
        return scene.waits_for_a_person();
    }
    let notice = if claimed || !by_index { Notice::StillOpen } else { Notice::None };
    scene.continuation(state, notice)
}

impl Scene<'_> {
    fn session(&self) -> &str {
        self.input.session_id.as_deref().unwrap_or_default()
    }

    /// The memory with this session as the owner.
    fn claimed_memory(&self, guard: Guard) -> Memory {
        let session_id = self.session().to_owned();
        let seen = Some(self.now.to_owned());
        let blocked = Owner::Session { session_id, process: self.host.cloned(), seen };
        // A loop of ours is held by asking for its work, not by being blocked.
        let owner = match self.stake {
            Stake::Unclaimed => Some(blocked),
            Stake::Asked | Stake::PersonsTurn | Stake::None => self.memory.owner.clone(),
        };
        Memory { owner, released: None, guard, ..self.memory.clone() }
    }

    fn guard(&self) -> Guard {
        self.memory.guard.of(self.session())
    }

    /// What moves when the loop gets anywhere. Every attempt that ends moves the
    /// iterations; starting again, or asking what is due, moves nothing.
    fn fingerprint(&self, state: &State) -> String {
        let mut digest = Digest::of(state.phase.as_str().as_bytes())
            .with_number(state.task_index as u64)
            .with_number(state.task_iteration)
            .with_number(state.global_iteration);
        if let Some(planning) = state.planning.as_ref().filter(|_| state.phase != Phase::Execution)
        {
            for doc in planning.profile.docs() {
                let document = planning.document(*doc);
                let status = document.status.as_str().as_bytes();
                digest = digest.with(status).with_number(document.attempts);
            }
        }
        for task in self.tasks.map_or(&[][..], |file| &file.tasks) {
            digest = digest.with(if task.done { b"x" } else { b" " });
        }
        digest.hex()
    }

    fn corrupt(&self, why: &Corrupt) -> Decision {
        let mut guard = self.guard();
        if guard.corrupt >= guard::MAX_CORRUPT_BLOCKS {
            let path = self.spec.path;
            return Decision {
                output: HookOutput::Tell(format!(
                    "Ralph-specum: {path}/.ralph-state.json is still corrupt ({why}); letting the \
                     session stop. `specum implement` rebuilds it from tasks.md."
                )),
                ..Decision::silent()
            };
        }
        guard.corrupt += 1;
        guard.blocked_unasked();
        Decision {
            output: HookOutput::Block {
                reason: prompt::corrupt(self.input.host, self.spec, &why.to_string()),
                system_message: "Ralph-specum: corrupt state file".into(),
            },
            stderr: Vec::new(),
            memory: Some(self.claimed_memory(guard)),
        }
    }

    fn capped(&self, state: &State) -> Decision {
        let mut guard = self.guard();
        if guard.capped {
            return Decision::silent();
        }
        guard.capped = true;
        guard.blocked_unasked();
        let cap = state.max_global_iterations;
        Decision {
            output: HookOutput::Block {
                reason: prompt::capped(self.input.host, cap),
                system_message: format!("Ralph-specum: max iterations ({cap}) reached"),
            },
            stderr: vec![
                self.stopped_line(state, PlanPosition::of(state, &self.unit(state))),
                format!(
                    "[ralph-specum] ERROR: Maximum global iterations ({cap}) reached. \
                     Review .progress.md for failure patterns."
                ),
            ],
            memory: Some(self.claimed_memory(guard)),
        }
    }

    fn quick_mode(&self, state: &State) -> Decision {
        let phase = state.phase.as_str();
        self.guarded(
            state,
            Notice::None,
            |notice| prompt::quick_mode(self.spec, phase, notice),
            format!("Ralph-specum quick mode | phase {phase}"),
            Vec::new(),
        )
    }

    /// The documents of the spec are being written. A session goes on while one is due,
    /// and stops where a person is waited for.
    fn planning(&self, state: &State, planning: &Planning) -> Decision {
        let name = self.spec.name;
        let host = self.input.host;
        let tell = |text: String| Decision { output: HookOutput::Tell(text), ..Decision::silent() };
        let due = planning.due();
        if due == authoring::Due::Nothing {
            return Decision::silent();
        }
        if let Some(held) = machine::held(state) {
            return self.waits(&held);
        }
        match due {
            authoring::Due::Approve(doc) => {
                tell(prompt::planning::awaits_approval(host, name, doc))
            }
            authoring::Due::Fix(doc) => tell(prompt::planning::document_blocked(name, doc)),
            // Nobody has said that the work is to begin.
            authoring::Due::Start if !planning.quick => {
                tell(prompt::planning::plan_is_ready(host, name))
            }
            _ if self.stake == Stake::PersonsTurn => tell(prompt::planning::waits(host, name, due)),
            _ => {
                let news = self.news.join(" · ");
                let system_message = prompt::planning::message(name, due, &news);
                let reason = |notice| {
                    prompt::planning::continuation(host, self.spec, due, &system_message, notice)
                };
                self.guarded(state, Notice::None, reason, system_message.clone(), Vec::new())
            }
        }
    }

    /// The Ralph Loop sends its session back by itself, and believes every
    /// promise. So we speak up only where one is false.
    fn beside_the_ralph_loop(&self, state: &State) -> Decision {
        let said = self.last_message.unwrap_or_default();
        let has_promised = completion::promises(said);
        let waits = state.standing != Standing::Running || state.attempts_left() == 0;
        let any_open = self.tasks.is_some_and(|file| !file.is_complete());
        if !(has_promised || completion::says(said, completion::ALL_TASKS_COMPLETE))
            || !any_open
            || waits
            || state.phase != Phase::Execution
        {
            return Decision::silent();
        }
        self.guarded(
            state,
            Notice::StillOpen,
            |notice| prompt::false_promise(self.spec, self.tasks, has_promised, notice),
            format!("Ralph-specum: {} was called complete, and boxes are open", self.spec.name),
            Vec::new(),
        )
    }

    fn continuation(&self, state: &State, notice: Notice) -> Decision {
        let unit = self.unit(state);
        let place = PlanPosition::of(state, &unit);
        if self.input.host.works_itself() {
            let sent_back = |notice| self.sent_back(state, notice);
            let news = sent_back(notice).lines().next().unwrap_or_default().to_owned();
            let stderr = vec![self.stopped_line(state, place)];
            return self.guarded(state, notice, sent_back, news, stderr);
        }
        self.guarded(
            state,
            notice,
            |notice| prompt::continuation(self.spec, state, self.tasks, &unit, notice),
            prompt::system_message(state, place),
            vec![self.stopped_line(state, place)],
        )
    }

    fn person_is_free(&self) -> Decision {
        let text = loop_waits(self.input.host, self.spec.name, self.count());
        Decision { output: HookOutput::Tell(text), ..Decision::silent() }
    }

    /// The loop is paused or blocked.
    fn waits(&self, due: &Due) -> Decision {
        let name = self.spec.name;
        let line = format!("[ralph-specum] awaitingApproval=true, waiting for a person: {name}");
        let output = match self.input.host.works_itself() {
            true => HookOutput::Tell(format!("specum: {name}: {}", prompt::waiting(due))),
            false => HookOutput::Silent,
        };
        Decision { output, ..Decision::silent_but(line) }
    }

    fn waits_for_a_person(&self) -> Decision {
        let questions = self.questions.join("; ");
        match questions.is_empty() {
            true => Decision::silent(),
            false => Decision {
                output: HookOutput::Tell(format!("specum waits for you: {questions}")),
                ..Decision::silent()
            },
        }
    }

    /// Tasks that are done, and all of them.
    fn count(&self) -> (usize, usize) {
        self.tasks.map_or((0, 0), |file| (file.done_count(), file.count()))
    }

    fn unit(&self, state: &State) -> Unit {
        let scope = Scope::all(self.max_parallel);
        self.tasks.map_or(Unit::Complete, |file| machine::unit(state, file, &scope))
    }

    fn stopped_line(&self, state: &State, place: PlanPosition) -> String {
        format!(
            "[ralph-specum] Session stopped during spec: {} | Task: {}/{} | Attempt: {}",
            self.spec.name, place.number, place.total, state.task_iteration
        )
    }

    /// A block, if the guard gives leave.
    fn guarded(
        &self,
        state: &State,
        notice: Notice,
        reason: impl Fn(Notice) -> String,
        system_message: String,
        stderr: Vec<String>,
    ) -> Decision {
        let mut guard = self.guard();
        if state.driver == Driver::RalphLoop {
            // It has blocked every stop before this one: no stranger.
            guard.blocked_unasked();
        }
        let leave = guard.ask(self.input.stop_hook_active, &self.fingerprint(state));
        let notice = match leave {
            Permit::Block => notice,
            Permit::BlockStalled(times) => Notice::Stalled { times, most: guard::STALL_BLOCKS },
            Permit::NotOurs => {
                return Decision::silent_but(
                    "[ralph-specum] stop_hook_active=true and no block of ours: leaving this \
                     turn to the hook that made it"
                        .into(),
                );
            }
            Permit::LetStop => return self.give_up(guard),
        };
        let output = match self.stake {
            // A host that numbers its turns can be told without an error.
            Stake::Asked if self.input.turn_id.is_some() && !self.input.host.works_itself() => {
                let context = match state.driver {
                    Driver::Hook if state.phase == Phase::Execution => self.guidance(state, notice),
                    Driver::Hook | Driver::RalphLoop => reason(notice),
                };
                HookOutput::Guide { context, system_message }
            }
            _ => HookOutput::Block { reason: reason(notice), system_message },
        };
        Decision { output, stderr, memory: Some(self.claimed_memory(guard)) }
    }

    /// What sends a model back that does the work itself.
    fn sent_back(&self, state: &State, notice: Notice) -> String {
        let unit = self.unit(state);
        let task = self.tasks.zip(unit.tasks().first()).map(|(file, &at)| (file, &file.tasks[at]));
        let news = match self.news {
            [] => {
                let (done, total) = self.count();
                format!("{}: {done} of {total}", self.spec.name)
            }
            news => news.join(" · "),
        };
        prompt::sent_back(&news, task, notice)
    }

    /// Sends a coordinator back that has read all the rules before.
    fn guidance(&self, state: &State, notice: Notice) -> String {
        let unit = self.unit(state);
        let due: Vec<DueTask<'_>> = match self.tasks {
            Some(file) => unit.tasks().iter().map(|&at| due_task(state, &file.tasks[at])).collect(),
            None => Vec::new(),
        };
        prompt::guidance(self.spec, self.count(), &due, notice)
    }

    fn give_up(&self, guard: Guard) -> Decision {
        let planned = self.state.ok().filter(|state| state.phase != Phase::Execution);
        let due = planned.and_then(|state| state.planning.as_ref()).map(Planning::due);
        let open = match due {
            Some(authoring::Due::Author(doc)) => doc.file().to_owned(),
            _ => self.tasks.map_or_else(|| "unknown".into(), prompt::open_ids),
        };
        Decision {
            output: HookOutput::Tell(format!(
                "Ralph-specum: nothing has moved in spec {} since the last stops, so the session \
                 may stop. Open: {open}. Resume with {}`specum next`; `specum status` shows where \
                 it stands.",
                self.spec.name,
                if self.input.host.works_itself() { "" } else { "/ralph-specum:implement or " }
            )),
            stderr: Vec::new(),
            memory: Some(self.claimed_memory(guard)),
        }
    }
}

/// The line for a person who is free to go while a loop waits.
pub fn loop_waits(host: Host, name: &str, (done, total): (usize, usize)) -> String {
    let (goes_on, ends) = match host.works_itself() {
        true => (format!("\"Work on the spec {name}\""), "`specum cancel`"),
        false => ("/ralph-specum:implement".to_owned(), "/ralph-specum:cancel"),
    };
    format!(
        "specum: the loop of {name} waits, {done} of {total} tasks are done. {goes_on} goes on, \
         {ends} ends it."
    )
}

fn due_task<'t>(state: &State, task: &'t Task) -> DueTask<'t> {
    let name = task.name();
    let attempt = state.result_of(task).map_or(1, TaskResult::next_attempt);
    let role = if task.mode() == Mode::Verify { Role::QaEngineer } else { Role::Executor };
    DueTask { id: name, title: &task.title, role, attempt }
}

#[cfg(test)]
mod tests;

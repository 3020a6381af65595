//! A session of a host: its coordinator calls executors and wants to stop. The host
//! calls the program's own hooks, with what a real one tells them.

use std::path::Path;

use serde_json::{Value, json};
use specum_core::attempt::AttemptId;
use specum_core::guard;
use specum_core::machine::Start;
use specum_core::tasks::{Task, TaskFile};
use specum_engine::owner;
use specum_engine::session::Note;

use super::agents;
use super::launcher::AgentAtWork;
use super::plan::soul_of;
use super::world::{Halt, ROOT, World, promise};

/// More blocks in a row without anything having moved are a loop without end.
const MOST_BLOCKS: u32 = guard::MAX_UNMOVED_BLOCKS + guard::MAX_CORRUPT_BLOCKS + 1;

pub(crate) struct Session {
    id: String,
    pid: u32,
    /// The calls whose executors are at work.
    calls: Vec<Call>,
    /// How many calls it has made, and prompts it has had.
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
    at: AgentAtWork,
    attempt: Option<AttemptId>,
    /// Its task, whatever that is called by now.
    soul: String,
    tool_use_id: String,
    /// A person who resumes a loop says that nobody is at work.
    is_disowned: bool,
}

impl Session {
    /// A person lets the loop go on: calls that do not come back are forgotten.
    pub(crate) fn disown_calls(&mut self) {
        self.calls.iter_mut().for_each(|call| call.is_disowned = true);
    }

    /// A call for a task has ended: with it every call for that task is taken to be over,
    /// also one that was made after a person had let the loop go on.
    fn disown_calls_for(&mut self, soul: &str) {
        let same = self.calls.iter_mut().filter(|other| other.soul == soul);
        same.for_each(|other| other.is_disowned = true);
    }

    /// The tasks whose executors are at work for it, as far as anybody knows.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = &str> {
        let calls = self.calls.iter().filter(|call| !call.is_disowned);
        calls.map(|call| call.soul.as_str())
    }
}

impl World {
    /// A session takes the spec, as `/ralph-specum:implement` does.
    pub(crate) fn session_starts(&mut self, start: &Start) -> Result<(), Halt> {
        let pid = self.new_process();
        let id = format!("s{pid}");
        self.story(format!("session {id} starts"));
        self.programs.living.lock().expect("no holder panics").insert(pid);
        *self.programs.host.lock().expect("no holder panics") = Some(self.programs.process(pid));
        let start = start.clone();
        let started = self.at_once(|world| {
            let workspace = world.workspace();
            let owner = Some(owner::session(&world.ports, &id));
            let started = workspace.start(Start { owner, ..start });
            started.and_then(|_| Ok(Note::asked(&id, None, &workspace.spec)?))
        })?;
        self.truth.session = started.is_ok().then(|| id.clone());
        self.observe()?;
        if let Err(error) = started {
            self.story(format!("which is refused: {error}"));
            self.session_is_gone(pid);
            return Ok(());
        }
        self.session = Some(Session {
            id,
            pid,
            calls: Vec::new(),
            made: 0,
            is_a_persons_turn: false,
            sent_back: false,
            blocks: 0,
            seen: None,
        });
        Ok(())
    }

    fn session_is_gone(&mut self, pid: u32) {
        self.programs.living.lock().expect("no holder panics").remove(&pid);
        *self.programs.host.lock().expect("no holder panics") = None;
        self.truth.session = None;
    }

    /// The terminal is closed: the host tells so, or is killed.
    pub(crate) fn terminal_is_closed(&mut self) -> Result<(), Halt> {
        let Some(session) = self.session.take() else { return Ok(()) };
        if self.chance.once_in(2) {
            self.story(format!("session {} is killed", session.id));
            self.session_is_gone(session.pid);
            self.truth.living = false;
            self.truth.tasks.holder_is_gone();
            return Ok(());
        }
        self.session_ends(&session)
    }

    /// `specum hook session-end`.
    fn session_ends(&mut self, session: &Session) -> Result<(), Halt> {
        self.story(format!("session {} ends", session.id));
        let ended = self.hook(session, "session-end", &json!({"reason": "other"}));
        self.session_is_gone(session.pid);
        ended?;
        self.truth.living = false;
        self.truth.tasks.holder_is_gone();
        Ok(())
    }

    /// Lets the host call a hook, and gives what it answers.
    fn hook(
        &mut self,
        session: &Session,
        event: &'static str,
        told: &Value,
    ) -> Result<Value, Halt> {
        let mut input = json!({"session_id": session.id, "cwd": ROOT});
        for (name, value) in told.as_object().into_iter().flatten() {
            input[name] = value.clone();
        }
        let answer = self.in_process(move |ports| {
            specum::hook::answer(ports, event, input.to_string().as_bytes())
        })?;
        self.observe()?;
        let answer = answer.unwrap_or_default();
        Ok(serde_json::from_str(&answer).unwrap_or(Value::Null))
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
            false => self.session_ends(&session)?,
        }
        Ok(())
    }

    /// The coordinator calls an executor for some task.
    fn calls(&mut self, session: &mut Session) -> Result<bool, Halt> {
        let text = self.tasks();
        let open: Vec<String> = TaskFile::scan(&text).open().map(Task::name).collect();
        let asked = match open.first() {
            Some(first) => first.clone(),
            None => return self.wants_to_stop(session),
        };
        let answer = self.call(session, &asked)?;
        let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str();
        let Some(reason) = reason.map(str::to_owned) else { return Ok(true) };
        // What is due is told with the refusal.
        let due: Vec<String> = reason
            .split("`task ")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once('`')?.0.to_owned()))
            .collect();
        if due.is_empty() {
            if reason.contains("is being worked on by another call") && session.calls.is_empty() {
                // Of a call that a person broke off the host tells nobody, until somebody
                // types something.
                self.person_types(session)?;
            }
            return match reason.contains("another call") {
                true => Ok(true),
                false => self.wants_to_stop(session),
            };
        }
        let at = self.chance.below(u32::try_from(due.len()).expect("few")) as usize;
        self.call(session, &due[at])?;
        Ok(true)
    }

    fn call(&mut self, session: &mut Session, task: &str) -> Result<Value, Halt> {
        session.made += 1;
        let tool_use_id = format!("{}-{}", session.id, session.made);
        let input = json!({
            "tool_name": "Agent",
            "tool_use_id": tool_use_id,
            "tool_input": {"subagent_type": "ralph-specum:spec-executor", "prompt": format!("task {task}")},
        });
        let is_worked: Vec<String> = session.at_work().map(str::to_owned).collect();
        let answer = self.hook(session, "pre-tool-use", &input)?;
        let brief = answer["hookSpecificOutput"]["updatedInput"]["prompt"].as_str();
        let Some(brief) = brief.map(str::to_owned) else { return Ok(answer) };
        let at = AgentAtWork::with_brief(&brief, Path::new(ROOT));
        self.brief_is_right(&at)?;
        let attempt = at.marker.id.clone();
        let Some(key) = attempt.as_ref().and_then(|id| self.observer.key_of(id)) else {
            return Err(Halt::Broken(format!("{:?} is about no attempt", at.marker)));
        };
        let soul = soul_of(key);
        promise!(!is_worked.contains(&soul), "two executors work on {}", at.marker.task);
        self.story(format!("the coordinator calls {}", at.marker.task));
        session.is_a_persons_turn = false;
        let meta = json!({"toolUseId": tool_use_id}).to_string();
        self.disk.put(Path::new(&format!("/t/{tool_use_id}.meta.json")), meta.as_bytes());
        session.calls.push(Call { at, attempt, soul, tool_use_id, is_disowned: false });
        self.agent_meddles("the executor")?;
        Ok(answer)
    }

    /// Something is typed: no call is under way any more.
    fn person_types(&mut self, session: &mut Session) -> Result<(), Halt> {
        self.story("a person types something".into());
        session.is_a_persons_turn = true;
        session.sent_back = false;
        session.calls.clear();
        session.made += 1;
        let prompt_id = format!("p{}", session.made);
        self.hook(session, "submit", &json!({"prompt": "what is that?", "prompt_id": prompt_id}))?;
        Ok(())
    }

    /// A call comes back, or does not.
    fn a_call_ends(&mut self, session: &mut Session) -> Result<bool, Halt> {
        let at = self.chance.below(u32::try_from(session.calls.len()).expect("few")) as usize;
        let call = session.calls.remove(at);
        let post = json!({"tool_name": "Agent", "tool_use_id": call.tool_use_id,
            "tool_response": {"content": [{"type": "text", "text": "done"}]}});
        if !self.fair && self.chance.once_in(6) {
            self.story(format!("the call for {} is lost", call.at.marker.task));
            // Sometimes the host tells, sometimes nobody does.
            if self.chance.once_in(2) {
                self.hook(session, "post-tool-use", &post)?;
                session.disown_calls_for(&call.soul);
            }
            return Ok(true);
        }
        let act = self.draw_act();
        self.story(format!("the executor of {} ends: {act:?}", call.at.marker.task));
        self.works(&call.at, call.attempt.clone(), act);
        let answer = self.hook(
            session,
            "subagent-stop",
            &json!({
                "agent_type": "ralph-specum:spec-executor",
                "agent_transcript_path": format!("/t/{}.jsonl", call.tool_use_id),
                "last_assistant_message": agents::report(act, &call.at.marker.task, call.at.word),
            }),
        )?;
        if answer["decision"] == "block" {
            session.calls.push(call);
            return Ok(true);
        }
        session.disown_calls_for(&call.soul);
        self.hook(session, "post-tool-use", &post)?;
        Ok(true)
    }

    /// Whether the session goes on.
    fn wants_to_stop(&mut self, session: &mut Session) -> Result<bool, Halt> {
        let stands = (self.tasks(), self.state_bytes());
        if session.seen.replace(stands.clone()) != Some(stands) {
            session.blocks = 0;
        }
        let message = if self.chance.once_in(4) { "ALL_TASKS_COMPLETE" } else { "so far" };
        let told =
            json!({"stop_hook_active": session.sent_back, "last_assistant_message": message});
        let answer = self.hook(session, "stop", &told)?;
        let other =
            Session { id: "somebody else".into(), calls: Vec::new(), seen: None, ..*session };
        let strangers = self.hook(&other, "stop", &told)?;
        promise!(!is_block(&strangers), "a session that has nothing to do with the spec is held");
        if !is_block(&answer) {
            self.story(format!("session {} stops", session.id));
            return Ok(false);
        }
        promise!(!session.is_a_persons_turn, "a person's own turn may not end");
        session.blocks += 1;
        promise!(session.blocks <= MOST_BLOCKS, "a session that is stuck is not let go");
        session.sent_back = true;
        // A person may type something, which begins another turn.
        if self.chance.once_in(5) {
            self.person_types(session)?;
        }
        Ok(true)
    }

    /// Whether a task is being worked on, as far as a person is to know.
    pub(crate) fn is_worked_on(&self, soul: &str) -> bool {
        match (&self.run, &self.session) {
            (Some(_), _) => self.truth.tasks.at_work.contains(soul),
            (None, Some(session)) => session.at_work().any(|worked| worked == soul),
            (None, None) => false,
        }
    }
}

/// Whether a hook has sent the session back.
fn is_block(answer: &Value) -> bool {
    answer["decision"] == "block" || answer["hookSpecificOutput"]["additionalContext"].is_string()
}

//! A session of a host: it asks what is due, works, and wants to stop. The Stop
//! hook sends it back or lets it go.

use specum::attempt::Opened;
use specum_core::guard::{self, Memory};
use specum_core::hook::{Input, Output};
use specum_core::machine::Start;
use specum_core::owner::{Asker, Holder, Owner};
use specum_core::prompt::Spec;
use specum_core::state::State;
use specum_core::stop::{self, Scene};
use specum_core::tasks::TaskFile;

use super::agents::Act;
use super::work::{Ending, Next};
use super::world::{Halt, World, promise};

/// More blocks in a row without anything having moved are a loop without end.
const MOST_BLOCKS: u32 = guard::MAX_UNMOVED_BLOCKS + guard::MAX_CORRUPT_BLOCKS + 1;

pub(crate) struct Session {
    id: String,
    /// What it was given and has not finished.
    open: Vec<Opened>,
    /// Whether the turn goes on because a hook blocked a stop.
    sent_back: bool,
    /// Blocks since something moved.
    blocks: u32,
    /// What stood when it was last blocked.
    seen: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl World {
    /// A session takes the spec.
    pub(crate) fn session_starts(&mut self, start: &Start) -> Result<(), Halt> {
        let id = format!("s{}", self.disk.records.len());
        let owner = Some(Owner::Session { session_id: id.clone(), process: None, seen: None });
        self.story(format!("session {id} starts"));
        self.start(Start { owner, ..start.clone() })?;
        self.session =
            Some(Session { id, open: Vec::new(), sent_back: false, blocks: 0, seen: None });
        Ok(())
    }

    /// One step of the session.
    pub(crate) fn session_goes_on(&mut self) -> Result<(), Halt> {
        let Some(mut session) = self.session.take() else { return Ok(()) };
        let goes_on = match self.chance.below(4) {
            0 | 1 if !session.open.is_empty() => self.finish(&mut session)?,
            0..3 => self.ask_what_is_due(&mut session)?,
            _ => self.wants_to_stop(&mut session)?,
        };
        if goes_on {
            self.session = Some(session);
        }
        Ok(())
    }

    fn ask_what_is_due(&mut self, session: &mut Session) -> Result<bool, Halt> {
        // Whoever owns the spec is asked in the product; here it is the session.
        match self.open()? {
            Next::Work(opened) => {
                session.open = opened;
                Ok(true)
            }
            Next::Wait(_) | Next::Complete | Next::NoLoop => self.wants_to_stop(session),
        }
    }

    fn finish(&mut self, session: &mut Session) -> Result<bool, Halt> {
        let opened = session.open.remove(0);
        let act = if self.fair { Act::Good } else { Act::random(&mut self.chance) };
        let word = opened.role.signal();
        let said = match act {
            Act::Good | Act::FalseClaim => format!("done\n\n{word}\n"),
            Act::Contradiction => format!("It requires manual work.\n\n{word}\n"),
            _ => "I could not.".to_owned(),
        };
        self.end(&opened, &Ending::Judged { said: &said, act })?;
        Ok(true)
    }

    /// Whether the session goes on.
    fn wants_to_stop(&mut self, session: &mut Session) -> Result<bool, Halt> {
        let stands = (self.disk.tasks.clone(), self.disk.state.clone());
        if session.seen.replace(stands.clone()) != Some(stands) {
            session.blocks = 0;
        }
        let claims = self.chance.once_in(4);
        let output = self.stop(&session.id, session.sent_back, claims, true)?;
        promise!(
            self.stop("somebody else", true, false, false)? == Output::Silent,
            "a session that has nothing to do with the spec is held"
        );
        if !matches!(output, Output::Block { .. }) {
            self.story(format!("session {} stops", session.id));
            return Ok(false);
        }
        session.blocks += 1;
        promise!(session.blocks <= MOST_BLOCKS, "a session that is stuck is not let go");
        session.sent_back = true;
        let done = TaskFile::scan(&self.disk.tasks).open().next().is_none();
        // An index behind the boxes sends the session to `specum next` once more,
        // which ends the loop; so does a state that cannot be read.
        let has_ended =
            self.state().is_some_and(|state| Some(state.task_index) >= state.total_tasks);
        promise!(!done || !has_ended, "every box is ticked, and the session may not stop");
        // A person may type something, which begins another turn.
        if self.chance.once_in(5) {
            session.sent_back = false;
        }
        Ok(true)
    }

    /// What the Stop hook says, and what it remembers.
    fn stop(
        &mut self,
        id: &str,
        active: bool,
        claims: bool,
        is_owner: bool,
    ) -> Result<Output, Halt> {
        let Some(bytes) = &self.disk.state else { return Ok(Output::Silent) };
        let state = State::parse(bytes);
        if state.is_err() && !is_owner {
            // Nobody knows who owns what cannot be read, but for the memory.
            return Ok(Output::Silent);
        }
        let message = if claims { "ALL_TASKS_COMPLETE" } else { "so far" };
        let input = Input {
            cwd: "/p".into(),
            session_id: Some(id.to_owned()),
            stop_hook_active: active,
            last_message: Some(message.into()),
            ..Input::default()
        };
        let memory = self.disk.memory.as_deref().map(Memory::parse).unwrap_or_default();
        let tasks = TaskFile::scan(&self.disk.tasks);
        let holder = Holder::of(state.as_ref().ok(), &memory, Asker::Session(id), |_| true);
        let decision = stop::decide(&Scene {
            input: &input,
            spec: Spec { name: "demo", path: "./specs/demo" },
            state: state.as_ref(),
            tasks: Some(&tasks),
            last_message: input.last_message.as_deref(),
            memory: &memory,
            host: None,
            now: "2026-01-01T00:00:00Z",
            holder: &holder,
            max_parallel: self.max_parallel,
        });
        let blocks = matches!(decision.output, Output::Block { .. });
        promise!(!blocks || decision.memory.is_some(), "a block that nobody remembers");
        if let Some(memory) = decision.memory {
            promise!(Memory::parse(&memory.render()) == memory, "the memory is not what it was");
            self.disk.memory = Some(memory.render());
        }
        Ok(decision.output)
    }
}

//! Whether a command is a person's word.
//!
//! Some things are a person's to say: that a task is done without a check,
//! that a change of the plan is right, that a blocked loop may go on. An agent
//! has a shell too, so such a verb wants a proof: it was typed as a slash
//! command, or as a whole message, in a host's session, at a terminal that belongs to no
//! host and no run, or in a browser by a link that such a terminal was shown. A session or a terminal that was started by an agent
//! of a run, or by a session that works on a loop, proves nothing: a model wrote what was
//! typed there. That stops accidents and habits, and no model that sets out to forge a
//! terminal.

use std::io::{self, IsTerminal};

use specum_core::agent::SESSION_MARKS;
use specum_core::journal::{Source, Via};
use thiserror::Error;

use crate::ports::World;
use crate::process;
use crate::session;

/// The variables that a run gives its agents.
const RUN_MARKS: [&str; 2] = [process::MARK, "SPECUM_ATTEMPT"];

/// How a command line came here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// As a slash command in a host's session, whose hook saw it.
    InSession,
    /// By the web view, with a link that may act. Whoever serves it has checked that.
    Web,
    /// Any other way.
    Here,
}

/// A verb that is a person's was called without a proof that a person did.
#[derive(Debug, Error)]
#[error("`specum {verb}` is a person's to say. {how} a terminal of your own, outside of any agent")]
pub struct NotAPerson {
    verb: &'static str,
    how: String,
}

impl NotAPerson {
    fn to_say(verb: &'static str) -> NotAPerson {
        let how = match session::host() {
            _ if verb == "run" => "Run it in".into(),
            Some(host) if host.works_itself() => {
                format!("Type `specum {verb} …` as a message of its own, or run it in")
            }
            _ => format!("Type /ralph-specum:{verb} in the session, or run it in"),
        };
        NotAPerson { verb, how }
    }
}

/// Refuses a verb that does not come from a person; else tells how it came.
pub fn require(world: &World, verb: &'static str, typed: Door) -> Result<Source, NotAPerson> {
    let way = proof(world, verb, typed, at_a_terminal).ok_or_else(|| NotAPerson::to_say(verb))?;
    Ok(Source::person(way))
}

/// The same for a verb that reads a text from its standard input, which may be a pipe.
pub fn require_with_input(
    world: &World,
    verb: &'static str,
    typed: Door,
) -> Result<Source, NotAPerson> {
    let at_a_terminal =
        || io::stdout().is_terminal() && io::stderr().is_terminal() && !is_an_agents_shell();
    let way = proof(world, verb, typed, at_a_terminal).ok_or_else(|| NotAPerson::to_say(verb))?;
    Ok(Source::person(way))
}

/// Who says a verb that anybody may say.
pub fn who(world: &World, verb: &str, typed: Door) -> Source {
    match proof(world, verb, typed, at_a_terminal) {
        Some(way) => Source::person(way),
        None if is_an_agents_shell() => Source::agent(),
        None => Source::default(),
    }
}

/// The way that proves a person's word, if one does.
fn proof(
    world: &World,
    verb: &str,
    typed: Door,
    at_a_terminal: impl FnOnce() -> bool,
) -> Option<Via> {
    if is_below_a_run() || is_below_another_session(world, session::of_any_host(world).as_deref()) {
        return None;
    }
    let by_link = (typed == Door::Web).then_some(Via::Web);
    let by_command = (typed == Door::InSession).then_some(Via::Command);
    let by_message = || by_message(world, verb).then_some(Via::Prompt);
    let at_a_terminal = || at_a_terminal().then_some(Via::Terminal);
    by_link.or(by_command).or_else(by_message).or_else(at_a_terminal)
}

/// Whether an agent of a run has started this process, or the session around it.
fn is_below_a_run() -> bool {
    RUN_MARKS.iter().any(|mark| std::env::var_os(mark).is_some())
}

/// The way by which a person says what a hook of this session has seen: typed, or chosen
/// in a dialog. Nothing if a run, or another session, has started it, because a model may
/// have typed it then.
pub fn says_in_session(world: &World, session_id: &str, way: Via) -> Option<Source> {
    (!is_below_a_run() && !is_below_another_session(world, Some(session_id)))
        .then(|| Source::person(way))
}

/// Whether a session that is not this one has started the host, or the terminal, around
/// this process. Where processes have no names that cannot be told.
fn is_below_another_session(world: &World, own: Option<&str>) -> bool {
    let Some(host) = world.launcher.host() else { return false };
    let ancestors = process::ancestors();
    let above = ancestors.iter().skip_while(|ancestor| **ancestor != host).skip(1);
    // A host may start its own commands through a program in between.
    let mut sessions = above.filter_map(|ancestor| session::session_of(world, ancestor));
    sessions.any(|session| own != Some(session.as_str()))
}

/// Whether somebody has typed this very command as a whole message in the
/// session that runs it now. It counts once.
fn by_message(world: &World, verb: &str) -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_the_verb = words.first().is_some_and(|word| word == verb);
    let session = session::of_any_host(world).filter(|_| is_the_verb);
    session.is_some_and(|id| session::take_typed(world, &id, &words))
}

/// Whether both sides are a terminal, and neither a host's nor a run's.
pub fn at_a_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_an_agents_shell()
}

/// Whether a host or a run has started this process, as far as it says so.
pub fn is_an_agents_shell() -> bool {
    is_below_a_run() || SESSION_MARKS.iter().any(|mark| std::env::var_os(mark).is_some())
}

//! Notices for a person who is not watching a run: a command of their own is called.
//!
//! The text reaches it by its environment and on its standard input, never in a command
//! line. It has ten seconds, and what it leaves is ended with it. A failure is told, and
//! is nobody else's.

use std::sync::Arc;

use specum_core::coordinate::agents::Millis;
use specum_core::event::Outcome;
use specum_core::journal::Entry;
use specum_core::notice::{LONG_WAIT, Message, Notice};
use specum_core::state::Standing;
use specum_core::verify::ProcessEnd;

use super::Options;
use crate::attempt::Workspace;
use crate::project::Spec;
use crate::store::Store;

/// How a person is notified.
#[derive(Debug, Clone)]
pub struct Notify {
    /// A shell command.
    pub command: String,
    /// What it is started for.
    pub on: Vec<Notice>,
}

impl Notify {
    /// Tells it; why that failed, if it did.
    pub fn tell(&self, spec: &Spec, message: &Message) -> Result<(), String> {
        let run = spec.world.launcher.notify(&self.command, &spec.root, message);
        if run.succeeded() {
            return Ok(());
        }
        let how = match &run.ended {
            ProcessEnd::TimedOut(seconds) => format!("did not end within {seconds} s"),
            ProcessEnd::Code(code) => format!("ended with code {code}"),
            ProcessEnd::Signal(signal) => format!("ended by signal {signal}"),
            ProcessEnd::NotStarted(why) => why.clone(),
        };
        let output = String::from_utf8_lossy(&run.output);
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Err(format!("the notify command {how}: {}", last.trim())
            .trim_end_matches([':', ' '])
            .to_owned())
    }

    /// The message of a test.
    pub fn test_message(spec: &Spec) -> Message {
        let text = "a test of your notify command; a run would say here what it needs";
        Message::new(Notice::Complete, &spec.name, text, &spec.root.display().to_string())
    }

    fn wants(&self, message: &Message) -> bool {
        self.on.contains(&message.event)
    }
}

/// Tells how a run has ended.
pub(super) fn tell_end(workspace: &Workspace, options: &Options, outcome: &Outcome) {
    let Some(notify) = &options.notify else { return };
    let Ok(view) = workspace.store.read() else { return };
    let counts = (view.file().done_count(), view.file().count());
    let waits = view.state.as_ref().and_then(|state| match &state.standing {
        Standing::Paused(why) => why.clone(),
        Standing::Running | Standing::Blocked(_) => None,
    });
    let project = workspace.spec.root.display().to_string();
    let name = &workspace.spec.name;
    let message = Message::of_outcome(outcome, waits.as_deref(), counts, name, &project);
    if let Some(message) = message.filter(|message| notify.wants(message)) {
        tell(notify, &workspace.spec, &workspace.store, &message);
    }
}

/// Tells of a wait that is worth it, while the run goes on.
pub(super) fn tell_wait(
    workspace: &Workspace,
    options: &Options,
    (agent, millis, why): (&str, Millis, &str),
) {
    let Some(notify) = options.notify.clone().filter(|_| millis >= LONG_WAIT) else { return };
    let (spec, store) = (workspace.spec.clone(), workspace.store.clone());
    let text = format!("waits {} min for {agent}: {why}", millis.div_ceil(60_000));
    let project = spec.root.display().to_string();
    let message = Message::new(Notice::Waiting, &spec.name, &text, &project);
    if notify.wants(&message) {
        let notify = Arc::new(notify);
        // Without a thread there is no notice; the journal has the wait.
        let _ = std::thread::Builder::new().spawn(move || tell(&notify, &spec, &store, &message));
    }
}

fn tell(notify: &Notify, spec: &Spec, store: &Store, message: &Message) {
    if let Err(text) = notify.tell(spec, message) {
        let _ = store.lock().and_then(|locked| locked.record(Entry::Warning { text }));
    }
}

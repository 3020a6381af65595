//! The port to programs, by processes of this system.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use specum_core::agent::Call;
use specum_core::notice::Message;
use specum_core::owner::{PidSpace, Process};
use specum_core::tasks::{Command as CheckCommand, Program};
use specum_core::verify::ProcessEnd;

use super::{Chunk, Handle, Log, Run, StreamEnd};
use crate::files::{self, FileError};
use crate::ports::Launcher;

/// How long `worktree_setup` may take: it may install dependencies.
const SETUP_LIMIT: Duration = Duration::from_secs(30 * 60);
/// How long a command may take that tells a person something.
const NOTICE_LIMIT: Duration = Duration::from_secs(10);
/// The variable that tells `worktree_setup` where the user's tree is.
const PROJECT: &str = "SPECUM_PROJECT";

/// Processes of this system.
pub struct LocalLauncher;

impl Launcher for LocalLauncher {
    fn find(&self, root: &Path, name: &str) -> Program {
        super::program(root, name)
    }

    fn check(&self, command: &CheckCommand, dir: &Path, time: Duration) -> Run {
        super::check(command, dir, time)
    }

    fn syntax(&self, command: &CheckCommand) -> Option<String> {
        super::syntax(command)
    }

    fn set_up(&self, command: &str, worktree: &Path, project: &Path) -> Run {
        let project = (PROJECT, project.as_os_str());
        super::shell_with(command, worktree, SETUP_LIMIT, &[project])
    }

    fn notify(&self, command: &str, project: &Path, message: &Message) -> Run {
        let mut shell = Command::new("sh");
        // By the environment and on standard input: nothing of it is ever part of a command.
        shell.arg("-c").arg(command).current_dir(project);
        shell.env("SPECUM_EVENT", message.event.name()).env("SPECUM_SPEC", &message.spec);
        shell.env("SPECUM_TITLE", &message.title).env("SPECUM_TEXT", &message.text);
        shell.env(PROJECT, &message.project);
        let input = serde_json::to_vec(message).expect("plain data is JSON");
        super::run(shell, &input, super::others(NOTICE_LIMIT))
    }

    fn run_agent(
        &self,
        call: &Call,
        root: &Path,
        log: &Path,
        handle: &Handle,
        read: &mut dyn FnMut(Chunk<'_>),
    ) -> StreamEnd {
        let mut command = Command::new(&call.program);
        command.args(&call.args).current_dir(root);
        call.unset.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(call.env.iter().map(|(name, value)| (name, value)));
        let log = match files::open_own(log, File::options().read(true).write(true)) {
            Ok(file) => Arc::new(Log::new(file)),
            Err(error) => {
                let why = FileError::new("write", log, error).to_string();
                return StreamEnd { ended: ProcessEnd::NotStarted(why), stderr: Vec::new() };
            }
        };
        super::stream(command, &call.stdin, &log, handle, read)
    }

    fn end_everything(&self) {
        super::end_everything();
    }

    fn begin_run(&self, spec: &Path) {
        super::begin_run(spec);
    }

    fn end_survivors(&self, spec: &Path, waits: &dyn Fn(u32)) {
        super::end_survivors(spec, waits);
    }

    fn when_interrupted(&self, listener: Box<dyn FnOnce() + Send>) {
        super::tell_when_interrupted(listener);
    }

    fn refuse_without_temporaries(&self) -> Result<(), FileError> {
        super::refuse_without_temporaries()
    }

    fn me(&self) -> Process {
        super::me()
    }

    fn host(&self) -> Option<Process> {
        super::host()
    }

    fn space(&self) -> &PidSpace {
        super::space()
    }

    fn is_alive(&self, process: &Process) -> Option<bool> {
        super::is_alive(process)
    }
}

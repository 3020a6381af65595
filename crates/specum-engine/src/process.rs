//! Other programs: the only module that starts them.
//!
//! A command runs in a process group of its own and, unless it is known to ask
//! nobody anything, in a session of its own, without a terminal. For that we
//! start ourselves, leave the session and become the command. When it ends, or
//! when its time is up, the whole group is ended; what it printed is kept within
//! bounds, and a pipe that some descendant holds open is not waited for.

mod detached;
mod launcher;
mod log;
mod stream;
mod tree;
mod workers;

use std::ffi::OsStr;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use specum_core::owner::{PidSpace, Process};
use specum_core::tasks::{Command as CheckCommand, Program, Shell};
use specum_core::verify::ProcessEnd;

use crate::files::FileError;
use crate::os;

pub use self::detached::{leave_session, start_detached};
pub use self::launcher::LocalLauncher;
pub use self::log::Log;
pub use self::stream::{Chunk, Handle, Replay, StreamEnd, replay, stream};
pub use self::tree::{
    LAUNCH, MARK, Terminal, WhenInterrupted, be_the_launcher, begin_run, clean_up_when_interrupted,
    code_of_signal, end_everything, end_survivors, git_at_work, interrupted_by, launch,
    remove_when_interrupted, tell_when_interrupted,
};

/// How much of a check's output is kept: its end.
const KEPT_OUTPUT: usize = 64 * 1024;
/// How long the pipes of an ended command are listened to.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The variables that say which repository git is to work in, instead of the one
/// where it is started.
const REPOSITORY: [&str; 10] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_QUARANTINE_PATH",
];

/// What a command left behind.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub ended: ProcessEnd,
    /// The end of its standard output.
    pub stdout: Vec<u8>,
    /// Whether the beginning of that is gone.
    pub cut: bool,
    /// The end of its standard output and error, as they came.
    pub output: Vec<u8>,
}

impl Run {
    /// Whether it ended with code 0.
    pub fn succeeded(&self) -> bool {
        self.ended == ProcessEnd::Code(0)
    }
}

/// What a command may use.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long it may run.
    pub time: Duration,
    /// How much of its output is kept: the end.
    pub output: usize,
    /// What an interruption means to it.
    pub when_interrupted: WhenInterrupted,
    /// Whether it can ask a person something.
    pub terminal: Terminal,
}

/// The end of a stream.
struct OutputTail {
    bytes: Vec<u8>,
    limit: usize,
    cut: bool,
}

impl OutputTail {
    fn shared(limit: usize) -> Arc<Mutex<OutputTail>> {
        Arc::new(Mutex::new(OutputTail { bytes: Vec::new(), limit, cut: false }))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.cut |= self.bytes.len() > self.limit;
        // Cut rarely, so that a long output is not moved byte by byte.
        if self.bytes.len() > 2 * self.limit {
            self.bytes.drain(..self.bytes.len() - self.limit);
        }
    }

    fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.drain(..bytes.len().saturating_sub(self.limit));
        bytes
    }
}

/// A program on PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| os::is_program(file))
}

/// What is known of a program that a command at `root` names.
fn program(root: &Path, name: &str) -> Program {
    let file = root.join(name);
    let is_path = name.contains('/');
    match if is_path { os::is_program(&file) } else { find_program(name).is_some() } {
        true => Program::Found,
        false if is_path && file.exists() => Program::NotExecutable,
        false => Program::Missing,
    }
}

/// Runs a command of a check at `dir`, for at most `time`: byte for byte, by the
/// shell that it asks for.
pub fn check(command: &CheckCommand, dir: &Path, time: Duration) -> Run {
    let option = match command.shell {
        Shell::Sh => None,
        Shell::ShBlock | Shell::BashBlock => Some("-e"),
    };
    let mut shell = shell_of(command);
    shell.args(option).arg("-c").arg(os::text(&command.text)).current_dir(dir);
    run(shell, &[], others(time))
}

fn shell_of(command: &CheckCommand) -> Command {
    Command::new(match command.shell {
        Shell::Sh | Shell::ShBlock => "sh",
        Shell::BashBlock => "bash",
    })
}

/// How long a shell may take to read a command.
const READING: Duration = Duration::from_secs(5);

/// Why a shell cannot read a command, in its own words. Nothing of it is run.
pub fn syntax(command: &CheckCommand) -> Option<String> {
    let mut shell = shell_of(command);
    shell.args(["-n", "-c"]).arg(os::text(&command.text));
    let run = run(shell, &[], others(READING));
    // A shell that is not there, or does not end, says nothing about the command.
    let ProcessEnd::Code(1 | 2) = run.ended else { return None };
    let said = String::from_utf8_lossy(&run.output).into_owned();
    let said = said.lines().find(|line| line.to_ascii_lowercase().contains("syntax error"))?;
    let at = said.to_ascii_lowercase().find("syntax error").unwrap_or_default();
    let why = said[at..].split_once(": ").map_or(&said[at..], |(_, why)| why);
    Some(why.trim().to_owned())
}

/// Runs a shell command at `dir`, for at most `time`, with something in its
/// environment.
pub fn shell_with(
    command: &str,
    dir: &Path,
    time: Duration,
    environment: &[(&str, &OsStr)],
) -> Run {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(dir).envs(environment.iter().copied());
    run(shell, &[], others(time))
}

/// The bounds of what others have written.
fn others(time: Duration) -> Bounds {
    let (when_interrupted, terminal) = (WhenInterrupted::End, Terminal::None);
    Bounds { time, output: KEPT_OUTPUT, when_interrupted, terminal }
}

/// Runs a command with `input` on its standard input.
pub fn run(command: Command, input: &[u8], bounds: Bounds) -> Run {
    let program = command.get_program().to_owned();
    tracing::debug!(?command, "runs");
    let mut command = tree::apart(command, bounds.terminal, bounds.when_interrupted);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let never = |ended| Run { ended, stdout: Vec::new(), cut: false, output: Vec::new() };
    match as_stdin(input) {
        Ok(input) => command.stdin(input),
        Err(error) => {
            let folder = std::env::temp_dir();
            let why = format!("the temporary folder {} cannot be used: {error}", folder.display());
            return never(ProcessEnd::NotStarted(why));
        }
    };
    let not_run =
        |error: &std::io::Error| never(ProcessEnd::NotStarted(why_not_started(&program, error)));
    let (child, mark) = match tree::start(&mut command, bounds.when_interrupted) {
        Ok(started) => started,
        Err(error) => return not_run(&error),
    };
    let pid = child.id();
    let stdout = OutputTail::shared(bounds.output);
    let output = OutputTail::shared(bounds.output);
    let (pipes, ended) = match listen_to(child, &stdout, &output) {
        Ok(listening) => listening,
        // A limit on processes counts threads too.
        Err(error) => {
            tree::end(pid);
            tree::give_up(pid);
            return not_run(&error);
        }
    };
    let in_time = ended.recv_timeout(bounds.time);
    let is_late = in_time.is_err();
    // Also after a normal end: what it left running would work on behind our
    // back. Ahead of waiting for it, which sets its number free.
    tree::end(pid);
    let child = in_time.or_else(|_| ended.recv_timeout(tree::LONGEST_DEATH));
    let status = match child {
        Ok(child) => Some(tree::wait(child)),
        Err(_) => {
            tree::give_up(pid);
            None
        }
    };
    if bounds.when_interrupted == WhenInterrupted::End {
        tree::end_left_by(mark.as_ref(), tree::running() == 0);
    }
    // Both readers hang up when their pipe closes.
    let _ = pipes.recv_timeout(LAST_WORDS);
    let taken = |tail: &Mutex<OutputTail>| tail.lock().expect("no reader panics").take();
    let cut = stdout.lock().expect("no reader panics").cut;
    let (stdout, output) = (taken(&stdout), taken(&output));
    let ended = match status {
        Some(Ok(status)) if !is_late => match tree::not_launched(status, &output) {
            Some(why) => ProcessEnd::NotStarted(why),
            None => os::how_it_ended(status),
        },
        Some(Err(error)) if !is_late => ProcessEnd::NotStarted(error.to_string()),
        _ => ProcessEnd::TimedOut(bounds.time.as_secs()),
    };
    tracing::debug!(process = pid, ?ended, "has ended");
    Run { ended, stdout, cut, output }
}

/// Keeps what a child prints, and tells when both its pipes are closed and when it
/// has ended.
fn listen_to(
    mut child: Child,
    stdout: &Arc<Mutex<OutputTail>>,
    output: &Arc<Mutex<OutputTail>>,
) -> std::io::Result<(Receiver<()>, Receiver<Child>)> {
    let (open, closed) = mpsc::channel::<()>();
    if let Some(pipe) = child.stdout.take() {
        drain(pipe, vec![Arc::clone(stdout), Arc::clone(output)], open.clone())?;
    }
    if let Some(pipe) = child.stderr.take() {
        drain(pipe, vec![Arc::clone(output)], open)?;
    }
    let (tell, ended) = mpsc::channel();
    tree::watch(child, move |child| {
        let _ = tell.send(child);
    })?;
    Ok((closed, ended))
}

/// Why a program could not be started.
fn why_not_started(program: &OsStr, error: &std::io::Error) -> String {
    let program = program.to_string_lossy();
    // The system does not say which of the two it has not found.
    let why = match find_program(&program) {
        Some(file) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("the interpreter that {} asks for is not there", file.display())
        }
        _ => error.to_string(),
    };
    format!("{program}: {why}")
}

/// An input that is there, to the last byte, before the command is. If we died
/// while we wrote to a pipe, git would take half a list of paths for the whole
/// of it, and an empty one for every path there is.
fn as_stdin(input: &[u8]) -> std::io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

/// Refuses where what git is told cannot be put down: found early, it costs no
/// agent.
pub fn refuse_without_temporaries() -> Result<(), FileError> {
    let failed = |error| FileError::new("use the temporary folder", &std::env::temp_dir(), error);
    as_stdin(b"specum").map(drop).map_err(failed)
}

/// Keeps from a command what says which repository is meant. A hook of git itself
/// may have started us, or a person in a shell that works on another one.
pub fn in_no_given_repository(command: &mut Command) {
    for name in REPOSITORY {
        command.env_remove(name);
    }
}

fn drain(
    mut pipe: impl Read + Send + 'static,
    tails: Vec<Arc<Mutex<OutputTail>>>,
    open: mpsc::Sender<()>,
) -> std::io::Result<()> {
    let listen = move || {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            for tail in &tails {
                tail.lock().expect("no reader panics").push(&buffer[..length]);
            }
        }
        drop(open);
    };
    workers::start(listen)
}

/// Whether a process of this [`space`] is still the one that was recorded;
/// `None` where a number does not prove it.
pub fn is_alive(process: &Process) -> Option<bool> {
    match start_of(process.pid) {
        None => os::ENDS_ARE_SEEN.then_some(false),
        // A later process may have the same number.
        Some(started) if started.is_empty() && process.started.is_empty() => None,
        Some(started) => Some(process.started.is_empty() || started == process.started),
    }
}

/// This process. Asked for once: a look at the system that fails must not make a
/// run a stranger to itself.
pub fn me() -> Process {
    static ME: OnceLock<Process> = OnceLock::new();
    ME.get_or_init(|| {
        let pid = std::process::id();
        let space = Some(space().clone());
        Process { pid, started: start_of(pid).unwrap_or_default(), space }
    })
    .clone()
}

/// Where the numbers of the processes that we see count. It stays what it was
/// when we started, even if the host is given another name: a run must know
/// itself again.
pub fn space() -> &'static PidSpace {
    static SPACE: OnceLock<PidSpace> = OnceLock::new();
    SPACE.get_or_init(|| PidSpace {
        host: os::host_name(),
        boot: os::boot(),
        namespace: os::pid_namespace(),
    })
}

/// The host that started this hook, if that is known.
pub fn host() -> Option<Process> {
    host_from(os::parent_of_self()?, os::stat)
}

/// Hosts run hooks directly or through a shell; the shell is gone before anybody
/// asks for it again. So where processes have no names, none is better than one
/// that may be a shell.
fn host_from(parent: u32, stat: impl Fn(u32) -> Option<os::Stat>) -> Option<Process> {
    let mut pid = parent;
    for _ in 0..3 {
        let os::Stat { name, parent, started } = stat(pid)?;
        if !matches!(name?.as_str(), "sh" | "bash" | "dash" | "zsh") {
            return Some(Process { pid, started, space: Some(space().clone()) });
        }
        pid = parent;
    }
    None
}

/// The processes above this one, the nearest first.
pub fn ancestors() -> Vec<Process> {
    const MOST: usize = 32;
    let mut found = Vec::new();
    let mut next = os::parent_of_self();
    while let Some((pid, stat)) = next.and_then(|pid| Some((pid, os::stat(pid)?))) {
        found.push(Process { pid, started: stat.started, space: Some(space().clone()) });
        next = Some(stat.parent).filter(|parent| *parent > 1 && found.len() < MOST);
    }
    found
}

fn start_of(pid: u32) -> Option<String> {
    os::stat(pid).map(|stat| stat.started)
}

/// Becomes the program that opens a file in the browser which the user has chosen, where
/// the system can do that.
pub fn open_in_browser(file: &Path) -> std::io::Result<()> {
    let (program, arguments) = os::OPENER;
    let mut command = Command::new(program);
    command.args(arguments).arg(file);
    let opened = hand_over(command).map(drop);
    opened.map_err(|error| std::io::Error::new(error.kind(), format!("{program}: {error}")))
}

/// The same beside us: whoever opens it is waited for by a thread of ours.
pub fn show_in_browser(file: &Path) -> std::io::Result<()> {
    let (program, arguments) = os::OPENER;
    let mut command = Command::new(program);
    command.args(arguments).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let named =
        |error: std::io::Error| std::io::Error::new(error.kind(), format!("{program}: {error}"));
    let mut child = command.spawn().map_err(named)?;
    std::thread::Builder::new().spawn(move || drop(child.wait())).map(drop)
}

/// Becomes another program, which has our input, our output and the terminal from then
/// on; where the system cannot do that, runs it to its end. Whatever the program is
/// interrupted with is its own affair.
pub fn hand_over(mut command: Command) -> std::io::Result<ExitStatus> {
    let error = os::turn_into(&mut command);
    if error.kind() == std::io::ErrorKind::Unsupported { command.status() } else { Err(error) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    fn here(command: &str) -> Run {
        check(&CheckCommand::plain(command), Path::new("/"), SOON)
    }

    #[test]
    fn output_and_end_are_reported() {
        let run = here("echo out; echo err >&2; exit 3");
        assert_eq!(run.ended, ProcessEnd::Code(3));
        assert_eq!(run.stdout, b"out\n");
        assert_eq!(run.output.len(), 8);
        assert_eq!(here("kill -9 $$").ended, ProcessEnd::Signal(9));
        assert!(here("pwd").succeeded());
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let run = run(Command::new("no-such-program-here"), &[], others(SOON));
        assert!(
            matches!(run.ended, ProcessEnd::NotStarted(why) if why.starts_with("no-such-program-here: "))
        );
    }

    /// The processes whose numbers a command has printed.
    fn printed(run: &Run) -> Vec<Process> {
        let text = String::from_utf8_lossy(&run.stdout);
        let numbers = text.split_whitespace().map(|pid| pid.parse().expect("a number"));
        numbers.map(|pid| Process { pid, started: String::new(), space: None }).collect()
    }

    /// Returns once a process is gone.
    fn is_gone_soon(process: &Process) {
        let end = Instant::now() + 2 * SOON;
        while is_alive(process) != Some(false) {
            assert!(Instant::now() < end, "process {} lives on", process.pid);
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn time_runs_out_for_the_whole_group() {
        let command = CheckCommand::plain("sleep 600 & echo $!; wait");
        let run = check(&command, Path::new("/"), Duration::from_millis(300));
        assert_eq!(run.ended, ProcessEnd::TimedOut(0));
        let [child] = printed(&run).try_into().unwrap();
        is_gone_soon(&child);
    }

    #[test]
    fn what_is_left_running_is_ended_and_a_pipe_that_is_held_open_not_waited_for() {
        // The first sleeper is in the group, the second has left it and keeps
        // the pipe: waiting for that would take ten minutes. The command ends
        // once the second one says, through a pipe of its own, that it is out.
        let run = here(
            "sleep 600 & echo $!; gate=$(mktemp -u); mkfifo $gate; \
             setsid sh -c 'echo $$; : > $0; exec sleep 600' $gate & cat $gate; rm $gate",
        );
        assert!(run.succeeded());
        let [inside, outside] = printed(&run).try_into().unwrap();
        is_gone_soon(&inside);
        assert_ne!(is_alive(&outside), Some(false));
        let pid = rustix::process::Pid::from_raw(i32::try_from(outside.pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn long_output_is_kept_within_bounds() {
        let run = here("yes 0123456789 | head -c 3000000");
        assert_eq!((run.stdout.len(), run.cut), (KEPT_OUTPUT, true));
        assert!(!here("echo short").cut);
        assert!(run.stdout.ends_with(b"0123456789\n012"));
    }

    #[test]
    fn a_process_is_alive_until_it_ends() {
        let me = me();
        // Elsewhere a number that is taken does not say by whom.
        let known = cfg!(target_os = "linux");
        assert_eq!(is_alive(&me), known.then_some(true));
        let before = Process { started: "1".into(), ..me };
        assert_eq!(is_alive(&before), Some(false));
        let mut child = Command::new("true").spawn().unwrap();
        let gone = Process { pid: child.id(), started: String::new(), space: None };
        child.wait().unwrap();
        assert_eq!(is_alive(&gone), Some(false));
    }

    #[test]
    fn the_host_is_behind_the_shell_and_nobody_where_processes_have_no_names() {
        let stat = |pid: u32| {
            let name = if pid == 9 { "sh" } else { "node" };
            Some(os::Stat { name: Some(name.into()), parent: 8, started: "5".into() })
        };
        let host = host_from(9, stat).unwrap();
        assert_eq!((host.pid, host.started.as_str()), (8, "5"));
        assert_eq!(host.space.as_ref(), Some(space()));
        let unseen = |_| Some(os::Stat { name: None, parent: 0, started: String::new() });
        assert_eq!(host_from(9, unseen), None);
    }
}

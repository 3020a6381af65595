//! A hermetic project for the real binary: own directory, own home, cleared
//! environment. Every test has one of its own.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};
use std::{env, iter, thread};

use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::terminal::{pseudo_terminal, read_to_the_end};
use crate::{PATIENCE, built};

/// The binary under test.
pub fn specum() -> PathBuf {
    built().join("specum")
}

/// The root of this repository.
pub fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..");
    fs::canonicalize(root).expect("the repository is there")
}

/// The plugin for Claude Code.
pub fn plugin() -> PathBuf {
    repository().join("crates/specum/marketplace/plugins/ralph-specum")
}

/// The files of `test-spec`.
pub const TASKS: &str = "specs/test-spec/tasks.md";
pub const STATE: &str = "specs/test-spec/.ralph-state.json";
pub const JOURNAL: &str = "specs/test-spec/.ralph-journal.jsonl";
pub const PROGRESS: &str = "specs/test-spec/.progress.md";

/// A project in a temporary directory.
pub struct World {
    _place: tempfile::TempDir,
    /// The project's root.
    pub root: PathBuf,
    pub home: PathBuf,
}

/// What a call of the binary left behind.
#[must_use = "look at what the binary said, or at its exit code"]
pub struct Call {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    /// An empty project: a `specs` directory and nothing in it.
    pub fn empty() -> World {
        World::at(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn at(place: tempfile::TempDir) -> World {
        let base = fs::canonicalize(place.path()).expect("it is there");
        let world = World { _place: place, root: base.join("project"), home: base.join("home") };
        fs::create_dir_all(world.root.join("specs")).expect("a new directory");
        fs::create_dir_all(&world.home).expect("a new directory");
        world
    }

    /// A project whose active spec `test-spec` has these tasks and is in
    /// execution.
    pub fn with_tasks(tasks: &str) -> World {
        let world = World::empty();
        world.write("specs/.current-spec", "test-spec\n");
        world.write(TASKS, tasks);
        world.state(&json!({
            "phase": "execution",
            "taskIndex": 0,
            "totalTasks": tasks.lines().filter(|line| line.starts_with("- [")).count(),
            "taskIteration": 1,
            "maxTaskIterations": 5,
        }));
        world
    }

    /// Another project with the same files, in memory where that is possible:
    /// for tests that need hundreds of them.
    pub fn copy(&self) -> World {
        fn copy(from: &Path, to: &Path) {
            fs::create_dir_all(to).expect("a new directory");
            for entry in fs::read_dir(from).expect("a directory").flatten() {
                let (from, to) = (entry.path(), to.join(entry.file_name()));
                if from.is_dir() {
                    copy(&from, &to);
                } else {
                    fs::copy(&from, &to).expect("a regular file");
                }
            }
        }
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let world = World::at(place.expect("a temporary directory"));
        copy(&self.root, &world.root);
        world
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A repository with a plan that nobody has begun.
    pub fn planned(tasks: impl AsRef<[u8]>) -> World {
        World::planned_as("test-spec", tasks)
    }

    /// The same for a spec of this name.
    pub fn planned_as(spec: &str, tasks: impl AsRef<[u8]>) -> World {
        let world = World::empty();
        world.write("specs/.current-spec", format!("{spec}\n"));
        world.write(&format!("specs/{spec}/tasks.md"), tasks);
        world.git_init();
        world
    }

    /// A repository with a loop over these tasks that has begun.
    pub fn started(tasks: &str) -> World {
        let world = World::planned(tasks);
        world.specum(&["implement"]).exits(0);
        world
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, content).expect("a file");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes the state of `test-spec`, long enough ago that a broken one is
    /// not taken for one that is just being written.
    pub fn state(&self, state: &Value) {
        self.raw_state(state.to_string());
    }

    pub fn raw_state(&self, bytes: impl AsRef<[u8]>) {
        self.write(STATE, bytes);
        let file = File::options().write(true).open(self.path(STATE)).expect("just written");
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("our own file");
    }

    /// Every file of the project with its content.
    pub fn snapshot(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn visit(dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() && !path.is_symlink() {
                    visit(&path, found);
                } else {
                    found.push((path.clone(), fs::read(&path).unwrap_or_default()));
                }
            }
        }
        let mut found = Vec::new();
        visit(&self.root, &mut found);
        found.sort();
        found
    }

    /// The binary, to be called in the project.
    pub fn command(&self) -> Command {
        self.program(specum())
    }

    /// Any program, to be called in the project.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Test")
            .env("GIT_AUTHOR_EMAIL", "test@example.invalid")
            .env("GIT_COMMITTER_NAME", "Test")
            .env("GIT_COMMITTER_EMAIL", "test@example.invalid")
            .current_dir(&self.root);
        command
    }

    /// Runs a verb from the shell of the session `test-session`.
    pub fn in_session(&self, args: &[&str]) -> Call {
        let mut command = self.command();
        command.args(args).env("CLAUDE_CODE_SESSION_ID", "test-session");
        call(command, b"")
    }

    /// Runs a verb as a person does, at a terminal; on success what it prints.
    #[track_caller]
    pub fn person(&self, args: &[&str]) -> String {
        let (shown, code) = self.person_gets(args);
        assert_eq!(code, Some(0), "{shown}");
        shown
    }

    /// The same, however it ends.
    pub fn person_gets(&self, args: &[&str]) -> (String, Option<i32>) {
        self.at_a_terminal(args, &[])
    }

    /// The same with something in the environment.
    pub fn at_a_terminal(
        &self,
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> (String, Option<i32>) {
        let mut command = self.command();
        command.args(args).envs(environment.iter().copied());
        at_a_terminal(command, true)
    }

    /// Calls a verb.
    pub fn specum(&self, args: &[&str]) -> Call {
        let mut command = self.command();
        command.args(args);
        call(command, b"")
    }

    /// Calls a verb with something on its standard input.
    pub fn specum_with(&self, args: &[&str], input: &[u8]) -> Call {
        let mut command = self.command();
        command.args(args);
        call(command, input)
    }

    /// A stop of the session `test-session`, as Claude Code reports it.
    pub fn stop(&self) -> Call {
        self.hook("stop", &json!({}))
    }

    /// A stop after an earlier block in the same turn.
    pub fn stop_again(&self) -> Call {
        self.hook("stop", &json!({"stop_hook_active": true}))
    }

    /// A hook with these fields over the usual ones; `null` takes one away.
    pub fn hook(&self, event: &str, fields: &Value) -> Call {
        let mut input = json!({
            "session_id": "test-session",
            "cwd": self.root,
            "stop_hook_active": false,
        });
        for (name, value) in fields.as_object().expect("an object of fields") {
            input[name] = value.clone();
        }
        input.as_object_mut().expect("it is one").retain(|_, value| !value.is_null());
        self.specum_with(&["hook", event], input.to_string().as_bytes())
    }

    /// Hands the result of a task to the judge.
    pub fn finish(&self, task: &str, result: &str) -> Call {
        self.specum_with(&["finish", task], result.as_bytes())
    }

    /// The state of `test-spec` as it stands.
    pub fn read_state(&self) -> Value {
        serde_json::from_str(&self.read(STATE)).expect("a state")
    }

    /// The records of this name in the journal of `test-spec`.
    pub fn journal(&self, event: &str) -> Vec<Value> {
        self.journal_of("test-spec", event)
    }

    /// How many there are.
    pub fn count(&self, event: &str) -> usize {
        self.journal(event).len()
    }

    /// The same records for another spec; none if nobody has worked on it.
    pub fn journal_of(&self, spec: &str, event: &str) -> Vec<Value> {
        let path = self.path(&format!("specs/{spec}/.ralph-journal.jsonl"));
        let journal = fs::read_to_string(path).unwrap_or_default();
        let record = |line| serde_json::from_str::<Value>(line).expect("a record");
        journal.lines().map(record).filter(|record| record["event"] == event).collect()
    }

    /// How many of this many stops in a row are blocked.
    pub fn blocks(&self, stops: usize, fields: &Value) -> usize {
        let blocked = |call: Call| {
            assert_eq!(call.code, Some(0), "{}", call.stderr);
            call.stdout.contains("\"decision\":\"block\"")
        };
        (0..stops).filter(|_| blocked(self.hook("stop", fields))).count()
    }

    /// Makes the project a repository with everything in it committed, but for
    /// a loop that has begun.
    pub fn git_init(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["config", "user.name", "Test"]);
        self.git(&["config", "user.email", "test@example.invalid"]);
        self.git(&["add", "--all", "--", ":/", ":(exclude,glob)**/.ralph-*"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    }

    /// Commits whatever is in the tree.
    pub fn commit_all(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", "prepared"]);
    }

    /// Makes a shell script a hook of git.
    pub fn git_hook(&self, name: &str, script: &str) {
        self.write(&format!(".git/hooks/{name}"), format!("#!/bin/sh\n{script}"));
        executable(&self.path(&format!(".git/hooks/{name}")));
    }

    /// Runs git in the project and gives its output.
    pub fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(&self.root)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .output()
            .expect("git is installed");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Runs a command with something on its standard input.
pub fn call(mut command: Command, input: &[u8]) -> Call {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    // In a thread: the binary may answer before it has read everything.
    let writer = thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer does not panic");
    Call {
        code: status.code(),
        stdout: String::from_utf8(stdout).expect("UTF-8 on stdout"),
        stderr: String::from_utf8(stderr).expect("UTF-8 on stderr"),
    }
}

/// What a command prints on a terminal.
pub fn on_a_terminal(command: Command) -> String {
    at_a_terminal(command, false).0
}

/// The same with its exit code, and perhaps with the terminal on both sides.
fn at_a_terminal(mut command: Command, both_sides: bool) -> (String, Option<i32>) {
    let (ours, theirs) = pseudo_terminal(24, 100);
    command.stdin(Stdio::null()).env("TERM", "xterm");
    if both_sides {
        command.stdin(theirs.try_clone().expect("a second handle"));
    }
    command.stdout(theirs.try_clone().expect("a second handle")).stderr(theirs);
    let mut child = command.spawn().expect("the binary starts");
    // The command holds the last ends of the other side, so that reading ends.
    drop(command);
    let mut shown = Vec::new();
    read_to_the_end(ours, |bytes| shown.extend_from_slice(bytes));
    let code = child.wait().expect("it ends").code();
    (String::from_utf8(shown).expect("UTF-8 on a terminal"), code)
}

impl Call {
    /// Asserts that a hook let the host go on without a word for it.
    #[track_caller]
    pub fn silent(&self) -> &Self {
        assert_eq!((self.stdout.as_str(), self.code), ("", Some(0)), "stderr: {}", self.stderr);
        self
    }

    /// The JSON on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// The reason of a block; asserts that it is one, with exactly the keys
    /// that every host accepts.
    #[track_caller]
    pub fn reason(&self) -> String {
        assert_eq!(self.code, Some(0));
        let answer = self.json();
        let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["decision", "reason", "systemMessage"]);
        assert_eq!(answer["decision"], "block");
        answer["reason"].as_str().expect("a text").to_owned()
    }

    /// The message to the person.
    #[track_caller]
    pub fn system_message(&self) -> String {
        self.json()["systemMessage"].as_str().expect("a text").to_owned()
    }

    /// Asserts that the agent may stop and the person is told something.
    #[track_caller]
    pub fn tells(&self) -> String {
        let answer = self.json();
        assert_eq!(answer.as_object().map(serde_json::Map::len), Some(1), "{answer}");
        self.system_message()
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(&self, code: u8) -> &Self {
        assert_eq!(self.code, Some(i32::from(code)), "{}{}", self.stdout, self.stderr);
        self
    }
}

/// A named pipe, which nobody will ever write to.
pub fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo is installed");
    assert!(made.success(), "mkfifo {}", path.display());
}

/// Lets a file be run.
pub fn executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file");
}

/// A PATH on which this directory is the first.
pub fn first_on_path(dir: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let all = iter::once(dir.to_owned()).chain(env::split_paths(&path));
    env::join_paths(all).expect("it was one before")
}

/// Whether there is a process with this number that has not ended.
pub fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// Returns when something has become true.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Opens a named pipe for writing as soon as somebody reads from it; whoever
/// waits there goes on when it is dropped.
#[track_caller]
pub fn gate(pipe: &Path) -> File {
    let without_waiting = i32::try_from(OFlags::NONBLOCK.bits()).expect("a small number");
    let open = || File::options().write(true).custom_flags(without_waiting).open(pipe);
    let mut held = None;
    until(&format!("a reader of {}", pipe.display()), || {
        held = open().ok();
        held.is_some()
    });
    let held: File = held.expect("a pipe that somebody reads");
    // What is written to it waits. It is not opened again: a reader that wanted no more than
    // to be let go may be gone.
    rustix::fs::fcntl_setfl(&held, OFlags::empty()).expect("an open pipe");
    held
}

/// Tells when somebody does something to a file.
#[cfg(target_os = "linux")]
pub struct Watch(rustix::fd::OwnedFd);

#[cfg(target_os = "linux")]
pub use rustix::fs::inotify::WatchFlags;

#[cfg(target_os = "linux")]
impl Watch {
    /// Watches for this from now on.
    pub fn on(path: &Path, what: WatchFlags) -> Watch {
        use rustix::fs::inotify;
        let events = inotify::init(inotify::CreateFlags::NONBLOCK).expect("inotify");
        inotify::add_watch(&events, path, what).expect("a file that is there");
        Watch(events)
    }

    #[track_caller]
    pub fn wait(&self) {
        until("somebody comes to a file", || rustix::io::read(&self.0, &mut [0; 4096]).is_ok());
    }
}

/// Says aloud that a test did not run, where it may be left out: not if
/// `variable` has this `value`, which promises that what it needs is there.
pub fn skipped(why: &str, variable: &str, value: &str) {
    // libtest names the thread after the test.
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let message = format!("SKIPPED: {test}: {why}");
    assert!(
        env::var_os(variable).is_none_or(|set| set != value),
        "{message}; not allowed with {variable}={value}"
    );
    announce(&message);
}

/// Tells the person at the terminal; `eprintln!` would be swallowed by libtest
/// unless the test fails.
pub fn announce(message: &str) {
    io::stderr().write_all(format!("{message}\n").as_bytes()).expect("stderr is open");
}

//! `specum run` on the real binary: killed anywhere, interrupted, in groups,
//! and beside others who want the same spec.
//!
//! The agents here are shell scripts: the built-in `script`, which runs the
//! block of the task, or a `command` that says what it does through named pipes.

/// Agents with children that hide.
mod children;

/// `kill -9` at every step.
mod crash;

/// Seen from another process namespace, host or run.
mod elsewhere;

/// Ended by others.
mod ended;

/// Seen from other terminals.
mod follow;

/// What keeps git from working, and what git is told.
mod ground;

/// Worktrees, and their way into the tree.
mod groups;

/// Beside a person who works in their tree.
mod isolate;

/// Files that somebody deletes.
mod lost_files;

/// File systems that are full.
mod no_room;

/// Who else wants the spec.
mod owner;

/// Everything killed at once.
mod power;

/// Repositories as people have them: hooks, an index that says more than the
/// files do, submodules, ignored specs.
mod repos;

/// The journals of earlier loops, and what goes when it is old.
mod retention;

/// Agents that harm the ground they stand on.
mod rough;

/// What leaves a tree, and where it is then.
mod safekeeping;

/// git as people have set it up.
mod settings;

/// Repositories of every shape, and files of every kind.
mod shapes;

/// Ctrl-C and its kin, `pause`, `cancel`, and `kill -9` with agents at work.
mod signals;

/// With a person's terminal in reach.
mod terminals;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::world::{Call, JOURNAL, PROGRESS, TASKS, World, call, fifo};

/// A repository with a plan that nobody has begun.
fn planned(tasks: &str) -> World {
    let world = World::empty();
    world.write(TASKS, tasks);
    world.write(PROGRESS, "# Notes\n");
    world.git_init();
    world.write("specs/.current-spec", "test-spec\n");
    world
}

/// `specum run` with the built-in agent, to its end.
fn run(world: &World, args: &[&str]) -> Call {
    call(run_command(world, args), b"")
}

fn run_command(world: &World, args: &[&str]) -> Command {
    let mut command = world.command();
    command.args(["run", "--agent", "script"]).args(args);
    command
}

/// A shell script that works as an agent: `$id` is its task. It is not in the
/// project, and reads its brief first.
fn agent(world: &World, script: &str) -> String {
    let path = world.home().join("agent.sh");
    let read = "brief=$(cat)\nid=$(printf '%s\\n' \"$brief\" | sed -n 's/^- \\[.\\] \\([^ ]*\\) .*/\\1/p' | head -n 1)\n";
    fs::write(&path, format!("{read}{script}")).expect("a file");
    format!("sh {}", path.display())
}

/// `specum run` with an agent of that kind.
fn command_run(world: &World, agent: &str, args: &[&str]) -> Command {
    let mut command = world.command();
    command.args(["run", "--agent-command", agent]).args(args);
    command
}

/// The same, at work. It hears every signal: whoever started the tests, with
/// `nohup` perhaps, may have wanted some to be ignored.
fn at_work(world: &World, agent: &str, args: &[&str]) -> Child {
    let run = command_run(world, agent, args);
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM");
    command.arg(run.get_program()).args(run.get_args()).current_dir(&world.root).env_clear();
    command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the binary starts")
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it has not been waited for");
}

/// A named pipe in the home of a world, `$HOME/<name>` to its agents, through
/// which they say something; a line is there or is waited for.
struct Listener(BufReader<File>);

impl Listener {
    fn new(world: &World, name: &str) -> Listener {
        let path = world.home().join(name);
        fifo(&path);
        // Also for writing, so that it has no end when a speaker goes.
        let pipe = File::options().read(true).write(true).open(path).expect("just made");
        Listener(BufReader::new(pipe))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines: Vec<String> = (0..count).map(|_| self.line()).collect();
        lines.sort();
        lines
    }
}

/// How often the journal tells of this.
fn told(world: &World, event: &str) -> usize {
    world.journal(event).len()
}

/// Where specum keeps worktrees and logs.
fn state_home(world: &World) -> PathBuf {
    world.home().join(".local/state/specum")
}

/// The worktrees that are on disk, whether or not git knows them.
fn worktrees(world: &World) -> Vec<PathBuf> {
    let below = |dir: &Path| -> Vec<PathBuf> {
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    below(&state_home(world).join("worktrees")).iter().flat_map(|spec| below(spec)).collect()
}

/// The references of a repository, without the branch `main`.
fn references(world: &World) -> Vec<String> {
    let all = world.git(&["for-each-ref", "--format=%(refname)"]);
    all.lines().filter(|name| *name != "refs/heads/main").map(str::to_owned).collect()
}

/// The tasks that commits say they are about, the oldest first.
fn committed(world: &World) -> Vec<String> {
    let trailers = "--format=%(trailers:key=Task,valueonly,separator=%x2C)";
    let log = world.git(&["log", "--reverse", trailers]);
    log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The files at HEAD that are not the plan's, with mode and content.
fn tree(world: &World) -> String {
    let list = world.git(&["ls-tree", "-r", "HEAD"]);
    list.lines().filter(|line| !line.contains("\tspecs/")).map(|line| format!("{line}\n")).collect()
}

/// Every process that was started in this world and has not ended, by the home
/// that is in its environment.
fn processes(world: &World) -> Vec<String> {
    let home = format!("HOME={}", world.home().display());
    let is_ours = |environment: &[u8]| {
        environment.split(|byte| *byte == 0).any(|entry| entry == home.as_bytes())
    };
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| fs::read(entry.path().join("environ")).is_ok_and(|text| is_ours(&text)))
        .map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            format!("{}: {line}", entry.file_name().to_string_lossy())
        })
        .collect()
}

/// Asserts that a run has left nothing but commits on `main`: no process, no
/// worktree, no branch, no reference but what it keeps, and a clean tree.
#[track_caller]
fn nothing_is_left(world: &World) {
    assert_eq!(processes(world), [""; 0], "processes");
    assert!(worktrees(world).is_empty(), "{:?}", worktrees(world));
    let known = fs::read_dir(world.path(".git/worktrees")).into_iter().flatten().count();
    assert_eq!(known, 0, "worktrees");
    let left: Vec<String> =
        references(world).into_iter().filter(|name| !name.contains("/kept/")).collect();
    assert_eq!(left, [""; 0], "references");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "the tree");
    assert!(!world.path(".git/index.lock").exists(), "a lock");
    for dir in ["specs/test-spec", ".git", ".git/info"] {
        let entries = fs::read_dir(world.path(dir)).into_iter().flatten().flatten();
        let is_ours =
            |name: &String| name.starts_with(".ralph-tmp-") || name.starts_with("specum-index-");
        let left: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(is_ours)
            .collect();
        assert_eq!(left, [""; 0], "temporary files in {dir}");
    }
}

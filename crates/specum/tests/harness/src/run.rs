//! `specum run` on the real binary. The agents here are shell scripts: the built-in
//! `script`, which runs the block of the task, or a `command` that says what it does
//! through named pipes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::world::{Call, PROGRESS, TASKS, World, call, fifo};

/// A repository with a plan that nobody has begun.
pub fn planned(tasks: &str) -> World {
    let world = World::empty();
    world.write(TASKS, tasks);
    world.write(PROGRESS, "# Notes\n");
    world.git_init();
    world.write("specs/.current-spec", "test-spec\n");
    world
}

/// `specum run` with the built-in agent, to its end.
pub fn run(world: &World, args: &[&str]) -> Call {
    call(run_command(world, args), b"")
}

pub fn run_command(world: &World, args: &[&str]) -> Command {
    let mut command = world.command();
    command.args(["run", "--agent", "script"]).args(args);
    command
}

/// A shell script that works as an agent: `$id` is its task. It is not in the
/// project, and reads its brief first.
pub fn agent(world: &World, script: &str) -> String {
    let path = world.home().join("agent.sh");
    let read = "brief=$(cat)\nid=$(printf '%s\\n' \"$brief\" | sed -n 's/^- \\[.\\] \\([^ ]*\\) .*/\\1/p' | head -n 1)\n";
    fs::write(&path, format!("{read}{script}")).expect("a file");
    format!("sh {}", path.display())
}

/// `specum run` with an agent of that kind.
pub fn command_run(world: &World, agent: &str, args: &[&str]) -> Command {
    let mut command = world.command();
    command.args(["run", "--agent-command", agent]).args(args);
    command
}

/// The same, to its end.
pub fn run_with(world: &World, agent: &str, args: &[&str]) -> Call {
    call(command_run(world, agent, args), b"")
}

/// The same with a shell script that works as an agent.
pub fn works(world: &World, script: &str, args: &[&str]) -> Call {
    run_with(world, &agent(world, script), args)
}

/// How many agents say that they have started, by a line each in `$HOME/starts`.
pub fn starts(world: &World) -> usize {
    fs::read_to_string(world.home().join("starts")).unwrap_or_default().lines().count()
}

/// Such a run at work. It hears every signal: whoever started the tests, with
/// `nohup` perhaps, may have wanted some to be ignored.
pub fn at_work(world: &World, agent: &str, args: &[&str]) -> Child {
    let run = command_run(world, agent, args);
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM");
    command.arg(run.get_program()).args(run.get_args()).current_dir(&world.root).env_clear();
    command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the binary starts")
}

pub fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it has not been waited for");
}

/// A named pipe in the home of a world, `$HOME/<name>` to its agents, through
/// which they say something; a line is there or is waited for.
pub struct Listener(BufReader<File>);

impl Listener {
    pub fn new(world: &World, name: &str) -> Listener {
        let path = world.home().join(name);
        fifo(&path);
        // Also for writing, so that it has no end when a speaker goes.
        let pipe = File::options().read(true).write(true).open(path).expect("just made");
        Listener(BufReader::new(pipe))
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    pub fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines: Vec<String> = (0..count).map(|_| self.line()).collect();
        lines.sort();
        lines
    }
}

/// Where specum keeps worktrees and logs.
pub fn state_home(world: &World) -> PathBuf {
    world.home().join(".local/state/specum")
}

/// The worktrees that are on disk, whether or not git knows them.
pub fn worktrees(world: &World) -> Vec<PathBuf> {
    let below = |dir: &Path| -> Vec<PathBuf> {
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    below(&state_home(world).join("worktrees")).iter().flat_map(|spec| below(spec)).collect()
}

/// The references of a repository, without the branch `main`.
pub fn references(world: &World) -> Vec<String> {
    let all = world.git(&["for-each-ref", "--format=%(refname)"]);
    all.lines().filter(|name| *name != "refs/heads/main").map(str::to_owned).collect()
}

/// The tasks that commits say they are about, the oldest first.
pub fn committed(world: &World) -> Vec<String> {
    let trailers = "--format=%(trailers:key=Task,valueonly,separator=%x2C)";
    let log = world.git(&["log", "--reverse", trailers]);
    log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The files at HEAD that are not the plan's, with mode and content.
pub fn tree(world: &World) -> String {
    let list = world.git(&["ls-tree", "-r", "HEAD"]);
    list.lines().filter(|line| !line.contains("\tspecs/")).map(|line| format!("{line}\n")).collect()
}

/// Every process that was started in this world and has not ended, by the home
/// that is in its environment.
pub fn processes(world: &World) -> Vec<String> {
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
pub fn nothing_is_left(world: &World) {
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

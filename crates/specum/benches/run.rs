//! What a run costs beside what it runs.
//!
//! `cargo bench --bench run`. The binary measured is the one that is released.
//! Four questions: the runner's own time for one task beside the bare commands
//! it cannot do without, in the same run; its memory at the beginning and the
//! end of a long plan; eight tasks at once; and its memory when an agent prints
//! without end.

mod released;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TASKS: usize = 200;
const ROUNDS: usize = 3;
/// An agent that does nothing but read its brief and say that it is done.
const NO_OP: &str = "cat > /dev/null; echo TASK_COMPLETE";

fn main() {
    let specum = released::binary();
    let place = tempfile::tempdir().expect("a temporary directory");
    own_time(&specum, place.path());
    at_once(&specum, place.path());
    long_output(&specum, place.path());
}

fn own_time(specum: &Path, place: &Path) {
    let mut runs = Vec::new();
    let mut yardsticks = Vec::new();
    let mut memory = (0, 0);
    for round in 0..ROUNDS {
        let project = Project::new(&place.join(format!("own-{round}")), TASKS, |n| {
            format!("- [ ] 1.{n} Do nothing\n  - **Verify**: `true`\n\n")
        });
        let began = Instant::now();
        memory = project.run(specum, &["--agent-command", NO_OP]);
        runs.push(began.elapsed());
        assert_eq!(project.commits(), TASKS + 1, "one commit for each task");
        let bare = Project::new(&place.join(format!("bare-{round}")), TASKS, |n| {
            format!("- [ ] 1.{n} Do nothing\n  - **Verify**: `true`\n\n")
        });
        let began = Instant::now();
        (0..TASKS).for_each(|n| bare.bare_task(n));
        yardsticks.push(began.elapsed());
    }
    let (run, bare) = (median(runs), median(yardsticks));
    let each = |time: Duration| time.as_secs_f64() * 1000.0 / TASKS as f64;
    println!("{TASKS} tasks, an agent that does nothing");
    println!("  bare spawn, check, git add, git commit   {:8.2} ms a task", each(bare));
    println!("  specum run                               {:8.2} ms a task", each(run));
    println!("  ratio                                    {:8.2}", each(run) / each(bare));
    let (early, late) = memory;
    println!("  memory after 20 and after {TASKS} tasks      {early} KB, {late} KB");
}

fn at_once(specum: &Path, place: &Path) {
    let project = Project::new(&place.join("at-once"), 8, |n| {
        format!(
            "- [ ] 1.{n} [P] Wait\n  - **Files**: {n}.txt\n  - **Verify**: `test -f {n}.txt`\n\n"
        )
    });
    let agent = "id=$(sed -n 's/^- \\[ \\] 1\\.\\([0-9]*\\).*/\\1/p' | head -1); sleep 2; \
                 echo x > $id.txt; echo TASK_COMPLETE";
    let began = Instant::now();
    project.run(specum, &["--jobs", "8", "--agent-command", agent]);
    println!("8 tasks of 2 s at once                     {:8.2} s", began.elapsed().as_secs_f64());
    assert_eq!(project.commits(), 9);
}

fn long_output(specum: &Path, place: &Path) {
    for (name, flood) in [
        ("in lines", "yes 0123456789abcdef | head -c 100000000"),
        ("in one line", "head -c 100000000 /dev/zero | tr '\\0' x"),
    ] {
        let project = Project::new(&place.join(name.replace(' ', "-")), 1, |n| {
            format!("- [ ] 1.{n} Talk\n  - **Verify**: `true`\n\n")
        });
        // The agent's parent is specum: its peak is read when the flood is over.
        let agent = format!(
            "cat > /dev/null; {flood}; echo; grep VmHWM /proc/$PPID/status > peak; echo TASK_COMPLETE"
        );
        project.run(specum, &["--agent-command", &agent]);
        let peak = fs::read_to_string(project.root.join("peak")).unwrap_or_default();
        let kilobytes = peak.split_whitespace().nth(1).unwrap_or("?").to_owned();
        println!("peak memory, 100 MB of output {name:14} {kilobytes:>8} KB");
    }
}

struct Project {
    root: PathBuf,
    home: PathBuf,
}

impl Project {
    fn new(root: &Path, tasks: usize, task: impl Fn(usize) -> String) -> Project {
        let project = Project { root: root.to_owned(), home: root.with_extension("home") };
        let spec = root.join("specs/demo");
        fs::create_dir_all(&spec).expect("a new directory");
        fs::create_dir_all(&project.home).expect("a new directory");
        fs::write(root.join("specs/.current-spec"), "demo\n").expect("a new file");
        let list: String = (1..=tasks).map(task).collect();
        fs::write(spec.join("tasks.md"), list).expect("a new file");
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["config", "user.name", "Bench"]);
        project.git(&["config", "user.email", "bench@example.invalid"]);
        project.git(&["add", "specs/demo/tasks.md"]);
        project.git(&["commit", "--quiet", "-m", "begin"]);
        project
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    fn git(&self, args: &[&str]) {
        let status = self.command("git").args(args).stdout(Stdio::null()).status();
        assert!(status.expect("git is installed").success(), "git {args:?}");
    }

    fn commits(&self) -> usize {
        let count = self.command("git").args(["rev-list", "--count", "HEAD"]).output();
        String::from_utf8_lossy(&count.expect("git is installed").stdout)
            .trim()
            .parse()
            .expect("a number")
    }

    /// Works the plan and gives the memory after 20 tasks and at the end.
    fn run(&self, specum: &Path, args: &[&str]) -> (u64, u64) {
        let mut run = self
            .command(specum)
            .args(["run", "--json"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("specum starts");
        let mut passed = 0;
        let (mut early, mut late) = (0, 0);
        for line in BufReader::new(run.stdout.take().expect("it is piped")).lines() {
            if line.expect("text").contains("\"event\":\"passed\"") {
                passed += 1;
                late = resident(&run).unwrap_or(late);
                if passed == 20 {
                    early = late;
                }
            }
        }
        assert!(run.wait().expect("it ends").success());
        (early, late)
    }

    /// What no runner can do without: the agent, the check, one `git add` and
    /// one `git commit`.
    fn bare_task(&self, n: usize) {
        for line in [NO_OP, "true"] {
            let status = self.command("sh").args(["-c", line]).stdout(Stdio::null()).status();
            assert!(status.expect("sh is there").success());
        }
        let file = "specs/demo/tasks.md";
        let text = fs::read_to_string(self.root.join(file)).expect("it was written");
        fs::write(self.root.join(file), text.replacen("[ ]", "[x]", 1)).expect("room on the disk");
        self.git(&["add", file]);
        self.git(&["commit", "--quiet", "-m", &format!("task {n}")]);
    }
}

/// The memory of a process, in KB.
fn resident(process: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

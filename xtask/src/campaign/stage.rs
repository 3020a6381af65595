//! The place where a story is played: a repository with the plan and the user's
//! files, a home, fake programs, and nothing of the real user's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use harness::terminal::pseudo_terminal;
use rustix::process::{Pid, Signal, kill_process};

use super::scripts;
use super::story::Story;
use super::story::fault::{AtStart, Fault, Kind};
use super::story::plan::{self, SHARED};

/// The spec's folder.
pub const SPEC: &str = "specs/plan";
/// What the shared file begins with.
pub const SHARED_BEGINNING: &str = "the user's own first line\n";
/// A start that takes longer hangs. On a busy machine a whole plan may take minutes.
const LONGEST_START: Duration = Duration::from_secs(600);
/// How long a person looks at a run that stays before they end it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Whom nothing belongs to: root may write what is read-only, so it is not root
/// who plays.
const NOBODY: u32 = 65_534;
/// Users that are not on any machine.
const FIRST_OF_OUR_USERS: u32 = 1_900_000_000;
const OUR_USERS: u32 = 100_000;
const ALLOW_DIRTY: &str = "--allow-dirty";
const STAY: &str = "--stay";

/// The programs of the campaign, where the player may run them.
pub struct Programs {
    specum: PathBuf,
    agent: PathBuf,
    person: PathBuf,
    /// The real one.
    pub git: PathBuf,
    /// Who plays, if it is not us.
    user: Option<u32>,
    _place: Option<tempfile::TempDir>,
}

impl Programs {
    /// Found once.
    pub fn get() -> &'static Programs {
        static PROGRAMS: OnceLock<Programs> = OnceLock::new();
        PROGRAMS.get_or_init(|| Programs::find().expect("the programs of the campaign"))
    }

    fn find() -> io::Result<Programs> {
        let git = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .map(|dir| dir.join("git"))
            .find(|path| path.is_file())
            .ok_or_else(|| io::Error::other("git is not installed"))?;
        let [specum, agent, person] =
            ["specum", "fake-agent", "person"].map(|name| harness::built().join(name));
        if !can_play_as_nobody() {
            return Ok(Programs { specum, agent, person, git, user: None, _place: None });
        }
        // Where cargo puts them, nobody else may look.
        let place = tempfile::tempdir()?;
        fs::set_permissions(place.path(), Permissions::from_mode(0o755))?;
        let copy = |from: PathBuf, name: &str| {
            let to = place.path().join(name);
            fs::copy(from, &to).map(|_| to)
        };
        let (specum, agent) = (copy(specum, "specum")?, copy(agent, "fake-agent")?);
        let person = copy(person, "person")?;
        Ok(Programs { specum, agent, person, git, user: Some(NOBODY), _place: Some(place) })
    }

    /// Whether faults of this kind can strike the player.
    pub fn can_play(&self, kind: Kind) -> bool {
        match kind {
            // Root can write what is read-only.
            Kind::ReadOnly => self.user.is_some() || !rustix::process::geteuid().is_root(),
            // It counts all that a user runs.
            Kind::ProcessLimit => self.user.is_some(),
            _ => true,
        }
    }
}

/// Whether we are root, and may become somebody else.
fn can_play_as_nobody() -> bool {
    let mut probe = Command::new("true");
    probe.uid(NOBODY).gid(NOBODY);
    rustix::process::geteuid().is_root() && probe.status().is_ok_and(|status| status.success())
}

/// A user who runs nothing else: a limit on processes counts all that a user runs.
fn user_without_processes() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Another campaign may play at the same time.
    let first = std::process::id().wrapping_mul(1_009);
    FIRST_OF_OUR_USERS + first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % OUR_USERS
}

/// A place for one run.
pub struct Stage {
    place: tempfile::TempDir,
    base: PathBuf,
    programs: &'static Programs,
    /// How each start is called.
    args: Vec<String>,
    /// Whether git is the fake one.
    fake_git: bool,
    /// Who plays, if it is not us.
    user: Option<u32>,
}

/// What a start came to.
#[derive(Debug, Default)]
pub struct Ended {
    /// None: a signal, or it hangs.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub hangs: bool,
    pub said: String,
    pub at: Option<SystemTime>,
    /// It stayed where it would have ended, and a person has ended it.
    pub stayed: bool,
}

/// Who reads the output of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Reads,
    /// Takes nothing before the start has ended.
    Stalls,
}

impl Stage {
    /// Everything as it is before the first start.
    pub fn new(story: &Story) -> io::Result<Stage> {
        let programs = Programs::get();
        let in_memory = tempfile::Builder::new().prefix("campaign-").tempdir_in("/dev/shm");
        let place = in_memory.or_else(|_| tempfile::tempdir())?;
        let base = place.path().canonicalize()?;
        fs::set_permissions(&base, Permissions::from_mode(0o755))?;
        let mut args: Vec<String> = ["run", "--agent", "claude"].map(str::to_owned).into();
        args.extend(["--jobs".to_owned(), story.layout.jobs.to_string()]);
        args.extend(["--max-task-iterations".to_owned(), story.layout.attempts.to_string()]);
        if story.layout.dirty {
            args.push(ALLOW_DIRTY.to_owned());
        }
        if story.layout.keep_going {
            args.push("--keep-going".to_owned());
        }
        if story.layout.stay {
            args.push(STAY.to_owned());
        }
        if story.layout.approve {
            args.extend(["--approve".to_owned(), "phase".to_owned()]);
        }
        let fake_git = story.faults.iter().any(|fault| matches!(fault, Fault::Git { .. }));
        let user = match programs.user {
            Some(_) if story.has(Kind::ProcessLimit) => Some(user_without_processes()),
            user => user,
        };
        let stage = Stage { place, base, programs, args, fake_git, user };
        for dir in ["project/specs/plan", "home", "stage", "bin", "evidence", "tmp"] {
            fs::create_dir_all(stage.base.join(dir))?;
        }
        stage.install(story)?;
        stage.write_files(story)?;
        Ok(stage)
    }

    fn install(&self, story: &Story) -> io::Result<()> {
        let bin = self.base.join("bin");
        symlink(&self.programs.agent, bin.join("claude"))?;
        symlink(&self.programs.person, bin.join("person"))?;
        symlink(&self.programs.specum, bin.join("specum"))?;
        if self.fake_git {
            symlink(&self.programs.agent, bin.join("git"))?;
        }
        // A person's own terminal has none of what a run gives its agents.
        let mut by_hand = "#!/bin/sh\ncd \"$PROJECT\"\nexec env -i".to_owned();
        for (name, value) in self.environment() {
            by_hand += &format!(" {name}='{}'", value.to_string_lossy());
        }
        by_hand += " specum \"$@\"\n";
        fs::write(bin.join("by-hand"), by_hand)?;
        fs::set_permissions(bin.join("by-hand"), Permissions::from_mode(0o755))?;
        let at_terminal = "#!/bin/sh\nexec script -qec \"by-hand $*\" /dev/null < /dev/null\n";
        fs::write(bin.join("at-terminal"), at_terminal)?;
        fs::set_permissions(bin.join("at-terminal"), Permissions::from_mode(0o755))?;
        if let Some(how) = story.hook() {
            fs::write(self.base.join("stage/pre-commit"), scripts::hook(how))?;
        }
        for (name, script) in scripts::of(story, &self.programs.git.to_string_lossy()) {
            fs::write(self.base.join("stage").join(name), script)?;
        }
        Ok(())
    }

    /// The plan, and what else the user has.
    fn write_files(&self, story: &Story) -> io::Result<()> {
        let root = self.root();
        let text = plan::render(story.layout, &story.tasks);
        fs::write(self.plan(), &text)?;
        fs::write(self.seen_plan(), text)?;
        fs::write(root.join(SHARED), SHARED_BEGINNING)?;
        let own: [(&str, &[u8]); 6] = [
            ("README.md", b"# Mine\r\n\r\nno end of line"),
            ("src/über alles.txt", b"\xff\xfe\0binary\0"),
            ("src/tool.sh", b"#!/bin/sh\necho mine\n"),
            (".gitignore", b"ignored/\n"),
            ("ignored/secret.env", b"KEY=1\n"),
            ("half.txt", b"as committed\n"),
        ];
        for (path, bytes) in own {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(path, bytes)?;
        }
        fs::create_dir_all(root.join("specs/other"))?;
        fs::write(root.join("specs/other/tasks.md"), "- [ ] 1.1 Another plan's\n- [x] 1.2 Done\n")?;
        fs::set_permissions(root.join("src/tool.sh"), Permissions::from_mode(0o755))?;
        symlink("src/tool.sh", root.join("tool"))?;
        self.hand_over()?;
        self.git(&["init", "--quiet", "--initial-branch=main", "--template="])?;
        self.git(&["config", "user.name", "Somebody"])?;
        self.git(&["config", "user.email", "somebody@example.invalid"])?;
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "-m", "begin"])?;
        let hook = self.base.join("stage/pre-commit");
        if hook.exists() {
            fs::create_dir_all(root.join(".git/hooks"))?;
            fs::set_permissions(&hook, Permissions::from_mode(0o755))?;
            fs::rename(hook, root.join(".git/hooks/pre-commit"))?;
        }
        fs::write(root.join("specs/.current-spec"), "plan\n")?;
        if story.layout.dirty {
            fs::write(root.join("half.txt"), "as committed\nand half a thought\n")?;
            fs::write(root.join("src/new.txt"), "not yet added\n")?;
            fs::write(root.join("staged.txt"), "added, not committed\n")?;
            self.hand_over()?;
            self.git(&["add", "staged.txt"])?;
        }
        self.hand_over()
    }

    /// Gives everything to the player.
    fn hand_over(&self) -> io::Result<()> {
        let Some(user) = self.user else { return Ok(()) };
        let owner = format!("{user}:{user}");
        Command::new("chown").args(["-R", "-h", &owner]).arg(&self.base).status().map(drop)
    }

    pub fn root(&self) -> PathBuf {
        self.base.join("project")
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn plan(&self) -> PathBuf {
        self.root().join(SPEC).join("tasks.md")
    }

    /// The plan as a person has seen it last.
    pub fn seen_plan(&self) -> PathBuf {
        self.base.join("stage/plan")
    }

    fn environment(&self) -> BTreeMap<&'static str, OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let has_no_agent = |dir: &PathBuf| !dir.join("claude").exists();
        let others = std::env::split_paths(&path).filter(has_no_agent);
        let all = std::iter::once(self.base.join("bin")).chain(others);
        let at = |below: &str| self.base.join(below).into_os_string();
        BTreeMap::from([
            ("HOME", at("home")),
            ("PATH", std::env::join_paths(all).unwrap_or_default()),
            ("TMPDIR", at("tmp")),
            ("FAKE_AGENT", at("stage")),
            ("EVIDENCE", at("evidence")),
            ("PROJECT", at("project")),
            ("PERSON_PLAN", self.plan().into_os_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("SPECUM_HASTE", "1000".into()),
            ("SPECUM_TASK_TIMEOUT", "100d".into()),
            ("SPECUM_IDLE_TIMEOUT", "100d".into()),
        ])
    }

    /// A program, as the player would start it.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.root()).stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// The real git, which must not fail. It is called again if the power is cut
    /// meanwhile, by an agent that has outlived its run.
    pub fn git(&self, args: &[&str]) -> io::Result<String> {
        let mut output = self.command(&self.programs.git).args(args).output()?;
        if output.status.signal().is_some() {
            let _ = fs::remove_file(self.root().join(".git/index.lock"));
            output = self.command(&self.programs.git).args(args).output()?;
        }
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("git {args:?}: {said}")))
    }

    /// A verb that is a person's to say, at a terminal.
    pub fn person(&self, args: &[&str]) -> io::Result<Ended> {
        let (_ours, theirs) = pseudo_terminal(24, 100);
        let mut command = self.command(&self.programs.specum);
        command.args(args).stdin(theirs.try_clone()?).stdout(theirs).stderr(Stdio::piped());
        // A terminal holds the few lines that it prints.
        let output = command.spawn()?.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let (code, signal) = (output.status.code(), output.status.signal());
        Ok(Ended { code, signal, said, ..Ended::default() })
    }

    /// What a person does with an editor between two starts.
    pub fn editor(&self, args: &[&str]) -> io::Result<Ended> {
        let mut command = self.command(&self.programs.person);
        command.args(args);
        wait(command, Reader::Reads)
    }

    /// Lets every start from now on leave the user's own changes alone.
    pub fn allow_dirty(&mut self) {
        if !self.allows_dirty() {
            self.args.push(ALLOW_DIRTY.to_owned());
        }
    }

    pub fn allows_dirty(&self) -> bool {
        self.args.iter().any(|arg| arg == ALLOW_DIRTY)
    }

    /// What a person does to files after a run was killed: changes one that is
    /// tracked, makes a new one, and stages another. The paths of all, of which
    /// git does not know the second.
    pub fn edit_by_hand(&self) -> io::Result<[&'static str; 3]> {
        let paths = ["README.md", "mine.txt", "docs/new.md"];
        fs::create_dir_all(self.root().join("docs"))?;
        for path in paths {
            let path = self.root().join(path);
            fs::write(&path, "by hand, after the run was killed\n")?;
            let file = fs::File::options().write(true).open(path)?;
            file.set_modified(SystemTime::now() + Duration::from_secs(3600))?;
        }
        self.hand_over()?;
        self.git_in_spite_of_locks(&["add", paths[2]])?;
        Ok(paths)
    }

    /// What a person does with git. Locks that others have left are there again
    /// afterwards: it is for specum to find them.
    pub fn git_in_spite_of_locks(&self, args: &[&str]) -> io::Result<String> {
        let locks = ["index.lock", "HEAD.lock", "refs/heads/main.lock"];
        let place = |lock: &str| self.root().join(".git").join(lock);
        let aside = |lock: &str| self.base.join("stage").join(lock.replace('/', "-"));
        let held: Vec<&str> =
            locks.into_iter().filter(|lock| fs::rename(place(lock), aside(lock)).is_ok()).collect();
        let said = self.git(args);
        for lock in held {
            fs::rename(aside(lock), place(lock))?;
        }
        said
    }

    /// A verb of specum's, without a terminal.
    pub fn verb(&self, args: &[&str]) -> io::Result<Ended> {
        let mut command = self.command(&self.programs.specum);
        command.args(args);
        wait(command, Reader::Reads)
    }

    /// `specum run`, with what is to happen to this start.
    pub fn start(&self, how: Option<AtStart>) -> io::Result<Ended> {
        let mut command = self.command(&self.programs.specum);
        let twice = how == Some(AtStart::Twice);
        let reader = if how == Some(AtStart::Stalled) { Reader::Stalls } else { Reader::Reads };
        match how {
            Some(AtStart::SmallFiles { blocks }) => {
                command = self.command(Path::new("sh"));
                let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
                command.arg("-c").arg(limit).arg(&self.programs.specum);
            }
            Some(AtStart::Killed { point }) => {
                command.env("SPECUM_DIE_AT", point.to_string());
            }
            Some(AtStart::Torn { write }) => {
                command.env("SPECUM_TEAR_AT", write.to_string());
            }
            Some(AtStart::Full { first, last }) => {
                command.env("SPECUM_DISK_FULL", format!("{first}-{last}"));
            }
            Some(AtStart::Clock { look, seconds }) => {
                command.env("SPECUM_CLOCK_JUMP", format!("{look}:{seconds}"));
            }
            Some(AtStart::FewProcesses { limit }) => {
                command = self.command(Path::new("prlimit"));
                command.arg(format!("--nproc={limit}")).arg(&self.programs.specum);
            }
            Some(AtStart::Twice | AtStart::Stalled) | None => {}
        }
        // Of two that stay, nobody could say which one is meant.
        let args = self.args.iter().filter(|arg| !twice || arg.as_str() != STAY);
        command.args(args.clone());
        if reader == Reader::Stalls {
            // What agents say is shown in full, so that there is something to read.
            command.arg("--json");
        }
        if !twice {
            return self.wait_beside(command, reader);
        }
        let mut second = self.command(&self.programs.specum);
        second.args(args);
        let second = thread::spawn(move || wait(second, Reader::Reads));
        let first = wait(command, reader)?;
        let second = second.join().expect("nobody panics while waiting")?;
        let said = format!("{}\n(the second:)\n{}", first.said, second.said);
        let hangs = first.hangs || second.hangs;
        // Either may have been the one that did the work.
        let done = if first.code == Some(0) { &first } else { &second };
        let done = if first.code == Some(5) || first.code == Some(0) { done } else { &first };
        Ok(Ended { code: done.code, signal: done.signal, hangs, said, at: done.at, stayed: false })
    }

    /// Waits for a run to end. Where one stays, a person lets it go on; if that does not
    /// help, they end it by Ctrl-C and do what else is to be done, as [`Ended::stayed`] says.
    fn wait_beside(&self, command: Command, reader: Reader) -> io::Result<Ended> {
        if !self.args.iter().any(|arg| arg == STAY) {
            return wait(command, reader);
        }
        let before = self.stays();
        let (started, pid) = mpsc::channel();
        let ended = thread::scope(|scope| {
            let run = scope.spawn(move || wait_and_tell(command, reader, &started));
            if let Ok(pid) = pid.recv() {
                self.answer(before, pid, || run.is_finished());
            }
            run.join().expect("nobody panics while waiting")
        })?;
        let stayed = self.stays() > before && ended.code == Some(130);
        Ok(Ended { stayed, ..ended })
    }

    /// Says `resume` whenever a run stays, and ends a run that stays nevertheless.
    fn answer(&self, before: usize, run: Pid, is_over: impl Fn() -> bool) {
        let (mut seen, mut last) = (before, Instant::now());
        while !is_over() {
            thread::sleep(Duration::from_millis(20));
            let now = self.stays();
            if now > seen {
                (seen, last) = (now, Instant::now());
                // What it refuses, it refuses in words.
                let _ = self.person(&["resume"]);
            } else if seen > before && last.elapsed() > PATIENCE {
                last = Instant::now();
                let _ = kill_process(run, Signal::INT);
            }
        }
    }

    /// How often a run has said that it stays.
    fn stays(&self) -> usize {
        let journal = fs::read(self.root().join(SPEC).join(".ralph-journal.jsonl"));
        let text = String::from_utf8_lossy(&journal.unwrap_or_default()).into_owned();
        text.matches("\"event\":\"stays\"").count()
    }

    /// Keeps the place, and tells where it is.
    pub fn keep(self) -> PathBuf {
        self.place.keep()
    }

    /// What is still running of this run: whatever has its home.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let home = format!("HOME={}", self.base.join("home").display());
        let is_ours = |environment: &[u8]| {
            environment.split(|byte| *byte == 0).any(|entry| entry == home.as_bytes())
        };
        let named = |entry: fs::DirEntry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            is_ours(&environment).then_some((pid, line))
        };
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(named).collect()
    }

    /// Waits until no specum works here any more, as a person does who is told that
    /// one does.
    pub fn wait_for_others(&self) {
        let end = Instant::now() + LONGEST_START;
        let is_specum = |(_, line): (u32, String)| {
            let program = line.split(' ').next().unwrap_or_default();
            Path::new(program).file_name().is_some_and(|name| name == "specum")
        };
        while self.processes().into_iter().any(is_specum) && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends whatever is still running, when nothing more is to be learned.
    pub fn end_processes(&self) {
        for (pid, _) in self.processes() {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid {
                // It may have ended by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Runs a command to its end, or until it has taken too long.
fn wait(command: Command, reader: Reader) -> io::Result<Ended> {
    wait_and_tell(command, reader, &mpsc::channel().0)
}

/// The same, and tells which process it is.
fn wait_and_tell(
    mut command: Command,
    reader: Reader,
    started: &mpsc::Sender<Pid>,
) -> io::Result<Ended> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (done, ended) = mpsc::channel();
    // What outlives specum may hold its output open: that is read up to
    // specum's end, and not up to theirs.
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        let (done, Some(mut pipe)) = (done.clone(), pipe) else { return };
        thread::spawn(move || {
            let mut said = Vec::new();
            let _ = pipe.read_to_end(&mut said);
            let _ = done.send(said);
        });
    };
    let mut stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    if reader == Reader::Reads {
        read(stdout.take());
    }
    read(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let pid = Pid::from_child(&child);
    // Perhaps nobody wants to know.
    let _ = started.send(pid);
    let (over, watched) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let late = watched.recv_timeout(LONGEST_START) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = kill_process(pid, Signal::KILL);
        }
        late
    });
    let status = child.wait()?;
    let at = Some(SystemTime::now());
    drop(over);
    read(stdout);
    let hangs = watch.join().expect("nobody panics while watching");
    let mut said = String::new();
    for _ in 0..2 {
        if let Ok(part) = ended.recv_timeout(Duration::from_millis(500)) {
            said += &String::from_utf8_lossy(&part);
        }
    }
    Ok(Ended { code: status.code(), signal: status.signal(), hangs, said, at, stayed: false })
}

//! The user's repository: the only module that starts `git`.
//!
//! Reads take no lock (`GIT_OPTIONAL_LOCKS=0`): a plain `git status` refreshes
//! the index and makes somebody else's commit fail. A commit names its paths
//! and leaves everything else staged or changed as it was.

mod work;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use specum_core::verify::Ended;
use thiserror::Error;

pub use self::work::{Merge, Worktree};
use crate::failpoint;
use crate::files::{self, FileError};
use crate::os;
use crate::process::{self, Bounds, Run, Terminal, WhenInterrupted};
use crate::session;

/// A commit may run the user's hooks; a status may list every file.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(600),
    output: 64 * 1024 * 1024,
    when_interrupted: WhenInterrupted::Finish,
    terminal: Terminal::Ours,
};
/// Those of what starts hooks of the user's, which may ask on the terminal. Not of
/// everything: it takes a millisecond.
const WITH_HOOKS: Bounds = Bounds { terminal: Terminal::None, ..BOUNDS };
/// How often a busy index is tried again.
const BUSY_TRIES: u32 = 8;

/// specum's own files, which never enter a commit nor `git status`.
const OWN_FILES: [&str; 12] = [
    ".current-spec",
    ".ralph-state.json",
    ".ralph-hook.json",
    ".ralph-journal.jsonl",
    ".ralph.lock",
    ".ralph-check.lock",
    ".ralph-run.lock",
    ".ralph-beat",
    ".ralph-tmp-*",
    ".progress-task-*.md",
    ".specum-trash/",
    "**/.claude/ralph-loop.local.md",
];

/// Those of them that say what is run: a loop is begun by a person, it does not
/// come with a repository.
const LOOP_FILES: [&str; 2] = [".ralph-state.json", ".ralph-journal.jsonl"];

/// Why git did not do what it was asked.
#[derive(Debug, Error)]
pub enum GitError {
    /// git said so.
    #[error("git {command}: {message}")]
    Said {
        /// The subcommand.
        command: String,
        /// git's own words.
        message: String,
    },
    /// git said that it does not make a commit.
    #[error("git {command}: {message}")]
    Refused {
        /// The subcommand.
        command: String,
        /// git's own words.
        message: String,
    },
    /// There is no git to ask.
    #[error("git cannot be started ({0}); install it, or put it on PATH")]
    NotStarted(String),
    /// Nothing can be written where git keeps what it knows.
    #[error(
        "{} is read-only here, so nothing can be committed. A host's sandbox does this to its \
         commands: install specum's hooks there (`specum plugin install`) and trust them, they \
         run outside of it; or run this in a terminal of your own",
        .0.display()
    )]
    ReadOnly(PathBuf),
    /// There is no repository.
    #[error("{} is in no git repository; `git init` makes one", .0.display())]
    NoRepository(PathBuf),
    /// A file of the repository could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl GitError {
    /// Whether somebody else has held the index all the time.
    pub fn means_busy(&self) -> bool {
        matches!(self, GitError::Said { message, .. } | GitError::Refused { message, .. }
            if message.contains("index.lock"))
    }

    /// Whether there is simply no repository, or no git to ask.
    pub fn means_no_repository(&self) -> bool {
        match self {
            GitError::NotStarted(_) | GitError::NoRepository(_) => true,
            GitError::Said { message, .. } | GitError::Refused { message, .. } => {
                message.contains("cannot change to")
            }
            GitError::File(_) | GitError::ReadOnly(_) => false,
        }
    }

    /// The same as the end of a commit.
    fn refusal(self) -> GitError {
        match self {
            GitError::Said { command, message } => GitError::Refused { command, message },
            other => other,
        }
    }
}

/// Whether a path is one of specum's own files, which somebody may have
/// committed before they were overlooked.
pub fn is_own_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    OWN_FILES.iter().any(|pattern| match pattern.trim_start_matches("**/").split_once('*') {
        Some((head, tail)) => name.starts_with(head) && name.ends_with(tail),
        None if pattern.ends_with('/') => {
            path.split('/').any(|part| part == pattern.trim_end_matches('/'))
        }
        None => {
            let plain = pattern.trim_start_matches("**/");
            path == plain || path.ends_with(&format!("/{plain}"))
        }
    })
}

/// Whether we can commit what git lists under this name: not a repository of
/// its own, nor a file whose name is no text, of which we know no more.
pub fn can_be_committed(path: &str) -> bool {
    !path.ends_with('/') && !path.contains(char::REPLACEMENT_CHARACTER)
}

/// The folder that a work tree shares with the other worktrees of its repository.
fn common_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    // In a linked worktree it is a file that names a folder of its own, which is
    // `worktrees/<name>` in the common one.
    let named = files::read(&git, 64 * 1024).ok()?;
    let named = named.trim_ascii_end().strip_prefix(b"gitdir: ")?;
    let own = root.join(os::text(named));
    let all = own.parent().filter(|all| all.ends_with("worktrees"))?;
    all.parent()?.canonicalize().ok()
}

/// A work tree at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The commit at HEAD; `None` before the first one.
    pub head: Option<String>,
    /// The branch HEAD is on; `None` when it is detached.
    pub branch: Option<String>,
    /// The paths that are changed, staged, deleted or new, below the root.
    pub changed: Vec<String>,
}

impl Status {
    /// Reads what `git status --porcelain=v2 --branch -z` prints.
    fn parse(text: &str) -> Status {
        let mut status = Status::default();
        for entry in text.split('\0') {
            let known = |value: &str| (!value.starts_with('(')).then(|| value.to_owned());
            // How many fields stand before the path.
            let before_path = match entry.split(' ').next() {
                Some("1") => 8,
                Some("u") => 10,
                Some("?") => 1,
                Some("#") => {
                    if let Some(head) = entry.strip_prefix("# branch.oid ") {
                        status.head = known(head);
                    } else if let Some(branch) = entry.strip_prefix("# branch.head ") {
                        status.branch = known(branch);
                    }
                    continue;
                }
                _ => continue,
            };
            status
                .changed
                .extend(entry.splitn(before_path + 1, ' ').nth(before_path).map(str::to_owned));
        }
        status
    }
}

/// What a commit came to.
#[derive(Debug)]
pub struct Committed {
    /// Whether there was something to commit.
    made: bool,
    /// The work tree afterwards.
    pub status: Status,
}

impl Committed {
    /// The id of the commit, if there was something to commit.
    pub fn id(&self) -> Option<String> {
        self.status.head.clone().filter(|_| self.made)
    }
}

/// A repository.
#[derive(Debug, Clone)]
pub struct Git {
    /// The root of the work tree.
    pub root: PathBuf,
}

impl Git {
    /// The repository that a directory belongs to; the error says why there is
    /// none.
    pub fn open(dir: &Path) -> Result<Git, GitError> {
        let root = Git { root: dir.to_owned() }.read(&["rev-parse", "--show-toplevel"]);
        let root = root.map_err(|error| match error {
            // A link to a repository that is gone is told in other words.
            GitError::Said { message, .. } if message.contains("not a git repository (or any") => {
                GitError::NoRepository(dir.to_owned())
            }
            other => other,
        })?;
        Ok(Git { root: PathBuf::from(root.trim_end_matches('\n')) })
    }

    /// Makes a directory a repository.
    pub fn init(dir: &Path) -> Result<Git, GitError> {
        let git = Git { root: dir.to_owned() };
        git.write(&["init", "--quiet", "--initial-branch=main"], &[])?;
        Ok(git)
    }

    /// Names the author of the commits of this repository alone.
    pub fn configure_identity(&self, name: &str, email: &str) -> Result<(), GitError> {
        self.write(&["config", "user.name", name], &[])?;
        self.write(&["config", "user.email", email], &[])
    }

    /// Refuses, in git's own words, if nobody is known who could commit.
    pub fn refuse_without_identity(&self) -> Result<(), GitError> {
        self.read(&["var", "GIT_AUTHOR_IDENT"])?;
        self.read(&["var", "GIT_COMMITTER_IDENT"]).map(drop)
    }

    /// Refuses where nothing can be committed whatever anybody does: nobody is
    /// known who could, or git's own folder cannot be written.
    pub fn refuse_unable_to_commit(&self) -> Result<(), GitError> {
        self.refuse_read_only()?;
        self.refuse_without_identity()
    }

    /// Refuses if git's own folder cannot be written, as in a host's sandbox.
    pub fn refuse_read_only(&self) -> Result<(), GitError> {
        let folder = self.root.join(".git");
        let folders = match folder.is_dir() {
            true => vec![folder],
            // In a linked worktree it is a file that names one folder, and the
            // objects are in another.
            false => {
                let said = self.read(&["rev-parse", "--absolute-git-dir", "--git-common-dir"])?;
                said.lines().map(|path| self.root.join(path)).collect()
            }
        };
        match folders.into_iter().find(|folder| !os::is_writable(folder)) {
            Some(folder) => Err(GitError::ReadOnly(folder)),
            None => Ok(()),
        }
    }

    /// The commits from the first to HEAD, a line each.
    pub fn history(&self) -> Result<String, GitError> {
        self.read(&["log", "--reverse", "--format=%h %s"])
    }

    /// The id of the commit at HEAD; `None` before the first one.
    pub fn head(&self) -> Option<String> {
        let head = self.read(&["rev-parse", "--verify", "--quiet", "HEAD"]).ok()?;
        Some(head.trim().to_owned())
    }

    /// The file whose lock says that a run works in this work tree.
    pub fn run_lock(&self) -> Result<PathBuf, GitError> {
        let path = self.read(&["rev-parse", "--git-path", "specum-run.lock"])?;
        Ok(self.root.join(path.trim_end_matches('\n')))
    }

    /// HEAD, the branch, and what is uncommitted, as they stand at one moment.
    pub fn status(&self) -> Result<Status, GitError> {
        let text = self.read(&[
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ])?;
        let mut status = Status::parse(&text);
        // A host may put worktrees into the tree: they are nobody's work.
        status.changed.retain(|path| !path.ends_with('/') || !self.is_worktree(path));
        Ok(status)
    }

    /// Whether a folder below the root is another worktree of this repository.
    fn is_worktree(&self, path: &str) -> bool {
        let folder = common_folder(&self.root.join(path));
        folder.is_some() && folder == common_folder(&self.root)
    }

    /// The paths that are changed, staged, deleted or new, below the root.
    pub fn changed(&self) -> Result<Vec<String>, GitError> {
        Ok(self.status()?.changed)
    }

    /// The paths that differ between a commit and HEAD.
    pub fn changed_since(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let diff = self.read(&["diff", "--name-only", "-z", "--no-renames", commit, "HEAD"])?;
        Ok(diff.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// A file as it is in a commit; `None` if it is not in it.
    pub fn file_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        if self.paths_at(commit, &[path.to_owned()])?.is_empty() {
            return Ok(None);
        }
        self.read_bytes(&["cat-file", "blob", &format!("{commit}:{path}")]).map(Some)
    }

    /// Which of these paths are part of a commit.
    pub fn paths_at(&self, commit: &str, paths: &[String]) -> Result<Vec<String>, GitError> {
        let mut found = Vec::new();
        // A command line has an end.
        for some in paths.chunks(100) {
            let mut args = vec!["ls-tree", "-z", "--name-only", "--full-tree", commit, "--"];
            args.extend(some.iter().map(String::as_str));
            let listed = self.read(&args)?;
            found.extend(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned));
        }
        Ok(found)
    }

    /// The commit behind another one, or since the first, whose message ends so.
    pub fn commit_since(&self, start: Option<&str>, end: &str) -> Result<Option<String>, GitError> {
        // A git that fails is not one that has no commit yet.
        if self.status()?.head.is_none() {
            return Ok(None);
        }
        let range = start.map_or("HEAD".to_owned(), |start| format!("{start}..HEAD"));
        let log = self.read(&["log", "-z", "--format=%H%n%B", &range])?;
        let mut commits = log.split('\0').filter_map(|commit| commit.split_once('\n'));
        let found = commits.find(|(_, message)| message.trim_end().ends_with(end.trim_end()));
        Ok(found.map(|(id, _)| id.to_owned()))
    }

    /// Commits these paths and nothing else. Paths that the user ignores are
    /// committed too: whoever names them means them.
    ///
    /// [`GitError::Refused`] says that there is no commit; after any other error
    /// there may be one.
    pub fn commit(&self, paths: &[String], message: &str) -> Result<Committed, GitError> {
        // A folder that has taken the place of a file comes with what is in it;
        // by its own name git would look for a repository there. A nested
        // repository stays where it is.
        let is_folder =
            |path: &str| self.root.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
        let list = |paths: &[String]| -> Vec<u8> {
            let files: Vec<&str> =
                paths.iter().map(String::as_str).filter(|path| !is_folder(path)).collect();
            files.join("\0").into_bytes()
        };
        let stage = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        self.write(&stage, &list(paths)).map_err(GitError::refusal)?;
        failpoint::reached("after staging");
        let commit = |paths: &[String]| {
            let from_list = ["--pathspec-from-file=-", "--pathspec-file-nul"];
            let head = ["commit", "--quiet", "--only", "-m", message];
            self.write(&[&head[..], &from_list[..]].concat(), &list(paths))
        };
        if let Err(error) = commit(paths) {
            // git refuses to commit nothing, and the whole list for one path
            // that it does not know: one that came and went.
            let changed = self.changed()?;
            let known: Vec<String> =
                paths.iter().filter(|path| changed.contains(path)).cloned().collect();
            if known.is_empty() {
                return Ok(Committed { made: false, status: self.status()? });
            }
            if !error.to_string().contains("did not match any file") {
                return Err(error.refusal());
            }
            commit(&known).map_err(GitError::refusal)?;
        }
        failpoint::reached("after git commit");
        Ok(Committed { made: true, status: self.status()? })
    }

    fn exclude_file(&self) -> Result<PathBuf, GitError> {
        let path = self.read(&["rev-parse", "--git-path", "info/exclude"])?;
        Ok(self.root.join(path.trim_end_matches('\n')))
    }

    /// Lets the repository overlook specum's own files.
    pub fn exclude_own_files(&self) -> Result<(), GitError> {
        let path = self.exclude_file()?;
        let before = files::read_if_there(&path, 1024 * 1024)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&before).into_owned();
        let missing: Vec<&str> =
            OWN_FILES.into_iter().filter(|name| !text.lines().any(|line| line == *name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if let Some(info) = path.parent() {
            std::fs::create_dir_all(info).map_err(|error| FileError::new("create", info, error))?;
        }
        let mut after = before;
        if !after.is_empty() && !after.ends_with(b"\n") {
            after.push(b'\n');
        }
        for name in missing {
            after.extend_from_slice(name.as_bytes());
            after.push(b'\n');
        }
        Ok(files::write(&path, &after)?)
    }

    /// What of a loop in this folder is part of the repository.
    pub fn committed_loop(&self, dir: &Path) -> Result<Option<String>, GitError> {
        let files = LOOP_FILES.map(|name| dir.join(name));
        let files = files.iter().map(|file| file.to_string_lossy());
        let mut args = vec!["--literal-pathspecs", "ls-files", "-z", "--"];
        let files: Vec<_> = files.collect();
        args.extend(files.iter().map(AsRef::as_ref));
        let listed = self.read(&args)?;
        Ok(listed.split('\0').find(|path| !path.is_empty()).map(str::to_owned))
    }

    fn read(&self, args: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.read_bytes(args)?).into_owned())
    }

    fn read_bytes(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(args);
        command.env("GIT_OPTIONAL_LOCKS", "0");
        let run = process::run(command, &[], BOUNDS);
        if run.cut {
            // The end of a list is not the list.
            let message = format!("it says more than {} bytes", BOUNDS.output);
            return Err(GitError::Said { command: args.join(" "), message });
        }
        if run.succeeded() { Ok(run.stdout) } else { Err(said(args, &run)) }
    }

    /// Runs a command that takes the index lock, again if another process
    /// holds it.
    fn write(&self, args: &[&str], input: &[u8]) -> Result<(), GitError> {
        let bounds = match args {
            ["commit", ..] => WITH_HOOKS,
            _ => BOUNDS,
        };
        let mut wait = Duration::from_millis(20);
        for attempt in 1.. {
            let run = process::run(self.command(args), input, bounds);
            if run.succeeded() {
                return Ok(());
            }
            let busy = String::from_utf8_lossy(&run.output).contains("index.lock");
            if !busy || attempt == BUSY_TRIES {
                return Err(said(args, &run));
            }
            thread::sleep(wait);
            wait *= 2;
        }
        unreachable!("the last try returns")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            // Not as its working directory: for that our own process would have
            // to be copied first, which takes longer the more it holds.
            .arg("-C")
            .arg(&self.root)
            // Paths are paths: `:(top)` or `*` in a file name are no patterns.
            .arg("--literal-pathspecs")
            // A file system monitor would outlive us as a daemon, and so would
            // a garbage collection, for which the user's own commits are enough.
            .args(["-c", "core.fsmonitor=false", "-c", "maintenance.auto=false"])
            .args(["-c", "gc.auto=0"])
            .args(args.iter().map(OsStr::new))
            // We read its messages.
            .env("LC_ALL", "C")
            // Nobody is there to answer.
            .env("GIT_TERMINAL_PROMPT", "0");
        // A hook of git itself may have started us; its repository is not ours.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            command.env_remove(name);
        }
        if std::env::var_os(session::GEMINI_MARK).is_some() {
            // Gemini CLI keeps the person's configuration from its commands, and with it
            // their name, hooks and ignored files.
            for (name, _) in std::env::vars_os() {
                if name.to_str().is_some_and(|name| name.starts_with("GIT_CONFIG")) {
                    command.env_remove(name);
                }
            }
        }
        command
    }
}

fn said(args: &[&str], run: &Run) -> GitError {
    let output = String::from_utf8_lossy(&run.output);
    let message = match &run.ended {
        Ended::NotStarted(why) => return GitError::NotStarted(why.clone()),
        Ended::TimedOut(seconds) => format!("did not end within {seconds} s"),
        Ended::Code(code) if output.trim().is_empty() => {
            format!("ended with code {code} and said nothing")
        }
        Ended::Code(_) | Ended::Signal(_) => output.trim().to_owned(),
    };
    GitError::Said { command: args.first().copied().unwrap_or_default().to_owned(), message }
}

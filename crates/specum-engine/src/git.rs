//! The user's repository: the only module that starts `git`.
//!
//! Reads take no lock (`GIT_OPTIONAL_LOCKS=0`): a plain `git status` refreshes
//! the index and makes another program's commit fail. A commit holds its paths
//! and leaves everything else staged or changed as it was.

mod able;
mod branch;
mod busy;
mod commit;
mod error;
mod forward;
mod known;
mod path;
mod port;
mod programs;
mod show;
mod status;
mod submodule;
#[cfg(test)]
mod tests;
mod work;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use specum_core::verify::ProcessEnd;

use self::busy::Company;
pub use self::commit::Committed;
pub use self::error::GitError;
pub use self::forward::Forward;
use self::known::Known;
pub(crate) use self::path::{file as path_of, shown};
pub use self::port::LocalRepositories;
pub use self::programs::Programs;
pub use self::show::ChangedFile;
pub use self::status::Status;
pub use self::work::{Merge, Worktree};
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

/// What lets git take the lines of both sides where they meet in a progress file.
const NOTES_ARE_MERGED: &str = ".progress.md merge=union";

/// specum's own files, which never enter a commit nor `git status`.
const OWN_FILES: [&str; 16] = [
    ".current-spec",
    ".current-epic",
    ".epic-state.json",
    ".ralph-state.json",
    ".ralph-hook.json",
    ".ralph-hook.lock",
    ".ralph-journal.jsonl",
    ".ralph-journal-*.jsonl",
    ".ralph.lock",
    ".ralph-check.lock",
    ".ralph-run.lock",
    ".ralph-beat",
    ".ralph-tmp-*",
    ".progress-task-*.md",
    ".specum-trash/",
    "**/.claude/ralph-loop.local.md",
];

/// Whether a path is one of specum's own files, which may have been committed before
/// git was told to overlook them.
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

/// Adds those of the lines to a file of git's that it does not have.
fn add_missing_lines(path: &Path, lines: &[&str]) -> Result<(), GitError> {
    let before = files::read_if_there(path, 1024 * 1024)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&before).into_owned();
    let is_missing = |line: &&&str| !text.lines().any(|there| there == **line);
    let missing: Vec<&&str> = lines.iter().filter(is_missing).collect();
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
    for line in missing {
        after.extend_from_slice(line.as_bytes());
        after.push(b'\n');
    }
    Ok(files::write(path, &after)?)
}

/// Why some of these paths cannot be committed, in words for a person who can do
/// something about it.
pub fn cannot_be_committed(paths: &[String], dirty_submodules: &[String]) -> Vec<String> {
    let why = |path: &String| {
        if path.ends_with('/') {
            return Some(format!(
                "{path} is a git repository of its own, which no commit takes in: remove \
                 {path}.git, list it in .gitignore, or make it a submodule"
            ));
        }
        dirty_submodules.contains(path).then(|| {
            format!(
                "{path} is a submodule with changes of its own: commit them in it; then its new \
                 commit is committed here"
            )
        })
    };
    paths.iter().filter_map(why).collect()
}

/// git's own folder of a work tree, as far as that can be told without git.
fn own_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    // In a linked worktree, or a submodule, it is a file that names a folder.
    let named = files::read(&git, 64 * 1024).ok()?;
    let named = named.trim_ascii_end().strip_prefix(b"gitdir: ")?;
    Some(root.join(os::text(named)))
}

/// The folder that a work tree shares with the other worktrees of its repository.
fn common_folder(root: &Path) -> Option<PathBuf> {
    let own = own_folder(root)?;
    if own.ends_with(".git") {
        return own.canonicalize().ok();
    }
    // That of a linked worktree is `worktrees/<name>` in the common one.
    let all = own.parent().filter(|all| all.ends_with("worktrees"))?;
    all.parent()?.canonicalize().ok()
}

/// A repository.
#[derive(Debug, Clone)]
pub struct Git {
    /// The root of the work tree.
    pub root: PathBuf,
    /// What git has said about the index.
    known: Arc<Mutex<Known>>,
    /// Who else may be at work in the tree.
    company: Arc<Company>,
    /// Held while git makes, removes or lists worktrees: it reads what it knows of
    /// every one, and fails over one that is just being made or removed.
    worktrees: Arc<Mutex<()>>,
}

impl Git {
    /// The repository whose work tree has this root.
    pub fn at(root: PathBuf) -> Git {
        Git { root, known: Arc::default(), company: Arc::default(), worktrees: Arc::default() }
    }

    /// The repository that a directory belongs to; the error says why there is
    /// none.
    pub fn open(dir: &Path) -> Result<Git, GitError> {
        let root = Git::at(dir.to_owned()).read_bytes(&["rev-parse", "--show-toplevel"]);
        let root = root.map_err(|error| match error {
            // A link to a repository that is gone is told in other words.
            GitError::Said { message, .. } if message.contains("not a git repository (or any") => {
                GitError::NoRepository(dir.to_owned())
            }
            other => other,
        })?;
        Ok(Git::at(PathBuf::from(os::text(line_of(&root)))))
    }

    /// Makes a directory a repository.
    pub fn init(dir: &Path) -> Result<Git, GitError> {
        let git = Git::at(dir.to_owned());
        git.write(&["init", "--quiet", "--initial-branch=main"], &[])?;
        Ok(git)
    }

    /// Names the author of the commits of this repository alone.
    pub fn configure_identity(&self, name: &str, email: &str) -> Result<(), GitError> {
        self.write(&["config", "user.name", name], &[])?;
        self.write(&["config", "user.email", email], &[])
    }

    /// The commits from the first to HEAD, a line each.
    pub fn history(&self) -> Result<String, GitError> {
        self.read(&["log", "--format=%h %s"])
    }

    /// The id of the commit at HEAD; `None` before the first one.
    pub fn head(&self) -> Option<String> {
        let head = self.read(&["rev-parse", "--verify", "--quiet", "HEAD"]).ok()?;
        Some(head.trim().to_owned())
    }

    /// The file whose lock says that a run works in this work tree.
    pub fn run_lock(&self) -> Result<PathBuf, GitError> {
        Ok(self.directory()?.join("specum-run.lock"))
    }

    /// git's own directory of this work tree.
    fn directory(&self) -> Result<PathBuf, GitError> {
        match own_folder(&self.root) {
            Some(folder) => Ok(folder),
            None => {
                let said = self.read_bytes(&["rev-parse", "--absolute-git-dir"])?;
                Ok(PathBuf::from(os::text(line_of(&said))))
            }
        }
    }

    /// Where a path of this work tree is.
    pub fn file(&self, path: &str) -> PathBuf {
        self.root.join(path::file(path))
    }

    /// HEAD, the branch, and what is uncommitted, as they stand at one moment.
    pub fn status(&self) -> Result<Status, GitError> {
        let stamp = self.stamp();
        let text = self.read_bytes(&[
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ])?;
        let mut status = Status::parse(&text);
        self.learn_staged(stamp, &status);
        let ours = self.own_state();
        status.changed.retain(|path| {
            // A host may put worktrees into the tree: they are no part of the work.
            (!path.ends_with('/') || !self.is_worktree(path))
                && ours.as_ref().is_none_or(|ours| !path::file(path).starts_with(ours))
        });
        Ok(status)
    }

    /// specum's own folder, if it lies in this work tree: a home may be a
    /// repository.
    fn own_state(&self) -> Option<PathBuf> {
        let home = session::state_home()?;
        let home = home.canonicalize().unwrap_or(home);
        home.strip_prefix(&self.root).map(Path::to_owned).ok()
    }

    /// Whether a folder below the root is another worktree of this repository.
    fn is_worktree(&self, path: &str) -> bool {
        let folder = common_folder(&self.file(path));
        folder.is_some() && folder == common_folder(&self.root)
    }

    /// The paths that are changed, staged, deleted or new, below the root.
    pub fn changed(&self) -> Result<Vec<String>, GitError> {
        Ok(self.status()?.changed)
    }

    /// The paths that differ between a commit and HEAD.
    pub fn changed_since(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let args = ["diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=none"];
        let diff = self.read_bytes(&[&args[..], &[commit, "HEAD"]].concat())?;
        Ok(path::listed(&diff))
    }

    /// Which of these paths git ignores: not what it tracks.
    pub fn ignored(&self, paths: &[String]) -> Result<Vec<String>, GitError> {
        let paths = self.perhaps_untracked(paths);
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let args = ["check-ignore", "-z", "--stdin"];
        // It does not know `--literal-pathspecs`; no pattern begins like this.
        let list: Vec<String> = paths.iter().map(|path| format!("./{path}")).collect();
        let run = process::run(self.command_with(&[], &args), &path::joined(&list), BOUNDS);
        let plain = |path: String| path.trim_start_matches("./").to_owned();
        match run.ended {
            // 1: none of them.
            ProcessEnd::Code(0 | 1) => {
                Ok(path::listed(&run.stdout).into_iter().map(plain).collect())
            }
            _ => Err(said(&args, &run)),
        }
    }

    /// Whether one commit has another among those it was made from.
    pub fn descends(&self, commit: &str, from: &str) -> Result<bool, GitError> {
        let args = ["merge-base", "--is-ancestor", from, commit];
        let run = process::run(self.command(&args), &[], BOUNDS);
        match run.ended {
            ProcessEnd::Code(0) => Ok(true),
            ProcessEnd::Code(1) => Ok(false),
            _ => Err(said(&args, &run)),
        }
    }

    /// A file as it is in a commit; `None` if it is not in it.
    pub fn file_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        if self.paths_at(commit, &[path.to_owned()])?.is_empty() {
            return Ok(None);
        }
        let mut blob = format!("{commit}:").into_bytes();
        blob.extend(path::bytes(path));
        let args = [OsStr::new("cat-file"), OsStr::new("blob"), &OsString::from(os::text(&blob))];
        self.read_of(&args).map(Some)
    }

    /// Which of these paths are part of a commit.
    pub fn paths_at(&self, commit: &str, paths: &[String]) -> Result<Vec<String>, GitError> {
        let mut found = Vec::new();
        // A command line has an end.
        for some in paths.chunks(100) {
            let args = ["ls-tree", "-z", "--name-only", "--full-tree", commit, "--"];
            found.extend(path::listed(&self.read_of(&with_paths(&args, some))?));
        }
        Ok(found)
    }

    /// The commit behind another one, or since the first, whose message has this line.
    pub fn commit_since(
        &self,
        start: Option<&str>,
        line: &str,
    ) -> Result<Option<String>, GitError> {
        // A git that fails is not one that has no commit yet.
        if self.status()?.head.is_none() {
            return Ok(None);
        }
        let range = start.map_or("HEAD".to_owned(), |start| format!("{start}..HEAD"));
        let log = self.read(&["log", "-z", "--format=%H%n%B", &range])?;
        let mut commits = log.split('\0').filter_map(|commit| commit.split_once('\n'));
        let found = commits.find(|(_, message)| message.lines().any(|found| found == line));
        Ok(found.map(|(id, _)| id.to_owned()))
    }

    fn exclude_file(&self) -> Result<PathBuf, GitError> {
        let path = self.read_bytes(&["rev-parse", "--git-path", "info/exclude"])?;
        Ok(self.root.join(os::text(line_of(&path))))
    }

    /// Lets the repository overlook specum's own files, and keep both sides where two
    /// have written notes: otherwise no commit of a task could be reverted by itself.
    pub fn exclude_own_files(&self) -> Result<(), GitError> {
        let exclude = self.exclude_file()?;
        add_missing_lines(&exclude, &OWN_FILES)?;
        add_missing_lines(&exclude.with_file_name("attributes"), &[NOTES_ARE_MERGED])
    }

    /// What of the files of a loop is part of the repository. Which of the `others`
    /// are, too, is kept for the next commit.
    pub fn committed_loop(
        &self,
        files: &[PathBuf],
        others: &[PathBuf],
    ) -> Result<Option<String>, GitError> {
        let stamp = self.stamp();
        let mut args = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsStr::new).to_vec();
        args.extend(files.iter().chain(others).map(|file| file.as_os_str()));
        let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
        let is_of_loop = |path: &String| names.contains(&path.rsplit('/').next().unwrap_or(path));
        let found = path::listed(&self.read_of(&args)?).into_iter();
        let (of_loop, tracked): (Vec<String>, Vec<String>) = found.partition(is_of_loop);
        self.learn_tracked(stamp, tracked);
        Ok(of_loop.into_iter().next())
    }

    fn read(&self, args: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.read_bytes(args)?).into_owned())
    }

    fn read_bytes(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.read_of(args)
    }

    fn read_of<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(args);
        command.env("GIT_OPTIONAL_LOCKS", "0");
        let run = process::run(command, &[], BOUNDS);
        if run.cut {
            // The end of a list is not the list.
            let message = format!("its output is longer than {} bytes", BOUNDS.output);
            return Err(GitError::Said { command: name_of(args), message });
        }
        if run.succeeded() { Ok(run.stdout) } else { Err(said(args, &run)) }
    }

    /// Runs a command that takes a lock, again if another process holds it.
    fn write<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<(), GitError> {
        self.write_by(|| self.command(args), args, input)
    }

    fn write_by<A: AsRef<OsStr>>(
        &self,
        command: impl Fn() -> Command,
        args: &[A],
        input: &[u8],
    ) -> Result<(), GitError> {
        let bounds = match args.first() {
            Some(name) if name.as_ref() == "commit" => WITH_HOOKS,
            _ => BOUNDS,
        };
        let mut patience = busy::LockPatience::default();
        loop {
            let run = process::run(command(), input, bounds);
            if run.succeeded() {
                return Ok(());
            }
            let lock = busy::named_lock(&String::from_utf8_lossy(&run.output));
            if !lock.is_some_and(|lock| patience.waits(self, &lock)) {
                return Err(said(args, &run));
            }
        }
    }

    fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        // Paths are paths: `:(top)` or `*` in a file name are no patterns.
        self.command_with(&["--literal-pathspecs"], args)
    }

    fn command_with<A: AsRef<OsStr>>(&self, options: &[&str], args: &[A]) -> Command {
        let mut command = Command::new("git");
        command
            // Not as its working directory: for that our own process would have
            // to be copied first, which takes longer the more it holds.
            .arg("-C")
            .arg(&self.root)
            .args(options)
            // A file system monitor would outlive us as a daemon, and so would
            // a garbage collection, for which the user's own commits are enough.
            .args(["-c", "core.fsmonitor=false", "-c", "maintenance.auto=false"])
            .args(["-c", "gc.auto=0"])
            // Submodules are the user's: we move no pointer but the agent's own.
            .args(["-c", "submodule.recurse=false"])
            .args(args)
            // We read its messages.
            .env("LC_MESSAGES", "C")
            // Nobody is there to answer.
            .env("GIT_TERMINAL_PROMPT", "0");
        // It would have the last word on messages too; everything else of the
        // user's locale is for their hooks.
        if let Some(all) = std::env::var_os("LC_ALL").filter(|all| !all.is_empty()) {
            command.env_remove("LC_ALL").env("LC_CTYPE", &all).env("LANG", &all);
        }
        process::in_no_given_repository(&mut command);
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

/// What git prints on one line, without its end.
fn line_of(said: &[u8]) -> &[u8] {
    said.strip_suffix(b"\n").unwrap_or(said)
}

/// Arguments with paths behind them.
fn with_paths(args: &[&str], paths: &[String]) -> Vec<OsString> {
    let paths = paths.iter().map(|path| path::file(path).into_os_string());
    args.iter().map(OsString::from).chain(paths).collect()
}

/// The subcommand among arguments.
fn name_of<A: AsRef<OsStr>>(args: &[A]) -> String {
    let first = args.first().map(|arg| arg.as_ref().to_string_lossy().into_owned());
    first.unwrap_or_default()
}

fn said<A: AsRef<OsStr>>(args: &[A], run: &Run) -> GitError {
    let output = String::from_utf8_lossy(&run.output);
    let message = match &run.ended {
        ProcessEnd::NotStarted(why) if process::find_program("git").is_some() => {
            return GitError::NotStarted(why.clone());
        }
        ProcessEnd::NotStarted(why) => {
            return GitError::NotInstalled(why.clone());
        }
        ProcessEnd::TimedOut(seconds) => format!("did not end within {seconds} s"),
        ProcessEnd::Code(code) if output.trim().is_empty() => {
            format!("ended with code {code} and said nothing")
        }
        ProcessEnd::Code(_) | ProcessEnd::Signal(_) => output.trim().to_owned(),
    };
    GitError::Said { command: name_of(args), message }
}

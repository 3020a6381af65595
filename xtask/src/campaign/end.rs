//! What a story has come to, as far as anybody can see it from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::invariants::Broken;
use super::scripts::{ADDED, FORMATTED, TIP};
use super::stage::{Ended, SPEC, Stage};
use super::story::Story;
use super::story::fault::{AtAgent, AtCommit, Fault, Kind};
use super::story::plan::{Check, SHARED, Task, named_in};

/// A file of the user's: its permissions and its content, or where it leads.
pub type Content = (u32, Vec<u8>);

/// What is there before the first start and must be there after the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Before {
    /// The user's files, by path.
    pub files: BTreeMap<String, Content>,
    /// What git says is changed, and what is staged: a line for each.
    pub status: BTreeSet<String>,
}

impl Before {
    pub fn of(stage: &Stage) -> io::Result<Before> {
        let mut files = BTreeMap::new();
        collect(&stage.root(), &stage.root(), &mut files)?;
        let status = stage.git(&["status", "--porcelain", "--untracked-files=all"])?;
        // One of specum's own files, which git overlooks from the first start on.
        let lines = status.lines().filter(|line| *line != "?? specs/.current-spec");
        let mut status: BTreeSet<String> = lines.map(str::to_owned).collect();
        status.extend(staged(stage, &[])?);
        Ok(Before { files, status })
    }

    /// Takes over what a person has changed since: a file that is tracked, a new
    /// one, and one that is staged.
    pub fn follow(&mut self, stage: &Stage, edited: [&str; 3]) -> io::Result<()> {
        for path in edited {
            let file = stage.root().join(path);
            let mode = fs::metadata(&file)?.permissions().mode() & 0o777;
            self.files.insert(path.to_owned(), (mode, fs::read(file)?));
        }
        let [changed, new, added] = edited;
        self.status.extend([format!(" M {changed}"), format!("?? {new}"), format!("A  {added}")]);
        self.status.extend(staged(stage, &[added])?);
        Ok(())
    }
}

/// What is staged, with its content.
fn staged(stage: &Stage, paths: &[&str]) -> io::Result<Vec<String>> {
    let args = ["diff", "--cached", "--raw", "--no-abbrev", "--no-renames", "--"];
    let said = stage.git(&[&args[..], paths].concat())?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// The files below a directory that are neither git's, nor the plan's, nor what
/// the tasks are asked to leave.
fn collect(root: &Path, dir: &Path, files: &mut BTreeMap<String, Content>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let is_ours = path.file_name().is_some_and(|name| name == ".ralph.lock");
        if is_ours || [".git", SPEC, "out", SHARED].contains(&name.as_str()) {
            continue;
        }
        let found = fs::symlink_metadata(&path)?;
        if found.is_dir() {
            collect(root, &path, files)?;
        } else if found.is_symlink() {
            let target = fs::read_link(&path)?.to_string_lossy().into_owned();
            files.insert(name, (0, target.into_bytes()));
        } else {
            files.insert(name, (found.permissions().mode() & 0o777, fs::read(&path)?));
        }
    }
    Ok(())
}

/// A commit behind the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The tasks that it says it is about.
    pub tasks: Vec<String>,
    /// What it changes.
    pub paths: Vec<String>,
}

/// A task that had to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub id: String,
    /// The file of its own, and its content.
    pub file: Option<(String, String)>,
    /// The line that it had to add to the shared file.
    pub line: Option<String>,
    /// Whether its check can be run, and leaves evidence.
    pub checked: bool,
}

impl Asked {
    /// What a task had to leave, with what the repository's hook makes of it.
    fn of(task: &Task, hook: Option<AtCommit>) -> Asked {
        let end = match hook {
            Some(AtCommit::Formats | AtCommit::FormatsIndex | AtCommit::FormatsAndFails) => {
                FORMATTED
            }
            Some(AtCommit::AddsFile) | None => "",
        };
        let file = task.file().map(|path| (path, format!("{}\n{end}", task.line())));
        let line = (file.is_none() && task.doing().contains(SHARED)).then(|| task.line());
        Asked { id: task.id.clone(), file, line, checked: task.check != Check::Prose }
    }
}

/// Everything that the invariants look at.
#[derive(Debug, Clone, Default)]
pub struct End {
    pub asked: Vec<Asked>,
    /// The plan as the user, or a person after that, has written it.
    pub meant: Vec<u8>,
    pub plan: Vec<u8>,
    pub progress: String,
    pub journal: Vec<Value>,
    pub commits: Vec<Commit>,
    /// The files in the tree that tasks have left, by path.
    pub work: BTreeMap<String, Vec<u8>>,
    pub shared: String,
    /// The tasks whose check has passed, by the evidence it has left.
    pub evidence: BTreeSet<String>,
    pub before: Before,
    pub after: Before,
    /// The user's files that an agent may have deleted.
    pub may_be_gone: BTreeSet<String>,
    /// What became of a commit that an agent has taken out of the history.
    pub rewritten: Option<Rewritten>,
    /// How many agents were started.
    pub agents: usize,
    /// What they were given to read, as far as they have read it.
    pub briefs: Vec<String>,
    pub worktrees: Vec<String>,
    /// Every reference.
    pub references: Vec<String>,
    pub processes: Vec<String>,
    /// Files that only a run needs.
    pub leftovers: Vec<String>,
}

/// A commit that an agent has taken out of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewritten {
    /// Whether some reference leads to it.
    pub is_kept: bool,
    /// Whether specum has said so.
    pub is_told: bool,
}

/// What specum says then.
pub const HISTORY_REWRITTEN: &str = "has rewritten the history";

impl End {
    pub fn of(
        stage: &Stage,
        story: &Story,
        struck: &[bool],
        before: Before,
        told: &str,
    ) -> io::Result<End> {
        let hook = story.hook();
        let mut asked: Vec<Asked> = story.tasks.iter().map(|task| Asked::of(task, hook)).collect();
        for (fault, struck) in story.faults.iter().zip(struck) {
            match fault {
                Fault::Agent { how: AtAgent::Edit(edit), .. } if *struck => {
                    asked.extend(edit.adds().map(|id| Asked::of(&Task::added(id), hook)));
                }
                // A person has agreed.
                Fault::Agent { how: AtAgent::Removes { task, is_put_back: false }, .. }
                    if *struck =>
                {
                    asked.retain(|asked| asked.id != *task);
                }
                _ => {}
            }
        }
        let root = stage.root();
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let mut work = BTreeMap::new();
        if root.join("out").exists() {
            collect(&root, &root.join("out"), &mut work)?;
        }
        let list = |args: &[&str]| -> io::Result<Vec<String>> {
            Ok(stage.git(args)?.lines().map(str::to_owned).collect())
        };
        let mut after = Before::of(stage)?;
        // The hook's own, of which git has to know.
        after.files.remove(ADDED);
        Ok(End {
            asked,
            may_be_gone: may_be_gone(stage, story, struck, &before)?,
            rewritten: rewritten(stage, told)?,
            agents: names(&stage.base().join("stage")).iter().filter(|name| is_start(name)).count(),
            briefs: briefs(stage),
            after,
            meant: fs::read(stage.seen_plan())?,
            plan: fs::read(stage.plan())?,
            progress: text("specs/plan/.progress.md"),
            journal: journal(stage),
            commits: commits(stage)?,
            work: work.into_iter().map(|(path, (_, bytes))| (path, bytes)).collect(),
            shared: text(SHARED),
            evidence: names(&stage.base().join("evidence")).into_iter().collect(),
            before,
            worktrees: list(&["worktree", "list"])?,
            references: list(&["for-each-ref", "--format=%(refname)"])?,
            processes: stage.processes().into_iter().map(|(_, line)| line).collect(),
            leftovers: leftovers(stage),
        })
    }

    /// How many tasks are ticked.
    pub fn done(&self) -> usize {
        let ticked = ticked(&self.plan);
        self.asked.iter().filter(|asked| ticked.contains(&asked.id)).count()
    }
}

/// What agents have read.
fn briefs(stage: &Stage) -> Vec<String> {
    let dir = stage.base().join("stage");
    let read = names(&dir).into_iter().filter(|name| name.ends_with(".brief"));
    let texts = read.filter_map(|name| fs::read(dir.join(name)).ok());
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Whether a file on the stage tells of the start of an agent.
fn is_start(name: &str) -> bool {
    name.strip_prefix("claude.").is_some_and(|rest| rest.ends_with(".called"))
}

/// What of the user's files git does not know, if an agent has deleted all that.
fn may_be_gone(
    stage: &Stage,
    story: &Story,
    struck: &[bool],
    before: &Before,
) -> io::Result<BTreeSet<String>> {
    let mut all = story.faults.iter().zip(struck).filter(|(_, struck)| **struck);
    if !all.any(|(fault, _)| fault.kind() == Kind::AgentCleans) {
        return Ok(BTreeSet::new());
    }
    let known = stage.git(&["ls-files", "-z"])?;
    let known: BTreeSet<&str> = known.split('\0').collect();
    Ok(before.files.keys().filter(|path| !known.contains(path.as_str())).cloned().collect())
}

fn rewritten(stage: &Stage, told: &str) -> io::Result<Option<Rewritten>> {
    let Ok(tip) = fs::read_to_string(stage.base().join("stage").join(TIP)) else {
        return Ok(None);
    };
    let leading = stage.git(&["for-each-ref", "--contains", tip.trim()])?;
    let is_told = told.contains(HISTORY_REWRITTEN);
    Ok(Some(Rewritten { is_kept: !leading.is_empty(), is_told }))
}

/// The tasks behind the ticked boxes at column 0.
pub fn ticked(plan: &[u8]) -> BTreeSet<String> {
    let plan = String::from_utf8_lossy(plan);
    let id = |line: &str| {
        let title = line.strip_prefix("- [x] ")?;
        named_in(title).or_else(|| Some(title.split(' ').next()?.to_owned()))
    };
    plan.lines().filter_map(id).collect()
}

/// The task that a record is about.
pub fn task_of(record: &Value) -> Option<String> {
    let task = &record["task"];
    let by_title = task["title"].as_str().and_then(named_in);
    by_title.or_else(|| task["id"].as_str().map(str::to_owned))
}

/// The journal, behind those of the loops before: a second run may have completed the
/// plan whose first run was killed, and the next start begins a loop of its own.
fn journal(stage: &Stage) -> Vec<Value> {
    let read = |name: String| fs::read(stage.root().join(SPEC).join(name)).ok();
    let earlier = (1..).map_while(|number| read(format!(".ralph-journal-{number}.jsonl")));
    let texts: Vec<Vec<u8>> = earlier.chain(read(".ralph-journal.jsonl".to_owned())).collect();
    let lines = texts.iter().flat_map(|text| text.split(|byte| *byte == b'\n'));
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn commits(stage: &Stage) -> io::Result<Vec<Commit>> {
    let ids = stage.git(&["rev-list", "--reverse", "--first-parent", "HEAD"])?;
    let commit = |id: &str| -> io::Result<Commit> {
        let message = stage.git(&["show", "--no-patch", "--format=%B", id])?;
        let paths = stage.git(&["show", "--name-only", "--no-renames", "-z", "--format=", id])?;
        let filled = |text: &str, at: char| -> Vec<String> {
            text.split(at).filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let mut paths = filled(&paths, '\0');
        paths.retain(|path| path != ADDED);
        Ok(Commit { tasks: committed(&message), paths })
    };
    ids.lines().skip(1).map(commit).collect()
}

/// The tasks that a commit says it is about, by the title or by the message that
/// the plan names for it. One without a trailer is nobody's.
fn committed(message: &str) -> Vec<String> {
    let trailers = message.lines().filter(|line| line.starts_with("Task: ")).count();
    let by_plan = || Some(message.strip_prefix("feat(")?.split(')').next()?.to_owned());
    let task = named_in(message).or_else(by_plan);
    task.into_iter().cycle().take(trailers).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The locks that git holds, or has left.
pub fn git_locks(stage: &Stage) -> Vec<String> {
    let is_lock = |name: &String| name.ends_with(".lock") && name != "specum-run.lock";
    names(&stage.root().join(".git")).into_iter().filter(is_lock).collect()
}

/// The files that only a run needs: temporary ones, the state, notes that are
/// not merged, locks of git, worktrees.
fn leftovers(stage: &Stage) -> Vec<String> {
    let root = stage.root();
    let is_left = |name: &String| {
        name.starts_with(".ralph-tmp-")
            || name.starts_with(".progress-task-")
            || name == ".ralph-state.json"
            || name.ends_with('~')
    };
    let mut left: Vec<String> = names(&root.join(SPEC)).into_iter().filter(is_left).collect();
    left.extend(names(&root.join("specs")).into_iter().filter(is_left));
    left.extend(git_locks(stage));
    let is_scratch = |name: &String| name.starts_with("specum-index-");
    left.extend(names(&root.join(".git")).into_iter().filter(is_scratch));
    left.extend(names(&root.join(".git/worktrees")));
    left.extend(names(&root.join(".git/info")).into_iter().filter(is_left));
    left.extend(names(&stage.base().join("tmp")));
    left.extend(names(&stage.base().join("home/.local/state/specum/worktrees")));
    left
}

/// How long the system may take to let go of a process that was killed.
const LETTING_GO: Duration = Duration::from_secs(5);

/// A process that a start has left, if there is one.
fn left_running(stage: &Stage) -> Option<String> {
    let end = Instant::now() + LETTING_GO;
    loop {
        let (_, line) = stage.processes().into_iter().next()?;
        if Instant::now() > end {
            return Some(line);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What has to hold after every start, however it ended.
pub fn after_start(stage: &Stage, ended: &Ended) -> Option<Broken> {
    if ended.hangs {
        return Some(Broken { invariant: "ends", why: "a start had to be killed".to_owned() });
    }
    if ended.said.contains("panicked at") {
        return Some(Broken { invariant: "no-panic", why: ended.said.clone() });
    }
    if ended.code.is_some()
        && let Some(line) = left_running(stage)
    {
        let why = format!("still running after a start that has ended: {line}");
        return Some(Broken { invariant: "no-process-left", why });
    }
    // A run that did not get to its end, or could not write, has not put the boxes
    // right; the next start does.
    ended.code.filter(|code| [0, 6].contains(code))?;
    let plan = fs::read(stage.plan()).unwrap_or_default();
    let journal = journal(stage);
    let passed = |id: &String| {
        let is_it = |record: &Value| task_of(record).as_ref() == Some(id);
        journal.iter().any(|record| record["event"] == "passed" && is_it(record))
    };
    let bare = ticked(&plan).into_iter().find(|id| !passed(id))?;
    let why = format!("{bare} is ticked and has no passed verdict after a start");
    Some(Broken { invariant: "ticked-with-verdict", why })
}

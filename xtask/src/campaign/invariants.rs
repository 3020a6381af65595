//! What always holds at the end of a story, whatever has struck. Each invariant
//! is a question to an `End`, without a look at the world.

use std::collections::BTreeSet;

use super::end::{End, task_of, ticked};
use super::stage::SHARED_BEGINNING;
use super::story::plan::{SHARED, named_in};

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub invariant: &'static str,
    pub why: String,
}

/// A question; the answer is what does not hold.
type Question = fn(&End) -> Option<String>;

/// All of them, by name.
pub const ALL: [(&str, Question); 16] = [
    ("no-task-lost", no_task_lost),
    ("removals-agreed", removals_agreed),
    ("ticked-with-verdict", ticked_with_verdict),
    ("check-has-run", check_has_run),
    ("work-is-there", work_is_there),
    ("history-kept", history_kept),
    ("committed-once", committed_once),
    ("commits-hold-their-work", commits_hold_their_work),
    ("plan-untouched", plan_untouched),
    ("noted-once", noted_once),
    ("user-files-untouched", user_files_untouched),
    ("agents-charged", agents_charged),
    ("notes-reach", notes_reach),
    ("no-process-left", no_process_left),
    ("no-branch-left", no_branch_left),
    ("no-file-left", no_file_left),
];

/// What a person of a story notes for agents.
pub const NOTE: &str = "mind-the-gap";

/// The first invariant that does not hold.
pub fn broken(end: &End) -> Option<Broken> {
    ALL.iter().find_map(|(invariant, question)| question(end).map(|why| Broken { invariant, why }))
}

/// Every task, those that a person added included, is ticked.
fn no_task_lost(end: &End) -> Option<String> {
    let ticked = ticked(&end.plan);
    let lost = end.asked.iter().find(|asked| !ticked.contains(&asked.id))?;
    Some(format!("{} is not done although the run says it is complete", lost.id))
}

/// Every task that was removed while somebody was at work is back, or a person
/// has agreed to its removal.
fn removals_agreed(end: &End) -> Option<String> {
    let edits = end.journal.iter().filter_map(|record| record["edits"].as_array()).flatten();
    let removed = edits.filter_map(|edit| {
        let asked = &edit["unconfirmed"];
        (asked["change"] == "removed").then(|| task_of(asked)).flatten()
    });
    let plan = String::from_utf8_lossy(&end.plan).into_owned();
    let is_there = |id: &String| plan.lines().any(|line| named_in(line).as_ref() == Some(id));
    let is_agreed = |id: &String| {
        let is_it = |record: &&serde_json::Value| {
            record["event"] == "accepted" && task_of(record).as_ref() == Some(id)
        };
        end.journal.iter().any(|record| is_it(&record))
    };
    let lost = removed.into_iter().find(|id| !is_there(id) && !is_agreed(id))?;
    Some(format!("complete, and nobody has agreed to the removal of {lost}"))
}

/// The last verdict on each ticked task is that it passed, and the record that
/// says so is the one that ticks it.
fn ticked_with_verdict(end: &End) -> Option<String> {
    ticked(&end.plan).into_iter().find_map(|id| {
        let verdicts = ["passed", "failed", "set-aside", "waits"];
        let last = end.journal.iter().rev().find(|record| {
            task_of(record).as_ref() == Some(&id)
                && verdicts.iter().any(|verdict| record["event"] == **verdict)
        });
        match last {
            Some(record) if record["event"] == "passed" => None,
            Some(record) => {
                Some(format!("{id} is ticked, and its last verdict is {}", record["event"]))
            }
            None => Some(format!("{id} is ticked, and has no verdict")),
        }
    })
}

/// The check of each ticked task that has one has really been run and passed.
fn check_has_run(end: &End) -> Option<String> {
    let ticked = ticked(&end.plan);
    let bare = end.asked.iter().find(|asked| {
        asked.checked && ticked.contains(&asked.id) && !end.evidence.contains(&asked.id)
    })?;
    Some(format!("{} is ticked, and its check has left no evidence", bare.id))
}

/// What each task had to leave is there, once, and nothing else.
fn work_is_there(end: &End) -> Option<String> {
    for asked in &end.asked {
        if let Some((path, content)) = &asked.file
            && end.work.get(path).map(Vec::as_slice) != Some(content.as_bytes())
        {
            return Some(format!("{path} is {:?}", end.work.get(path)));
        }
    }
    let known: BTreeSet<&String> =
        end.asked.iter().filter_map(|asked| asked.file.as_ref()).map(|(path, _)| path).collect();
    if let Some(path) = end.work.keys().find(|path| !known.contains(path)) {
        return Some(format!("{path} is nobody's work"));
    }
    let Some(added) = end.shared.strip_prefix(SHARED_BEGINNING) else {
        return Some(format!("{SHARED} has lost the user's own line: {:?}", end.shared));
    };
    let mut lines: Vec<&str> = added.lines().collect();
    lines.sort_unstable();
    let mut wanted: Vec<&str> =
        end.asked.iter().filter_map(|asked| asked.line.as_deref()).collect();
    wanted.sort_unstable();
    (lines != wanted).then(|| format!("{SHARED} has the lines {lines:?}, not {wanted:?}"))
}

/// A commit that an agent has taken out of the history is under a reference, and
/// somebody was told.
fn history_kept(end: &End) -> Option<String> {
    let rewritten = end.rewritten?;
    match (rewritten.is_kept, rewritten.is_told) {
        (false, _) => Some("no reference leads to the commit that an agent dropped".to_owned()),
        (_, false) => Some("an agent has rewritten the history, and nobody was told".to_owned()),
        (true, true) => None,
    }
}

/// Every agent that was started is charged, so that caps bind: also those that a
/// What a person has noted for a task, or for all, stands in the brief of every attempt
/// that was opened since, until the task has passed or the loop has ended.
fn notes_reach(end: &End) -> Option<String> {
    let mut noted: Vec<Option<String>> = Vec::new();
    for record in &end.journal {
        match record["event"].as_str() {
            Some("noted") => noted.push(task_of(record)),
            Some("passed") => noted.retain(|about| about.is_none() || *about != task_of(record)),
            Some("completed" | "cancelled") => noted.clear(),
            Some("opened") if noted.iter().any(|to| to.is_none() || *to == task_of(record)) => {
                let id = record["id"].as_str().unwrap_or("no id");
                let read = end.briefs.iter().find(|brief| brief.contains(id));
                if read.is_some_and(|brief| !brief.contains(NOTE)) {
                    let task = task_of(record).unwrap_or_default();
                    return Some(format!("an attempt at {task} was not told what is noted for it"));
                }
            }
            _ => {}
        }
    }
    None
}

/// killed run has started, unless a person has cancelled the loop since.
fn agents_charged(end: &End) -> Option<String> {
    let count = |event: &str| end.journal.iter().filter(|record| record["event"] == event).count();
    let charged = count("charged");
    (charged < end.agents && count("cancelled") == 0)
        .then(|| format!("{} agents were started, and {charged} are charged", end.agents))
}

/// Each task has one commit, and each commit one task.
fn committed_once(end: &End) -> Option<String> {
    for asked in &end.asked {
        let count = end.commits.iter().filter(|commit| commit.tasks == [asked.id.clone()]).count();
        if count != 1 {
            return Some(format!("{} has {count} commits", asked.id));
        }
    }
    (end.commits.len() != end.asked.len())
        .then(|| format!("{} commits for {} tasks", end.commits.len(), end.asked.len()))
}

/// A commit holds the task's work and the spec's own files, and nothing else.
fn commits_hold_their_work(end: &End) -> Option<String> {
    for commit in &end.commits {
        let asked = end.asked.iter().find(|asked| commit.tasks == [asked.id.clone()])?;
        let work = asked.file.as_ref().map_or(SHARED, |(path, _)| path.as_str());
        let may = [work, "specs/plan/tasks.md", "specs/plan/.progress.md"];
        if let Some(path) = commit.paths.iter().find(|path| !may.contains(&path.as_str())) {
            return Some(format!("the commit of {} holds {path}", asked.id));
        }
        let must = asked.file.is_some() || asked.line.is_some();
        if must && !commit.paths.iter().any(|path| path == work) {
            return Some(format!("the commit of {} does not hold {work}", asked.id));
        }
    }
    None
}

/// The plan is as people wrote it, but for ticks of tasks and their steps.
fn plan_untouched(end: &End) -> Option<String> {
    let open = |plan: &[u8]| {
        let lines = plan.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        let open = |mut line: Vec<u8>| {
            let indent = line.len() - line.trim_ascii_start().len();
            if line[indent..].starts_with(b"- [x]") {
                line[indent + 3] = b' ';
            }
            line
        };
        lines.map(open).collect::<Vec<_>>()
    };
    let (meant, found) = (open(&end.meant), open(&end.plan));
    let at = (0..meant.len().max(found.len())).find(|n| meant.get(*n) != found.get(*n))?;
    let shown =
        |line: Option<&Vec<u8>>| line.map(|line| String::from_utf8_lossy(line).into_owned());
    Some(format!("line {}: {:?} was {:?}", at + 1, shown(found.get(at)), shown(meant.get(at))))
}

/// Each task is among the completed ones of the progress file, once.
fn noted_once(end: &End) -> Option<String> {
    let completed = end.progress.split("## Completed").nth(1).unwrap_or_default();
    let completed = completed.split("\n## ").next().unwrap_or_default();
    end.asked.iter().find_map(|asked| {
        let is_it = |line: &&str| {
            named_in(line).map_or_else(
                || line.starts_with(&format!("- {} ", asked.id)),
                |named| named == asked.id,
            )
        };
        let count = completed.lines().filter(is_it).count();
        (count != 1).then(|| format!("{} is noted {count} times as completed", asked.id))
    })
}

/// No byte of the user's files has changed, nor what was staged of them.
fn user_files_untouched(end: &End) -> Option<String> {
    let (before, after) = (&end.before, &end.after);
    let paths: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    let is_gone = |path: &String| !after.files.contains_key(path) && end.may_be_gone.contains(path);
    let differs =
        |path: &&String| before.files.get(*path) != after.files.get(*path) && !is_gone(path);
    if let Some(path) = paths.into_iter().find(differs) {
        return Some(format!(
            "{path} is {:?} and was {:?}",
            after.files.get(path),
            before.files.get(path)
        ));
    }
    let expected =
        |line: &&String| !line.strip_prefix("?? ").is_some_and(|path| is_gone(&path.to_owned()));
    let expected: BTreeSet<&String> = before.status.iter().filter(expected).collect();
    (!expected.iter().copied().eq(&after.status))
        .then(|| format!("git says {:?} and said {:?}", after.status, expected))
}

fn no_process_left(end: &End) -> Option<String> {
    end.processes.first().map(|line| format!("still running: {line}"))
}

/// There is one worktree and one branch; what was not finished may be kept.
fn no_branch_left(end: &End) -> Option<String> {
    if end.worktrees.len() != 1 {
        return Some(format!("worktrees: {:?}", end.worktrees));
    }
    let is_known =
        |name: &&String| *name == "refs/heads/main" || name.starts_with("refs/specum/plan/kept/");
    end.references.iter().find(|name| !is_known(name)).map(|name| format!("{name} is left"))
}

fn no_file_left(end: &End) -> Option<String> {
    end.leftovers.first().map(|name| format!("{name} is left"))
}

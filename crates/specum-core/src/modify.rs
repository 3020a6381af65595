//! What an executor asks of the plan instead of improvising: to split its task, to put
//! another one in front of it, or behind it.
//!
//! The request stands in its last message: a word alone on its line, and a fenced JSON
//! object behind it. [`Request::find`] reads it, [`decide`] says what becomes of it. The
//! text of a request is an agent's: nothing of it comes into the plan but whole tasks that
//! pass the same rules as those of a plan that specum has written, under ids that code
//! gives them. Its scope cannot grow by it: links, files and the task's own check bound it.

use serde::{Deserialize, Serialize};

use crate::check::Severity;
use crate::completion::undecorated;
use crate::line::{self, Fences};
use crate::spec::gate::{self, Facts, Policy, Rule, Spec};
use crate::spec::links::{self, Links};
use crate::spec::{Doc, Texts};
use crate::tasks::{Marker, Task, TaskEdit, TaskFile, TaskKey};

/// The word in front of a request.
pub const WORD: &str = "TASK_MODIFICATION_REQUEST";

/// The longest request that is read.
const LONGEST: usize = 64 * 1024;
/// How many tasks one request may propose.
const MOST_TASKS: usize = 8;
/// The longest reason that is kept.
const LONGEST_REASON: usize = 500;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The task is to be done in several.
    Split,
    /// Something is to be done before it.
    Prerequisite,
    /// Something is to be done after it.
    FollowUp,
    /// A word of another version.
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// Whether an attempt that was granted this is over.
    pub fn ends_attempt(self) -> bool {
        matches!(self, Kind::Split | Kind::Prerequisite)
    }
}

/// What an executor asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What.
    pub kind: Kind,
    /// The task that it means.
    pub task: String,
    /// Why, in one line.
    pub why: String,
    /// The tasks that it proposes, each a text.
    pub proposed: Vec<String>,
}

/// A request as an agent writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(rename = "type")]
    kind: String,
    original_task_id: String,
    reasoning: String,
    proposed_tasks: Vec<String>,
}

impl Request {
    /// The request in an executor's last message, or why it cannot be read; `None` if
    /// there is none. Of several the last one counts.
    pub fn find(message: &str) -> Option<Result<Request, String>> {
        let mut fences = Fences::default();
        let mut asked = false;
        let mut object: Option<String> = None;
        let mut found = None;
        for line in line::lines(message.as_bytes()) {
            let was_inside = object.is_some();
            let is_hidden = fences.hide(&line);
            let text = line::readable(line.text);
            match (is_hidden, &mut object) {
                (false, None) if undecorated(text.trim()) == WORD => {
                    (asked, found) = (true, Some(Err(NO_OBJECT.to_owned())));
                }
                // The line that begins a fence.
                (true, None) if asked => object = Some(String::new()),
                (true, Some(inside)) => {
                    if fences.is_open() {
                        inside.push_str(&text);
                        inside.push('\n');
                    } else {
                        found = Some(Request::parse(inside));
                        (asked, object) = (false, None);
                    }
                }
                _ => debug_assert!(!was_inside, "a fence goes on until it is closed"),
            }
        }
        found
    }

    fn parse(object: &str) -> Result<Request, String> {
        if object.len() > LONGEST {
            return Err(format!("it is longer than {} KB", LONGEST / 1024));
        }
        let written: Written = serde_json::from_str(object)
            .map_err(|error| format!("its JSON cannot be read: {error}"))?;
        let kind = match written.kind.as_str() {
            "SPLIT_TASK" => Kind::Split,
            "ADD_PREREQUISITE" => Kind::Prerequisite,
            "ADD_FOLLOWUP" => Kind::FollowUp,
            other => {
                let other = line::head(other, 60);
                return Err(format!(
                    "there is no type {other:?}; use SPLIT_TASK, ADD_PREREQUISITE or ADD_FOLLOWUP"
                ));
            }
        };
        let why = written.reasoning.split_whitespace().collect::<Vec<_>>().join(" ");
        if why.is_empty() {
            return Err("it gives no reasoning".into());
        }
        let count = written.proposed_tasks.len();
        if count == 0 || count > MOST_TASKS {
            return Err(format!("it proposes {count} tasks; propose 1 to {MOST_TASKS}"));
        }
        Ok(Request {
            kind,
            task: written.original_task_id.trim().to_owned(),
            why: line::head(&why, LONGEST_REASON).to_owned(),
            proposed: written.proposed_tasks,
        })
    }
}

/// Said of a request without its object.
const NO_OBJECT: &str = "no closed ```json fence with one object follows the word";

/// How much a plan may still grow, as far as it has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many requests about the task were granted.
    pub of_task: u64,
    /// How many may be.
    pub most_of_task: u64,
    /// How deep a task may stand below one of the plan's own.
    pub most_depth: usize,
    /// How many tasks were added in this loop.
    pub added: usize,
    /// How many may be; `None`: a quarter of the plan, at least five.
    pub most_added: Option<usize>,
    /// Whether the task is worked in a group, whose tasks are to keep their places.
    pub in_group: bool,
}

/// How many requests about one task are granted unless the state says otherwise.
pub const MOST_OF_TASK: u64 = 3;
/// How deep added tasks may stand.
pub const MOST_DEPTH: usize = 2;

impl Limits {
    /// How many tasks may be added to a plan of so many in all.
    fn most_added(&self, tasks: usize) -> usize {
        let own = tasks.saturating_sub(self.added);
        self.most_added.unwrap_or_else(|| (own / 4).max(5))
    }
}

/// What becomes of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What was asked for.
    pub kind: Kind,
    /// Why.
    pub why: String,
    /// The edits that put the new tasks in, in their order.
    pub edits: Vec<TaskEdit>,
    /// What is left to a person instead, a line for each.
    pub for_person: Vec<String>,
}

impl Change {
    /// The ids of the tasks that are added.
    pub fn inserted(&self) -> Vec<String> {
        let ids = self.edits.iter().filter_map(|edit| match edit {
            TaskEdit::InsertAfter { id, .. } => Some(id.clone()),
            TaskEdit::Tick(_) | TaskEdit::Untick(_) => None,
        });
        ids.collect()
    }
}

/// A proposed task.
struct Proposed {
    title: String,
    /// The markers that it keeps, as they are written.
    markers: String,
    /// The lines below the first one.
    below: String,
    files: Vec<String>,
    links: Links,
}

/// What becomes of a request about the task at `index`, or why it is refused.
pub fn decide(
    request: &Request,
    texts: Texts<'_>,
    index: usize,
    facts: &Facts<'_>,
    limits: &Limits,
) -> Result<Change, String> {
    let spec = Spec::of(texts);
    let file = spec.tasks().ok_or("there is no plan")?;
    let task = file.tasks.get(index).ok_or("its task is gone")?;
    let id = may_ask(request, file, task, limits)?;
    let proposed: Vec<Proposed> =
        request.proposed.iter().map(|text| Proposed::read(text)).collect::<Result<_, _>>()?;
    let own = Bounds::of(file, task);
    let (mut fit, mut for_person) = (Vec::new(), Vec::new());
    for one in proposed {
        match request.kind {
            Kind::FollowUp if !one.is_linked(&spec) => {
                for_person.push(format!("- follow-up of {id}: {} ({})", one.title, request.why));
            }
            Kind::FollowUp => fit.push(one),
            _ => {
                own.hold(&one)?;
                fit.push(one);
            }
        }
    }
    let edits = edits(request.kind, file, task, id, &fit);
    let change = Change { kind: request.kind, why: request.why.clone(), edits, for_person };
    judge(&change, texts, facts)?;
    Ok(change)
}

/// Whether a request comes at a time and in a number that are allowed, by the task's id.
fn may_ask<'t>(
    request: &Request,
    file: &TaskFile<'_>,
    task: &'t Task,
    limits: &Limits,
) -> Result<&'t str, String> {
    let name = task.name();
    if request.task != name {
        let asked = line::head(&request.task, 60);
        return Err(format!("it is about {asked:?}, and {name} is the task that is worked on"));
    }
    let Some(id) = task.id.as_deref().filter(|_| !task.is_heading) else {
        return Err("tasks are added only to tasks with an id and a box of their own".into());
    };
    if limits.in_group {
        return Err("a group is being worked on; ask again when the task is worked alone".into());
    }
    if limits.of_task >= limits.most_of_task {
        return Err(format!("{} requests about {name} were granted already", limits.of_task));
    }
    let depth = depth(file, task);
    if depth >= limits.most_depth {
        return Err(format!("{name} was added {depth} levels deep, and no deeper one is"));
    }
    let most = limits.most_added(file.tasks.len());
    if limits.added + request.proposed.len() > most {
        return Err(format!("{} tasks were added of {most} that may be", limits.added));
    }
    Ok(id)
}

/// How many tasks stand between a task and one of the plan's own: by what it waits for,
/// or by its id.
fn depth(file: &TaskFile<'_>, task: &Task) -> usize {
    let mut depth = 0;
    let mut at = task;
    while let Some(above) = at.goes_before().and_then(|id| {
        file.tasks.iter().find(|other| other.id.as_deref() == Some(id) && other.index != at.index)
    }) {
        depth += 1;
        at = above;
        // Two tasks that claim to go before each other.
        if depth > file.tasks.len() {
            break;
        }
    }
    depth
}

impl Proposed {
    fn read(text: &str) -> Result<Proposed, String> {
        let text = text.trim_end();
        let first = line::head(text.lines().next().unwrap_or_default(), 80);
        let odd = |why: &str| Err(format!("the proposed task {first:?} {why}"));
        let file = TaskFile::scan(text.as_bytes());
        let [task] = file.tasks.as_slice() else {
            return odd("is not one task: begin it with `- [ ] 1.2 Title`, once");
        };
        if !file.unread.is_empty() || task.block.start != 0 || task.block.end != text.len() {
            return odd("has lines that are none of its own");
        }
        if task.done || task.optional || task.is_heading {
            return odd("has to be open, and not optional");
        }
        if text.contains("<!--") || text.contains("-->") {
            return odd("holds a comment");
        }
        let kept = task.markers.iter().filter_map(|marker| match marker {
            Marker::Verify => Some("[VERIFY] "),
            Marker::Red => Some("[RED] "),
            Marker::Green => Some("[GREEN] "),
            Marker::Yellow => Some("[YELLOW] "),
            // It is worked alone, and waits for what code says.
            _ => None,
        });
        let (markers, title) = (kept.collect(), task.title.trim().to_owned());
        if title.is_empty() {
            return odd("has no title");
        }
        let below = text.split_once('\n').map_or("", |(_, below)| below).to_owned();
        let (files, links) = (file.fields(task).files, links::of(&file, task));
        Ok(Proposed { title, markers, below, files, links })
    }

    /// Whether it is there for something that the spec states.
    fn is_linked(&self, spec: &Spec<'_>) -> bool {
        let Some(stated) = spec.requirements() else { return false };
        let ids = &self.links.requirements;
        !ids.is_empty() && ids.iter().all(|id| stated.get(id).is_some())
    }
}

/// What a task may hand on to others.
struct Bounds {
    links: Links,
    /// The files of other open tasks.
    taken: Vec<(String, String)>,
}

impl Bounds {
    fn of(file: &TaskFile<'_>, task: &Task) -> Bounds {
        let own = file.fields(task).files;
        let others = file.open().filter(|other| other.index != task.index);
        let taken = others.flat_map(|other| {
            let files = file.fields(other).files.into_iter();
            files.map(|path| (path, other.name())).collect::<Vec<_>>()
        });
        let taken = taken.filter(|(path, _)| !own.contains(path)).collect();
        Bounds { links: links::of(file, task), taken }
    }

    fn hold(&self, one: &Proposed) -> Result<(), String> {
        let title = &one.title;
        let foreign =
            one.links.requirements.iter().find(|id| !self.links.requirements.contains(id));
        if let Some(id) = foreign {
            return Err(format!("{title:?} names {id}, which the task does not"));
        }
        let foreign = one.links.design.iter().find(|name| !self.links.design.contains(name));
        if let Some(name) = foreign {
            return Err(format!("{title:?} names {name}, which the task does not"));
        }
        match self.taken.iter().find(|(path, _)| one.files.contains(path)) {
            Some((path, other)) => {
                Err(format!("{title:?} names {path}, which is a file of {other}"))
            }
            None => Ok(()),
        }
    }
}

/// The edits that put tasks behind one, and behind those that it waits for already.
fn edits(
    kind: Kind,
    file: &TaskFile<'_>,
    task: &Task,
    id: &str,
    proposed: &[Proposed],
) -> Vec<TaskEdit> {
    let is_added = |other: &&Task| other.id.as_deref().is_some_and(|one| is_below(one, id));
    let mut after: TaskKey = file.tasks.iter().rfind(is_added).unwrap_or(task).key();
    let is_taken = |id: &str| file.tasks.iter().any(|other| other.id.as_deref() == Some(id));
    let free = (1..).map(|n| format!("{id}.{n}")).filter(|id| !is_taken(id));
    let waits = if kind == Kind::FollowUp { String::new() } else { format!("[BEFORE {id}] ") };
    let edit = |(one, new): (&Proposed, String)| {
        let (title, markers) = (&one.title, &one.markers);
        let below = if one.below.is_empty() { String::new() } else { format!("{}\n", one.below) };
        let block = format!("- [ ] {new} {waits}{markers}{title}\n{below}");
        let key = TaskKey { id: new.clone(), title: title.clone() };
        TaskEdit::InsertAfter { after: std::mem::replace(&mut after, key), id: new, block }
    };
    proposed.iter().zip(free).map(edit).collect()
}

/// Whether an id is that of a task that was added below another one.
fn is_below(id: &str, above: &str) -> bool {
    id.strip_prefix(above).is_some_and(|rest| {
        rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// The rules that a task of a request has to keep.
const RULES: &[Rule] = &[
    Rule::TaskForm,
    Rule::TooManySteps,
    Rule::TooManyFiles,
    Rule::ManualWords,
    Rule::LinkUnknown,
    Rule::Placeholder,
    Rule::VerifyMissing,
    Rule::VerifyProse,
    Rule::VerifySyntax,
    Rule::VerifyCannotFail,
    Rule::VerifyProgram,
    Rule::VerifyTarget,
    Rule::VerifyMachinePath,
    Rule::VerifySelf,
];

/// Judges the new tasks in the plan as it would be.
fn judge(change: &Change, texts: Texts<'_>, facts: &Facts<'_>) -> Result<(), String> {
    let before = texts.tasks.unwrap_or_default();
    let after = TaskEdit::apply_all(&change.edits, before);
    let inserted = change.inserted();
    let spec = Spec::of(texts.with(Doc::Tasks, &after));
    let file = spec.tasks().ok_or("there is no plan")?;
    let is_new = |task: &&Task| task.id.as_ref().is_some_and(|id| inserted.contains(id));
    let new: Vec<&Task> = file.tasks.iter().filter(is_new).collect();
    if new.len() != inserted.len()
        || new.len() + TaskFile::scan(before).tasks.len() != file.tasks.len()
    {
        return Err("its tasks cannot stand there: a fence or comment is not closed".into());
    }
    let policy = Policy { is_authored: true, ..Policy::default() };
    let found = gate::judge(Doc::Tasks, &spec, facts, &policy);
    let is_in = |line: usize| {
        new.iter().any(|task| {
            let lines = line::lines(file.block(task)).count();
            (task.line..task.line + lines).contains(&line)
        })
    };
    let of_new = found.into_iter().filter(|one| {
        one.severity == Severity::Error && RULES.contains(&one.rule) && is_in(one.line)
    });
    let messages: Vec<String> =
        of_new.map(|one| format!("{}; {} [{}]", one.message, one.fix, one.rule.name())).collect();
    match messages.is_empty() {
        true => Ok(()),
        false => Err(messages.join("; ")),
    }
}

#[cfg(test)]
mod tests;

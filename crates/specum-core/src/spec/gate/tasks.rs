//! The rules of `tasks.md`, those of its checks left out.

use std::collections::{HashMap, HashSet};

use super::{Facts, Findings, Look, Rule, Spec};
use crate::check::Severity;
use crate::plan;
use crate::spec::id::{Id, Kind};
use crate::spec::links::{self, Links};
use crate::spec::read_only;
use crate::tasks::{Check, Command, Fields, Mode, Task, TaskFile};

const MOST_STEPS: usize = 10;
const MOST_FILES: usize = 6;
const MOST_TASKS: usize = 40;

/// A task with what it says.
pub(super) struct Planned<'f> {
    pub(super) task: &'f Task,
    pub(super) fields: Fields,
    pub(super) links: Links,
    /// What its Verify runs.
    pub(super) commands: Vec<Command>,
}

/// The tasks of a plan with what they say.
pub(super) fn planned<'f>(file: &'f TaskFile<'_>, facts: &Facts<'_>) -> Vec<Planned<'f>> {
    let planned = file.tasks.iter().map(|task| {
        let fields = file.fields(task);
        let check = fields.verify.as_ref();
        let commands = check.map(|check| check.commands(facts.lookup)).unwrap_or_default();
        Planned { task, links: links::of(file, task), fields, commands }
    });
    planned.collect()
}

pub(super) fn judge(
    spec: &Spec<'_>,
    planned: &[Planned<'_>],
    facts: &Facts<'_>,
    is_linked: bool,
    findings: &mut Findings<'_>,
) {
    let Some(file) = spec.tasks() else { return };
    file_order(planned, facts, findings);
    if !is_linked {
        return;
    }
    for one in planned {
        form(file, one, findings);
        size(one, findings);
        manual(one, findings);
    }
    coverage(spec, planned, findings);
    unknown_links(spec, planned, findings);
    parallel(file, planned, findings);
    final_check(planned, findings);
    if let Some(first) = file.tasks.get(MOST_TASKS) {
        let message = format!("{} tasks are many for one spec", file.tasks.len());
        let fix = "cut the goal into several specs";
        findings.add(Rule::PlanTooLarge, first.line, message, fix);
    }
}

fn form(file: &TaskFile<'_>, one: &Planned<'_>, findings: &mut Findings<'_>) {
    let fields = &one.fields;
    let mut missing = Vec::new();
    let is_work = one.task.mode() != Mode::Verify && one.task.fixes().is_none();
    let named = [
        ("Do", fields.does.is_some() || !is_work),
        ("Files", !fields.files.is_empty() || !is_work),
        ("Done when", fields.done_when.is_some()),
        ("Commit", file.raw_field(one.task, "Commit").is_some() || !is_work),
    ];
    missing.extend(named.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name));
    if !missing.is_empty() {
        let message = format!("{} has no {}", one.task.name(), missing.join(", "));
        findings.add(Rule::TaskForm, one.task.line, message, "add it, as `- **Do**: …`");
    }
}

fn size(one: &Planned<'_>, findings: &mut Findings<'_>) {
    let name = one.task.name();
    let steps = one.fields.does.as_deref().unwrap_or_default().lines().filter(|line| {
        let line = line.trim_start();
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && line[digits..].starts_with(['.', ')'])
    });
    let sizes = [
        (Rule::TooManySteps, steps.count(), MOST_STEPS, "steps"),
        (Rule::TooManyFiles, one.fields.files.len(), MOST_FILES, "files"),
    ];
    for (rule, size, most, what) in sizes {
        if size > most {
            let severity = if size > 2 * most { Severity::Error } else { Severity::Warning };
            let message = format!("{name} has {size} {what}, and {most} are enough");
            findings.add_as(rule, severity, one.task.line, message, "cut it into several tasks");
        }
    }
}

/// What only a person can do.
const MANUAL: &[&str] = &["manually", "by hand", "visually", "ask the user", "in the browser"];

fn manual(one: &Planned<'_>, findings: &mut Findings<'_>) {
    let verify = one.fields.verify.as_ref().map(Check::text);
    let texts = [("Done when", one.fields.done_when.as_deref()), ("Verify", verify)];
    for (field, text) in texts.into_iter().filter_map(|(field, text)| Some((field, text?))) {
        let text = crate::spec::outline::without_code(text).to_lowercase();
        if let Some(word) = MANUAL.iter().find(|word| text.contains(*word)) {
            let message = format!("{}: {field} says \"{word}\"", one.task.name());
            let fix = "nobody is there when it is worked: name a command";
            findings.add(Rule::ManualWords, one.task.line, message, fix);
        }
    }
}

/// Everything that is asked for is in a task.
fn coverage(spec: &Spec<'_>, planned: &[Planned<'_>], findings: &mut Findings<'_>) {
    let named: HashSet<&Id> = planned.iter().flat_map(|one| &one.links.requirements).collect();
    if let Some(requirements) = spec.requirements() {
        for requirement in requirements.active() {
            let id = &requirement.id;
            let is_covered =
                named.contains(id) || requirement.links.iter().any(|id| named.contains(id));
            if !is_covered {
                let message =
                    format!("no task names {id} ({})", crate::line::head(&requirement.text, 60));
                let fix =
                    "name it in the `_Requirements: …_` of the task that builds it, or add one";
                findings.add(Rule::RequirementUncovered, 1, message, fix);
            }
        }
    }
    let Some(design) = spec.design() else { return };
    if design.is_ours() {
        let linked = planned.iter().flat_map(|one| &one.links.design);
        let linked: HashSet<usize> =
            linked.filter_map(|link| design.component(link)).map(|found| found.line).collect();
        for component in design.components.iter().filter(|one| !linked.contains(&one.line)) {
            let message = format!("no task names {} ({})", component.name(), component.title);
            let fix = "name it in the `_Design: …_` of the task that builds it, or add one";
            findings.add(Rule::ComponentUncovered, 1, message, fix);
        }
    }
    let files: HashSet<&str> =
        planned.iter().flat_map(|one| &one.fields.files).map(String::as_str).collect();
    for file in design.files.iter().filter(|file| !files.contains(file.path.as_str())) {
        let message = format!("{} is planned, and in no task", file.path);
        findings.add(
            Rule::FileUnplanned,
            1,
            message,
            "name it in the Files of the task that changes it",
        );
    }
}

fn unknown_links(spec: &Spec<'_>, planned: &[Planned<'_>], findings: &mut Findings<'_>) {
    let is_stated = |id: &Id| match (id.kind, spec.requirements()) {
        (Kind::Component | Kind::Question | Kind::Assumption, _) | (_, None) => true,
        (_, Some(requirements)) => requirements.get(id).is_some_and(|found| !found.is_retired),
    };
    for one in planned {
        let unknown = one.links.requirements.iter().filter(|id| !is_stated(id));
        let unknown = unknown.map(Id::to_string);
        let design = spec.design();
        let parts = one.links.design.iter();
        let parts =
            parts.filter(|link| design.is_some_and(|found| found.component(link).is_none()));
        for link in unknown.chain(parts.cloned()) {
            let message = format!("{} names {link}, which nobody states", one.task.name());
            findings.add(Rule::LinkUnknown, one.task.line, message, "name what it is there for");
        }
    }
}

/// A task uses only what is there or was made by an earlier one.
fn file_order(planned: &[Planned<'_>], facts: &Facts<'_>, findings: &mut Findings<'_>) {
    // The first task that names a file makes it, if it is not there.
    let mut maker: HashMap<&str, usize> = HashMap::new();
    for (at, one) in planned.iter().enumerate() {
        for path in &one.fields.files {
            maker.entry(path).or_insert(at);
        }
    }
    for (at, one) in planned.iter().enumerate().filter(|(_, one)| !one.task.done) {
        let used = one.commands.iter().flat_map(Command::paths);
        let used: Vec<String> = used.collect();
        let late = used.iter().find_map(|path| {
            let later = *maker.get(path.as_str()).filter(|maker| **maker > at)?;
            ((facts.look)(path) == Look::Missing).then_some((path, later))
        });
        if let Some((path, later)) = late {
            let later = planned[later].task.name();
            let message = format!("{} checks {path}, which {later} makes", one.task.name());
            findings.add(
                Rule::FileOrder,
                one.task.line,
                message,
                "put the task that makes it first",
            );
        }
    }
}

/// `[P]` neighbours share nothing and need nothing of one another.
fn parallel(file: &TaskFile<'_>, planned: &[Planned<'_>], findings: &mut Findings<'_>) {
    let mut group: Vec<usize> = Vec::new();
    for (at, one) in planned.iter().enumerate() {
        let joins = one.task.mode() == Mode::Parallel
            && group.last().is_none_or(|last| file.tasks[*last].section == one.task.section);
        if !joins {
            group.clear();
        }
        if one.task.mode() != Mode::Parallel {
            continue;
        }
        for other in group.iter().rev().take(plan::DEFAULT_MAX_PARALLEL) {
            neighbours(&planned[*other], one, findings);
        }
        group.push(at);
    }
}

fn neighbours(first: &Planned<'_>, second: &Planned<'_>, findings: &mut Findings<'_>) {
    let (one, two) = (first.task.name(), second.task.name());
    if let Some(path) = second.fields.files.iter().find(|path| first.fields.files.contains(path)) {
        let message = format!("[P] tasks {one} and {two} both name {path}");
        let fix = "take [P] from one of them, or give the file to one";
        findings.add(Rule::ParallelOverlap, second.task.line, message, fix);
        return;
    }
    let used = |by: &Planned<'_>, maker: &Planned<'_>| {
        let paths = by.commands.iter().flat_map(Command::paths);
        paths.into_iter().find(|path| maker.fields.files.contains(path))
    };
    let needed = used(second, first).map(|path| (&two, &one, path, second.task.line));
    let needed =
        needed.or_else(|| used(first, second).map(|path| (&one, &two, path, first.task.line)));
    if let Some((by, maker, path, line)) = needed {
        let message = format!("[P] task {by} checks {path}, which its neighbour {maker} makes");
        findings.add(Rule::ParallelOrder, line, message, "take [P] from one of them");
    }
}

/// The last phase ends with a command of the project's own.
fn final_check(planned: &[Planned<'_>], findings: &mut Findings<'_>) {
    let Some(last) = planned.last() else { return };
    let phase = planned.iter().filter(|one| one.task.section == last.task.section);
    let runs_own = |one: &Planned<'_>| {
        let programs = one.commands.iter().flat_map(Command::programs);
        programs.into_iter().any(|program| !read_only::is_reader(&program))
    };
    if !phase.into_iter().any(runs_own) {
        let message = "the last phase runs none of the project's own checks";
        let fix = "add `- [ ] V1 [VERIFY] …` with the project's tests as its Verify";
        findings.add(Rule::NoFinalCheck, last.task.line, message, fix);
    }
}

/// The tasks that are left to be done.
pub(super) fn open<'p, 'f>(planned: &'p [Planned<'f>]) -> impl Iterator<Item = &'p Planned<'f>> {
    planned.iter().filter(|one| !one.task.done)
}

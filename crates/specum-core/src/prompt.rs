//! What the model reads.
//!
//! The texts are Markdown files in `prompts/`; the functions here fill them
//! in. A continuation carries the task that is due and no other, and stays
//! under two kilobytes without it.

pub mod planning;

use crate::authoring;
use crate::hook::Host;
use crate::line;
use crate::machine::{self, Due};
use crate::owner::Holder;
use crate::plan::Unit;
use crate::state::State;
use crate::tasks::{Mode, Task, TaskFile, short_title};
use crate::verify::Role;

/// The most of a task's block that goes into a prompt. Hosts pass on 300,000
/// characters whole; a block beyond that is no plan but an accident.
const MAX_BLOCK: usize = 200_000;

/// The most lines of a task's block that are shown behind news, and the most
/// bytes: a person reads them too.
const MAX_SHOWN_LINES: usize = 10;
const MAX_SHOWN_BLOCK: usize = 2_000;

/// The most ids a notice names.
const MAX_NAMED: usize = 10;

/// The spec a prompt speaks of.
#[derive(Debug, Clone, Copy)]
pub struct SpecName<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its folder, as the model may type it.
    pub path: &'a str,
}

/// Why a continuation is not the ordinary one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// It is.
    None,
    /// The agent said that everything is done, or the index does, and boxes are
    /// open.
    StillOpen,
    /// Nothing has moved since the last block.
    Stalled {
        /// How often this has been said.
        times: u32,
        /// How often it will be said.
        most: u32,
    },
}

/// The prompt that sends an agent back to work.
pub fn continuation(
    spec: SpecName<'_>,
    state: &State,
    file: Option<&TaskFile<'_>>,
    unit: &Unit,
    notice: Notice,
) -> String {
    let place = PlanPosition::of(state, unit);
    let heading = match unit {
        Unit::Parallel(_) => "Current Task Group (PARALLEL)",
        _ => "Current Task",
    };
    fill(
        include_str!("../prompts/continuation.md"),
        &[
            ("spec", spec.name),
            ("path", spec.path),
            ("number", &place.number.to_string()),
            ("total", &place.total.to_string()),
            ("iteration", &state.global_iteration.to_string()),
            ("index", &place.index.to_string()),
            ("attempt", &state.task_iteration.to_string()),
            ("max_attempts", &state.max_task_iterations.to_string()),
            ("recovery", if state.recovery_mode { "on" } else { "off" }),
            ("notice", &notice_text(notice, file, unit)),
            ("heading", heading),
            ("work", work(file, unit).trim_end()),
            ("resume", resume(file, unit).trim_end()),
        ],
    )
}

/// Where the loop stands, in the numbers people are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanPosition {
    /// Index of the task, from 0.
    pub index: usize,
    /// The same, from 1.
    pub number: usize,
    /// How many tasks there are.
    pub total: usize,
}

impl PlanPosition {
    /// The task that is due, or what the state says when none can be told.
    pub fn of(state: &State, unit: &Unit) -> PlanPosition {
        let index = unit.tasks().first().copied().unwrap_or(state.task_index);
        let total = state.total_tasks.unwrap_or(0);
        PlanPosition {
            index,
            number: index + 1,
            total: total.max(unit.tasks().len()).max(index + 1),
        }
    }
}

/// What the person sees with a continuation.
pub fn system_message(state: &State, place: PlanPosition) -> String {
    format!(
        "Ralph-specum iteration {} | Task {}/{}",
        state.global_iteration, place.number, place.total
    )
}

fn notice_text(notice: Notice, file: Option<&TaskFile<'_>>, unit: &Unit) -> String {
    let open = || file.map(open_ids).unwrap_or_default();
    match notice {
        Notice::None => String::new(),
        Notice::StillOpen => {
            format!("\nNot finished: tasks.md still has open boxes: {}.\n", open())
        }
        Notice::Stalled { times, most } => {
            let tasks = file.map_or(&[][..], |file| &file.tasks);
            let id = unit.tasks().first().and_then(|&n| tasks.get(n)).map(Task::name);
            let id = id.unwrap_or_else(|| "<task>".into());
            format!(
                "\nStalled ({times} of {most}): since your last stop no box was ticked and no \
                 attempt was recorded. Open: {}. Work {id} now and hand its result to `specum \
                 finish {id}`, or say what stands in the way.\n",
                open()
            )
        }
    }
}

/// The ids of the open tasks, ten at most.
pub fn open_ids(file: &TaskFile<'_>) -> String {
    let open: Vec<String> = file.open().map(Task::name).collect();
    let named = open.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match open.len().saturating_sub(MAX_NAMED) {
        0 if open.is_empty() => "none".into(),
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn work(file: Option<&TaskFile<'_>>, unit: &Unit) -> String {
    let Some(file) = file else {
        return "tasks.md is missing. Restore it (it may be in the git history), or cancel with \
                /ralph-specum:cancel."
            .into();
    };
    if *unit == Unit::Complete {
        return "Every box of tasks.md is ticked; the state has not caught up.".into();
    }
    unit.tasks()
        .iter()
        .map(|&index| {
            let task = &file.tasks[index];
            let block = line::readable(file.block(task));
            if block.len() <= MAX_BLOCK {
                return block;
            }
            let cut = line::head(&block, MAX_BLOCK);
            format!("{cut}\n[cut here; the whole task begins at line {} of tasks.md]\n", task.line)
        })
        .collect()
}

fn resume(file: Option<&TaskFile<'_>>, unit: &Unit) -> String {
    let name = |index: usize| file.map_or_else(String::new, |file| file.tasks[index].name());
    let one = |index: usize, role: Role| {
        let id = name(index);
        fill(
            include_str!("../prompts/resume-one.md"),
            &[("agent", agent(role)), ("id", &id), ("signal", role.signal())],
        )
    };
    match unit {
        Unit::Complete => include_str!("../prompts/resume-none.md").into(),
        _ if file.is_none() => include_str!("../prompts/resume-none.md").into(),
        Unit::Sequential(index) => one(*index, Role::Executor),
        Unit::Verify(index) => one(*index, Role::QaEngineer),
        Unit::Parallel(indices) => {
            let prompts: Vec<String> =
                indices.iter().map(|&index| format!("   - `task {}`", name(index))).collect();
            fill(
                include_str!("../prompts/resume-group.md"),
                &[
                    ("count", &indices.len().to_string()),
                    ("agent", agent(Role::Executor)),
                    ("prompts", &prompts.join("\n")),
                ],
            )
        }
    }
}

/// What a coordinator reads when a loop is started in its session.
pub fn coordinator(spec: SpecName<'_>) -> String {
    fill(include_str!("../prompts/coordinator.md"), &[("spec", spec.name), ("path", spec.path)])
}

/// What the Ralph Loop plugin feeds to its session at every stop, always the
/// same: it names no task, and no line of it means anything to that plugin.
pub fn ralph_loop(spec: SpecName<'_>) -> String {
    let heading = ralph_loop_heading(spec);
    let path = one_line(spec.path);
    fill(include_str!("../prompts/ralph-loop.md"), &[("heading", &heading), ("path", &path)])
}

/// The line by which such a text is known as ours, and as this spec's.
pub fn ralph_loop_heading(spec: SpecName<'_>) -> String {
    format!("{RALPH_LOOP_OPENING}{} ({}) to its end.", one_line(spec.name), one_line(spec.path))
}

/// How that line begins, whatever the spec.
pub const RALPH_LOOP_OPENING: &str = "With specum, work the spec ";

/// What sends a session of the Ralph Loop back that gives the promise, or says
/// that everything is done, while boxes are open.
pub fn false_promise(
    spec: SpecName<'_>,
    file: Option<&TaskFile<'_>>,
    has_promised: bool,
    notice: Notice,
) -> String {
    let open = file.map(open_ids).unwrap_or_default();
    let notice = match notice {
        Notice::Stalled { times, most } => {
            format!("\nStalled ({times} of {most}): nothing has moved since you said so last.\n")
        }
        Notice::None | Notice::StillOpen => String::new(),
    };
    let next = if has_promised {
        "Yours has ended the Ralph Loop: begin it again with `specum implement --driver \
         ralph-loop`, then run `specum next --brief` and do what it says."
    } else {
        "Run `specum next --brief` and do what it says."
    };
    fill(
        include_str!("../prompts/false-promise.md"),
        &[("path", spec.path), ("open", &open), ("notice", &notice), ("next", next)],
    )
}

/// A folder's name may hold line breaks, which would make lines of their own.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// A task that is due, for a coordinator.
#[derive(Debug, Clone)]
pub struct DueTask<'a> {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: &'a str,
    /// Who works it.
    pub role: Role,
    /// From 1.
    pub attempt: u64,
}

/// What there is to say when nothing is left.
pub const ALL_DONE: &str = "Every task is done.";

/// What lets a paused loop go on. What an attempt has done to git is a person's to
/// accept first, and its reason says so.
pub fn way_on(paused_for: Option<&str>) -> &'static str {
    match paused_for {
        Some(why) if why.contains("`specum accept git`") => "then `specum run` goes on",
        Some(why) if why.ends_with("waits for your approval") => "`specum approve` lets it go on",
        _ => "`specum resume` lets it go on",
    }
}

/// Why nothing is due although boxes are open, and what a person can do.
pub fn waiting(due: &Due) -> String {
    match due {
        Due::Paused(None) => format!("Paused: {}.", way_on(None)),
        Due::Paused(Some(why)) => format!("Paused: {why}. {}.", way_on(Some(why))),
        Due::Blocked(reason) => {
            format!(
                "Blocked: {reason}\nMend it, then `specum resume` gives the task another round."
            )
        }
        Due::Waits(questions) => {
            format!("Waiting for a person:\n- {}", questions.join("\n- "))
        }
        Due::Capped => {
            "All attempts are used. Look into .progress.md, then `specum implement` goes on, or \
             `specum run --max-global-iterations` with a higher cap."
                .into()
        }
        Due::Spent(why) => {
            format!("{why}. Go on with a higher cap: `specum run` takes it as an option.")
        }
        Due::ChosenDone { skipped } if !skipped.is_empty() => format!(
            "Done but for {} that you skipped: {}. `specum unskip <task>` has one worked on after \
             all.",
            skipped.len(),
            skipped.join(", ")
        ),
        Due::ChosenDone { .. } | Due::Work(_) | Due::Complete => String::new(),
    }
}

/// What a coordinator is to call next.
pub fn due(tasks: &[DueTask<'_>]) -> String {
    let calls: String = tasks
        .iter()
        .map(|task| {
            let (id, title, agent) = (&task.id, short_title(task.title), agent(task.role));
            let again = if task.attempt > 1 {
                format!(", attempt {}", task.attempt)
            } else {
                String::new()
            };
            format!("- `task {id}` for `ralph-specum:{agent}`: {title}{again}\n")
        })
        .collect();
    match tasks.len() {
        1 => format!("Due now, one Agent call:\n{calls}"),
        count => format!("Due now, {count} Agent calls in one message:\n{calls}"),
    }
}

/// What sends a coordinator back to work that has been told how before: short,
/// because a person sees it too.
pub fn guidance(
    spec: SpecName<'_>,
    (done, total): (usize, usize),
    tasks: &[DueTask<'_>],
    notice: Notice,
) -> String {
    let said = match notice {
        Notice::None => String::new(),
        Notice::StillOpen => "Not finished: boxes of tasks.md are open. ".to_owned(),
        Notice::Stalled { times, most } => {
            format!("Nothing has moved since your last stop ({times} of {most}). ")
        }
    };
    format!(
        "{said}The plan {} goes on: {done} of {total} tasks are done.\n{}If you cannot go on, say \
         why.\n",
        spec.name,
        due(tasks)
    )
}

/// What sends a model back that does the work itself: the news first, then the
/// task, and how to end. A person sees it too.
pub fn sent_back(news: &str, task: Option<(&TaskFile<'_>, &Task)>, notice: Notice) -> String {
    let Some((file, task)) = task else {
        return format!("{news} · run `specum next`\n");
    };
    let id = task.name();
    let said = match notice {
        Notice::None => String::new(),
        Notice::StillOpen => "Not finished: boxes of tasks.md are open. ".to_owned(),
        Notice::Stalled { times, most } => {
            format!("Nothing has moved since your last stop ({times} of {most}). ")
        }
    };
    let role = if task.mode() == Mode::Verify { Role::QaEngineer } else { Role::Executor };
    let block = line::readable(file.block(task));
    let shown = shown_lines(block.trim_end());
    let (rest, whole) = match shown.len() < block.trim_end().len() {
        true => ("\n  …", "the whole task"),
        false => ("", "its brief"),
    };
    format!(
        "{news} · now {id} {}\n{shown}{rest}\n{said}`specum next` prints {whole}, with what \
         failed before. When done, end your turn with {} on a line of its own; specum judges it \
         then, ticks and commits.\n",
        short_title(&task.title),
        role.signal(),
    )
}

/// The beginning of a block that a person can take in at a glance.
fn shown_lines(block: &str) -> &str {
    let mut ends = block.match_indices('\n').map(|(at, _)| at);
    let end = ends.nth(MAX_SHOWN_LINES - 1).unwrap_or(block.len());
    line::head(&block[..end], MAX_SHOWN_BLOCK)
}

/// The agent that plays a role.
pub fn agent(role: Role) -> &'static str {
    match role {
        Role::Executor => "spec-executor",
        Role::QaEngineer => "qa-engineer",
        Role::Author(doc) => authoring::author(doc),
    }
}

/// The prompt that keeps a planning phase going in quick mode.
pub fn quick_mode(spec: SpecName<'_>, phase: &str, notice: Notice) -> String {
    let notice = match notice {
        Notice::Stalled { times, most } => {
            format!(
                "\nStalled ({times} of {most}): the phase has not changed since your last stop.\n"
            )
        }
        Notice::None | Notice::StillOpen => String::new(),
    };
    fill(
        include_str!("../prompts/quick-mode.md"),
        &[
            ("spec", spec.name),
            ("path", spec.path),
            ("phase", line::head(phase, 60)),
            ("notice", &notice),
        ],
    )
}

/// How work is started in a host: only Claude Code has the slash commands.
pub fn implement(host: Host) -> &'static str {
    if host.works_itself() { "`specum implement`" } else { "/ralph-specum:implement" }
}

/// How a loop is ended in a host.
fn cancel(host: Host) -> &'static str {
    if host.works_itself() { "`specum cancel`" } else { "/ralph-specum:cancel" }
}

/// The text for a state file that cannot be used.
pub fn corrupt(host: Host, spec: SpecName<'_>, why: &str) -> String {
    let why = line::head(why, 200);
    let (implement, cancel) = (implement(host), cancel(host));
    fill(
        include_str!("../prompts/corrupt.md"),
        &[("path", spec.path), ("why", why), ("implement", implement), ("cancel", cancel)],
    )
}

/// The text for a loop that has used all its attempts.
pub fn capped(host: Host, cap: u64) -> String {
    let (implement, cancel) = (implement(host), cancel(host));
    fill(
        include_str!("../prompts/capped.md"),
        &[("cap", &cap.to_string()), ("implement", implement), ("cancel", cancel)],
    )
}

/// The note about a spec for a session that starts.
pub fn session_note(
    host: Host,
    spec: SpecName<'_>,
    state: Option<&State>,
    file: &TaskFile<'_>,
    unit: &Unit,
    holder: &Holder,
) -> String {
    let done = file.done_count();
    let total = file.tasks.len();
    let command = if host.works_itself() { "" } else { "/ralph-specum:implement, or " };
    let mut note = format!(
        "specum: the active spec is {} ({}), {done} of {total} tasks done.\n",
        spec.name, spec.path
    );
    match state {
        Some(state) if state.phase == crate::state::Phase::Execution => {
            if let Some(due) = due_in_words(file, unit, state.task_iteration) {
                note.push_str(&format!("Due: {due}. Held by {holder}.\n"));
            }
            match machine::held(state) {
                Some(Due::Blocked(why)) => {
                    note.push_str(&format!("Blocked: {}\n", line::head(&why, 300)));
                }
                Some(due) => note.push_str(&format!("{}\n", waiting(&due))),
                None => {}
            }
            note.push_str(&format!("Go on with {command}`specum next`.\n"));
        }
        Some(state) => note.push_str(&format!(
            "Phase: {}. The tasks are not being executed yet.\n",
            line::head(state.phase.as_str(), 60)
        )),
        None => note.push_str(&format!(
            "No loop is running. Start one with {command}`specum implement`.\n"
        )),
    }
    note
}

/// The tasks that are due, in one line.
fn due_in_words(file: &TaskFile<'_>, unit: &Unit, attempt: u64) -> Option<String> {
    let tasks: Vec<&Task> = unit.tasks().iter().filter_map(|&n| file.tasks.get(n)).collect();
    let named = |task: &&Task| format!("{} {}", task.name(), short_title(&task.title));
    match tasks.as_slice() {
        [] => None,
        [task] => Some(format!("{} (attempt {attempt})", named(task))),
        group => {
            let mut words = group.iter().take(MAX_NAMED).map(named).collect::<Vec<_>>().join(", ");
            if let Some(more) = group.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
                words.push_str(&format!(" and {more} more"));
            }
            Some(format!("{words} (a group of {}, worked at once)", group.len()))
        }
    }
}

/// Puts values in the place of `{names}`, in one pass, so that a value that
/// looks like a placeholder stays what it is.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + 256);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let known = values.iter().find_map(|(name, value)| {
            let behind = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value, behind))
        });
        match known {
            Some((value, behind)) => {
                text.push_str(value);
                rest = behind;
            }
            None => {
                text.push('{');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests;

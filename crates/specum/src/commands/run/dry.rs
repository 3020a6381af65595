//! What `specum run --dry-run` shows.

use super::super::{Answered, counted, print};
use crate::exit::Exit;
use specum_engine::ops::{CheckCommand, DryRun, DryTask, DryUnit, FirstCheck, UnitKind};

/// Prints the units of work in their order, as if each of them passed.
pub(super) fn show(plan: &DryRun) -> Answered {
    let count: usize = plan.units.iter().map(|unit| unit.tasks.len()).sum();
    let by = match plan.agents.as_slice() {
        [] => "nobody yet: no agent is installed".to_owned(),
        agents => agents.join(", then "),
    };
    let tasks = counted(count, "open task");
    let mut lines =
        vec![format!("{}: {tasks}, {} at once at most, worked by {by}\n", plan.name, plan.jobs)];
    if plan.isolate {
        lines.push("tasks in sequence in a worktree, not in your tree (isolate)\n".to_owned());
    }
    lines.extend(plan.commands.iter().map(|(what, command)| format!("{what}: `{command}`\n")));
    for (number, DryUnit { unit, tasks }) in plan.units.iter().enumerate() {
        let note = match unit {
            UnitKind::Parallel => "  at once, each in a worktree",
            UnitKind::Verify => "  checked by specum; an agent only fixes",
            UnitKind::Task => "",
        };
        lines.push(format!("{:3}.{note}", number + 1).trim_end().to_owned());
        for task in tasks {
            lines.push(format!("     {:6} {}", task.id, task.title));
            lines.extend(check(task).lines().map(|line| format!("            {line}")));
        }
    }
    if !plan.left_out.is_empty() {
        let names = plan.left_out.join(", ");
        lines.push(format!("optional, and left out without --optional: {names}"));
    }
    print(lines.join("\n"))?;
    Ok(Exit::Done)
}

/// How a task is checked, a line for each command.
fn check(task: &DryTask) -> String {
    if task.commands.is_empty() {
        let why = if task.has_verify { "its Verify is prose" } else { "it has no Verify" };
        return format!("unverified: {why}");
    }
    let word = |at: usize, command: &CheckCommand| match (at, command.or) {
        (0, _) => "checked by",
        (_, true) => "or by",
        (_, false) => "then by",
    };
    let commands = task.commands.iter().enumerate();
    let lines = commands.map(|(at, command)| format!("{} {}", word(at, command), command.shown));
    let now = match task.first_run {
        Some(FirstCheck::Green) if task.is_guard => Some("passes now, as it may"),
        Some(FirstCheck::Green) => Some("passes now, so it proves nothing [verify-green]"),
        Some(FirstCheck::Broken) => Some("cannot be run now [verify-broken]"),
        Some(FirstCheck::Red) => Some("fails now, as it should"),
        None => None,
    };
    lines.chain(now.map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

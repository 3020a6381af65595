//! The lint of a plan, with what it looks at on this machine.

use std::path::Path;

use specum_core::check::{self, Finding, Severity, Surroundings};
use specum_core::suite::Suite;
use specum_core::tasks::TaskFile;
use specum_core::verify::{CheckRun, ProcessEnd};

use crate::ports::World;

/// Everything worth fixing in a plan whose commands are run at `root`.
pub(crate) fn findings(
    world: &World,
    root: &Path,
    file: &TaskFile<'_>,
    suite: &Suite,
) -> Vec<Finding> {
    let (lookup, syntax) = (world.lookup(root), world.syntax());
    check::check(file, Surroundings { lookup: &lookup, suite, syntax: &syntax })
}

/// The first mistake that keeps a plan from being worked.
pub(crate) fn mistake(
    world: &World,
    root: &Path,
    file: &TaskFile<'_>,
    suite: &Suite,
) -> Option<Finding> {
    let mut found = findings(world, root, file, suite).into_iter();
    found.find(|finding| finding.severity == Severity::Error)
}

/// Why a check that has failed cannot be run at all, so that no attempt is to blame.
pub(crate) fn plan_fault(
    world: &World,
    root: &Path,
    file: &TaskFile<'_>,
    suite: &Suite,
    check: &CheckRun,
) -> Option<String> {
    let CheckRun::Ran(runs) = check else { return None };
    let failed = runs.last().filter(|run| run.failure().is_some())?;
    // Not found, not executable, or not read: by these codes a shell says so.
    if !matches!(failed.ended, ProcessEnd::Code(2 | 126 | 127) | ProcessEnd::NotStarted(_)) {
        return None;
    }
    let (lookup, syntax) = (world.lookup(root), world.syntax());
    let around = Surroundings { lookup: &lookup, suite, syntax: &syntax };
    check::cannot_run(file, &failed.command, around)
}

use super::{Answered, answer};
use specum_engine::ops::{self, Caller, Cancel, LoopFile};
use specum_engine::ralph_loop::LOOP_FILE;

/// Stop for good; keeps the plan, the commits and the history
///
/// A `specum run` that works the spec ends its agents at once. The documents,
/// .progress.md and the journal stay; a loop file that specum wrote for the
/// Ralph Loop plugin is deleted. With --remove the whole
/// folder goes to a trash folder next to the specs, from where it can be moved
/// back.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name or path; the active spec if left out
    pub(super) spec: Option<String>,
    /// Move the spec's folder to the trash
    #[arg(long)]
    remove: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let cancel = ops::cancel(caller, args.spec.as_deref(), args.remove)?;
    answer(args.json, &cancel, as_text)
}

fn as_text(cancel: &Cancel) -> String {
    let Cancel { name, phase, done, total, .. } = cancel;
    let phase = phase.as_deref().unwrap_or("none");
    let iteration = cancel.global_iteration.unwrap_or(0);
    let mut lines =
        vec![format!("{name}: phase {phase}, {done} of {total} tasks done, iteration {iteration}")];
    lines.push(match cancel.cancelled {
        true => "cancelled: the state is deleted".into(),
        false => "no loop was running".into(),
    });
    lines.extend(cancel.loop_file.map(|fate| match fate {
        LoopFile::Deleted => format!("deleted: {LOOP_FILE}"),
        LoopFile::Kept => format!("kept: {LOOP_FILE}, which is not an active loop of this spec"),
    }));
    lines.push(match &cancel.moved_to {
        Some(trash) => format!("moved to {trash}; move it back to undo"),
        None => "kept: the plan, .progress.md and the journal".into(),
    });
    lines.join("\n")
}

use super::{Answered, advice, print, print_json};
use crate::exit::Exit;
use crate::plugin;
use specum_engine::ops::{self, Caller, Grade};

/// Look at everything specum needs and say what to do next
///
/// With --repair it puts away what a run that was killed has left: processes,
/// worktrees, half-done work. What such a run had changed is kept under
/// refs/specum/. What is older than `keep_days` is deleted, as each run does: logs
/// of loops that are over, copies of work that was done again since, all but the
/// verdicts of earlier loops, removed specs that git has, and notes about sessions.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Put away what killed runs have left
    #[arg(long)]
    repair: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let doctor = ops::doctor(caller, args.repair, plugin::is_in_gemini)?;
    let exit = if doctor.good { Exit::Done } else { Exit::Failed };
    if args.json {
        return print_json(&doctor, exit);
    }
    if let Some(repair) = &doctor.repaired {
        repair.messages.iter().try_for_each(print)?;
        print(format!("repaired: {}", repair.specs.join(", ")))?;
    }
    for finding in &doctor.findings {
        let grade = match finding.grade {
            Grade::Good => "ok",
            Grade::Note => "note",
            Grade::Bad => "bad",
        };
        print(format!("{grade:4}  {:9} {}", finding.about, finding.message))?;
    }
    print(format!("\n{}", advice::text(&doctor.next)))?;
    Ok(exit)
}

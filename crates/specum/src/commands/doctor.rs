use super::{Answered, advice, print, print_json};
use crate::exit::Exit;
use crate::plugin;
use specum_engine::ops::{self, Caller, Finding, Grade, OpError};
use specum_engine::runner::Notify;

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
    /// Send a test notice by the `notify` command of the settings
    #[arg(long)]
    notify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let mut doctor = ops::doctor(caller, args.repair, plugin::is_in_gemini)?;
    if args.notify {
        let finding = send_test_notice(caller)?;
        doctor.good &= finding.grade != Grade::Bad;
        doctor.findings.push(finding);
    }
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

/// Sends a notice as a run would, and says what came of it.
fn send_test_notice(caller: &Caller<'_>) -> Result<Finding, OpError> {
    let (project, spec) = caller.named(None)?;
    let (grade, message) = match super::run::notify(&project.settings.run) {
        None => (Grade::Bad, "there is no `notify` in the settings: a shell command".to_owned()),
        Some(notify) => match notify.tell(&spec, &Notify::test_message(&spec)) {
            Ok(()) => (Grade::Good, format!("a test notice was sent by `{}`", notify.command)),
            Err(why) => (Grade::Bad, why),
        },
    };
    Ok(Finding { grade, about: "notify", message })
}

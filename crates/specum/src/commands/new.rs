use super::{Answered, answer};
use specum_core::authoring::Profile;
use specum_engine::ops::{self, Caller};

/// Make the folder of a spec, with documents to fill in
///
/// For people who write themselves: each document has its headings and nothing else.
/// `specum check` says what is missing, `specum plan <name>` has the rest written.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The name: small letters, digits and hyphens
    name: String,
    /// What is to be done; kept word for word in plan.md
    goal: Option<String>,
    /// tasks.md alone
    #[arg(long, conflicts_with = "full")]
    small: bool,
    /// research.md in front of the others
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let profile = match (args.small, args.full) {
        (true, _) => Some(Profile::Small),
        (_, true) => Some(Profile::Full),
        _ => None,
    };
    let made = ops::new_spec(caller, &args.name, args.goal.as_deref(), profile)?;
    answer(args.json, &made, |made| {
        let files = made.files.join("\n  ");
        format!(
            "{} is there:\n  {files}\nFill them in; `specum check {}` says what is missing.",
            made.path, made.name
        )
    })
}

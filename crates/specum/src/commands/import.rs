use super::{Answered, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller};

/// Make a spec of a plan that Kiro, spec-kit, OpenSpec or smart-ralph has
///
/// Writes requirements.md, design.md and tasks.md in specum's own form into specs/<name>,
/// by code alone, and leaves the other tool's files as they are. What they do not say is
/// not made up: `specum check <name>` names it. A plan can also be worked where it is,
/// without this (docs/coming-from.md).
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder with the plan, such as .kiro/specs/<name>
    path: String,
    /// What the spec is called [default: as the folder]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let import = ops::import(caller, &args.path, args.name.as_deref())?;
    if args.json {
        return print_json(&import, Exit::Done);
    }
    let (tool, path, files) = (&import.tool, &import.path, import.files.join(", "));
    print(format!("{path}: {files}, from a plan of {tool}"))?;
    if !import.left_out.is_empty() {
        print(format!("left where they are: {}", import.left_out.join(", ")))?;
    }
    print(format!("`specum check {path}` names what they do not say"))?;
    Ok(Exit::Done)
}

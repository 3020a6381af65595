use super::{Answered, counted, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller};

/// Write a map of the project and a list of its specs
///
/// The map has the languages, folders, entry points, test folders and commands of the
/// project, each with its source, on one page: specs/.index/map.md. The list next to it,
/// index.md, has the specs with their documents. Both are made from the files alone, and
/// nothing is run.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let index = ops::index(caller)?;
    if args.json {
        return print_json(&index, Exit::Done);
    }
    let (files, commands) =
        (counted(index.files, "file"), counted(index.commands.len(), "command"));
    print(format!("{}: {files}, {commands}", index.map))?;
    for found in &index.commands {
        print(format!("  {}  ({})", found.command, found.source))?;
    }
    print(&index.specs)?;
    Ok(Exit::Done)
}

use super::{Answered, print, print_json};
use crate::exit::Exit;
use specum_engine::ops::{self, Caller};

/// List the specs of this project
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let specs = ops::list(caller)?;
    if args.json {
        return print_json(&specs, Exit::Done);
    }
    if specs.is_empty() {
        print("no specs yet: write specs/<name>/tasks.md, then `specum check <name>`")?;
    }
    let width = specs.iter().map(|spec| spec.name.chars().count()).max().unwrap_or(0);
    for spec in &specs {
        let mark = if spec.active { '*' } else { ' ' };
        let phase = spec.phase.as_deref().unwrap_or("-");
        print(format!(
            "{mark} {:width$}  {}/{}  {phase:12}  {}",
            spec.name, spec.done, spec.total, spec.path
        ))?;
    }
    Ok(Exit::Done)
}

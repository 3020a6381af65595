use super::{Answered, print, print_json};
use crate::exit::Exit;
use crate::report::layout::{columns, pad};
use specum_engine::ops::{self, Caller};

/// List the specs of this project
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let list = ops::list(caller)?;
    if args.json {
        return print_json(&list, Exit::Done);
    }
    let specs = list.specs;
    if specs.is_empty() {
        print("no specs yet: write specs/<name>/tasks.md, then `specum check <name>`")?;
    }
    let rows = specs.iter().map(|spec| {
        let mark = if spec.active { "*" } else { " " };
        let done = format!("{}/{}", spec.done, spec.total);
        [mark.to_owned(), spec.name.clone(), done, spec.standing.clone(), spec.path.clone()]
    });
    let header = ["", "SPEC", "DONE", "LOOP", "PATH"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0);
    let widths = [1, width(1), width(2), width(3), 0];
    for row in rows.iter().filter(|_| !specs.is_empty()) {
        let cells = row.iter().zip(widths).map(|(cell, width)| pad(cell, width));
        let mut line = cells.collect::<Vec<_>>();
        let mark = line.remove(0);
        print(format!("{mark} {}", line.join("  ").trim_end()))?;
    }
    Ok(Exit::Done)
}

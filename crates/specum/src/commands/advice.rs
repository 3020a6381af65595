//! What to do next, for a person who types `specum` and nothing else, and at the
//! end of `specum doctor`.

use super::{Answered, print};
use crate::exit::Exit;
use crate::report::layout::{columns, pad};
use specum_core::sanitize;
use specum_engine::ops::Advice;
use specum_engine::ports::World;

const EXAMPLE: &str = "
Such as:
  - [ ] 1.1 Write the greeting
    - **Do**: put a greeting into greeting.txt
    - **Verify**: `grep -q Hello greeting.txt`
";

/// The widest command that has its reason beside it.
const WIDEST: usize = 40;

/// Tells somebody who typed nothing but `specum` what it is and what is next.
pub(super) fn run(world: &World) -> Answered {
    print("specum runs a written plan to its end: it hands the tasks of a specs/<name>/tasks.md")?;
    print("to a coding agent, checks each result itself, ticks, commits, and goes on.\n")?;
    print(text(&Advice::here(world)))?;
    print("\nAll commands: specum --help. Check your setup: specum doctor.")?;
    Ok(Exit::Done)
}

pub(super) fn text(advice: &Advice) -> String {
    let widths = advice.steps.iter().map(|step| columns(&step.action));
    let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let mut text = format!("{}\n", sanitize::one_line(&advice.stands));
    for step in &advice.steps {
        // What is long stands alone, so that the others do not stand far apart.
        let gap = if columns(&step.action) > width { "\n      " } else { "   " };
        let (action, why) = (pad(&step.action, width), sanitize::one_line(&step.why));
        text.push_str(&format!("\n  {action}{gap}{why}"));
    }
    if advice.example {
        text.push('\n');
        text.push_str(EXAMPLE.trim_end());
    }
    text
}

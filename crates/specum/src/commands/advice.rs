//! What to do next, for a person who types `specum` and nothing else, and at the
//! end of `specum doctor`.

use super::{Answered, print};
use crate::exit::Exit;
use specum_core::sanitize;
use specum_engine::ops::Advice;
use specum_engine::ports::World;

const EXAMPLE: &str = "
Such as:
  - [ ] 1.1 Write the greeting
    - **Do**: put a greeting into greeting.txt
    - **Verify**: `grep -q Hello greeting.txt`
";

/// Tells somebody who typed nothing but `specum` what it is and what is next.
pub(super) fn run(world: &World) -> Answered {
    print("specum runs a written plan to its end: it hands the tasks of a specs/<name>/tasks.md")?;
    print("to a coding agent, checks each result itself, ticks, commits, and goes on.\n")?;
    print(text(&Advice::here(world)))?;
    print("\nAll commands: specum --help. Check your setup: specum doctor.")?;
    Ok(Exit::Done)
}

pub(super) fn text(advice: &Advice) -> String {
    let steps = &advice.steps;
    let width = steps.iter().map(|step| step.action.chars().count()).max().unwrap_or(0);
    let mut text = format!("{}\n", sanitize::one_line(&advice.stands));
    for step in steps {
        text.push_str(&format!("\n  {:width$}   {}", step.action, sanitize::one_line(&step.why)));
    }
    if advice.example {
        text.push('\n');
        text.push_str(EXAMPLE.trim_end());
    }
    text
}

//! `specum run --detach`: the same command in a session of its own.

use std::ffi::OsString;
use std::fs;

use super::super::{Answered, print};
use crate::exit::Exit;
use specum_engine::attempt::Workspace;
use specum_engine::ops::{self, Detached, OpError};

/// Starts this command again, in the background, and says how to watch and stop it. What
/// ends before it works says why, as it would have here.
pub(super) fn detach(workspace: &Workspace) -> Answered {
    let (spec, shown) = (&workspace.spec, &workspace.spec.name);
    match ops::detach(workspace, arguments(std::env::args_os().skip(1)))? {
        Detached::Works { process, output } => {
            print(format!(
                "{shown} is being worked in the background, as process {process}\n\n  \
                 specum log {shown} --follow   watch it\n  \
                 specum pause {shown}          let it wait; specum resume, then specum run, goes on\n  \
                 specum cancel {shown}         end it\n\n\
                 what it prints: {}",
                output.display()
            ))?;
            Ok(Exit::Done)
        }
        Detached::Ended { code, output } => {
            let said = fs::read_to_string(&output).map_err(OpError::io("what the run has said"))?;
            print(said.trim_end())?;
            tracing::debug!(spec = spec.name, ?code, "has ended before it worked");
            Ok(code.map_or(Exit::Failed, Exit::of_code))
        }
    }
}

/// The arguments of the second start. It begins where `-C` has led us.
fn arguments(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut typed = typed;
    while let Some(argument) = typed.next() {
        match argument.to_str() {
            Some("-C") => drop(typed.next()),
            Some(of_folder) if of_folder.starts_with("-C") => {}
            Some("--detach") => arguments.push("--detached".into()),
            _ => arguments.push(argument),
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_start_is_told_that_it_is_one_and_goes_nowhere_else() {
        let typed = ["-C", "../x", "run", "a", "--detach", "-Cy", "--jobs", "2"];
        let second = arguments(typed.into_iter().map(OsString::from));
        assert_eq!(second, ["run", "a", "--detached", "--jobs", "2"]);
    }
}

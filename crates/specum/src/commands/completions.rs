use std::io::{self, Write};

use clap_complete::Shell;

use super::Answered;
use crate::exit::Exit;

/// Print the completions for a shell
///
/// For bash: specum completions bash > ~/.local/share/bash-completion/completions/specum
///
/// docs/install.md has the other shells.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Answered {
    // clap_complete panics when it cannot write; a vector takes everything.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::definition(), "specum", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}

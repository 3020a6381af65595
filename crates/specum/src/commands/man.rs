use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use super::{Answered, print};
use crate::exit::Exit;
use specum_engine::files::{self, FileError};
use specum_engine::ops::OpError;

/// Write the man pages into a folder
///
/// One page for specum and one for each command. In a folder man1 below one of
/// those that `manpath` lists, `man specum` and `man specum-run` find them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder, made if it is not there; such as ~/.local/share/man/man1
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Answered {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .map_err(|error| OpError::from(FileError::new("create", folder, error)))?;
    let mut definition = super::definition().disable_help_subcommand(true);
    // Gives every command its full name, which is the name of its page.
    definition.build();
    let count = write_pages(definition, folder)?;
    print(format!("{count} pages in {}", folder.display()))?;
    Ok(Exit::Done)
}

/// Writes the page of a command and those of its own commands; gives their
/// number.
fn write_pages(command: Command, folder: &Path) -> Result<usize, OpError> {
    let mut count = 1;
    for part in command.get_subcommands().cloned() {
        count += write_pages(part, folder)?;
    }
    let man = Man::new(command).source(concat!("specum ", env!("CARGO_PKG_VERSION")));
    let mut layout = Vec::new();
    man.render(&mut layout).map_err(OpError::io("cannot render a layout"))?;
    // It has no date. clap_mangen leaves nothing in its place, and the version
    // would be taken for it.
    let layout = String::from_utf8_lossy(&layout).replacen(" 1  \"specum ", " 1 \"\" \"specum ", 1);
    files::write(&folder.join(man.get_filename()), layout.as_bytes())?;
    Ok(count)
}

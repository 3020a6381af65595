use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use super::Answered;
use crate::exit::Exit;
use specum_engine::ops::OpError;
use specum_engine::process;

/// The program that opens sockets for us.
const NET: &str = "specum-net";

/// Show the specs of a project in a browser, as they are now
///
/// Prints a link that may look; with --steer a second one, that may act as you can in a
/// terminal. It is a program of its own, specum-net, which stands beside specum: specum
/// itself opens no connection. `specum serve --help` lists its options, docs/serve.md
/// explains them.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct Args {
    /// Projects and options: [DIR]... --port PORT, --open, --steer, --listen ADDR, --host
    /// NAME, --everywhere, --token-file FILE
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    rest: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> Answered {
    let program = beside_us().or_else(|| process::find_program(NET)).ok_or_else(|| {
        OpError::NotFound(format!(
            "`specum serve` is a program of its own, {NET}, and it is not installed: every \
             archive and package of specum {} holds it (docs/install.md)",
            env!("CARGO_PKG_VERSION")
        ))
    })?;
    let mut command = Command::new(&program);
    command.args(["--of", env!("CARGO_PKG_VERSION"), "serve"]).args(&args.rest);
    let ended = process::hand_over(command)
        .map_err(|error| OpError::NotFound(format!("{}: {error}", program.display())))?;
    Ok(Exit::of_code(ended.code().unwrap_or(1)))
}

/// The one that came with us.
fn beside_us() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    // A package may put a link to us elsewhere.
    let real = std::fs::canonicalize(&own).unwrap_or(own);
    let name = format!("{NET}{}", std::env::consts::EXE_SUFFIX);
    Some(real.with_file_name(name)).filter(|program| program.is_file())
}

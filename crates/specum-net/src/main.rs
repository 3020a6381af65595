//! The `specum-net` program: whatever of specum opens a socket.
//!
//! `specum` itself cannot open a connection, and no agent is started from here: this
//! program reads the files of specs through the engine, and what it changes in them it
//! changes by the same operations as the verbs.
#![forbid(unsafe_code)]

mod serve;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What opens sockets for specum
#[derive(Debug, Parser)]
#[command(name = "specum-net", version, disable_help_subcommand = true)]
struct Cli {
    /// The version of the specum that has started it
    #[arg(long, hide = true, value_name = "VERSION")]
    of: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Serve(serve::Args),
}

/// Why it does not begin, or ends: what to say, and the exit code, which means what it
/// means for `specum`.
#[derive(Debug)]
struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    fn usage(message: impl Into<String>) -> Failure {
        Failure { code: 2, message: message.into() }
    }

    fn not_found(message: impl Into<String>) -> Failure {
        Failure { code: 3, message: message.into() }
    }

    fn failed(message: impl Into<String>) -> Failure {
        Failure { code: 1, message: message.into() }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = is_of_one_version(cli.of.as_deref()).and_then(|()| match &cli.verb {
        Verb::Serve(args) => serve::run(args),
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "error: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// The two programs read and write the same files, so they are of one version.
fn is_of_one_version(of: Option<&str>) -> Result<(), Failure> {
    let mine = env!("CARGO_PKG_VERSION");
    match of {
        Some(other) if other != mine => Err(Failure::failed(format!(
            "this specum-net is version {mine}, and specum is {other}: install both of one \
             release; every archive and package holds the two"
        ))),
        _ => Ok(()),
    }
}

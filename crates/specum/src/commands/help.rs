use clap::{ColorChoice, CommandFactory};

use super::{Answered, Cli, print};
use crate::exit::Exit;
use specum_engine::ops::OpError;

/// Print this message, the help of a command, or the format of a plan
///
/// `specum help format` prints how a plan is written, for a person or for a model:
/// hand it to the agent that is to write the plan.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A command, such as `run` or `plugin install`, or `format`
    #[arg(value_name = "COMMAND")]
    topic: Vec<String>,
}

/// How a plan is written.
const FORMAT: &str = include_str!("help/format.md");

pub(super) fn run(args: &Args) -> Answered {
    if args.topic == ["format"] {
        print(FORMAT.trim_end())?;
        return Ok(Exit::Done);
    }
    let mut command = Cli::command().color(ColorChoice::Auto);
    command.build();
    let mut named = &mut command;
    for name in &args.topic {
        named = named.find_subcommand_mut(name).ok_or_else(|| unknown(&args.topic.join(" ")))?;
    }
    named.print_long_help()?;
    Ok(Exit::Done)
}

fn unknown(topic: &str) -> OpError {
    OpError::Usage(format!(
        "there is no command `{topic}`; `specum help` lists all, `specum help format` says how a \
         plan is written"
    ))
}

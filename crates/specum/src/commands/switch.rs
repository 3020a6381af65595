use super::{Answered, answer};
use specum_engine::ops::{self, Caller};

/// Make a spec the active one
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its name, or its path if the name is not enough
    pub(super) spec: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    let switch = ops::switch(caller, &args.spec)?;
    answer(args.json, &switch, |switch| format!("active spec: {} ({})", switch.name, switch.path))
}

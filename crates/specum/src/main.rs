//! The `specum` program: a hook is answered before anything else is set up,
//! because a host waits for it at every stop.

use std::process::ExitCode;

/// That of musl gives memory back to the system and takes it again with every read of an
/// agent's output.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let first = args.next();
    if first.as_ref().is_some_and(|first| first == specum_engine::process::LAUNCH) {
        return specum_engine::process::launch(args);
    }
    specum_engine::process::be_the_launcher();
    specum::diagnosis::begin();
    if first.is_some_and(|first| first == "hook")
        && let Some(event) = args.next()
        && event != "--help"
        && event != "-h"
    {
        return specum::hook::run(&event.to_string_lossy()).into();
    }
    specum::commands::run()
}

use std::path::PathBuf;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answered, answer, complain, print, print_json};
use crate::exit::Exit;
use crate::plugin::{self, Host, Scope};
use specum_engine::claude_config;
use specum_engine::ops::Caller;
use specum_engine::process;

/// Put specum's hooks and commands into Claude Code, Codex or Gemini CLI
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Path(PathArgs),
}

/// Make a host call this binary
///
/// Can be repeated: after an update, or when the binary has moved.
#[derive(Debug, clap::Args)]
struct InstallArgs {
    #[command(flatten)]
    target: Target,
}

/// Take out what `install` has put in
#[derive(Debug, clap::Args)]
struct UninstallArgs {
    #[command(flatten)]
    target: Target,
}

/// Print where the plugin's files are
#[derive(Debug, clap::Args)]
struct PathArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Target {
    /// The host; every one on PATH if left out
    #[arg(long, value_enum)]
    host: Option<Host>,
    /// For all projects of this user, or for the current directory
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Target {
    /// The host that is named, or all that are there and have such a scope.
    fn hosts(&self) -> Vec<Host> {
        let has_scope = |host: &Host| self.scope == Scope::User || *host != Host::Codex;
        match self.host {
            Some(host) => vec![host],
            None => Host::found().into_iter().filter(has_scope).collect(),
        }
    }
}

/// What was done in each host.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PluginChange {
    /// The hosts, in the order in which they were asked.
    hosts: Vec<HostChange>,
}

/// What was done in a host.
#[derive(Debug, Serialize, JsonSchema)]
struct HostChange {
    /// The host.
    host: &'static str,
    /// For whom: `user` or `project`.
    scope: &'static str,
    /// What was done, a line each.
    done: Vec<String>,
    /// Why it did not work; null if it did.
    error: Option<String>,
}

/// Where the plugin's files are.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PluginPath {
    /// The folder.
    path: PathBuf,
    /// Whether the files are there.
    installed: bool,
}

pub(super) fn run(args: &Args, caller: &Caller<'_>) -> Answered {
    match &args.action {
        Action::Install(args) => {
            let exit = on_each(&args.target, Host::install, "nothing to do")?;
            warn_about_path(caller);
            if args.target.hosts().contains(&Host::Claude) {
                let namesakes = claude_config::namesakes(&std::env::current_dir()?);
                namesakes.iter().for_each(|warning| caller.warn(warning));
            }
            Ok(exit)
        }
        Action::Uninstall(args) => on_each(&args.target, Host::uninstall, "was not installed"),
        Action::Path(args) => {
            let path = plugin::directory(Host::Claude)?;
            let installed = path.join(plugin::FILES[0].0).is_file();
            answer(args.json, &PluginPath { path, installed }, |answer| {
                answer.path.display().to_string()
            })
        }
    }
}

/// Does the same with every host; the failure of one does not keep the others
/// from theirs.
fn on_each(
    target: &Target,
    act: fn(Host, Scope) -> anyhow::Result<Vec<String>>,
    nothing: &str,
) -> Answered {
    let mut hosts = Vec::new();
    let mut exit = Exit::Done;
    for host in target.hosts() {
        let name = host.name();
        let (done, error) = match act(host, target.scope) {
            Ok(done) if done.is_empty() => (vec![nothing.to_owned()], None),
            Ok(done) => (done, None),
            Err(error) => {
                exit = Exit::Failed;
                (Vec::new(), Some(format!("{error:#}")))
            }
        };
        if !target.json {
            done.iter().try_for_each(|line| print(format!("{name}: {line}")))?;
        }
        if let Some(error) = &error {
            complain(format!("{name}: {error}"));
        }
        hosts.push(HostChange { host: name, scope: target.scope.name(), done, error });
    }
    if target.json { print_json(&PluginChange { hosts }, exit) } else { Ok(exit) }
}

/// The hooks know where this binary is; an agent that is told to call `specum`
/// looks for it on PATH.
fn warn_about_path(caller: &Caller<'_>) {
    if process::find_program("specum").is_none() {
        caller.warn("specum is not on PATH, where agents will look for it; add its folder there");
    }
}

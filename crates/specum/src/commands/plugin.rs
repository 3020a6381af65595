use clap::Subcommand;
use serde_json::json;

use super::{print, print_json, warn};
use crate::claude_config;
use crate::exit;
use crate::plugin::{self, Host, Scope};
use crate::process;

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

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    match &args.action {
        Action::Install(args) => {
            let code = on_each(&args.target, Host::install, "nothing to do")?;
            warn_about_path();
            if args.target.hosts().contains(&Host::Claude) {
                claude_config::namesakes(&std::env::current_dir()?).iter().for_each(warn);
            }
            Ok(code)
        }
        Action::Uninstall(args) => on_each(&args.target, Host::uninstall, "was not installed"),
        Action::Path(args) => path(args),
    }
}

/// Does the same with every host; the failure of one does not keep the others
/// from theirs.
fn on_each(
    target: &Target,
    act: fn(Host, Scope) -> anyhow::Result<Vec<String>>,
    nothing: &str,
) -> anyhow::Result<u8> {
    let mut rows = Vec::new();
    let mut code = exit::OK;
    for host in target.hosts() {
        let name = host.name();
        let (done, error) = match act(host, target.scope) {
            Ok(done) if done.is_empty() => (vec![nothing.to_owned()], None),
            Ok(done) => (done, None),
            Err(error) => {
                code = exit::FAILED;
                (Vec::new(), Some(format!("{error:#}")))
            }
        };
        if !target.json {
            done.iter().try_for_each(|line| print(format!("{name}: {line}")))?;
        }
        if let Some(error) = &error {
            super::complain(format!("{name}: {error}"));
        }
        rows.push(json!({
            "host": name, "scope": target.scope.name(), "done": done, "error": error,
        }));
    }
    if target.json {
        print_json(&json!({"hosts": rows}))?;
    }
    Ok(code)
}

/// The hooks know where this binary is; an agent that is told to call `specum`
/// looks for it on PATH.
fn warn_about_path() {
    if process::find_program("specum").is_none() {
        warn("specum is not on PATH, where agents will look for it; add its folder there");
    }
}

fn path(args: &PathArgs) -> anyhow::Result<u8> {
    let path = plugin::directory(Host::Claude)?;
    let installed = path.join(plugin::FILES[0].0).is_file();
    if args.json {
        print_json(&json!({"path": path, "installed": installed}))?;
    } else {
        print(path.display())?;
    }
    Ok(exit::OK)
}

//! Claude Code and Codex: told of the plugin by their own command line.
//!
//! What is there is asked of the host, never remembered: a person may have
//! changed it since.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use super::{Host, Scope, directory, place, program_of, remove};
use specum_engine::claude_config::{self, PLUGIN};
use specum_engine::codex_config::{self, HOW_TO_TRUST, Trust};
use specum_engine::process::{self, Bounds, Terminal, WhenInterrupted};

/// Far beyond what a host takes for it.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(120),
    output: 1024 * 1024,
    when_interrupted: WhenInterrupted::End,
    terminal: Terminal::None,
};

pub(super) fn install_claude(scope: Scope, program: &str) -> anyhow::Result<Vec<String>> {
    program_of(Host::Claude)?;
    let files = place(Host::Claude, program)?;
    let scope = scope.name();
    call(Host::Claude, &["plugin", "marketplace", "add", text(&files)?, "--scope", scope])?;
    call(Host::Claude, &["plugin", "install", PLUGIN, "--scope", scope])?;
    // Which of two plugins of one name a session has is not ours to say.
    let alone = claude_config::namesakes(&std::env::current_dir()?).is_none();
    let from_now = if alone { "; sessions opened from now on have it" } else { "" };
    Ok(vec![
        format!("files in {}", files.display()),
        format!("installed {PLUGIN} (scope {scope}){from_now}"),
    ])
}

pub(super) fn install_codex(scope: Scope, program: &str) -> anyhow::Result<Vec<String>> {
    for_users_only(scope)?;
    program_of(Host::Codex)?;
    let files = place(Host::Codex, program)?;
    call(Host::Codex, &["plugin", "marketplace", "add", text(&files)?])?;
    call(Host::Codex, &["plugin", "add", PLUGIN])?;
    let trust = match codex_config::trust() {
        Trust::Given => {
            "its hooks were trusted before; codex asks again if they have changed".into()
        }
        Trust::Missing | Trust::NotInstalled => {
            format!("codex runs a hook only after you have trusted it: {HOW_TO_TRUST}")
        }
    };
    Ok(vec![format!("files in {}", files.display()), format!("installed {PLUGIN}"), trust])
}

pub(super) fn uninstall_claude(scope: Scope) -> anyhow::Result<Vec<String>> {
    program_of(Host::Claude)?;
    let here = std::env::current_dir()?;
    let is_meant = |plugin: &Value| {
        let project = plugin["projectPath"].as_str().map(Path::new);
        plugin["scope"] == scope.name() && project.is_none_or(|project| project == here)
    };
    let mut done = Vec::new();
    if claude_plugins()?.iter().any(is_meant) {
        call(Host::Claude, &["plugin", "uninstall", PLUGIN, "--scope", scope.name()])?;
        done.push(format!("uninstalled {PLUGIN} (scope {})", scope.name()));
    }
    // Another project's copy needs the marketplace still.
    if claude_plugins()?.is_empty() && knows_our_files(Host::Claude)? {
        call(Host::Claude, &["plugin", "marketplace", "remove", "specum"])?;
        done.push("removed the marketplace specum".to_owned());
    }
    if !knows_our_files(Host::Claude)? {
        remove_files(Host::Claude, &mut done)?;
    }
    Ok(done)
}

pub(super) fn uninstall_codex(scope: Scope) -> anyhow::Result<Vec<String>> {
    for_users_only(scope)?;
    program_of(Host::Codex)?;
    let mut done = Vec::new();
    if knows_our_files(Host::Codex)? {
        call(Host::Codex, &["plugin", "remove", PLUGIN])?;
        call(Host::Codex, &["plugin", "marketplace", "remove", "specum"])?;
        done.push(format!("uninstalled {PLUGIN} and removed the marketplace specum"));
    }
    remove_files(Host::Codex, &mut done)?;
    Ok(done)
}

fn for_users_only(scope: Scope) -> anyhow::Result<()> {
    if scope == Scope::Project {
        bail!("codex has plugins for a user only: leave out `--scope project`");
    }
    Ok(())
}

/// Our plugin as Claude Code lists it, once for each scope and project.
fn claude_plugins() -> anyhow::Result<Vec<Value>> {
    let said = call(Host::Claude, &["plugin", "list", "--json"])?;
    let all: Vec<Value> =
        serde_json::from_str(&said).with_context(|| format!("claude plugin list: {said}"))?;
    Ok(all.into_iter().filter(|plugin| plugin["id"] == PLUGIN).collect())
}

/// Whether the host has our folder as a marketplace.
fn knows_our_files(host: Host) -> anyhow::Result<bool> {
    let said = call(host, &["plugin", "marketplace", "list", "--json"])?;
    let list: Value = serde_json::from_str(&said)
        .with_context(|| format!("{} plugin marketplace list: {said}", host.name()))?;
    let (list, key) = match host {
        Host::Codex => (&list["marketplaces"], "root"),
        _ => (&list, "path"),
    };
    // Hosts may have followed links.
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let ours = real(&directory(host)?);
    let is_ours = |entry: &Value| {
        let path = entry[key].as_str().map(Path::new);
        entry["name"] == "specum" && path.is_some_and(|path| real(path) == ours)
    };
    Ok(list.as_array().into_iter().flatten().any(is_ours))
}

/// Deletes the files.
fn remove_files(host: Host, done: &mut Vec<String>) -> anyhow::Result<()> {
    let files = directory(host)?;
    if files.exists() {
        remove(host)?;
        done.push(format!("deleted {}", files.display()));
    }
    Ok(())
}

/// Calls a host and gives what it printed.
fn call(host: Host, args: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(program_of(host)?);
    command.args(args);
    let run = process::run(command, &[], BOUNDS);
    if !run.succeeded() {
        let said = String::from_utf8_lossy(&run.output);
        bail!("`{} {}` failed ({:?}): {}", host.name(), args.join(" "), run.ended, said.trim());
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("not a path in UTF-8: {}", path.display()))
}

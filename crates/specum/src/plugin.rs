//! The plugin, inside the binary, and its way into a host.
//!
//! `place` puts the files below specum's own state folder, as a marketplace
//! that Claude Code and Codex accept, with every call of `specum` made to this
//! very binary: what a host runs does not depend on its PATH. [`Host`] then
//! tells each host of them with its own means. Everything here may be repeated,
//! and `remove` deletes only what `place` has put there.

mod cli;
mod gemini;
mod jsonc;

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;

use specum_engine::files::{self, FileError};
use specum_engine::process;
use specum_engine::session;

macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../marketplace/", $path)))),*]
    };
}

/// Every file of the plugin: where it stands in the marketplace, and its text.
pub const FILES: [(&str, &str); 33] = embedded![
    ".claude-plugin/marketplace.json",
    "plugins/ralph-specum/.claude-plugin/plugin.json",
    "plugins/ralph-specum/agents/architect-reviewer.md",
    "plugins/ralph-specum/agents/plan-synthesizer.md",
    "plugins/ralph-specum/agents/product-manager.md",
    "plugins/ralph-specum/agents/qa-engineer.md",
    "plugins/ralph-specum/agents/research-analyst.md",
    "plugins/ralph-specum/agents/spec-executor.md",
    "plugins/ralph-specum/agents/task-planner.md",
    "plugins/ralph-specum/commands/accept.md",
    "plugins/ralph-specum/commands/approve.md",
    "plugins/ralph-specum/commands/cancel.md",
    "plugins/ralph-specum/commands/design.md",
    "plugins/ralph-specum/commands/help.md",
    "plugins/ralph-specum/commands/implement.md",
    "plugins/ralph-specum/commands/index.md",
    "plugins/ralph-specum/commands/new.md",
    "plugins/ralph-specum/commands/note.md",
    "plugins/ralph-specum/commands/pause.md",
    "plugins/ralph-specum/commands/requirements.md",
    "plugins/ralph-specum/commands/research.md",
    "plugins/ralph-specum/commands/resume.md",
    "plugins/ralph-specum/commands/retry.md",
    "plugins/ralph-specum/commands/skip.md",
    "plugins/ralph-specum/commands/start.md",
    "plugins/ralph-specum/commands/status.md",
    "plugins/ralph-specum/commands/switch.md",
    "plugins/ralph-specum/commands/tasks.md",
    "plugins/ralph-specum/commands/tick.md",
    "plugins/ralph-specum/commands/trace.md",
    "plugins/ralph-specum/commands/undo.md",
    "plugins/ralph-specum/commands/unskip.md",
    "plugins/ralph-specum/hooks/hooks.json",
];

/// The events that have a use in Codex, where no sub-agent is called for a task.
const CODEX_EVENTS: [&str; 3] = ["UserPromptSubmit", "Stop", "SessionStart"];

/// An agent host that takes the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Host {
    /// Claude Code
    Claude,
    /// OpenAI Codex
    Codex,
    /// Gemini CLI
    Gemini,
}

/// Whom an installation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Scope {
    /// All projects of this user
    User,
    /// The project in the current directory
    Project,
}

impl Scope {
    /// Its name on the command line, ours and the hosts'.
    pub fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

impl Host {
    /// All of them.
    pub const ALL: [Host; 3] = [Host::Claude, Host::Codex, Host::Gemini];

    /// The name of its program.
    pub fn name(self) -> &'static str {
        match self {
            Host::Claude => "claude",
            Host::Codex => "codex",
            Host::Gemini => "gemini",
        }
    }

    /// The hosts on PATH; Claude Code if there are none, so that its absence is
    /// reported.
    pub fn found() -> Vec<Host> {
        let there = |host: &Host| process::find_program(host.name()).is_some();
        let found: Vec<Host> = Host::ALL.into_iter().filter(there).collect();
        if found.is_empty() { vec![Host::Claude] } else { found }
    }

    /// Makes the host call this binary; says what was done, line by line.
    pub fn install(self, scope: Scope) -> anyhow::Result<Vec<String>> {
        let program = own_program()?;
        match self {
            Host::Gemini => gemini::install(scope, &program),
            Host::Claude => cli::install_claude(scope, &program),
            Host::Codex => cli::install_codex(scope, &program),
        }
    }

    /// Takes out what [`Host::install`] has put in.
    pub fn uninstall(self, scope: Scope) -> anyhow::Result<Vec<String>> {
        match self {
            Host::Gemini => gemini::uninstall(scope),
            Host::Claude => cli::uninstall_claude(scope),
            Host::Codex => cli::uninstall_codex(scope),
        }
    }
}

/// Whether Gemini CLI calls our hooks in a project.
pub(crate) fn is_in_gemini(root: &Path) -> bool {
    gemini::is_installed(root)
}

/// This binary, as a shell calls it.
fn own_program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("cannot find out where this binary is")?;
    shell_word(&path)
}

/// A path as one word of a shell. Slash commands and their permissions have no
/// quoting of their own, so a path they could misread is refused.
fn shell_word(path: &Path) -> anyhow::Result<String> {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    let text = path.to_str().filter(|text| text.chars().all(|c| plain(c) || c == ' '));
    let text = text.ok_or_else(|| {
        anyhow!(
            "a plugin cannot call {}: move specum to a path of letters, digits, blanks and /._-+@",
            path.display()
        )
    })?;
    Ok(if text.chars().all(plain) { text.to_owned() } else { format!("'{text}'") })
}

/// Where the files for a host are, or will be. Codex has its own: it asks the
/// person to trust each hook, so it is given no more than it has a use for.
pub fn directory(host: Host) -> anyhow::Result<PathBuf> {
    let home = session::state_home().ok_or_else(|| {
        anyhow!("neither XDG_STATE_HOME nor HOME is set: there is no place for the plugin")
    })?;
    Ok(home.join(if host == Host::Codex { "codex-plugin" } else { "plugin" }))
}

/// Puts the files in their place, over what an earlier version has put there.
fn place(host: Host, program: &str) -> anyhow::Result<PathBuf> {
    let directory = directory(host)?;
    for (path, text) in FILES {
        let file = directory.join(path);
        let parent = file.parent().expect("a file is in a directory");
        std::fs::create_dir_all(parent).map_err(|error| FileError::new("create", parent, error))?;
        files::write(&file, adapted(host, path, text, program)?.as_bytes())?;
    }
    Ok(directory)
}

/// A file with every call of `specum` made to `program`.
fn adapted(host: Host, path: &str, text: &str, program: &str) -> anyhow::Result<String> {
    if path.ends_with("hooks.json") {
        let mut hooks: Value = serde_json::from_str(text)?;
        if let (Host::Codex, Some(events)) = (host, hooks["hooks"].as_object_mut()) {
            events.retain(|event, _| CODEX_EVENTS.contains(&event.as_str()));
        }
        call_in_hooks(&mut hooks, program);
        return Ok(serde_json::to_string_pretty(&hooks)? + "\n");
    }
    Ok(text
        .replace("!`specum ", &format!("!`{program} "))
        .replace("Bash(specum:*)", &format!("Bash({program}:*)")))
}

fn call_in_hooks(value: &mut Value, program: &str) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str() {
                    Some(text) if name == "command" => {
                        // The calls alone: a text that names specum stays as it is.
                        let text = text.replace("-v specum ", &format!("-v {program} "));
                        *field = text.replace("exec specum ", &format!("exec {program} ")).into();
                    }
                    _ => call_in_hooks(field, program),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| call_in_hooks(item, program)),
        _ => {}
    }
}

/// Deletes the files, and the folders that are empty then.
fn remove(host: Host) -> anyhow::Result<()> {
    let directory = directory(host)?;
    for (path, _) in FILES {
        files::remove(&directory.join(path))?;
        for parent in Path::new(path).ancestors().skip(1) {
            remove_if_empty(&directory.join(parent))?;
        }
    }
    Ok(())
}

fn remove_if_empty(directory: &Path) -> Result<(), FileError> {
    use io::ErrorKind::{DirectoryNotEmpty, NotFound};
    match std::fs::remove_dir(directory) {
        Err(error) if !matches!(error.kind(), DirectoryNotEmpty | NotFound) => {
            Err(FileError::new("delete", directory, error))
        }
        _ => Ok(()),
    }
}

/// The program of a host, or what to do without.
fn program_of(host: Host) -> anyhow::Result<PathBuf> {
    match process::find_program(host.name()) {
        Some(program) => Ok(program),
        None => bail!(
            "{0} is not on PATH: install it, or name another host with --host ({1})",
            host.name(),
            Host::ALL.map(Host::name).join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_one_word_or_is_refused() {
        let word = |path: &str| shell_word(Path::new(path)).ok();
        assert_eq!(word("/usr/bin/specum").as_deref(), Some("/usr/bin/specum"));
        assert_eq!(word("/my tools/specum").as_deref(), Some("'/my tools/specum'"));
        for bad in ["/a'b", "/a`b", "/a$b", "/a(b", "/a,b", "/a\nb", "/a\"b", "/a:*b"] {
            assert_eq!(word(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_call_by_name_is_left() {
        for (path, text) in FILES {
            let adapted = adapted(Host::Claude, path, text, "'/my tools/specum'").unwrap();
            for call in ["-v specum ", "exec specum ", "!`specum ", "Bash(specum"] {
                assert!(!adapted.contains(call), "{path}: {adapted}");
            }
            let calls = |text: &str, by: &str| text.matches(by).count();
            let by_name = ["-v specum ", "exec specum ", "!`specum "];
            let wanted: usize = by_name.iter().map(|call| calls(text, call)).sum();
            assert_eq!(path.ends_with("hooks.json"), wanted >= 14, "{path}");
            assert_eq!(calls(&adapted, "'/my tools/specum' "), wanted, "{path}: {adapted}");
        }
    }
}

//! The Ralph Loop plugin of Claude Code as the driver.
//!
//! That plugin's Stop hook feeds the body of `.claude/ralph-loop.local.md` to
//! its session again and again, until the agent says the promise or the file
//! is gone. So the loop is that file: writing it starts the loop, and deleting it
//! ends it. A file that specum did not write stays as it is.

use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};

use serde_json::Value;
use specum_core::completion;
use specum_core::prompt::{self, SpecName};
use thiserror::Error;

use crate::claude_config;
use crate::files::{self, FileError};
use crate::project::Spec;

/// Where the plugin looks for its loop, below the project.
pub const LOOP_FILE: &str = ".claude/ralph-loop.local.md";
/// What the plugin is called, and what it was called.
const PLUGIN_NAMES: [&str; 2] = ["ralph-loop", "ralph-wiggum"];
/// The longest loop file worth reading.
const MAX_BYTES: u64 = 1024 * 1024;

/// Why the Ralph Loop cannot drive.
#[derive(Debug, Error)]
pub enum LoopError {
    /// There is nothing that would drive.
    #[error(
        "Ralph Loop plugin required but not installed, or turned off.\n\n\
         With --driver ralph-loop that plugin of Claude Code drives the loop. Nothing was changed.\n\n\
         Install it in Claude Code:\n  /plugin install ralph-loop@claude-plugins-official\n\n\
         Then retry:\n  /ralph-specum:implement --driver ralph-loop\n\n\
         Or leave it out: specum's own Stop hook drives as well."
    )]
    NoPlugin,
    /// Another spec of ours is being driven.
    #[error("{LOOP_FILE} drives another spec ({of}); `specum cancel` that one first")]
    OtherSpec {
        /// The line that names it.
        of: String,
    },
    /// Somebody else's loop.
    #[error(
        "{LOOP_FILE} is a loop that specum did not begin. End it with /ralph-loop:cancel-ralph, \
         or move the file away, then retry"
    )]
    Foreign,
    /// The folder is not the project's.
    #[error("{} leads out of the project; the loop file is not written there", .0.display())]
    Outside(PathBuf),
    /// The file itself.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Whose loop file stands in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopFile {
    /// Nobody's.
    Missing,
    /// This spec's.
    Ours {
        /// Whether the plugin is to look at it.
        active: bool,
    },
    /// Another spec's, named by this line.
    OtherSpec(String),
    /// Not one of specum's.
    Foreign,
}

/// What became of the loop file when its spec no longer needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopFileFate {
    /// There was none.
    Nothing,
    /// It is deleted.
    Deleted,
    /// It is not this spec's, or not active, and stays.
    Kept,
}

impl LoopFile {
    /// Whose file it is. One that cannot be read is none that we wrote.
    pub fn of(spec: &Spec) -> LoopFile {
        match spec.world.disk.read(&spec.root.join(LOOP_FILE), MAX_BYTES) {
            Ok(bytes) => whose(&String::from_utf8_lossy(&bytes), spec),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => LoopFile::Missing,
            Err(_) => LoopFile::Foreign,
        }
    }
}

fn whose(text: &str, spec: &Spec) -> LoopFile {
    let head = || text.lines().skip(1).take_while(|line| line.trim_end() != "---");
    let promised = head().any(|line| {
        line.starts_with("completion_promise:") && line.contains(completion::ALL_TASKS_COMPLETE)
    });
    let opening = text.lines().find(|line| line.starts_with(prompt::RALPH_LOOP_OPENING));
    match opening {
        Some(line) if promised && line == prompt::ralph_loop_heading(named(spec)) => {
            let active = !head().any(|line| line.replace(' ', "").trim_end() == "active:false");
            LoopFile::Ours { active }
        }
        Some(line) if promised => {
            LoopFile::OtherSpec(line[prompt::RALPH_LOOP_OPENING.len()..].to_owned())
        }
        Some(_) | None => LoopFile::Foreign,
    }
}

fn named(spec: &Spec) -> SpecName<'_> {
    SpecName { name: &spec.name, path: &spec.shown }
}

/// Whether the Ralph Loop can drive this spec now. At most the folder for its
/// file is made.
pub fn can_drive(spec: &Spec) -> Result<(), LoopError> {
    let config = claude_config::directory();
    if !config.is_some_and(|config| has_plugin(&config, &spec.root)) {
        return Err(LoopError::NoPlugin);
    }
    let dir = spec.root.join(".claude");
    spec.world.disk.make_folder(&dir)?;
    if spec.world.disk.real_path(&dir).is_ok_and(|real| !real.starts_with(&spec.root)) {
        return Err(LoopError::Outside(dir));
    }
    match LoopFile::of(spec) {
        LoopFile::Missing | LoopFile::Ours { .. } => Ok(()),
        LoopFile::OtherSpec(of) => Err(LoopError::OtherSpec { of }),
        LoopFile::Foreign => Err(LoopError::Foreign),
    }
}

/// Writes the loop file of a spec, from the first iteration, once [`can_drive`]
/// has said yes.
pub fn begin(spec: &Spec, session: Option<&str>, max_iterations: u64) -> Result<(), LoopError> {
    let path = spec.root.join(LOOP_FILE);
    // The plugin reads the file by lines; an id that is none must not add any.
    let is_id = |id: &&str| id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let text = format!(
        "---\nactive: true\niteration: 1\nsession_id: {}\nmax_iterations: {max_iterations}\n\
         completion_promise: \"{}\"\nstarted_at: \"{}\"\n---\n\n{}",
        session.filter(is_id).unwrap_or_default(),
        completion::ALL_TASKS_COMPLETE,
        spec.world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        prompt::ralph_loop(named(spec)),
    );
    Ok(spec.world.disk.write(&path, text.as_bytes())?)
}

/// Deletes the loop file of a spec, and no other.
pub fn end(spec: &Spec) -> Result<LoopFileFate, FileError> {
    match LoopFile::of(spec) {
        LoopFile::Missing => Ok(LoopFileFate::Nothing),
        LoopFile::Ours { active: true } => {
            spec.world.disk.remove(&spec.root.join(LOOP_FILE)).map(|()| LoopFileFate::Deleted)
        }
        LoopFile::Ours { active: false } | LoopFile::OtherSpec(_) | LoopFile::Foreign => {
            Ok(LoopFileFate::Kept)
        }
    }
}

/// Whether the plugin is there under either of its names: what the settings
/// say counts first, else any place in which the host keeps plugins.
fn has_plugin(config: &Path, root: &Path) -> bool {
    let enabled = claude_config::settings(config, root).iter().find_map(is_enabled);
    enabled.unwrap_or_else(|| is_installed(config))
}

fn is_enabled(settings: &Value) -> Option<bool> {
    let plugins = settings["enabledPlugins"].as_object()?;
    let mut ours = plugins.iter().filter(|(name, _)| is_plugin(name)).peekable();
    ours.peek()?;
    Some(ours.any(|(_, on)| *on != Value::Bool(false)))
}

fn is_installed(config: &Path) -> bool {
    if claude_config::installed(config).iter().any(|name| is_plugin(name)) {
        return true;
    }
    let plugins = config.join("plugins");
    // What cannot be read cannot be started either.
    let below = |dir: &str| files::entries(&plugins.join(dir)).unwrap_or_default().into_iter();
    PLUGIN_NAMES.iter().any(|name| {
        plugins.join(name).join(".claude-plugin/plugin.json").is_file()
            || below("cache").any(|market| market.join(name).is_dir())
            || below("marketplaces").any(|market| market.join("plugins").join(name).is_dir())
    })
}

/// `ralph-loop@claude-plugins-official` and the like.
fn is_plugin(listed: &str) -> bool {
    PLUGIN_NAMES.contains(&listed.split('@').next().unwrap_or_default())
}

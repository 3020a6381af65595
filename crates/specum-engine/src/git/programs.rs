//! What makes git start a program: hooks, filters, and settings that name one.
//!
//! An agent that changes any of it has specum start that program with its next
//! commit, outside of whatever sandbox the agent is in. So a run looks at it before
//! it calls git again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use specum_core::digest::ContentDigest;

use super::{Git, GitError};
use crate::files;
use crate::os;

/// The longest file of git's that is compared.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The sections of a configuration in which settings name programs.
const SECTIONS: [&str; 9] = [
    "alias.",
    "core.",
    "credential.",
    "diff.",
    "filter.",
    "gpg.",
    "include.",
    "includeif.",
    "merge.",
];
/// The settings of `core` that do.
const IN_CORE: [&str; 5] =
    ["core.hookspath", "core.fsmonitor", "core.sshcommand", "core.editor", "core.askpass"];

/// What git would start, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// Each hook and each setting, with what tells its content.
    named: BTreeMap<String, String>,
    /// The files that the settings were read from. As long as they stay, so do
    /// these.
    files: BTreeMap<PathBuf, String>,
}

impl Programs {
    /// What tells it from any other.
    pub fn digest(&self) -> String {
        let each = self.named.iter().flat_map(|(name, value)| [name, "\0", value, "\0"]);
        ContentDigest::of(each.collect::<String>().as_bytes()).to_string()
    }

    /// The hooks and settings that are others, or new, or gone.
    pub fn differing(&self, now: &Programs) -> Vec<String> {
        let names = self.named.keys().chain(now.named.keys());
        let mut names: Vec<String> =
            names.filter(|name| self.named.get(*name) != now.named.get(*name)).cloned().collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Git {
    /// What git would start now. What is known from before saves asking for the
    /// settings.
    pub fn programs(&self, known: Option<&Programs>) -> Result<Programs, GitError> {
        let files: BTreeMap<PathBuf, String> = self
            .config_files()?
            .into_iter()
            .filter_map(|path| Some((path.clone(), content(&path)?)))
            .collect();
        let is_setting = |name: &str| !name.starts_with(HOOK);
        let are_known = known.filter(|known| {
            // An included file is not among them.
            known.files == files && !known.named.keys().any(|name| name.starts_with("include"))
        });
        let mut named = match are_known {
            Some(known) => {
                let settings = known.named.iter().filter(|(name, _)| is_setting(name));
                settings.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            None => self.settings_that_name_programs()?,
        };
        let hooks = match named.get("core.hookspath") {
            // As git has it: from the root of the work tree, or from home.
            Some(path) => match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
                (Some(below), Some(home)) => PathBuf::from(home).join(below),
                _ => self.root.join(path),
            },
            None => self.common_directory()?.join("hooks"),
        };
        for path in files::entries(&hooks)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.ends_with(".sample")
                && let Some(content) = content(&path)
            {
                named.insert(format!("{HOOK}{name}"), content);
            }
        }
        Ok(Programs { named, files })
    }

    fn settings_that_name_programs(&self) -> Result<BTreeMap<String, String>, GitError> {
        let list = self.read(&["config", "--null", "--list"])?;
        let mut named: BTreeMap<String, String> = BTreeMap::new();
        for entry in list.split('\0').filter(|entry| !entry.is_empty()) {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
            let key = key.to_ascii_lowercase();
            let counts = SECTIONS.iter().any(|section| key.starts_with(section))
                && (!key.starts_with("core.") || IN_CORE.contains(&key.as_str()))
                // Ours, on the command line.
                && !(key == "core.fsmonitor" && value == "false");
            if counts {
                // One setting may have several values; all of them count.
                named.entry(key).or_default().push_str(value);
            }
        }
        Ok(named)
    }

    fn config_files(&self) -> Result<Vec<PathBuf>, GitError> {
        let common = self.common_directory()?;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let global = std::env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
        let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let xdg = xdg.or_else(|| Some(home.as_ref()?.join(".config")));
        let of_user = [
            global.or_else(|| Some(home?.join(".gitconfig"))),
            xdg.map(|folder| folder.join("git/config")),
        ];
        let of_system = PathBuf::from("/etc/gitconfig");
        let in_repository = [common.join("config"), common.join("config.worktree")];
        Ok(in_repository
            .into_iter()
            .chain(of_user.into_iter().flatten())
            .chain([of_system])
            .collect())
    }

    /// git's folder that all worktrees share.
    fn common_directory(&self) -> Result<PathBuf, GitError> {
        let git = self.root.join(".git");
        if git.is_dir() {
            return Ok(git);
        }
        let path = self.read(&["rev-parse", "--git-common-dir"])?;
        Ok(self.root.join(path.trim_end_matches('\n')))
    }
}

/// What a hook is called here, in front of its name.
const HOOK: &str = "hook ";

/// What tells the content of a file from another; `None` without one.
fn content(path: &Path) -> Option<String> {
    let bytes = files::read(path, MAX_BYTES).ok()?;
    let starts = if os::is_program(path) { "can be started" } else { "" };
    Some(format!("{} {starts}", ContentDigest::of(&bytes)))
}

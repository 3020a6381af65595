//! What Codex's configuration says about our hooks, read and never written.
//!
//! Codex runs a hook only after the person has trusted it, and says nothing
//! about the others. It keeps the plugins and that trust in `config.toml` below
//! `$CODEX_HOME`, or `~/.codex`.

use std::path::PathBuf;

use crate::files;
use crate::plugin::PLUGIN;

/// The longest configuration worth reading.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Whether our hooks are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The plugin is not installed.
    NotInstalled,
    /// It is, and its hooks are not run.
    Missing,
    /// Its hooks were trusted as they were then.
    Given,
}

/// How to give it.
pub(crate) const HOW_TO_TRUST: &str = "start codex: it asks about new hooks, take \"Trust all and \
    continue\"; later, type /hooks and press t";

/// What the person's configuration says.
pub(crate) fn trust() -> Trust {
    let text = path().and_then(|path| files::read(&path, MAX_BYTES).ok()).unwrap_or_default();
    trust_in(&String::from_utf8_lossy(&text))
}

fn path() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".codex"));
    let set = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    Some(set.or_else(home)?.join("config.toml"))
}

/// Its tables are told by their headings, which is all that is asked here.
fn trust_in(config: &str) -> Trust {
    let headings = || config.lines().map(str::trim).filter(|line| line.starts_with('['));
    let plugin = format!("[plugins.\"{PLUGIN}\"]");
    let of_ours = format!("[hooks.state.\"{PLUGIN}:");
    if headings().any(|line| line.starts_with(&of_ours) && line.contains(":stop:")) {
        Trust::Given
    } else if headings().any(|line| line == plugin) {
        Trust::Missing
    } else {
        Trust::NotInstalled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_told_by_the_headings() {
        let installed = "[plugins.\"ralph-specum@specum\"]\nenabled = true\n";
        let trusted = "[hooks.state.\"ralph-specum@specum:hooks/hooks.json:stop:0:0\"]\n\
                       trusted_hash = \"x\"\n";
        assert_eq!(trust_in("model = \"gpt-5\"\n"), Trust::NotInstalled);
        assert_eq!(trust_in(installed), Trust::Missing);
        assert_eq!(trust_in(&format!("{installed}\n{trusted}")), Trust::Given);
        let of_another = trusted.replace("ralph-specum@specum", "other@specum");
        assert_eq!(trust_in(&format!("{installed}\n{of_another}")), Trust::Missing);
    }
}

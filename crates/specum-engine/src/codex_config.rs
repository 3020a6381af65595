//! What Codex's configuration says about our hooks, read and never written.
//!
//! Codex runs a hook only after the person has trusted it, and says nothing
//! about the others. It keeps the plugins and that trust in `config.toml` below
//! `$CODEX_HOME`, or `~/.codex`.

use std::path::PathBuf;

use crate::claude_config::PLUGIN;
use crate::files;

/// The longest configuration worth reading.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Whether our hooks are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The plugin is not installed.
    NotInstalled,
    /// It is, and its hooks are not run.
    Missing,
    /// Its hooks were trusted as they were then.
    Given,
}

/// How to give it.
pub const HOW_TO_TRUST: &str = "start codex: it asks about new hooks, take \"Trust all and \
    continue\"; later, type /hooks and press t";

/// What the person's configuration says.
pub fn trust() -> Trust {
    let text = path().and_then(|path| files::read(&path, MAX_BYTES).ok()).unwrap_or_default();
    trust_in(&String::from_utf8_lossy(&text))
}

fn path() -> Option<PathBuf> {
    Some(directory()?.join("config.toml"))
}

/// Where Codex keeps its configuration.
pub fn directory() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".codex"));
    let set = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    set.or_else(home)
}

/// The hooks without which nothing is judged, as the configuration names them.
const NEEDED: [&str; 2] = [":stop:", ":user_prompt_submit:"];

/// Its tables are told by their headings, and a plugin that is turned off by the
/// line that says so, which is all that is asked here.
fn trust_in(config: &str) -> Trust {
    let mut tables: Vec<(String, bool)> = Vec::new();
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            let heading = line.split(']').next().unwrap_or_default();
            tables.push((heading.replace('\'', "\""), true));
        } else if let (Some((_, is_on)), Some((key, value))) =
            (tables.last_mut(), line.split_once('='))
            && key.trim() == "enabled"
        {
            *is_on = !value.trim_start().starts_with("false");
        }
    }
    let has = |begins: &str, holds: &str| {
        let is_it = |heading: &str| heading.starts_with(begins) && heading.contains(holds);
        tables.iter().any(|(heading, is_on)| *is_on && is_it(heading))
    };
    let state = format!("[hooks.state.\"{PLUGIN}:");
    if !has(&format!("[plugins.\"{PLUGIN}\""), "") {
        Trust::NotInstalled
    } else if NEEDED.iter().all(|event| has(&state, event)) {
        Trust::Given
    } else {
        Trust::Missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_told_by_the_headings() {
        let installed = "[plugins.\"ralph-specum@specum\"]\nenabled = true\n";
        let trust = |event: &str| {
            let hook = format!("ralph-specum@specum:hooks/hooks.json:{event}:0:0");
            format!("[hooks.state.\"{hook}\"]\ntrusted_hash = \"x\"\n")
        };
        let (stop, submit) = (trust("stop"), trust("user_prompt_submit"));
        let trusted = format!("{stop}{submit}");
        assert_eq!(trust_in("model = \"gpt-5\"\n"), Trust::NotInstalled);
        assert_eq!(trust_in(installed), Trust::Missing);
        assert_eq!(trust_in(&format!("{installed}\n{trusted}")), Trust::Given);
        let of_another = trusted.replace("ralph-specum@specum", "other@specum");
        assert_eq!(trust_in(&format!("{installed}\n{of_another}")), Trust::Missing);
        assert_eq!(trust_in(&format!("{installed}\n{stop}")), Trust::Missing, "half of it");
        let off = submit.replace("trusted_hash", "enabled = false\ntrusted_hash");
        assert_eq!(trust_in(&format!("{installed}{stop}{off}")), Trust::Missing, "turned off");
        let gone = installed.replace("true", "false");
        assert_eq!(trust_in(&format!("{gone}{trusted}")), Trust::NotInstalled);
        let by_hand = installed.replace('"', "'").replace("]", "] # mine");
        assert_eq!(trust_in(&format!("{by_hand}{trusted}")), Trust::Given);
    }
}

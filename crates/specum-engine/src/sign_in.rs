//! Whether an agent seems to be signed in: whether a variable is set, or a file is there,
//! in which it keeps that. What they hold is never read.
//!
//! Only Claude Code and Codex are asked about: opencode works without an account, and
//! Gemini CLI has more ways than can be listed.

use std::path::PathBuf;

use specum_core::agent;

use crate::claude_config;
use crate::codex_config;
use crate::files;

const OF_CLAUDE: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];
const OF_CODEX: [&str; 3] = ["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];
/// What a person's settings name where they sign in another way.
const OWN_WAYS: [&str; 3] = ["apiKeyHelper", "ANTHROPIC_", "model_provider"];
/// The longest settings that are looked at.
const MAX_BYTES: u64 = 1024 * 1024;

/// How to sign in, if nothing shows that the agent of this name is signed in.
pub fn missing(name: &str) -> Option<&'static str> {
    // macOS keeps it in the keychain.
    if !cfg!(target_os = "linux") {
        return None;
    }
    let (variables, folder, file, settings): (&[&str], Option<PathBuf>, &str, &str) = match name {
        "claude" => (&OF_CLAUDE, claude_config::directory(), ".credentials.json", "settings.json"),
        "codex" => (&OF_CODEX, codex_config::directory(), "auth.json", "config.toml"),
        _ => return None,
    };
    let is_set =
        |variable: &&str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let folder = folder?;
    let has_own_way = || {
        let text = files::read(&folder.join(settings), MAX_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        OWN_WAYS.iter().any(|way| text.contains(way))
    };
    if variables.iter().any(is_set) || folder.join(file).exists() || has_own_way() {
        return None;
    }
    agent::by_name(name, None).map(|agent| agent.sign_in())
}

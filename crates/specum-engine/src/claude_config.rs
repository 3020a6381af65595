//! What Claude Code's own files say about its plugins.
//!
//! Small JSON files are read, nothing is written and no program is started, so
//! that a hook can ask too. What cannot be read says nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::files;

/// The name of the plugin and of the marketplace it is in.
pub const PLUGIN: &str = "ralph-specum@specum";

/// The longest of these files worth reading.
const MAX_BYTES: u64 = 1024 * 1024;

/// Where Claude Code keeps its configuration.
pub fn directory() -> Option<PathBuf> {
    let set = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".claude"));
    set.map(PathBuf::from).or_else(home)
}

/// The settings that name the enabled plugins, the ones that count first first.
pub fn settings(config: &Path, root: &Path) -> [Value; 3] {
    let files = [
        root.join(".claude/settings.local.json"),
        root.join(".claude/settings.json"),
        config.join("settings.json"),
    ];
    files.map(|path| read_json(&path))
}

/// The plugins that are installed, as `name@marketplace`.
pub fn installed(config: &Path) -> Vec<String> {
    let list = read_json(&config.join("plugins/installed_plugins.json"));
    let listed = [&list["plugins"], &list].into_iter().filter_map(Value::as_object);
    listed.flat_map(|list| list.keys().cloned()).collect()
}

/// Whether our own plugin is installed and enabled for a project.
pub fn has_our_plugin(root: &Path) -> bool {
    enabled(root).iter().any(|id| id == PLUGIN)
}

/// What a person should know if other plugins of our plugin's name are enabled
/// for a project: Claude Code runs one of them and says nothing.
pub fn namesakes(root: &Path) -> Option<String> {
    let name = |id: &str| id.split('@').next().map(str::to_owned);
    let others: Vec<String> =
        enabled(root).into_iter().filter(|id| id != PLUGIN && name(id) == name(PLUGIN)).collect();
    if others.is_empty() {
        return None;
    }
    let commands: Vec<String> =
        others.iter().map(|id| format!("`claude plugin disable {id}`")).collect();
    Some(format!(
        "another plugin of the same name is enabled in Claude Code ({}), which runs only one of \
         them; turn it off with {}, then open a new session",
        others.join(", "),
        commands.join(" and ")
    ))
}

/// The plugins that are installed and enabled for a project.
fn enabled(root: &Path) -> Vec<String> {
    let Some(config) = directory() else { return Vec::new() };
    let mut plugins = installed(&config);
    if plugins.is_empty() {
        return plugins;
    }
    let settings = settings(&config, root);
    plugins.retain(|id| {
        let said = settings.iter().find_map(|settings| settings["enabledPlugins"].get(id));
        said.is_some_and(|on| *on != Value::Bool(false))
    });
    plugins
}

fn read_json(path: &Path) -> Value {
    let bytes = files::read(path, MAX_BYTES).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null)
}

//! Gemini CLI: hooks in its `settings.json`.
//!
//! Everything else in that file stays, in its order and its indentation. A file
//! that is not plain JSON is left alone.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

use super::{Scope, remove_if_empty};
use crate::files::{self, FileError};

/// The longest settings worth reading.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Marks our hooks among others'.
const NAME: &str = "specum";
/// The host's events and ours, and how long each may take: the host counts in
/// milliseconds, and a check runs at the end of a turn.
const EVENTS: [(&str, &str, u64); 4] = [
    ("BeforeAgent", "submit", 60_000),
    ("AfterAgent", "stop", 3_600_000),
    ("SessionStart", "session-start", 30_000),
    ("SessionEnd", "session-end", 30_000),
];

pub(super) fn install(scope: Scope, program: &str) -> anyhow::Result<Vec<String>> {
    let file = Settings::read(settings_path(scope)?)?;
    let mut value = file.value.clone();
    for (event, ours, timeout) in EVENTS {
        add(&mut value, event, &format!("{program} hook {ours}"), timeout)
            .with_context(|| format!("{} was left as it is", file.path.display()))?;
    }
    let path = file.path.display().to_string();
    if value == file.value {
        return Ok(vec![format!("the hooks are in {path} already")]);
    }
    file.write(&value)?;
    let events = EVENTS.map(|(event, ..)| event).join(", ");
    let mut done = vec![format!("put the hooks {events} into {path}")];
    if scope == Scope::Project {
        done.push("it runs the hooks of a project only in a folder that you trust".to_owned());
    }
    Ok(done)
}

pub(super) fn uninstall(scope: Scope) -> anyhow::Result<Vec<String>> {
    let file = Settings::read(settings_path(scope)?)?;
    let mut value = file.value.clone();
    EVENTS.iter().for_each(|(event, ..)| take_out(&mut value, event));
    if value == file.value {
        return Ok(Vec::new());
    }
    let path = file.path.display().to_string();
    if value == json!({}) {
        files::remove(&file.path)?;
        file.path.parent().map_or(Ok(()), remove_if_empty)?;
        return Ok(vec![format!("deleted {path}, which held only our hooks")]);
    }
    file.write(&value)?;
    Ok(vec![format!("took the hooks out of {path}")])
}

fn settings_path(scope: Scope) -> anyhow::Result<PathBuf> {
    let base = match scope {
        Scope::Project => std::env::current_dir()?,
        Scope::User => std::env::var_os("HOME")
            .map(PathBuf::from)
            .ok_or_else(|| anyhow!("HOME is not set: where are the settings of gemini?"))?,
    };
    Ok(base.join(".gemini/settings.json"))
}

/// The host's settings, with what is needed to write them as they were.
struct Settings {
    path: PathBuf,
    value: Value,
    /// `None`: all in one line.
    indent: Option<String>,
    newline: bool,
}

impl Settings {
    /// Reads the file; a missing one is empty.
    fn read(path: PathBuf) -> anyhow::Result<Settings> {
        let bytes = files::read_if_there(&path, MAX_BYTES)?.unwrap_or_else(|| b"{}\n".to_vec());
        let value: Value = serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "{} is not plain JSON and was left as it is; take out comments and trailing \
                 commas, then call this again",
                path.display()
            )
        })?;
        if !value.is_object() {
            bail!("{} is not a JSON object and was left as it is", path.display());
        }
        let text = String::from_utf8_lossy(&bytes);
        let blank = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
        let indent = text.lines().map(blank).find(|indent| !indent.is_empty());
        let newline = text.ends_with('\n');
        let indent = indent.or_else(|| text.trim_end().contains('\n').then(|| "  ".into()));
        let settings = Settings { path, value, indent, newline };
        // Written back, everything but our own lines must be as it was.
        if settings.render(&settings.value)? != bytes && text.trim_end() != "{}" {
            bail!(
                "{} has a layout that would not survive and was left as it is; indent it evenly, \
                 a value on a line, then call this again",
                settings.path.display()
            );
        }
        Ok(settings)
    }

    /// The settings in the layout of the file: indented, or all in one line.
    fn render(&self, value: &Value) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match &self.indent {
            Some(indent) => {
                let layout = PrettyFormatter::with_indent(indent.as_bytes());
                value.serialize(&mut Serializer::with_formatter(&mut bytes, layout))?;
            }
            None => serde_json::to_writer(&mut bytes, value)?,
        }
        if self.newline {
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    fn write(&self, value: &Value) -> anyhow::Result<()> {
        let bytes = self.render(value)?;
        if let Some(parent) = self.path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| FileError::new("create", parent, error))?;
        }
        // The file itself, should this be a link to it.
        let path = std::fs::canonicalize(&self.path);
        files::write(path.as_deref().unwrap_or(&self.path), &bytes)?;
        Ok(())
    }
}

/// Puts a hook on an event, or brings the one that is there up to date.
fn add(settings: &mut Value, event: &str, command: &str, timeout: u64) -> anyhow::Result<()> {
    let hook = json!({"type": "command", "name": NAME, "command": command, "timeout": timeout});
    let hooks = settings.as_object_mut().expect("looked at when it was read").entry("hooks");
    let hooks = hooks.or_insert_with(|| json!({})).as_object_mut();
    let groups = hooks
        .ok_or_else(|| anyhow!("`hooks` is not an object"))?
        .entry(event)
        .or_insert_with(|| json!([]));
    let groups = groups.as_array_mut().ok_or_else(|| anyhow!("`hooks.{event}` is not a list"))?;
    let mut there = groups.iter_mut().filter_map(|group| group["hooks"].as_array_mut()).flatten();
    match there.find(|hook| is_ours(hook)) {
        Some(old) => *old = hook,
        None => groups.push(json!({"hooks": [hook]})),
    }
    Ok(())
}

/// Takes our hook off an event, and whatever is empty without it.
fn take_out(settings: &mut Value, event: &str) {
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else { return };
    let Some(groups) = hooks.get_mut(event).and_then(Value::as_array_mut) else { return };
    groups.retain_mut(|group| {
        let Some(list) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
        let before = list.len();
        list.retain(|hook| !is_ours(hook));
        !list.is_empty() || before == 0
    });
    if groups.is_empty() {
        hooks.shift_remove(event);
    }
    if hooks.is_empty() {
        settings.as_object_mut().map(|fields: &mut Map<_, _>| fields.shift_remove("hooks"));
    }
}

fn is_ours(hook: &Value) -> bool {
    hook["name"] == NAME && hook["command"].as_str().is_some_and(|text| text.contains(" hook "))
}

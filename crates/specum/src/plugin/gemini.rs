//! Gemini CLI: hooks in its `settings.json`.
//!
//! They are put in and taken out as edits of the text, so everything else in that
//! file stays, to the byte.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use jsonc_parser::ast::{Array, Object, Value as Node};
use jsonc_parser::common::Ranged;
use serde_json::{Value, json};

use super::jsonc::{Document, field};
use super::{Scope, remove_if_empty};
use specum_engine::files::{self, FileError};

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
    let file = settings_path(scope)?;
    let path = file.display();
    let was = read(&file)?;
    let text =
        with_hooks(was.as_deref(), program).with_context(|| format!("{path} was left as it is"))?;
    if was.as_ref() == Some(&text) {
        return Ok(vec![format!("the hooks are in {path} already")]);
    }
    write(&file, &text)?;
    let events = EVENTS.map(|(event, ..)| event).join(", ");
    let mut done = vec![format!("put the hooks {events} into {path}")];
    if scope == Scope::Project {
        done.push("it runs the hooks of a project only in a folder that you trust".to_owned());
    }
    Ok(done)
}

pub(super) fn uninstall(scope: Scope) -> anyhow::Result<Vec<String>> {
    let file = settings_path(scope)?;
    let path = file.display();
    let Some(was) = read(&file)? else { return Ok(Vec::new()) };
    let text = without_hooks(&was).with_context(|| format!("{path} was left as it is"))?;
    match text {
        Some(text) if text == was => Ok(Vec::new()),
        Some(text) => {
            write(&file, &text)?;
            Ok(vec![format!("took the hooks out of {path}")])
        }
        None => {
            files::remove(&file)?;
            file.parent().map_or(Ok(()), remove_if_empty)?;
            Ok(vec![format!("deleted {path}, which held only our hooks")])
        }
    }
}

/// Whether the hooks are in the settings of the user, or of a project.
pub(super) fn is_installed(root: &Path) -> bool {
    let of_user = settings_path(Scope::User).ok();
    let of_project = root.join(".gemini/settings.json");
    of_user.into_iter().chain([of_project]).any(|path| {
        let text = read(&path).ok().flatten().unwrap_or_default();
        let (_, text) = behind_mark(&text);
        Document::parse(text).is_ok_and(|settings| settings.is_some_and(|it| has_hook(&it)))
    })
}

fn has_hook(settings: &Document<'_>) -> bool {
    let groups = field(&settings.root, "hooks")
        .and_then(|hooks| field(hooks.value.as_object()?, "AfterAgent")?.value.as_array());
    groups.is_some_and(|groups| ours(groups).is_some())
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

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let text = files::read_if_there(path, MAX_BYTES)?.map(String::from_utf8).transpose();
    text.map_err(|_| {
        anyhow!(
            "{} was left as it is: it is not UTF-8; save it as such, then call this again",
            path.display()
        )
    })
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|error| FileError::new("create", parent, error))?;
    }
    // The file itself, should this be a link to it.
    let target = std::fs::canonicalize(path);
    files::write(target.as_deref().unwrap_or(path), text.as_bytes())?;
    Ok(())
}

/// The settings with our hooks in them.
fn with_hooks(was: Option<&str>, program: &str) -> anyhow::Result<String> {
    let (mark, text) = behind_mark(was.unwrap_or_default());
    let mut text = text.to_owned();
    for (event, ours, timeout) in EVENTS {
        let command = format!("{program} hook {ours}");
        let hook = json!({"type": "command", "name": NAME, "command": command, "timeout": timeout});
        while let Some(edited) = put_in(&text, event, &hook)? {
            text = edited;
        }
    }
    Ok(match was {
        Some(_) => format!("{mark}{text}"),
        None => format!("{:#}\n", serde_json::from_str::<Value>(&text)?),
    })
}

/// The settings without our hooks; `None` if the file was made for them.
fn without_hooks(was: &str) -> anyhow::Result<Option<String>> {
    let (mark, old) = behind_mark(was);
    let mut text = old.to_owned();
    // The last one first, so that each step finds what its counterpart has left.
    for (event, ..) in EVENTS.iter().rev() {
        while let Some(edited) = Document::parse(&text)?.and_then(|it| take_out(&it, event)) {
            text = edited;
        }
    }
    // `put_in` writes so into an empty file; a file of ours begins with a line `{`.
    let was_empty = old.trim_start().starts_with("{\"") && old.ends_with('}');
    let is_ours = text.trim().is_empty() && text != old && !was_empty;
    Ok((!is_ours).then(|| format!("{mark}{text}")))
}

/// The byte order mark, and what is behind it.
fn behind_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// One edit towards our hook on an event; `None` if it is there as it is to be.
fn put_in(text: &str, event: &str, hook: &Value) -> anyhow::Result<Option<String>> {
    let group = json!({"hooks": [hook]});
    let Some(settings) = Document::parse(text)? else {
        return Ok(Some(format!("{text}{}", json!({"hooks": {event: [group]}}))));
    };
    let insert = |name, value: Value, into| Ok(Some(settings.insert(name, &value, into)));
    let wrong = |name: &str, wanted: &str| {
        anyhow!("`{name}` is not {wanted}; make it one, or take it out, then call this again")
    };
    let Some(hooks) = field(&settings.root, "hooks") else {
        return insert(Some("hooks"), json!({event: [group]}), settings.root.range);
    };
    let hooks = hooks.value.as_object().ok_or_else(|| wrong("hooks", "an object"))?;
    let Some(groups) = field(hooks, event) else {
        return insert(Some(event), json!([group]), hooks.range);
    };
    let groups = groups.value.as_array();
    let groups = groups.ok_or_else(|| wrong(&format!("hooks.{event}"), "a list"))?;
    let Some((.., there)) = ours(groups) else { return insert(None, group, groups.range) };
    for (name, value) in hook.as_object().into_iter().flatten() {
        let wanted = value.to_string();
        match field(there, name).map(|field| field.value.range()) {
            None => return insert(Some(name), value.clone(), there.range),
            Some(old) if old.text(text) != wanted => {
                return Ok(Some(settings.replace(old, &wanted)));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Takes one hook of ours off an event, with all that was made for it; `None` if
/// there is none.
fn take_out(settings: &Document<'_>, event: &str) -> Option<String> {
    let root = &settings.root;
    let all = field(root, "hooks")?;
    let hooks = all.value.as_object()?;
    let on_event = field(hooks, event)?;
    let groups = on_event.value.as_array()?;
    let (group, list, hook) = ours(groups)?;
    if list.elements.len() > 1 {
        return Some(settings.remove(hook.range));
    }
    let mut entry = group.range();
    let around =
        [(groups.range, on_event.range), (hooks.range, all.range), (root.range, root.range)];
    for (container, whole) in around {
        // Braces with a comment before or behind them are not ours.
        let is_theirs = whole == root.range && root.text(settings.text) != settings.text.trim();
        if is_theirs || !settings.was_made_with(entry, container) {
            break;
        }
        entry = whole;
    }
    Some(settings.remove(entry))
}

/// A hook of ours, behind the group and the list that it is in.
fn ours<'o, 't>(groups: &'o Array<'t>) -> Option<(&'o Node<'t>, &'o Array<'t>, &'o Object<'t>)> {
    groups.elements.iter().find_map(|group| {
        let list = field(group.as_object()?, "hooks")?.value.as_array()?;
        let hook = list.elements.iter().filter_map(Node::as_object).find(|hook| is_ours(hook))?;
        Some((group, list, hook))
    })
}

fn is_ours(hook: &Object<'_>) -> bool {
    let text = |name| field(hook, name)?.value.as_string_lit().map(|text| &text.value);
    text("name").is_some_and(|name| name == NAME)
        && text("command").is_some_and(|command| command.contains(" hook "))
}

#[cfg(test)]
mod tests;

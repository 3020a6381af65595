//! What a host's session has said and a later command of it is to know.
//!
//! A slash command's arguments must never pass through a shell, so the hook
//! that sees them keeps them here, below `$XDG_STATE_HOME/specum`, under the
//! session's id; the command itself picks them up, once.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use specum_core::authoring::dialog::Dialog;
use specum_core::digest::Digest;
use specum_core::hook::Host;
use specum_core::state::Process;

use crate::files::FileError;
use crate::ports::{FileInfo, World};
use crate::process;
use crate::project::Spec;

/// The variable in which Claude Code tells its children the session's id.
pub const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

/// The variable in which Codex does.
const CODEX_VARIABLE: &str = "CODEX_SESSION_ID";

/// The variable by which Gemini CLI marks its commands. It tells them no session.
pub const GEMINI_MARK: &str = "GEMINI_CLI";

/// Where what is known of sessions is kept.
const FOLDER: &str = "sessions";

/// The longest file of a session worth reading.
const MAX_BYTES: u64 = 1024 * 1024;

/// A slash command that is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The session.
    pub session_id: String,
    /// The verb.
    pub verb: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

impl Pending {
    /// Keeps a command for the session's next call.
    pub fn keep(&self, world: &World) -> Result<(), FileError> {
        path_of(world, &self.session_id).map_or(Ok(()), |path| write_json(world, &path, self))
    }

    /// Takes what the session has kept for a verb, if it has.
    pub fn take(world: &World, session_id: &str, verb: &str) -> Option<Pending> {
        let path = path_of(world, session_id)?;
        let bytes = world.disk.read(&path, MAX_BYTES).ok()?;
        world.disk.remove(&path).ok()?;
        let pending: Pending = serde_json::from_slice(&bytes).ok()?;
        (pending.verb == verb && pending.session_id == session_id).then_some(pending)
    }
}

/// Keeps the words of a whole message that is a person's verb, until the next
/// message.
pub fn keep_typed(world: &World, session_id: &str, words: &[String]) -> Result<(), FileError> {
    let Some(path) = typed_path(world, session_id) else { return Ok(()) };
    write_json(world, &path, &words)
}

/// Forgets such words.
pub fn forget_typed(world: &World, session_id: &str) -> Result<(), FileError> {
    typed_path(world, session_id).map_or(Ok(()), |path| world.disk.remove(&path))
}

/// Whether somebody has typed just these words as a whole message. They count
/// once, or until the next message where a sandbox keeps us from forgetting them.
pub fn take_typed(world: &World, session_id: &str, words: &[String]) -> bool {
    let Some(path) = typed_path(world, session_id) else { return false };
    let kept = world.disk.read(&path, MAX_BYTES).ok();
    let kept: Option<Vec<String>> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let is_typed = kept.is_some_and(|kept| kept == words);
    if is_typed {
        let _ = world.disk.remove(&path);
    }
    is_typed
}

/// A dialog that a host shows a person in the place of what its model has asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownDialog {
    /// The host's id of the call; `None` once it is answered.
    pub tool_use_id: Option<String>,
    /// The folder of the spec.
    pub spec: PathBuf,
    /// The name of the document.
    pub doc: String,
    /// The digest of the text that the person is shown.
    pub digest: String,
    /// What is asked.
    pub dialog: Dialog,
}

/// Keeps the dialog that a session shows, until it is answered or another one is shown.
pub fn keep_dialog(world: &World, session_id: &str, shown: &ShownDialog) -> Result<(), FileError> {
    let Some(path) = dialog_path(world, session_id) else { return Ok(()) };
    write_json(world, &path, shown)
}

/// The dialog that a session has shown last.
pub fn last_dialog(world: &World, session_id: &str) -> Option<ShownDialog> {
    let bytes = world.disk.read(&dialog_path(world, session_id)?, MAX_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Takes the dialog that a call of a session shows. It is answered once.
pub fn take_dialog(world: &World, session_id: &str, tool_use_id: &str) -> Option<ShownDialog> {
    let shown = last_dialog(world, session_id)?;
    (shown.tool_use_id.as_deref() == Some(tool_use_id)).then_some(())?;
    world.disk.remove(&dialog_path(world, session_id)?).ok()?;
    Some(shown)
}

fn write_json(world: &World, path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    if let Some(dir) = path.parent() {
        world.disk.make_folder(dir)?;
    }
    world.disk.write(path, &serde_json::to_vec(value).expect("plain data is JSON"))
}

/// What a session is doing for us: which spec it works on, and what opened the
/// turn it is in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Note {
    /// The session.
    pub session_id: String,
    /// The root of the project.
    pub root: PathBuf,
    /// The folder of the spec.
    pub spec: PathBuf,
    /// The turn it is in.
    pub turn: Option<Turn>,
    /// The calls that were launched in the background.
    pub background: Vec<String>,
    /// What sent the session back last: some hosts put it at the prompt, as if a
    /// person had typed it.
    pub sent_back: Option<String>,
    /// The host's process as its hooks see it: from inside a sandbox it cannot be
    /// told.
    pub process: Option<Process>,
    /// Whether a person has interrupted the session and typed nothing since.
    pub interrupted: bool,
    /// How much of the turn's words the last stop has heard: some hosts tell all
    /// of them each time.
    pub heard: usize,
}

/// A turn of a session: from a prompt to the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The host's id of it.
    pub id: String,
    /// Whether a person has opened it with words of their own, and no task was
    /// called since.
    pub is_a_persons: bool,
    /// When it was opened, in RFC 3339; empty if that is not needed.
    #[serde(default)]
    pub opened: String,
}

impl Turn {
    /// A turn that opens now.
    pub fn now(world: &World, id: String, is_a_persons: bool) -> Turn {
        Turn { id, is_a_persons, opened: world.clock.now().to_string() }
    }
}

impl Note {
    /// What is known of a session.
    pub fn of(world: &World, session_id: &str) -> Option<Note> {
        let bytes = world.disk.read(&note_path(world, session_id)?, MAX_BYTES).ok()?;
        let note: Note = serde_json::from_slice(&bytes).ok()?;
        (note.session_id == session_id).then_some(note)
    }

    /// Remembers that a session has asked for work of a spec. The one who asks is at
    /// work, whatever opened the turn.
    pub fn asked(session_id: &str, turn: Option<&str>, spec: &Spec) -> Result<(), FileError> {
        let before = Note::of(&spec.world, session_id).unwrap_or_default();
        let turn = turn.map(str::to_owned).or(before.turn.as_ref().map(|turn| turn.id.clone()));
        let note = Note {
            session_id: session_id.to_owned(),
            root: spec.root.clone(),
            spec: spec.dir.clone(),
            turn: turn.map(|id| Turn { id, is_a_persons: false, opened: String::new() }),
            ..before.clone()
        };
        if note == before { Ok(()) } else { note.write(&spec.world) }
    }

    /// Remembers it from now on.
    pub fn write(&self, world: &World) -> Result<(), FileError> {
        note_path(world, &self.session_id).map_or(Ok(()), |path| write_json(world, &path, self))
    }
}

/// The session of Claude Code this process was started in, if it was.
pub fn current() -> Option<String> {
    std::env::var(SESSION_VARIABLE).ok().filter(|id| !id.is_empty())
}

/// The session of any host this process was started in, if that can be told.
pub fn of_any_host(world: &World) -> Option<String> {
    match host()? {
        Host::Claude => current(),
        Host::Codex => std::env::var(CODEX_VARIABLE).ok(),
        Host::Gemini => process::ancestors().iter().find_map(|above| session_of(world, above)),
    }
}

/// The host whose command this process is, if it is one.
pub fn host() -> Option<Host> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match () {
        () if is_set(SESSION_VARIABLE) => Some(Host::Claude),
        () if is_set(CODEX_VARIABLE) => Some(Host::Codex),
        () if is_set(GEMINI_MARK) => Some(Host::Gemini),
        () => None,
    }
}

/// The session of this command, if its own model does the work and our hooks have
/// been called in it: then they judge what it hands in.
pub fn judged_by_hooks(world: &World) -> Option<String> {
    host().filter(|host| host.works_itself())?;
    of_any_host(world).filter(|session| Note::of(world, session).is_some())
}

/// Remembers which session a host's process has: for its commands, and because no other
/// session that it starts has a person's word.
pub fn keep_session_of(
    world: &World,
    process: &Process,
    session_id: &str,
) -> Result<(), FileError> {
    match process_path(world, process) {
        Some(path) if session_of(world, process).as_deref() != Some(session_id) => {
            write_json(world, &path, &session_id)
        }
        _ => Ok(()),
    }
}

/// The session that a host's process has, if it was remembered.
pub(crate) fn session_of(world: &World, process: &Process) -> Option<String> {
    let bytes = world.disk.read(&process_path(world, process)?, MAX_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Deletes the notes about sessions that were last written before a moment, and tells
/// how many. Those of a session whose host still runs stay.
pub(crate) fn forget_old(world: &World, moment: Timestamp) -> Result<usize, FileError> {
    let Some(dir) = world.state_home.as_ref().map(|home| home.join(FOLDER)) else { return Ok(0) };
    let is_old = |path: &Path| {
        let file = world.disk.look(path).ok().filter(FileInfo::is_file)?;
        Some(Timestamp::try_from(file.modified?).ok()? < moment)
    };
    let mut count = 0;
    // A folder that is not there has none.
    for path in world.disk.entries(&dir)? {
        if is_old(&path) == Some(true) && !is_of_living_session(world, &path) {
            world.disk.remove(&path)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Whether a file in our folder is about a session whose host runs. Which session it
/// is about is part of its name, or its content.
fn is_of_living_session(world: &World, path: &Path) -> bool {
    let note = |bytes: Vec<u8>| serde_json::from_slice::<Note>(&bytes).ok();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let noted = match name.split_once('.') {
        Some((_, "process.json")) => world
            .disk
            .read(path, MAX_BYTES)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<String>(&bytes).ok())
            .and_then(|session| Note::of(world, &session)),
        Some((digest, _)) => {
            let path = path.with_file_name(format!("{digest}.note.json"));
            world.disk.read(&path, MAX_BYTES).ok().and_then(note)
        }
        None => None,
    };
    let host = noted.and_then(|note| note.process);
    // One that cannot be seen from here is taken to be gone much earlier.
    let host = host.filter(|host| host.space.as_ref() == Some(world.launcher.space()));
    host.is_some_and(|host| world.launcher.is_alive(&host) != Some(false))
}

/// specum's own folder for what belongs to no project.
pub fn state_home() -> Option<PathBuf> {
    let set =
        std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    set.or_else(home).map(|base| base.join("specum"))
}

/// A session's id is the host's and may be anything; its digest is a file name.
fn path_of(world: &World, session_id: &str) -> Option<PathBuf> {
    let name = Digest::of(session_id.as_bytes()).hex();
    Some(world.state_home.as_ref()?.join(FOLDER).join(format!("{name}.json")))
}

fn process_path(world: &World, process: &Process) -> Option<PathBuf> {
    let name = format!("process {} {}", process.pid, process.started);
    Some(path_of(world, &name)?.with_extension("process.json"))
}

fn typed_path(world: &World, session_id: &str) -> Option<PathBuf> {
    Some(path_of(world, session_id)?.with_extension("typed.json"))
}

fn dialog_path(world: &World, session_id: &str) -> Option<PathBuf> {
    Some(path_of(world, session_id)?.with_extension("dialog.json"))
}

fn note_path(world: &World, session_id: &str) -> Option<PathBuf> {
    Some(path_of(world, session_id)?.with_extension("note.json"))
}

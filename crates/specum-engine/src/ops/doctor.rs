//! Everything specum needs, looked at one by one; and what killed runs have left,
//! put away.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::agent;
use specum_core::journal;
use specum_core::owner::{Asker, Holder};
use specum_core::settings::Problem;
use specum_core::state::State;

use super::caller::{holder, meant};
use super::{Advice, Caller, OpError};
use crate::attempt::{AttemptError, Workspace};
use crate::claude_config::{self, PLUGIN};
use crate::codex_config::{self, HOW_TO_TRUST, Trust};
use crate::files;
use crate::git::GitError;
use crate::ports::{Repository, World};
use crate::process::find_program;
use crate::project::{Project, SETTINGS_FILE, Spec};
use crate::runner;
use crate::session;
use crate::sign_in;
use crate::store::Store;

/// What was found, and what to do next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Doctor {
    /// Whether nothing bad was found.
    pub good: bool,
    /// What was put away before; null if that was not asked for.
    pub repaired: Option<Repair>,
    /// What was looked at.
    pub findings: Vec<Finding>,
    /// What to do next.
    pub next: Advice,
}

/// What was put away.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Repair {
    /// The specs that were looked at.
    pub specs: Vec<String>,
    /// What was deleted because it had grown old.
    pub messages: Vec<String>,
}

/// Something that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// How it is.
    #[serde(rename = "severity")]
    pub grade: Grade,
    /// What was looked at, in a word.
    pub about: &'static str,
    /// What was found, and what to do about it.
    pub message: String,
}

/// How something is that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Grade {
    /// As it should be.
    #[serde(rename = "ok")]
    Good,
    /// Worth knowing.
    #[serde(rename = "note")]
    Note,
    /// Something will not work.
    #[serde(rename = "bad")]
    Bad,
}

/// Looks at everything specum needs. With `repair` it first puts away what killed
/// runs have left. The installer tells whether Gemini CLI calls our hooks in a
/// project.
pub fn doctor(
    caller: &Caller<'_>,
    repair: bool,
    has_gemini_hooks: impl Fn(&Path) -> bool,
) -> Result<Doctor, OpError> {
    let repaired = if repair { Some(put_away(caller)?) } else { None };
    let findings = examine(caller, has_gemini_hooks)?;
    let good = !findings.iter().any(|finding| finding.grade == Grade::Bad);
    Ok(Doctor { good, repaired, findings, next: Advice::here(caller.world) })
}

/// Puts away what killed runs have left, of every spec that was ever worked.
fn put_away(caller: &Caller<'_>) -> Result<Repair, OpError> {
    let project = caller.project()?;
    let mut repair = Repair { specs: Vec::new(), messages: Vec::new() };
    for spec in project.specs()? {
        let workspace = Workspace::new(&project, spec)?;
        if !caller.world.disk.exists(&workspace.store.journal_path()) {
            continue;
        }
        let spec = workspace.spec.name.clone();
        if let Holder::Other(owner) = holder(&workspace.store, Asker::Person) {
            let by = owner.description();
            return Err(AttemptError::Held { spec, by }.into());
        }
        repair.messages.extend(runner::repair(&workspace, project.settings.run.keep_days)?);
        caller.tell_news(&workspace);
        repair.specs.push(spec);
    }
    Ok(repair)
}

/// What was found so far.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, about: &'static str, message: impl Into<String>) {
        self.0.push(Finding { grade: Grade::Good, about, message: message.into() });
    }

    fn note(&mut self, about: &'static str, message: impl Into<String>) {
        self.0.push(Finding { grade: Grade::Note, about, message: message.into() });
    }

    fn bad(&mut self, about: &'static str, message: impl Into<String>) {
        self.0.push(Finding { grade: Grade::Bad, about, message: message.into() });
    }
}

fn examine(
    caller: &Caller<'_>,
    has_gemini_hooks: impl Fn(&Path) -> bool,
) -> Result<Vec<Finding>, OpError> {
    let mut found = Findings::default();
    let here = caller.here()?;
    let home = std::env::var_os("HOME");
    let project = Project::find(caller.world, &here, home.as_deref().map(Path::new));
    examine_programs(&mut found);
    let root = project.as_ref().map_or(&here, |project| &project.root);
    examine_plugin(root, has_gemini_hooks(root), &mut found);
    examine_git(caller.world, &here, &mut found);
    match &project {
        Some(project) => examine_project(project, &mut found),
        None => found.note(
            "project",
            "no specs here or above: write specs/<name>/tasks.md, then `specum switch <name>`",
        ),
    }
    Ok(found.0)
}

/// Ourselves and the agents on PATH.
fn examine_programs(found: &mut Findings) {
    found.good("specum", format!("version {}", env!("CARGO_PKG_VERSION")));
    if find_program("specum").is_none() {
        let folder = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
        let folder = folder.map_or("its folder".into(), |folder| folder.display().to_string());
        let text = format!("specum is not on PATH, where agents look for it: put {folder} there");
        found.note("PATH", text);
    }
    let is_here = |name: &&str| find_program(name).is_some();
    let agents: Vec<&str> = agent::NAMES.into_iter().filter(is_here).collect();
    let all = agent::NAMES.join(", ");
    match agents.as_slice() {
        [] => found.note("agents", format!("none of {all} is on PATH; `specum demo` needs none")),
        agents => found.good("agents", agents.join(", ")),
    }
    for name in agents {
        if let Some(how) = sign_in::missing(name) {
            found.note("sign-in", format!("nothing shows that {name} is signed in: {how}"));
        }
    }
}

/// Whether sessions of the hosts have our plugin, or another of its name.
fn examine_plugin(root: &Path, is_in_gemini: bool, found: &mut Findings) {
    let is_ours = claude_config::has_our_plugin(root);
    if is_ours {
        found.good("plugin", format!("{PLUGIN} is enabled in Claude Code"));
    }
    if is_in_gemini {
        found.good("plugin", "the hooks are in the settings of Gemini CLI");
    }
    match codex_config::trust() {
        Trust::NotInstalled => {}
        Trust::Given => {
            found.good("plugin", format!("{PLUGIN} is installed in Codex, hooks trusted"));
        }
        Trust::Missing => {
            found
                .bad("plugin", format!("Codex does not run the hooks of {PLUGIN}: {HOW_TO_TRUST}"));
        }
    }
    match claude_config::namesakes(root) {
        Some(namesakes) if is_ours => found.bad("plugin", namesakes),
        Some(namesakes) => found.note("plugin", namesakes),
        None => {}
    }
}

fn examine_git(world: &World, here: &Path, found: &mut Findings) {
    match world.repositories.open(here).map(|git| (able_to_commit(&*git), git)) {
        Ok((Ok(()), git)) => found.good("git", format!("repository {}", git.root().display())),
        Ok((Err(GitError::ReadOnly(_)), _)) if session::judged_by_hooks(world).is_some() => {
            found.note("git", "read-only in this sandbox; specum's hooks commit outside of it");
        }
        Ok((Err(error), _)) => found.bad("git", format!("nothing can be committed: {error}")),
        Err(error) => found.note("git", format!("no commits will be made: {error}")),
    }
}

/// What would keep a run from beginning.
fn able_to_commit(git: &dyn Repository) -> Result<(), GitError> {
    git.refuse_old()?;
    git.refuse_unable_to_commit()?;
    git.refuse_half_done()?;
    git.refuse_unsigned()
}

fn examine_project(project: &Project, found: &mut Findings) {
    found.good("project", project.root.display().to_string());
    for (folder, tools) in project.folders_of_other_tools() {
        found.good("specs", format!("{folder} of {tools} is looked into too"));
    }
    for (file, Problem { line, message }) in &project.problems {
        found.bad("settings", format!("{file}:{line}: {message}"));
    }
    for key in &project.inherited {
        let (line, name) = (key.line, key.key);
        let effect = match key.read_as {
            Some(ours) => format!("`{name}` of the smart-ralph plugin is read as `{ours}`"),
            None => format!("`{name}` of the smart-ralph plugin has no effect in specum"),
        };
        found.note("settings", format!("{SETTINGS_FILE}:{line}: {effect}"));
    }
    project.warnings.iter().for_each(|warning| found.note("settings", warning));
    if !project.settings.enabled {
        found.note("settings", "enabled: false, so the hooks do nothing");
    }
    match project.active() {
        Ok(Some(active)) => {
            found.good("active", format!("{} ({})", active.spec.name, active.spec.shown));
            active.doubt().into_iter().for_each(|doubt| found.note("active", doubt));
            examine_spec(&Store::of(&active.spec), &active.spec.dir, found);
        }
        Ok(None) => match meant(&project.specs().unwrap_or_default()) {
            Some(spec) => {
                let text = format!("no spec is active; {} is meant ({})", spec.name, spec.shown);
                found.good("active", text);
                examine_spec(&Store::of(&spec), &spec.dir, found);
            }
            None => found.note("active", "no spec is active: `specum switch <name>` makes one so"),
        },
        Err(error) => {
            found.bad("active", format!("{error}; `specum switch <name>` writes it again"));
        }
    }
    match project.specs() {
        Ok(specs) => specs.into_iter().for_each(|spec| examine_runs(project, spec, found)),
        Err(error) => found.bad("specs", error.to_string()),
    }
}

fn not_running(store: &Store) -> String {
    let tasks = store.read_tasks().ok().flatten().unwrap_or_default();
    let file = tasks.file();
    match file.count() > 0 && file.is_complete() && file.unread.is_empty() {
        true => "finished: every task is done".to_owned(),
        false => "not running: `specum run` starts it".to_owned(),
    }
}

/// What runs have left that did not get to their end.
fn examine_runs(project: &Project, spec: Spec, found: &mut Findings) {
    let name = spec.name.clone();
    let workspace = match Workspace::new(project, spec) {
        Ok(workspace) => workspace,
        Err(error) => return found.bad("runs", format!("{name}: {error}")),
    };
    let left = match runner::leftovers(&workspace) {
        Ok(left) => left,
        Err(error) => return found.bad("runs", error.to_string()),
    };
    let is_free = holder(&workspace.store, Asker::Person) == Holder::Nobody;
    if !left.worktrees.is_empty() && is_free {
        let count = left.worktrees.len();
        found.bad(
            "runs",
            format!(
                "a run of {name} was killed and has left {count} worktrees: `specum run` goes on \
                 with them, `specum doctor --repair` puts them away"
            ),
        );
    }
    if !left.kept.is_empty() {
        found.note(
            "kept",
            format!(
                "work that was not finished; look with `git show`, delete with `git update-ref \
                 -d`: {}",
                left.kept.join(", ")
            ),
        );
    }
}

fn examine_spec(store: &Store, dir: &Path, found: &mut Findings) {
    match store.read_state() {
        None => found.note("loop", not_running(store)),
        Some(Ok(State { phase, global_iteration, .. })) => {
            found.good("loop", format!("phase {}, iteration {global_iteration}", phase.as_str()));
        }
        Some(Err(why)) => found.bad(
            "loop",
            format!("the state is corrupt ({why}): `specum run` rebuilds it from tasks.md"),
        ),
    }
    match store.read_tasks() {
        Ok(Some(_)) => {}
        Ok(None) => found.bad("tasks", "tasks.md is missing"),
        Err(error) => found.bad("tasks", error.to_string()),
    }
    if let Ok(tail) = store.world.disk.read_tail(&store.journal_path(), 1024 * 1024)
        && journal::unfinished(&tail.bytes).is_some()
    {
        let text = "a change was interrupted; the next command that writes completes it";
        found.note("journal", text);
    }
    if store.is_locked() {
        let text = "another process is changing this spec right now, or is stuck in it";
        found.note("lock", text);
    }
    let entries = match store.world.disk.entries(dir) {
        Ok(entries) => entries,
        Err(error) => return found.bad("leftovers", error.to_string()),
    };
    let temporary = entries.into_iter().filter(|path| files::is_temporary(path));
    let temporary: Vec<String> = temporary
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    if !temporary.is_empty() {
        let names = temporary.join(", ");
        found.note("leftovers", format!("of a killed process, safe to delete: {names}"));
    }
}

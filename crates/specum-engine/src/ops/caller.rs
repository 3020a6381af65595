//! Who asks for an operation, and which project, spec and session that means.
//!
//! A shell inside a host's session means the spec that this session works on;
//! any other shell means the spec it names, or else the active one.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use specum_core::hook::Host;
use specum_core::journal::{Entry, Source};
use specum_core::machine::{self, Event};
use specum_core::owner::{Asker, Holder, Owner};

use super::{OpError, stray};
use crate::attempt::{AttemptError, Workspace};
use crate::codex_config::HOW_TO_TRUST;
use crate::owner;
use crate::person::{self, Door};
use crate::ports::World;
use crate::project::{Project, SETTINGS_FILE, Spec, SpecError};
use crate::runner;
use crate::session::{self, Note};
use crate::store::Store;

/// Who asks: how the request came here, and who receives warnings.
pub struct Caller<'a> {
    /// Where everything is that is asked for.
    pub world: &'a World,
    typed: Door,
    /// The directory it asks from; `None` for the current one.
    here: Option<PathBuf>,
    warn: &'a dyn Fn(&str),
}

impl<'a> Caller<'a> {
    /// A caller whose warnings go to this function as they arise.
    pub fn new(world: &'a World, typed: Door, warn: &'a dyn Fn(&str)) -> Caller<'a> {
        Caller { world, typed, here: None, warn }
    }

    /// The same, asking from a directory.
    pub fn at(self, here: PathBuf) -> Caller<'a> {
        Caller { here: Some(here), ..self }
    }

    /// The directory it asks from.
    pub(super) fn here(&self) -> Result<PathBuf, OpError> {
        match &self.here {
            Some(here) => Ok(here.clone()),
            None => std::env::current_dir().map_err(OpError::io("the current directory")),
        }
    }

    /// Tells the caller something that is no failure.
    pub fn warn(&self, text: impl Display) {
        (self.warn)(&text.to_string());
    }

    /// Refuses the verb unless a person has typed it; else tells how it came.
    pub(super) fn require_person(&self, verb: &'static str) -> Result<Source, OpError> {
        Ok(person::require(self.world, verb, self.typed)?)
    }

    /// The same for a verb that reads a text from its standard input.
    pub(super) fn require_person_with_input(&self, verb: &'static str) -> Result<Source, OpError> {
        Ok(person::require_with_input(self.world, verb, self.typed)?)
    }

    /// Who says a verb that anybody may say.
    pub(super) fn who(&self, verb: &str) -> Source {
        person::who(self.world, verb, self.typed)
    }

    /// Whether a person asks at a terminal of their own: neither a host nor a run has
    /// started it.
    pub fn is_a_person_at_a_terminal(&self) -> bool {
        person::at_a_terminal()
    }

    /// The project around the current directory, with good settings.
    pub fn project(&self) -> Result<Project, OpError> {
        let here = self.here()?;
        let home = std::env::var_os("HOME");
        let project = Project::find(self.world, &here, home.as_deref().map(Path::new));
        let project = project.ok_or_else(|| match stray::first(self.world, &here) {
            Some(path) => to_be_moved(&path),
            None => OpError::NotFound(format!(
                "no specs in {} or above; a plan is a file specs/<name>/tasks.md, see `specum help \
                 format`, or name the path of one",
                here.display()
            )),
        })?;
        self.with_good_settings(project)
    }

    pub(super) fn with_good_settings(&self, project: Project) -> Result<Project, OpError> {
        if let Some(problems) = settings_problems(&project) {
            return Err(OpError::Settings(problems));
        }
        project.warnings.iter().for_each(|warning| self.warn(warning));
        Ok(project)
    }

    /// The spec that is named, by its name or by the path of its folder or its
    /// `tasks.md`; or the active one.
    pub fn named(&self, named: Option<&str>) -> Result<(Project, Spec), OpError> {
        if let Some(folder) = named.and_then(|named| self.folder_of_plan(named)) {
            let here = self.here()?;
            let home = std::env::var_os("HOME");
            let project = Project::find(self.world, &here, home.as_deref().map(Path::new))
                .or_else(|| Project::around(self.world, &here));
            if let Some(project) = project {
                let project = self.with_good_settings(project)?;
                if let (true, Some(named)) = (folder == project.root, named) {
                    return Err(to_be_moved(named));
                }
                let spec = project.spec_in(&folder)?;
                return Ok((project, spec));
            }
        }
        if let Some(named) = named.filter(|named| self.is_plan_by_another_name(named)) {
            return Err(to_be_moved(named));
        }
        let project = self.project()?;
        let spec = self.spec(&project, named)?;
        Ok((project, spec))
    }

    /// The folder of a plan, if a path from the current directory leads to one.
    fn folder_of_plan(&self, named: &str) -> Option<PathBuf> {
        let disk = &*self.world.disk;
        let path = self.here().ok()?.join(named);
        let is_path = named.contains(std::path::is_separator);
        if path.file_name().is_some_and(|name| name == "tasks.md") && disk.is_file(&path) {
            return path.parent().map(Path::to_path_buf);
        }
        (is_path && disk.is_file(&path.join("tasks.md"))).then_some(path)
    }

    /// Whether a path leads to a Markdown file with tasks that is not called `tasks.md`.
    fn is_plan_by_another_name(&self, named: &str) -> bool {
        let Ok(path) = self.here().map(|here| here.join(named)) else { return false };
        let disk = &*self.world.disk;
        path.extension().is_some_and(|ending| ending == "md") && disk.is_file(&path)
    }

    /// The spec that is named, or the active one.
    pub fn spec(&self, project: &Project, named: Option<&str>) -> Result<Spec, OpError> {
        if let Some(name) = named {
            return project.spec(name).map_err(|error| {
                let plan = || stray::named(self.world, &project.root, name);
                if !matches!(error, SpecError::NotFound { .. }) {
                    return error.into();
                }
                let of_task = || self.task_of_active(project, name);
                plan().map(|at| to_be_moved(&at)).or_else(of_task).unwrap_or_else(|| error.into())
            });
        }
        if let Some(active) = project.active()? {
            active.doubt().iter().for_each(|doubt| self.warn(doubt));
            return Ok(active.spec);
        }
        let specs = project.specs()?;
        if let Some(spec) = meant(&specs) {
            return Ok(spec);
        }
        let elsewhere = || stray::first(self.world, &project.root);
        if let Some(path) = specs.is_empty().then(elsewhere).flatten() {
            return Err(to_be_moved(&path));
        }
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        Err(OpError::NotFound(match names.first() {
            None => "no spec is active, and there are none yet: write specs/<name>/tasks.md".into(),
            Some(first) => format!(
                "no spec is active: name one of {}, or make one the default with `specum switch \
                 {first}`",
                names.join(", ")
            ),
        }))
    }

    /// What to type where a task is named in place of a spec.
    fn task_of_active(&self, project: &Project, name: &str) -> Option<OpError> {
        let spec = self.spec(project, None).ok()?;
        let tasks = Store::of(&spec).read_tasks().ok()??;
        let task = tasks.file().by_address(name)?.name();
        Some(OpError::NotFound(format!(
            "there is no spec `{name}`; it is a task of {}: `specum run --only {task}` works it alone",
            spec.name
        )))
    }

    /// The spec that is named, or the one that the session works on, or the active
    /// one.
    pub fn find(&self, named: Option<&str>) -> Result<(Project, Spec), OpError> {
        if let Some(found) = named.is_none().then(|| spec_of_session(self.world)).flatten() {
            return Ok(found);
        }
        self.named(named)
    }

    /// The same, with everything needed to work it.
    pub fn workspace(&self, named: Option<&str>) -> Result<Workspace, OpError> {
        let (project, spec) = self.find(named)?;
        Ok(one_at_a_time(Workspace::new(&project, spec)?))
    }

    /// Tells what reviews of the plan have found.
    pub fn tell_news(&self, workspace: &Workspace) {
        workspace.take_news().iter().for_each(|news| self.warn(news));
    }

    /// Warns that another session or run works on a spec that a person is about to
    /// change. The person decides; the other one notices at its next step.
    pub(super) fn warn_if_held(&self, store: &Store) {
        let me = session::of_any_host(self.world);
        let holder = holder(store, Asker::session_or_person(me.as_deref()));
        if let Holder::Other(owner) = holder {
            self.warn(format!("this spec is being worked on by {}", owner.description()));
        }
    }

    /// Warns of settings that have no effect, where a loop is about to begin with
    /// them.
    pub fn warn_of_settings(&self, project: &Project) {
        let keys: Vec<String> = project
            .inherited
            .iter()
            .filter(|key| key.read_as.is_none())
            .map(|key| format!("`{}`", key.key))
            .collect();
        if !keys.is_empty() {
            let have = if keys.len() == 1 { "has" } else { "have" };
            let keys = keys.join(", ");
            self.warn(format!(
                "{SETTINGS_FILE}: {keys} {have} no effect in specum; see `specum doctor`"
            ));
        }
    }

    /// Makes the session whose shell asks for work, or hands it in, the owner of the
    /// spec, unless another session or run is, which is told.
    pub(super) fn hold_for_session(&self, workspace: &Workspace) -> Result<Option<Owner>, OpError> {
        self.warn_without_hooks();
        let Some(session) = session::of_any_host(self.world) else { return Ok(None) };
        let locked = workspace.store.lock()?;
        let view = locked.read()?;
        let Some(state) = view.state.as_ref() else { return Ok(None) };
        let holder = owner::holder(&workspace.store, Some(state), Asker::Session(&session));
        // In a sandbox the journal is all that a later hook can see.
        let works_itself = session::host().is_some_and(Host::works_itself);
        if holder == Holder::Nobody || (works_itself && holder == Holder::Me) {
            let owner = owner::session(self.world, &session);
            let step = machine::step(state, &view.file(), Event::Hold(owner));
            locked.write_step(Entry::Held { session: session.clone() }, &step)?;
        }
        if let Holder::Other(other) = holder {
            return Ok(Some(other));
        }
        match Note::asked(&session, None, &workspace.spec) {
            // A sandbox may keep us from writing anywhere but in the project.
            Err(error) if !works_itself => Err(error.into()),
            _ => Ok(None),
        }
    }

    /// The same for work that only its owner may have: another session may have been
    /// faster. What a killed run has left is put away first.
    pub(super) fn hold_alone(&self, workspace: &Workspace) -> Result<(), OpError> {
        if let Some(other) = self.hold_for_session(workspace)? {
            return Err(held_by_other(workspace, &other).into());
        }
        // In a sandbox git cannot write, and the hooks work outside of it.
        if session::judged_by_hooks(self.world).is_none() {
            runner::put_away_killed(workspace)?;
        }
        Ok(())
    }

    /// Warns that the host of this session does not call the hooks that would send
    /// it back to work.
    fn warn_without_hooks(&self) {
        let is_judged = session::judged_by_hooks(self.world).is_some();
        let (host, how) = match session::host().filter(|_| !is_judged) {
            Some(Host::Codex) => ("codex", HOW_TO_TRUST),
            Some(Host::Gemini) => (
                "gemini",
                "trust this folder in gemini (/permissions), \
                 and run `specum plugin install --host gemini` in a terminal",
            ),
            Some(Host::Claude) | None => return,
        };
        self.warn(format!(
            "{host} has not called specum's hooks in this session, so nothing sends it back to \
             work: {how}"
        ));
    }
}

/// The spec that is meant where none is named and none is active: the one that is being
/// run, the only one, or the only one with open tasks.
pub(super) fn meant(specs: &[Spec]) -> Option<Spec> {
    let only = |is_it: &dyn Fn(&Spec) -> bool| {
        let mut found = specs.iter().filter(|spec| is_it(spec));
        found.next().filter(|_| found.next().is_none()).cloned()
    };
    let is_run = |spec: &Spec| {
        let holder = holder(&Store::of(spec), Asker::Person);
        matches!(holder, Holder::Other(Owner::Runner { .. }))
    };
    let has_open_tasks = |spec: &Spec| {
        let tasks = Store::of(spec).read_tasks().ok().flatten().unwrap_or_default();
        tasks.file().open().next().is_some()
    };
    only(&is_run).or_else(|| only(&|_| true)).or_else(|| only(&has_open_tasks))
}

/// Refuses a session that asks for work of a spec that another one holds.
pub(super) fn refuse_other_sessions(workspace: &Workspace) -> Result<(), OpError> {
    let world = workspace.world();
    let Some(session) = session::of_any_host(world) else { return Ok(()) };
    match holder(&workspace.store, Asker::Session(&session)).other() {
        Some(other) => Err(held_by_other(workspace, other).into()),
        None => Ok(()),
    }
}

fn held_by_other(workspace: &Workspace, other: &Owner) -> AttemptError {
    AttemptError::HeldByOther { spec: workspace.spec.name.clone(), by: other.description() }
}

/// Who holds a spec, by its state as it stands.
pub(super) fn holder(store: &Store, asker: Asker<'_>) -> Holder {
    let state = store.read_state().and_then(Result::ok);
    owner::holder(store, state.as_ref(), asker)
}

/// In a host whose own model works, one model does one task after the other.
pub(super) fn one_at_a_time(mut workspace: Workspace) -> Workspace {
    if session::host().is_some_and(Host::works_itself) {
        workspace.scope.max_parallel = 1;
    }
    workspace
}

/// How a plan that stands elsewhere becomes one that is worked.
fn to_be_moved(named: &str) -> OpError {
    let (command, name) = stray::way(named);
    OpError::NotFound(format!(
        "{named}: a plan is worked under the name tasks.md, in a folder of its own. `{command}` puts \
         it there; commit it, and `specum run {name}` works it"
    ))
}

/// What is wrong with the settings of a project, if anything is.
pub fn settings_problems(project: &Project) -> Option<String> {
    let lines = project
        .problems
        .iter()
        .map(|(file, problem)| format!("\n  {file}:{}: {}", problem.line, problem.message));
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!("the settings have mistakes:{lines}"))
}

/// The spec that a session has asked for work of, unless another session or run
/// works on it by now.
pub fn noted_spec(world: &World, session_id: &str) -> Option<(Project, Spec)> {
    let (project, spec, holder) = noted(world, session_id)?;
    holder.other().is_none().then_some((project, spec))
}

/// The spec that the session this command runs in works on.
fn spec_of_session(world: &World) -> Option<(Project, Spec)> {
    let (project, spec, holder) = noted(world, &session::of_any_host(world)?)?;
    (holder == Holder::Me).then_some((project, spec))
}

fn noted(world: &World, session_id: &str) -> Option<(Project, Spec, Holder)> {
    let note = Note::of(world, session_id)?;
    let project = Project::at(world, note.root);
    let spec = project.settings.enabled.then(|| project.spec_in(&note.spec))?.ok()?;
    let holder = holder(&Store::of(&spec), Asker::Session(session_id));
    Some((project, spec, holder))
}

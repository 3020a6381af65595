//! Where the project is, where its specs are, and which one is active.
//!
//! Every path that comes out of here lies inside the project, whatever the
//! settings, a marker file or a symbolic link say. A name that a person types
//! and that fits two specs is an error; nothing is guessed. In the marker file
//! such a name means the spec in the first specs directory, for hooks and verbs
//! alike: a loop must not end because a spec is added elsewhere.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use specum_core::nearest;
use specum_core::settings::{self, Inherited, Place, Problem, Settings};
use thiserror::Error;

use crate::files::FileError;
use crate::ports::{Disk, World};

/// Where a person's settings stand, below the project.
pub const SETTINGS_FILE: &str = ".claude/ralph-specum.local.md";
/// Where the name of the active spec stands, below the first specs directory.
pub const CURRENT_SPEC_FILE: &str = ".current-spec";
const DEFAULT_SPECS_DIR: &str = "specs";
/// Where other tools keep their plans, one folder each: Kiro and cc-sdd, OpenSpec, Agent
/// OS, spec-workflow. They are looked into where no setting says where specs are.
const OTHER_SPECS_DIRS: [&str; 5] = [
    ".kiro/specs",
    "openspec/changes",
    "agent-os/specs",
    ".agent-os/specs",
    ".spec-workflow/specs",
];

/// The longest marker or settings file worth reading.
const MAX_SMALL_FILE: u64 = 256 * 1024;

/// A directory in which specs live.
#[derive(Debug)]
pub struct Project {
    /// Canonical path.
    pub root: PathBuf,
    /// What the user has set.
    pub settings: Settings,
    /// What is wrong with the settings, and in which file.
    pub problems: Vec<(&'static str, Problem)>,
    /// Keys in it that come from the smart-ralph plugin.
    pub inherited: Vec<Inherited>,
    /// Specs directories that were left out, and why.
    pub warnings: Vec<String>,
    /// Canonical paths of the specs directories, in the user's order. The
    /// default one may not exist.
    specs_dirs: Vec<PathBuf>,
    /// Where all this is.
    pub world: World,
}

/// A folder with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Name of the folder.
    pub name: String,
    /// Canonical path.
    pub dir: PathBuf,
    /// The path as a person would type it in the project.
    pub shown: String,
    /// The project's root.
    pub root: PathBuf,
    /// Where all this is.
    pub world: World,
}

/// The spec that the marker names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// The spec.
    pub spec: Spec,
    /// Specs of the same name in later specs directories.
    pub passed_over: Vec<Spec>,
}

impl Active {
    /// What a person should know if the marker could mean several specs.
    pub fn doubt(&self) -> Option<String> {
        let Active { spec, passed_over } = self;
        let others: Vec<&str> = passed_over.iter().map(|spec| spec.shown.as_str()).collect();
        (!others.is_empty()).then(|| {
            format!(
                "{CURRENT_SPEC_FILE} says `{}`, which is the name of several specs: {} is taken, \
                 not {}. `specum switch <path>` settles it",
                spec.name,
                spec.shown,
                others.join(", ")
            )
        })
    }
}

/// Why a spec could not be found.
#[derive(Debug, Error)]
pub enum SpecError {
    /// The name leads out of the project.
    #[error("{what} is refused: {why}")]
    Refused {
        /// What was named.
        what: String,
        /// Where it leads.
        why: String,
    },
    /// Several specs have this name.
    #[error("`{name}` is the name of several specs; say which:\n{}", .paths.iter().map(|path| format!("  {path}")).collect::<Vec<_>>().join("\n"))]
    Ambiguous {
        /// The name.
        name: String,
        /// Where they are.
        paths: Vec<String>,
    },
    /// The specs cannot be listed.
    #[error(transparent)]
    Unread(#[from] FileError),
    /// No spec has this name.
    #[error("there is no spec `{name}`; {}", .near.as_ref().map_or("`specum list` shows all".into(), |near| format!("did you mean `{near}`?")))]
    NotFound {
        /// The name.
        name: String,
        /// What may have been meant.
        near: Option<String>,
    },
}

/// Whether a repository, or a linked worktree of one, begins here. A sandbox may
/// put an empty `.git` where none is, so that none is made there.
fn is_repository(disk: &dyn Disk, dir: &Path) -> bool {
    let git = dir.join(".git");
    disk.exists(&git.join("HEAD"))
        || disk.look_behind(&git).is_ok_and(|git| git.is_file() && git.length > 0)
}

impl Project {
    /// The project that a directory belongs to: the nearest one upwards that
    /// has the settings file or a specs directory, ours or another tool's. The walk
    /// ends at a `.git` and at the home directory.
    pub fn find(world: &World, start: &Path, home: Option<&Path>) -> Option<Project> {
        let disk = &*world.disk;
        let start = disk.real_path(start).ok().filter(|dir| disk.is_folder(dir))?;
        // Looked up where a walk is needed: most sessions begin in the project.
        let is_home =
            |dir: &Path| home.and_then(|home| disk.real_path(home).ok()).as_deref() == Some(dir);
        for dir in start.ancestors() {
            if disk.is_file(&dir.join(SETTINGS_FILE))
                || disk.is_file(&dir.join(Place::Team.file()))
                || disk.is_folder(&dir.join(DEFAULT_SPECS_DIR))
                || OTHER_SPECS_DIRS.iter().any(|specs| disk.is_folder(&dir.join(specs)))
            {
                return Some(Project::at(world, dir.to_path_buf()));
            }
            if is_repository(disk, dir) || is_home(dir) {
                break;
            }
        }
        None
    }

    /// The project around a directory where nothing says that there is one, for plans
    /// that are named by their path: the repository, or the directory itself.
    pub fn around(world: &World, start: &Path) -> Option<Project> {
        let disk = &*world.disk;
        let start = disk.real_path(start).ok().filter(|dir| disk.is_folder(dir))?;
        let mut above = start.ancestors();
        let root = above.find(|dir| is_repository(disk, dir)).unwrap_or(&start);
        Some(Project::at(world, root.to_path_buf()))
    }

    /// The project whose root is known.
    pub fn at(world: &World, root: PathBuf) -> Project {
        let disk = &*world.disk;
        let SettingsRead { settings, problems, inherited } = read_settings(disk, &root);
        let mut warnings = Vec::new();
        let mut specs_dirs = Vec::new();
        for entry in &settings.specs_dirs {
            match inside(disk, &root, &root.join(entry)) {
                Ok(dir) if disk.is_folder(&dir) => specs_dirs.push(dir),
                Ok(_) => warnings.push(format!("specs_dirs: {entry} is no directory; skipped")),
                Err(why) => warnings.push(format!("specs_dirs: {entry} {why}; skipped")),
            }
        }
        if specs_dirs.is_empty() {
            let default = root.join(DEFAULT_SPECS_DIR);
            match inside(disk, &root, &default) {
                Err(why) if disk.exists(&default) => {
                    // Nothing is found in it, and nothing written.
                    warnings.push(format!("./{DEFAULT_SPECS_DIR} {why}; skipped"));
                    specs_dirs.push(root.join(".specum-no-specs"));
                }
                other => specs_dirs.push(other.unwrap_or(default)),
            }
            // Most projects have none of them, which one look at each tells.
            let others = OTHER_SPECS_DIRS.iter().map(|specs| root.join(specs));
            let others = others.filter(|dir| disk.is_folder(dir));
            specs_dirs.extend(others.filter_map(|dir| inside(disk, &root, &dir).ok()));
            // The first one holds the marker; a folder `specs` is not wanted.
            if specs_dirs.len() > 1 && !disk.exists(&specs_dirs[0]) {
                specs_dirs.remove(0);
            }
        }
        let world = world.clone();
        Project { root, settings, problems, inherited, warnings, specs_dirs, world }
    }

    /// The folders of other tools that are looked into, as a person would type them, and
    /// whose they are.
    pub fn folders_of_other_tools(&self) -> Vec<(&'static str, &'static str)> {
        let tools = ["Kiro, cc-sdd", "OpenSpec", "Agent OS", "Agent OS", "spec-workflow"];
        let is_looked_into = |(folder, _): &(&str, &str)| {
            self.specs_dirs.iter().any(|dir| *dir == self.root.join(folder))
        };
        OTHER_SPECS_DIRS.into_iter().zip(tools).filter(is_looked_into).collect()
    }

    /// Where the marker of the active spec stands.
    pub fn current_spec_file(&self) -> PathBuf {
        self.specs_dirs[0].join(CURRENT_SPEC_FILE)
    }

    /// Where new specs are put: the first specs directory, if it is not another tool's.
    pub fn home_of_specs(&self) -> PathBuf {
        let is_other =
            |dir: &&PathBuf| OTHER_SPECS_DIRS.iter().any(|specs| **dir == self.root.join(specs));
        let own = self.specs_dirs.first().filter(|first| !is_other(first));
        own.cloned().unwrap_or_else(|| self.root.join(DEFAULT_SPECS_DIR))
    }

    /// All specs, in the order of the specs directories and of their names.
    /// Folders that begin with `.` or `_` are none.
    pub fn specs(&self) -> Result<Vec<Spec>, FileError> {
        let mut specs = Vec::new();
        for dir in &self.specs_dirs {
            let is_hidden = |path: &Path| {
                path.file_name().is_none_or(|name| name.to_string_lossy().starts_with(['.', '_']))
            };
            let entries = self.world.disk.entries(dir)?.into_iter();
            // What has no plan in another tool's folder may be anything, such as
            // OpenSpec's archive.
            let is_other = OTHER_SPECS_DIRS.iter().any(|specs| *dir == self.root.join(specs));
            let is_plan = |spec: &Spec| self.world.disk.exists(&spec.dir.join("tasks.md"));
            let mut found: Vec<Spec> = entries
                .filter(|path| !is_hidden(path))
                .filter_map(|path| self.spec_at(&path).ok())
                .filter(|spec| !is_other || is_plan(spec))
                .collect();
            found.sort_by(|a, b| a.name.cmp(&b.name));
            specs.append(&mut found);
        }
        Ok(specs)
    }

    /// The spec a person names: by its bare name, or by a path that lies in
    /// the project.
    pub fn spec(&self, named: &str) -> Result<Spec, SpecError> {
        if named.trim().is_empty() {
            return Err(SpecError::NotFound { name: named.to_owned(), near: None });
        }
        let named = if named.starts_with('/') { named } else { named.trim_end_matches('/') };
        if !is_bare_name(named) {
            let path = self.root.join(named);
            return match self.spec_at(&path) {
                Ok(spec) => Ok(spec),
                Err(_) if !self.world.disk.exists(&path) => {
                    Err(SpecError::NotFound { name: named.to_owned(), near: None })
                }
                Err(why) => Err(SpecError::Refused { what: named.to_owned(), why }),
            };
        }
        let (mut found, refused) = self.called(named);
        match (found.len(), refused) {
            (1, _) => Ok(found.remove(0)),
            (0, Some(why)) => Err(SpecError::Refused { what: named.to_owned(), why }),
            (0, None) => {
                let specs = self.specs()?;
                let near = nearest(named, specs.iter().map(|spec| spec.name.as_str()));
                Err(SpecError::NotFound { name: named.to_owned(), near: near.map(str::to_owned) })
            }
            _ => Err(SpecError::Ambiguous {
                name: named.to_owned(),
                paths: found.into_iter().map(|spec| spec.shown).collect(),
            }),
        }
    }

    /// The specs of this bare name, in the order of the specs directories, and
    /// why one that is there is none.
    fn called(&self, name: &str) -> (Vec<Spec>, Option<String>) {
        let mut found: Vec<Spec> = Vec::new();
        let mut refused = None;
        for dir in &self.specs_dirs {
            let path = dir.join(name);
            match self.spec_at(&path) {
                Ok(spec) if !found.contains(&spec) => found.push(spec),
                Err(why) if self.world.disk.exists(&path) => refused = Some(why),
                Ok(_) | Err(_) => {}
            }
        }
        (found, refused)
    }

    /// The active spec, if the marker names one.
    pub fn current(&self) -> Result<Option<Spec>, SpecError> {
        Ok(self.active()?.map(|active| active.spec))
    }

    /// The active spec, and the others that the marker could mean.
    pub fn active(&self) -> Result<Option<Active>, SpecError> {
        let marker = self.current_spec_file();
        let refused = |why: String| SpecError::Refused { what: self.shown(&marker), why };
        let text = match self.world.disk.read(&marker, MAX_SMALL_FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(format!("cannot be read: {error}"))),
        };
        let text = String::from_utf8(text).map_err(|_| refused("is no UTF-8".into()))?;
        let name = text
            .trim_start_matches('\u{feff}')
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty());
        match name.map(|name| self.spec(name)) {
            None | Some(Err(SpecError::NotFound { .. })) => Ok(None),
            Some(Ok(spec)) => Ok(Some(Active { spec, passed_over: Vec::new() })),
            Some(Err(error @ SpecError::Unread(_))) => Err(error),
            Some(Err(SpecError::Refused { what, why })) => {
                Err(refused(format!("it names `{what}`, which {why}")))
            }
            Some(Err(SpecError::Ambiguous { name, .. })) => {
                let (mut found, _) = self.called(&name);
                let passed_over = found.split_off(1);
                Ok(found.pop().map(|spec| Active { spec, passed_over }))
            }
        }
    }

    /// A path as a person would type it at the root of the project.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(rest) => format!("./{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// What is written to the marker so that it leads back to this spec, also
    /// after another one of its name has been added.
    pub fn marker_for(&self, spec: &Spec) -> String {
        match self.specs_dirs.as_slice() {
            [only] if spec.dir.parent() == Some(only) => spec.name.clone(),
            _ => spec.shown.clone(),
        }
    }

    /// The spec in a folder that is known.
    pub fn spec_in(&self, path: &Path) -> Result<Spec, SpecError> {
        let refused = |why| SpecError::Refused { what: self.shown(path), why };
        self.spec_at(path).map_err(refused)
    }

    fn spec_at(&self, path: &Path) -> Result<Spec, String> {
        let disk = &*self.world.disk;
        let dir = inside(disk, &self.root, path)?;
        if !disk.is_folder(&dir) {
            return Err("is no directory".into());
        }
        // Whatever is called a spec may be worked, and moved to the trash.
        if self.root == dir {
            return Err("is the project itself; put the plan into a folder of its own, such as \
                        specs/<name>/tasks.md"
                .into());
        }
        if self.specs_dirs.iter().any(|specs| specs.starts_with(&dir)) {
            return Err("holds the specs and is none".into());
        }
        let in_specs = self.specs_dirs.iter().any(|specs| dir.parent() == Some(specs));
        let has_plan = || {
            ["tasks.md", ".ralph-state.json", "requirements.md", "design.md", "research.md"]
                .iter()
                .any(|name| disk.exists(&dir.join(name)))
        };
        if !in_specs && !has_plan() {
            return Err("has no tasks.md and is in no specs folder".into());
        }
        let name = dir.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Spec {
            name: name.unwrap_or_default(),
            shown: self.shown(&dir),
            dir,
            root: self.root.clone(),
            world: self.world.clone(),
        })
    }
}

/// What a settings file says.
#[derive(Default)]
struct SettingsRead {
    settings: Settings,
    problems: Vec<(&'static str, Problem)>,
    inherited: Vec<Inherited>,
}

/// The settings of the team, and a person's over them.
fn read_settings(disk: &dyn Disk, root: &Path) -> SettingsRead {
    let mut read = SettingsRead::default();
    for place in [Place::Team, Place::Person] {
        let found = match disk.read(&root.join(place.file()), MAX_SMALL_FILE) {
            Ok(text) => {
                if place == Place::Person {
                    read.inherited = settings::inherited(&text);
                }
                settings::read(place, &text, &mut read.settings)
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Vec::new()
            }
            // It may say `enabled: false`, so the hooks keep still.
            Err(error) => {
                read.settings.enabled = false;
                vec![Problem { line: 1, message: format!("cannot be read: {error}") }]
            }
        };
        read.problems.extend(found.into_iter().map(|problem| (place.file(), problem)));
    }
    read
}

/// The settings of a project as they stand at this moment, mistakes left out.
pub fn settings_at(world: &World, root: &Path) -> Settings {
    read_settings(&*world.disk, root).settings
}

/// One plain component: no separator, no `.` or `..`.
fn is_bare_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    matches!((components.next(), components.next()), (Some(Component::Normal(part)), None) if part == name)
}

/// The canonical form of a path, if it lies in the project.
fn inside(disk: &dyn Disk, root: &Path, path: &Path) -> Result<PathBuf, String> {
    let real = disk.real_path_below(root, path);
    let real = real.map_err(|error| format!("cannot be reached: {error}"))?;
    if real.starts_with(root) { Ok(real) } else { Err("leads out of the project".into()) }
}

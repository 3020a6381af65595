//! The documents of a spec as they lie in its folder, and what their gate asks of the
//! project around them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use specum_core::line;
use specum_core::spec::gate::{Facts, Look, Manifest};
use specum_core::spec::id::Id;
use specum_core::spec::red::FirstRun;
use specum_core::spec::trace::{TraceFile, TraceFileError};
use specum_core::spec::{Doc, Texts, manifest};
use thiserror::Error;

use crate::files::FileError;
use crate::ports::World;

/// The longest document that is read.
const MAX_DOCUMENT: u64 = 4 * 1024 * 1024;
/// The longest plan that is read.
const MAX_PLAN: u64 = 64 * 1024 * 1024;
/// The longest file whose lines are counted.
const MAX_COUNTED: u64 = 8 * 1024 * 1024;
/// The longest manifest that is read.
const MAX_MANIFEST: u64 = 1024 * 1024;
/// How many members of a workspace are looked at.
const MOST_MEMBERS: usize = 500;

/// The file with what each part of a spec stood on.
pub const TRACE_FILE: &str = ".ralph-trace.json";
/// The file with what the person asked for, word for word.
pub const GOAL_FILE: &str = "plan.md";

/// Why the documents of a spec cannot be judged.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// One of them cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The trace cannot be read.
    #[error(
        "{path} cannot be read: {why}; `specum trace --rebuild` makes it again from the documents \
         as they are"
    )]
    Trace {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: TraceFileError,
    },
}

/// The documents of a spec, as far as they are there.
#[derive(Debug, Default)]
pub struct Documents {
    goal: Option<String>,
    texts: [Option<Vec<u8>>; 4],
}

impl Documents {
    /// Reads the documents in a folder.
    pub fn read(world: &World, folder: &Path) -> Result<Documents, DocumentError> {
        let disk = &*world.disk;
        let mut texts: [Option<Vec<u8>>; 4] = Default::default();
        for doc in Doc::ALL {
            let limit = if doc == Doc::Tasks { MAX_PLAN } else { MAX_DOCUMENT };
            texts[doc as usize] = disk.read_if_there(&folder.join(doc.file()), limit)?;
        }
        let goal = disk.read_if_there(&folder.join(GOAL_FILE), MAX_DOCUMENT)?;
        Ok(Documents { goal: goal.map(|goal| line::readable(&goal)), texts })
    }

    /// A plan that lies alone, under whatever name.
    pub fn of_plan(world: &World, path: &Path) -> Result<Documents, DocumentError> {
        let plan = world.disk.read_if_there(path, MAX_PLAN)?;
        Ok(Documents { goal: None, texts: [None, None, None, plan] })
    }

    /// Their texts.
    pub fn texts(&self) -> Texts<'_> {
        let texts = Texts { goal: self.goal.as_deref(), ..Texts::default() };
        let there = Doc::ALL.into_iter().filter_map(|doc| Some((doc, self.get(doc)?)));
        there.fold(texts, |texts, (doc, text)| texts.with(doc, text))
    }

    /// The text of a document.
    pub fn get(&self, doc: Doc) -> Option<&[u8]> {
        self.texts[doc as usize].as_deref()
    }

    /// The same with another text for one of them.
    pub fn set(&mut self, doc: Doc, text: Vec<u8>) {
        self.texts[doc as usize] = Some(text);
    }

    /// Whether none is there.
    pub fn is_empty(&self) -> bool {
        self.texts.iter().all(Option::is_none)
    }
}

/// Reads the trace in a spec's folder; `None` if there is none.
pub fn read_trace(world: &World, folder: &Path) -> Result<Option<TraceFile>, DocumentError> {
    let path = folder.join(TRACE_FILE);
    let Some(text) = world.disk.read_if_there(&path, MAX_DOCUMENT)? else { return Ok(None) };
    let wrong = |why| DocumentError::Trace { path: path.display().to_string(), why };
    TraceFile::parse(&text).map(Some).map_err(wrong)
}

/// What is known of the project around a spec.
pub struct ProjectFacts<'w> {
    world: &'w World,
    root: PathBuf,
    /// The spec's folder, from the root.
    folder: String,
    /// What the checks did before the work, by task.
    pub first_runs: BTreeMap<String, FirstRun>,
    approved: BTreeSet<Id>,
    /// What the manifests list, once that was asked.
    targets: RefCell<HashMap<&'static str, Option<BTreeSet<String>>>>,
}

impl<'w> ProjectFacts<'w> {
    /// The project at `root`, for the spec in `folder`.
    pub fn new(
        world: &'w World,
        root: &Path,
        folder: &Path,
        trace: Option<&TraceFile>,
    ) -> ProjectFacts<'w> {
        let folder = folder.strip_prefix(root).unwrap_or(Path::new(""));
        let names = trace.into_iter().flat_map(|trace| trace.nodes.keys());
        ProjectFacts {
            world,
            root: root.to_owned(),
            folder: folder.to_string_lossy().replace('\\', "/"),
            first_runs: BTreeMap::new(),
            approved: names.filter_map(|name| Id::parse(name)).collect(),
            targets: RefCell::default(),
        }
    }

    /// Does something with the facts.
    pub fn ask<R>(&self, ask: impl FnOnce(&Facts<'_>) -> R) -> R {
        let (lookup, syntax) = (self.world.lookup(&self.root), self.world.syntax());
        ask(&Facts {
            look: &|path| self.look(path),
            lookup: &lookup,
            syntax: &syntax,
            targets: &|manifest| self.targets(manifest),
            first_runs: &self.first_runs,
            approved: &self.approved,
            folder: &self.folder,
        })
    }

    /// What a path leads to. One that leads out of the project leads to nothing.
    fn look(&self, path: &str) -> Look {
        let path = Path::new(path);
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !path.components().all(is_plain) {
            return Look::Missing;
        }
        let path = self.root.join(path);
        let disk = &*self.world.disk;
        match disk.look_behind(&path) {
            Ok(found) if found.is_folder() => Look::Folder,
            Ok(found) if found.is_file() => {
                let text = disk.read(&path, MAX_COUNTED);
                Look::File(text.map_or(usize::MAX, |text| line::lines(&text).count()))
            }
            _ => Look::Missing,
        }
    }

    fn targets(&self, manifest: Manifest) -> Option<BTreeSet<String>> {
        let name = match manifest {
            Manifest::Npm => "package.json",
            Manifest::Make => "Makefile",
            Manifest::Just => "justfile",
            Manifest::Cargo => "Cargo.toml",
        };
        if let Some(known) = self.targets.borrow().get(name) {
            return known.clone();
        }
        let found = match manifest {
            Manifest::Npm => self.listed(&[name], manifest::npm_scripts),
            Manifest::Make => {
                self.listed(&[name, "makefile", "GNUmakefile"], manifest::make_targets)
            }
            Manifest::Just => self.listed(&[name, "Justfile", ".justfile"], manifest::just_recipes),
            Manifest::Cargo => self.packages(),
        };
        self.targets.borrow_mut().insert(name, found.clone());
        found
    }

    /// What the first of these files lists; nothing if none of them is there.
    fn listed(
        &self,
        names: &[&str],
        read: fn(&[u8]) -> Option<BTreeSet<String>>,
    ) -> Option<BTreeSet<String>> {
        let text = names.iter().find_map(|name| self.manifest(name));
        text.map_or(Some(BTreeSet::new()), |text| read(&text))
    }

    fn manifest(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.world.disk.read(&self.root.join(path), MAX_MANIFEST).ok()
    }

    /// The packages of a Cargo workspace.
    fn packages(&self) -> Option<BTreeSet<String>> {
        let Some(top) = self.manifest("Cargo.toml") else { return Some(BTreeSet::new()) };
        let mut packages: BTreeSet<String> = manifest::cargo_package(&top).into_iter().collect();
        let mut folders = Vec::new();
        for member in manifest::cargo_members(&top) {
            match member.strip_suffix("/*") {
                Some(folder) if !folder.contains('*') => {
                    folders.extend(self.world.disk.entries(&self.root.join(folder)).ok()?);
                }
                _ if member.contains('*') => return None,
                _ => folders.push(self.root.join(member)),
            }
        }
        if folders.len() > MOST_MEMBERS {
            return None;
        }
        let names = folders.into_iter().filter_map(|folder| {
            manifest::cargo_package(&self.manifest(folder.join("Cargo.toml"))?)
        });
        packages.extend(names);
        Some(packages)
    }
}

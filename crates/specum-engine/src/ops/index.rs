//! The map of a project, and the list of its specs, written by code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::spec::Doc;
use specum_core::spec::manifest;
use specum_core::spec::map::{self, FoundCommand};
use specum_core::tasks::TaskFile;

use super::{Caller, OpError};
use crate::documents::Documents;
use crate::ports::World;
use crate::project::Project;

/// The folder with the map, in the first specs directory.
const FOLDER: &str = ".index";
/// How many files and folders are looked at where no repository lists them.
const MOST_WALKED: usize = 200_000;
/// The longest manifest that is read.
const MAX_MANIFEST: u64 = 1024 * 1024;
/// Folders of what is made or fetched.
const NOT_WALKED: &[&str] =
    &["node_modules", "target", "dist", "build", "vendor", "__pycache__", "venv"];

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// The file with the map, from the project's root.
    pub map: String,
    /// The file with the list of specs.
    pub specs: String,
    /// How many files the map is of.
    pub files: usize,
    /// The commands that were found.
    pub commands: Vec<IndexCommand>,
}

/// A command that a file of the project names.
#[derive(Debug, Serialize, JsonSchema)]
pub struct IndexCommand {
    /// What is typed.
    pub command: String,
    /// The file that names it.
    pub source: String,
}

/// Writes the map and the list of specs.
pub fn index(caller: &Caller<'_>) -> Result<Index, OpError> {
    let project = caller.project()?;
    let world = caller.world;
    let paths = files(world, &project.root);
    let commands = commands(world, &project.root, &paths);
    let current = project.current_spec_file();
    let folder = current.parent().unwrap_or(&project.root).join(FOLDER);
    world.disk.make_folder(&folder)?;
    let (map_path, specs_path) = (folder.join("map.md"), folder.join("index.md"));
    let map = map::render(paths.iter().map(String::as_str), &commands);
    world.disk.write(&map_path, map.as_bytes())?;
    world.disk.write(&specs_path, specs(&project)?.as_bytes())?;
    let commands = commands
        .into_iter()
        .map(|found| IndexCommand { command: found.command, source: found.source });
    Ok(Index {
        map: project.shown(&map_path),
        specs: project.shown(&specs_path),
        files: paths.len(),
        commands: commands.collect(),
    })
}

/// The files of a project: those that its repository tracks, or else those that are
/// there.
fn files(world: &World, root: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().replace('\\', "/");
    let tracked = world.repositories.open(root).ok().and_then(|git| {
        let tracked = git.tracked().ok().filter(|tracked| !tracked.is_empty())?;
        let own = tracked.iter().filter_map(|path| path.strip_prefix(root).ok());
        Some(own.map(text).collect::<Vec<String>>())
    });
    let mut paths = tracked.unwrap_or_else(|| walk(world, root));
    paths.sort();
    paths
}

fn walk(world: &World, root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for path in world.disk.entries(&folder).unwrap_or_default() {
            looked_at += 1;
            if looked_at > MOST_WALKED {
                return found;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(info) = world.disk.look(&path) else { continue };
            let is_passed_over = name.starts_with('.') || NOT_WALKED.contains(&name.as_str());
            if info.is_folder() && !is_passed_over {
                folders.push(path);
            } else if info.is_file()
                && let Ok(path) = path.strip_prefix(root)
            {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found
}

/// The commands that manifests and workflows name, in a fixed order.
fn commands(world: &World, root: &Path, paths: &[String]) -> Vec<FoundCommand> {
    let mut found: Vec<FoundCommand> = Vec::new();
    let read = |path: &str| world.disk.read(&root.join(path), MAX_MANIFEST).ok();
    let is_there = |path: &str| paths.binary_search_by(|one| one.as_str().cmp(path)).is_ok();
    let mut add = |source: &str, commands: Vec<String>| {
        for command in commands {
            if !found.iter().any(|known| known.command == command) {
                found.push(FoundCommand { command, source: source.to_owned() });
            }
        }
    };
    let prefixed = |names: Option<BTreeSet<String>>, prefix: &str| -> Vec<String> {
        let names = names.into_iter().flatten().filter(|name| !name.starts_with('.'));
        names.map(|name| format!("{prefix} {name}")).collect()
    };
    if let Some(text) = read("package.json") {
        add("package.json", prefixed(manifest::npm_scripts(&text), "npm run"));
    }
    for name in ["Makefile", "makefile", "GNUmakefile"].into_iter().filter(|name| is_there(name)) {
        let text = read(name).unwrap_or_default();
        add(name, prefixed(manifest::make_targets(&text), "make"));
    }
    for name in ["justfile", "Justfile"].into_iter().filter(|name| is_there(name)) {
        let text = read(name).unwrap_or_default();
        add(name, prefixed(manifest::just_recipes(&text), "just"));
    }
    let known = [
        ("Cargo.toml", &["cargo test", "cargo clippy", "cargo build"][..]),
        ("go.mod", &["go test ./...", "go vet ./..."][..]),
        ("pytest.ini", &["pytest"][..]),
        ("tox.ini", &["tox"][..]),
        ("mix.exs", &["mix test"][..]),
        ("pom.xml", &["mvn test"][..]),
        ("gradlew", &["./gradlew test"][..]),
    ];
    for (name, commands) in known.into_iter().filter(|(name, _)| is_there(name)) {
        add(name, commands.iter().map(ToString::to_string).collect());
    }
    let pyproject = read("pyproject.toml").unwrap_or_default();
    if String::from_utf8_lossy(&pyproject).contains("pytest") {
        add("pyproject.toml", vec!["pytest".to_owned()]);
    }
    let is_workflow = |path: &&String| {
        path.starts_with(".github/workflows/") && path.ends_with(['l', 'L'])
            || *path == ".gitlab-ci.yml"
    };
    for path in paths.iter().filter(is_workflow) {
        add(path, read(path).map(|text| manifest::workflow_commands(&text)).unwrap_or_default());
    }
    found
}

/// The specs of a project: which documents each has, and how far its plan is.
fn specs(project: &Project) -> Result<String, OpError> {
    let mut text =
        String::from("# Specs\n\n| Spec | Documents | Done |\n|------|-----------|------|\n");
    for spec in project.specs()? {
        let documents = Documents::read(&project.world, &spec.dir)?;
        let there = Doc::ALL.into_iter().filter(|doc| documents.get(*doc).is_some());
        let names: Vec<&str> = there.map(Doc::name).collect();
        let file = TaskFile::scan(documents.get(Doc::Tasks).unwrap_or_default());
        let (done, count) = (file.done_count(), file.count());
        let name = spec.name.replace(['|', '\n'], "?");
        text.push_str(&format!("| {name} | {} | {done}/{count} |\n", names.join(", ")));
    }
    Ok(text)
}

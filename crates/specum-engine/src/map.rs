//! What code finds out about a project: its files, and the commands that its manifests
//! and workflows name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use specum_core::line;
use specum_core::spec::manifest;
use specum_core::spec::map::{self, FoundCommand};

use crate::ports::World;

/// How much of it an author is told.
const MAX_FACTS: usize = 3 * 1024;
/// How many files and folders are looked at where no repository lists them.
const MOST_WALKED: usize = 200_000;
/// The longest manifest that is read.
const MAX_MANIFEST: u64 = 1024 * 1024;
/// Folders of what is made or fetched.
const NOT_WALKED: &[&str] =
    &["node_modules", "target", "dist", "build", "vendor", "__pycache__", "venv"];

/// What an author is told of the project.
pub(crate) fn facts(world: &World, root: &Path) -> String {
    let paths = files(world, root);
    let commands = commands(world, root, &paths);
    let map = map::render(paths.iter().map(String::as_str), &commands);
    let map = map.trim_start_matches("# Map").trim();
    line::head(map, MAX_FACTS).to_owned()
}

/// The files of a project: those that its repository tracks, or else those that are
/// there.
pub(crate) fn files(world: &World, root: &Path) -> Vec<String> {
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
pub(crate) fn commands(world: &World, root: &Path, paths: &[String]) -> Vec<FoundCommand> {
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

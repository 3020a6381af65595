//! The map of a project, and the list of its specs, written by code.

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::spec::Doc;
use specum_core::spec::map;
use specum_core::tasks::TaskFile;

use super::{Caller, OpError};
use crate::documents::Documents;
use crate::map::{commands, files};
use crate::project::Project;

/// The folder with the map, in the first specs directory.
const FOLDER: &str = ".index";
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

//! A plan of another tool becomes a spec; the other tool's files stay as they are.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::authoring::name::{is_name, name_of};
use specum_core::line;
use specum_core::spec::import::{self, Source};

use super::{Caller, OpError};
use crate::documents::GOAL_FILE;
use crate::ports::World;
use crate::project::Project;
use crate::store;

/// The longest file that is taken over.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// How many files of a folder are looked at.
const MOST_FILES: usize = 500;
/// How deep the deltas of OpenSpec stand.
const DEEPEST: usize = 3;

/// What was taken over.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Import {
    /// The new spec.
    #[serde(rename = "spec")]
    pub name: String,
    /// Where it is, from the project's root.
    pub path: String,
    /// Whose plan it was: Kiro, spec-kit, OpenSpec or smart-ralph.
    pub tool: String,
    /// The files that were written.
    pub files: Vec<String>,
    /// The files of the other tool that have no place in a spec.
    pub left_out: Vec<String>,
}

/// Makes a spec of the plan in a folder, or of the folder around a file.
pub fn import(caller: &Caller<'_>, from: &str, name: Option<&str>) -> Result<Import, OpError> {
    let world = caller.world;
    let named = caller.here()?.join(from);
    let folder = match world.disk.is_file(&named) {
        true => named.parent().map(Path::to_path_buf),
        false => Some(named).filter(|path| world.disk.is_folder(path)),
    };
    let folder = folder.and_then(|folder| world.disk.real_path(&folder).ok());
    let Some(folder) = folder else {
        return Err(OpError::NotFound(format!(
            "there is no folder {from}; name the one with the plan, such as .kiro/specs/<name>, \
             specs/001-<name> or openspec/changes/<name>"
        )));
    };
    let texts = read(caller, &folder)?;
    let sources: Vec<Source<'_>> = texts.iter().map(|(path, text)| Source { path, text }).collect();
    let Some(tool) = import::tool(&sources) else {
        return Err(OpError::NotFound(format!(
            "{from} holds no plan of Kiro, spec-kit, OpenSpec or smart-ralph: no tasks.md, \
             requirements.md, spec.md or proposal.md that can be read as one"
        )));
    };
    let project = project(caller)?;
    let name = match name {
        Some(name) if is_name(name) => name.to_owned(),
        Some(name) => {
            return Err(OpError::Usage(format!(
                "`{name}` is no name for a spec: use small letters, digits and hyphens, such as \
                 `{}`",
                name_of(name)
            )));
        }
        None => default_name(&folder),
    };
    let imported = import::convert(tool, &name, &sources);
    let goal = imported.goal.map(|goal| goal + "\n");
    let mut files: Vec<(&str, &[u8])> =
        goal.iter().map(|goal| (GOAL_FILE, goal.as_bytes())).collect();
    files.extend(imported.documents.iter().map(|(doc, text)| (doc.file(), text.as_slice())));
    let spec = store::create(&project, &name, &files).map_err(|error| {
        let is_there = error.kind() == ErrorKind::AlreadyExists;
        let shown = project.shown(&project.home_of_specs().join(&name));
        match is_there {
            true => OpError::Usage(format!(
                "{shown} is there already, and is left as it is; `--as NAME` gives the new spec \
                 another name"
            )),
            false => error.into(),
        }
    })?;
    Ok(Import {
        name: spec.name,
        path: spec.shown,
        tool: tool.name().to_owned(),
        files: files.iter().map(|(file, _)| (*file).to_owned()).collect(),
        left_out: imported.left_out,
    })
}

/// The project that the spec belongs to: one begins here if there is none.
fn project(caller: &Caller<'_>) -> Result<Project, OpError> {
    match caller.project() {
        Err(OpError::NotFound(_)) => {
            let here = caller.here()?;
            let around = Project::around(caller.world, &here);
            around.ok_or_else(|| OpError::NotFound(format!("{} is no folder", here.display())))
        }
        other => other,
    }
}

/// The name of the folder, without the number that spec-kit puts in front.
fn default_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let bare = name.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('-');
    name_of(bare.filter(|bare| !bare.is_empty()).unwrap_or(&name))
}

/// The Markdown files of a folder, by their paths below it. Links are not followed: what
/// is imported is committed later, and a repository may bring a link to anything.
fn read(caller: &Caller<'_>, folder: &Path) -> Result<Vec<(String, Vec<u8>)>, OpError> {
    let mut found = Vec::new();
    for path in markdown(caller.world, folder) {
        let Ok(below) = path.strip_prefix(folder) else { continue };
        let name = below.to_string_lossy().replace('\\', "/");
        match caller.world.disk.read(&path, MAX_FILE) {
            Ok(text) => found.push((name, text)),
            Err(error) => {
                let name = line::head(&name, 200);
                return Err(OpError::io(format!("cannot read {name}"))(error));
            }
        }
    }
    Ok(found)
}

fn markdown(world: &World, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut looked_at = 0;
    while let Some((folder, depth)) = folders.pop() {
        for path in world.disk.entries(&folder).unwrap_or_default() {
            looked_at += 1;
            if looked_at > MOST_FILES {
                break;
            }
            let Ok(info) = world.disk.look(&path) else { continue };
            let is_hidden =
                path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
            if info.is_folder() && depth + 1 < DEEPEST && !is_hidden {
                folders.push((path, depth + 1));
            } else if info.is_file() && path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

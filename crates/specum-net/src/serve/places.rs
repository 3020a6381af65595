//! The projects that are served, and their specs.

use std::path::{Path, PathBuf};

use specum_core::digest::Digest;
use specum_engine::ports::World;
use specum_engine::project::{Project, Spec};

use crate::Failure;

/// Where specs are looked for.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) world: World,
    roots: Vec<PathBuf>,
}

/// A spec that is served.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    /// What it is called in addresses, so that no name is ever a path.
    pub(super) key: String,
    /// The name of its project's folder.
    pub(super) project: String,
    pub(super) spec: Spec,
}

impl Places {
    /// The projects that are named, the one here, or all that are known on this machine.
    pub(super) fn find(
        world: &World,
        named: &[PathBuf],
        everywhere: bool,
    ) -> Result<Places, Failure> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let find =
            |dir: &Path| Project::find(world, dir, home.as_deref()).map(|project| project.root);
        let mut roots = Vec::new();
        if everywhere {
            roots = specum_engine::projects::known(world);
            if roots.is_empty() {
                return Err(Failure::not_found(
                    "no loop was begun on this machine yet: `specum run` begins one",
                ));
            }
        } else if named.is_empty() {
            let here = std::env::current_dir()
                .map_err(|error| Failure::not_found(format!("the current directory: {error}")))?;
            let none = || {
                Failure::not_found(format!(
                    "no specs in {} or above; name a project, or see `specum help format`",
                    here.display()
                ))
            };
            roots.push(find(&here).ok_or_else(none)?);
        }
        for dir in named {
            let none = || Failure::not_found(format!("no specs in {} or above", dir.display()));
            roots.push(find(dir).ok_or_else(none)?);
        }
        roots.sort();
        roots.dedup();
        Ok(Places { world: world.clone(), roots })
    }

    /// Every spec that is there now. What cannot be read has none.
    pub(super) fn specs(&self) -> Vec<Place> {
        let of_project = |root: &PathBuf| {
            let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
            let project = Project::at(&self.world, root.clone());
            let specs = project.specs().unwrap_or_default();
            specs.into_iter().map(move |spec| Place {
                key: Digest::of(spec.dir.as_os_str().as_encoded_bytes()).hex(),
                project: name.clone().unwrap_or_default(),
                spec,
            })
        };
        self.roots.iter().flat_map(of_project).collect()
    }

    /// The projects, for a person.
    pub(super) fn in_words(&self) -> String {
        match &self.roots[..] {
            [one] => one.display().to_string(),
            many => format!("{} projects", many.len()),
        }
    }
}

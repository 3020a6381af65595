//! Plans that stand where specum does not work them, under another name or in no folder
//! of their own: found, so that a person reads the command that makes them one.

use std::path::{Path, PathBuf};

use specum_core::tasks::TaskFile;

use crate::ports::World;

/// Where people and agents put plans, in the root of a project.
const FILES: [&str; 7] =
    ["tasks.md", "TASKS.md", "PLAN.md", "plan.md", "IMPLEMENTATION_PLAN.md", "TODO.md", "todo.md"];
/// Folders whose Markdown files may be plans.
const FOLDERS: [&str; 4] = ["specs", "plans", "docs/plans", "docs/superpowers/plans"];
/// How much of such a file is looked at.
const LOOKED_AT: u64 = 1024 * 1024;

/// The first such plan with an open task, as a path from the root.
pub(super) fn first(world: &World, root: &Path) -> Option<String> {
    let in_folder = |folder: &str| -> Vec<PathBuf> {
        let mut files = world.disk.entries(&root.join(folder)).unwrap_or_default();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
        files.sort();
        files
    };
    let mut files = FILES.iter().map(|file| root.join(file)).collect::<Vec<_>>();
    files.extend(FOLDERS.into_iter().flat_map(in_folder));
    let plan = files.into_iter().find(|path| is_plan(world, path))?;
    Some(plan.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// The plan that a name without a path may mean: `app` is `specs/app.md`.
pub(super) fn named(world: &World, root: &Path, name: &str) -> Option<String> {
    let is_plain = !name.contains(std::path::is_separator);
    let mut paths = FOLDERS.iter().map(|folder| format!("{folder}/{name}.md"));
    paths.find(|path| is_plain && is_plan(world, &root.join(path)))
}

fn is_plan(world: &World, path: &Path) -> bool {
    let text = world.disk.is_file(path).then(|| world.disk.read(path, LOOKED_AT).ok()).flatten();
    text.is_some_and(|text| TaskFile::scan(&text).open().next().is_some())
}

/// The command that makes a plan of it, and what the plan is called then.
pub(super) fn way(path: &str) -> (String, String) {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_plain = |text: &str| {
        !text.starts_with('-')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
    };
    let name = if stem == "tasks" || !is_plain(&stem) { "plan" } else { stem.as_str() };
    let quoted = match is_plain(path) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    };
    let command = format!("mkdir -p specs/{name} && mv {quoted} specs/{name}/tasks.md");
    (command, name.to_owned())
}

//! What specum calls the references and folders it makes in git's reach.

use crate::logs;
use crate::project::Spec;

/// What the references begin with that hold work until it is in.
pub(crate) fn ready_references(spec: &Spec) -> String {
    format!("refs/specum/{}/ready/", part(&spec.name))
}

/// The reference that holds the work at a task.
pub(crate) fn ready_reference(spec: &Spec, task: &str) -> String {
    format!("{}{}", ready_references(spec), part(task))
}

/// What the references begin with that hold what was not finished.
pub(crate) fn kept_references(spec: &Spec) -> String {
    format!("refs/specum/{}/kept/", part(&spec.name))
}

/// A piece of a reference's name, of which git forbids much.
pub(crate) fn part(text: &str) -> String {
    let plain = logs::plain(text).replace("..", "__");
    let plain = plain.trim_matches('.');
    if plain.ends_with(".lock") { format!("{plain}_") } else { plain.to_owned() }
}

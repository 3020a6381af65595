//! What a repository in memory knows: its commits, references and heads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::CommitFault;
use crate::git::Merge;

/// The files of a commit.
pub(super) type Files = BTreeMap<String, Arc<Vec<u8>>>;

/// What a repository knows.
#[derive(Default)]
pub(super) struct History {
    /// Commits and trees, by id: their number.
    pub(super) commits: Vec<Snapshot>,
    pub(super) references: BTreeMap<String, usize>,
    /// The commit at HEAD of each work tree, by its root.
    pub(super) heads: BTreeMap<PathBuf, usize>,
    pub(super) fault: Option<CommitFault>,
}

pub(super) struct Snapshot {
    pub(super) files: Files,
    pub(super) parent: Option<usize>,
    pub(super) message: String,
}

impl History {
    pub(super) fn add(&mut self, files: Files, parent: Option<usize>, message: &str) -> usize {
        self.commits.push(Snapshot { files, parent, message: message.to_owned() });
        self.commits.len() - 1
    }

    pub(super) fn ancestors(&self, from: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(from), |at| self.commits[*at].parent)
    }

    /// The files of two commits together, and where they do not fit.
    pub(super) fn merged(
        &self,
        base: &Files,
        ours: &Files,
        theirs: &Files,
    ) -> (Files, Vec<String>) {
        let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let (mut files, mut conflicts) = (Files::new(), Vec::new());
        for path in paths {
            let (was, our, their) = (base.get(path), ours.get(path), theirs.get(path));
            let both = if our == was { their } else { our };
            if our != was && their != was && our != their {
                conflicts.push(path.clone());
            }
            if let Some(bytes) = both {
                files.insert(path.clone(), Arc::clone(bytes));
            }
        }
        (files, conflicts)
    }

    pub(super) fn merge(&mut self, base: usize, ours: usize, theirs: usize) -> Merge {
        let files = |at: usize| &self.commits[at].files;
        let (files, paths) = self.merged(files(base), files(ours), files(theirs));
        let tree = self.add(files, None, "").to_string();
        if paths.is_empty() { Merge::Clean(tree) } else { Merge::Conflict { paths, tree } }
    }
}

/// The paths at which two commits differ.
pub(super) fn differing(one: &Files, other: &Files) -> Vec<String> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    paths.into_iter().filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

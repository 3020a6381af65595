//! What `git status` says of a work tree.

use super::commit::Staged;
use super::path;

/// A work tree at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The commit at HEAD; `None` before the first one.
    pub head: Option<String>,
    /// The branch HEAD is on; `None` when it is detached.
    pub branch: Option<String>,
    /// The paths that are changed, staged, deleted or new, below the root.
    pub changed: Vec<String>,
    /// Those that are submodules with changes of their own.
    pub dirty_submodules: Vec<String>,
    /// Those of which the index says something else than HEAD.
    pub(super) staged: Vec<String>,
    /// What the index says of them; `None` if some are in conflict.
    pub(super) staged_entries: Option<Vec<Staged>>,
    /// Those of which the files say something else than the index.
    pub(super) unstaged: Vec<String>,
}

impl Status {
    /// A work tree at HEAD, on a branch, with these changes.
    pub fn new(head: Option<String>, branch: Option<String>, changed: Vec<String>) -> Status {
        Status { head, branch, changed, ..Status::default() }
    }

    /// Reads what `git status --porcelain=v2 --branch -z` prints.
    pub(super) fn parse(text: &[u8]) -> Status {
        let mut status = Status { staged_entries: Some(Vec::new()), ..Status::default() };
        for entry in text.split(|byte| *byte == 0) {
            // How many fields stand before the path.
            let before_path = match entry.first() {
                Some(b'1') => 8,
                Some(b'u') => 10,
                Some(b'?') => 1,
                Some(b'#') => {
                    status.learn(&String::from_utf8_lossy(entry));
                    continue;
                }
                _ => continue,
            };
            let fields: Vec<&[u8]> = entry.splitn(before_path + 1, |byte| *byte == b' ').collect();
            let Some(path) = fields.get(before_path).map(|path| path::text(path)) else { continue };
            // Index and files, each against what comes before it; `??` if new.
            let (index, files, submodule) = match fields[..] {
                [b"?", ..] => (b'.', b'?', &b"N..."[..]),
                [_, &[index, files], submodule, ..] => (index, files, submodule),
                _ => continue,
            };
            if index != b'.' {
                status.staged.push(path.clone());
                let entry = Staged::of_status(&path, &fields);
                status.staged_entries = status.staged_entries.take().zip(entry).map(push);
            }
            if files != b'.' {
                status.unstaged.push(path.clone());
            }
            if matches!(submodule, [b'S', _, b'M', _] | [b'S', _, _, b'U']) {
                status.dirty_submodules.push(path.clone());
            }
            status.changed.push(path);
        }
        status
    }

    /// Reads a line about HEAD.
    fn learn(&mut self, line: &str) {
        let known = |value: &str| (!value.starts_with('(')).then(|| value.to_owned());
        if let Some(head) = line.strip_prefix("# branch.oid ") {
            self.head = known(head);
        } else if let Some(branch) = line.strip_prefix("# branch.head ") {
            self.branch = known(branch);
        }
    }
}

fn push<T>((mut list, last): (Vec<T>, T)) -> Vec<T> {
    list.push(last);
    list
}

//! What commits have changed, from the words of `git diff-tree -p`: file by file, in bounds.
//!
//! Any bytes give patches. How many lines a hunk has is taken from its own head, so a line
//! of a file is never taken for one of git's.

use std::collections::HashMap;

use serde::Serialize;

use crate::line;
use crate::sanitize;

/// The most of one file's changes that is kept.
pub const MAX_FILE: usize = 60 * 1024;

/// What a commit has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// The first line of its message.
    pub subject: String,
    /// The files.
    pub files: Vec<FilePatch>,
}

/// What a commit has changed in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FilePatch {
    /// Where it is.
    pub path: String,
    /// Where it was, if it has been moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What became of it.
    pub kind: PatchKind,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// The hunks, from the first `@@` on.
    pub text: String,
    /// Whether there is more than that.
    pub is_cut: bool,
    /// Whether a line was added with characters that nobody sees, or that change its
    /// direction.
    pub hides_something: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatchKind {
    /// It was changed.
    #[default]
    Changed,
    /// It is new.
    New,
    /// It is gone.
    Deleted,
    /// It is no text.
    Binary,
    /// It is another repository.
    Submodule,
}

/// The patches of commits, by their ids, as `git diff-tree -p --stdin` prints them with the
/// format `%x00%H%x00%s`.
pub fn by_commit(printed: &[u8]) -> HashMap<String, Patch> {
    let mut commits: HashMap<String, Patch> = HashMap::new();
    let mut reading = Reading::default();
    for text in printed.split(|byte| *byte == b'\n') {
        if reading.take_of_hunk(text) {
            continue;
        }
        if let Some((id, subject)) = head(text) {
            reading.end_file(&mut commits);
            commits.entry(id.clone()).or_default().subject = subject;
            reading.commit = id;
        } else if let Some(names) = text.strip_prefix(b"diff --git ") {
            reading.end_file(&mut commits);
            reading.file = Some(FilePatch { path: name_of_both(names), ..FilePatch::default() });
        } else {
            reading.take_head(text);
        }
    }
    reading.end_file(&mut commits);
    commits
}

#[derive(Default)]
struct Reading {
    commit: String,
    file: Option<FilePatch>,
    /// How many lines of the hunk are still to come: old ones and new ones.
    left: (u64, u64),
}

impl Reading {
    fn end_file(&mut self, commits: &mut HashMap<String, Patch>) {
        self.left = (0, 0);
        if let Some(file) = self.file.take() {
            commits.entry(self.commit.clone()).or_default().files.push(file);
        }
    }

    /// Takes a line if it belongs to a hunk.
    fn take_of_hunk(&mut self, text: &[u8]) -> bool {
        let Some(file) = self.file.as_mut() else { return false };
        let (old, new) = &mut self.left;
        let is_in_hunk = *old > 0 || *new > 0;
        match text.first() {
            Some(b'+') if is_in_hunk => {
                (file.added, *new) = (file.added + 1, new.saturating_sub(1));
                file.hides_something |= sanitize::hides_something(&line::readable(text));
            }
            Some(b'-') if is_in_hunk => {
                (file.removed, *old) = (file.removed + 1, old.saturating_sub(1));
            }
            Some(b' ') | None if is_in_hunk => {
                (*old, *new) = (old.saturating_sub(1), new.saturating_sub(1));
            }
            Some(b'\\') if !file.text.is_empty() => {}
            _ => return false,
        }
        keep(file, text);
        true
    }

    /// Takes a line of git's own.
    fn take_head(&mut self, text: &[u8]) {
        let Some(file) = self.file.as_mut() else { return };
        let name = |rest: &[u8]| unquoted(rest.strip_suffix(b"\t").unwrap_or(rest));
        if let Some(counts) = hunk(text) {
            self.left = counts;
            keep(file, text);
        } else if text.starts_with(b"new file mode") {
            file.kind = PatchKind::New;
        } else if text.starts_with(b"deleted file mode") {
            file.kind = PatchKind::Deleted;
        } else if let Some(from) = text.strip_prefix(b"rename from ") {
            file.from = Some(name(from));
        } else if let Some(to) = text.strip_prefix(b"rename to ") {
            file.path = name(to);
        } else if text.starts_with(b"Binary files ") {
            file.kind = PatchKind::Binary;
        }
        if text.ends_with(b" 160000") {
            file.kind = PatchKind::Submodule;
        }
    }
}

fn keep(file: &mut FilePatch, text: &[u8]) {
    if file.text.len() + text.len() >= MAX_FILE || file.is_cut {
        file.is_cut = true;
        return;
    }
    file.text.push_str(&line::readable(text));
    file.text.push('\n');
}

/// `\0<id>\0<subject>`.
fn head(text: &[u8]) -> Option<(String, String)> {
    let rest = text.strip_prefix(b"\0")?;
    let middle = rest.iter().position(|byte| *byte == 0)?;
    Some((line::readable(&rest[..middle]), line::readable(&rest[middle + 1..])))
}

/// How many old and new lines a hunk has, from `@@ -1,2 +3,4 @@`.
fn hunk(text: &[u8]) -> Option<(u64, u64)> {
    let text = String::from_utf8_lossy(text.get(..text.len().min(80))?);
    let mut words = text.strip_prefix("@@ ")?.split(' ');
    let mut count = |sign: char| -> Option<u64> {
        let place = words.next()?.strip_prefix(sign)?;
        match place.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        }
    };
    Some((count('-')?, count('+')?))
}

/// The name in `a/name b/name`, where both are the same; a moved file has lines of its own
/// for them.
fn name_of_both(names: &[u8]) -> String {
    let first = names.get(..names.len() / 2).unwrap_or_default();
    let name = unquoted(first);
    name.strip_prefix("a/").unwrap_or(&name).to_owned()
}

/// A name without the quotes and escapes that git gives to unusual ones.
fn unquoted(name: &[u8]) -> String {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) else {
        return line::readable(name);
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'v') => 0x0b,
            Some(digit @ b'0'..=b'7') => {
                let mut next = || rest.next().unwrap_or(b'0').wrapping_sub(b'0') & 7;
                let (middle, last) = (next(), next());
                ((digit - b'0') << 6) | (middle << 3) | last
            }
            Some(other) => other,
            None => b'\\',
        });
    }
    line::readable(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\0aa11\0feat: one\n\ndiff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n\
        --- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@ fn x\n--- old line\n+++ new line\n same\n\
        diff --git \"a/b\\303\\251\\t\" \"b/b\\303\\251\\t\"\nnew file mode 100644\nindex 0..3\n\
        --- /dev/null\n+++ \"b/b\\303\\251\\t\"\n@@ -0,0 +1 @@\n+x\u{202e}\n\\ No newline at end of file\n\
        \0bb22\0second\n\ndiff --git a/old name b/new\nsimilarity index 100%\nrename from old name\n\
        rename to new\ndiff --git a/p.png b/p.png\nindex 5..6 100644\nBinary files a/p.png and b/p.png differ\n\
        diff --git a/sub b/sub\nindex 7..8 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 7\n+Subproject commit 8\n";

    #[test]
    fn every_file_of_every_commit_is_found_with_its_lines() {
        let commits = by_commit(PRINTED.as_bytes());
        let [a, b] = &commits["aa11"].files[..] else { panic!("{commits:?}") };
        assert_eq!(commits["aa11"].subject, "feat: one");
        assert_eq!((a.path.as_str(), a.added, a.removed), ("src/a.rs", 1, 1));
        assert_eq!(a.text, "@@ -1,2 +1,2 @@ fn x\n--- old line\n+++ new line\n same\n");
        assert_eq!((b.path.as_str(), b.kind), ("bé\t", PatchKind::New));
        assert!(b.hides_something && b.text.ends_with("\\ No newline at end of file\n"));
        let [moved, picture, other] = &commits["bb22"].files[..] else { panic!("{commits:?}") };
        assert_eq!((moved.path.as_str(), moved.from.as_deref()), ("new", Some("old name")));
        assert_eq!((picture.path.as_str(), picture.kind), ("p.png", PatchKind::Binary));
        assert_eq!((other.path.as_str(), other.kind), ("sub", PatchKind::Submodule));
    }

    #[test]
    fn a_long_file_is_cut_and_its_lines_are_counted_all_the_same() {
        let count = MAX_FILE;
        let mut printed = format!("\0a\0s\n\ndiff --git a/x b/x\n@@ -0,0 +1,{count} @@\n");
        printed.push_str(&"+1234567\n".repeat(count));
        let commits = by_commit(printed.as_bytes());
        let file = &commits["a"].files[0];
        assert!(file.is_cut && file.text.len() <= MAX_FILE);
        assert_eq!(file.added, count as u64);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_patches(
            lines in proptest::collection::vec(proptest::prop_oneof![
                proptest::sample::select(PRINTED.lines().collect::<Vec<_>>()).prop_map(str::to_owned),
                "\\PC{0,20}",
                "@@ -[0-9]{1,25},[0-9]{0,3} \\+[0-9]{1,3} @@",
            ], 0..40),
        ) {
            by_commit(lines.join("\n").as_bytes());
        }
    }

    use proptest::strategy::Strategy;
}

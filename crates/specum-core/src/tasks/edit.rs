//! Edits of a text as values.

use std::ops::Range;

use crate::line;

/// Some bytes of a text and what is to stand in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The bytes that go.
    pub range: Range<usize>,
    /// The bytes that come.
    pub with: Vec<u8>,
}

/// The text with the patches applied. Patches must not overlap; their order
/// does not matter.
pub fn apply(text: &[u8], patches: &[Patch]) -> Vec<u8> {
    let mut ordered: Vec<&Patch> = patches.iter().collect();
    ordered.sort_by_key(|patch| patch.range.start);
    let mut result =
        Vec::with_capacity(text.len() + ordered.iter().map(|p| p.with.len()).sum::<usize>());
    let mut at = 0;
    for patch in ordered {
        result.extend_from_slice(&text[at..patch.range.start]);
        result.extend_from_slice(&patch.with);
        at = patch.range.end;
    }
    result.extend_from_slice(&text[at..]);
    result
}

/// A block of lines put at the beginning of a line, with the line endings of
/// the text around it.
pub(super) fn insertion(text: &[u8], at: usize, block: &str) -> Patch {
    let ending = line::line_ending(text);
    let mut with = String::new();
    // Behind a last line that nobody ended.
    if at > 0 && text[at - 1] != b'\n' && at == text.len() {
        with.push_str(ending);
    }
    for line in block.lines() {
        with.push_str(line);
        with.push_str(ending);
    }
    Patch { range: at..at, with: with.into_bytes() }
}

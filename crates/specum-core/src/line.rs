//! Lines with their place in the text, and the one question every Markdown
//! reader here asks of them: does a code fence begin or end on this line?
//!
//! Text is bytes. A task file may hold anything, and an edit of one byte must
//! not depend on the others being valid UTF-8.

use std::ops::Range;

/// One line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Byte offset of the first character (behind a byte order mark).
    pub start: usize,
    /// The line without its line ending.
    pub text: &'a [u8],
    /// Byte offset behind the line ending.
    pub end: usize,
}

impl<'a> Line<'a> {
    /// Where the line stands, line ending included.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The line without blanks at either side.
    pub fn trimmed(&self) -> &'a [u8] {
        self.text.trim_ascii()
    }

    /// How many blanks and tabs the line begins with.
    pub fn indent(&self) -> usize {
        self.text.len() - self.text.trim_ascii_start().len()
    }

    /// Whether only blanks stand on the line.
    pub fn is_blank(&self) -> bool {
        self.trimmed().is_empty()
    }
}

/// A code fence: which character, and how many of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) mark: u8,
    pub(crate) length: usize,
}

impl Fence {
    /// The fence that a line begins with, after any blanks. Backticks behind
    /// the first ones make a code span of it.
    pub(crate) fn opened_by(line: &Line<'_>) -> Option<Fence> {
        let blanks = line.text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let text = &line.text[blanks..];
        let mark = *text.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = text.iter().take_while(|&&b| b == mark).count();
        let is_span = mark == b'`' && text[length..].contains(&b'`');
        (length >= 3 && !is_span).then_some(Fence { mark, length })
    }

    /// Whether a line ends what this fence has begun: the same character, at
    /// least as often, and nothing else.
    pub(crate) fn is_closed_by(&self, line: &Line<'_>) -> bool {
        let text = line.trimmed();
        text.len() >= self.length && text.iter().all(|&b| b == self.mark)
    }
}

/// Reads lines one after the other, and tells which of them stand in a code fence. A
/// fence that nobody ends goes on to the end of the text.
#[derive(Debug, Default)]
pub(crate) struct Fences(Option<Fence>);

impl Fences {
    /// Whether the lines that follow stand in a fence.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the next line stands in a fence, or begins or ends one.
    pub(crate) fn hide(&mut self, line: &Line<'_>) -> bool {
        match self.0 {
            Some(open) => {
                self.0 = self.0.filter(|_| !open.is_closed_by(line));
                true
            }
            None => {
                self.0 = Fence::opened_by(line);
                self.0.is_some()
            }
        }
    }
}

/// The lines of a text that stand in no code fence, and begin and end none.
pub(crate) fn outside_fences(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut fences = Fences::default();
    lines(text).filter(move |line| !fences.hide(line))
}

/// The lines of a text. A line ends at `\n` or `\r\n`; the last one may end at
/// the end of the text.
pub fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    // Not `memchr::memchr`: before its first search it asks the processor what it can do,
    // and under a hypervisor each such question takes longer than a hook's whole scan.
    let newline = memchr::arch::all::memchr::One::new(b'\n');
    let mut at = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    std::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let start = at;
        let rest = &text[start..];
        let length = newline.find(rest).map_or(rest.len(), |n| n + 1);
        at = start + length;
        let body = rest[..length].strip_suffix(b"\n").unwrap_or(&rest[..length]);
        let body = body.strip_suffix(b"\r").unwrap_or(body);
        Some(Line { start, text: body, end: at })
    })
}

/// The line ending a text uses, judged by its first line.
pub fn line_ending(text: &[u8]) -> &'static str {
    match text.iter().position(|&b| b == b'\n') {
        Some(n) if n > 0 && text[n - 1] == b'\r' => "\r\n",
        _ => "\n",
    }
}

/// Bytes as text a person can read; what is no UTF-8 becomes U+FFFD.
pub fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is kept with a text for people if it holds bytes that are no UTF-8:
/// all of it, in hexadecimal digits.
pub fn bytes_beside_text(bytes: &[u8]) -> Option<String> {
    let digits = || bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    std::str::from_utf8(bytes).is_err().then(digits)
}

/// The bytes behind a text for people, and what is kept with it.
pub fn text_or_bytes(text: &str, digits: Option<&str>) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = digits.and_then(|digits| digits.as_bytes().chunks(2).map(pair).collect());
    bytes.unwrap_or_else(|| text.as_bytes().to_vec())
}

/// At most `limit` bytes of the beginning of a text, cut between characters.
pub fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// At most `limit` bytes of the end of a text, cut between characters.
pub fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<(usize, &str, usize)> {
        lines(text.as_bytes())
            .map(|line| (line.start, std::str::from_utf8(line.text).unwrap(), line.end))
            .collect()
    }

    #[test]
    fn a_fence_ends_with_a_bare_line_of_its_own_kind() {
        let outside = |text: &str| -> Vec<String> {
            outside_fences(text.as_bytes()).map(|line| readable(line.text)).collect()
        };
        assert_eq!(outside("a\n```sh\nb\n```\nc"), ["a", "c"]);
        assert_eq!(outside("````\n```\na\n```\n````\nb"), ["b"], "a fence in a longer one");
        assert_eq!(outside("```\n~~~\na\n```\nb"), ["b"], "another character");
        assert_eq!(outside("```\n```sh\na\n```\nb"), ["b"], "one that begins ends none");
        assert_eq!(outside("```a``` is code\nb"), ["```a``` is code", "b"]);
        assert_eq!(outside("a\n```\nb"), ["a"], "nobody ends it");
    }

    #[test]
    fn line_endings_are_told_from_the_text() {
        assert_eq!(listed("a\r\nb\n\nc"), [(0, "a", 3), (3, "b", 5), (5, "", 6), (6, "c", 7)]);
        assert_eq!(listed(""), []);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(listed("\u{feff}a\n"), [(3, "a", 5)]);
    }

    #[test]
    fn bytes_that_are_no_text_survive_beside_one() {
        for bytes in [&b""[..], b"text", b"caf\xe9", b"\xff\x00"] {
            let kept = bytes_beside_text(bytes);
            assert_eq!(text_or_bytes(&readable(bytes), kept.as_deref()), bytes);
        }
        assert_eq!(text_or_bytes("a", Some("zz")), b"a", "what is broken is left out");
    }

    #[test]
    fn cuts_respect_characters() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(tail("éa", 2), "a");
        assert_eq!(tail("abc", 10), "abc");
    }
}

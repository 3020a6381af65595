//! Text of others, made fit to be shown and kept: the only place that does so.
//!
//! What agents print, what stands in task files and what git says may hold
//! escape codes, bidirectional overrides, invisible characters and no end. What
//! comes out of here moves no cursor, changes no colour, title or clipboard, and
//! is read in the order in which it stands.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use crate::line;

/// How much of a text is looked at for one line of a report.
const LOOKED_AT: usize = 4096;
/// How many marks may be set upon one letter before they cover other lines.
const MAX_MARKS: usize = 3;

/// Where in an escape sequence a text stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Parsing {
    /// In none.
    #[default]
    Ground,
    /// Behind the escape character.
    Escape,
    /// In a control sequence, which ends with a letter.
    Control,
    /// In a string for the terminal, such as a title.
    Text,
}

impl Parsing {
    /// Where a character leads; `None` if it is text and belongs to no sequence.
    fn behind(self, c: char) -> Option<Parsing> {
        use Parsing::{Control, Escape, Ground, Text};
        Some(match (self, c) {
            (Escape, '0'..='O' | 'Q'..='W' | 'Y' | 'Z' | '\\' | '`'..='~')
            | (Control, '@'..='~')
            | (Text, '\x07' | '\u{9c}') => Ground,
            (_, '\x1b') | (Escape, ' '..='/') => Escape,
            (Text, _)
            | (Escape, ']' | 'P' | 'X' | '^' | '_')
            | (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => Text,
            (Escape, '[') | (Control, ' '..='?') | (_, '\u{9b}') => Control,
            _ => return None,
        })
    }
}

/// Cleans a stream piece by piece. Lines and tabs stay.
#[derive(Debug, Default)]
pub struct Sanitizer {
    place: Parsing,
    /// The beginning of a character whose end has not come yet.
    torn: Vec<u8>,
    /// Whether the last character was a carriage return, already told as the
    /// end of a line.
    returned: bool,
    /// Marks upon the last letter.
    marks: usize,
}

impl Sanitizer {
    /// The next piece, cleaned.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let mut whole = std::mem::take(&mut self.torn);
        whole.extend_from_slice(bytes);
        let mut clean = String::with_capacity(whole.len());
        let mut rest = whole.as_slice();
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.take(text, &mut clean);
                    return clean;
                }
                Err(error) => error,
            };
            let (good, bad) = rest.split_at(error.valid_up_to());
            self.take(&line::readable(good), &mut clean);
            let Some(length) = error.error_len() else {
                self.torn = bad.to_vec();
                return clean;
            };
            self.take("\u{fffd}", &mut clean);
            rest = &bad[length..];
        }
    }

    fn take(&mut self, text: &str, clean: &mut String) {
        for c in text.chars() {
            // No sequence goes beyond its line: a string that somebody forgot
            // to end must not swallow the rest.
            if matches!(c, '\n' | '\r') {
                self.end_line(c, clean);
                self.place = Parsing::Ground;
                continue;
            }
            let next = self.place.behind(c);
            if next.is_none() {
                self.keep(c, clean);
            }
            self.place = next.unwrap_or_default();
        }
    }

    /// A progress bar returns to the beginning of its line again and again; here
    /// each state of it is a line.
    fn end_line(&mut self, c: char, clean: &mut String) {
        if c == '\r' || !self.returned {
            clean.push('\n');
        }
        self.returned = c == '\r';
        self.marks = 0;
    }

    fn keep(&mut self, c: char, clean: &mut String) {
        self.returned = false;
        if matches!(c, '\u{2028}' | '\u{2029}') {
            clean.push('\n');
        } else if c == '\t' || !is_hidden(c) {
            self.marks = if c.width() == Some(0) { self.marks + 1 } else { 0 };
            if self.marks <= MAX_MARKS {
                clean.push(c);
            }
        }
    }
}

/// Whether a character is a command or invisible.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            // They make the letter before them wider than it is.
            | '\u{fe00}'..='\u{fe0f}'
            // Joiners, marks and overrides of direction, invisible operators.
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A whole text, cleaned; lines and tabs stay.
pub fn text(text: &str) -> String {
    clean(text).into_owned()
}

/// The same, copied only if something is to be cleaned.
pub fn clean(text: &str) -> Cow<'_, str> {
    // To look at bytes is a fraction of the work, and enough for most texts.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(Sanitizer::default().push(text.as_bytes()))
}

/// A text in which everything is seen that [`clean`] would take away: `␛` for the escape
/// character, `⟨U+202E⟩` for what turns the direction of a line around. For code, whose
/// reader must not miss it. Lines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let (mut marks, mut rest) = (0, text.chars().peekable());
    while let Some(c) = rest.next() {
        marks = if c.width() == Some(0) { marks + 1 } else { 0 };
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\0'..'\x20' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => shown.push('␡'),
            // They choose between two pictures of the letter before them.
            '\u{fe00}'..='\u{fe0f}' => {}
            _ if is_hidden(c) || matches!(c, '\u{2028}' | '\u{2029}') => {
                shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
            }
            _ if marks > MAX_MARKS => {}
            _ => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a text holds what changes the direction of its lines, or characters that nobody
/// sees: code may say something else than it seems to. What joins emoji does not count.
pub fn hides_something(text: &str) -> bool {
    text.chars().any(|c| {
        matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{e0001}'..='\u{e007f}')
            || (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c'))
    })
}

/// The beginning of a text as one line.
pub fn one_line(text: &str) -> String {
    joined(&self::text(line::head(text, LOOKED_AT)))
}

/// The last line of a text with something on it.
pub fn last_line(text: &str) -> String {
    let clean = self::text(line::tail(text, LOOKED_AT));
    clean.lines().rev().map(joined).find(|line| !line.is_empty()).unwrap_or_default()
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_go_and_what_they_stand_around_stays() {
        for (raw, clean) in [
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b[38;5;1;2mx\x1b[?25l", "x"),
            ("\x1b]0;title\x07shown", "shown"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bP1$r\x1b\\after", "after"),
            ("\x1b(Bascii", "ascii"),
            ("\x1b7kept\x1b8", "kept"),
            ("\u{9b}31mred", "red"),
            ("\u{9d}0;title\u{9c}shown", "shown"),
            ("\x1b]52;c;aGk=\nnext line", "next line"),
            ("\x1b\x1b[2Jx", "x"),
            ("a\x08\x7f\0b", "ab"),
            ("\x1b]0;x\x1b[31mred", "red"),
        ] {
            assert_eq!(one_line(raw), clean, "{raw:?}");
        }
    }

    #[test]
    fn nothing_invisible_and_nothing_that_turns_the_text_around_stays() {
        assert_eq!(one_line("a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{e0041}f"), "abcdef");
        assert_eq!(one_line("a\u{2028}b"), "a b");
        let stacked = format!("e{}", "\u{301}".repeat(100));
        assert_eq!(one_line(&stacked).chars().count(), 1 + MAX_MARKS);
    }

    #[test]
    fn the_last_line_with_something_on_it_is_what_was_said_last() {
        assert_eq!(last_line("first\n  second  line\n\n \x1b[0m\n"), "second line");
        assert_eq!(last_line(""), "");
        assert_eq!(last_line(&"x".repeat(1 << 22)).len(), LOOKED_AT);
    }

    #[test]
    fn every_state_of_a_progress_bar_is_a_line() {
        assert_eq!(text("10%\r20%\r\ndone\n"), "10%\n20%\ndone\n");
    }

    #[test]
    fn what_would_be_taken_away_from_code_is_seen_in_it() {
        assert_eq!(visible("a\x1b[31m\u{202e}b\r\nc\rd\te"), "a␛[31m⟨U+202E⟩b\nc␍d\te");
        assert_eq!(visible("✋\u{fe0f}\u{9b}\u{2028}"), "✋⟨U+009B⟩⟨U+2028⟩");
        assert!(matches!(visible("plain {}\n"), Cow::Borrowed(_)));
        for hidden in ["a\u{202e}b", "\u{200b}", "\x1b[1m", "\u{e0041}"] {
            assert!(hides_something(hidden), "{hidden:?}");
        }
        for plain in ["é\r\n\t", "👩\u{200d}💻", "✋\u{fe0f}", "\u{feff}BOM"] {
            assert!(!hides_something(plain), "{plain:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_hidden_stays_hidden_in_code(text in "\\PC*|[\u{0}-\u{ff}\u{200b}-\u{2069}]*") {
            let shown = visible(&text);
            proptest::prop_assert!(shown.chars().all(|c| matches!(c, '\n' | '\t') || !is_hidden(c)));
        }

        #[test]
        fn whatever_comes_in_and_however_it_is_cut_the_same_harmless_text_comes_out(
            bytes in proptest::collection::vec(proptest::prop_oneof![
                proptest::num::u8::ANY,
                proptest::sample::select(b"\x1b[]0;m\x07\\\xc2\x9b\xe2\x80\xae\n\r".as_slice()),
            ], 0..200),
            cut in 0_usize..200,
        ) {
            let whole = Sanitizer::default().push(&bytes);
            let mut cleaner = Sanitizer::default();
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let pieces = cleaner.push(head) + &cleaner.push(tail);
            proptest::prop_assert_eq!(&pieces, &whole);
            proptest::prop_assert!(whole.chars().all(|c| c == '\n' || c == '\t' || !is_hidden(c)));
        }
    }
}

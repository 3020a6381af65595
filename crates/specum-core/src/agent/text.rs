//! What agents print, made fit to be read, shown and kept: events out of lines,
//! no control sequences, and never more than a bound.

use std::borrow::Cow;

use serde_json::Value;

use crate::line;
use crate::sanitize::clean;

/// The longest final message that is kept, from its end.
pub(super) const LONGEST_MESSAGE: usize = 256 * 1024;
/// The longest text of one sign of life.
const LONGEST_SIGN: usize = 4 * 1024;
/// The longest description of a tool call.
const LONGEST_TOOL: usize = 80;
/// How much of an error's text is passed on.
const LONGEST_REASON: usize = 600;

/// The JSON object on a line, if there is one.
pub(super) fn event(line: &[u8]) -> Option<Value> {
    let text = readable(line);
    let value: Value = serde_json::from_str(&text)
        .or_else(|_| serde_json::from_str(&without_half_characters(&text)))
        .ok()?;
    value.is_object().then_some(value)
}

/// Bytes as text; what is no UTF-8 becomes U+FFFD.
pub(super) fn readable(bytes: &[u8]) -> Cow<'_, str> {
    // Most are text, and to see that takes less than to look for what is not.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The text with every `\u` escape of half a character made U+FFFD. Programs in
/// JavaScript print such halves when they cut a text, and JSON has no place for
/// them.
fn without_half_characters(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (escaped(rest), rest.get(6..).and_then(escaped)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The escape and what it escapes, so that `\\u` is not misread.
            _ => rest.chars().take(2).map(char::len_utf8).sum(),
        };
        whole.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    whole + rest
}

/// The number of a `\u` escape at the beginning of a text.
fn escaped(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// The beginning of a text for a sign of life.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    match clean(line::head(text, LONGEST_SIGN)) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

/// The beginning of a text on one line, with a mark if something is missing.
fn one_line(text: &str, limit: usize) -> String {
    let words = clean(line::head(text, LONGEST_SIGN));
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.len() <= limit {
        return words;
    }
    format!("{}…", line::head(&words, limit - '…'.len_utf8()))
}

/// An error's text for people.
pub(super) fn reason(text: &str) -> String {
    one_line(text, LONGEST_REASON)
}

/// A tool call in a few words: `Bash: cargo test`.
pub(super) fn tool(name: &str, input: &Value) -> String {
    // From the most to the least telling; tools name them differently.
    const TELLING: [&str; 14] = [
        "command",
        "cmd",
        "file_path",
        "filePath",
        "absolute_path",
        "path",
        "pattern",
        "query",
        "url",
        "skill",
        "description",
        "dir_path",
        "prompt",
        "file",
    ];
    let detail = TELLING.into_iter().find_map(|key| input[key].as_str());
    match detail.filter(|detail| !detail.trim().is_empty()) {
        Some(detail) => one_line(&format!("{name}: {detail}"), LONGEST_TOOL),
        None => one_line(name, LONGEST_TOOL),
    }
}

/// The end of a text that grows, at least as much of it as is to be kept.
#[derive(Debug, Default)]
pub(super) struct TextTail(String);

impl TextTail {
    /// Adds to the text and lets go of what is too long ago.
    pub(super) fn push(&mut self, text: &str, limit: usize) {
        self.0.push_str(line::tail(text, limit));
        // Twice the limit, so that a long text is not moved at every addition.
        if self.0.len() > 2 * limit {
            // In place: the memory of a long text would be taken and given back each time.
            self.0.drain(..self.0.len() - line::tail(&self.0, limit).len());
        }
    }

    /// Adds a line and its end.
    pub(super) fn push_line(&mut self, line: &str, limit: usize) {
        self.push(line, limit);
        self.0.push('\n');
    }

    /// Puts another text in the place of this one.
    pub(super) fn replace(&mut self, text: &str, limit: usize) {
        self.0.clear();
        self.push(text, limit);
    }

    /// Forgets the text.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The end of the text, cleaned.
    pub(super) fn end(&self, limit: usize) -> String {
        clean(line::tail(&self.0, limit)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn half_a_character_does_not_cost_the_event() {
        let cut = br#"{"text":"cut \ud83d","path":"C:\\ud83d","whole":"\ud83d\ude00"}"#;
        let event = event(cut).expect("an event");
        assert_eq!(event["text"], "cut \u{fffd}");
        assert_eq!(event["path"], "C:\\ud83d");
        assert_eq!(event["whole"], "😀");
    }

    #[test]
    fn bytes_that_are_no_text_do_not_cost_the_event() {
        assert_eq!(event(b"{\"a\":\"\xff\"}").expect("an event")["a"], "\u{fffd}");
        assert_eq!(event(b"not json"), None);
        assert_eq!(event(b"[1]"), None);
        assert_eq!(event("[".repeat(100_000).as_bytes()), None);
    }

    #[test]
    fn colours_titles_and_progress_bars_are_taken_out() {
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m\r\n"), "red\n");
        assert_eq!(clean("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\0"), "ab");
        assert_eq!(clean("10%\r20%\rTASK_COMPLETE"), "10%\n20%\nTASK_COMPLETE");
    }

    #[test]
    fn a_tool_call_is_told_in_a_few_words() {
        let told = |name: &str, input: Value| tool(name, &input);
        assert_eq!(told("Bash", json!({"command": "cargo\n  test"})), "Bash: cargo test");
        assert_eq!(told("Read", json!({"file_path": "a.rs", "limit": 3})), "Read: a.rs");
        assert_eq!(told("TaskList", json!({})), "TaskList");
        let long = told("Bash", json!({"command": "é".repeat(1000)}));
        assert!(long.len() <= LONGEST_TOOL && long.ends_with('…'), "{long}");
    }

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        let mut tail = TextTail::default();
        for _ in 0..100 {
            tail.push("0123456789", 25);
            assert!(tail.0.len() <= 50);
        }
        assert_eq!(tail.end(25), "5678901234567890123456789");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in any::<String>(), limit in 4_usize..200) {
            prop_assert!(clean(&text).chars().all(|c| c == '\n' || c == '\t' || !crate::sanitize::is_hidden(c)));
            prop_assert!(one_line(&text, limit).len() <= limit);
            without_half_characters(&text);
        }

        #[test]
        fn escapes_are_mended_only_where_they_are_broken(text in any::<String>()) {
            let json = Value::from(text).to_string();
            prop_assert_eq!(without_half_characters(&json), json);
        }
    }
}

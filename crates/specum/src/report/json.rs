//! One JSON object a line, for programs.
//!
//! A program that reads them gets every character as it was. A terminal that
//! they are shown on gets no control character and none that turns a text
//! around: those are written as `\u` escapes, which JSON allows everywhere.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use specum_core::event::RunEvent;
use specum_core::summary::Summary;

use super::{Reporter, missing, sanitize};

/// Writes events as JSON.
pub(super) struct Json<W>(pub(super) W);

impl<W: Write> Reporter for Json<W> {
    fn event(&mut self, at: Timestamp, event: &RunEvent) {
        // A run goes on although nobody reads what it says.
        let _ = self.0.write_all(event_line(shown(at), event).as_bytes());
        let _ = self.0.flush();
    }

    fn left_out(&mut self, at: Timestamp, count: u64) {
        self.event(at, &missing(count));
    }

    fn tick(&mut self) {}

    fn summary(&mut self, at: Timestamp, spec: &str, summary: &Summary) {
        let _ = self.0.write_all(summary_line(shown(at), spec, summary).as_bytes());
        let _ = self.0.flush();
    }
}

fn shown(at: Timestamp) -> String {
    at.round(jiff::Unit::Millisecond).unwrap_or_default().to_string()
}

/// An event as one line, with its line ending.
pub fn event_line(at: String, event: &RunEvent) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        at: String,
        #[serde(flatten)]
        event: &'a RunEvent,
    }
    line(&Line { at, event })
}

/// A summary as one line, with its line ending.
pub fn summary_line(at: String, spec: &str, summary: &Summary) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        at: String,
        event: &'static str,
        spec: &'a str,
        #[serde(flatten)]
        summary: &'a Summary,
    }
    line(&Line { at, event: "summary", spec, summary })
}

/// Plain data as one line that may be shown anywhere.
pub(crate) fn line(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Harmless);
    value.serialize(&mut serializer).expect("plain data is JSON");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// JSON on one line, in which what a terminal would obey is escaped.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut units = [0; 2];
        let mut plain = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| sanitize::is_hidden(*c)) {
            CompactFormatter.write_string_fragment(writer, &fragment[plain..at])?;
            for unit in c.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + c.len_utf8();
        }
        CompactFormatter.write_string_fragment(writer, &fragment[plain..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_terminal_sees_nothing_it_would_obey_and_a_program_sees_everything() {
        let text = "a\x1b[31m\u{9b}2J\u{202e}b\u{7f}\u{e0041}\n\"é日";
        let line = event_line("now".into(), &RunEvent::Warning { text: text.into() });
        assert!(line.trim_end().chars().all(|c| !sanitize::is_hidden(c)), "{line}");
        let parsed: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((parsed["text"].as_str(), parsed["at"].as_str()), (Some(text), Some("now")));
        assert!(
            line.starts_with(r#"{"at":"now","event":"warning","text":"a"#) && line.contains("é日")
        );
    }
}

//! One JSON object a line, for programs.
//!
//! A program that reads them gets every character as it was. A terminal that
//! they are shown on gets no control character and none that turns a text
//! around: those are written as `\u` escapes, which JSON allows everywhere.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use specum_core::agent::{OneSign, Sign};
use specum_core::event::Event;
use specum_core::summary::Summary;
use specum_core::tasks::TaskKey;

use super::lines::{Line, Stamp};
use super::{Reporter, missing, sanitize};

/// How much is collected before it is written: a reader that is slow gets its lines
/// in pieces of this size.
const CHUNK: usize = 16 * 1024;

/// How the line of something that an agent says ends.
const AFTER_TEXT: &[u8] = b"\"}\n";

/// Writes events as JSON.
pub(super) struct Json<W> {
    output: W,
    /// Lines that are not written yet.
    lines: Vec<u8>,
}

impl<W: Write> Json<W> {
    pub(super) fn new(output: W) -> Json<W> {
        Json { output, lines: Vec::new() }
    }

    /// Adds the line of something that an agent says, from what stands in front of it.
    fn add_said(&mut self, before: &[u8], text: &str) {
        self.lines.extend_from_slice(before);
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            self.lines.extend_from_slice(text.as_bytes());
            self.lines.extend_from_slice(AFTER_TEXT);
        } else {
            // With the quotation mark in front of it once only.
            self.lines.pop();
            add_value(&mut self.lines, &text);
            self.lines.extend_from_slice(&AFTER_TEXT[1..]);
        }
    }

    fn write(&mut self) {
        // A run goes on although nobody reads what it says.
        let _ = self.output.write_all(&self.lines);
        let _ = self.output.flush();
        self.lines.clear();
    }
}

impl<W: Write> Reporter for Json<W> {
    fn line(&mut self, stamp: Stamp<'_>, line: &Line) {
        add_line(&mut self.lines, &Stamped { stamp, line });
        if self.lines.len() >= CHUNK {
            self.write();
        }
    }

    fn said(
        &mut self,
        stamp: Stamp<'_>,
        task: &TaskKey,
        signs: &mut dyn Iterator<Item = OneSign<'_>>,
    ) {
        let agent = |sign| Line::Agent { task: task.clone(), sign };
        // Texts come by the million, and their lines differ in what is said alone.
        let mut before = Vec::new();
        let line = agent(Sign::Text { text: String::new() });
        add_line(&mut before, &Stamped { stamp, line: &line });
        before.truncate(before.len() - AFTER_TEXT.len());
        for sign in signs {
            match sign {
                OneSign::Text(text) => self.add_said(&before, text),
                OneSign::Other(sign) => {
                    add_line(&mut self.lines, &Stamped { stamp, line: &agent(sign.clone()) });
                }
            }
            if self.lines.len() >= CHUNK {
                return self.write();
            }
        }
    }

    fn left_out(&mut self, stamp: Stamp<'_>, count: u64) {
        self.line(stamp, &missing(count));
    }

    fn tick(&mut self) {}

    fn flush(&mut self) {
        if !self.lines.is_empty() {
            self.write();
        }
    }

    fn summary(&mut self, at: &str, spec: &str, summary: &Summary) {
        self.lines.extend_from_slice(summary_line(at, spec, summary).as_bytes());
        self.write();
    }

    fn failure(&mut self, line: &str) {
        self.lines.extend_from_slice(line.as_bytes());
        self.write();
    }
}

#[derive(Serialize)]
struct Stamped<'a, L> {
    #[serde(flatten)]
    stamp: Stamp<'a>,
    #[serde(flatten)]
    line: &'a L,
}

/// A line of a report as one line of JSON, with its line ending.
pub fn event_line(stamp: Stamp<'_>, line: &Line) -> String {
    self::line(&Stamped { stamp, line })
}

/// A record that is part of no such line, with its line ending.
pub(crate) fn record_line(event: &Event) -> String {
    line(event)
}

/// A summary as one line, with its line ending.
pub fn summary_line(at: &str, spec: &str, summary: &Summary) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        at: &'a str,
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
    add_line(&mut bytes, value);
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Adds such a line to others.
fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    add_value(lines, value);
    lines.push(b'\n');
}

fn add_value(lines: &mut Vec<u8>, value: &impl Serialize) {
    let mut serializer = serde_json::Serializer::with_formatter(lines, Harmless);
    value.serialize(&mut serializer).expect("plain data is JSON");
}

/// JSON on one line, in which what a terminal would obey is escaped.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Most text is, and to look at bytes is a fraction of the work.
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
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
    use specum_core::agent::Signs;
    use specum_core::event::RunId;

    /// Counts how often it is written to.
    #[derive(Default)]
    struct Counted {
        text: Vec<u8>,
        writes: usize,
    }

    impl Write for &mut Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            self.text.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Writes all that an agent said.
    fn say(json: &mut Json<&mut Counted>, stamp: Stamp<'_>, task: &TaskKey, signs: &Signs) {
        let mut signs = signs.iter().peekable();
        while signs.peek().is_some() {
            json.said(stamp, task, &mut signs);
        }
    }

    #[test]
    fn finding_54_many_short_events_are_written_at_once() {
        let mut output = Counted::default();
        let mut json = Json::new(&mut output);
        let task = TaskKey { id: "1.1".into(), title: "a".into() };
        let mut signs = Signs::default();
        (0..1000).for_each(|number| signs.say(&number.to_string()));
        say(&mut json, Stamp::default(), &task, &signs);
        json.flush();
        let text = String::from_utf8(output.text).unwrap();
        let numbers = text.lines().map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["text"].as_str().unwrap().parse::<usize>().unwrap()
        });
        assert!(numbers.eq(0..1000), "every one, in order");
        assert!(output.writes <= text.len() / CHUNK + 1, "{} writes", output.writes);
    }

    #[test]
    fn what_an_agent_says_is_written_as_every_other_event() {
        let texts = ["plain", "", "\"quoted\"", "back\\slash", "\u{1b}[1mé\n日", "plain again"];
        let mut output = Counted::default();
        let mut json = Json::new(&mut output);
        let mut expected = String::new();
        for (number, text) in texts.iter().cycle().take(40).enumerate() {
            // A moment and a task for a few of them at a time.
            let (at, run) = (format!("moment {}", number / 5), RunId::new(number as i64 / 9, 1, 1));
            let stamp = Stamp { at: &at, seq: None, run: (number > 20).then_some(&run) };
            let id = format!("1.{}", number / 7);
            let task = TaskKey { id, title: "say \"it\"".into() };
            let signs = vec![Sign::Text { text: (*text).into() }, Sign::ToolEnded];
            say(&mut json, stamp, &task, &signs.clone().into());
            for sign in signs {
                expected.push_str(&event_line(stamp, &Line::Agent { task: task.clone(), sign }));
            }
        }
        json.flush();
        assert_eq!(String::from_utf8(output.text).unwrap(), expected);
    }

    #[test]
    fn a_terminal_sees_nothing_it_would_obey_and_a_program_sees_everything() {
        let text = "a\x1b[31m\u{9b}2J\u{202e}b\u{7f}\u{e0041}\n\"é日";
        let line = event_line(
            Stamp { at: "now", ..Stamp::default() },
            &Line::Warning { text: text.into() },
        );
        assert!(line.trim_end().chars().all(|c| !sanitize::is_hidden(c)), "{line}");
        let parsed: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((parsed["text"].as_str(), parsed["at"].as_str()), (Some(text), Some("now")));
        assert!(
            line.starts_with(r#"{"at":"now","event":"warning","text":"a"#) && line.contains("é日")
        );
    }
}

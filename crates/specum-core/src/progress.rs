//! `.progress.md`: the story of a spec, for people and for the next executor.
//!
//! specum only adds lines at the end of a section. Everything else in the file
//! belongs to the people and agents who write there.

use serde::{Deserialize, Serialize};

use crate::line::{self, Fences};

/// The part of the file a note goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Section {
    /// Tasks that passed.
    Completed,
    /// Attempts that did not, with their reason.
    Failed,
    /// What executors found out.
    Learnings,
    /// What only a person can solve.
    Blockers,
}

impl Section {
    /// The heading in the file.
    pub fn heading(self) -> &'static str {
        match self {
            Section::Completed => "## Completed Tasks",
            Section::Failed => "## Failed Attempts",
            Section::Learnings => "## Learnings",
            Section::Blockers => "## Blockers",
        }
    }
}

/// A text to be added to a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Where it goes.
    pub section: Section,
    /// One or more lines.
    pub text: String,
}

/// What stands below the goal as long as nobody has written one.
const NO_GOAL: &str = "See the documents beside this file.";

/// The file as it begins.
pub fn template(spec: &str) -> String {
    let mut text = format!("# Progress: {spec}\n\n## Goal\n\n{NO_GOAL}\n");
    for section in [Section::Completed, Section::Failed, Section::Learnings, Section::Blockers] {
        text.push_str(&format!("\n{}\n", section.heading()));
    }
    text
}

/// The file without some notes and with others.
pub fn edited(text: &[u8], retracted: &[Note], added: &[Note]) -> Vec<u8> {
    let text = retracted.iter().fold(text.to_vec(), |text, note| retract(&text, note));
    added.iter().fold(text, |text, note| add(&text, note))
}

/// The file with a note at the end of its section; a section that is missing
/// is added at the end of the file.
pub fn add(text: &[u8], note: &Note) -> Vec<u8> {
    let ending = line::line_ending(text);
    let body: String = note.text.trim_end().lines().map(|line| format!("{line}{ending}")).collect();
    match section_end(text, note.section) {
        Some(SectionEnd { at, needs_blank }) => {
            let mut added = String::new();
            if at > 0 && text[at - 1] != b'\n' {
                added.push_str(ending);
            }
            if needs_blank {
                added.push_str(ending);
            }
            [&text[..at], added.as_bytes(), body.as_bytes(), &text[at..]].concat()
        }
        None => {
            let lead = if text.is_empty() {
                String::new()
            } else if text.ends_with(b"\n") {
                ending.to_owned()
            } else {
                format!("{ending}{ending}")
            };
            let section = format!("{lead}{}{ending}{ending}{body}", note.section.heading());
            [text, section.as_bytes()].concat()
        }
    }
}

/// What stands in a section; empty if there is none.
pub fn section(text: &[u8], section: Section) -> &[u8] {
    let heading = section.heading().as_bytes();
    let Some(start) = line::lines(text).find(|line| line.trimmed() == heading) else { return &[] };
    section_end(text, section).map_or(&[], |end| text.get(start.end..end.at).unwrap_or_default())
}

/// What somebody has written below `## Goal` or `## Original Goal`.
pub fn goal(text: &[u8]) -> Option<String> {
    let is_goal =
        |line: &line::Line<'_>| matches!(line.trimmed(), b"## Goal" | b"## Original Goal");
    let below = line::lines(text).skip_while(|line| !is_goal(line)).skip(1);
    let below = below.take_while(|line| !line.text.starts_with(b"#"));
    let lines: Vec<String> = below.map(|line| line::readable(line.text.trim_ascii_end())).collect();
    let goal = lines.join("\n").trim().to_owned();
    (!goal.is_empty() && goal != NO_GOAL).then_some(goal)
}

/// The file without the last occurrence of a note.
pub fn retract(text: &[u8], note: &Note) -> Vec<u8> {
    let ending = line::line_ending(text);
    let body: String = note.text.trim_end().lines().map(|line| format!("{line}{ending}")).collect();
    let at = (0..=text.len().saturating_sub(body.len()))
        .rev()
        .find(|&at| text[at..].starts_with(body.as_bytes()) && (at == 0 || text[at - 1] == b'\n'));
    match at {
        Some(at) => [&text[..at], &text[at + body.len()..]].concat(),
        None => text.to_vec(),
    }
}

struct SectionEnd {
    /// Behind the last written line of the section.
    at: usize,
    /// Whether that line is the heading itself.
    needs_blank: bool,
}

fn section_end(text: &[u8], section: Section) -> Option<SectionEnd> {
    let mut found: Option<SectionEnd> = None;
    let mut fences = Fences::default();
    for line in line::lines(text) {
        if !fences.hide(&line) && line.text.starts_with(b"#") {
            if found.is_some() && !line.text.starts_with(b"###") {
                break;
            }
            if found.is_none() && line.trimmed() == section.heading().as_bytes() {
                found = Some(SectionEnd { at: line.end, needs_blank: true });
                continue;
            }
        }
        if let Some(end) = found.as_mut().filter(|_| !line.is_blank()) {
            *end = SectionEnd { at: line.end, needs_blank: false };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(section: Section, text: &str) -> Note {
        Note { section, text: text.into() }
    }

    fn added(text: &str, note: &Note) -> String {
        String::from_utf8(add(text.as_bytes(), note)).unwrap()
    }

    #[test]
    fn notes_go_to_the_end_of_their_section() {
        let text = template("demo");
        let text = added(&text, &note(Section::Completed, "- 1.1 a"));
        let text = added(&text, &note(Section::Completed, "- 1.2 b"));
        let text = added(&text, &note(Section::Blockers, "- 1.3 c\n  detail"));
        insta::assert_snapshot!(text, @"
        # Progress: demo

        ## Goal

        See the documents beside this file.

        ## Completed Tasks

        - 1.1 a
        - 1.2 b

        ## Failed Attempts

        ## Learnings

        ## Blockers

        - 1.3 c
          detail
        ");
    }

    #[test]
    fn a_missing_section_is_added_and_foreign_line_endings_are_kept() {
        assert_eq!(
            added("# P\r\ntext", &note(Section::Learnings, "- x")),
            "# P\r\ntext\r\n\r\n## Learnings\r\n\r\n- x\r\n"
        );
        assert_eq!(added("", &note(Section::Failed, "- x")), "## Failed Attempts\n\n- x\n");
        assert_eq!(
            added("## Learnings\n- a", &note(Section::Learnings, "- b")),
            "## Learnings\n- a\n- b\n"
        );
    }

    #[test]
    fn a_section_is_what_stands_between_headings() {
        let text = b"# P\n\n## Learnings\n\n- a\n### more\n- b\n\n## Blockers\n- c\n";
        assert_eq!(section(text, Section::Learnings), b"\n- a\n### more\n- b\n");
        assert_eq!(section(text, Section::Failed), b"");
        assert_eq!(section(b"## Learnings", Section::Learnings), b"");
    }

    #[test]
    fn a_retracted_note_leaves_the_file_as_it_was() {
        let before = added(&template("demo"), &note(Section::Completed, "- 1.1 a"));
        let twice = added(&before, &note(Section::Completed, "- 1.1 a"));
        let untrue = note(Section::Completed, "- 1.1 a");
        assert_eq!(retract(twice.as_bytes(), &untrue), before.as_bytes());
        assert_eq!(retract(b"no such line", &untrue), b"no such line");
    }

    proptest::proptest! {
        #[test]
        fn a_note_takes_no_byte_away(text in proptest::collection::vec(proptest::num::u8::ANY, 0..120), in_section: bool) {
            let text = if in_section { [b"## Learnings\n".as_slice(), &text].concat() } else { text };
            let after = add(&text, &note(Section::Learnings, "- NOTE"));
            // Whatever was there is there still, in order, around one insertion.
            let same_head = text.iter().zip(&after).take_while(|(a, b)| a == b).count();
            let same_tail = text.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
            proptest::prop_assert!(same_head + same_tail >= text.len());
        }
    }
}

//! What an agent said and did, in lines for a person: its words as they are, a line for
//! each tool call, the beginning of what that came to, and errors whole.

use specum_core::agent::Spoken;

use super::layout::{Layout, Tone, fit};
use super::sanitize;

/// How many lines of a tool's answer are shown.
const ANSWER_LINES: usize = 5;
/// How many lines of an error are shown: nobody reads more.
const ERROR_LINES: usize = 200;

/// A piece of a transcript, in lines.
pub(crate) fn lines(piece: &Spoken, layout: Layout) -> Vec<String> {
    match piece {
        Spoken::Words(text) | Spoken::Printed(text) => with_mark(text, "", Tone::Normal, layout),
        Spoken::Call(text) => {
            let line = fit(&format!("  → {}", sanitize::one_line(text)), layout.width);
            vec![layout.paint(&line, Tone::Strong)]
        }
        Spoken::Result { text, is_error: true } => {
            let mut lines = with_mark(text, "    │ ", Tone::Bad, layout);
            cut(&mut lines, ERROR_LINES, layout);
            lines
        }
        Spoken::Result { text, is_error: false } => {
            let text = sanitize::text(text);
            let mut lines = layout.quoted(&text.lines().collect::<Vec<_>>());
            cut(&mut lines, ANSWER_LINES, layout);
            lines
        }
        Spoken::Note(text) => with_mark(text, "  ! ", Tone::Wary, layout),
        Spoken::Trouble(text) => with_mark(text, "  ✗ ", Tone::Bad, layout),
    }
}

/// What a check has printed: of one that passed, the end.
pub(crate) fn output(text: &str, is_whole: bool, layout: Layout) -> Vec<String> {
    const LAST: usize = 15;
    let text = sanitize::text(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let before = if is_whole { 0 } else { lines.len().saturating_sub(LAST) };
    layout.quoted(&lines[before..])
}

fn with_mark(text: &str, mark: &str, tone: Tone, layout: Layout) -> Vec<String> {
    let text = sanitize::text(text);
    let line = |line: &str| layout.paint(&format!("{mark}{line}"), tone);
    match text.is_empty() {
        true => vec![line("")],
        false => text.lines().map(line).collect(),
    }
}

/// Says how much is not shown, in place of it.
fn cut(lines: &mut Vec<String>, most: usize, layout: Layout) {
    // One line less than is left out would be said in one more.
    if lines.len() > most + 1 {
        let more = lines.len() - most;
        lines.truncate(most);
        lines.push(layout.paint(&format!("    │ … {more} more lines"), Tone::Dim));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[Spoken]) -> String {
        let layout = Layout::of(Some(41), false);
        pieces.iter().flat_map(|piece| lines(piece, layout)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn words_stand_as_they_are_answers_are_cut_and_errors_are_whole() {
        let many = |count: usize| (1..=count).map(|n| format!("line {n}\n")).collect::<String>();
        let long = "x".repeat(50);
        let text = shown(&[
            Spoken::Words(format!("I look first.\n{long}")),
            Spoken::Call(format!("Bash: cargo test {long}")),
            Spoken::Result { text: many(6), is_error: false },
            Spoken::Result { text: many(9) + &long, is_error: false },
            Spoken::Result { text: many(7) + &long, is_error: true },
            Spoken::Note("waits: overloaded".into()),
            Spoken::Trouble("API Error".into()),
            Spoken::Printed("\x1b[31mred\x1b[0m \u{202e}plain".into()),
        ]);
        insta::assert_snapshot!(text, @"
        I look first.
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
          → Bash: cargo test xxxxxxxxxxxxxxxxxx…
            │ line 1
            │ line 2
            │ line 3
            │ line 4
            │ line 5
            │ line 6
            │ line 1
            │ line 2
            │ line 3
            │ line 4
            │ line 5
            │ … 5 more lines
            │ line 1
            │ line 2
            │ line 3
            │ line 4
            │ line 5
            │ line 6
            │ line 7
            │ xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
          ! waits: overloaded
          ✗ API Error
        red plain
        ");
    }
}

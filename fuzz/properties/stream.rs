//! What an agent prints: the same signs however the system cuts it, all of them
//! within bounds and fit for a terminal.
//!
//! The bytes are the agent's standard output. A last line `=== code 1`,
//! `=== signal 9`, `=== late 60` or `=== …` says how it ended; what follows is
//! its standard error.

use specum_core::agent::{self, Lines, Report, Sign, Signs};
use specum_core::verify::ProcessEnd;

use super::is_clean;

/// The longest answer that is kept.
const LONGEST_ANSWER: usize = 256 * 1024;

pub fn hold(name: &str, bytes: &[u8]) {
    let (output, ended, stderr) = parts(bytes);
    let whole = read(name, output, output.len(), &ended, &stderr);
    for piece in [1, 7, 4096] {
        assert_eq!(read(name, output, piece, &ended, &stderr), whole, "in pieces of {piece}");
    }
    let (signs, report) = whole;
    let mut said = 0;
    let mut tokens = 0;
    for sign in &signs {
        said += is_fit_to_show(sign);
        if let Sign::Used(used) = sign
            && matches!(name, "claude" | "opencode")
        {
            assert!(used.tokens >= tokens, "a count does not go down");
            tokens = used.tokens;
        }
    }
    // An invalid byte becomes three, and a tool without a name gets one.
    assert!(said <= 4 * output.len() && signs.len() <= output.len());
    is_a_fair_report(&report);
}

fn parts(bytes: &[u8]) -> (&[u8], ProcessEnd, String) {
    let mark = b"\n=== ";
    let Some(at) = bytes.windows(mark.len()).rposition(|window| window == mark) else {
        return (bytes, ProcessEnd::Code(0), String::new());
    };
    let behind = String::from_utf8_lossy(&bytes[at + mark.len()..]).into_owned();
    let (how, stderr) = behind.split_once('\n').unwrap_or((&behind, ""));
    let number = how.split(' ').nth(1).and_then(|number| number.parse().ok());
    let ended = match (how.split(' ').next(), number) {
        (Some("code"), Some(code)) => ProcessEnd::Code(code),
        (Some("signal"), Some(signal)) => ProcessEnd::Signal(signal),
        (Some("late"), Some(seconds)) => ProcessEnd::TimedOut(seconds.unsigned_abs().into()),
        _ => ProcessEnd::NotStarted(how.to_owned()),
    };
    (&bytes[..at + 1], ended, stderr.to_owned())
}

fn read(
    name: &str,
    output: &[u8],
    piece: usize,
    ended: &ProcessEnd,
    stderr: &str,
) -> (Vec<Sign>, Report) {
    let mut reader = agent::by_name(name, Some("cat")).expect("an agent of this name").reader();
    let mut lines = Lines::default();
    let mut signs = Signs::default();
    for bytes in output.chunks(piece.max(1)) {
        lines.push(bytes, |line| reader.read(line, &mut signs));
    }
    if let Some(line) = lines.end() {
        signs.extend(reader.line(&line));
    }
    reader.has_answered();
    (signs.into(), reader.end(ended, stderr))
}

/// How much a sign shows.
fn is_fit_to_show(sign: &Sign) -> usize {
    let (text, longest) = match sign {
        Sign::Text { text } => (text, 4096),
        Sign::Tool { name } => (name, 80),
        Sign::Retrying { why } => (why, 600),
        Sign::ToolEnded | Sign::Used(_) => return 0,
    };
    assert!(text.len() <= longest && is_clean(text), "{text:?}");
    text.len()
}

fn is_a_fair_report(report: &Report) {
    assert!(report.result.len() <= LONGEST_ANSWER && is_clean(&report.result));
    if let Some(trouble) = &report.trouble {
        let message = trouble.message();
        assert!(message.len() <= 800 && is_clean(&message), "{message:?}");
        assert!(!trouble.class().to_string().is_empty());
    }
}

//! The proof that a command reads only: a command that writes is never proved, whatever
//! stands in front of it.

use specum_core::spec::read_only::prove_text;

/// Commands that write, each understood as soon as a shell comes to it.
const WRITERS: &[&str] = &["rm -rf x", "touch x", "true > x", "find . -delete", "sort -o a b"];

/// What no proved command may contain outside of quotes.
const NEVER: &[&str] = &["rm", "eval", "exec", "xargs", "sudo", "tee", "curl"];

pub fn hold(text: &[u8]) {
    let is_proved = prove_text(text).is_ok();
    // Behind a line that goes on, a command is only more words of it.
    let goes_on = text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    for writer in WRITERS {
        let behind = [text, b"\n", writer.as_bytes()].concat();
        assert!(goes_on || prove_text(&behind).is_err(), "a command behind it writes");
        let before = [writer.as_bytes(), b"\n", text].concat();
        assert!(prove_text(&before).is_err(), "a command in front of it writes");
    }
    if !is_proved || goes_on {
        return;
    }
    let text = std::str::from_utf8(text).expect("what is no text is not proved");
    // Whatever is proved stays so between brackets, and inside of a substitution.
    let depth = text.matches(['(']).count();
    if depth < 4 && !text.contains('#') {
        assert!(prove_text(format!("({text}\n)").as_bytes()).is_ok());
        assert!(prove_text(format!("echo \"$({text}\n)\"").as_bytes()).is_ok());
    }
    let starts = text.split(['\n', ';', '|', '&', '(']).map(str::trim_start);
    for start in starts.filter(|_| !text.contains(['\'', '"', '\\', '#'])) {
        let program = start.trim_start_matches(['!', ' ']).split([' ', '\t']).next();
        assert!(!NEVER.contains(&program.unwrap_or_default()), "{start}");
    }
}

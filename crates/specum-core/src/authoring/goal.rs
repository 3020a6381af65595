//! What a person types behind `start`: flags from both ends, and a goal in between that
//! stays as it is.
//!
//! A goal is free text. An apostrophe in it opens no quote, and a flag in the middle of
//! it is one of its words.

/// The flags of `start` that stand alone.
const BARE: [&str; 5] = ["--small", "--full", "--quick", "--plan-only", "--no-commit-spec"];

/// The flags of `start` with a value.
const VALUED: [&str; 1] = ["--from"];

/// How far from the end of the text flags are looked for.
const MAX_TAIL: usize = 4096;

/// A text, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedGoal {
    /// The flags with their values, for a command line.
    pub flags: Vec<String>,
    /// What is left, as it was typed; empty if nothing is.
    pub text: String,
}

/// Takes the flags from both ends of a text. A flag in front that nobody knows is an
/// error: it may be misspelt, and the goal would swallow it.
pub fn take_flags(typed: &str) -> Result<TypedGoal, String> {
    let (mut flags, rest) = flags_in_front(typed.trim());
    let text = match rest.strip_prefix("--") {
        Some(behind) if behind.is_empty() || behind.starts_with(char::is_whitespace) => behind,
        Some(_) => {
            let word = rest.split_whitespace().next().unwrap_or_default();
            return Err(format!(
                "there is no flag `{word}`; if the goal begins with it, put `-- ` in front"
            ));
        }
        None => {
            let (kept, behind) = flags_behind(rest);
            flags.extend(behind);
            kept
        }
    };
    Ok(TypedGoal { flags, text: unquoted(text.trim()).to_owned() })
}

/// The known flags at the beginning of a text, and what stands behind them.
fn flags_in_front(text: &str) -> (Vec<String>, &str) {
    let mut flags = Vec::new();
    let mut rest = text;
    while let Some((mut found, behind)) = flag_in_front(rest) {
        flags.append(&mut found);
        rest = behind;
    }
    (flags, rest)
}

fn flag_in_front(text: &str) -> Option<(Vec<String>, &str)> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let word = &text[..end];
    let behind = text[end..].trim_start();
    if BARE.contains(&word) {
        return Some((vec![word.to_owned()], behind));
    }
    let is_valued = |name: &str| VALUED.contains(&name);
    if is_valued(word) {
        let (value, rest) = value_in_front(behind)?;
        return Some((vec![word.to_owned(), value.to_owned()], rest));
    }
    let (name, _) = word.split_once('=').filter(|(name, _)| is_valued(name))?;
    let (value, rest) = value_in_front(&text[name.len() + 1..])?;
    Some((vec![name.to_owned(), value.to_owned()], rest))
}

/// A value: a word, or what stands between two quotes of a kind.
fn value_in_front(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?;
    if matches!(first, '"' | '\'')
        && let Some(end) = text[1..].find(first)
    {
        let rest = &text[end + 2..];
        let is_whole = rest.is_empty() || rest.starts_with(char::is_whitespace);
        return is_whole.then(|| (&text[1..=end], rest.trim_start()));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

/// A text without the known flags at its end, and these.
fn flags_behind(text: &str) -> (&str, Vec<String>) {
    let mut from = text.len().saturating_sub(MAX_TAIL);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let begins = text[from..].match_indices("--").map(|(at, _)| from + at);
    let begins = begins.filter(|at| text[..*at].ends_with(char::is_whitespace));
    for at in begins {
        let (flags, rest) = flags_in_front(&text[at..]);
        if rest.is_empty() {
            return (&text[..at], flags);
        }
    }
    (text, Vec::new())
}

/// A goal that somebody has put into quotes as a whole, as a shell would want it.
fn unquoted(text: &str) -> &str {
    let inside = ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote).map(|text| (quote, text)));
    inside.filter(|(quote, text)| !text.contains(*quote)).map_or(text, |(_, text)| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(typed: &str) -> (String, String) {
        let goal = take_flags(typed).unwrap();
        (goal.flags.join("|"), goal.text)
    }

    #[test]
    fn flags_are_taken_from_both_ends_and_the_rest_stays_as_typed() {
        for (typed, flags, text) in [
            ("Add sign-in", "", "Add sign-in"),
            ("--quick Add  two\n spaces", "--quick", "Add  two\n spaces"),
            ("Add sign-in --small --quick", "--small|--quick", "Add sign-in"),
            ("--full it's done --from notes.md", "--full|--from|notes.md", "it's done"),
            ("fix it --quick --from \"my notes.md\"", "--quick|--from|my notes.md", "fix it"),
            ("fix it --from='my notes.md'", "--from|my notes.md", "fix it"),
            ("--from=notes.md", "--from|notes.md", ""),
            ("Rename --small to --color", "", "Rename --small to --color"),
            ("Rename --colour to --quick x", "", "Rename --colour to --quick x"),
            ("-- --odd goal --quick", "", "--odd goal --quick"),
            ("\"Add sign-in\" --quick", "--quick", "Add sign-in"),
            ("say \"a\" and \"b\"", "", "say \"a\" and \"b\""),
            ("\"a\" or \"b\"", "", "\"a\" or \"b\""),
            ("", "", ""),
            ("--quick", "--quick", ""),
            ("$(touch x) `id`; --quick", "--quick", "$(touch x) `id`;"),
        ] {
            assert_eq!(taken(typed), (flags.into(), text.into()), "{typed}");
        }
    }

    #[test]
    fn a_flag_in_front_that_nobody_knows_is_no_goal() {
        let why = take_flags("--quik Add sign-in").unwrap_err();
        assert!(why.contains("`--quik`"), "{why}");
        assert!(take_flags("--from").is_err(), "its value is missing");
    }

    #[test]
    fn a_huge_text_takes_no_time_and_no_panic() {
        let huge = "--small x ".repeat(20_000) + "ü --quick";
        assert_eq!(take_flags(&huge).unwrap().flags, ["--small", "--quick"]);
        let open = "ü".repeat(100_000) + " --from \"x";
        assert_eq!(take_flags(&open).unwrap().flags, ["--from", "\"x"]);
    }
}

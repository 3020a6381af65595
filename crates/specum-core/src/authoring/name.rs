//! The name of a spec, from what a person asks for.

/// Words that say nothing of what is to be done.
const FILLERS: &[&str] = &[
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "is", "it", "its", "of", "on",
    "or", "so", "that", "the", "then", "there", "this", "to", "we", "which", "with",
];
/// How many words a name has.
const MOST_WORDS: usize = 5;
/// How long it is.
const LONGEST: usize = 48;

/// A name for a folder: up to five words of the request, in lower case.
pub fn spec_name(request: &str) -> String {
    let lower = request.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words.filter(|word| !FILLERS.contains(word)).take(MOST_WORDS) {
        let longer = name.len() + word.len() + 1;
        if longer > LONGEST && !name.is_empty() {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(crate::line::head(word, LONGEST));
    }
    if name.is_empty() { "plan".to_owned() } else { name }
}

/// The same for something that has a name already, such as a folder: every word of it
/// counts.
pub fn name_of(called: &str) -> String {
    let lower = called.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name = words.join("-");
    let name = crate::line::head(&name, LONGEST).trim_end_matches('-');
    if name.is_empty() { "plan".to_owned() } else { name.to_owned() }
}

/// Whether a word can be the name of a new spec.
pub fn is_name(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    word.len() <= LONGEST
        && word.chars().all(is_part)
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !word.ends_with('-')
        && !word.contains("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_the_words_that_count() {
        assert_eq!(
            spec_name("Add sign-in by e-mail link, tokens live 15 minutes"),
            "add-sign-e-mail-link"
        );
        assert_eq!(spec_name("$(rm -rf ~); `x` \"quotes\""), "rm-rf-x-quotes");
        assert_eq!(spec_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(spec_name("öäü 日本"), "plan");
        assert_eq!(spec_name(""), "plan");
        assert!(spec_name(&"x".repeat(200_000)).len() <= LONGEST);
        assert!(is_name(&spec_name("Fix the thing - now")));
    }

    #[test]
    fn only_plain_words_are_names() {
        for name in ["add-sign-in", "x", "v2"] {
            assert!(is_name(name), "{name}");
        }
        for other in ["a--b", "A_b.c", "日本", &"x".repeat(60)] {
            assert!(!is_name(other) && is_name(&name_of(other)), "{other}");
        }
        assert_eq!(name_of("Sign in by the link"), "sign-in-by-the-link");
        for other in ["", "Add", "a b", "../x", "-x", "x-", "_epics", ".index"] {
            assert!(!is_name(other), "{other}");
        }
    }
}

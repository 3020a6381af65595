//! The one way by which texts of others get into a report.

use crate::line;
use crate::sanitize;
use crate::secrets;

/// The longest line that is shown: a title, a name, a reason.
const MAX_LINE: usize = 600;
/// The longest text.
const MAX_TEXT: usize = 20 * 1024;

/// What a report must not show because it is passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// The user's home, which becomes `~`.
    pub home: Option<String>,
    /// The root of the project, which becomes `.`.
    pub root: Option<String>,
    /// The user's name, which is left out of paths.
    pub user: Option<String>,
}

/// What stands between a text of others and a report: it bounds it, makes it harmless,
/// blacks out keys and, in a report that is passed on, whose machine it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Veil {
    /// What is not to be seen, if the report is passed on.
    pub share: Option<Share>,
}

impl Veil {
    /// A text of one line. What does not belong in one is seen in it.
    pub fn line(&self, text: &str) -> String {
        let cut = bounded(text, MAX_LINE);
        let words: Vec<&str> = cut.split_whitespace().collect();
        self.without_keys(&sanitize::visible(&words.join(" ")))
    }

    /// What a program or an agent has printed, or a person has written: colours and the
    /// like are taken away.
    pub fn text(&self, text: &str) -> String {
        self.without_keys(&sanitize::clean(&bounded(text, MAX_TEXT)))
    }

    /// Code, in which everything is seen.
    pub fn code(&self, text: &str) -> String {
        self.without_keys(&sanitize::visible(text))
    }

    fn without_keys(&self, text: &str) -> String {
        let text = secrets::black_out(text).into_owned();
        let Some(Share { home, root, user }) = &self.share else { return text };
        let mut text = text;
        // The root may stand below the home.
        for (path, short) in [(root, "."), (home, "~")] {
            if let Some(path) = path.as_deref().filter(|path| path.len() > 1) {
                text = without_path(&text, path, short);
            }
        }
        match user.as_deref().filter(|user| user.len() > 1) {
            Some(user) => text.replace(&format!("/{user}/"), "/…/"),
            None => text,
        }
    }
}

/// A text in which a path, and what is below it, begins otherwise. A longer name that begins
/// alike stays.
fn without_path(text: &str, path: &str, short: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, behind) = (&rest[..at], &rest[at + path.len()..]);
        let goes_on = behind.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        out.push_str(before);
        out.push_str(if goes_on { path } else { short });
        rest = behind;
    }
    out + rest
}

/// The beginning and the end of a long text.
fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}\n…\n{}", line::head(text, most / 4), line::tail(text, most - most / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_is_passed_on_names_neither_home_nor_project_nor_user() {
        let share = Share {
            home: Some("/home/anna".into()),
            root: Some("/home/anna/shop".into()),
            user: Some("anna".into()),
        };
        let veil = Veil { share: Some(share) };
        let text = "at /home/anna/shop/a.rs, /home/anna/.cargo, /home/anna/shopping, /mnt/anna/x";
        assert_eq!(veil.line(text), "at ./a.rs, ~/.cargo, ~/shopping, /mnt/…/x");
        assert_eq!(Veil::default().line(text), text);
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let veil = Veil::default();
        let long = format!("begin{}end", "é".repeat(MAX_TEXT));
        let text = veil.text(&long);
        assert!(text.len() < MAX_TEXT + 10 && text.starts_with("begin") && text.ends_with("end"));
        assert_eq!(veil.line(" a\n\tb\x1b[1m "), "a b␛[1m");
        assert_eq!(veil.text("a\x1b[1mb"), "ab");
        assert_eq!(veil.code("a\u{202e}b"), "a⟨U+202E⟩b");
    }
}

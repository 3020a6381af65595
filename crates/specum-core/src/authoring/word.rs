//! What a person types as a whole message where a host has no dialogs.

use crate::spec::Doc;

/// A person's word about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedWord {
    /// What waits is right, if it is this document.
    Approve(Option<Doc>),
    /// This is to change in what waits.
    Change(String),
}

impl TypedWord {
    /// The word that a message is, and nothing else. "ok, go on" is none.
    pub fn of(message: &str) -> Option<TypedWord> {
        let rest = message.trim().strip_prefix("specum ")?.trim_start();
        let (verb, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match (verb, rest.trim()) {
            ("approve", "") => Some(TypedWord::Approve(None)),
            ("approve", doc) => Doc::named(doc).map(Some).map(TypedWord::Approve),
            ("change", "") => None,
            ("change", text) => Some(TypedWord::Change(text.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_message_is_a_word() {
        let of = TypedWord::of;
        assert_eq!(of(" specum approve\n"), Some(TypedWord::Approve(None)));
        assert_eq!(of("specum approve design"), Some(TypedWord::Approve(Some(Doc::Design))));
        assert_eq!(of("specum approve design.md"), Some(TypedWord::Approve(Some(Doc::Design))));
        let change = of("specum change it's 10 minutes,\nnot 15");
        assert_eq!(change, Some(TypedWord::Change("it's 10 minutes,\nnot 15".into())));
        for other in [
            "",
            "approve",
            "ok, specum approve",
            "specum approve this please",
            "specum approve demo",
            "specum change",
            "specum changed",
            "Specum approve",
            "specumapprove",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}

//! The ids that documents give to what they state: `US-1`, `AC-1.2`, `FR-3`, `NFR-1`,
//! `C-2`, `Q-1`, `A-1`.
//!
//! Readers take `FR-001` for `FR-1`. Writers write the short form.

use std::fmt;

/// What an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A user story.
    Story,
    /// An acceptance criterion.
    Criterion,
    /// A functional requirement.
    Functional,
    /// A requirement with a measure.
    NonFunctional,
    /// A component of the design.
    Component,
    /// A question for a person.
    Question,
    /// Something taken for granted.
    Assumption,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Story,
        Kind::Criterion,
        Kind::Functional,
        Kind::NonFunctional,
        Kind::Component,
        Kind::Question,
        Kind::Assumption,
    ];

    /// The letters in front of the number.
    pub fn prefix(self) -> &'static str {
        match self {
            Kind::Story => "US",
            Kind::Criterion => "AC",
            Kind::Functional => "FR",
            Kind::NonFunctional => "NFR",
            Kind::Component => "C",
            Kind::Question => "Q",
            Kind::Assumption => "A",
        }
    }
}

/// An id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// What it names.
    pub kind: Kind,
    /// Its number, part by part.
    pub numbers: Vec<u32>,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        write!(f, "{}-{}", self.kind.prefix(), numbers.join("."))
    }
}

impl Id {
    /// The id that a text is, and nothing else.
    pub fn parse(text: &str) -> Option<Id> {
        let (id, length) = Id::at_start(text)?;
        (length == text.len()).then_some(id)
    }

    /// The id that a text begins with, and how long it is.
    pub fn at_start(text: &str) -> Option<(Id, usize)> {
        let (prefix, rest) = text.split_once('-')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.prefix() == prefix)?;
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches('.');
        let numbers: Option<Vec<u32>> = number.split('.').map(|part| part.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() <= 3)?;
        let behind = rest[number.len()..].chars().next();
        // `FR-1a` is a name of something else; `_FR-1_` is emphasis.
        if behind.is_some_and(char::is_alphanumeric) {
            return None;
        }
        Some((Id { kind, numbers }, prefix.len() + 1 + number.len()))
    }
}

/// The most ids that one range such as `FR-1 to FR-9` stands for.
const LONGEST_RANGE: u32 = 200;

/// The ids in a text, in their order, ranges such as `FR-1..FR-4` written out.
pub fn ids_in(text: &str) -> Vec<Id> {
    let mut found: Vec<Id> = Vec::new();
    let mut at = 0;
    let mut end_of_last = None;
    while let Some(length) = text[at..].find(|c: char| c.is_ascii_uppercase()) {
        let start = at + length;
        let before = text[..start].chars().next_back();
        let begins = before.is_none_or(|c| !(c.is_alphanumeric() || c == '-'));
        match Id::at_start(&text[start..]).filter(|_| begins) {
            Some((id, length)) => {
                let between = end_of_last.map(|end: usize| text[end..start].trim());
                if let (Some(between), Some(last)) = (between, found.last()) {
                    found.extend(ids_between(&last.clone(), &id, between));
                }
                found.push(id);
                at = start + length;
                end_of_last = Some(at);
            }
            None => at = start + 1,
        }
    }
    found
}

/// What a range leaves out.
fn ids_between(first: &Id, last: &Id, between: &str) -> Vec<Id> {
    let is_range = matches!(between, ".." | "..." | "-" | "–" | "—" | "to" | "through" | "…");
    let (Some((from, head)), Some((to, other))) =
        (first.numbers.split_last(), last.numbers.split_last())
    else {
        return Vec::new();
    };
    let fits = is_range && first.kind == last.kind && head == other;
    if !fits || to.saturating_sub(*from) > LONGEST_RANGE {
        return Vec::new();
    }
    let id = |number: u32| {
        let numbers = head.iter().copied().chain([number]).collect();
        Id { kind: first.kind, numbers }
    };
    (from + 1..*to).map(id).collect()
}

/// A text as an id that somebody has misspelt: `FR1`, `fr-1`, `FR_1`, `FR 1`.
pub fn meant(text: &str) -> Option<Id> {
    let letters = text.find(|c: char| !c.is_ascii_alphabetic())?;
    let (prefix, rest) = text.split_at(letters);
    let number = rest.trim_start_matches([' ', '_', '-', '.']);
    let kind = Kind::ALL.into_iter().find(|kind| kind.prefix().eq_ignore_ascii_case(prefix))?;
    Id::parse(&format!("{}-{number}", kind.prefix())).filter(|id| id.to_string() != text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> String {
        let ids: Vec<String> = ids_in(text).iter().map(Id::to_string).collect();
        ids.join(" ")
    }

    #[test]
    fn ids_are_found_wherever_they_stand() {
        assert_eq!(listed("_Requirements: FR-1, AC-1.2_ and **NFR-003**."), "FR-1 AC-1.2 NFR-3");
        assert_eq!(listed("see XFR-1, FR-1a, FR-x, UTF-8, C-3: x"), "C-3");
        assert_eq!(listed("FR-1.5.2.1 FR-99999999999"), "");
    }

    #[test]
    fn a_range_stands_for_all_that_lies_between() {
        assert_eq!(listed("FR-1..FR-4"), "FR-1 FR-2 FR-3 FR-4");
        assert_eq!(listed("AC-2.1 to AC-2.3"), "AC-2.1 AC-2.2 AC-2.3");
        assert_eq!(listed("FR-1, FR-4"), "FR-1 FR-4");
        assert_eq!(listed("FR-1 – NFR-4"), "FR-1 NFR-4");
        assert_eq!(listed("FR-1..FR-9000"), "FR-1 FR-9000", "no range is that long");
        assert_eq!(listed("FR-4..FR-1"), "FR-4 FR-1");
    }

    #[test]
    fn a_misspelt_id_is_known() {
        assert_eq!(meant("FR1").map(|id| id.to_string()).as_deref(), Some("FR-1"));
        assert_eq!(meant("fr-1").map(|id| id.to_string()).as_deref(), Some("FR-1"));
        assert_eq!(meant("AC 1.1").map(|id| id.to_string()).as_deref(), Some("AC-1.1"));
        assert_eq!(meant("FR-1"), None);
        assert_eq!(meant("Total"), None);
    }
}

//! Signs of life on their way to the views that show them.
//!
//! An agent may print millions of short lines, and each of them is a sign. What they
//! say stands in one piece of memory: to give each a piece of its own, and to give it
//! back in another thread, takes longer than to read and to write it.

use serde::{Deserialize, Serialize};

use super::Sign;

/// Signs in the order in which they were given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Sign>", into = "Vec<Sign>")]
pub struct Signs {
    /// What all texts say, one behind the other.
    texts: String,
    signs: Vec<Kept>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kept {
    /// So many bytes of the texts.
    Text(usize),
    /// Any sign but a text.
    Other(Sign),
}

/// One of several signs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OneSign<'s> {
    /// It says something.
    Text(&'s str),
    /// Any sign but a text.
    Other(&'s Sign),
}

impl Signs {
    /// Adds a text.
    pub fn say(&mut self, text: &str) {
        self.texts.push_str(text);
        self.signs.push(Kept::Text(text.len()));
    }

    /// Adds a sign.
    pub fn push(&mut self, sign: Sign) {
        match sign {
            Sign::Text { text } => self.say(&text),
            other => self.signs.push(Kept::Other(other)),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.signs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.signs.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = OneSign<'_>> {
        let mut rest = self.texts.as_str();
        self.signs.iter().map(move |kept| match kept {
            Kept::Text(length) => {
                let (text, behind) = rest.split_at(*length);
                rest = behind;
                OneSign::Text(text)
            }
            Kept::Other(sign) => OneSign::Other(sign),
        })
    }

    /// Takes out those behind the first ones.
    pub fn split_off(&mut self, first: usize) -> Signs {
        let signs = self.signs.split_off(first);
        let length: usize = signs.iter().map(Kept::length).sum();
        Signs { texts: self.texts.split_off(self.texts.len() - length), signs }
    }

    /// The kinds of the signs, for a process that does not read itself. A text behind a text tells
    /// nothing more.
    pub fn without_words(&self) -> Vec<Sign> {
        let mut kinds: Vec<Sign> = Vec::new();
        for sign in self.iter() {
            let is_text = matches!(sign, OneSign::Text(_));
            if !(is_text && matches!(kinds.last(), Some(Sign::Text { .. }))) {
                kinds.push(sign.without_words());
            }
        }
        kinds
    }
}

impl Kept {
    fn length(&self) -> usize {
        match self {
            Kept::Text(length) => *length,
            Kept::Other(_) => 0,
        }
    }
}

impl OneSign<'_> {
    /// The sign by itself.
    pub fn to_sign(self) -> Sign {
        match self {
            OneSign::Text(text) => Sign::Text { text: text.to_owned() },
            OneSign::Other(sign) => sign.clone(),
        }
    }

    fn without_words(self) -> Sign {
        match self {
            OneSign::Text(_) => Sign::Text { text: String::new() },
            OneSign::Other(Sign::Tool { .. }) => Sign::Tool { name: String::new() },
            OneSign::Other(Sign::Retrying { .. }) => Sign::Retrying { why: String::new() },
            OneSign::Other(sign) => sign.clone(),
        }
    }
}

impl Extend<Sign> for Signs {
    fn extend<I: IntoIterator<Item = Sign>>(&mut self, signs: I) {
        signs.into_iter().for_each(|sign| self.push(sign));
    }
}

impl From<Vec<Sign>> for Signs {
    fn from(list: Vec<Sign>) -> Signs {
        let mut signs = Signs::default();
        signs.extend(list);
        signs
    }
}

impl From<Signs> for Vec<Sign> {
    fn from(signs: Signs) -> Vec<Sign> {
        signs.iter().map(OneSign::to_sign).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Usage;

    fn said(text: &str) -> Sign {
        Sign::Text { text: text.into() }
    }

    fn some() -> Vec<Sign> {
        let used = Sign::Used(Usage { tokens: 1, cost: None });
        let why = "busy".to_owned();
        let tool = Sign::Tool { name: "make".into() };
        vec![said("é"), said(""), tool, Sign::ToolEnded, said("b"), used, Sign::Retrying { why }]
    }

    #[test]
    fn signs_come_back_as_they_were_wherever_they_are_cut() {
        for first in 0..=some().len() {
            let mut signs = Signs::from(some());
            let behind = signs.split_off(first);
            assert_eq!((signs.len(), behind.len()), (first, some().len() - first));
            let (mut list, behind) = (Vec::from(signs), Vec::from(behind));
            list.extend(behind);
            assert_eq!(list, some());
        }
    }

    #[test]
    fn whoever_does_not_read_hears_of_neighbouring_texts_once() {
        let kinds = Signs::from(some()).without_words();
        assert_eq!(kinds.len(), some().len() - 1);
        assert_eq!(kinds[..2], [said(""), Sign::Tool { name: String::new() }]);
        assert_eq!(kinds[3], said(""));
    }

    #[test]
    fn they_are_written_as_a_list() {
        let json = serde_json::to_string(&Signs::from(some())).unwrap();
        assert_eq!(json, serde_json::to_string(&some()).unwrap());
        assert_eq!(serde_json::from_str::<Signs>(&json).unwrap(), Signs::from(some()));
    }
}

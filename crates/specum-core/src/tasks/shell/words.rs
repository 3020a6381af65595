//! A command as a list of simple commands, each with its words.

use crate::line;

/// One simple command of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Its words without quotes; redirections and assignments left out.
    pub(super) words: Vec<String>,
    /// Whether an assignment in front, or one that stands alone, runs a command.
    pub(super) substitutes: bool,
    /// Whether it begins with `!`.
    pub(super) negated: bool,
    /// What stands behind it.
    pub(super) then: Join,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    End,
    And,
    Or,
    Pipe,
    Background,
}

/// Words that make more than a list of what follows.
pub(super) const KEYWORDS: &[&str] = &[
    "{", "}", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
    "esac", "function", "select", "in",
];
/// The simple commands of a list, or `None` if it is more than a list.
pub(super) fn parts(command: &[u8]) -> Option<Vec<Part>> {
    let text = line::readable(command);
    let mut lexer = Lexer { rest: text.chars().peekable(), parts: Vec::new(), words: Vec::new() };
    lexer.run()?;
    Some(lexer.parts)
}

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// A word, and whether it was quoted or begins a redirection's target.
struct Word {
    text: String,
    quoted: bool,
    substitutes: bool,
}

struct Lexer<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    parts: Vec<Part>,
    words: Vec<Word>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some(&c) = self.rest.peek() {
            match c {
                ' ' | '\t' | '\r' => {
                    self.rest.next();
                }
                '#' => while self.rest.next_if(|&c| c != '\n').is_some() {},
                '\n' | ';' | '&' | '|' => self.operator()?,
                '<' | '>' => self.redirection()?,
                '(' | ')' => return None,
                _ => {
                    let word = self.word()?;
                    let is_number = word.text.bytes().all(|b| b.is_ascii_digit());
                    if is_number && matches!(self.rest.peek(), Some('<' | '>')) {
                        self.redirection()?;
                    } else {
                        self.words.push(word);
                    }
                }
            }
        }
        self.end(Join::End)
    }

    fn operator(&mut self) -> Option<()> {
        let c = self.rest.next()?;
        let doubled = c != '\n' && self.rest.next_if_eq(&c).is_some();
        match (c, doubled) {
            ('\n', _) | (';', false) => self.end(Join::End),
            ('&', true) => self.end(Join::And),
            ('|', true) => self.end(Join::Or),
            ('|', false) => {
                self.rest.next_if_eq(&'&');
                self.end(Join::Pipe)
            }
            ('&', false) if self.rest.peek() == Some(&'>') => self.redirection(),
            ('&', false) => self.end(Join::Background),
            _ => None,
        }
    }

    /// A redirection and its target. A here-document is none.
    fn redirection(&mut self) -> Option<()> {
        let mut operator = String::new();
        while let Some(c) = self.rest.next_if(|c| "<>&|".contains(*c)) {
            operator.push(c);
        }
        if operator.starts_with("<<") {
            return None;
        }
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        match self.rest.peek() {
            None | Some('\n' | ';' | '&' | '|' | '(' | ')') => None,
            Some(_) => self.word().map(|_| ()),
        }
    }

    /// A word without its quotes.
    fn word(&mut self) -> Option<Word> {
        let mut word = Word { text: String::new(), quoted: false, substitutes: false };
        while let Some(&c) = self.rest.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' => break,
                '(' | ')' | '`' => return None,
                '\'' => {
                    self.rest.next();
                    word.quoted = true;
                    self.until('\'', &mut word.text)?;
                }
                '"' => {
                    self.rest.next();
                    word.quoted = true;
                    self.double_quoted(&mut word)?;
                }
                '\\' => {
                    self.rest.next();
                    match self.rest.next() {
                        Some('\n') | None => {}
                        Some(c) => word.text.push(c),
                    }
                }
                '$' => self.expansion(&mut word)?,
                _ => {
                    self.rest.next();
                    word.text.push(c);
                }
            }
        }
        Some(word)
    }

    fn until(&mut self, close: char, text: &mut String) -> Option<()> {
        loop {
            match self.rest.next()? {
                c if c == close => return Some(()),
                c => text.push(c),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match *self.rest.peek()? {
                '"' => {
                    self.rest.next();
                    return Some(());
                }
                '\\' => {
                    self.rest.next();
                    word.text.push(self.rest.next()?);
                }
                '`' => return None,
                '$' => self.expansion(word)?,
                c => {
                    self.rest.next();
                    word.text.push(c);
                }
            }
        }
    }

    /// `$name`, `${…}` or `$(…)`, which stays in the word as it stands.
    fn expansion(&mut self, word: &mut Word) -> Option<()> {
        word.text.push(self.rest.next()?);
        if self.rest.peek() != Some(&'(') {
            return Some(());
        }
        word.substitutes = true;
        let mut depth = 0_usize;
        loop {
            let c = self.rest.next()?;
            word.text.push(c);
            match c {
                '(' => depth += 1,
                ')' if depth == 1 => return Some(()),
                ')' => depth -= 1,
                // A bracket in quotes would be counted.
                '\'' | '"' => {
                    let mut quoted = String::new();
                    self.until(c, &mut quoted)?;
                    word.text.push_str(&quoted);
                }
                _ => {}
            }
        }
    }

    /// Ends a simple command.
    fn end(&mut self, then: Join) -> Option<()> {
        let words = std::mem::take(&mut self.words);
        let negated = words.first().is_some_and(|word| word.text == "!" && !word.quoted);
        let mut words = words.into_iter().skip(usize::from(negated)).peekable();
        let mut substitutes = false;
        let mut assigned = false;
        while let Some(word) = words.next_if(|word| is_assignment(&word.text)) {
            substitutes |= word.substitutes;
            assigned = true;
        }
        if words.peek().is_some_and(|word| !word.quoted && KEYWORDS.contains(&word.text.as_str())) {
            return None;
        }
        let words: Vec<String> = words.map(|word| word.text).collect();
        if words.is_empty() && !assigned {
            // An empty line is nothing; an operator without a command in front
            // is no list, unless the line before has gone on to this one.
            return (then == Join::End && !negated).then_some(());
        }
        self.parts.push(Part { words, substitutes, negated, then });
        Some(())
    }
}

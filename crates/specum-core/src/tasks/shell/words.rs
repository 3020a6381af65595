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
/// What ends a shell, or changes when it ends.
pub(super) const ENDS: &[&str] = &["set", "trap", "exit", "return", "exec"];

/// What stands in an outline for a group such as `(cd web && make)`, or for a
/// compound command such as `if … fi`.
const GROUP: &str = "(…)";

/// The simple commands of a list, or `None` if it is more than a list.
pub(super) fn parts(command: &[u8]) -> Option<Vec<Part>> {
    Lexer::new(&line::readable(command), false).run()
}

/// The same, with each group and each compound command as one part that may
/// fail; `None` for a here-document, a function or a `case`.
pub(super) fn outline(command: &[u8]) -> Option<Vec<Part>> {
    Lexer::new(&line::readable(command), true).run()
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

impl Word {
    /// Whether it is one of the words that a compound command is made of.
    fn is_keyword(&self) -> bool {
        !self.quoted && (self.text == "!" || KEYWORDS.contains(&self.text.as_str()))
    }
}

struct Lexer<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    parts: Vec<Part>,
    words: Vec<Word>,
    /// Whether groups and compound commands are taken as one part.
    outlines: bool,
    /// How many compound commands are open.
    depth: usize,
}

/// Where the words of a simple command stand in an outline.
enum WordPlace {
    /// In no compound command.
    Outside,
    /// In one.
    Inside,
    /// They end the outermost one.
    End,
}

impl<'t> Lexer<'t> {
    fn new(text: &'t str, outlines: bool) -> Lexer<'t> {
        let rest = text.chars().peekable();
        Lexer { rest, parts: Vec::new(), words: Vec::new(), outlines, depth: 0 }
    }

    fn run(mut self) -> Option<Vec<Part>> {
        while let Some(&c) = self.rest.peek() {
            match c {
                ' ' | '\t' | '\r' => {
                    self.rest.next();
                }
                '#' => while self.rest.next_if(|&c| c != '\n').is_some() {},
                '\n' | ';' | '&' | '|' => self.operator()?,
                '<' | '>' => self.redirection()?,
                '(' if self.outlines && self.begins_a_command() => self.group()?,
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
        self.end(Join::End)?;
        (self.depth == 0).then_some(self.parts)
    }

    /// Whether a command begins here: nothing but keywords stands in front.
    fn begins_a_command(&self) -> bool {
        self.words.iter().all(Word::is_keyword)
    }

    /// A group in brackets, as one word.
    fn group(&mut self) -> Option<()> {
        let mut skipped = Word { text: String::new(), quoted: false, substitutes: false };
        self.brackets(&mut skipped)?;
        self.words.push(Word { text: GROUP.to_owned(), quoted: true, substitutes: false });
        Some(())
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
                '(' | ')' => return None,
                '`' => self.backticks(&mut word)?,
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
                '`' => self.backticks(word)?,
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
        self.brackets(word)
    }

    /// `` `command` ``, which stays in the word as it stands.
    fn backticks(&mut self, word: &mut Word) -> Option<()> {
        word.substitutes = true;
        word.text.push(self.rest.next()?);
        loop {
            let c = self.rest.next()?;
            word.text.push(c);
            match c {
                '`' => return Some(()),
                '\\' => word.text.push(self.rest.next()?),
                _ => {}
            }
        }
    }

    /// From an opening bracket to the one that closes it.
    fn brackets(&mut self, word: &mut Word) -> Option<()> {
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

    /// Follows the keywords in front of a simple command into and out of compound
    /// commands.
    fn place(&mut self, words: &[Word]) -> Option<WordPlace> {
        let was_inside = self.depth > 0;
        for word in words.iter().take_while(|word| word.is_keyword()) {
            match word.text.as_str() {
                "{" | "if" | "for" | "while" | "until" | "select" => self.depth += 1,
                "}" | "fi" | "done" => self.depth = self.depth.checked_sub(1)?,
                "case" | "esac" | "function" => return None,
                _ => {}
            }
        }
        let place = match (was_inside, self.depth) {
            (false, 0) => return Some(WordPlace::Outside),
            (true, 0) => WordPlace::End,
            _ => WordPlace::Inside,
        };
        // The shell that runs a compound command may end there.
        let program = words.iter().find(|word| !word.is_keyword());
        let ends_the_shell = program.is_some_and(|word| ENDS.contains(&word.text.as_str()));
        (!ends_the_shell).then_some(place)
    }

    /// Ends a simple command.
    fn end(&mut self, then: Join) -> Option<()> {
        let mut words = std::mem::take(&mut self.words);
        if self.outlines {
            match self.place(&words)? {
                WordPlace::Outside => {}
                WordPlace::Inside => return Some(()),
                WordPlace::End => {
                    words = vec![Word { text: GROUP.to_owned(), quoted: true, substitutes: false }];
                }
            }
        }
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

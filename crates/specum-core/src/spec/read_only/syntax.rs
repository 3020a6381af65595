//! As much of the shell's grammar as a proof can stand on: lists, pipes, `!`, groups in
//! brackets, quotes, `"$(…)"`, and redirections to `/dev/null`. `None` for all else.

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Its words; there is one at least.
    pub(super) words: Vec<Word>,
}

/// A word of a simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Its text without quotes. A substitution stands in it as nothing.
    pub(super) text: String,
    /// Whether a part of it is only known when it runs.
    pub(super) is_dynamic: bool,
    /// Where the first character stands that the shell compares with the names of
    /// files.
    pub(super) pattern: Option<usize>,
}

impl Word {
    /// The text, if nothing is unknown in it.
    pub(super) fn fixed(&self) -> Option<&str> {
        (!self.is_dynamic && self.pattern.is_none()).then_some(self.text.as_str())
    }
}

/// How deep groups and substitutions may lie in each other.
const DEEPEST: usize = 8;

/// The words that begin or end what is no simple command.
const RESERVED: &[&str] = &[
    "{", "}", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
    "esac", "in", "function", "select", "time", "coproc", "[[", "]]", "!",
];

/// All simple commands of a text, in substitutions too.
pub(super) fn calls(text: &str) -> Option<Vec<Call>> {
    let mut reader = Reader { rest: text, calls: Vec::new(), depth: 0 };
    reader.list()?;
    reader.rest.is_empty().then_some(reader.calls)
}

struct Reader<'t> {
    rest: &'t str,
    calls: Vec<Call>,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t']);
            if !self.take("\\\n") {
                break;
            }
        }
    }

    /// Blanks, line ends and comments.
    fn space(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => {
                    self.next();
                }
                Some('#') => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                _ => break,
            }
        }
    }

    /// Commands, joined by operators, down to the end or to a closing bracket.
    fn list(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        self.space();
        while !matches!(self.peek(), None | Some(')')) {
            self.command()?;
            self.blanks();
            let is_joined = self.take("&&") || self.take("||") || self.joins_by_pipe();
            if is_joined {
                self.space();
                if matches!(self.peek(), None | Some(')')) {
                    return None;
                }
                continue;
            }
            match self.peek() {
                None | Some(')') => break,
                Some(';') => {
                    self.next();
                    // `;;` belongs to a case.
                    if self.peek() == Some(';') {
                        return None;
                    }
                }
                Some('\n' | '#') => {}
                _ => return None,
            }
            self.space();
        }
        self.depth -= 1;
        Some(())
    }

    fn joins_by_pipe(&mut self) -> bool {
        // `|&` is bash's alone.
        self.rest.starts_with('|') && !self.rest.starts_with("|&") && self.take("|")
    }

    /// A simple command, or a group in brackets.
    fn command(&mut self) -> Option<()> {
        while self.rest.starts_with("! ") || self.rest.starts_with("!\t") {
            self.next();
            self.blanks();
        }
        if self.take("(") {
            self.list()?;
            if !self.take(")") {
                return None;
            }
            return self.redirections();
        }
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.redirections()?;
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')' | '#') => break,
                Some('(') => return None,
                Some(_) => words.push(self.word()?),
            }
        }
        // Only such settings as change the language of what is printed.
        while words.first().is_some_and(is_harmless_setting) {
            words.remove(0);
        }
        let first = words.first()?;
        let name = first.fixed()?;
        if name.contains('=') || RESERVED.contains(&name) {
            return None;
        }
        self.calls.push(Call { words });
        Some(())
    }

    /// Redirections to nothing, and of errors to where the output goes. Leaves what is
    /// none of them.
    fn redirections(&mut self) -> Option<()> {
        loop {
            self.blanks();
            let known = ["2>&1", "1>&2", ">&2"];
            if known.iter().any(|known| self.take(known)) {
                self.ends()?;
                continue;
            }
            let opened = [">>", "1>", "2>", ">", "<"].iter().any(|known| self.take(known));
            if !opened {
                return Some(());
            }
            self.take(">");
            self.blanks();
            if !self.take("/dev/null") {
                return None;
            }
            self.ends()?;
        }
    }

    /// Nothing more belongs to the word here.
    fn ends(&self) -> Option<()> {
        let ends = matches!(self.peek(), None | Some(' ' | '\t' | '\n' | ';' | '|' | ')' | '&'));
        ends.then_some(())
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let mut is_first = true;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '\'' => {
                    self.next();
                    let end = self.rest.find('\'')?;
                    word.text.push_str(&self.rest[..end]);
                    self.rest = &self.rest[end + 1..];
                }
                '"' => {
                    self.next();
                    self.quoted(&mut word)?;
                }
                '\\' => {
                    self.next();
                    let c = self.next()?;
                    if c != '\n' {
                        word.text.push(c);
                    }
                }
                '*' | '?' | '[' if is_test(c, self.rest, is_first) => {
                    self.next();
                    word.text.push(c);
                }
                '*' | '?' | '[' => {
                    word.pattern.get_or_insert(word.text.len());
                    self.next();
                    word.text.push(c);
                }
                // A home, another shell's braces, a substitution, a redirection that ends
                // a word: more than a word.
                '~' if is_first => return None,
                '$' | '`' | '<' | '>' | '(' | '{' | '}' => return None,
                c if c.is_control() => return None,
                c => {
                    self.next();
                    word.text.push(c);
                }
            }
            is_first = false;
        }
        Some(word)
    }

    /// What stands between double quotes.
    fn quoted(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => match self.next()? {
                    c @ ('"' | '\\' | '$' | '`') => word.text.push(c),
                    '\n' => {}
                    c => {
                        word.text.push('\\');
                        word.text.push(c);
                    }
                },
                '`' => return None,
                '$' => {
                    if !self.take("(") || self.rest.starts_with('(') {
                        return None;
                    }
                    self.list()?;
                    if !self.take(")") {
                        return None;
                    }
                    word.is_dynamic = true;
                }
                c => word.text.push(c),
            }
        }
    }
}

/// Whether a bracket is the program `[`, which no file name matches.
fn is_test(c: char, rest: &str, is_first: bool) -> bool {
    c == '[' && is_first && rest[1..].starts_with([' ', '\t'])
}

fn is_harmless_setting(word: &Word) -> bool {
    let fixed = word.fixed();
    let setting = fixed.and_then(|text| text.split_once('='));
    setting.is_some_and(|(name, value)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        matches!(name, "LC_ALL" | "LANG" | "LC_COLLATE") && value.chars().all(is_name)
    })
}

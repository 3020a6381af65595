//! JSON as people write it, changed in the text: all other bytes stay.
//!
//! What [`Document::insert`] has put in, [`Document::remove`] takes out without
//! a trace, whatever the layout. Only the text tells what was there before: an
//! empty object or list gets its first entry behind a single blank, and one that
//! is made together with its entry never has that.

use anyhow::{anyhow, bail};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Value, json};

const COLLECT: CollectOptions =
    CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
/// JSON, with comments and a comma behind the last entry.
const PARSE: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};
const LINE_ENDS: [char; 2] = ['\n', '\r'];
/// Before an entry on the same line, and before the first one of what was empty.
const BLANK: &str = " ";

pub(super) struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) root: Object<'t>,
    tokens: Vec<TokenAndRange<'t>>,
}

/// A field of an object; of two with the same name the last one counts.
pub(super) fn field<'o, 't>(object: &'o Object<'t>, name: &str) -> Option<&'o ObjectProp<'t>> {
    object.properties.iter().rfind(|field| field.name.as_str() == name)
}

impl<'t> Document<'t> {
    /// The object in a text; `None` if there is nothing at all in it.
    pub(super) fn parse(text: &'t str) -> anyhow::Result<Option<Document<'t>>> {
        let parsed = parse_to_ast(text, &COLLECT, &PARSE).map_err(|error| {
            anyhow!("it is not JSON ({error}); correct it, then call this again")
        })?;
        let tokens = parsed.tokens.unwrap_or_default();
        match parsed.value {
            Some(Node::Object(root)) => Ok(Some(Document { text, root, tokens })),
            None if tokens.is_empty() => Ok(None),
            _ => bail!("it is not a JSON object; make it one, then call this again"),
        }
    }

    /// The text with one more entry at the end of an object or a list.
    pub(super) fn insert(&self, name: Option<&str>, value: &Value, into: Range) -> String {
        let inside = self.tokens_in(Range::new(into.start + 1, into.end - 1));
        let entries = inside.iter().rposition(|token| !is_comment(token) && !is_comma(token));
        let end = entries.map_or(into.start + 1, |last| inside[last].end());
        // Behind the comments, so that they stay with what they are about.
        let at = inside.last().map_or(end, Ranged::end);
        let comma_behind = inside.iter().any(|token| is_comma(token) && token.start() >= end);
        let comma_before = entries.is_some() && !comma_behind;

        let line_end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let (indent, in_lines) = match inside.first().map(|first| self.indent_at(first.start())) {
            Some((line, indent)) if line > into.start => (indent.to_owned(), true),
            Some((_, outer)) => {
                let in_lines = into.text(self.text).contains(LINE_ENDS);
                (format!("{outer}{}", self.indent_unit()), in_lines)
            }
            None => {
                let in_lines = into == self.root.range || self.text.trim().contains(LINE_ENDS);
                (self.indent_at(into.start).1.to_owned(), in_lines)
            }
        };
        let line_begin = in_lines.then(|| format!("{line_end}{indent}"));
        let gap = line_begin.as_deref().filter(|_| !inside.is_empty()).unwrap_or(BLANK);
        let entry = self.written(name, value, line_begin.as_deref());
        let comma = |wanted| if wanted { "," } else { "" };
        let (before, between, after) = (&self.text[..end], &self.text[end..at], &self.text[at..]);
        [before, comma(comma_before), between, gap, &entry, comma(comma_behind), after].concat()
    }

    /// The text without an entry, and without the comma that it needed.
    pub(super) fn remove(&self, entry: Range) -> String {
        let before = self.tokens_in(Range::new(0, entry.start));
        let after = self.tokens_in(Range::new(entry.end, self.text.len()));
        let cut = before.last().map_or(entry.start, Ranged::end);
        let mut left = self.text[..cut].to_owned();
        let mut right = self.text[entry.end..].to_owned();
        let counts = |token: &&TokenAndRange<'_>| !is_comment(token);
        if let Some(comma) = after.iter().find(counts).filter(|token| is_comma(token)) {
            right.remove(comma.start() - entry.end);
        } else if let Some(comma) = before.iter().rfind(counts).filter(|token| is_comma(token)) {
            left.remove(comma.start());
        }
        // What follows must not become part of a comment.
        let in_comment =
            matches!(before.last(), Some(last) if self.text[last.start()..].starts_with("//"));
        if in_comment && !right.trim_start_matches([' ', '\t']).starts_with(LINE_ENDS) {
            left.push_str(&self.text[cut..entry.start]);
        }
        left + &right
    }

    /// The text with something else in place of a value.
    pub(super) fn replace(&self, old: Range, new: &str) -> String {
        format!("{}{new}{}", &self.text[..old.start], &self.text[old.end..])
    }

    /// Whether an object or a list was made together with an entry, and nothing
    /// else is in it now.
    pub(super) fn was_made_with(&self, entry: Range, container: Range) -> bool {
        let before = &self.text[container.start + 1..entry.start];
        let after = self.text[entry.end..container.end - 1].replacen(',', "", 1);
        before != BLANK && before.trim().is_empty() && after.trim().is_empty()
    }

    fn tokens_in(&self, range: Range) -> &[TokenAndRange<'t>] {
        let index = |place| self.tokens.partition_point(|token| token.start() < place);
        &self.tokens[index(range.start)..index(range.end)]
    }

    /// An entry as text, in lines if there is something for them to begin with.
    fn written(&self, name: Option<&str>, value: &Value, line_begin: Option<&str>) -> String {
        let mut text = name.map(|name| format!("{}: ", json!(name))).unwrap_or_default();
        for (number, line) in format!("{value:#}").lines().enumerate() {
            let content = line.trim_start();
            match line_begin {
                // serde_json has two blanks for each level.
                Some(begin) if number > 0 => {
                    let level = (line.len() - content.len()) / 2;
                    text.extend([begin, &self.indent_unit().repeat(level)]);
                }
                None if text.ends_with(',') => text.push(' '),
                _ => {}
            }
            text.push_str(content);
        }
        text
    }

    /// Where the line of a place begins, and how it is indented.
    fn indent_at(&self, place: usize) -> (usize, &'t str) {
        let begin = self.text[..place].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[begin..place];
        (begin, &line[..line.len() - line.trim_start().len()])
    }

    /// By how much a level is indented more than the one around it.
    fn indent_unit(&self) -> &'t str {
        let first = self.root.properties.first().map(|field| self.indent_at(field.start()).1);
        first.filter(|indent| !indent.is_empty()).unwrap_or("  ")
    }
}

fn is_comma(token: &TokenAndRange<'_>) -> bool {
    token.token == Token::Comma
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

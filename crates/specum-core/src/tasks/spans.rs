//! The code spans of a paragraph, and the words between them.

use super::expect;
use crate::line;

/// A span and the words around it.
pub(super) struct Candidate {
    pub(super) text: Vec<u8>,
    /// The words behind it.
    pub(super) clause: String,
    /// Whether code is among them.
    pub(super) has_value: bool,
    pub(super) instead: bool,
    pub(super) mentioned: bool,
}

/// The words in front of the first span, and the spans that may be commands.
pub(super) fn candidates(paragraph: &[u8]) -> (String, Vec<Candidate>) {
    let mut lead = String::new();
    let mut found: Vec<Candidate> = Vec::new();
    for token in tokens(paragraph) {
        let words = found.last_mut().map_or(&mut lead, |candidate| &mut candidate.clause);
        match token {
            Token::Text(text) => words.push_str(&text),
            // A value is a word like any other.
            Token::Span(span) if expect::leads_to_a_value(words) => {
                words.push_str(&line::readable(&span));
                found.iter_mut().last().into_iter().for_each(|last| last.has_value = true);
            }
            Token::Span(text) => {
                let joined = match found.last_mut() {
                    Some(last) => cut_join(&mut last.clause),
                    None => Joined { asks: asks_to_run(&lead), ..Joined::default() },
                };
                let words = found.last().map_or(lead.as_str(), |last| last.clause.as_str()).trim();
                let mentioned = match found.last() {
                    Some(last) if joined.joins => last.mentioned,
                    _ => !words.is_empty() && !words.ends_with(':'),
                };
                found.push(Candidate {
                    text,
                    clause: String::new(),
                    has_value: false,
                    instead: joined.or,
                    mentioned: mentioned && !joined.asks,
                });
            }
        }
    }
    let lead = lead.trim().trim_start_matches(['-', '*', '+', '(']).trim();
    (lead.to_owned(), found)
}

/// What joins two spans.
#[derive(Default)]
struct Joined {
    /// Anything at all.
    joins: bool,
    /// The second makes up for the first.
    or: bool,
    /// The second is to be run.
    asks: bool,
}

/// Takes the words that join two spans off the end of what stands between them.
fn cut_join(between: &mut String) -> Joined {
    let mut joined = Joined::default();
    loop {
        let text = between.trim_end();
        let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        let (length, or) = match word.to_ascii_lowercase().as_str() {
            "and" | "then" | "also" | "plus" | "&&" | "&" | "+" | "," | ";" | "(" | "(and" => {
                (word.len(), false)
            }
            "or" | "||" | "(or" => (word.len(), true),
            "run" | "execute" | "running" => {
                joined.asks = true;
                (word.len(), false)
            }
            word if word.ends_with([',', ';']) => (1, false),
            _ => {
                between.truncate(text.len());
                return joined;
            }
        };
        joined.or |= or;
        joined.joins = true;
        between.truncate(text.len() - length);
    }
}

/// Whether a sentence asks to run what follows.
fn asks_to_run(lead: &str) -> bool {
    let last = lead.split_whitespace().next_back().unwrap_or_default();
    matches!(last.to_ascii_lowercase().as_str(), "run" | "execute" | "running" | "run:")
}

enum Token {
    Text(String),
    Span(Vec<u8>),
}

/// Words and code spans. A backtick that nobody closed is a character.
fn tokens(text: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(span) = code_span(rest) {
        tokens.push(Token::Text(line::readable(&rest[..span.start])));
        // A span may go on in the next line.
        let content = span.content.iter().map(|&b| if b == b'\n' { b' ' } else { b });
        tokens.push(Token::Span(content.collect()));
        rest = &rest[span.end..];
    }
    tokens.push(Token::Text(line::readable(rest)));
    tokens
}

/// A code span, and where it stands.
pub(super) struct Span<'t> {
    pub(super) content: &'t [u8],
    start: usize,
    end: usize,
}

/// The first code span that is not empty.
pub(super) fn code_span(text: &[u8]) -> Option<Span<'_>> {
    let mut at = 0;
    // Runs that nobody closes; a long text of them is not searched each time.
    let mut unclosed = Vec::new();
    loop {
        let start = at + memchr::memchr(b'`', &text[at..])?;
        let ticks = run_of_ticks(&text[start..]);
        let body = start + ticks;
        at = body;
        if unclosed.contains(&ticks) {
            continue;
        }
        let Some(length) = closing_ticks(&text[body..], ticks) else {
            unclosed.push(ticks);
            continue;
        };
        at = body + length + ticks;
        let content = text[body..body + length].trim_ascii();
        if !content.is_empty() {
            return Some(Span { content, start, end: at });
        }
    }
}

fn run_of_ticks(text: &[u8]) -> usize {
    text.iter().take_while(|&&b| b == b'`').count()
}

/// Where a run of exactly `ticks` backticks begins.
fn closing_ticks(text: &[u8], ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'`', &text[at..]).map(|n| at + n) {
        let run = run_of_ticks(&text[start..]);
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

//! One line of a task file by itself: whether it is a checkbox, and which id, markers
//! and title stand behind the box.
//!
//! A box is `- [ ]` with `-`, `*`, `+` or `1.` in front, however far it is indented.
//! `x` and `X` tick it; `-` and `~` say that somebody is at it, so it is open. What a
//! person may have meant as a box, and no reader of Markdown takes for one, is
//! [`BoxLine::Unread`].

use std::borrow::Cow;

use super::Marker;

/// What a line is, as far as boxes go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BoxLine<'t> {
    /// It has no box.
    None,
    /// It looks like a box and is none: `-[ ]`, `- []`, `- [ ]1.5`.
    Unread,
    /// A checkbox.
    Box(Checkbox<'t>),
}

/// A checkbox, and the text behind it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checkbox<'t> {
    /// The column of the bullet. A tab reaches to the next multiple of four.
    pub(super) indent: u32,
    /// Where in the line the character between the brackets stands.
    pub(super) mark: usize,
    /// Whether the box is ticked.
    pub(super) done: bool,
    /// `- [ ]*`: the task may be left out.
    pub(super) optional: bool,
    /// The text behind the box.
    pub(super) text: &'t [u8],
}

impl Checkbox<'_> {
    /// Id, markers and title.
    pub(super) fn label(&self) -> Label {
        Label::of(&String::from_utf8_lossy(self.text.trim_ascii()))
    }
}

/// Characters that a line may have in place of a bullet, as word processors write them.
const FOREIGN_BULLETS: [&[u8]; 3] = ["•".as_bytes(), "–".as_bytes(), "—".as_bytes()];

/// Whether a list item that begins with `-`, `*` or `+` can have a box. Most lines of a
/// plan are such items, and most of these are fields.
pub(super) fn may_have_box(item: &[u8]) -> bool {
    let next = item[1..].iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(next, Some(b'[' | 0xC2))
}

/// What a line is.
pub(super) fn box_line(line: &[u8]) -> BoxLine<'_> {
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let item = &line[blanks..];
    let Some(bullet) = bullet(item) else { return without_bullet(item) };
    let rest = &item[bullet..];
    let from_bracket = rest.trim_ascii_start();
    let is_apart = from_bracket.len() < rest.len();
    let Some(behind) = from_bracket.strip_prefix(b"[") else {
        return match from_bracket.strip_prefix("\u{a0}[".as_bytes()) {
            Some(behind) if looks_like_a_mark(behind) => BoxLine::Unread,
            _ => BoxLine::None,
        };
    };
    let (mark, text) = match behind {
        [mark @ (b' ' | b'x' | b'X' | b'-' | b'~'), b']', text @ ..] if is_apart => (*mark, text),
        _ if looks_like_a_mark(behind) => return BoxLine::Unread,
        _ => return BoxLine::None,
    };
    let optional = text.strip_prefix(b"*").filter(|text| ends_a_box(text));
    if optional.is_none() && !ends_a_box(text) {
        // `- [x](page)`, `- [x][page]` and `- [x]: page` are links.
        let is_link = matches!(text.first(), Some(b'(' | b'[' | b':'));
        return if is_link { BoxLine::None } else { BoxLine::Unread };
    }
    BoxLine::Box(Checkbox {
        indent: columns(&line[..blanks]),
        mark: line.len() - behind.len(),
        done: matches!(mark, b'x' | b'X'),
        optional: optional.is_some(),
        text: optional.unwrap_or(text),
    })
}

/// Where the mark of a checkbox stands in a line, however far it is indented.
pub(super) fn mark_of(line: &[u8]) -> Option<usize> {
    match box_line(line) {
        BoxLine::Box(found) => Some(found.mark),
        BoxLine::None | BoxLine::Unread => None,
    }
}

/// The length of the bullet or number that a list item begins with.
fn bullet(item: &[u8]) -> Option<usize> {
    match item.first()? {
        b'-' | b'*' | b'+' => Some(1),
        b'0'..=b'9' => {
            let digits = item.iter().take_while(|byte| byte.is_ascii_digit()).count();
            matches!(item.get(digits), Some(b'.' | b')')).then_some(digits + 1)
        }
        _ => None,
    }
}

/// What a line without a box shows that a person calls an open box: `> - [ ] x`,
/// `### [ ] x`, `2.1 [ ] x`, `☐ x`, a cell of a table. In front of it stands nothing but
/// marks and one id.
pub(super) fn is_meant_open(line: &[u8]) -> bool {
    if memchr::memchr2(b'[', 0xE2, line).is_none() {
        return false;
    }
    let line = line.trim_ascii();
    match line.strip_prefix(b"|") {
        Some(row) => row.split(|&byte| byte == b'|').any(begins_open),
        None => begins_open(line),
    }
}

/// Characters that are open boxes by themselves.
const OPEN_SIGNS: [&[u8]; 5] =
    ["☐".as_bytes(), "⬜".as_bytes(), "□".as_bytes(), "▢".as_bytes(), "🔲".as_bytes()];

/// Whether a text begins with an open box, behind marks and at most one id.
fn begins_open(text: &[u8]) -> bool {
    let (mut rest, mut has_id) = (text, false);
    loop {
        // Emphasis, quotation marks and bullets may stand in front of a box.
        let is_mark = |byte: &&u8| byte.is_ascii_whitespace() || b">#*_-+`".contains(byte);
        let bare = &rest[rest.iter().take_while(is_mark).count()..];
        let foreign = FOREIGN_BULLETS.iter().find_map(|bullet| bare.strip_prefix(*bullet));
        let bare = foreign.unwrap_or(bare).trim_ascii_start();
        if OPEN_SIGNS.iter().any(|sign| bare.starts_with(sign)) {
            return true;
        }
        if let Some(behind) = bare.strip_prefix(b"[") {
            let end = behind.iter().take(4).position(|&byte| byte == b']');
            return end.is_some_and(|end| {
                let is_open = matches!(behind[..end].trim_ascii(), b"" | b"-" | b"~");
                let after = behind[end + 1..].first();
                is_open && after.is_none_or(|b| b.is_ascii_whitespace() || b"*_`:".contains(b))
            });
        }
        let length = bare.iter().position(u8::is_ascii_whitespace).unwrap_or(bare.len());
        let word = &bare[..length];
        let is_name =
            ["task", "step"].iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
        let is_id = word.iter().any(u8::is_ascii_digit)
            && word.iter().all(|byte| byte.is_ascii_alphanumeric() || b".-_:)(*`".contains(byte));
        if length == 0 || !(is_name || is_id && !has_id) {
            return false;
        }
        has_id |= is_id;
        rest = &bare[length..];
    }
}

/// A line without a bullet: `[ ] Title`, or a bullet that Markdown does not know.
fn without_bullet(item: &[u8]) -> BoxLine<'_> {
    let foreign = FOREIGN_BULLETS.iter().find_map(|bullet| item.strip_prefix(*bullet));
    let is_meant = match foreign.and_then(|rest| rest.trim_ascii_start().strip_prefix(b"[")) {
        Some(behind) => looks_like_a_mark(behind),
        None => matches!(item, [b'[', b' ' | b'x' | b'X', b']', b' ' | b'\t', ..]),
    };
    if is_meant { BoxLine::Unread } else { BoxLine::None }
}

/// Whether a box may end in front of this.
fn ends_a_box(text: &[u8]) -> bool {
    text.first().is_none_or(u8::is_ascii_whitespace)
}

/// Whether what stands behind an opening bracket looks like the inside of a box: nothing,
/// a mark with blanks around it, or a single character such as `✓` that is neither a
/// number, as in a footnote, nor a capital, as in `[P]`.
fn looks_like_a_mark(behind: &[u8]) -> bool {
    let Some(end) = behind.iter().take(6).position(|&byte| byte == b']') else { return false };
    let (inside, text) = (&behind[..end], &behind[end + 1..]);
    if !ends_a_box(text.strip_prefix(b"*").unwrap_or(text)) {
        return matches!(inside, b" " | b"x" | b"X")
            && !matches!(text.first(), Some(b'(' | b'[' | b':'));
    }
    let Ok(inside) = std::str::from_utf8(inside) else { return false };
    let mut inside = inside.trim().chars();
    match (inside.next(), inside.next()) {
        (None, _) => true,
        (Some(mark), None) => mark == 'X' || !(mark.is_ascii_digit() || mark.is_uppercase()),
        (Some(_), Some(_)) => false,
    }
}

/// How many columns these blanks take.
pub(super) fn columns(blanks: &[u8]) -> u32 {
    let next = |column: u32, byte: &u8| match byte {
        b'\t' => (column / 4 + 1).saturating_mul(4),
        _ => column.saturating_add(1),
    };
    blanks.iter().fold(0, next)
}

/// What stands behind a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    /// The id.
    pub(super) id: Option<String>,
    /// The markers between id and title.
    pub(super) markers: Vec<Marker>,
    /// The rest.
    pub(super) title: String,
    /// `*2.3`: the task may be left out.
    pub(super) optional: bool,
    /// What it would be if a word that only may be an id were one.
    pub(super) maybe: Option<Box<Label>>,
}

impl Label {
    /// Takes a text apart.
    pub(super) fn of(text: &str) -> Label {
        if let Some(length) = dotted_number(text) {
            let id = Some(text[..length].to_owned());
            return Label { id, ..Label::untitled() }.with_rest(&text[length..]);
        }
        let Some(found) = id_in(text) else { return Label::untitled().with_rest(text) };
        let mut rest = Cow::Borrowed(found.rest);
        if let Some(close) = found.close
            && let Some(at) = rest.find(close)
        {
            rest.to_mut().replace_range(at..at + close.len(), "");
        }
        let optional = found.is_starred;
        let label = Label { id: Some(found.id.to_owned()), optional, ..Label::untitled() };
        let label = label.with_rest(&rest);
        match found.is_sure {
            true => label,
            false => Label { maybe: Some(Box::new(label)), ..Label::untitled().with_rest(text) },
        }
    }

    fn untitled() -> Label {
        let (markers, title) = (Vec::new(), String::new());
        Label { id: None, markers, title, optional: false, maybe: None }
    }

    /// The same with the markers and the title of a text.
    fn with_rest(self, text: &str) -> Label {
        let (markers, title) = split_markers(text.trim_start());
        Label { markers, title: title.trim_end().to_owned(), ..self }
    }
}

/// The length of the id that a text begins with, if it is numbers with dots and a blank
/// behind them. Most ids are, and a plan may have a hundred thousand.
fn dotted_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut dots) = (0, 0);
    loop {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at += digits;
        match bytes.get(at) {
            Some(b'.') if digits > 0 => (at, dots) = (at + 1, dots + 1),
            Some(b' ') if digits > 0 && dots > 0 => return Some(at),
            _ => return None,
        }
    }
}

/// An id at the beginning of a text.
struct FoundId<'t> {
    id: &'t str,
    /// What stands behind it.
    rest: &'t str,
    /// What ends the bold text that the id begins, if that is still to come.
    close: Option<&'t str>,
    /// Whether a star stands in front of it that no other one closes.
    is_starred: bool,
    /// Whether it is an id by itself. A bare number or a word such as `S3` is one only
    /// if the other boxes say so.
    is_sure: bool,
}

/// The id that a text begins with: plain, bold, in backticks or behind the word "Task".
fn id_in(text: &str) -> Option<FoundId<'_>> {
    let first = text.as_bytes().first()?;
    // Most ids begin with a digit, most titles with a letter.
    let open = match first {
        b'*' if text.starts_with("**") => "**",
        b'_' if text.starts_with("__") => "__",
        b'`' => "`",
        b'*' => "*",
        _ => "",
    };
    let inner = &text[open.len()..];
    let behind_task = inner.get(..5).filter(|word| word.eq_ignore_ascii_case("task "));
    let from = behind_task.map_or(inner, |word| inner[word.len()..].trim_start());
    let length = from.find(char::is_whitespace).unwrap_or(from.len());
    let (word, rest) = from.split_at(length);
    let is_punctuation = |c: char| matches!(c, ':' | '.' | ')');
    let bare = word.trim_end_matches(is_punctuation);
    let closed = Some(bare).filter(|_| !open.is_empty()).and_then(|bare| bare.strip_suffix(open));
    let id = closed.unwrap_or(bare).trim_end_matches(is_punctuation);
    let is_marked = id.len() < word.len() || behind_task.is_some() && rest.starts_with(" -");
    let kind = IdKind::of(id)?;
    let is_sure = match kind {
        IdKind::Sure => true,
        IdKind::Number | IdKind::Family => is_marked,
    };
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("- ").filter(|_| behind_task.is_some()).unwrap_or(rest);
    // "*2.3 Title" is optional, "*2.3 Title*" is emphasis.
    let is_starred = open == "*" && closed.is_none() && !rest.contains('*');
    let close = Some(open).filter(|_| !open.is_empty() && closed.is_none() && !is_starred);
    // Code that goes on behind the word is no id, and neither is "Task force".
    let is_id = (open != "`" || closed.is_some()) && (behind_task.is_none() || is_sure);
    is_id.then_some(FoundId { id, rest, close, is_starred, is_sure })
}

/// What kind of id a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdKind {
    /// `1.1`, `1.6a`, `2A.1`, `1.X`, `V1`, `VE2`, `VF`, `T012`, `TASK-1`.
    Sure,
    /// `1`, which may be a quantity: "3 eggs".
    Number,
    /// Capitals and a number: `M1.1`, `AUTH-3`. It may be a word: "S3 bucket".
    Family,
}

impl IdKind {
    fn of(word: &str) -> Option<IdKind> {
        let (first, rest) = match word.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (word, None),
        };
        if !rest.is_none_or(|rest| rest.split('.').all(|part| part == "X" || is_number(part))) {
            return None;
        }
        if first.starts_with(|c: char| c.is_ascii_digit()) {
            return match is_number(first) {
                true if rest.is_some() => Some(IdKind::Sure),
                true => Some(IdKind::Number),
                false => None,
            };
        }
        let letters = first.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (name, number) = first.split_at(letters);
        let number = number.strip_prefix('-').unwrap_or(number);
        if name == "VF" && number.is_empty() {
            return Some(IdKind::Sure);
        }
        if !(1..=10).contains(&letters) || !is_number(number) {
            return None;
        }
        match name {
            "V" | "VE" | "VF" => Some(IdKind::Sure),
            "T" if number.len() > 1 => Some(IdKind::Sure),
            name if name.eq_ignore_ascii_case("task") => Some(IdKind::Sure),
            name if name.bytes().all(|b| b.is_ascii_uppercase()) => Some(IdKind::Family),
            _ => None,
        }
    }
}

/// Digits, and perhaps one letter behind them: `6`, `6a`.
fn is_number(part: &str) -> bool {
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &part.as_bytes()[digits..];
    digits > 0 && (behind.is_empty() || behind.len() == 1 && behind[0].is_ascii_alphabetic())
}

/// Whether an id is a number alone: `2`, not `2.1`.
pub(super) fn is_plain_number(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_digit())
}

/// The letters that an id begins with: `AUTH-` of `AUTH-3`.
pub(super) fn family(id: &str) -> &str {
    id.trim_end_matches(|c: char| c != '-' && !c.is_ascii_uppercase())
}

/// The number and title of a heading such as `### Task 1: Parser` or `## Task 2.1 - Lexer`.
pub(super) fn task_heading(heading: &[u8]) -> Option<Label> {
    let title = heading.trim_ascii_start().strip_prefix(b"Task ")?;
    let text = String::from_utf8_lossy(title.trim_ascii());
    let length = text.find(|c: char| c.is_whitespace() || c == ':').unwrap_or(text.len());
    let (id, rest) = text.split_at(length);
    let id = id.trim_end_matches(['.', ')']);
    let is_numbered = id.split('.').all(is_number);
    let rest = rest.trim_start_matches(':').trim_start();
    let rest = ["- ", "– ", "— "].iter().find_map(|dash| rest.strip_prefix(dash)).unwrap_or(rest);
    is_numbered.then(|| Label { id: Some(id.to_owned()), ..Label::untitled() }.with_rest(rest))
}

/// The known markers at the beginning of a text, and the title behind them.
fn split_markers(mut text: &str) -> (Vec<Marker>, &str) {
    let mut markers = Vec::new();
    while let Some((marker, rest)) = first_marker(text) {
        markers.push(marker);
        text = rest;
    }
    (markers, text)
}

fn first_marker(text: &str) -> Option<(Marker, &str)> {
    if let Some(rest) = text.strip_prefix("(P)") {
        return Some((Marker::Parallel, rest.trim_start()));
    }
    let (word, rest) = text.strip_prefix('[')?.split_once(']')?;
    let marker = match word {
        "P" => Marker::Parallel,
        "VERIFY" => Marker::Verify,
        "SEQUENTIAL" => Marker::Sequential,
        "RED" => Marker::Red,
        "GREEN" => Marker::Green,
        "YELLOW" => Marker::Yellow,
        _ => match word.split_once(' ').map(|(word, id)| (word, id.trim())) {
            Some(("FIX", id)) => Marker::Fix(is_id(id)?),
            Some(("BEFORE", id)) => Marker::Before(is_id(id)?),
            _ => Marker::Label(Some(word).filter(|word| is_label(word, rest))?.to_owned()),
        },
    };
    Some((marker, rest.trim_start()))
}

fn is_id(id: &str) -> Option<String> {
    IdKind::of(id).map(|_| id.to_owned())
}

/// `[US1]`: capitals and a number. `[S3](page)` is a link.
fn is_label(word: &str, rest: &str) -> bool {
    let is_id = word.starts_with(|c: char| c.is_ascii_uppercase()) && IdKind::of(word).is_some();
    is_id && word != "VF" && !rest.starts_with('(')
}

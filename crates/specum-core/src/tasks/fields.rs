//! What a task asks for: the `**Name**: value` items of its block.

use std::borrow::Cow;
use std::ops::Range;

use super::boxes;
use super::command::{Check, Piece};
use super::spans::code_span;
use crate::line::{self, Fence, Line};

/// The fields of a task. A field that is not there is empty; of several with
/// one name the first counts, but every Verify.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// `Do`: what is to be done, with its nested lines.
    pub does: Option<String>,
    /// `Files`: the paths the task may change, in their order.
    pub files: Vec<String>,
    /// `Done when`: how a person would tell.
    pub done_when: Option<String>,
    /// `Verify`: how specum tells.
    pub verify: Option<Check>,
    /// `Commit`: the message; `None` written out means none.
    pub commit: Option<String>,
    /// The first fenced `sh` block that is not the Verify command: what the
    /// built-in `script` agent runs.
    pub script: Option<String>,
}

/// One `**Name**: value` item with the lines that belong to it.
struct Item<'a> {
    name: String,
    value: &'a [u8],
    /// How far its line is indented.
    indent: usize,
    /// Where the line of the field stands.
    line: Range<usize>,
    below: Vec<Line<'a>>,
}

pub(super) fn parse(block: &[u8]) -> Fields {
    let mut fields = Fields::default();
    let base = base(block);
    let items = items(line::lines(block).skip(1), base);
    for item in &items {
        match item.name.to_ascii_lowercase().as_str() {
            "do" => fields.does = fields.does.or_else(|| Some(item.text())),
            "done when" => fields.done_when = fields.done_when.or_else(|| Some(item.text())),
            "files" if fields.files.is_empty() => fields.files = item.files(),
            "commit" => fields.commit = fields.commit.or_else(|| item.commit()),
            _ => {}
        }
        if fields.script.is_none() && !item.is_verify() {
            fields.script = item.script();
        }
    }
    // As they are put on record, so that both ask for the same.
    fields.verify = check_of_lines(&verify_lines_of(&items, block, base));
    if !items.iter().any(|item| item.name.eq_ignore_ascii_case("files")) {
        // Most titles name no file, and a plan may have a hundred thousand.
        let title = line::lines(block)
            .next()
            .filter(|line| memchr::memchr3(b'/', b'`', b'.', line.text).is_some());
        fields.files = title.map(|line| paths_in(&line::readable(line.text))).unwrap_or_default();
    }
    fields
}

/// The files that a title names: `Create the model in src/models/user.py`. A word is a
/// path if it has a slash and ends in a file's name or a slash, or if it is code and does
/// one of these. In a plan of spec-kit, `- [ ] T012`, a name alone is enough.
fn paths_in(title: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let is_id = |word: &str| {
        let number = word.strip_prefix('T').unwrap_or_default();
        number.len() > 1 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_of_spec_kit = title.split_whitespace().take(5).any(is_id);
    for word in title.split_whitespace() {
        let word = word.trim_start_matches(['(', '"', '\'', '*']);
        let word = word.trim_end_matches([',', ';', ':', '.', ')', '"', '\'', '*']);
        let code = word.strip_prefix('`').and_then(|word| word.strip_suffix('`'));
        let path = code.unwrap_or(word).trim_start_matches("./");
        let is_plain = !path.contains(['`', '<', '>', '(', '*']) && !path.starts_with(['/', '@']);
        let has_name = path.rsplit('/').next().is_some_and(is_file_name);
        let is_path = match path.contains('/') {
            true => has_name || path.ends_with('/'),
            false => has_name && (code.is_some() || is_of_spec_kit && is_source_name(path)),
        };
        if is_plain && is_path && !path.contains("://") && !paths.iter().any(|known| known == path)
        {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// Whether a word in a sentence is the name of a file: `parser.py`, `Cargo.toml`, and not
/// `Node.js` or `example.com`.
fn is_source_name(word: &str) -> bool {
    const ENDINGS: [&str; 44] = [
        "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "ex", "exs", "go", "gradle",
        "h", "hpp", "html", "ini", "java", "js", "json", "jsx", "kt", "lock", "lua", "md", "mjs",
        "php", "proto", "py", "rb", "rs", "scss", "sh", "sql", "svelte", "swift", "tf", "toml",
        "ts", "tsx", "txt", "vue", "yaml", "yml",
    ];
    let Some((name, ending)) = word.rsplit_once('.') else { return false };
    let is_library = ending == "js" && name.starts_with(|c: char| c.is_ascii_uppercase());
    !name.is_empty() && !is_library && ENDINGS.contains(&ending)
}

/// Whether a word has an ending as files have.
fn is_file_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=6).contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The lines of a field as they stand, so that another task can ask for the
/// same.
pub(super) fn raw(block: &[u8], name: &str) -> Option<String> {
    let base = base(block);
    let items = items(line::lines(block).skip(1), base);
    let item = items.iter().find(|item| item.name.eq_ignore_ascii_case(name))?;
    // Prose behind it belongs to nobody.
    let end = item.nested().last().map_or(item.line.end, |line| line.end);
    let lines = moved_left(&block[item.line.start..end], base);
    Some(line::readable(lines.trim_ascii_end()))
}

/// The lines of every Verify field as they stand, moved to the left by as much as the
/// task is.
pub(super) fn verify_lines(block: &[u8]) -> Vec<u8> {
    let base = base(block);
    verify_lines_of(&items(line::lines(block).skip(1), base), block, base)
}

fn verify_lines_of(items: &[Item<'_>], block: &[u8], base: usize) -> Vec<u8> {
    let mut lines = Vec::new();
    for item in items.iter().filter(|item| item.is_verify()) {
        let end = item.nested().last().map_or(item.line.end, |line| line.end);
        // The last line of a file may have no end, and another field follow.
        if !lines.is_empty() && !lines.ends_with(b"\n") {
            lines.push(b'\n');
        }
        lines.extend_from_slice(&moved_left(&block[item.line.start..end], base));
    }
    lines
}

/// How far the first line of a task is indented, from which its fields are counted.
fn base(block: &[u8]) -> usize {
    line::lines(block).next().map_or(0, |line| line.indent())
}

/// Lines with so many blanks less in front of each. What stands in a fence moves with
/// the fence.
fn moved_left(lines: &[u8], base: usize) -> Cow<'_, [u8]> {
    if base == 0 {
        return lines.into();
    }
    let mut fence: Option<(Fence, usize)> = None;
    let mut left = Vec::with_capacity(lines.len());
    for line in line::lines(lines) {
        let by = fence.map_or(base, |(_, by)| by).min(line.indent());
        fence = match fence {
            Some((open, by)) => (!open.is_closed_by(&line)).then_some((open, by)),
            None => Fence::opened_by(&line).map(|open| (open, by)),
        };
        left.extend_from_slice(&lines[line.start + by..line.end]);
    }
    left.into()
}

/// The check that such lines ask for.
pub(super) fn check_of_lines(lines: &[u8]) -> Option<Check> {
    let items = items(line::lines(lines), 0);
    let verify = || items.iter().filter(|item| item.is_verify());
    let pieces: Vec<Piece> = verify().flat_map(Item::pieces).collect();
    let texts: Vec<String> =
        verify().map(|item| item.text_with(item.nested())).filter(|t| !t.is_empty()).collect();
    Check::of_pieces(&pieces, texts.join("\n"))
}

/// Whether the lines of a box begin with lines that stand further right, and a field is
/// among these.
pub(super) fn has_own(block: &[u8]) -> bool {
    let base = base(block);
    let below = line::lines(block).skip(1).filter(|line| !line.is_blank());
    let end = below.take_while(|line| line.indent() > base).last().map_or(0, |line| line.end);
    places(&block[..end]).next().is_some()
}

/// The fields in a task's lines behind the first one: where each stands, and how far from
/// the left. What is no field of ours may be anything.
pub(super) fn places(block: &[u8]) -> impl Iterator<Item = (usize, u32)> + '_ {
    let mut fence: Option<Fence> = None;
    let base = base(block);
    line::lines(block).skip(1).filter_map(move |line| {
        let opened_above = fence.is_some();
        fence = match fence {
            Some(open) => (!open.is_closed_by(&line)).then_some(open),
            None => Fence::opened_by(&line),
        };
        let (name, _) = field(&line, base).filter(|_| !opened_above)?;
        let names = ["do", "files", "done when", "verify", "verification", "commit"];
        let is_known = names.iter().any(|known| name.eq_ignore_ascii_case(known));
        let blanks = &line.text[..line.indent()];
        is_known.then(|| (line.start, boxes::columns(blanks)))
    })
}

/// Cuts lines into items. What stands in front of the first field is an item
/// without a name.
fn items<'a>(lines: impl Iterator<Item = Line<'a>>, base: usize) -> Vec<Item<'a>> {
    let unnamed =
        Item { name: String::new(), value: b"", indent: 0, line: 0..0, below: Vec::new() };
    let mut items = vec![unnamed];
    let mut fence: Option<Fence> = None;
    for line in lines {
        let opened_above = fence.is_some();
        fence = match fence {
            Some(open) => (!open.is_closed_by(&line)).then_some(open),
            None => Fence::opened_by(&line),
        };
        if !opened_above && let Some((name, value)) = field(&line, base) {
            let (indent, line) = (line.indent(), line.span());
            items.push(Item { name, value, indent, line, below: Vec::new() });
        } else {
            items.last_mut().expect("the list begins with one item").below.push(line);
        }
    }
    items
}

/// `- **Name**: value`, `**Name:** value` or `_Name: value_`; and, for Verify,
/// `- Verify: value` and `*Verify*: value` where they are not nested in another
/// field.
fn field<'a>(line: &Line<'a>, base: usize) -> Option<(String, &'a [u8])> {
    let text = line.trimmed();
    let bare = text.strip_prefix(b"-").or(text.strip_prefix(b"*")).or(text.strip_prefix(b"+"));
    let listed = bare.filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace));
    let text = listed.map_or(text, <[u8]>::trim_ascii_start);
    if let Some(rest) = text.strip_prefix(b"**") {
        let (name, value) = split_at(rest, b"**")?;
        let (name, value) = match name.strip_suffix(b":") {
            Some(name) => (name, value),
            None => (name, value.strip_prefix(b":")?),
        };
        return Some((line::readable(name.trim_ascii()), value.trim_ascii()));
    }
    // Deeper than that it is a step of another field.
    if line.indent() < base + 4
        && let Some(value) = plain_verify(text, listed.is_some())
    {
        return Some(("Verify".to_owned(), value));
    }
    let (name, value) = split_at(text.strip_prefix(b"_")?, b":")?;
    let name = std::str::from_utf8(name).ok()?;
    let plain = name.chars().all(|c| c.is_alphabetic() || c == ' ');
    (plain && !name.is_empty()).then(|| (name.to_owned(), value.trim_ascii()))
}

/// What stands behind `Verify:` in a list, or behind `*Verify*:`.
fn plain_verify(text: &[u8], listed: bool) -> Option<&[u8]> {
    let (name, value) = split_at(text, b":")?;
    let (name, value) = match name.strip_prefix(b"*") {
        Some(name) => match name.strip_suffix(b"*") {
            Some(name) => (name, value),
            None => (name, value.strip_prefix(b"*")?),
        },
        None if listed => (name, value),
        None => return None,
    };
    is_verify(name).then(|| value.trim_ascii())
}

fn is_verify(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"verify") || name.eq_ignore_ascii_case(b"verification")
}

fn split_at<'t>(text: &'t [u8], mark: &[u8]) -> Option<(&'t [u8], &'t [u8])> {
    let at = memchr::memmem::find(text, mark)?;
    Some((&text[..at], &text[at + mark.len()..]))
}

impl<'a> Item<'a> {
    fn is_verify(&self) -> bool {
        is_verify(self.name.as_bytes())
    }

    /// Value and nested lines as they stand, without the blanks around them.
    fn text(&self) -> String {
        self.text_with(&self.below)
    }

    fn text_with(&self, below: &[Line<'_>]) -> String {
        let mut text = line::readable(self.value);
        for line in below {
            text.push('\n');
            text.push_str(&line::readable(line.text));
        }
        text.trim().to_owned()
    }

    /// The lines below that are part of the field: those that are indented
    /// further, blocks, and, if nothing stands in the field's line, the lines
    /// that follow it at once. Prose between two tasks belongs to neither.
    fn nested(&self) -> &[Line<'a>] {
        let mut fence: Option<Fence> = None;
        let mut empty = self.value.is_empty();
        let mut end = 0;
        for (at, line) in self.below.iter().enumerate() {
            let was_open = fence.is_some();
            fence = match fence {
                Some(open) => (!open.is_closed_by(line)).then_some(open),
                None => Fence::opened_by(line),
            };
            if line.is_blank() && !was_open {
                empty &= end == 0;
                continue;
            }
            let belongs = was_open || fence.is_some() || line.indent() > self.indent || empty;
            if !belongs {
                break;
            }
            end = at + 1;
        }
        &self.below[..end]
    }

    /// The paragraphs, list items and blocks of the field.
    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = vec![Piece::Words(self.value.to_vec())];
        let mut at_new = false;
        let mut lines = self.nested().iter();
        while let Some(line) = lines.next() {
            if let Some(fence) = Fence::opened_by(line) {
                let body: Vec<&Line<'_>> =
                    lines.by_ref().take_while(|line| !fence.is_closed_by(line)).collect();
                let body = dedented(line, &body);
                if !body.trim_ascii().is_empty() {
                    pieces.push(Piece::Fence { info: info(line), body });
                }
                at_new = true;
                continue;
            }
            if line.is_blank() {
                at_new = true;
                continue;
            }
            let (text, listed) = without_bullet(line.trimmed());
            match pieces.last_mut() {
                Some(Piece::Words(words)) if !listed && !at_new => {
                    words.push(b'\n');
                    words.extend_from_slice(text);
                }
                _ => pieces.push(Piece::Words(text.to_vec())),
            }
            at_new = false;
        }
        pieces.retain(|piece| !matches!(piece, Piece::Words(words) if words.is_empty()));
        pieces
    }

    fn commit(&self) -> Option<String> {
        let message = code_span(self.value).map_or(self.value, |span| span.content);
        let message = line::readable(message);
        let nothing = message.trim_matches(['.', ' ']).eq_ignore_ascii_case("none");
        (!nothing && !message.is_empty()).then_some(message)
    }

    fn files(&self) -> Vec<String> {
        // A block, a box or a heading begins something else.
        let belongs = |line: &&Line<'_>| {
            Fence::opened_by(line).is_none()
                && boxes::mark_of(line.text).is_none()
                && !line.text.starts_with(b"#")
        };
        let nested = self.below.iter().take_while(belongs);
        let lines = std::iter::once(line::readable(self.value))
            .chain(nested.map(|l| line::readable(l.trimmed())));
        lines.flat_map(|line| split_files(&line)).collect()
    }

    /// The content of the first block for a shell that is not empty.
    fn script(&self) -> Option<String> {
        let mut lines = self.below.iter();
        while let Some(line) = lines.next() {
            let Some(fence) = Fence::opened_by(line) else { continue };
            let body: Vec<&Line<'_>> =
                lines.by_ref().take_while(|line| !fence.is_closed_by(line)).collect();
            let body = dedented(line, &body);
            if matches!(info(line).as_str(), "sh" | "bash" | "shell")
                && !body.trim_ascii().is_empty()
            {
                return Some(line::readable(&body));
            }
        }
        None
    }
}

/// What is written behind the first fence of a block.
fn info(fence: &Line<'_>) -> String {
    line::readable(fence.trimmed()).trim_start_matches(['`', '~']).trim().to_owned()
}

/// A line of a list without its bullet, number or box, and whether it had one.
fn without_bullet(line: &[u8]) -> (&[u8], bool) {
    let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
    let bullet = match line.get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        Some(b'.' | b')') if digits > 0 => digits + 1,
        _ => return (line, false),
    };
    let rest = &line[bullet..];
    if !rest.first().is_some_and(u8::is_ascii_whitespace) {
        return (line, false);
    }
    let text = rest.trim_ascii_start();
    let text = match text {
        [b'[', b' ' | b'x' | b'X', b']', rest @ ..] => rest.trim_ascii_start(),
        text => text,
    };
    (text, true)
}

/// The lines of a fenced block without the indentation of its fence.
fn dedented(fence: &Line<'_>, body: &[&Line<'_>]) -> Vec<u8> {
    let indent = fence.indent();
    let lines: Vec<&[u8]> =
        body.iter().map(|line| &line.text[indent.min(line.indent())..]).collect();
    lines.join(&b'\n')
}

/// The paths of one line: split at commas outside code spans and brackets,
/// backticks and remarks in brackets taken off.
fn split_files(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches(['-', '*', '+']).trim();
    let mut parts = vec![String::new()];
    let (mut in_code, mut depth) = (false, 0_usize);
    for c in line.chars() {
        match c {
            '`' => in_code = !in_code,
            '(' | '[' if !in_code => depth += 1,
            ')' | ']' if !in_code => depth = depth.saturating_sub(1),
            ',' if !in_code && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("the list begins with one part").push(c);
    }
    parts.iter().filter_map(|part| one_file(part)).collect()
}

fn one_file(part: &str) -> Option<String> {
    let path = match code_span(part.as_bytes()) {
        Some(span) => line::readable(span.content),
        // A remark stands apart from the name; `app/[id]/page.tsx` is a name.
        None => part
            .split([' ', '\t'])
            .filter(|w| !w.is_empty())
            .take_while(|w| !w.starts_with(['(', '[']))
            .collect::<Vec<_>>()
            .join(" "),
    };
    let path = without_lines(path.trim().trim_start_matches("./"));
    let nothing = path.trim_matches('.').eq_ignore_ascii_case("none") || path == "-";
    (!path.is_empty() && !nothing).then(|| path.to_owned())
}

/// A path without the lines that are meant: `src/main.rs:12-40`.
fn without_lines(path: &str) -> &str {
    let is_range = |lines: &str| {
        !lines.is_empty() && lines.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    path.rsplit_once(':').filter(|(_, lines)| is_range(lines)).map_or(path, |(path, _)| path)
}

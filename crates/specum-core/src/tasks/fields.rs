//! What a task asks for: the `**Name**: value` items of its block.

use crate::line::{self, Line};

/// The fields of a task. A field that is not there is empty; of several with
/// one name the first counts.
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

/// The Verify field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Something specum can run.
    Command {
        /// Run as `sh -c` at the root of the tree.
        command: String,
        /// What the output is compared with, if the text behind says so.
        expect: Option<Expectation>,
    },
    /// Words only. The task counts as unverified.
    Prose(String),
}

impl Check {
    /// The check that such lines of a task ask for.
    pub fn of_lines(lines: &[u8]) -> Option<Check> {
        parse(&[b"- [ ] x\n", lines].concat()).verify
    }
}

/// `returns N` or `shows N` behind a Verify command: the output must be `N`.
/// It takes the place of the exit code, because commands such as `grep -c`
/// fail when they rightly print 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation(pub String);

/// One `**Name**: value` item with the lines that belong to it.
struct Item<'a> {
    name: String,
    value: String,
    /// Where the line of the field stands.
    start: usize,
    end: usize,
    below: Vec<Line<'a>>,
}

pub(super) fn parse(block: &[u8]) -> Fields {
    let mut fields = Fields::default();
    let items = items(block);
    for item in &items {
        match item.name.to_ascii_lowercase().as_str() {
            "do" => fields.does = fields.does.or_else(|| Some(item.text())),
            "done when" => fields.done_when = fields.done_when.or_else(|| Some(item.text())),
            "files" if fields.files.is_empty() => fields.files = item.files(),
            "verify" => fields.verify = fields.verify.or_else(|| item.check()),
            "commit" => fields.commit = fields.commit.or_else(|| item.commit()),
            _ => {}
        }
        if fields.script.is_none() && !item.name.eq_ignore_ascii_case("verify") {
            fields.script = item.script();
        }
    }
    fields
}

/// The lines of a field as they stand, so that another task can ask for the
/// same.
pub(super) fn raw(block: &[u8], name: &str) -> Option<String> {
    let items = items(block);
    let at = items.iter().position(|item| item.name.eq_ignore_ascii_case(name))?;
    let end = items[at].below.last().map_or(items[at].end, |line| line.end);
    Some(line::readable(block[items[at].start..end].trim_ascii_end()))
}

/// Cuts a block into items. What stands in front of the first field is an item
/// without a name.
fn items(block: &[u8]) -> Vec<Item<'_>> {
    let unnamed =
        Item { name: String::new(), value: String::new(), start: 0, end: 0, below: Vec::new() };
    let mut items = vec![unnamed];
    let mut in_fence = false;
    for line in line::lines(block).skip(1) {
        let opened_above = in_fence;
        in_fence ^= line.is_fence();
        if !opened_above && let Some((name, value)) = field(&line) {
            items.push(Item { name, value, start: line.start, end: line.end, below: Vec::new() });
        } else {
            items.last_mut().expect("the list begins with one item").below.push(line);
        }
    }
    items
}

/// `- **Name**: value`, `**Name:** value` or `_Name: value_`.
fn field(line: &Line<'_>) -> Option<(String, String)> {
    let text = line::readable(line.trimmed());
    let text = text.strip_prefix(['-', '*', '+']).map_or(text.as_str(), |rest| {
        if rest.starts_with(char::is_whitespace) { rest.trim_start() } else { text.as_str() }
    });
    if let Some(rest) = text.strip_prefix("**") {
        let (name, value) = rest.split_once("**")?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => (name, value),
            None => (name, value.strip_prefix(':')?),
        };
        return Some((name.trim().to_owned(), value.trim().to_owned()));
    }
    let (name, value) = text.strip_prefix('_')?.split_once(':')?;
    let plain = name.chars().all(|c| c.is_alphabetic() || c == ' ');
    (plain && !name.is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
}

impl Item<'_> {
    /// Value and nested lines as they stand, without the blanks around them.
    fn text(&self) -> String {
        let mut text = self.value.clone();
        for line in &self.below {
            text.push('\n');
            text.push_str(&line::readable(line.text));
        }
        text.trim().to_owned()
    }

    fn check(&self) -> Option<Check> {
        let text = self.text();
        let (before_fence, fenced) = self.first_fence(|_| true);
        let prose = std::iter::once(self.value.clone())
            .chain(before_fence.iter().map(|line| line::readable(line.text)));
        for line in prose {
            if let Some((command, behind)) = code_span(&line) {
                return Some(Check::Command { command, expect: expectation(behind) });
            }
        }
        match fenced {
            Some(command) => Some(Check::Command { command, expect: None }),
            None => (!text.is_empty()).then_some(Check::Prose(text)),
        }
    }

    fn commit(&self) -> Option<String> {
        let message = code_span(&self.value).map_or(self.value.clone(), |(message, _)| message);
        let nothing = message.trim_matches(['.', ' ']).eq_ignore_ascii_case("none");
        (!nothing && !message.is_empty()).then_some(message)
    }

    fn files(&self) -> Vec<String> {
        let (nested, _) = self.first_fence(|_| true);
        let lines = std::iter::once(self.value.clone())
            .chain(nested.iter().map(|line| line::readable(line.trimmed())));
        lines.flat_map(|line| split_files(&line)).collect()
    }

    fn script(&self) -> Option<String> {
        self.first_fence(|info| matches!(info, "sh" | "bash" | "shell")).1
    }

    /// The content of the first non-empty fenced block whose info string is
    /// wanted, and the lines in front of it.
    fn first_fence(&self, wanted: fn(&str) -> bool) -> (&[Line<'_>], Option<String>) {
        let mut at = 0;
        while let Some(open) = self.below[at..].iter().position(Line::is_fence).map(|n| at + n) {
            let body = &self.below[open + 1..];
            let length = body.iter().position(Line::is_fence).unwrap_or(body.len());
            let info = line::readable(self.below[open].trimmed());
            let content = dedented(&self.below[open], &body[..length]);
            if wanted(info.trim_start_matches(['`', '~']).trim()) && !content.trim().is_empty() {
                return (&self.below[..open], Some(content));
            }
            at = (open + length + 2).min(self.below.len());
        }
        (&self.below, None)
    }
}

/// The lines of a fenced block without the indentation of its fence.
fn dedented(fence: &Line<'_>, body: &[Line<'_>]) -> String {
    let indent = fence.text.len() - fence.text.trim_ascii_start().len();
    let lines = body.iter().map(|line| {
        let blanks = line.text.len() - line.text.trim_ascii_start().len();
        line::readable(&line.text[indent.min(blanks)..])
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The first non-empty code span of a line and the text behind it.
fn code_span(text: &str) -> Option<(String, &str)> {
    let mut rest = text;
    loop {
        let open = rest.find('`')?;
        let ticks = rest[open..].bytes().take_while(|&b| b == b'`').count();
        let body = &rest[open + ticks..];
        let Some(length) = closing_ticks(body, ticks) else {
            rest = body;
            continue;
        };
        let behind = &body[length + ticks..];
        let content = body[..length].trim();
        if !content.is_empty() {
            return Some((content.to_owned(), behind));
        }
        rest = behind;
    }
}

/// Where a run of exactly `ticks` backticks begins.
fn closing_ticks(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|n| at + n) {
        let run = text[start..].bytes().take_while(|&b| b == b'`').count();
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

fn expectation(behind: &str) -> Option<Expectation> {
    let mut words = behind.split_whitespace();
    words.find(|word| matches!(word.to_ascii_lowercase().as_str(), "returns" | "shows"))?;
    let number = words.next()?.trim_matches(|c: char| !c.is_ascii_digit() && c != '-');
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| Expectation(number.to_owned()))
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
    let path = match code_span(part) {
        Some((path, _)) => path,
        // A remark stands apart from the name; `app/[id]/page.tsx` is a name.
        None => part
            .split([' ', '\t'])
            .filter(|w| !w.is_empty())
            .take_while(|w| !w.starts_with(['(', '[']))
            .collect::<Vec<_>>()
            .join(" "),
    };
    let path = path.trim().trim_start_matches("./");
    let nothing = path.trim_matches('.').eq_ignore_ascii_case("none") || path == "-";
    (!path.is_empty() && !nothing).then(|| path.to_owned())
}

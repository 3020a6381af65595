//! A Markdown document as sections and lines, each with its place.
//!
//! Headings in fences and comments are none. Front matter is optional.

use std::ops::Range;

use crate::line::{self, Fence};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Words, a list, a table.
    Text,
    /// A heading.
    Heading,
    /// A fence, or what stands in it.
    Code,
    /// A comment, or front matter.
    Hidden,
}

/// One line of a document.
#[derive(Debug, Clone)]
pub struct DocLine {
    /// Its number, from 1.
    pub number: usize,
    /// Where it stands, its end included.
    pub span: Range<usize>,
    /// What it says.
    pub text: String,
    /// What it is.
    pub kind: LineKind,
    /// The innermost section that it belongs to, by index; a heading to its own.
    pub section: Option<usize>,
}

/// A heading, and the lines below it.
#[derive(Debug, Clone)]
pub struct Section {
    /// How many `#`.
    pub level: usize,
    /// The heading.
    pub title: String,
    /// The line of the heading, from 1.
    pub line: usize,
    /// The lines below it, down to the next heading that is not deeper; by index.
    pub lines: Range<usize>,
    /// The section it is a part of, by index.
    pub above: Option<usize>,
}

/// A document, cut into lines and sections.
#[derive(Debug, Clone)]
pub struct Outline {
    /// All lines.
    pub lines: Vec<DocLine>,
    /// All headings, in their order.
    pub sections: Vec<Section>,
    /// The line of a fence that nobody has closed.
    pub open_fence: Option<usize>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its line, from 1.
    pub line: usize,
    /// Where it stands.
    pub span: Range<usize>,
    /// Its cells, by the names of their columns in lower case.
    pub cells: Vec<(String, String)>,
}

impl Row {
    /// The cell of the first column whose name contains this.
    pub fn cell(&self, column: &str) -> Option<&str> {
        let cell = self.cells.iter().find(|(name, _)| name.contains(column));
        cell.map(|(_, text)| text.as_str())
    }

    /// The cell with this index.
    pub fn at(&self, index: usize) -> &str {
        self.cells.get(index).map_or("", |(_, text)| text.as_str())
    }
}

impl Outline {
    /// Cuts a text into its parts. Never fails.
    pub fn scan(text: &[u8]) -> Outline {
        let mut lines: Vec<DocLine> = line::lines(text)
            .enumerate()
            .map(|(index, line)| DocLine {
                number: index + 1,
                span: line.span(),
                text: line::readable(line.text),
                kind: LineKind::Text,
                section: None,
            })
            .collect();
        let body = hide_front_matter(&mut lines);
        let raw: Vec<line::Line<'_>> = line::lines(text).collect();
        let open_fence = mark(&mut lines, &raw, body, None);
        if let Some(open) = open_fence {
            // What stands behind it is text: one forgotten fence must not hide it all.
            mark(&mut lines, &raw, open, Some(open));
        }
        let sections = sections(&mut lines);
        Outline { lines, sections, open_fence: open_fence.map(|index| index + 1) }
    }

    /// The first section with one of these titles, in any case.
    pub fn section(&self, titles: &[&str]) -> Option<&Section> {
        let is_meant = |section: &&Section| {
            let title = plain_title(&section.title);
            titles.iter().any(|known| title.eq_ignore_ascii_case(known))
        };
        self.sections.iter().find(is_meant)
    }

    /// The lines of a section that are not hidden.
    pub fn lines_of(&self, section: &Section) -> impl Iterator<Item = &DocLine> {
        let lines = &self.lines[section.lines.clone()];
        lines.iter().filter(|line| line.kind != LineKind::Hidden)
    }

    /// Whether nothing is said in a section: no words, no code, no row of a table.
    pub fn is_empty(&self, section: &Section) -> bool {
        let rows = self.rows(section.lines.clone());
        let says = |line: &DocLine| match line.kind {
            LineKind::Code => true,
            LineKind::Text => {
                let text = line.text.trim();
                let is_in_table = text.starts_with('|');
                let row = rows.binary_search_by_key(&line.number, |row| row.line);
                let is_row = row.is_ok_and(|row| row_says(&rows[row]));
                !text.is_empty() && (!is_in_table || is_row)
            }
            LineKind::Heading | LineKind::Hidden => false,
        };
        !self.lines_of(section).any(says)
    }

    /// The rows of the tables in these lines, their headers left out.
    pub fn rows(&self, lines: Range<usize>) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut header: Vec<String> = Vec::new();
        for line in &self.lines[lines] {
            let text = line.text.trim();
            if line.kind != LineKind::Text || !text.starts_with('|') {
                header.clear();
                continue;
            }
            let cells = cells(text);
            if header.is_empty() {
                header = cells.iter().map(|cell| cell.to_lowercase()).collect();
            } else if !cells.iter().all(|cell| is_rule(cell)) {
                let names = header.iter().cloned().chain(std::iter::repeat(String::new()));
                let cells = names.zip(cells).collect();
                rows.push(Row { line: line.number, span: line.span.clone(), cells });
            }
        }
        rows
    }

    /// The titles of the sections around a line, from the innermost.
    pub fn titles_above(&self, line: &DocLine) -> impl Iterator<Item = &str> {
        let innermost = line.section.map(|at| &self.sections[at]);
        let around = std::iter::successors(innermost, |section| {
            section.above.map(|above| &self.sections[above])
        });
        around.map(|section| section.title.as_str())
    }

    /// The index of the last line that belongs to an item which begins at `index`: what
    /// follows and stands further right.
    pub fn end_of_item(&self, index: usize) -> usize {
        let indent = |line: &DocLine| line.text.len() - line.text.trim_start().len();
        let base = indent(&self.lines[index]);
        let belongs = |line: &&DocLine| {
            line.kind != LineKind::Heading && !line.text.trim().is_empty() && indent(line) > base
        };
        index + self.lines[index + 1..].iter().take_while(belongs).count()
    }
}

/// The lines of the front matter, which are hidden. Gives the index behind it.
fn hide_front_matter(lines: &mut [DocLine]) -> usize {
    let is_rule = |line: &DocLine| matches!(line.text.trim_end(), "---" | "...");
    if lines.first().is_none_or(|line| line.text.trim_end() != "---") {
        return 0;
    }
    let Some(last) = lines.iter().skip(1).position(is_rule) else { return 0 };
    lines[..last + 2].iter_mut().for_each(|line| line.kind = LineKind::Hidden);
    last + 2
}

/// Says what each line from `from` on is; the line at `plain` begins no fence. Gives the
/// index of a fence that nothing closes.
fn mark(
    lines: &mut [DocLine],
    raw: &[line::Line<'_>],
    from: usize,
    plain: Option<usize>,
) -> Option<usize> {
    let last_end = lines.iter().rposition(|line| line.text.contains("-->"));
    let mut fence: Option<(Fence, usize)> = None;
    let mut in_comment = false;
    for index in from..lines.len() {
        let text = lines[index].text.trim();
        let kind = if let Some((open, _)) = fence {
            if open.is_closed_by(&raw[index]) {
                fence = None;
            }
            LineKind::Code
        } else if in_comment {
            in_comment = !text.contains("-->");
            LineKind::Hidden
        } else if let Some(opened) = Fence::opened_by(&raw[index]).filter(|_| plain != Some(index))
        {
            fence = Some((opened, index));
            LineKind::Code
        } else if text.starts_with("<!--") && last_end.is_some_and(|end| end >= index) {
            in_comment = !text.contains("-->");
            LineKind::Hidden
        } else if heading(&lines[index].text).is_some() {
            LineKind::Heading
        } else {
            LineKind::Text
        };
        lines[index].kind = kind;
    }
    fence.map(|(_, index)| index)
}

/// The level and the words of a heading.
fn heading(text: &str) -> Option<(usize, &str)> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let title = text[level..].strip_prefix(' ').filter(|_| (1..=6).contains(&level))?;
    Some((level, title.trim().trim_end_matches('#').trim_end()))
}

fn sections(lines: &mut [DocLine]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let count = lines.len();
    for (index, line) in lines.iter_mut().enumerate() {
        let found = heading(&line.text).filter(|_| line.kind == LineKind::Heading);
        if let Some((level, title)) = found {
            while let Some(last) = open.pop_if(|last| sections[*last].level >= level) {
                sections[last].lines.end = index;
            }
            let above = open.last().copied();
            open.push(sections.len());
            let (title, line) = (title.to_owned(), line.number);
            sections.push(Section { level, title, line, lines: index + 1..count, above });
        }
        line.section = open.last().copied();
    }
    sections
}

/// A heading without a number in front and a colon behind.
pub fn plain_title(title: &str) -> &str {
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == ')';
    let bare = title.trim_start_matches(is_number).trim();
    let bare = if bare.is_empty() { title } else { bare };
    bare.trim_matches('*').trim_end_matches(':').trim()
}

/// The cells of a row. A `|` in code or behind a backslash is text.
fn cells(row: &str) -> Vec<String> {
    let inner = row.strip_prefix('|').unwrap_or(row);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let mut cells = vec![String::new()];
    let mut in_code = false;
    let mut escaped = false;
    for c in inner.chars() {
        let cell = cells.last_mut().expect("there is one cell at least");
        match c {
            '|' if escaped => {
                cell.pop();
                cell.push(c);
            }
            '|' if !in_code => cells.push(String::new()),
            '`' => {
                in_code = !in_code;
                cell.push(c);
            }
            _ => cell.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// A cell of the line below a table's header.
fn is_rule(cell: &str) -> bool {
    cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':' | ' '))
}

fn row_says(row: &Row) -> bool {
    row.cells.iter().any(|(_, text)| !text.is_empty())
}

/// A line's text with its code spans blanked out.
pub fn without_code(text: &str) -> String {
    let mut in_code = false;
    let has_end = text.matches('`').count().is_multiple_of(2);
    let blank = |c: char| {
        if c == '`' && has_end {
            in_code = !in_code;
            return ' ';
        }
        if in_code { ' ' } else { c }
    };
    text.chars().map(blank).collect()
}

/// What an item of a list says, without its bullet and its box.
pub fn item_text(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let rest = match text.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            text[digits..].strip_prefix(['.', ')']).filter(|_| digits > 0)?
        }
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let boxed = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| rest.strip_prefix(mark));
    Some(boxed.map_or(rest, str::trim_start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<String> {
        Outline::scan(text.as_bytes()).sections.into_iter().map(|section| section.title).collect()
    }

    #[test]
    fn headings_in_fences_comments_and_front_matter_are_none() {
        let text =
            "---\nspec: a\n# x\n---\n# One\n```\n# Two\n```\n<!--\n# Three\n-->\n## Four ##\n";
        assert_eq!(titles(text), ["One", "Four"]);
        let outline = Outline::scan(text.as_bytes());
        assert_eq!(outline.sections[1].line, 12);
        assert_eq!(outline.open_fence, None);
    }

    #[test]
    fn a_fence_that_nobody_closes_hides_nothing() {
        let outline = Outline::scan(b"# One\n```sh\nx\n# Two\n");
        assert_eq!(outline.open_fence, Some(2));
        assert_eq!(outline.sections.len(), 2);
        assert_eq!(titles("# One\n<!-- a\n# Two\n"), ["One", "Two"], "nor does a comment");
    }

    #[test]
    fn a_section_goes_down_to_the_next_heading_that_is_not_deeper() {
        let outline = Outline::scan(b"# A\n## B\nx\n### C\ny\n## D\n\n");
        let ranges: Vec<_> = outline.sections.iter().map(|s| s.lines.clone()).collect();
        assert_eq!(ranges, [1..7, 2..5, 4..5, 6..7]);
        assert!(!outline.is_empty(&outline.sections[1]));
        assert!(outline.is_empty(outline.section(&["d"]).unwrap()));
    }

    #[test]
    fn rows_know_the_names_of_their_columns() {
        let text = "## T\n| ID | What |\n|----|:----|\n| FR-1 | a `x | y` \\| z |\n\n| A |\n|--|\n";
        let outline = Outline::scan(text.as_bytes());
        let rows = outline.rows(0..outline.lines.len());
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].cell("id"), Some("FR-1"));
        assert_eq!(rows[0].cell("what"), Some("a `x | y` | z"));
        assert_eq!(rows[0].line, 4);
        let empty = Outline::scan(b"## T\n| A |\n|---|\n");
        assert!(empty.is_empty(&empty.sections[0]), "a table without rows says nothing");
    }

    #[test]
    fn the_text_of_an_item_is_what_stands_behind_its_bullet_and_box() {
        assert_eq!(item_text("- [ ] AC-1.1: x"), Some("AC-1.1: x"));
        assert_eq!(item_text("  2. y"), Some("y"));
        assert_eq!(item_text("-y"), None);
        assert_eq!(item_text("plain"), None);
    }

    #[test]
    fn code_is_blanked_out_only_where_it_ends() {
        assert_eq!(without_code("a `TODO` b").trim(), "a        b".trim());
        assert_eq!(without_code("a `TODO"), "a `TODO");
    }
}

//! Columns that stand below one another, as many as the page has room for.

use super::{Layout, Part, Tone, columns, fit, pad};
use crate::report::layout::pad_left;

/// What a title needs to be told from another, on a narrow page.
const TITLE: usize = 18;

/// A table of tasks.
pub(super) struct Table {
    pub(super) signs: Vec<(&'static str, Tone)>,
    pub(super) ids: Vec<String>,
    pub(super) titles: Vec<String>,
    /// The most important first.
    pub(super) columns: Vec<Column>,
}

/// One fact about every task.
pub(super) struct Column {
    cells: Vec<String>,
    tone: Tone,
    right: bool,
}

impl Column {
    pub(super) fn new(cells: Vec<String>, tone: Tone) -> Column {
        Column { cells, tone, right: false }
    }

    /// Numbers stand at the right.
    pub(super) fn right_aligned(self) -> Column {
        Column { right: true, ..self }
    }

    fn width(&self) -> usize {
        widest(&self.cells)
    }

    fn part(&self, row: usize) -> Part {
        let cell = &self.cells[row];
        let width = self.width();
        let cell = if self.right { pad_left(cell, width) } else { pad(cell, width) };
        Part::new(format!("  {cell}"), self.tone)
    }
}

impl Table {
    pub(super) fn render(&self, layout: Layout) -> Vec<String> {
        let ids = widest(&self.ids);
        let room = layout.width.saturating_sub(2 + ids + 1);
        let mut shown: Vec<&Column> =
            self.columns.iter().filter(|column| column.width() > 0).collect();
        let taken =
            |shown: &[&Column]| shown.iter().map(|column| 2 + column.width()).sum::<usize>();
        let titles = widest(&self.titles);
        let wanted = titles.min(TITLE.max(layout.width * 3 / 10));
        while !shown.is_empty() && room < taken(&shown) + wanted {
            shown.pop();
        }
        let titles = titles.min(room.saturating_sub(taken(&shown)));
        let line = |row: usize| {
            let (sign, tone) = self.signs[row];
            let mut parts = vec![
                Part::new(format!("{sign} "), tone),
                Part::new(format!("{} ", pad(&self.ids[row], ids)), Tone::Strong),
                Part::new(pad(&fit(&self.titles[row], titles), titles), Tone::Normal),
            ];
            parts.extend(shown.iter().map(|column| column.part(row)));
            while parts.last().is_some_and(|part| part.text.trim_end().is_empty()) {
                parts.pop();
            }
            if let Some(last) = parts.last_mut() {
                last.text.truncate(last.text.trim_end().len());
            }
            layout.line(&parts)
        };
        (0..self.signs.len()).map(line).collect()
    }
}

fn widest(cells: &[String]) -> usize {
    cells.iter().map(|cell| columns(cell)).max().unwrap_or(0)
}

//! The live view on a terminal.
//!
//! [`View`] knows what is to be seen; this draws it. Only [`Reporter::tick`]
//! draws what moves, so an agent that says a thousand things a second costs
//! nothing.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use specum_core::summary::Summary;

use super::layout::Layout;
use super::lines::{Line, Stamp};
use super::view::View;
use super::{Reporter, summary};

/// The live view.
pub(super) struct Live<T, C> {
    view: View,
    /// All moving lines are the message of one bar.
    bar: ProgressBar,
    term: T,
    colours: bool,
    /// The time since some moment.
    clock: C,
}

impl<T: TermLike + Clone + 'static, C: Fn() -> Duration> Live<T, C> {
    pub(super) fn new(term: T, colours: bool, clock: C) -> Self {
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let style = ProgressStyle::with_template("{msg}").expect("a template of one field");
        let bar = ProgressBar::with_draw_target(None, target).with_style(style);
        Live { view: View::default(), bar, term, colours, clock }
    }

    /// The terminal as it is now: a person may have changed its size.
    fn layout(&self) -> Layout {
        Layout::of(Some(self.term.width()), self.colours)
    }

    /// Writes lines that stay. Each has an end of its own, where the bar would
    /// fill it with blanks: a person may copy it, or make the window wider.
    fn write<'l>(&self, lines: impl Iterator<Item = &'l str>) {
        for line in lines {
            // A run goes on although nobody looks.
            let _ = self.term.write_line(line);
        }
        let _ = self.term.flush();
    }

    fn draw(&self) {
        let rows = usize::from(self.term.height());
        let lines = self.view.lines((self.clock)(), self.layout(), rows);
        self.bar.set_message(lines.join("\n"));
    }
}

impl<T: TermLike + Clone + 'static, C: Fn() -> Duration> Reporter for Live<T, C> {
    fn line(&mut self, _stamp: Stamp<'_>, event: &Line) {
        let lasting = self.view.take(event, (self.clock)(), self.layout());
        if let Line::RunEnded { .. } = event {
            self.bar.finish_and_clear();
        }
        if !lasting.is_empty() {
            self.bar.suspend(|| self.write(lasting.iter().map(String::as_str)));
            self.draw();
        }
    }

    /// Only the last thing that an agent said is to be seen anyway.
    fn left_out(&mut self, _stamp: Stamp<'_>, _count: u64) {}

    fn tick(&mut self) {
        self.draw();
    }

    // What lasts is written at once, and the rest with the next tick.
    fn flush(&mut self) {}

    fn summary(&mut self, _at: &str, spec: &str, summary: &Summary) {
        self.bar.finish_and_clear();
        self.write(summary::render(spec, summary, self.layout()).lines());
    }
}

#[cfg(test)]
mod tests;

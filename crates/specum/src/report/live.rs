//! The live view on a terminal.
//!
//! [`View`] knows what is to be seen; this draws it. Only [`Reporter::tick`]
//! draws what moves, so an agent that says a thousand things a second costs
//! nothing.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use specum_core::event::Outcome;
use specum_core::sanitize;
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
    /// Whether a key was pressed since it was asked last.
    key_was_pressed: fn() -> bool,
    /// Whether the terminal rings at the end of a long run.
    bell: bool,
    /// Until when keys are explained.
    explains_until: Duration,
}

/// A run of so many milliseconds is long: who began it looks elsewhere by now.
fn long_run() -> u64 {
    #[cfg(feature = "test-support")]
    if let Some(millis) = std::env::var("SPECUM_LONG_RUN").ok().and_then(|text| text.parse().ok()) {
        return millis;
    }
    60_000
}

/// What calls a person back to the terminal: its bell, and its title.
fn call(spec: &str, outcome: &Outcome) -> String {
    format!("\x07\x1b]2;{}\x07", sanitize::one_line(&format!("{spec}: {outcome}")))
}

/// How long keys are explained to somebody who has pressed one.
const EXPLANATION: Duration = Duration::from_secs(10);

impl<T: TermLike + Clone + 'static, C: Fn() -> Duration> Live<T, C> {
    pub(super) fn new(term: T, colours: bool, clock: C, key_was_pressed: fn() -> bool) -> Self {
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let style = ProgressStyle::with_template("{msg}").expect("a template of one field");
        let bar = ProgressBar::with_draw_target(None, target).with_style(style);
        let (view, explains_until) = (View::default(), Duration::ZERO);
        let bell = false;
        Live { view, bar, term, colours, clock, key_was_pressed, bell, explains_until }
    }

    /// The same, on a terminal that rings at the end of a long run.
    pub(super) fn with_bell(self, bell: bool) -> Self {
        Live { bell, ..self }
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
        let (now, layout) = ((self.clock)(), self.layout());
        let rows = usize::from(self.term.height());
        let explains = now < self.explains_until;
        let mut lines = self.view.lines(now, layout, rows - usize::from(explains && rows > 1));
        if explains {
            lines.extend(self.view.explanation_of_keys(layout));
        }
        self.bar.set_message(lines.join("\n"));
    }
}

impl<T: TermLike + Clone + 'static, C: Fn() -> Duration> Reporter for Live<T, C> {
    fn line(&mut self, _stamp: Stamp<'_>, event: &Line) {
        let lasting = self.view.take(event, (self.clock)(), self.layout());
        if let Line::RunEnded { outcome, millis, .. } = event {
            self.bar.finish_and_clear();
            if self.bell && *millis >= long_run() {
                let _ = self.term.write_str(&call(self.view.spec(), outcome));
                let _ = self.term.flush();
            }
        }
        if !lasting.is_empty() {
            self.bar.suspend(|| self.write(lasting.iter().map(String::as_str)));
            self.draw();
        }
    }

    /// Only the last thing that an agent said is to be seen anyway.
    fn left_out(&mut self, _stamp: Stamp<'_>, _count: u64) {}

    fn tick(&mut self) {
        if (self.key_was_pressed)() {
            self.explains_until = (self.clock)() + EXPLANATION;
        }
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

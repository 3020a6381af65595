//! A report in the forms that it is read in: a page, Markdown, and JUnit for CI.
//!
//! All of them are written from one [`Report`], touch nothing and ask nobody. Moments are
//! shown in the time zone that is given.

mod html;
mod junit;
mod markdown;
mod words;

use jiff::tz::TimeZone;
use specum_core::report::Report;

pub use self::markdown::Length;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A page that loads nothing.
    Html,
    /// Markdown for a pull request or the summary of a CI step.
    Markdown(Length),
    /// JUnit's XML, which CI systems show.
    Junit,
}

/// A report in one of its forms.
pub fn render(report: &Report, form: Form, zone: &TimeZone) -> String {
    match form {
        Form::Html => html::page(report, zone),
        Form::Markdown(length) => markdown::render(report, length),
        Form::Junit => junit::render(report),
    }
}

#[cfg(test)]
mod tests;

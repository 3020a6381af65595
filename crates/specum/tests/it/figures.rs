//! The benchmarks, small and once: `cargo figures` is not to rot, and no
//! figure stands without its yardstick.

use clap::ValueEnum;

use xtask::figures::{Bench, Figures, Group, Scale, plot, row};

use crate::world::specum;

#[test]
fn every_figure_has_its_yardstick_and_every_line_its_points() {
    let bench = Bench::new(Scale::Quick, specum());
    let mut figures = Figures::default();
    // A cold build takes minutes.
    for group in Group::value_variants().iter().filter(|group| **group != Group::Build) {
        let more = group.measure(&bench);
        assert!(!more.rows.is_empty() || !more.skipped.is_empty());
        figures.add(more);
    }

    let mut names = Vec::new();
    for row in &figures.rows {
        for text in [&row.figure, &row.yardstick] {
            assert!(text.contains(|c: char| c.is_ascii_digit()), "{row:?}");
        }
        assert!(!names.contains(&&row.name), "{} is there twice", row.name);
        names.push(&row.name);
    }
    let table = row::table(&figures.rows);
    assert_eq!(table.lines().count(), figures.rows.len() + 2, "{table}");
    assert!(table.lines().all(|line| line.matches('|').count() == 6), "{table}");
    assert!(!table.contains("NaN") && !table.contains("inf"), "{table}");

    let plot = plot::growth(&figures.growth);
    assert_eq!(plot.matches("<polyline").count(), figures.growth.len());
    assert!(!figures.growth.is_empty() && !plot.contains("NaN"), "{plot}");
}

#[test]
fn what_is_written_between_the_marks_leaves_the_rest_of_a_page() {
    let page = "above\n<!-- figures -->\nold\n<!-- /figures -->\nbelow\n";
    let written = row::between_marks(page, "new\n").unwrap();
    assert_eq!(written, "above\n<!-- figures -->\nnew\n<!-- /figures -->\nbelow\n");
    assert_eq!(row::between_marks("no marks\n", "new\n"), None);
}

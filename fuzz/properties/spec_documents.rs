//! The documents of a spec: reading never fails, places are places, and what was recorded
//! of a spec is not stale.

use std::collections::BTreeSet;

use specum_core::spec::epic::{self, Epic, Progress};
use specum_core::spec::gate::{self, Facts, Level, Policy, Rule, Spec};
use specum_core::spec::outline::Outline;
use specum_core::spec::trace::{Graph, TraceFile, matrix};
use specum_core::spec::{Doc, Texts};

pub fn hold(text: &[u8]) {
    places_are_in_the_text(text);
    // Each text is tried as each document, in front of and behind itself.
    let goal = String::from_utf8_lossy(text);
    let texts = Doc::ALL.into_iter().fold(Texts::default(), |texts, doc| texts.with(doc, text));
    let spec = Spec::of(Texts { goal: Some(&goal), ..texts });
    findings_name_lines(&spec, text);
    an_epic_comes_to_an_end(text);
    nothing_recorded_is_stale(&spec);
    for row in matrix(&spec) {
        let tasks = spec.tasks().map_or(0, |file| file.tasks.len());
        assert!(row.tasks.iter().all(|task| *task < tasks));
    }
    let _ = TraceFile::parse(text).map(|trace| assert_eq!(again(&trace), trace));
}

fn places_are_in_the_text(text: &[u8]) {
    let outline = Outline::scan(text);
    let mut end = 0;
    for line in &outline.lines {
        assert!(line.span.start >= end && line.span.end <= text.len());
        end = line.span.end;
        assert!(outline.titles_above(line).count() <= 6);
    }
    for section in &outline.sections {
        assert!(section.lines.start <= section.lines.end);
        assert!(section.lines.end <= outline.lines.len());
        assert_eq!(outline.lines[section.line - 1].number, section.line);
    }
    assert!(outline.open_fence.is_none_or(|line| line <= outline.lines.len()));
}

fn findings_name_lines(spec: &Spec<'_>, text: &[u8]) {
    let lines = text.split(|byte| *byte == b'\n').count();
    let policies = [
        Policy::default(),
        Policy { is_authored: true, ..Policy::default() },
        Policy { is_authored: true, levels: [(Rule::MissingSection, Level::Off)].into() },
    ];
    for policy in &policies {
        for doc in Doc::ALL {
            let found = gate::judge(doc, spec, &Facts::none(), policy);
            assert!(found.is_sorted_by_key(|finding| finding.line));
            for finding in found {
                assert!((1..=lines).contains(&finding.line));
                assert!(!finding.message.is_empty() && !finding.fix.is_empty());
                assert!(policy.levels.get(&finding.rule) != Some(&Level::Off));
            }
        }
    }
}

fn an_epic_comes_to_an_end(text: &[u8]) {
    let lines = text.split(|byte| *byte == b'\n').count();
    let epic = Epic::scan(text);
    let found = epic::judge(&epic, &|_| false);
    assert!(found.iter().all(|finding| (1..=lines).contains(&finding.line)));
    for part in &epic.specs {
        for contract in &part.exposes {
            assert!(epic.goal_of(part).contains(&contract.name), "a contract is told");
        }
    }
    // Without a finding, one spec after the other can be worked.
    if found.is_empty() {
        let mut done = BTreeSet::new();
        while let Some(next) = epic.next(
            &|name| if done.contains(name) { Progress::Completed } else { Progress::Pending },
            &BTreeSet::new(),
        ) {
            done.insert(next.name.clone());
        }
        assert_eq!(done.len(), epic.specs.len(), "every spec has its turn");
    }
}

fn nothing_recorded_is_stale(spec: &Spec<'_>) {
    let graph = Graph::of(spec);
    let trace = TraceFile { nodes: graph.recorded(), ..TraceFile::default() };
    assert_eq!(graph.stale(&trace), [], "what stands is fresh");
    assert_eq!(graph.changed(&trace), [""; 0], "nothing has changed");
    assert_eq!(again(&trace), trace, "a trace survives its own round trip");
}

fn again(trace: &TraceFile) -> TraceFile {
    TraceFile::parse(trace.text().as_bytes()).expect("what we write can be read")
}

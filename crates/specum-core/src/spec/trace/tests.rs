use super::*;
use crate::spec::Texts;
use crate::spec::samples::{DESIGN, REQUIREMENTS, TASKS};

fn texts<'a>(requirements: &'a str, design: &'a str, tasks: &'a str) -> Texts<'a> {
    Texts::default()
        .with(Doc::Requirements, requirements.as_bytes())
        .with(Doc::Design, design.as_bytes())
        .with(Doc::Tasks, tasks.as_bytes())
}

fn recorded(texts: Texts<'_>) -> TraceFile {
    TraceFile { nodes: Graph::of(&Spec::of(texts)).recorded(), ..TraceFile::default() }
}

/// What becomes stale, and because of what.
fn stale(texts: Texts<'_>, file: &TraceFile) -> String {
    let found = Graph::of(&Spec::of(texts)).stale(file);
    let lines = found.iter().map(|stale| format!("{}: {}", stale.name, stale.because.join(" ")));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_is_stale_at_first_and_after_a_tick() {
    let before = recorded(texts(REQUIREMENTS, DESIGN, TASKS));
    assert_eq!(stale(texts(REQUIREMENTS, DESIGN, TASKS), &before), "");
    let ticked = TASKS.replace("- [ ] 1.1", "- [x] 1.1");
    assert_eq!(recorded(texts(REQUIREMENTS, DESIGN, &ticked)), before, "a tick is no change");
    let rewrapped = DESIGN.replace("keeps one open link", "keeps one\n  open   link");
    assert_eq!(recorded(texts(REQUIREMENTS, &rewrapped, TASKS)), before, "nor is a line end");
}

#[test]
fn a_changed_criterion_makes_stale_exactly_what_stands_on_it() {
    let before = recorded(texts(REQUIREMENTS, DESIGN, TASKS));
    let changed = REQUIREMENTS.replace("SHALL answer 410", "SHALL answer 404");
    let now = texts(&changed, DESIGN, TASKS);
    insta::assert_snapshot!(stale(now, &before), @r"
    C-1: FR-2
    task 1.1: AC-1.2
    ");
    assert_eq!(Graph::of(&Spec::of(now)).changed(&before), ["AC-1.2", "FR-2"]);
}

#[test]
fn what_keeps_its_text_makes_nothing_stale() {
    // The component stands on the requirement; the task on the component alone.
    let tasks = TASKS.replace("FR-1, AC-1.2", "FR-1");
    let before = recorded(texts(REQUIREMENTS, DESIGN, &tasks));
    let changed = REQUIREMENTS.replace("SHALL answer 410", "SHALL answer 404");
    assert_eq!(stale(texts(&changed, DESIGN, &tasks), &before), "C-1: FR-2");
    let redesigned = DESIGN.replace("`issue(address) -> Token`", "`issue(address) -> Link`");
    assert_eq!(stale(texts(&changed, &redesigned, &tasks), &before), "C-1: FR-2\ntask 1.1: C-1");
}

#[test]
fn what_is_gone_makes_stale_what_stood_on_it() {
    let before = recorded(texts(REQUIREMENTS, DESIGN, TASKS));
    let gone =
        REQUIREMENTS.replace("| NFR-1 | Answers are quick | p95 of POST /links | < 200 ms |\n", "");
    assert_eq!(stale(texts(&gone, DESIGN, TASKS), &before), "C-2: NFR-1\ntask 1.2: NFR-1");
    assert_eq!(stale(texts(REQUIREMENTS, DESIGN, TASKS), &TraceFile::default()), "", "all is new");
}

#[test]
fn a_trace_is_read_as_it_is_written_one_part_a_line() {
    let mut trace = recorded(texts(REQUIREMENTS, DESIGN, TASKS));
    let approval = Approval {
        digest: "1f0c".into(),
        by: "person".into(),
        via: "dialog".into(),
        at: "2026-11-16T09:00:00Z".into(),
    };
    trace.approved.insert("requirements".into(), approval);
    trace.others.insert("later".into(), serde_json::json!([1]));
    let text = trace.text();
    assert_eq!(TraceFile::parse(text.as_bytes()).unwrap(), trace);
    assert_eq!(text.lines().filter(|line| line.contains("\"on\"")).count(), 6);
    assert!(text.lines().all(|line| line.matches("digest").count() <= 1));
    assert_eq!(
        TraceFile::parse(TraceFile::default().text().as_bytes()).unwrap(),
        TraceFile::default()
    );
}

#[test]
fn a_trace_of_a_newer_version_or_none_at_all_is_refused() {
    let newer = TraceFile::parse(b"{\"formatVersion\": 2}").unwrap_err().to_string();
    assert_eq!(newer, "its format is 2, and this version knows 1");
    assert!(TraceFile::parse(b"<<<<<<< HEAD").is_err());
    assert!(TraceFile::parse(b"{}").is_err());
}

#[test]
fn the_matrix_shows_what_there_is_for_each_requirement() {
    let spec = Spec::of(texts(REQUIREMENTS, DESIGN, TASKS));
    let lines = matrix(&spec).into_iter().map(|row| {
        let criteria: Vec<String> = row.criteria.iter().map(Id::to_string).collect();
        let (criteria, components) = (criteria.join(" "), row.components.join(" "));
        format!("{} | {criteria} | {components} | {:?} | {:?}\n", row.id, row.tasks, row.target)
    });
    insta::assert_snapshot!(lines.collect::<String>(), @r#"
    FR-1 | AC-1.1 | C-1 | [0] | None
    FR-2 | AC-1.2 | C-1 | [0] | None
    NFR-1 |  | C-2 | [1] | Some("p95 of POST /links < 200 ms")
    "#);
}

//! What planning rests on: how long the gate and the map take, and what the gate finds.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use serde_json::Value;
use specum_core::authoring::Profile;
use specum_core::spec::gate::{Facts, Finding, Look, Policy, Rule, Spec, judge};
use specum_core::spec::id::Id;
use specum_core::spec::red::FirstRun;
use specum_core::spec::trace::{Graph, TraceFile};
use specum_core::spec::{Doc, Texts};
use specum_core::tasks::Program;

use super::row::{Row, grouped, size};
use super::sample::{Ratio, Sample, Subject, in_turn, timed};
use super::{Bench, tell};
use harness::corpus;
use harness::world::World;

#[path = "../../../crates/specum-core/src/spec/gate/mutants.rs"]
#[allow(dead_code, reason = "the tests of the gate use more of it")]
mod mutants;
#[path = "../../../crates/specum-core/src/spec/samples.rs"]
mod samples;

pub(super) fn measure(bench: &Bench) -> Vec<Row> {
    vec![check(bench), index(bench), prompts(), caught(), let_through(bench), reopened(bench)]
}

/// `specum check` of all documents of a spec, no command run, beside reading them.
fn check(bench: &Bench) -> Row {
    let (tasks, rounds) = bench.pick((60, 31), (4, 1));
    tell(&format!("check of a spec of {tasks} tasks with its documents"));
    let world = World::empty();
    let documents = documents(tasks);
    for (doc, text) in &documents {
        world.write(&format!("specs/demo/{}", doc.file()), text);
    }
    let line = ["check", "demo"];
    let subjects: Vec<Subject<'_>> = vec![
        Box::new(|| {
            prints(&world, &[&[bench.specum.to_str().expect("a plain path")][..], &line].concat())
        }),
        Box::new(|| prints(&world, &["sh", "-c", "exec cat specs/demo/*.md"])),
    ];
    let samples: Vec<Sample> = in_turn(rounds, subjects);
    let name = format!("`specum check`, {tasks} tasks with all documents, nothing run");
    let row = Row::timed(name, &samples[0], "`cat` of the documents", &samples[1]);
    row.goal("≤ 20 ms".into(), samples[0].median() <= 0.020)
}

/// `specum index` of many files beside listing them.
fn index(bench: &Bench) -> Row {
    let (files, rounds) = bench.pick((20_000, 5), (40, 1));
    tell(&format!("map of {} files", grouped(files)));
    let world = World::planned("- [ ] 1.1 a\n");
    for folder in 0..files / 20 {
        let path = world.path(&format!("src/part{}/unit{folder}", folder % 50));
        fs::create_dir_all(&path).expect("a folder");
        for file in 0..20 {
            fs::write(path.join(format!("file{file}.rs")), "fn main() {}\n").expect("a file");
        }
    }
    world.commit_all();
    let subjects: Vec<Subject<'_>> = vec![
        Box::new(|| prints(&world, &[bench.specum.to_str().expect("a plain path"), "index"])),
        Box::new(|| prints(&world, &["git", "ls-files"])),
    ];
    let samples: Vec<Sample> = in_turn(rounds, subjects);
    let name = format!("`specum index`, {} files", grouped(files));
    let row = Row::timed(name, &samples[0], "`git ls-files`", &samples[1]);
    row.goal("≤ 2 s".into(), samples[0].median() <= 2.0)
}

/// What every author of a standard spec reads beside the request and the facts.
fn prompts() -> Row {
    macro_rules! prompt {
        ($name:literal) => {
            include_str!(concat!("../../../crates/specum-core/prompts/author-", $name, ".md")).len()
        };
    }
    let frame = prompt!("frame");
    let texts = prompt!("requirements") + prompt!("design") + prompt!("tasks");
    let all = (3 * frame + texts + prompt!("task-form")) as f64;
    let theirs = 54.0 * 1024.0;
    let row = Row::new(
        "fixed prompts from a goal to tasks.md",
        size(all),
        "spec-kit's specify, plan and tasks, counted once: 54 KB".to_owned(),
        Ratio::of(all, theirs),
    );
    row.goal("≤ 9 KB".into(), all <= 9.0 * 1024.0)
}

/// Changes of clean specs, one for each rule and size at least, that the gate names.
fn caught() -> Row {
    tell("changes of clean specs that the gate names");
    let all = mutants::mutants();
    let is_caught = |mutant: &&mutants::Mutant| matches!(mutant.findings().as_slice(), [only] if only.rule == mutant.rule);
    let caught = all.iter().filter(is_caught).count();
    let clean: usize = [Profile::Small, Profile::Standard, Profile::Full]
        .into_iter()
        .flat_map(|profile| profile.docs().iter().map(move |doc| (profile, *doc)))
        .map(|(profile, doc)| {
            let texts = mutants::texts_up_to(profile, doc);
            mutants::judged(doc, texts, &mutants::strict(), |_| ()).len()
        })
        .sum();
    let count = all.len();
    let row = Row::new(
        "changes that break one rule, and are named as it",
        format!("{caught} of {count}"),
        format!("findings on the same specs unchanged: {clean}"),
        Ratio::of(caught as f64, count as f64),
    );
    row.goal("all, and 0".into(), caught == count && clean == 0)
}

/// Checks that prove nothing and that `check --red` does not name.
fn let_through(bench: &Bench) -> Row {
    tell("checks that prove nothing");
    let world = corpus::world();
    let mut command = world.program(&bench.specum);
    command.args(["check", "tool", "--strict", "--red", "--json"]);
    let output = command.output().expect("it starts").stdout;
    let check: Value = serde_json::from_slice(&output).expect("it prints JSON");
    let plan = world.read("specs/tool/tasks.md");
    let named: BTreeSet<&str> = check["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|finding| finding["rule"].as_str().is_some_and(|rule| rule.starts_with("verify-")))
        .filter_map(|finding| plan.lines().nth(finding["line"].as_u64()? as usize - 1))
        .filter_map(|line| line.split_whitespace().nth(3))
        .collect();
    let empty = || corpus::CHECKS.iter().enumerate().filter(|(_, (_, rule))| rule.is_some());
    let through =
        empty().filter(|(at, _)| !named.contains(format!("1.{}", at + 1).as_str())).count();
    let count = empty().count();
    let row = Row::new(
        "checks that prove nothing, and are let through",
        format!("{through} of {count}"),
        format!("by a look at the form alone: {count}"),
        Ratio::of(through as f64, count as f64),
    );
    row.goal("≤ 2 %".into(), through * 50 <= count)
}

/// The tasks that a changed criterion makes stale.
fn reopened(bench: &Bench) -> Row {
    let tasks = bench.pick(60, 4);
    tell("tasks that a changed criterion makes stale");
    let before = documents(tasks);
    let graph = |documents: &[(Doc, String)]| {
        let texts = documents
            .iter()
            .fold(Texts::default(), |texts, (doc, text)| texts.with(*doc, text.as_bytes()));
        Graph::of(&Spec::of(texts))
    };
    let recorded = TraceFile { nodes: graph(&before).recorded(), ..TraceFile::default() };
    let mut after = before.clone();
    for (_, text) in after.iter_mut().filter(|(doc, _)| *doc == Doc::Requirements) {
        *text = text.replacen("SHALL print 1.", "SHALL print one.", 1);
    }
    let stale = graph(&after).stale(&recorded);
    let stale = stale.iter().filter(|one| one.doc == Doc::Tasks).count();
    let row = Row::new(
        "tasks reopened by one changed criterion",
        stale.to_string(),
        format!("the whole plan: {tasks}"),
        Ratio::of(stale as f64, tasks as f64),
    );
    row.goal("those that stand on it, 2".into(), stale == 2)
}

/// The documents of a spec in which two tasks stand on each requirement.
fn documents(tasks: usize) -> Vec<(Doc, String)> {
    let requirements = tasks / 2;
    let mut stated = String::from("# Requirements: demo\n## User Stories\n### US-1: Use it\n");
    let mut rows = String::new();
    let mut design = String::from("# Design: demo\n## Components\n");
    for n in 1..=requirements {
        stated.push_str(&format!("- AC-1.{n}: WHEN it is called THE tool SHALL print {n}.\n"));
        rows.push_str(&format!("| FR-{n} | It prints {n} | Must | AC-1.{n} |\n"));
        design.push_str(&format!("### C-{n}: Part\n**Purpose**: {n}\n_Requirements: FR-{n}_\n"));
    }
    let head = "## Functional Requirements\n| ID | Requirement | Priority | Acceptance Criteria |\n|--|--|--|--|\n";
    let mut plan = String::from("# Tasks: demo\n## Phase 1: Work\n");
    for n in 1..=tasks {
        let requirement = (n - 1) / 2 + 1;
        plan.push_str(&format!(
            "- [ ] 1.{n} Do the thing number {n}\n  - **Do**:\n    1. Do it\n  \
             - **Files**: src/file{n}.rs\n  - **Done when**: it prints\n  \
             - **Verify**: `test -f src/file{n}.rs`\n  - **Commit**: `feat: thing {n}`\n  \
             - _Requirements: FR-{requirement}_\n  - _Design: C-{requirement}_\n"
        ));
    }
    let research = "# Research: demo\n## Executive Summary\nIt can be built.\n".to_owned();
    vec![
        (Doc::Research, research),
        (Doc::Requirements, format!("{stated}{head}{rows}")),
        (Doc::Design, design),
        (Doc::Tasks, plan),
    ]
}

/// How long a command takes to print what it has to say.
fn prints(world: &World, line: &[&str]) -> std::time::Duration {
    let mut command = world.program(line[0]);
    command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    timed(|| assert!(command.status().expect("it starts").success(), "{line:?}"))
}

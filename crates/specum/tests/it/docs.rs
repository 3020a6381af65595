//! What the documents say is what the program does.
//!
//! `SPECUM_UPDATE_DOCS=1` writes the generated parts anew instead of comparing
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Command;
use serde_json::{Value, json};
use specum::report::json::event_line;
use specum::report::lines::{Line, Stamp};
use specum_core::agent::{Sign, Usage};
use specum_core::event::{Outcome, RunId};
use specum_core::plan;
use specum_core::settings::{self, Place, Settings};
use specum_core::state::State;
use specum_core::summary::Summary;
use specum_core::tasks::{self, Mode, Program, TaskFile, TaskKey};
use specum_core::verify::{FailureClass, Proof};

use crate::json;
use crate::world::{World, repository};

pub(crate) fn document(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares a generated document, or writes it.
fn is_up_to_date(name: &str, generated: &str) {
    if std::env::var_os("SPECUM_UPDATE_DOCS").is_some() {
        fs::write(repository().join(name), generated).unwrap();
    }
    assert_eq!(document(name), generated, "{name} is out of date: cargo xtask docs");
}

/// The fenced blocks of a document: info string and content.
pub(crate) fn fenced(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks < 3 {
            continue;
        }
        let close = "`".repeat(ticks);
        let content: Vec<&str> = lines.by_ref().take_while(|line| *line != close).collect();
        blocks.push((line[ticks..].to_owned(), content.join("\n") + "\n"));
    }
    blocks
}

#[test]
fn every_example_of_the_task_format_is_read_as_the_page_says() {
    let mut example = String::new();
    let mut compared = 0;
    for (info, content) in fenced(&document("docs/task-format.md")) {
        let file = TaskFile::scan(example.as_bytes());
        match info.as_str() {
            "tasks" => {
                example = content;
                continue;
            }
            "scan" => {
                let lines = file.tasks.iter().map(|task| {
                    let mark = match (task.done, task.optional) {
                        (true, _) => 'x',
                        (false, true) => '?',
                        (false, false) => '.',
                    };
                    let mode = match task.mode() {
                        Mode::Sequential => "sequential",
                        Mode::Parallel => "parallel",
                        Mode::Verify => "verify",
                    };
                    format!("{mark} {} {mode} {}\n", task.name(), task.title)
                });
                assert_eq!(lines.collect::<String>(), content, "{example}");
            }
            "next" => {
                let unit = plan::next(&file, &plan::Scope::all(plan::DEFAULT_MAX_PARALLEL), |_| {
                    plan::Readiness::Ready
                });
                let names: Vec<String> =
                    unit.tasks().iter().map(|&n| file.tasks[n].name()).collect();
                assert_eq!(names.join(" ") + "\n", content, "{example}");
            }
            "checks" => {
                // Whatever has no dot in its name is a program there.
                let lookup = |name: &str| match name.contains('.') {
                    true => Program::Missing,
                    false => Program::Found,
                };
                let lines = file.tasks.iter().map(|task| {
                    let check = file.fields(task).verify.expect("each has a Verify");
                    let commands = tasks::shown(&check.commands(&lookup)).replace('\n', "; ");
                    let commands = if commands.is_empty() { "nothing".into() } else { commands };
                    format!("{} {commands}\n", task.name())
                });
                assert_eq!(lines.collect::<String>(), content, "{example}");
            }
            other => panic!("what is a block `{other}`?"),
        }
        compared += 1;
    }
    assert!(compared >= 7, "only {compared} examples");
}

#[test]
fn the_example_of_a_state_is_one_and_every_field_is_documented() {
    let page = document("docs/state.md");
    let (_, example) = fenced(&page).into_iter().find(|(info, _)| info == "json").unwrap();
    let state = State::parse(example.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(state.render()).unwrap(), example, "it is written as it is shown");
    for name in State::field_names() {
        assert!(page.contains(&format!("`{name}`")), "{name} is not documented");
    }
}

#[test]
fn the_example_of_a_stop_is_what_the_hook_answers() {
    let world = World::empty();
    world.write("specs/.current-spec", "demo");
    world.write("specs/demo/tasks.md", "- [ ] 1.1 a\n- [ ] 1.2 b\n");
    world.write(
        "specs/demo/.ralph-state.json",
        json!({"phase": "execution", "totalTasks": 2}).to_string(),
    );
    let call = world.stop();
    let (_, example) =
        fenced(&document("docs/hooks.md")).into_iter().find(|(info, _)| info == "console").unwrap();
    let (head, tail) = example.lines().nth(1).unwrap().split_once('…').unwrap();
    assert!(
        call.stdout.starts_with(head) && call.stdout.trim_end().ends_with(tail),
        "{}",
        call.stdout
    );
}

#[test]
fn the_example_of_the_settings_has_no_mistake_and_every_key() {
    let page = document("docs/settings.md");
    let (_, example) = fenced(&page).into_iter().find(|(info, _)| info == "yaml").unwrap();
    let mut settings = Settings::default();
    assert_eq!(settings::read(Place::Team, example.as_bytes(), &mut settings), []);
    for key in settings::KEYS {
        assert!(
            example.contains(&format!("{key}:")) && page.contains(&format!("| `{key}` |")),
            "{key}"
        );
    }
}

#[test]
fn the_command_reference_is_the_help() {
    let mut definition = specum::commands::definition().term_width(90);
    definition.build();
    let mut page = String::from(
        "# Commands\n\nWritten by `cargo xtask docs` from the definitions of the commands.\n",
    );
    let mut add = |title: &str, command: &mut Command| {
        let help = command.render_long_help().to_string();
        let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", help.trim_end()));
    };
    add("specum", &mut definition.clone());
    for verb in definition.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
        let title = format!("specum {}", verb.get_name());
        add(&title, verb);
        for part in verb.get_subcommands_mut().filter(|part| part.get_name() != "help") {
            add(&format!("{title} {}", part.get_name()), part);
        }
    }
    is_up_to_date("docs/commands.md", &page);
}

/// A type as a page names it.
fn type_in_words(schema: &Value) -> String {
    let name = |reference: &str| format!("`{}`", reference.rsplit('/').next().unwrap_or_default());
    if let Some(reference) = schema["$ref"].as_str() {
        return name(reference);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(type_in_words).collect::<Vec<_>>().join(" or ");
    }
    let word = |kind: &Value| match kind.as_str() {
        Some("array") => format!("array of {}", type_in_words(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("object of {}", type_in_words(&schema["additionalProperties"]))
        }
        Some(kind) => kind.to_owned(),
        None => "anything".to_owned(),
    };
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(word).collect::<Vec<_>>().join(" or "),
        kind => word(kind),
    }
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// What a page says of a schema: its description, its fields, its choices.
fn schema_in_words(schema: &Value) -> String {
    let mut text = description(schema) + "\n";
    let choices = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let values = choices.into_iter().flatten().chain(schema["enum"].as_array().map(|_| schema));
    let mut begun = false;
    for choice in values {
        let said = description(choice);
        let all = |value: &Value| match value["enum"].as_array() {
            Some(all) => all.iter().map(|one| format!("`{}`", one.as_str().unwrap())).collect(),
            None => vec![],
        };
        let mut names: Vec<String> = all(choice);
        names.extend(choice["const"].as_str().map(|value| format!("`{value}`")));
        for (name, field) in choice["properties"].as_object().into_iter().flatten() {
            match field["const"].as_str() {
                Some(value) => names.push(format!("`{name}: {value}`")),
                None => names.push(format!("`{name}` ({})", type_in_words(field))),
            }
        }
        if choice["$ref"].is_string() {
            names.push(type_in_words(choice));
        }
        let gap = if begun { "" } else { "\n" };
        begun = true;
        let said = if said.is_empty() { said } else { format!(": {said}") };
        text.push_str(&format!("{gap}- {}{said}\n", names.join(", ")));
    }
    if let Some(fields) = schema["properties"].as_object() {
        text.push_str("\n| field | type | |\n|---|---|---|\n");
        for (name, field) in fields {
            let (kind, said) = (type_in_words(field), description(field));
            text.push_str(&format!("| `{name}` | {kind} | {said} |\n"));
        }
    }
    text
}

const JSON_PAGE: &str = "\
# JSON answers

Written by `cargo xtask docs` from the types of the answers.

With `--json` a command prints one JSON document on standard output; `specum run` and
`specum log` print one object a line ([run-events.md](run-events.md)). `specum schema
<command>` prints the JSON schema of the answer. Names are the same everywhere: a spec is
`spec`, a task is `task`, or `id` in a list of tasks, `tasks` is such a list, `total` and
`done` count tasks, and `severity` says how bad a finding is. A field without a value is
null; new fields may be added.

A failure is JSON too: an object `error` on standard output, as the last line of a command
that prints lines. The same message is on standard error, and `exit` is the exit code. A
command line that cannot be parsed is answered in words alone, with exit code 2. Warnings
are lines on standard error.
";

#[test]
fn the_page_of_json_answers_is_what_the_schemas_say() {
    let world = World::empty();
    let mut page = JSON_PAGE.to_owned();
    let mut types = std::collections::BTreeMap::new();
    for answer in json::answers() {
        let schema = json::schema_of(&world, &answer);
        page.push_str(&format!("\n## {answer}\n\n"));
        page.push_str(schema_in_words(&schema).trim_start());
        for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
            let before = types.insert(name.clone(), part.clone());
            assert!(before.is_none_or(|before| before == *part), "{name} is two types");
        }
    }
    page.push_str("\n## Types\n");
    for (name, part) in &types {
        page.push_str(&format!("\n### {name}\n\n{}", schema_in_words(part)));
    }
    is_up_to_date("docs/json.md", &page);
}

/// An event of every kind, with everything in it that can be.
fn every_event() -> Vec<Line> {
    let task = || TaskKey { id: "1.2".into(), title: "Add the parser".into() };
    let agent = |sign| Line::Agent { task: task(), sign };
    let usage = Some(Usage { tokens: 48_211, cost: Some(0.31) });
    vec![
        Line::RunStarted {
            spec: "calculator".into(),
            total: 12,
            done: 1,
            agents: vec!["claude".into(), "codex".into()],
            jobs: 2,
        },
        Line::GroupStarted {
            tasks: vec![task(), TaskKey { id: "1.3".into(), title: "Write the printer".into() }],
        },
        Line::AttemptStarted {
            task: task(),
            attempt: 1,
            place: 1,
            agent: Some("claude".into()),
            log: Some(
                "/home/me/.local/state/specum/logs/calculator-1f2e3d4c5b6a7980/1.2-1.log".into(),
            ),
            since: Duration::ZERO,
        },
        agent(Sign::Text { text: "I look at the grammar first.".into() }),
        agent(Sign::Tool { name: "Bash cargo test".into() }),
        agent(Sign::ToolEnded),
        agent(Sign::Used(Usage { tokens: 20_100, cost: Some(0.12) })),
        agent(Sign::Retrying { why: "overloaded".into() }),
        Line::Checking {
            task: task(),
            command: Some("cargo test -p parser".into()),
            integrated: false,
        },
        Line::Passed {
            task: task(),
            attempt: 2,
            place: 2,
            commit: Some("8c1f0d2b7a9e4c55d0e3b1a2f4c6d8e0a1b2c3d4".into()),
            unverified: false,
            proof: Proof::Check,
            changed_nothing: false,
            outside: vec!["Cargo.lock".into()],
            proofs: vec!["tests/parser.rs".into()],
            millis: 95_000,
            usage,
        },
        Line::Failed {
            task: task(),
            attempt: 1,
            place: 1,
            class: "verify".into(),
            reasons: vec!["`cargo test -p parser` ended with code 101".into()],
            telling: vec!["left: 41".into(), "right: 42".into()],
            millis: 34_000,
            usage,
        },
        Line::SetAside {
            task: task(),
            attempt: 1,
            place: 1,
            reasons: vec!["Cargo.toml was changed by 1.3 too".into()],
        },
        Line::Waits {
            task: task(),
            attempt: 1,
            place: 1,
            question: "the check of 1.2 was changed while 1.1 was being worked on: `a` → `b`; \
                       `specum accept 1.2` takes the new one"
                .into(),
            kept: Some("refs/specum/demo/kept/1.2-1".into()),
        },
        Line::FixAdded { task: task(), fix: "1.2.1".into() },
        Line::Waiting {
            agent: "claude".into(),
            why: "5-hour limit reached".into(),
            millis: 3_600_000,
        },
        Line::AgentChanged {
            from: "claude".into(),
            to: "codex".into(),
            why: "5-hour limit reached".into(),
        },
        Line::Warning { text: "1.4 has no Verify command".into() },
        Line::RunEnded {
            outcome: Outcome::Blocked { why: "1.2 failed 5 times".into() },
            done: 4,
            total: 12,
            millis: 5_400_000,
        },
    ]
}

/// The heading an event is documented under. Whoever adds an event is sent here
/// by the compiler, and adds it to `every_event` and to the page.
fn heading(event: &Line) -> &'static str {
    match event {
        Line::RunStarted { .. } => "run-started",
        Line::GroupStarted { .. } => "group-started",
        Line::AttemptStarted { .. } => "attempt-started",
        Line::Agent { sign, .. } => match sign {
            Sign::Text { .. } => "agent: text",
            Sign::Tool { .. } => "agent: tool",
            Sign::ToolEnded => "agent: toolEnded",
            Sign::Used(_) => "agent: used",
            Sign::Retrying { .. } => "agent: retrying",
        },
        Line::Checking { .. } => "checking",
        Line::Passed { .. } => "passed",
        Line::Failed { .. } => "failed",
        Line::SetAside { .. } => "set-aside",
        Line::Waits { .. } => "waits",
        Line::FixAdded { .. } => "fix-added",
        Line::Waiting { .. } => "waiting",
        Line::AgentChanged { .. } => "agent-changed",
        Line::Warning { .. } => "warning",
        Line::RunEnded { .. } => "run-ended",
    }
}

/// An outcome of every kind.
fn every_outcome() -> [Outcome; 12] {
    let why = || "x".to_owned();
    [
        Outcome::Complete,
        Outcome::ChosenDone { skipped: 0 },
        Outcome::Paused,
        Outcome::Waits { why: why() },
        Outcome::Cancelled,
        Outcome::TakenOver,
        Outcome::Blocked { why: why() },
        Outcome::Capped { why: why() },
        Outcome::NoAgent { why: why() },
        Outcome::Circuit { why: why() },
        Outcome::Failed { why: why() },
        Outcome::Interrupted,
    ]
}

/// Every class of a failure. Whoever adds one is sent here by the compiler.
fn every_class() -> BTreeSet<String> {
    use FailureClass::{
        Authentication, ContextOverflow, Contradiction, Crash, Idle, Missing, NoSignal, Other,
        OverBudget, RateLimit, Server, Timeout, Uncommitted, Verify,
    };
    let word = |class: FailureClass| match class {
        Contradiction | Uncommitted | NoSignal | Verify | Missing | Authentication | RateLimit
        | ContextOverflow | Server | Crash | Idle | Timeout | OverBudget => class.to_string(),
        Other(word) => word,
    };
    let layers = [Contradiction, Uncommitted, NoSignal, Verify];
    let troubles = [
        Missing,
        Authentication,
        RateLimit,
        ContextOverflow,
        Server,
        Crash,
        Idle,
        Timeout,
        OverBudget,
    ];
    layers.into_iter().chain(troubles).map(word).collect()
}

/// A page in which the block of JSON below a heading is replaced.
fn with_example(page: &str, heading: &str, example: &str) -> String {
    let begin = format!("\n## {heading}\n");
    let (before, behind) =
        page.split_once(&begin).unwrap_or_else(|| panic!("`{heading}` is not documented"));
    let (words, block) = behind.split_once("```json\n").unwrap();
    assert!(!words.contains("\n## "), "{heading} has no example");
    let (_, rest) = block.split_once("```\n").unwrap();
    format!("{before}{begin}{words}```json\n{example}```\n{rest}")
}

/// What the page says about a heading.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, behind) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    behind.split("\n## ").next().unwrap()
}

#[test]
fn every_event_of_a_run_is_documented_with_all_its_fields_and_a_real_line() {
    const PAGE: &str = "docs/run-events.md";
    let written = document(PAGE);
    let mut page = written.clone();
    let run = RunId::new(1_767_233_000_000_000, 4711, 0);
    for (seq, event) in (41..).zip(every_event()) {
        let is_recorded = !matches!(event, Line::Agent { .. });
        let (at, seq) = ("2026-01-01T02:03:04.567Z", is_recorded.then_some(seq));
        let example = event_line(Stamp { at, seq, run: Some(&run) }, &event);
        page = with_example(&page, heading(&event), &example);
        let line: Value = serde_json::from_str(&example).unwrap();
        let common = ["at", "seq", "run", "event"];
        let fields = line.as_object().unwrap().keys();
        for field in fields.filter(|field| !common.contains(&field.as_str())) {
            let told = section(&page, heading(&event)).contains(&format!("| `{field}` |"));
            assert!(told, "`{field}` of {} is not documented", heading(&event));
        }
    }
    for outcome in every_outcome() {
        let line = serde_json::to_value(&outcome).unwrap();
        let name = line["outcome"].as_str().unwrap();
        assert!(section(&page, "run-ended").contains(&format!("| `{name}` |")), "{name}");
    }
    let listed = section(&page, "failed").lines().find(|line| line.starts_with("| `class` |"));
    let listed = listed.unwrap().split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert_eq!(every_class(), listed, "the classes of a failure");
    for field in serde_json::to_value(Summary::default()).unwrap().as_object().unwrap().keys() {
        assert!(section(&page, "summary").contains(&format!("| `{field}` |")), "{field}");
    }
    is_up_to_date(PAGE, &page);
}

/// A line of the demo without what is new in every run: times, and the ids of
/// commits.
pub(crate) fn steady(line: &str) -> String {
    let is_id = |word: &str| word.len() == 7 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words: Vec<&str> = line.split(' ').collect();
    let next = words.iter().skip(1).chain([&""]);
    let steady = words.iter().zip(next).map(|(word, next)| match *word {
        id if is_id(id) => "1a2b3c4",
        time if *next == "s" && time.parse::<f64>().is_ok() => "0.1",
        other => other,
    });
    steady.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_demo_in_the_readme_is_the_demo() {
    let world = World::empty();
    let call = world.specum(&["demo"]);
    call.exits(0);
    let (_, summary) = call.stdout.split_once("\ndemo  complete").unwrap();
    let (summary, _) = summary.split_once("\nattempts ").unwrap();
    let summary = format!("demo  complete{summary}");
    let steady: String = summary.lines().map(|line| steady(line) + "\n").collect();
    let readme = document("README.md");
    let (head, rest) = readme.split_once("<!-- demo -->").unwrap();
    let (_, tail) = rest.split_once("<!-- /demo -->").unwrap();
    let shown = format!(
        "{head}<!-- demo -->\n\n```text\n{}\n```\n\n<!-- /demo -->{tail}",
        steady.trim_end()
    );
    is_up_to_date("README.md", &shown);
}

/// The rows of the table of figures in a document, cell by cell.
fn figures(name: &str) -> Vec<Vec<String>> {
    let page = document(name);
    let (_, rest) = page.split_once("<!-- figures -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- /figures -->").unwrap();
    let row = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    table.lines().filter(|line| line.starts_with("| ")).map(row).collect()
}

#[test]
fn the_figures_of_the_readme_are_those_of_the_table() {
    let table = figures("docs/proof/figures.md");
    let readme = figures("README.md");
    assert_eq!(readme.len(), 4, "a heading, and the three figures that matter");
    for row in readme {
        assert!(table.contains(&row), "not in docs/proof/figures.md: {row:?}");
    }
}

#[test]
fn every_claim_about_security_names_a_test_that_there_is() {
    let sources: String = [
        "crates/specum/tests/it",
        "crates/specum/src",
        "crates/specum-engine/src",
        "crates/specum-core/src",
    ]
    .iter()
    .flat_map(|dir| rust_files(&repository().join(dir)))
    .map(|file| fs::read_to_string(file).unwrap())
    .collect();
    let behind = |text: &str| text.trim_start().strip_prefix("fn ").map(str::to_owned);
    let tests: BTreeSet<String> = sources
        .split("#[test]")
        .filter_map(behind)
        .filter_map(|text| text.split_once('(').map(|(name, _)| name.to_owned()))
        .collect();
    let page = document("docs/security.md");
    let mut rows = 0;
    for table in page.split("| claim | test |\n|---|---|\n").skip(1) {
        for row in table.lines().take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
            let [_, proof] = cells[..] else { panic!("a claim and its tests: {row}") };
            for name in proof.split(", ") {
                assert!(tests.contains(name.trim_matches('`')), "{name} of {row}");
            }
            rows += 1;
        }
    }
    assert!(rows > 25, "only {rows} claims");
    let named = page.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 3);
    let (there, missing): (Vec<&str>, Vec<&str>) = named.partition(|name| tests.contains(*name));
    assert!(missing.is_empty(), "{missing:?}");
    assert!(there.iter().any(|name| name.starts_with("under_bubblewrap")), "{there:?}");
}

/// Every file below a directory.
pub(crate) fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let (dirs, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    dirs.iter().flat_map(|dir| rust_files(dir)).chain(files).collect()
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    let mut checked = 0;
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let below = rust_files(&repository().join("docs"));
    let pages = top.iter().map(|name| repository().join(name)).chain(below);
    for page in pages.filter(|page| page.extension().is_some_and(|kind| kind == "md")) {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if link.contains("://") || target.is_empty() {
                continue;
            }
            let leads_to = page.parent().unwrap().join(target);
            assert!(leads_to.exists(), "{}: {link}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links");
}

//! What the documents say is what the program does.
//!
//! `SPECUM_UPDATE_DOCS=1` writes the generated parts anew instead of comparing
//! them.

/// Every event of a run.
mod events;

/// The map of modules, claims and links.
pub(crate) mod house;

use std::fs;

use clap::Command;
use serde_json::{Value, json};
use specum_core::plan;
use specum_core::settings::{self, Place, Settings};
use specum_core::state::State;
use specum_core::tasks::{self, Mode, Program, TaskFile};

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

/// A line of the demo without what is new in every run: times, and the ids of
/// commits.
pub(crate) fn steady(line: &str) -> String {
    let is_id = |word: &str| word.len() == 7 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words: Vec<&str> = line.split(' ').collect();
    let next = words.iter().skip(1).chain([&""]);
    let steady = words.iter().zip(next).map(|(word, next)| match *word {
        id if is_id(id) => "1a2b3c4",
        time if ["s", "s)"].contains(next) && time.parse::<f64>().is_ok() => "0.1",
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

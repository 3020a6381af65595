//! What the documents say is what the program does.
//!
//! `SPECUM_UPDATE_DOCS=1` writes the generated parts anew instead of comparing
//! them.

use std::path::{Path, PathBuf};

use clap::Command;
use serde_json::json;
use specum_core::plan;
use specum_core::state::State;
use specum_core::tasks::{Mode, TaskFile};

use crate::world::World;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(repository().join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares a generated document, or writes it.
fn is_up_to_date(name: &str, generated: &str) {
    if std::env::var_os("SPECUM_UPDATE_DOCS").is_some() {
        std::fs::write(repository().join(name), generated).unwrap();
    }
    assert_eq!(
        document(name),
        generated,
        "{name} is out of date: SPECUM_UPDATE_DOCS=1 cargo test docs"
    );
}

/// The fenced blocks of a document: info string and content.
fn fenced(text: &str) -> Vec<(String, String)> {
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
    let mut tasks = String::new();
    let mut compared = 0;
    for (info, content) in fenced(&document("docs/task-format.md")) {
        let file = TaskFile::scan(tasks.as_bytes());
        match info.as_str() {
            "tasks" => {
                tasks = content;
                continue;
            }
            "scan" => {
                let lines = file.tasks.iter().map(|task| {
                    let mark = if task.done { 'x' } else { '.' };
                    let mode = match task.mode() {
                        Mode::Sequential => "sequential",
                        Mode::Parallel => "parallel",
                        Mode::Verify => "verify",
                    };
                    format!("{mark} {} {mode} {}\n", task.name(), task.title)
                });
                assert_eq!(lines.collect::<String>(), content, "{tasks}");
            }
            "next" => {
                let unit =
                    plan::next(&file, &plan::Scope::all(plan::DEFAULT_MAX_PARALLEL), |_| false);
                let names: Vec<String> =
                    unit.tasks().iter().map(|&n| file.tasks[n].name()).collect();
                assert_eq!(names.join(" ") + "\n", content, "{tasks}");
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
    let mut everything = State::new(1);
    everything.blocked = Some("x".into());
    for name in everything.to_object().keys() {
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
    let (_, problems) = specum_core::settings::parse(example.as_bytes());
    assert_eq!(problems, []);
    for key in specum_core::settings::KEYS {
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
        "# Commands\n\nWritten by `SPECUM_UPDATE_DOCS=1 cargo test docs` from the definitions of the commands.\n",
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

#[test]
fn the_demo_in_the_readme_is_the_demo() {
    let world = World::empty();
    let call = world.specum(&["demo"]);
    call.exits(0);
    let (story, _) = call.stdout.split_once("\nWhat is in the repository now:").unwrap();
    // The ids of the commits are new in every run.
    let steady: String = story
        .lines()
        .map(|line| match line.split_once("committed as ") {
            Some((told, id)) if id.len() == 7 => format!("{told}committed\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let readme = document("README.md");
    let (head, rest) = readme.split_once("<!-- demo -->").unwrap();
    let (_, tail) = rest.split_once("<!-- /demo -->").unwrap();
    let shown = format!(
        "{head}<!-- demo -->\n```text\n$ cargo run --release -- demo\n{}\n```\n<!-- /demo -->{tail}",
        steady.trim_end()
    );
    is_up_to_date("README.md", &shown);
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    let mut checked = 0;
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = document(name);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(repository().join(link).exists(), "{name}: {link}");
            checked += 1;
        }
    }
    assert!(checked > 5);
}

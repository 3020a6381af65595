//! What a person reads who has never seen specum: `specum help format`, the demo, and
//! the commands in the documents.

use specum_core::tasks::{self, Program, TaskFile};

use crate::docs::{document, fenced};
use crate::terminal::Terminal;
use crate::world::{World, call, first_on_path, repository, specum};

/// The code spans of a text, outside of its fences.
fn spans(text: &str) -> Vec<String> {
    let mut outside = String::new();
    let mut in_fence = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        if !in_fence && !is_fence {
            outside.push_str(line);
            outside.push('\n');
        }
    }
    outside.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")).collect()
}

#[test]
fn the_printed_format_says_what_the_page_says_and_its_example_has_no_mistake() {
    let world = World::empty();
    let format = world.specum(&["help", "format"]).exits(0).stdout.clone();
    let page = document("docs/task-format.md");
    for span in spans(&format) {
        let is_known = page.contains(&span) || span.starts_with("specum ");
        assert!(is_known, "`{span}` is not in docs/task-format.md");
    }
    let rows = |heading: &str| -> Vec<String> {
        let (_, behind) = page.split_once(&format!("\n## {heading}\n")).unwrap();
        let rows = behind.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let rows = rows.take_while(|line| line.starts_with('|'));
        rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
    };
    let (fields, markers) = (rows("Fields"), rows("Markers"));
    assert!(fields.len() >= 5 && markers.len() >= 5, "{fields:?} {markers:?}");
    for field in fields {
        assert!(format.contains(&format!("**{field}**")), "{field} is not in the format");
    }
    // Three of them mean something only to people.
    for marker in markers.iter().filter(|marker| *marker != "[RED]") {
        assert!(format.contains(&format!("`{marker}`")), "{marker} is not in the format");
    }
    assert!(format.lines().all(|line| line.chars().count() <= 80), "{format}");
    assert!(format.len() < 4_500, "a model reads it: {} bytes", format.len());

    let (info, example) = fenced(&format).into_iter().next().unwrap();
    assert_eq!(info, "markdown");
    world.write("specs/greeter/tasks.md", example);
    let check = world.specum(&["check", "greeter"]).exits(0).stdout.clone();
    assert!(check.contains("4 tasks, 0 errors, 0 warnings"), "{check}");
}

#[test]
fn help_knows_commands_and_their_parts() {
    let world = World::empty();
    let help = |topic: &[&str]| world.specum(&[&["help"], topic].concat());
    let all = help(&[]).exits(0).stdout.clone();
    assert_eq!(all, world.specum(&["--help"]).exits(0).stdout);
    assert!(all.contains("specum help format"), "{all}");
    assert_eq!(help(&["run"]).exits(0).stdout, world.specum(&["run", "--help"]).stdout);
    let part = help(&["plugin", "install"]).exits(0).stdout.clone();
    assert_eq!(part, world.specum(&["plugin", "install", "--help"]).stdout);
    let unknown = help(&["formt"]);
    assert!(unknown.exits(2).stderr.contains("no command `formt`"), "{}", unknown.stderr);
}

#[test]
fn the_demo_shows_plan_liar_and_commits_within_80_columns() {
    let world = World::empty();
    let mut command = world.command();
    command.arg("demo");
    // Wider than anything needs, so that a line that is too long is seen as one.
    let mut demo = Terminal::start(command);
    assert!(demo.ended().success());
    let wide = demo.screen();
    // What a run and its summary show takes the room that there is; the rest is prose.
    let before = wide.find("\u{2713}").expect("a task passes");
    let behind = wide.find("\nattempts ").expect("the end of the summary");
    for line in wide[..before].lines().chain(wide[behind..].lines()) {
        assert!(line.trim_end().chars().count() <= 80, "{line}");
    }
    for part in [
        "  - [ ] 1.2 Work out the price\n    - **Verify**: `cat price.txt` shows 42",
        "At 1.2 the agent will claim to be done",
        "`cat price.txt` should print 42 and printed \"41\"",
        "  - [x] 3.1 Take stock",
    ] {
        assert!(wide.contains(part), "{part}\n{wide}");
    }
    let (_, log) = wide.split_once("$ git log --oneline\n").unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].ends_with("docs: take stock") && lines[7].ends_with("plan: a small café"));
    assert_eq!(lines[8], "Your own plan: `specum help format` shows how to write one.");
    let page = lines[10].trim().strip_prefix("~/").expect("the demo ends with its report");
    let page = std::fs::read_to_string(world.home().join(page)).unwrap();
    assert!(page.contains("Work out the price") && page.contains("failed"));
}

/// Does the tasks of the tutorial. It gets the first one wrong once.
const TUTOR: &str = r#"
case $(sed -n 's/^The above is task \([^ ]*\) .*/\1/p') in
1.1) if [ "$SPECUM_ATTEMPT" = 1 ]; then echo 'wc -w "$1"' > count.sh
     else echo 'wc -w < "$1"' > count.sh; fi ;;
1.2) printf 'test -f "$1" || { echo "no such file" >&2; exit 2; }\nwc -w < "$1"\n' > count.sh ;;
2.1) printf '# words\n\n    sh count.sh sample.txt\n' > README.md ;;
2.2) echo 'test "$(sh count.sh sample.txt)" -eq 3 && ! sh count.sh missing.txt' > test.sh ;;
2.3) printf 'if [ "$1" = -l ]; then wc -l < "$2"; exit; fi\n' | cat - count.sh > new
     mv new count.sh ;;
esac
echo TASK_COMPLETE
"#;

#[test]
fn every_command_of_the_tutorial_does_what_the_page_says() {
    let world = World::empty();
    let (mut output, mut all) = (String::new(), String::new());
    let mut typed = 0;
    for (info, content) in fenced(&document("docs/tutorial.md")) {
        match info.as_str() {
            "markdown" => world.write("words/specs/words/tasks.md", &content),
            "text" => {
                let mut rest = output.as_str();
                for line in content.lines() {
                    let (_, behind) = rest.split_once(line).unwrap_or_else(|| {
                        panic!("`{line}` is not in what the command before it says:\n{output}")
                    });
                    rest = behind;
                }
            }
            "sh" => {
                let mut shell = world.program("bash");
                shell.args(["-ec", &content]);
                shell.env("SPECUM_AGENT", "command").env("SPECUM_AGENT_COMMAND", TUTOR);
                shell.env("PATH", first_on_path(specum().parent().unwrap()));
                let begun = world.path("words");
                shell.current_dir(if begun.exists() { begun } else { world.root.clone() });
                output = call(shell, b"").exits(0).stdout.clone();
                all.push_str(&output);
                typed += 1;
            }
            other => panic!("what is a block `{other}`?"),
        }
    }
    assert_eq!(typed, 5);
    assert!(all.contains("should print 3 and printed"), "the first attempt is caught: {all}");
}

#[test]
fn the_expectations_of_the_page_about_checks_are_read() {
    let page = document("docs/checks.md");
    let blocks: Vec<String> = fenced(&page).into_iter().map(|(_, content)| content).collect();
    let commands = |plan: &str| {
        let file = TaskFile::scan(plan.as_bytes());
        let each = file.tasks.iter().map(|task| {
            let check = file.fields(task).verify.expect("each has a Verify");
            tasks::shown(&check.commands(&|_| Program::Found)) + "\n"
        });
        each.collect::<String>()
    };
    let compares = blocks.iter().find(|block| block.contains("jq -e")).unwrap();
    insta::assert_snapshot!(commands(&format!("- [ ] 1.1 a\n{compares}")), @r#"`sh count.sh sample.txt`, which must print 3, then `grep -c "^- " CHANGELOG.md`, which must print 4 or more, then `grep -rn "TODO" src`, which must print nothing, then `sh greet.sh Ada | grep -x "Hello, Ada"`, then `./status --json | jq -e '.status == "ok"'`"#);
    let phases = blocks.iter().find(|block| block.contains("V1 [VERIFY]")).unwrap();
    insta::assert_snapshot!(commands(phases), @r#"
    `cargo test --no-run`, then `grep -c "fn empty_input" tests/parse.rs`, which must print 1 or more
    `cargo test empty_input`
    `cargo test`, then `cargo clippy -- -D warnings`
    "#);
    let server = blocks.iter().find(|block| block.contains("server=$!")).unwrap();
    let server = commands(&format!("- [ ] 1.1 a\n{server}"));
    assert!(server.contains("trap 'kill $server' EXIT"), "{server}");
}

#[test]
fn every_document_is_in_the_index() {
    let index = document("docs/README.md");
    for folder in ["docs", "docs/design", "docs/proof"] {
        for entry in std::fs::read_dir(repository().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{folder}/{name}");
            let link = path.strip_prefix("docs/").unwrap();
            let is_page = name.ends_with(".md") && name != "README.md";
            assert!(
                !is_page || index.contains(&format!("({link})")),
                "{path} is not in docs/README.md"
            );
        }
    }
}

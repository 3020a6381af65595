//! What stands beside specum's plugin in the real Claude Code: another plugin of
//! the same name, the Ralph Loop, another spec, a person's permission rules.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::built;
use crate::claude_loop::started;
use crate::host::{self, ClaudeRun};
use crate::model::{Model, Reply, Request};
use crate::session::{coordinate, task_of};
use crate::world::{Call, World, call, executable, first_on_path, plugin};

const NAMESAKE: &str = "ralph-specum@smart-ralph";
const CURE: &str = "`claude plugin disable ralph-specum@smart-ralph`";

/// Claude Code in the world's home, with its permissions in force.
fn claude(program: &Path, world: &World, args: &[&str]) -> Call {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .env("HOME", world.home())
        .env("CLAUDE_CODE_TMPDIR", world.home())
        .env("DISABLE_TELEMETRY", "1")
        .env("PATH", first_on_path(built()))
        .current_dir(&world.root);
    call(command, b"")
}

/// specum with this Claude Code on PATH.
fn specum(program: &Path, world: &World, args: &[&str]) -> Call {
    let mut command = world.command();
    command.args(args).env("PATH", first_on_path(program.parent().unwrap()));
    call(command, b"")
}

/// Installs another plugin of our plugin's name.
fn install_namesake(program: &Path, world: &World) {
    let plugin = "../market/plugins/ralph-specum";
    world.write(
        "../market/.claude-plugin/marketplace.json",
        json!({
            "name": "smart-ralph",
            "owner": {"name": "somebody"},
            "plugins": [{"name": "ralph-specum", "source": "./plugins/ralph-specum"}],
        })
        .to_string(),
    );
    let manifest = json!({"name": "ralph-specum", "version": "4.9.1", "description": "theirs"});
    world.write(&format!("{plugin}/.claude-plugin/plugin.json"), manifest.to_string());
    let hook = json!({"type": "command", "command": "echo theirs"});
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}});
    world.write(&format!("{plugin}/hooks/hooks.json"), hooks.to_string());
    let market = std::fs::canonicalize(world.path("../market")).unwrap();
    claude(program, world, &["plugin", "marketplace", "add", market.to_str().unwrap()]).exits(0);
    claude(program, world, &["plugin", "install", NAMESAKE]).exits(0);
}

/// What our hook tells a session of Claude Code that starts.
fn session_start(world: &World) -> Call {
    let mut command = world.command();
    command.args(["hook", "session-start"]).env("CLAUDE_CODE_SESSION_ID", "s");
    call(command, json!({"session_id": "s", "cwd": world.root}).to_string().as_bytes())
}

#[test]
fn another_plugin_of_the_same_name_is_told_with_the_command_that_turns_it_off() {
    for program in host::claudes() {
        let world = started(1);
        let doctor = || specum(&program, &world, &["doctor"]);
        assert!(doctor().exits(0).stdout.contains("specum plugin install"));
        install_namesake(&program, &world);
        assert!(doctor().exits(0).stdout.contains(CURE), "before ours is there, it is a note");

        let installed = specum(&program, &world, &["plugin", "install", "--host", "claude"]);
        assert!(installed.exits(0).stderr.contains(CURE), "{}", installed.stderr);
        assert!(!installed.stdout.contains("sessions opened from now on have it"));
        assert!(doctor().exits(1).stdout.contains(CURE));
        let start = session_start(&world).exits(0).json();
        assert!(start["systemMessage"].as_str().unwrap().contains(CURE), "{start}");
        let context = start["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(context.starts_with("specum: the active spec is demo"), "{start}");

        let off: Vec<&str> = CURE.trim_matches('`').split(' ').skip(1).collect();
        claude(&program, &world, &off).exits(0);
        let installed = specum(&program, &world, &["plugin", "install", "--host", "claude"]);
        assert!(installed.exits(0).stdout.contains("sessions opened from now on have it"));
        assert_eq!(installed.stderr.matches("disable").count(), 0, "{}", installed.stderr);
        assert!(
            session_start(&world).exits(0).stdout.starts_with("specum: the active spec is demo")
        );
        let model = Model::start(|_| Reply::text("I stop here."));
        let outcome =
            ClaudeRun::new(&program, &model.url(), &world.root, "hello").home(world.home()).run();
        let answers = outcome.hook_responses("SessionStart");
        let answers: Vec<&str> = answers.iter().map(|answer| answer.stdout).collect();
        assert!(answers[0].starts_with("specum: the active spec is demo"), "{answers:?}");

        // What is installed is not proposed.
        for verb in [&[][..], &["doctor"]] {
            let shown = specum(&program, &world, verb).exits(0).stdout.clone();
            assert!(!shown.contains("plugin install"), "{shown}");
            assert!(
                shown.contains("claude \"/ralph-specum:implement\"   or: in a session"),
                "{shown}"
            );
        }
    }
}

#[test]
fn a_plugin_that_is_off_or_gone_or_called_otherwise_is_no_namesake() {
    let installed = |ids: &[&str]| {
        let plugins: serde_json::Map<String, Value> =
            ids.iter().map(|id| ((*id).to_owned(), json!([]))).collect();
        json!({"version": 2, "plugins": plugins}).to_string()
    };
    let enabled = |id: &str, on: bool| json!({"enabledPlugins": {id: on}}).to_string();
    let list = "../home/.claude/plugins/installed_plugins.json";
    let (user, local) = ("../home/.claude/settings.json", ".claude/settings.local.json");
    let told = |world: &World| session_start(world).exits(0).stdout.contains(CURE);

    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.write(user, enabled(NAMESAKE, true));
    assert!(!told(&world), "it is not installed");
    world.write(list, installed(&[NAMESAKE]));
    assert!(told(&world));
    world.hook("session-start", &json!({})).exits(0);
    world.write(local, enabled(NAMESAKE, false));
    assert!(!told(&world), "it is off in this project");
    world.write(local, "{ not JSON");
    assert!(told(&world), "what cannot be read says nothing");
    world.write(list, installed(&["ralph-specum-codex@smart-ralph", "x@ralph-specum"]));
    assert!(!told(&world));
    let other_host = world.hook("session-start", &json!({}));
    assert!(other_host.exits(0).stdout.starts_with("specum: "), "not outside Claude Code");
}

const TWO_FILES: &str = "- [ ] 1.1 a\n  - **Verify**: `test -f done-1.1`\n\
                         - [ ] 1.2 b\n  - **Verify**: `test -f done-1.2`\n";

#[test]
fn a_spec_that_is_named_is_worked_though_another_one_is_active() {
    for program in host::claudes() {
        let world = World::empty();
        world.write("specs/demo/tasks.md", TWO_FILES);
        world.write("specs/other/tasks.md", "- [ ] 1.1 Theirs\n");
        world.write("specs/.current-spec", "other\n");
        world.git_init();
        let model = Model::start(|request| match request.is_subagent() {
            false => coordinate(request),
            true if request.assistant_turns() == 0 => {
                Reply::tool("Bash", json!({"command": format!("touch done-{}", task_of(request))}))
            }
            true => Reply::text("Made it.\n\nTASK_COMPLETE"),
        });

        let prompt = "/ralph-specum:implement demo";
        let outcome =
            ClaudeRun::new(&program, &model.url(), &world.root, prompt).with_specum().run();

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        assert!(!world.read("specs/demo/tasks.md").contains("- [ ]"));
        assert_eq!(world.read("specs/.current-spec"), "demo\n");
    }
}

/// The Stop hook of a stand-in for the Ralph Loop plugin: a promise ends the
/// loop, anything else is sent back.
const RALPH_LOOP: &str = r#"#!/bin/sh
file=.claude/ralph-loop.local.md
said=$(cat)
[ -f "$file" ] || exit 0
case "$said" in
*'<promise>ALL_TASKS_COMPLETE</promise>'*) rm "$file"; exit 0 ;;
esac
echo '{"decision":"block","reason":"Ralph iteration: go on"}'
"#;

/// A model that promises too early, and does as it is told from then on.
fn hasty(request: &Request) -> Reply {
    let told = request.told();
    let finish = |id: &str| {
        let command = format!(
            "specum next --brief && touch done-{id} && echo TASK_COMPLETE | specum finish {id}"
        );
        Reply::tool("Bash", json!({"command": command}))
    };
    match told.as_str() {
        _ if request.assistant_turns() == 0 => {
            Reply::text("All is done: <promise>ALL_TASKS_COMPLETE</promise>")
        }
        text if text.contains("Not finished") => {
            Reply::tool("Bash", json!({"command": "specum implement --driver ralph-loop"}))
        }
        text if text.contains("With specum, work the spec") => finish("1.1"),
        text if text.contains("Ralph iteration") => finish("1.2"),
        text if text.contains("Every task is done.") => {
            Reply::text(text.trim_end().lines().last().unwrap_or_default())
        }
        _ => Reply::text("One is done, so I stop."),
    }
}

#[test]
fn a_false_promise_ends_neither_the_ralph_loop_nor_the_plan() {
    for program in host::claudes() {
        let world = World::empty();
        world.write("specs/demo/tasks.md", TWO_FILES);
        world.write("specs/.current-spec", "demo\n");
        world.git_init();
        let plugin = "../home/.claude/plugins/ralph-loop";
        let manifest = json!({"name": "ralph-loop", "version": "1.0.0", "description": "stand-in"});
        world.write(&format!("{plugin}/.claude-plugin/plugin.json"), manifest.to_string());
        world.write(&format!("{plugin}/stop.sh"), RALPH_LOOP);
        executable(&world.path(&format!("{plugin}/stop.sh")));
        let hook = json!({"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/stop.sh"});
        let hooks = json!({"hooks": {"Stop": [{"hooks": [hook]}]}});
        world.write(&format!("{plugin}/hooks/hooks.json"), hooks.to_string());
        let model = Model::start(hasty);

        let prompt = "/ralph-specum:implement --driver ralph-loop";
        let outcome = ClaudeRun::new(&program, &model.url(), &world.root, prompt)
            .home(world.home())
            .with_specum()
            .plugin_dir(&std::fs::canonicalize(world.path(plugin)).unwrap())
            .run();

        let told: Vec<String> = model.requests().iter().map(Request::told).collect();
        assert!(told[1].contains("still has open boxes: 1.1, 1.2."), "{told:#?}");
        assert_eq!(
            outcome.result()["result"],
            "<promise>ALL_TASKS_COMPLETE</promise>",
            "{told:#?}"
        );
        assert!(!world.read("specs/demo/tasks.md").contains("- [ ]"));
        assert!(!world.path(".claude/ralph-loop.local.md").exists());
        assert!(!world.path("specs/demo/.ralph-state.json").exists());
    }
}

/// The settings that a page of the documentation proposes.
fn proposed_settings() -> String {
    let page = crate::world::repository().join("docs/plugin.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, behind) = page.split_once("```json\n").expect("the page has such an example");
    behind.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_proposed_permission_rules_let_a_loop_run_alone() {
    for program in host::claudes() {
        let world = World::empty();
        world.write(
            "specs/demo/tasks.md",
            "- [ ] 1.1 a\n  - **Verify**: `test -f done-1.1 && test -f built`\n",
        );
        world.write("specs/.current-spec", "demo\n");
        let scripts = json!({"scripts": {"build": "touch built"}});
        world.write("package.json", scripts.to_string());
        // What answering the host's first question in a folder leaves behind.
        let trusted =
            json!({"projects": {world.root.to_str().unwrap(): {"hasTrustDialogAccepted": true}}});
        world.write("../home/.claude.json", trusted.to_string());
        world.git_init();
        let root = world.root.clone();
        let work = move |request: &Request| match (request.is_subagent(), request.assistant_turns())
        {
            (false, _) => coordinate(request),
            (true, 0) => {
                let file = root.join(format!("done-{}", task_of(request)));
                Reply::tool("Write", json!({"file_path": file, "content": "done\n"}))
            }
            (true, 1) => Reply::tool("Bash", json!({"command": "npm run build"})),
            (true, _) => Reply::text("Made it.\n\nTASK_COMPLETE"),
        };
        let model = Model::start(work);
        let run = || {
            let mut command = Command::new(&*program);
            command
                .args(["-p", "/ralph-specum:implement", "--output-format", "json"])
                .args(["--permission-mode", "acceptEdits", "--plugin-dir"])
                .arg(plugin())
                .env_clear()
                .env("HOME", world.home())
                .env("CLAUDE_CODE_TMPDIR", world.home())
                .env("ANTHROPIC_BASE_URL", model.url())
                .env("ANTHROPIC_API_KEY", "sk-mock")
                .env("DISABLE_TELEMETRY", "1")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("DISABLE_AUTOUPDATER", "1")
                .env("PATH", first_on_path(built()))
                .current_dir(&world.root);
            call(command, b"").json()
        };
        let without = run();
        assert_eq!(without["permission_denials"][0]["tool_name"], "Bash", "{without}");
        assert!(world.read("specs/demo/tasks.md").contains("- [ ] 1.1"));

        world.write(".claude/settings.json", proposed_settings());
        world.person(&["resume"]);
        let with = run();
        assert_eq!(with["permission_denials"], json!([]), "{with}");
        assert_eq!(with["result"], "ALL_TASKS_COMPLETE", "{with}");
        assert!(world.read("specs/demo/tasks.md").contains("- [x] 1.1"));
    }
}

//! `specum plugin`: what it puts where, and that the real hosts then use it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::built;
use crate::claude_loop::started;
use crate::host::{self, ClaudeRun};
use crate::model::{Model, Reply};
use crate::other_model::{Answer, Api, OtherModel, Told};
use crate::world::{Call, World, call, specum};

/// A directory in front of the PATH.
fn path_with(directory: &Path) -> std::ffi::OsString {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let all = [directory.to_owned()].into_iter().chain(std::env::split_paths(&inherited));
    std::env::join_paths(all).unwrap()
}

/// `specum plugin …` with a host's program on PATH.
pub(crate) fn plugin(world: &World, host: &Path, args: &[&str]) -> Call {
    with_host_on_path(world, host, &[&["plugin"], args].concat())
}

/// `specum …` with a host on PATH.
pub(crate) fn with_host_on_path(world: &World, host: &Path, args: &[&str]) -> Call {
    let mut command = world.command();
    command.args(args).env("PATH", path_with(host.parent().unwrap()));
    call(command, b"")
}

/// `specum plugin …` with nothing but git on PATH.
fn plugin_alone(world: &World, args: &[&str]) -> Call {
    let mut command = world.command();
    command.arg("plugin").args(args).env("PATH", world.root.join("nothing"));
    call(command, b"")
}

fn files_below(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files_below(&path, found),
            path => {
                found.insert(path);
            }
        }
    }
}

#[test]
fn the_binary_holds_every_file_of_the_plugin() {
    let marketplace = Path::new(env!("CARGO_MANIFEST_DIR")).join("marketplace");
    let mut there = BTreeSet::new();
    files_below(&marketplace, &mut there);
    let inside: BTreeSet<PathBuf> =
        specum::plugin::FILES.iter().map(|(path, _)| marketplace.join(path)).collect();
    assert_eq!(inside, there);
}

#[test]
fn every_hook_that_may_wait_for_a_check_or_a_commit_has_an_hour() {
    // A host lets a call go on as it is when the hook before it takes too long: the
    // executor would start with two words for a brief.
    let (_, hooks) = specum::plugin::FILES
        .iter()
        .find(|(path, _)| path.ends_with("ralph-specum/hooks/hooks.json"))
        .expect("the plugin has hooks");
    let hooks: Value = serde_json::from_str(hooks).unwrap();
    for event in ["PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStop", "Stop"] {
        assert_eq!(hooks["hooks"][event][0]["hooks"][0]["timeout"], 3600, "{event}");
    }
}

#[test]
fn a_host_that_is_missing_is_named_and_nothing_is_written() {
    let world = World::empty();
    for args in [vec!["install", "--host", "codex"], vec!["install"], vec!["uninstall"]] {
        let call = plugin_alone(&world, &args);
        let host = if args.len() == 3 { "codex" } else { "claude" };
        call.exits(1);
        let expected = format!("error: {host}: {host} is not on PATH: install it, or name another");
        assert!(call.stderr.starts_with(&expected), "{}", call.stderr);
    }
    assert_eq!(std::fs::read_dir(world.home()).unwrap().count(), 0);
}

const SETTINGS: &str = "{
\t\"theme\": \"Dark\",
\t\"hooks\": {
\t\t\"BeforeTool\": [],
\t\t\"AfterAgent\": [
\t\t\t{
\t\t\t\t\"hooks\": [
\t\t\t\t\t{
\t\t\t\t\t\t\"type\": \"command\",
\t\t\t\t\t\t\"name\": \"mine\",
\t\t\t\t\t\t\"command\": \"notify\"
\t\t\t\t\t}
\t\t\t\t]
\t\t\t}
\t\t]
\t},
\t\"ui\": {
\t\t\"a\": 1.5
\t}
}";

#[test]
fn gemini_keeps_its_other_settings_and_gets_them_back_byte_for_byte() {
    let world = World::empty();
    world.write(".gemini/settings.json", SETTINGS);
    let install = ["install", "--host", "gemini", "--scope", "project"];
    plugin_alone(&world, &install).exits(0);
    let once = world.read(".gemini/settings.json");
    plugin_alone(&world, &install).exits(0);
    assert_eq!(world.read(".gemini/settings.json"), once, "nothing twice");

    let settings: Value = serde_json::from_str(&once).unwrap();
    let ours = json!({"hooks": [{
        "type": "command", "name": "specum", "command": format!("{} hook stop", specum().display()),
        "timeout": 3_600_000,
    }]});
    assert_eq!(settings["hooks"]["AfterAgent"][1], ours);
    assert_eq!(settings["hooks"]["AfterAgent"][0]["hooks"][0]["name"], "mine");
    assert!(once.starts_with("{\n\t\"theme\": \"Dark\",\n\t\"hooks\""), "{once}");

    let uninstall = ["uninstall", "--host", "gemini", "--scope", "project"];
    plugin_alone(&world, &uninstall).exits(0);
    assert_eq!(world.read(".gemini/settings.json"), SETTINGS);
    let again = plugin_alone(&world, &uninstall);
    assert_eq!(again.exits(0).stdout, "gemini: was not installed\n");
}

#[test]
fn settings_that_gemini_did_not_have_are_gone_again() {
    let world = World::empty();
    plugin_alone(&world, &["install", "--host", "gemini"]).exits(0);
    assert!(world.home().join(".gemini/settings.json").is_file());
    plugin_alone(&world, &["uninstall", "--host", "gemini"]).exits(0);
    assert!(!world.home().join(".gemini").exists());
}

#[test]
fn gemini_gets_settings_of_any_layout_back_byte_for_byte() {
    for layout in [
        "",
        " \n",
        "{}",
        "{\n}\n",
        "{ // mine\n}\n",
        "// mine\n{}\n/* and mine */",
        "{\n  // mine\n  \"a\": 1 // and mine\n}\n",
        "{\n  \"a\": [1, 2],\n\n  \"b\": {\"c\": 1}\n\n}\n",
        "{\"a\": 1, \"b\": [ 2 ] }",
        "{\r\n\t\"a\": 1,\r\n}\r\n",
        "\u{feff}{\n    \"a\": 1\n}\n",
        "{\"hooks\": {}}\n",
        "{\n  \"hooks\": {\"AfterAgent\": []},\n}\n",
        "{\n  \"hooks\": {\n    \"AfterAgent\": [ /* none */ ]\n  }\n}\n",
    ] {
        let world = World::empty();
        world.write(".gemini/settings.json", layout);
        let install = ["install", "--host", "gemini", "--scope", "project"];
        plugin_alone(&world, &install).exits(0);
        let once = world.read(".gemini/settings.json");
        assert_eq!(once.matches(&format!("{} hook ", specum().display())).count(), 4, "{once}");
        let again = plugin_alone(&world, &install);
        let said = again.exits(0).stdout.lines().next();
        assert!(said.is_some_and(|said| said.ends_with("settings.json already")), "{said:?}");
        assert_eq!(world.read(".gemini/settings.json"), once, "nothing twice");
        plugin_alone(&world, &["uninstall", "--host", "gemini", "--scope", "project"]).exits(0);
        assert_eq!(world.read(".gemini/settings.json"), layout, "{once}");
    }
}

#[test]
fn settings_of_gemini_that_cannot_be_read_are_left_alone() {
    for (bad, why) in [
        ("theme = dark\n", "it is not JSON (Unexpected word on line 1 column 1); correct it"),
        ("{\"a\": 1\n", "it is not JSON (Unterminated object on line 1 column 1); correct it"),
        ("{\"a\": 1 \"b\": 2}", "it is not JSON (Expected comma on line 1 column 8); correct it"),
        ("[]", "it is not a JSON object; make it one"),
        ("// mine\n", "it is not a JSON object; make it one"),
        ("{\"hooks\": 1}", "`hooks` is not an object; make it one, or take it out"),
        (
            "{\"hooks\": {\"AfterAgent\": {}}}",
            "`hooks.AfterAgent` is not a list; make it one, or take it out",
        ),
    ] {
        let world = World::empty();
        world.write(".gemini/settings.json", bad);
        let call = plugin_alone(&world, &["install", "--host", "gemini", "--scope", "project"]);
        let told = &call.exits(1).stderr;
        let expected = format!("/.gemini/settings.json was left as it is: {why}, then call this");
        assert!(told.contains(&expected), "{told}");
        assert_eq!(world.read(".gemini/settings.json"), bad);
    }
}

#[test]
fn codex_has_no_plugins_for_a_project() {
    let call = plugin_alone(&World::empty(), &["install", "--host", "codex", "--scope", "project"]);
    assert!(call.exits(1).stderr.contains("for a user only"), "{}", call.stderr);
}

/// Claude Code in the world's home, with its permissions in force.
fn claude(program: &Path, world: &World, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .env("HOME", world.home())
        .env("DISABLE_TELEMETRY", "1")
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(&world.root);
    command
}

/// What Claude Code says is installed.
fn claude_plugins(program: &Path, world: &World) -> Vec<Value> {
    let command = claude(program, world, &["plugin", "list", "--json"]);
    call(command, b"").json().as_array().cloned().unwrap()
}

#[test]
fn a_binary_on_a_path_with_blanks_may_be_called_by_hooks_and_commands() {
    for program in host::claudes() {
        let world = started(1);
        let binary = world.home().join("my tools/specum");
        std::fs::create_dir(binary.parent().unwrap()).unwrap();
        // Not by ourselves: a program that another test starts meanwhile would hold
        // the file open for writing, and nobody could run it.
        assert!(Command::new("cp").arg(specum()).arg(&binary).status().unwrap().success());
        let mut install = claude(&binary, &world, &["plugin", "install", "--host", "claude"]);
        install.env("PATH", path_with(program.parent().unwrap()));
        call(install, b"").exits(0);

        let model = Model::start(|_| Reply::text("So it stands."));
        let mut command = claude(&program, &world, &["-p", "/ralph-specum:status demo"]);
        command
            .env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", "sk-mock")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1");
        let said = call(command, b"");

        let requests = model.requests();
        assert!(
            !requests.is_empty(),
            "the command was not allowed: {}{}",
            said.stdout,
            said.stderr
        );
        assert!(requests[0].mentions("0/1"), "the status: {:?}", requests[0].user_texts());
        let back = requests.last().unwrap().user_texts().concat();
        assert!(back.contains("Continue spec: demo"), "the Stop hook ran too: {back}");
    }
}

#[test]
fn claude_code_uses_the_plugin_after_one_command() {
    for program in host::claudes() {
        let world = started(1);
        for _ in 0..2 {
            plugin(&world, &program, &["install", "--host", "claude"]).exits(0);
            let plugins = claude_plugins(&program, &world);
            assert_eq!(plugins.len(), 1, "{plugins:?}");
            assert_eq!(plugins[0]["id"], "ralph-specum@specum");
            assert_eq!(
                (&plugins[0]["scope"], &plugins[0]["enabled"]),
                (&json!("user"), &json!(true))
            );
        }

        let model = Model::start(|_| Reply::text("I stop here."));
        let outcome =
            ClaudeRun::new(&program, &model.url(), &world.root, "hello").home(world.home()).run();
        let start = outcome.hook_responses("SessionStart");
        assert!(start[0].stdout.starts_with("specum: the active spec is demo"), "{start:?}");
        let stops = outcome.hook_responses("Stop");
        let blocks =
            stops.iter().filter(|hook| hook.stdout.contains("\"decision\":\"block\"")).count();
        assert_eq!(blocks, BLOCKS_OF_AN_IDLE_TURN, "{stops:?}");

        plugin(&world, &program, &["uninstall", "--host", "claude"]).exits(0);
        assert_eq!(claude_plugins(&program, &world), Vec::<Value>::new());
        assert!(!world.home().join(".local/state/specum/plugin").exists());
        let again = plugin(&world, &program, &["uninstall", "--host", "claude"]);
        assert_eq!(again.exits(0).stdout, "claude: was not installed\n");
    }
}

#[test]
fn the_marketplace_of_the_repository_offers_what_the_binary_holds() {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: PathBuf| -> Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let mut repository = read(crate_root.join("../../.claude-plugin/marketplace.json"));
    let inside = read(crate_root.join("marketplace/.claude-plugin/marketplace.json"));
    let source = "./crates/specum/marketplace/plugins/ralph-specum";
    assert_eq!(repository["plugins"][0]["source"], source);
    repository["plugins"][0]["source"] = json!("./plugins/ralph-specum");
    assert_eq!(repository, inside, "they differ in where the plugin is, and in nothing else");
    let plugin =
        read(crate_root.join("marketplace/plugins/ralph-specum/.claude-plugin/plugin.json"));
    let versions =
        [&inside["metadata"]["version"], &inside["plugins"][0]["version"], &plugin["version"]];
    assert_eq!(versions, [env!("CARGO_PKG_VERSION"); 3]);
}

#[test]
fn claude_code_installs_the_plugin_from_a_clone_of_the_repository() {
    for program in host::claudes() {
        let world = started(1);
        // What somebody who clones it has: the files of the work tree that git
        // knows or would add, and nothing that was built.
        let repository = crate::world::repository();
        let clone = world.home().join("clone");
        let list = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .args(["--", ".claude-plugin", "crates/specum/marketplace"])
            .current_dir(&repository)
            .output()
            .unwrap();
        for file in String::from_utf8(list.stdout).unwrap().split_terminator('\0') {
            std::fs::create_dir_all(clone.join(file).parent().unwrap()).unwrap();
            std::fs::copy(repository.join(file), clone.join(file)).unwrap();
        }
        let clone = clone.to_str().unwrap();
        let run = |args: &[&str]| call(claude(&program, &world, args), b"");
        let validated = run(&["plugin", "validate", clone]);
        assert!(validated.exits(0).stdout.contains("Validation passed"), "{}", validated.stdout);
        run(&["plugin", "marketplace", "add", clone]).exits(0);
        run(&["plugin", "install", "ralph-specum@specum"]).exits(0);
        let plugins = claude_plugins(&program, &world);
        assert_eq!((plugins.len(), &plugins[0]["enabled"]), (1, &json!(true)), "{plugins:?}");

        let model = Model::start(|_| Reply::text("I stop here."));
        let outcome = ClaudeRun::new(&program, &model.url(), &world.root, "hello")
            .home(world.home())
            .path(built())
            .run();
        let start = outcome.hook_responses("SessionStart");
        assert!(start[0].stdout.starts_with("specum: the active spec is demo"), "{start:?}");
        let stops = outcome.hook_responses("Stop");
        assert!(stops[0].stdout.contains("\"decision\":\"block\""), "{stops:?}");
    }
}

#[test]
fn a_project_keeps_the_plugin_when_the_user_lets_go_of_it() {
    for program in host::claudes() {
        let world = World::empty();
        let project = ["install", "--host", "claude", "--scope", "project"];
        plugin(&world, &program, &project).exits(0);
        plugin(&world, &program, &["install", "--host", "claude"]).exits(0);
        plugin(&world, &program, &["uninstall", "--host", "claude"]).exits(0);
        let plugins = claude_plugins(&program, &world);
        assert_eq!(plugins.len(), 1);
        assert_eq!(
            (&plugins[0]["scope"], &plugins[0]["enabled"]),
            (&json!("project"), &json!(true))
        );
        let files = plugin(&world, &program, &["path", "--json"]).json();
        assert_eq!(files["installed"], true);
        plugin(&world, &program, &["uninstall", "--host", "claude", "--scope", "project"]).exits(0);
        assert_eq!(plugin(&world, &program, &["path", "--json"]).json()["installed"], false);
    }
}

/// The first block, and two that name the stall.
const BLOCKS_OF_AN_IDLE_TURN: usize = 3;

#[test]
fn three_copies_in_claude_code_do_not_count_a_stop_twice() {
    for program in host::claudes() {
        let world = started(1);
        plugin(&world, &program, &["install", "--host", "claude"]).exits(0);
        plugin(&world, &program, &["install", "--host", "claude", "--scope", "project"]).exits(0);

        let model = Model::start(|_| Reply::text("I stop here."));
        let outcome = ClaudeRun::new(&program, &model.url(), &world.root, "hello")
            .home(world.home())
            .with_specum()
            .run();

        let stops = outcome.hook_responses("Stop");
        let blocks =
            stops.iter().filter(|hook| hook.stdout.contains("\"decision\":\"block\"")).count();
        assert_eq!((blocks, stops.len()), (BLOCKS_OF_AN_IDLE_TURN, BLOCKS_OF_AN_IDLE_TURN + 1));
    }
}

#[test]
fn two_copies_in_gemini_do_not_count_a_stop_twice() {
    let Some(program) = host::gemini() else { return };
    let world = started(1);
    let model = OtherModel::start(Api::Gemini, |told| match told {
        Told::Text(text) if text.contains("Begin.") && !text.contains(" · now ") => {
            Answer::Run("specum next".into())
        }
        _ => Answer::Say("I stop here.".into()),
    });
    host::settle_gemini(world.home());
    plugin(&world, &program, &["install", "--host", "gemini"]).exits(0);
    plugin(&world, &program, &["install", "--host", "gemini", "--scope", "project"]).exits(0);

    let outcome = host::gemini_prompt(&program, &model.url(), world.home(), &world.root, "Begin.");

    assert!(outcome.succeeded(), "{}", outcome.tail());
    assert_eq!(sent_back(&model), BLOCKS_OF_AN_IDLE_TURN, "{:?}", model.told());
}

/// How often a hook has sent the model back.
fn sent_back(model: &OtherModel) -> usize {
    let by_hook = |told: &&Told| matches!(told, Told::Text(text) if text.contains(" · now 1."));
    model.told().iter().filter(by_hook).count()
}

/// A model that does the one task it is told of, and stops.
fn one_task_a_turn(told: &Told) -> Answer {
    let Told::Text(text) = told else {
        return Answer::Say("One task done, so I stop here.".into());
    };
    let due = text.split_once(" · now ").or_else(|| text.split_once("Begin with "));
    match due.and_then(|(_, rest)| rest.split([' ', ':']).next()) {
        Some(id) => Answer::Run(format!(
            "touch done-{id} && printf 'Made the file.\\n\\nTASK_COMPLETE\\n' | specum finish {id}"
        )),
        None => Answer::Say("ALL_TASKS_COMPLETE".into()),
    }
}

const PROMPT: &str = "Work the spec. Begin with 1.1: make its file.";

/// Five tasks were worked in one prompt, each with its commit.
fn all_five_are_done(world: &World, model: &OtherModel, tail: &str) {
    let open = world.read("specs/demo/tasks.md").matches("- [ ]").count();
    assert_eq!(open, 0, "{:?}\n{tail}", model.told());
    assert!(!world.path("specs/demo/.ralph-state.json").exists(), "the loop has ended");
    let tasks = world.git(&["log", "--reverse", "--format=%(trailers:key=Task,valueonly)"]);
    let tasks: Vec<&str> = tasks.split_whitespace().collect();
    assert_eq!(tasks, ["1.1", "1.2", "1.3", "1.4", "1.5"], "one commit for each, in order");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let passed = |told: &&Told| matches!(told, Told::Text(text) if text.contains(" passed, "));
    assert_eq!(model.told().iter().filter(passed).count(), 4, "{:?}", model.told());
    assert_eq!(sent_back(model), 4, "the last verdict is the person's alone");
}

#[test]
fn codex_works_a_whole_spec_in_one_prompt() {
    let Some(program) = host::codex() else { return };
    let world = started(5);
    let model = OtherModel::start(Api::Responses, one_task_a_turn);
    host::settle_codex(world.home(), &model.url());
    let installed = plugin(&world, &program, &["install", "--host", "codex"]);
    assert!(installed.exits(0).stdout.contains("Trust all and continue"), "{}", installed.stdout);
    plugin(&world, &program, &["install", "--host", "codex"]).exits(0);

    let outcome = host::codex_exec(&program, world.home(), &world.root, PROMPT);

    assert!(outcome.succeeded(), "{}", outcome.tail());
    all_five_are_done(&world, &model, &outcome.tail());
    assert!(!outcome.tail().contains("clamping"), "it takes the timeouts: {}", outcome.tail());
    plugin(&world, &program, &["uninstall", "--host", "codex"]).exits(0);
    let config = std::fs::read_to_string(world.home().join(".codex/config.toml")).unwrap();
    assert!(config.contains("mock") && !config.contains("specum\""), "{config}");
    assert!(!world.home().join(".local/state/specum/codex-plugin").exists());
}

#[test]
fn gemini_works_a_whole_spec_in_one_prompt() {
    let Some(program) = host::gemini() else { return };
    let world = started(5);
    let model = OtherModel::start(Api::Gemini, one_task_a_turn);
    host::settle_gemini(world.home());
    let settings = world.home().join(".gemini/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, format!("// It takes comments.\n{text} /* So do we. */\n")).unwrap();
    plugin(&world, &program, &["install", "--host", "gemini"]).exits(0);

    let outcome = host::gemini_prompt(&program, &model.url(), world.home(), &world.root, PROMPT);

    assert!(outcome.succeeded(), "{}", outcome.tail());
    all_five_are_done(&world, &model, &outcome.tail());
    let Told::Text(first) = &model.told()[0] else { panic!("a prompt comes first") };
    assert!(first.contains("specum: the active spec is demo"), "the note of the start: {first}");
}

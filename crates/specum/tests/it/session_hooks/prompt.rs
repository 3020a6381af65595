use super::*;

fn types(world: &World, arguments: &str) -> Call {
    let input = json!({
        "hook_event_name": "UserPromptExpansion",
        "expansion_type": "slash_command",
        "command_name": "ralph-specum:implement",
        "command_args": arguments,
        "command_source": "plugin",
        "prompt": format!("/ralph-specum:implement {arguments}"),
    });
    world.hook("prompt", &input)
}

fn from_session(world: &World, session: &str) -> Call {
    let mut command = world.command();
    command.args(["--from-session", "implement"]).env("CLAUDE_CODE_SESSION_ID", session);
    call(command, b"")
}

fn project() -> World {
    let world = World::with_tasks(PLAN);
    fs::remove_file(world.path(STATE)).expect("just written");
    world
}

#[test]
fn arguments_that_would_hurt_a_shell_are_refused_in_words_and_never_run() {
    let world = project();
    let before = world.snapshot();
    for (typed, says) in [
        ("$(touch hurt)", "unexpected argument 'hurt)'"),
        ("\"$(touch hurt)\"", "there is no spec `$(touch hurt)`"),
        ("`touch hurt`", "unexpected argument 'hurt`'"),
        ("'`touch hurt`'", "there is no spec ``touch hurt``"),
        ("; touch hurt", "unexpected argument"),
        ("a\ntouch hurt", "unexpected argument"),
        ("\"a\nb\"", "there is no spec `a\nb`"),
        ("```", "there is no spec `````"),
        ("--unknown", "unexpected argument '--unknown'"),
        ("--max-task-iterations 0", "0 is not in 1..=1000"),
        ("--driver magic", "invalid value 'magic'"),
        ("test-spce", "did you mean `test-spec`?"),
        ("'test-spec", "a quote is not closed in: 'test-spec"),
        ("../../etc", "there is no spec"),
        ("/etc", "leads out of the project"),
    ] {
        let call = types(&world, typed);
        let reason = call.reason();
        assert!(reason.contains(says), "{typed}: {reason}");
        assert_eq!(call.system_message(), "/ralph-specum:implement was not run");
    }
    assert_eq!(world.snapshot(), before);
    assert!(!world.path("../home/.local/state/specum/sessions").exists(), "nothing was kept");
}

#[test]
fn good_arguments_reach_the_command_byte_for_byte_and_once() {
    let world = project();
    let odd = "it's $(touch hurt) `touch hurt` \"x\" ü";
    world.write(&format!("specs/{odd}/tasks.md"), PLAN);
    let typed = "\"it's $(touch hurt) `touch hurt` \\\"x\\\" ü\" --max-task-iterations 7";
    types(&world, typed).silent();
    assert!(!world.path(&format!("specs/{odd}/.ralph-state.json")).exists(), "only kept");
    from_session(&world, "another-session").exits(2);
    assert!(!world.path(STATE).exists(), "without its arguments a command does nothing");
    let said = from_session(&world, "test-session");
    assert!(said.exits(0).stdout.starts_with(&format!("You coordinate the spec {odd} ")));
    let state: Value =
        serde_json::from_str(&world.read(&format!("specs/{odd}/.ralph-state.json"))).unwrap();
    assert_eq!(state["maxTaskIterations"], 7);
    assert_eq!(state["owner"]["sessionId"], "test-session");
    let again = from_session(&world, "test-session");
    assert!(
        again.exits(2).stderr.contains("the arguments of /ralph-specum:implement did not arrive")
    );
    assert!(!world.path("hurt").exists());
}

#[test]
fn commands_of_others_are_left_alone() {
    let world = project();
    for name in ["other:implement", "implement", "ralph-specum:unknown", "ralph-specum:"] {
        let input = json!({"command_name": name, "command_args": "$(x) '"});
        world.hook("prompt", &input).silent();
    }
}

#[test]
fn without_a_plan_the_command_ends_before_the_model_is_asked() {
    let world = World::empty();
    assert!(types(&world, "").reason().starts_with("no spec is active"));
    world.write("specs/bare/notes.md", "");
    assert!(types(&world, "bare").reason().contains("./specs/bare has no tasks.md"));
}

#[test]
fn a_typed_command_is_a_persons_word_and_an_untyped_one_is_none() {
    let world = session(PLAN);
    let ticks = || {
        let mut command = world.command();
        command
            .args(["--from-session", "tick"])
            .env("CLAUDE_CODE_SESSION_ID", "test-session")
            .env("CLAUDECODE", "1");
        call(command, b"")
    };
    let refused = ticks();
    let why = "the arguments of /ralph-specum:tick did not arrive";
    assert!(refused.exits(2).stderr.contains(why), "{}", refused.stderr);
    assert_eq!(world.read(TASKS), PLAN);
    let types = |arguments: &str| {
        let fields = json!({"command_name": "ralph-specum:tick", "command_args": arguments});
        world.hook("prompt", &fields)
    };
    types("1.2").silent();
    assert!(ticks().exits(0).stdout.contains("1.2 ticked by you, not checked"));
    assert!(world.read(TASKS).contains("- [x] 1.2"));
    ticks().exits(2);
    // What cannot be done is said to the model, which a broken command would not be.
    types("9.9").silent();
    let said = ticks().exits(0).stdout.clone();
    assert!(said.starts_with("error: there is no task 9.9"), "{said}");
    assert!(said.contains("Nothing was done. Tell the person what this says, and stop."), "{said}");
}

/// Runs specum as a session would whose host was started by that of these tests.
fn below_this_host(world: &World, session: &str, args: &[&str], input: &Value) -> Call {
    let inner = world.command();
    let mut host = std::process::Command::new("timeout");
    host.arg("600").arg(inner.get_program()).args(args).env_clear();
    host.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    host.env("CLAUDE_CODE_SESSION_ID", session).current_dir(&world.root);
    call(host, input.to_string().as_bytes())
}

/// `/ralph-specum:tick 1.2`, typed into a session below the host of these tests.
fn ticks_below(world: &World, session: &str) -> String {
    let typed = json!({
        "session_id": session,
        "cwd": world.root,
        "command_name": "ralph-specum:tick",
        "command_args": "1.2",
    });
    below_this_host(world, session, &["hook", "prompt"], &typed).silent();
    let ticked = below_this_host(world, session, &["--from-session", "tick"], &json!({}));
    ticked.exits(0).stdout.clone()
}

#[test]
fn what_the_model_of_a_session_types_into_another_one_is_no_persons_word() {
    let world = session(PLAN);
    // The session of these tests works on the loop from here on.
    given(&calls(&world, "task 1.1", "t1"));
    let refused = ticks_below(&world, "inner");
    assert!(refused.contains("`specum tick` is a person's to say"), "{refused}");
    assert_eq!(world.read(TASKS), PLAN);
    // Its own commands may come through a program in between.
    let said = ticks_below(&world, "test-session");
    assert!(said.contains("1.2 ticked by you, not checked"), "{said}");
}

#[test]
fn nor_is_what_a_model_that_does_the_work_itself_types_there() {
    let world = session(PLAN);
    let said = || ticks_below(&world, "inner");
    let turn = json!({"session_id": "outer", "turn_id": "7", "prompt": "work on it"});
    world.hook("submit", &turn).silent();
    assert!(said().contains("`specum tick` is a person's to say"), "{}", said());
    assert_eq!(world.read(TASKS), PLAN);
    // Of a host in which no hook of ours was called nobody can tell.
    fs::remove_dir_all(world.path("../home/.local/state/specum/sessions")).expect("kept there");
    let said = said();
    assert!(said.contains("1.2 ticked by you, not checked"), "{said}");
}

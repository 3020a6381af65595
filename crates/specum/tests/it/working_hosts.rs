//! Hosts whose own model does the work, in the mode in which a person starts
//! them: Codex with its sandbox, Gemini CLI without the person's git
//! configuration for its commands. What they hand in is judged, ticked and
//! committed by the hook at the end of the turn.

use std::path::Path;

use crate::host;
use crate::other_model::{Answer, Api, OtherModel, Told};
use crate::plugin;
use crate::terminal::{ENTER, Terminal};
use crate::world::World;

/// A plan whose owner is known to git by the global configuration alone.
fn project(tasks: &str) -> World {
    let world = World::empty();
    world.write("specs/demo/tasks.md", tasks);
    world.write("specs/.current-spec", "demo");
    world.git_init();
    world.git(&["config", "--unset", "user.name"]);
    world.git(&["config", "--unset", "user.email"]);
    let identity = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n";
    std::fs::write(world.home().join(".gitconfig"), identity).unwrap();
    world
}

const ONE: &str = "- [ ] 1.1 First\n  - **Verify**: `test -f done-1.1`\n";

/// A group of three and a check at the end.
const GROUP: &str = "- [ ] 1.1 First\n  - **Verify**: `test -f done-1.1`\n\
    - [ ] 1.2 [P] Second\n  - **Verify**: `test -f done-1.2`\n\
    - [ ] 1.3 [P] Third\n  - **Verify**: `test -f done-1.3`\n\
    - [ ] 1.4 [P] Fourth\n  - **Verify**: `test -f done-1.4`\n\
    - [ ] 1.5 [VERIFY] All\n  - **Verify**: `test -f done-1.4`\n";

/// A model that asks what is due, does it, and ends its turn with the signal; and
/// that goes on with what it is sent back for.
fn works(told: &Told) -> Answer {
    let done = |id: &str| Answer::Run(format!("touch done-{id}"));
    match told {
        Told::Text(text) if text.contains("capital of France") => Answer::Say("Paris.".into()),
        Told::Text(text) => match text.split_once(" · now ").map(|(_, rest)| rest) {
            Some(rest) => done(rest.split(' ').next().unwrap_or_default()),
            None => Answer::Run("specum implement; specum next".into()),
        },
        Told::Output(text) => match text.rsplit_once("Due: task ").map(|(_, rest)| rest) {
            Some(rest) => done(rest.split(' ').next().unwrap_or_default()),
            None => Answer::Say("It is there.\n\nTASK_COMPLETE\nVERIFICATION_PASS".into()),
        },
    }
}

fn in_codex(world: &World, model: &OtherModel, prompt: &str) -> Option<host::OtherOutcome> {
    let program = host::codex()?;
    host::settle_codex(world.home(), &model.url());
    plugin::plugin(world, &program, &["install", "--host", "codex"]).exits(0);
    Some(host::codex_in_its_sandbox(&program, world.home(), &world.root, prompt))
}

fn in_gemini(world: &World, model: &OtherModel, prompt: &str) -> Option<host::OtherOutcome> {
    let program = host::gemini()?;
    host::settle_gemini(world.home());
    plugin::plugin(world, &program, &["install", "--host", "gemini"]).exits(0);
    Some(host::gemini_prompt(&program, &model.url(), world.home(), &world.root, prompt))
}

type Host = fn(&World, &OtherModel, &str) -> Option<host::OtherOutcome>;

const HOSTS: [(Api, Host); 2] = [(Api::Responses, in_codex), (Api::Gemini, in_gemini)];

fn is_worked(world: &World, model: &OtherModel, tasks: usize, tail: &str) {
    let plan = world.read("specs/demo/tasks.md");
    assert_eq!(plan.matches("- [x]").count(), tasks, "{:#?}\n{tail}", model.told());
    assert!(!world.path("specs/demo/.ralph-state.json").exists(), "the loop has ended");
    let commits = world.git(&["log", "--reverse", "--format=%an %(trailers:key=Task,valueonly)"]);
    let authors = commits.lines().filter(|line| line.starts_with("Ada ")).count();
    assert_eq!(authors, tasks, "each in a commit of the person's: {commits}");
}

#[test]
fn a_plan_is_worked_in_the_mode_a_person_starts() {
    for (api, run) in HOSTS {
        let world = project(GROUP);
        let model = OtherModel::start(api, works);
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        assert!(outcome.succeeded(), "{}", outcome.tail());
        is_worked(&world, &model, 5, &outcome.tail());
    }
}

#[test]
fn a_question_beside_a_loop_is_answered_and_nothing_else() {
    for (api, run) in HOSTS {
        let world = project(GROUP);
        world.specum(&["implement"]).exits(0);
        let model = OtherModel::start(api, works);
        let Some(outcome) = run(&world, &model, "What is the capital of France?") else { continue };
        assert!(outcome.succeeded(), "{}", outcome.tail());
        let told = model.told();
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(!world.read("specs/demo/tasks.md").contains("- [x]"));
        assert!(world.path("specs/demo/.ralph-state.json").exists(), "the loop waits");
    }
}

#[test]
fn commits_go_through_the_hooks_and_ignored_files_of_the_person() {
    for (api, run) in HOSTS {
        let world = project(ONE);
        let identity = std::fs::read_to_string(world.home().join(".gitconfig")).unwrap();
        let ignore = world.home().join("ignore");
        std::fs::write(&ignore, "secret.env\n").unwrap();
        let config = format!("{identity}[core]\n\texcludesFile = {}\n", ignore.display());
        std::fs::write(world.home().join(".gitconfig"), config).unwrap();
        world.git_hook("pre-commit", "echo it ran > \"$HOME/hook-ran\"\n");
        let model = OtherModel::start(api, |told| match works(told) {
            Answer::Run(command) => Answer::Run(command.replace("touch ", "touch secret.env ")),
            other => other,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        is_worked(&world, &model, 1, &outcome.tail());
        assert!(world.home().join("hook-ran").exists(), "the hook of the person");
        let files = world.git(&["show", "--name-only", "--format=", "HEAD"]);
        assert!(files.contains("done-1.1") && !files.contains("secret.env"), "{files}");
    }
}

#[test]
fn what_is_missing_comes_back_in_the_first_line() {
    for (api, run) in HOSTS {
        let world = project(ONE);
        let model = OtherModel::start(api, |told| match (told, works(told)) {
            // Forgets its work the first time.
            (Told::Output(text), Answer::Run(_)) if text.contains("Due: task") => {
                Answer::Say("TASK_COMPLETE".into())
            }
            (_, answer) => answer,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        is_worked(&world, &model, 1, &outcome.tail());
        let told = model.told();
        let back = told.iter().find_map(|told| match told {
            Told::Text(text) if text.contains(" · now ") => Some(text.clone()),
            _ => None,
        });
        let back = back.expect("it is sent back");
        let first = "1.1 failed (1 of 5): `test -f done-1.1` ended with code 1 · now 1.1 First";
        assert!(back.lines().next().is_some_and(|line| line.ends_with(first)), "{back}");
        assert!(back.lines().count() <= 8, "{back}");
    }
}

#[test]
fn without_trust_codex_and_specum_say_what_is_missing_and_no_attempt_is_lost() {
    let Some(program) = host::codex() else { return };
    let world = project(ONE);
    let model = OtherModel::start(Api::Responses, works);
    host::settle_codex(world.home(), &model.url());
    plugin::plugin(&world, &program, &["install", "--host", "codex"]).exits(0);
    let prompt = "Work on the spec demo.";
    host::codex_without_trust(&program, world.home(), &world.root, prompt);
    let told = model.told();
    let Some(Told::Output(said)) = told.get(1) else { panic!("{told:#?}") };
    assert!(said.contains("codex does not run specum's hooks"), "{said}");
    assert!(said.contains(".git is read-only here, so nothing can be committed"), "{said}");
    assert!(!world.path("specs/demo/.ralph-state.json").exists(), "nothing was begun");
    let doctor = plugin::with_host_on_path(&world, &program, &["doctor"]);
    assert!(doctor.stdout.contains("Codex does not run the hooks"), "{}", doctor.stdout);
}

/// Codex on a terminal, as a person starts it in a folder they trust.
fn codex_on_terminal(program: &Path, world: &World) -> Terminal {
    let config = world.home().join(".codex/config.toml");
    let root = world.root.canonicalize().unwrap();
    let trusted = format!(
        "{}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n\n[sandbox_workspace_write]\n\
         exclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n",
        std::fs::read_to_string(&config).unwrap(),
        root.display()
    );
    std::fs::write(&config, trusted).unwrap();
    Terminal::start(host::codex_command(program, world.home(), &world.root))
}

#[test]
fn a_person_trusts_the_hooks_of_codex_and_sees_each_verdict() {
    let Some(program) = host::codex() else { return };
    let world = project(GROUP);
    let model = OtherModel::start(Api::Responses, works);
    host::settle_codex(world.home(), &model.url());
    plugin::plugin(&world, &program, &["install", "--host", "codex"]).exits(0);
    let mut codex = codex_on_terminal(&program, &world);
    codex.shows("Hooks need review");
    codex.shows("3 hooks are new or changed");
    codex.press_until("2", "› 2. Trust all and continue");
    codex.press(ENTER);
    codex.shows("for shortcuts");
    codex.press("Work on the spec demo.");
    codex.shows("Work on the spec demo.");
    codex.press(ENTER);
    let screen = codex.shows("demo is complete: 5 of 5 tasks are done");
    assert!(screen.contains("1.1 passed, 1 of 5, "), "{screen}");
    assert!(screen.contains(" · now 1.2 Second"), "{screen}");
    let doctor = plugin::with_host_on_path(&world, &program, &["doctor"]);
    assert!(doctor.stdout.contains("hooks trusted"), "{}", doctor.stdout);
    is_worked(&world, &model, 5, &screen);
}

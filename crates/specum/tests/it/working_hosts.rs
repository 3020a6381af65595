//! Hosts whose own model does the work, in the mode in which a person starts
//! them: Codex with its sandbox, Gemini CLI without the person's git
//! configuration for its commands. What they hand in is judged, ticked and
//! committed by the hook at the end of the turn.

mod at_a_terminal;
mod meddling;
mod surroundings;

use std::path::Path;

use crate::host;
use crate::other_model::{Answer, Api, OtherModel, Told};
use crate::plugin;
use crate::world::World;

/// A plan whose owner is known to git by the global configuration alone.
fn project(tasks: &str) -> World {
    let world = World::empty();
    plan_in(&world, tasks);
    world
}

fn plan_in(world: &World, tasks: &str) {
    world.write("specs/demo/tasks.md", tasks);
    world.write("specs/.current-spec", "demo");
    world.git_init();
    world.git(&["config", "--unset", "user.name"]);
    world.git(&["config", "--unset", "user.email"]);
    let identity = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n";
    std::fs::write(world.home().join(".gitconfig"), identity).unwrap();
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
    for told in model.told() {
        let (Told::Text(text) | Told::Output(text)) = &told;
        for other in ["/ralph-specum:", "Agent tool", "is being worked on by"] {
            assert!(!text.contains(other), "{other}: {text}");
        }
    }
    let plan = world.read("specs/demo/tasks.md");
    assert_eq!(plan.matches("- [x]").count(), tasks, "{:#?}\n{tail}", model.told());
    assert!(!world.path("specs/demo/.ralph-state.json").exists(), "the loop has ended");
    let commits = world.git(&["log", "--reverse", "--format=%an %(trailers:key=Task,valueonly)"]);
    let authors = commits.lines().filter(|line| line.starts_with("Ada 1.")).count();
    assert_eq!(authors, tasks, "each in a commit of the person's: {commits}");
    let left = world.git(&["status", "--porcelain", "--", ".", ":!specs/.current-spec"]);
    assert_eq!(left, "", "nothing is left over");
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
    assert!(said.contains("codex has not called specum's hooks"), "{said}");
    assert!(said.contains(".git is read-only here, so nothing can be committed"), "{said}");
    assert!(!world.path("specs/demo/.ralph-state.json").exists(), "nothing was begun");
    let doctor = plugin::with_host_on_path(&world, &program, &["doctor"]);
    assert!(doctor.stdout.contains("Codex does not run the hooks"), "{}", doctor.stdout);
}

#[test]
fn implement_alone_asks_for_work_and_a_group_is_worked_in_turn() {
    let group_first = GROUP.replace("1.1 First", "1.1 [P] First");
    for (api, run) in HOSTS {
        let world = project(&group_first);
        let model = OtherModel::start(api, |told| match works(told) {
            Answer::Run(command) => Answer::Run(command.replace("; specum next", "")),
            other => other,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        is_worked(&world, &model, 5, &outcome.tail());
        let told = model.told();
        let Some(Told::Output(brief)) = told.get(1) else { panic!("{told:#?}") };
        assert!(brief.contains("Due: task 1.1 (attempt 1)"), "{brief}");
        assert!(!brief.contains("Due: task 1.2"), "one at a time: {brief}");
        assert!(!brief.contains("Others work in the same tree"), "{brief}");
    }
}

#[test]
fn a_group_that_was_opened_in_a_terminal_is_worked_in_turn() {
    for (api, run) in HOSTS {
        let world = project(&GROUP.replace("1.1 First", "1.1 [P] First"));
        world.specum(&["implement"]).exits(0);
        let model = OtherModel::start(api, |told| match works(told) {
            Answer::Run(command) => Answer::Run(command.replace("specum implement; ", "")),
            other => other,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        is_worked(&world, &model, 5, &outcome.tail());
    }
}

#[test]
fn a_result_that_is_piped_to_finish_is_recorded_and_judged_by_the_hook() {
    for (api, run) in HOSTS {
        let world = project(ONE);
        let model = OtherModel::start(api, |told| match (told, works(told)) {
            (_, Answer::Run(command)) if command.starts_with("touch") => {
                Answer::Run(format!("{command}; echo TASK_COMPLETE | specum finish 1.1"))
            }
            (Told::Output(text), _) if text.contains("recorded") => Answer::Say("There.".into()),
            (_, answer) => answer,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        is_worked(&world, &model, 1, &outcome.tail());
        let told = model.told();
        let recorded = "1.1: the result is recorded. End your turn now";
        let has_recorded =
            |told: &Told| matches!(told, Told::Output(text) if text.contains(recorded));
        assert!(told.iter().any(has_recorded), "{told:#?}");
    }
}

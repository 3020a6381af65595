//! What surrounds a session: no name to commit by, a folder below the project, a
//! folder that the host does not trust, a second session, a hook that is killed.

use std::io::Write;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::*;
use crate::world::{call, until};

fn attempts(world: &World) -> usize {
    world.journal_of("demo", "failed").len()
}

#[test]
fn without_a_name_to_commit_by_nothing_begins_and_no_attempt_is_lost() {
    for (api, run) in HOSTS {
        let world = project(ONE);
        std::fs::write(world.home().join(".gitconfig"), "[user]\n\tuseConfigOnly = true\n")
            .unwrap();
        let model = OtherModel::start(api, works);
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        let told = model.told();
        let Some(Told::Output(said)) = told.get(1) else { panic!("{told:#?}") };
        assert!(said.contains("user.email"), "git's own words: {said}");
        assert_eq!(attempts(&world), 0, "{}", outcome.tail());
        assert!(!world.path("specs/demo/.ralph-state.json").exists(), "nothing was begun");
    }
}

#[test]
fn a_name_that_is_lost_meanwhile_is_no_failed_attempt() {
    for (api, run) in HOSTS {
        let world = project(ONE);
        let config = world.home().join(".gitconfig");
        let model = OtherModel::start(api, {
            let config = config.clone();
            move |told| match works(told) {
                Answer::Run(command) if command.starts_with("touch") => {
                    std::fs::write(&config, "[user]\n\tuseConfigOnly = true\n").unwrap();
                    Answer::Run(command)
                }
                other => other,
            }
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        assert_eq!(attempts(&world), 0, "{}", outcome.tail());
        assert!(world.read("specs/demo/tasks.md").contains("- [ ] 1.1"), "not ticked");
        // With the name back, the result that was handed in is judged.
        let identity = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n";
        std::fs::write(&config, identity).unwrap();
        let mut next = std::process::Command::new(crate::world::specum());
        next.arg("next").env_clear().env("HOME", world.home()).current_dir(&world.root);
        next.env("PATH", std::env::var_os("PATH").unwrap());
        assert!(next.output().unwrap().status.success());
        is_worked(&world, &model, 1, &outcome.tail());
    }
}

#[test]
fn gemini_in_a_folder_below_the_project_is_told_where_to_work() {
    let Some(program) = host::gemini() else { return };
    let world = project(GROUP);
    world.write("src/deep/keep", "");
    world.git(&["add", "-A"]);
    world.git(&["commit", "--quiet", "-m", "a folder"]);
    let root = world.root.canonicalize().unwrap().display().to_string();
    let model = OtherModel::start(Api::Gemini, {
        let root = root.clone();
        move |told| match works(told) {
            Answer::Run(command) if command.starts_with("touch") => {
                Answer::Run(format!("cd '{root}' && {command}"))
            }
            other => other,
        }
    });
    host::settle_gemini(world.home());
    plugin::plugin(&world, &program, &["install", "--host", "gemini"]).exits(0);
    let below = world.path("src/deep");
    let prompt = "Work on the spec demo.";
    let outcome = host::gemini_prompt(&program, &model.url(), world.home(), &below, prompt);
    is_worked(&world, &model, 5, &outcome.tail());
    let told = model.told();
    let Some(Told::Output(brief)) = told.get(1) else { panic!("{told:#?}") };
    assert!(brief.contains(&format!("Work in {root}")), "{brief}");
}

#[test]
fn codex_in_a_folder_below_the_project_says_where_to_start_it() {
    let Some(program) = host::codex() else { return };
    // Its sandbox shows nothing of /tmp but the folder it was started in.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let world = World::at(place);
    plan_in(&world, ONE);
    world.write("src/deep/keep", "");
    let model = OtherModel::start(Api::Responses, works);
    host::settle_codex(world.home(), &model.url());
    plugin::plugin(&world, &program, &["install", "--host", "codex"]).exits(0);
    let below = world.path("src/deep");
    host::codex_in_its_sandbox(&program, world.home(), &below, "Work on the spec demo.");
    let told = model.told();
    let Some(Told::Output(said)) = told.get(1) else { panic!("{told:#?}") };
    assert!(said.contains("write only below the folder it was started in"), "{said}");
    assert!(said.contains("start it in "), "{said}");
    assert_eq!(attempts(&world), 0);
}

#[test]
fn a_read_only_codex_says_which_mode_it_needs() {
    let Some(program) = host::codex() else { return };
    let world = project(ONE);
    let model = OtherModel::start(Api::Responses, works);
    host::settle_codex(world.home(), &model.url());
    plugin::plugin(&world, &program, &["install", "--host", "codex"]).exits(0);
    host::codex_read_only(&program, world.home(), &world.root, "Work on the spec demo.");
    let told = model.told();
    let Some(Told::Output(said)) = told.get(1) else { panic!("{told:#?}") };
    assert!(said.contains("--sandbox workspace-write"), "{said}");
}

#[test]
fn gemini_in_a_folder_that_it_does_not_trust_says_that_no_hook_was_called() {
    let Some(program) = host::gemini() else { return };
    let world = project(ONE);
    let model = OtherModel::start(Api::Gemini, works);
    host::settle_gemini(world.home());
    plugin::plugin(&world, &program, &["install", "--host", "gemini", "--scope", "project"])
        .exits(0);
    let prompt = "Work on the spec demo.";
    host::gemini_without_trust(&program, &model.url(), world.home(), &world.root, prompt);
    let told = model.told();
    let Some(Told::Output(said)) = told.get(1) else { panic!("{told:#?}") };
    assert!(said.contains("gemini has not called specum's hooks"), "{said}");
    assert_eq!(attempts(&world), 0);
}

#[test]
fn a_second_session_is_told_who_works_and_takes_nothing() {
    let Some(program) = host::codex() else { return };
    let world = project(GROUP);
    // The first one never comes to the end of its first task.
    let first = OtherModel::start(Api::Responses, |told| match works(told) {
        Answer::Run(command) if command.starts_with("touch") => Answer::Hang,
        other => other,
    });
    host::settle_codex(world.home(), &first.url());
    plugin::plugin(&world, &program, &["install", "--host", "codex"]).exits(0);
    let config = std::fs::read_to_string(world.home().join(".codex/config.toml")).unwrap();
    let prompt = "Work on the spec demo.";
    let one = host::codex_in_background(&program, world.home(), &world.root, prompt);
    first.wait_for(2);
    let second = OtherModel::start(Api::Responses, |told| match told {
        Told::Text(_) => {
            Answer::Run("specum next; echo; echo TASK_COMPLETE | specum finish 1.1".into())
        }
        Told::Output(_) => Answer::Say("I see.".into()),
    });
    let config = config.replace(&first.url(), &second.url());
    std::fs::write(world.home().join(".codex/config.toml"), config).unwrap();
    host::codex_in_its_sandbox(&program, world.home(), &world.root, "Go on with the plan.");
    let told = second.told();
    let Some(Told::Output(said)) = told.get(1) else { panic!("{told:#?}") };
    assert!(said.contains("demo is being worked on by session "), "{said}");
    assert!(!said.contains("Due: task"), "{said}");
    assert_eq!(told.len(), 2, "it is not sent back: {told:#?}");
    assert!(!world.read("specs/demo/tasks.md").contains("- [x]"));
    drop(one);
}

/// An event of Codex, as it tells its hooks.
fn codex_event(world: &World, event: &str, more: &Value) -> Vec<u8> {
    let mut input = json!({
        "session_id": "s", "turn_id": "t", "cwd": world.root, "hook_event_name": event,
        "transcript_path": "/none/rollout-s.jsonl", "permission_mode": "default",
    });
    let fields = input.as_object_mut().expect("an object");
    fields.extend(more.as_object().cloned().unwrap_or_default());
    input.to_string().into_bytes()
}

#[test]
fn a_hook_that_is_ended_in_the_middle_of_a_check_ends_the_check_and_decides_nothing() {
    let plan = "- [ ] 1.1 First\n  - **Verify**: `echo $$ >> started; read line < gate`\n";
    let world = project(plan);
    world.program("mkfifo").arg(world.path("gate")).status().unwrap();
    world.write(".git/info/exclude", "gate\nstarted\n");
    let submit = codex_event(&world, "UserPromptSubmit", &json!({"prompt": "Work"}));
    world.specum_with(&["hook", "submit"], &submit).exits(0);
    let mut implement = world.command();
    implement.arg("implement").env("CODEX_SESSION_ID", "s");
    call(implement, b"").exits(0);
    world.write("done", "");

    let said = json!({"last_assistant_message": "TASK_COMPLETE", "stop_hook_active": false});
    let stop = codex_event(&world, "Stop", &said);
    let mut hook = world.command();
    hook.args(["hook", "stop"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    hook.stdin.take().unwrap().write_all(&stop).unwrap();
    let has_begun = || world.path("started").exists() && world.read("started").ends_with('\n');
    until("the check has begun", has_begun);
    kill_process(Pid::from_child(&hook), Signal::TERM).unwrap();
    hook.wait().unwrap();
    let check = format!("/proc/{}", world.read("started").trim());
    until("the check has ended too", || !Path::new(&check).exists());
    assert_eq!(attempts(&world), 0);
    assert!(world.read("specs/demo/tasks.md").contains("- [ ] 1.1"));

    std::fs::remove_file(world.path("gate")).unwrap();
    world.write("gate", "open\n");
    let ended = world.specum_with(&["hook", "stop"], &stop);
    assert!(ended.stdout.contains("demo is complete: 1 of 1"), "{} {}", ended.stdout, ended.stderr);
    assert_eq!(world.read("started").lines().count(), 2, "once for each end of the turn");
}

#[test]
fn doctor_and_the_start_of_a_session_say_that_nothing_can_be_committed() {
    let world = project(ONE);
    std::fs::write(world.home().join(".gitconfig"), "[user]\n\tuseConfigOnly = true\n").unwrap();
    let nameless = |args: &[&str], input: &[u8]| {
        let mut command = world.command();
        for who in ["AUTHOR", "COMMITTER"] {
            command.env_remove(format!("GIT_{who}_NAME")).env_remove(format!("GIT_{who}_EMAIL"));
        }
        command.args(args);
        call(command, input)
    };
    let start = codex_event(&world, "SessionStart", &json!({"source": "startup"}));
    let said = nameless(&["hook", "session-start"], &start);
    assert!(said.stdout.contains("specum: nothing can be committed here: "), "{}", said.stdout);
    let doctor = nameless(&["doctor"], b"");
    assert!(doctor.stdout.contains("nothing can be committed: "), "{}", doctor.stdout);
}

#[test]
fn opencode_works_by_hand_and_finish_judges_at_once() {
    let Some(program) = host::opencode() else { return };
    let world = project(ONE);
    let model = OtherModel::start(Api::Chat, |told| match told {
        Told::Text(text) if text.contains("Work on the spec") => {
            let work = "specum implement; touch done-1.1; echo TASK_COMPLETE | specum finish 1.1";
            Answer::Run(work.into())
        }
        Told::Text(_) => Answer::Say("A title".into()),
        Told::Output(_) => Answer::Say("Done.".into()),
    });
    host::settle_opencode(world.home(), &model.url());
    let prompt = "Work on the spec demo.";
    let outcome = host::opencode_prompt(&program, world.home(), &world.root, prompt);
    assert!(outcome.succeeded(), "{}", outcome.tail());
    is_worked(&world, &model, 1, &outcome.tail());
}

//! A person at a terminal: what they see of the loop, and that Esc and a question
//! leave them free.

use super::*;
use crate::terminal::{ENTER, ESCAPE, Terminal};

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

/// Gemini CLI on a terminal, in a folder that the person trusts.
fn gemini_on_terminal(program: &Path, world: &World, model: &OtherModel) -> Terminal {
    host::settle_gemini(world.home());
    plugin::plugin(world, program, &["install", "--host", "gemini"]).exits(0);
    let command = host::gemini_command(program, &model.url(), world.home(), &world.root);
    let gemini = Terminal::start(command);
    gemini.shows("Type your message");
    gemini
}

/// Codex with every hook trusted.
fn trusting_codex(program: &Path, world: &World, model: &OtherModel) -> Terminal {
    host::settle_codex(world.home(), &model.url());
    plugin::plugin(world, program, &["install", "--host", "codex"]).exits(0);
    let mut codex = codex_on_terminal(program, world);
    codex.shows("Hooks need review");
    codex.press_until("2", "› 2. Trust all and continue");
    codex.press(ENTER);
    codex.shows("for shortcuts");
    codex
}

/// Types a message and sends it, until the screen shows what it leads to. An Enter
/// that comes too soon is taken for a line of something pasted.
fn says(terminal: &mut Terminal, text: &str, leads_to: &str) -> String {
    terminal.press(text);
    terminal.shows(text);
    terminal.press_until(ENTER, leads_to)
}

/// Forgets its work the first time.
fn forgets(told: &Told) -> Answer {
    match (told, works(told)) {
        (Told::Output(text), Answer::Run(_)) if text.contains("Due: task 1.1 (attempt 1)") => {
            Answer::Say("TASK_COMPLETE".into())
        }
        (_, answer) => answer,
    }
}

/// Comes to no end with the first task it is given; if it is asked once more, it
/// works.
fn hangs() -> impl Fn(&Told) -> Answer + Send + Sync {
    let has_hung = std::sync::atomic::AtomicBool::new(false);
    move |told| match works(told) {
        Answer::Run(command) if command.starts_with("touch") => {
            match has_hung.swap(true, std::sync::atomic::Ordering::Relaxed) {
                true => Answer::Run(command),
                false => Answer::Hang,
            }
        }
        other => other,
    }
}

fn is_free(mut terminal: Terminal, world: &World, model: &OtherModel) {
    says(&mut terminal, "Name the capital of France", "Paris.");
    let shown = terminal.shows("the loop of demo waits, 0 of 5 tasks are done");
    assert!(!world.read("specs/demo/tasks.md").contains("- [x]"), "{shown}");
    assert_eq!(world.journal_of("demo", "passed").len(), 0, "{:#?}", model.told());
    assert!(world.path("specs/demo/.ralph-state.json").exists(), "the loop waits");
}

#[test]
fn esc_and_a_question_leave_the_person_of_codex_free() {
    let Some(program) = host::codex() else { return };
    let world = project(GROUP);
    let model = OtherModel::start(Api::Responses, hangs());
    let mut codex = trusting_codex(&program, &world, &model);
    says(&mut codex, "Work on the spec demo.", "Ran specum implement");
    model.wait_for_output();
    codex.press(ESCAPE);
    codex.shows("interrupted");
    is_free(codex, &world, &model);
}

#[test]
fn esc_in_gemini_ends_the_loop_until_the_person_says_something() {
    let Some(program) = host::gemini() else { return };
    let world = project(GROUP);
    let model = OtherModel::start(Api::Gemini, hangs());
    let mut gemini = gemini_on_terminal(&program, &world, &model);
    says(&mut gemini, "Work on the spec demo.", "✓  Shell specum implement");
    model.wait_for_output();
    gemini.press(ESCAPE);
    gemini.shows("specum: interrupted; \"Work on the spec demo\" goes on");
    // The host asks the model once more by itself, and it works: nothing of that
    // counts.
    gemini.shows("TASK_COMPLETE");
    is_free(gemini, &world, &model);
}

#[test]
fn a_failure_and_the_end_are_seen_in_codex() {
    let Some(program) = host::codex() else { return };
    let world = project(ONE);
    let model = OtherModel::start(Api::Responses, forgets);
    let mut codex = trusting_codex(&program, &world, &model);
    let end = "demo is complete: 1 of 1 tasks are done";
    let screen = says(&mut codex, "Work on the spec demo.", end);
    let failure = "1.1 failed (1 of 5): `test -f done-1.1` ended with code 1 · now 1.1 First";
    assert!(screen.contains(failure), "{screen}");
    is_worked(&world, &model, 1, &screen);
}

#[test]
fn a_failure_and_the_end_are_seen_in_gemini() {
    let Some(program) = host::gemini() else { return };
    let world = project(GROUP);
    let model = OtherModel::start(Api::Gemini, forgets);
    let mut gemini = gemini_on_terminal(&program, &world, &model);
    let end = "demo is complete: 5 of 5 tasks are done";
    let screen = says(&mut gemini, "Work on the spec demo.", end);
    // It takes the backticks for markup.
    let failure = "1.1 failed (1 of 5): test -f done-1.1 ended with code 1 · now 1.1 First";
    assert!(screen.contains(failure), "{screen}");
    assert!(screen.contains("1.1 passed, 1 of 5, "), "{screen}");
    is_worked(&world, &model, 5, &screen);
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
    let end = "demo is complete: 5 of 5 tasks are done";
    let screen = says(&mut codex, "Work on the spec demo.", end);
    assert!(screen.contains("1.1 passed, 1 of 5, "), "{screen}");
    assert!(screen.contains(" · now 1.2 Second"), "{screen}");
    let doctor = plugin::with_host_on_path(&world, &program, &["doctor"]);
    assert!(doctor.stdout.contains("hooks trusted"), "{}", doctor.stdout);
    is_worked(&world, &model, 5, &screen);
}

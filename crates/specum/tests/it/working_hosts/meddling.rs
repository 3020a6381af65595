//! Models that tick, weaken their checks, claim too early or change the subject.

use super::*;

fn passed(world: &World) -> usize {
    world.journal_of("demo", "passed").len()
}

#[test]
fn boxes_that_the_model_ticks_are_open_again_and_said_so() {
    for (api, run) in HOSTS {
        let world = project(GROUP);
        let model = OtherModel::start(api, |told| match works(told) {
            Answer::Run(command) if command.starts_with("touch") => {
                Answer::Run("sed -i 's/^- \\[ \\]/- [x]/' specs/demo/tasks.md".into())
            }
            Answer::Say(_) => Answer::Say("ALL_TASKS_COMPLETE".into()),
            other => other,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        assert!(!world.read("specs/demo/tasks.md").contains("- [x]"), "{}", outcome.tail());
        assert_eq!(passed(&world), 0);
        let told = model.told();
        let says = "ticked without a verdict and are open again";
        let is_told = |told: &Told| matches!(told, Told::Text(text) if text.contains(says));
        assert!(told.iter().any(is_told), "{told:#?}");
        let status = world.specum(&["status", "--json"]).exits(0).json();
        assert_eq!(status["done"], 0);
    }
}

#[test]
fn a_weakened_check_waits_for_the_person() {
    for (api, run) in HOSTS {
        let world = project(ONE);
        let model = OtherModel::start(api, |told| match works(told) {
            Answer::Run(command) if command.starts_with("touch") => {
                Answer::Run("sed -i 's/test -f done-1.1/true/' specs/demo/tasks.md".into())
            }
            other => other,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        assert_eq!(passed(&world), 0, "{}", outcome.tail());
        let status = world.specum(&["status"]);
        let question = "the check of 1.1 was changed while 1.1 was being worked on";
        assert!(status.stdout.contains(question), "{}", status.stdout);
        assert!(world.read("specs/demo/tasks.md").contains("- [ ] 1.1"));
    }
}

#[test]
fn a_claim_counts_once_and_only_in_the_last_message() {
    for (api, run) in HOSTS {
        let world = project(GROUP);
        let model = OtherModel::start(api, |told| match (told, works(told)) {
            // Claims at once, then works honestly.
            (Told::Text(text), _) if text.contains("Work on the spec") => {
                Answer::Run("specum implement; echo claim".into())
            }
            (Told::Output(text), _) if text.contains("claim") => {
                Answer::Say("ALL_TASKS_COMPLETE".into())
            }
            (_, answer) => answer,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        is_worked(&world, &model, 5, &outcome.tail());
        let told = model.told();
        let is_accused =
            |told: &&Told| matches!(told, Told::Text(text) if text.contains("Not finished"));
        assert_eq!(told.iter().filter(is_accused).count(), 1, "{told:#?}");
    }
}

#[test]
fn switching_to_another_spec_changes_nothing_for_the_loop() {
    for (api, run) in HOSTS {
        let world = project(GROUP);
        world.write("specs/other/tasks.md", "- [ ] 9.9 Other\n");
        world.git(&["add", "-A"]);
        world.git(&["commit", "--quiet", "-m", "another"]);
        let model = OtherModel::start(api, |told| match works(told) {
            Answer::Run(command) if command.contains("done-1.2") => {
                Answer::Run(format!("{command}; specum switch other"))
            }
            other => other,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        is_worked(&world, &model, 5, &outcome.tail());
        assert!(world.read("specs/other/tasks.md").contains("- [ ] 9.9"));
    }
}

#[test]
fn a_loop_that_is_cancelled_meanwhile_is_said_to_be() {
    for (api, run) in HOSTS {
        let world = project(GROUP);
        let model = OtherModel::start(api, |told| match works(told) {
            Answer::Run(command) if command.contains("done-1.2") => {
                // As from another terminal: without the marks of this session.
                let clean = "env -i PATH=\"$PATH\" HOME=\"$HOME\"";
                Answer::Run(format!("{command}; {clean} specum cancel"))
            }
            other => other,
        });
        let Some(outcome) = run(&world, &model, "Work on the spec demo.") else { continue };
        assert!(outcome.succeeded(), "{}", outcome.tail());
        assert_eq!(passed(&world), 1, "1.1 alone: {:#?}", model.told());
        assert!(!world.path("specs/demo/.ralph-state.json").exists());
    }
}

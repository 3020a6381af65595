//! Faults that show in a session or around a commit.

use std::collections::HashSet;

use crate::host::{self, ClaudeRun};
use crate::model::{Model, Reply};
use crate::world::{PROGRESS, TASKS, World};

#[test]
fn fault_22_cancel_removed_the_folder_and_cleared_the_marker_of_another_spec() {
    let world = World::started("- [ ] 1.1 a\n");
    world.write("specs/other one/tasks.md", "- [ ] 1.1 b\n");
    world.specum(&["switch", "other one"]).exits(0);
    world.specum(&["cancel", "test-spec"]).exits(0);
    assert!(world.path("specs/test-spec/tasks.md").exists() && world.path(PROGRESS).exists());
    assert_eq!(world.read("specs/.current-spec"), "other one\n");
    world.specum(&["cancel", "test-spec", "--remove"]).exits(0);
    assert_eq!(world.read("specs/.current-spec"), "other one\n");
    assert!(world.path("specs/other one/tasks.md").exists());
    let trash = std::fs::read_dir(world.path("specs/.specum-trash")).unwrap();
    let kept: Vec<_> = trash.map(|entry| entry.unwrap().path().join("tasks.md")).collect();
    assert!(kept.len() == 1 && kept[0].exists(), "{kept:?}");
}

#[test]
fn fault_28_an_ignored_progress_file_made_git_add_fail() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.write(".gitignore", ".progress.md\n");
    world.git_init();
    world.specum(&["implement"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    let committed = world.git(&["show", "--name-only", "--format="]);
    assert!(committed.contains(TASKS) && !committed.contains(PROGRESS), "{committed}");
}

#[test]
fn fault_29_several_agents_wrote_to_one_temporary_file() {
    let world = World::started("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n- [ ] 1.3 [P] c\n");
    let due = world.specum(&["next", "--json"]).json();
    let notes: HashSet<String> = due["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            let brief = task["brief"].as_str().unwrap();
            let (_, name) = brief.split_once(".progress-task-").expect("it names its notes");
            name.split('.').next().unwrap().to_owned()
        })
        .collect();
    assert_eq!(notes, HashSet::from(["0".into(), "1".into(), "2".into()]));
}

#[test]
fn fault_36_a_command_that_never_reached_the_model_looked_like_success() {
    for program in host::claudes() {
        let world = World::with_tasks("- [ ] 1.1 a\n");
        world.git_init();
        let before = world.read("specs/test-spec/.ralph-state.json");
        let model = Model::start(|_| Reply::text("The model was called."));
        let outcome =
            ClaudeRun::new(&program, &model.url(), &world.root, "/ralph-specum:implement nope")
                .with_specum()
                .run();
        let result = outcome.result();
        // This is how the host reports it, and why its word is not enough.
        assert_eq!((&result["subtype"], &result["is_error"]), (&"success".into(), &false.into()));
        assert_eq!((&result["num_turns"], model.requests().len()), (&0.into(), 0));
        assert!(result["result"].as_str().unwrap().contains("there is no spec `nope`"));
        assert_eq!(world.read("specs/test-spec/.ralph-state.json"), before, "no loop was started");
    }
}

#[test]
fn fault_38_arguments_were_pasted_into_a_shell_block() {
    let commands: Vec<_> =
        specum::plugin::FILES.iter().filter(|(path, _)| path.contains("/commands/")).collect();
    assert_eq!(commands.len(), 23);
    for (path, text) in commands {
        for placeholder in ["$ARGUMENTS", "$0", "$1", "${"] {
            assert!(!text.contains(placeholder), "{path}: {placeholder}");
        }
    }
}

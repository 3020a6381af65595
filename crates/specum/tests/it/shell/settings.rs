use crate::run::{planned, works};

#[test]
fn the_settings_of_a_team_hold_and_a_persons_stand_on_top() {
    let world = planned("- [ ] 1.1 a\n");
    world.write("specum.yaml", "max_task_iterations: 2\nmax_global_iterations: 30\n");
    world.write(".claude/ralph-specum.local.md", "---\nmax_task_iterations: 3\n---\nnotes\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
    works(&world, "echo TASK_FAILED\n", &[]).exits(6);
    let state = world.read_state();
    assert_eq!(
        (&state["maxTaskIterations"], &state["maxGlobalIterations"]),
        (&3.into(), &30.into())
    );
}

#[test]
fn all_mistakes_of_both_files_are_named_at_once() {
    let world = planned("- [ ] 1.1 a\n");
    world.write("specum.yaml", "max_paralel: 3\nbell: loud\n");
    world.write(".claude/ralph-specum.local.md", "max_parallel: 3\n");
    for args in [["status"], ["run"], ["doctor"]] {
        let call = world.specum(&args);
        let said = format!("{}{}", call.stdout, call.stderr);
        for part in [
            "specum.yaml:1: unknown key `max_paralel`; did you mean `max_parallel`?",
            "specum.yaml:2: `bell` must be true or false",
            ".claude/ralph-specum.local.md:1: there are no settings here",
        ] {
            assert!(call.code != Some(0) && said.contains(part), "{args:?} {part}: {said}");
        }
    }
    let alone = world.specum(&[]);
    assert!(alone.exits(0).stdout.contains("fix specum.yaml:2"), "{}", alone.stdout);
}

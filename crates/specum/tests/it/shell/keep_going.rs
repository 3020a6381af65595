use crate::run::{agent, committed, planned, run_with};

/// Does its task, unless it is one that fails.
const FAILS_1_1_AND_1_5: &str = "case $id in 1.1|1.5) echo 'TASK_FAILED';; *) echo $id > \
                                 $id.txt; echo TASK_COMPLETE;; esac\n";
const PLAN: &str = "- [ ] 1.1 a\n  - **Files**: a.rs\n- [ ] 1.2 b\n  - **Files**: a.rs\n\
                    - [ ] 1.3 c\n- [ ] 1.4 d (depends on 1.2)\n## Group\n- [ ] 1.5 [P] e\n\
                    - [ ] 1.6 [P] f\n- [ ] 1.7 g\n";

#[test]
fn a_run_that_keeps_going_works_what_does_not_need_a_blocked_task_and_names_it_at_the_end() {
    let world = planned(PLAN);
    let agent = agent(&world, FAILS_1_1_AND_1_5);
    let run = run_with(&world, &agent, &["--keep-going", "--attempts", "1"]);
    let said = &run.exits(6).stdout;
    for part in ["task 1.1 failed once (", "task 1.5 failed once (", "1.2, 1.4 need it"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let mut done = committed(&world);
    done.sort();
    assert_eq!(done, ["1.3", "1.6", "1.7"]);
    assert!(world.read_state()["blocked"].as_str().unwrap().contains("1.1"));
    // The same command again pays nobody.
    run_with(&world, "exit 9", &["--keep-going"]).exits(6);
    assert_eq!(world.count("failed"), 2);
    // A person looks at it, and the next run does the rest.
    world.person(&["resume"]);
    let agent = crate::run::agent(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n");
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!(committed(&world).len(), 7);
}

#[test]
fn without_it_the_first_blocked_task_ends_the_run() {
    let world = planned(PLAN);
    let agent = agent(&world, FAILS_1_1_AND_1_5);
    run_with(&world, &agent, &["--attempts", "1"]).exits(6);
    assert_eq!(committed(&world), [""; 0]);
}

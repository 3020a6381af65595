//! Taking a task's work out again, by `specum undo` and by `git revert`.

use super::{agent, planned, run_with};
use crate::world::{PROGRESS, TASKS, World};

const PLAN: &str = "- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n";
/// Each task has a file of its own, and 1.2 and 1.3 share one.
const WORKS: &str = "echo x > $id.txt; test $id = 1.1 || echo $id >> shared.txt\n\
                     printf '\\n- learned by %s\\n' $id >> specs/test-spec/.progress.md\n\
                     echo TASK_COMPLETE\n";

fn worked(plan: &str) -> World {
    let world = planned(plan);
    let agent = agent(&world, WORKS);
    run_with(&world, &agent, &[]).exits(0);
    world
}

fn commits(world: &World) -> usize {
    world.git(&["rev-list", "--count", "HEAD"]).trim().parse().unwrap()
}

#[test]
fn undo_reverts_the_files_of_a_task_and_opens_its_box_by_one_new_commit() {
    let world = worked(PLAN);
    let (before, progress) = (commits(&world), world.read(PROGRESS));
    let said = world.person(&["undo", "1.1"]);
    assert!(said.contains("1.1 is undone: 1 file is as before"), "{said}");
    assert_eq!(commits(&world), before + 1);
    assert!(!world.path("1.1.txt").exists());
    assert_eq!(world.read(TASKS), PLAN.replace("[ ] 1.2", "[x] 1.2").replace("[ ] 1.3", "[x] 1.3"));
    assert_eq!(world.git(&["show", "HEAD:specs/test-spec/tasks.md"]), world.read(TASKS));
    assert_eq!(world.read(PROGRESS), progress, "notes are not taken back");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    let again = agent(&world, WORKS);
    run_with(&world, &again, &[]).exits(0);
    assert_eq!(world.read(TASKS), PLAN.replace("[ ]", "[x]"), "it is worked on again");
}

#[test]
fn what_later_work_stands_on_is_not_undone_and_the_refusal_names_files_and_tasks() {
    let world = worked(PLAN);
    let before = (commits(&world), world.read(TASKS));
    let (shown, code) = world.person_gets(&["undo", "1.2"]);
    assert!(
        code == Some(3) && shown.contains("1.3 changed the same lines of shared.txt"),
        "{shown}"
    );
    assert_eq!((commits(&world), world.read(TASKS)), before);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    world.person(&["undo", "1.3"]);
    world.person(&["undo", "1.2"]);
    assert!(!world.path("shared.txt").exists());
}

#[test]
fn what_a_person_has_changed_and_not_committed_is_not_undone() {
    let world = worked(PLAN);
    world.write("1.1.txt", "mine\n");
    let (shown, code) = world.person_gets(&["undo", "1.1"]);
    assert!(code == Some(3) && shown.contains("1.1.txt has changes"), "{shown}");
    assert_eq!(world.read("1.1.txt"), "mine\n");
    assert_eq!(world.read(TASKS), PLAN.replace("[ ]", "[x]"));
}

#[test]
fn what_git_ignores_is_not_overwritten_by_an_undo() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    world.write("local.env", "sample\n");
    world.write("build/x", "x\n");
    world.git_init();
    let drops = "git rm -rq local.env build; printf '*.env\\nbuild\\n' > .gitignore\n\
                 echo TASK_COMPLETE\n";
    run_with(&world, &agent(&world, drops), &[]).exits(0);
    let before = (commits(&world), world.read(TASKS));
    for path in ["local.env", "build"] {
        world.write(path, "precious\n");
        let (shown, code) = world.person_gets(&["undo", "1.1"]);
        assert_eq!(world.read(path), "precious\n");
        assert!(
            code == Some(3) && shown.contains("does not track") && shown.contains(path),
            "{shown}"
        );
        assert_eq!((commits(&world), world.read(TASKS)), before);
        std::fs::remove_file(world.path(path)).unwrap();
    }
    world.person(&["undo", "1.1"]);
    assert_eq!((world.read("local.env"), world.read("build/x")), ("sample\n".into(), "x\n".into()));
}

#[test]
fn an_undo_said_twice_tells_which_commit_it_looked_for() {
    let world = worked("- [ ] 1.1 a\n");
    world.person(&["undo", "1.1"]);
    let said = world.person(&["undo", "1.1"]);
    let commit = world.git(&["log", "-1", "--format=%H", "--grep=^Task: 1.1$"]);
    let says = format!("nothing of its newest commit, {}, was left", &commit[..7]);
    assert!(said.contains(&says), "{said}");
}

#[test]
fn undo_while_a_loop_is_under_way_is_on_record() {
    let world = planned(PLAN);
    run_with(&world, &agent(&world, WORKS), &["--only", "1.1"]).exits(0);
    assert_eq!(world.read(TASKS), PLAN.replace("[ ] 1.1", "[x] 1.1"));
    world.person(&["undo", "1.1"]);
    assert_eq!(world.read(TASKS), PLAN);
    let undone = &world.journal("undone")[0];
    assert_eq!((&undone["by"], &undone["task"]["id"]), (&"person".into(), &"1.1".into()));
    let progress = world.git(&["show", "HEAD:specs/test-spec/.progress.md"]);
    assert!(progress.contains("- 1.1 a (undone by you)"), "{progress}");
    let again = agent(&world, WORKS);
    run_with(&world, &again, &[]).exits(0);
    assert_eq!(world.read(TASKS), PLAN.replace("[ ]", "[x]"));
}

#[test]
fn undo_is_refused_where_there_is_nothing_to_undo() {
    let world = planned(PLAN);
    for (task, says) in [("1.1", "no commit of 1.1 is on record"), ("7.7", "7.7")] {
        let (shown, code) = world.person_gets(&["undo", task]);
        assert!(code == Some(3) && shown.contains(says), "{shown}");
    }
}

#[test]
fn each_task_of_a_finished_run_of_twelve_can_be_reverted_alone() {
    let plan: String =
        (1..=12).map(|n| format!("- [ ] 1.{n} task {n}\n  - **Do**: make 1.{n}.txt\n\n")).collect();
    let world = planned(&plan);
    let agent = agent(
        &world,
        "echo x > $id.txt; printf '\\n- learned by %s\\n' $id >> specs/test-spec/.progress.md\n\
         echo TASK_COMPLETE\n",
    );
    run_with(&world, &agent, &[]).exits(0);
    let of = |n: usize| world.git(&["log", "-1", "--format=%H", &format!("--grep=^Task: 1.{n}$")]);
    let commits: Vec<String> = (1..=12).map(|n| of(n).trim().to_owned()).collect();
    for (n, commit) in (1..).zip(&commits) {
        world.git(&["revert", "--no-edit", commit]);
        assert!(!world.path(&format!("1.{n}.txt")).exists());
        assert!(world.read(TASKS).contains(&format!("- [ ] 1.{n} ")));
        assert!(world.read(PROGRESS).starts_with("# Notes\n"), "what a person wrote is untouched");
        world.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    }
}

#[test]
fn an_undo_that_is_killed_at_any_step_is_completed_by_the_same_command() {
    // Every step would take long, and the places that matter are several steps wide.
    for step in (1..).step_by(5) {
        let world = worked(PLAN);
        let before = commits(&world);
        world.write("mine.txt", "mine\n");
        let point = step.to_string();
        let (shown, code) =
            world.at_a_terminal(&["undo", "1.1"], &[("SPECUM_DIE_AT", point.as_str())]);
        if code == Some(0) {
            assert!(step > 50, "only {step} steps: {shown}");
            return;
        }
        let (shown, code) = world.person_gets(&["undo", "1.1"]);
        // Of one that was killed behind its commit nothing is left to be taken out.
        assert!(code == Some(0) || commits(&world) > before, "killed at step {step}: {shown}");
        assert_eq!(commits(&world), before + 1, "killed at step {step}");
        assert!(!world.path("1.1.txt").exists() && world.read(TASKS).starts_with("- [ ] 1.1 a\n"));
        let left = world.git(&["status", "--porcelain"]);
        assert_eq!(left, "?? mine.txt\n", "killed at step {step}");
    }
}

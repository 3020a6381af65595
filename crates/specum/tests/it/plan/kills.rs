//! A plan that is killed at each of its fail points goes on by the same command.

use super::*;

#[test]
fn a_plan_that_is_killed_anywhere_goes_on_and_ends_in_the_same_documents() {
    let undisturbed = small_project();
    plan(&undisturbed, &["--small", "--quick", "--no-red", GOAL]).exits(0);
    let wanted = read(&undisturbed, "tasks.md");
    let mut kills = 0;
    for step in (1..).step_by(3) {
        let world = small_project();
        let mut command = plan_command(&world, &["--small", "--quick", "--no-red", GOAL]);
        command.env("SPECUM_DIE_AT", step.to_string());
        if call(command, b"").code == Some(0) {
            break;
        }
        kills += 1;
        plan(&world, &["--small", "--quick", "--no-red", GOAL]).exits(0);
        assert_eq!(read(&world, "tasks.md"), wanted, "killed at step {step}");
        assert_eq!(status(&world, "tasks"), "approved", "killed at step {step}");
        assert_eq!(world.git(&["status", "--porcelain"]), "", "killed at step {step}");
        let added = subjects(&world).iter().filter(|one| one.starts_with("spec(")).count();
        assert_eq!(added, 1, "killed at step {step}");
    }
    assert!(kills > 5, "only {kills} kills");
}

//! A run at a person's terminal: nothing that it starts can wait there for an
//! answer, and Ctrl-C reaches everything all the same.

use std::process::Command;

use super::{Listener, agent, command_run, committed, nothing_is_left, planned, run_with};
use crate::terminal::{CTRL_C, Terminal};
use crate::world::{lives, skipped};

const ONE: &str = "- [ ] 1.1 a\n";
const DONE: &str = "echo whole > $id.txt; echo TASK_COMPLETE\n";

/// A command in a session of its own, whose terminal this is: everything that it
/// starts can open `/dev/tty`, unless somebody takes care.
fn at_a_terminal(command: &Command) -> Terminal {
    Terminal::start(in_a_session(command))
}

/// A command that leads a session whose terminal is the one it is started on.
pub(super) fn in_a_session(command: &Command) -> Command {
    let mut session = Command::new("setsid");
    session.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
    session.env_clear();
    session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    session.current_dir(command.get_current_dir().expect("a world has a root"));
    session
}

#[test]
fn finding_36_a_check_that_asks_at_the_terminal_fails_at_once() {
    let world = planned("- [ ] 1.1 a\n  - **Verify**: `read x < /dev/tty`\n");
    let agent = agent(&world, DONE);
    let mut run = at_a_terminal(&command_run(&world, &agent, &["--max-task-iterations", "1"]));
    assert_eq!(run.ended().code(), Some(6));
    assert_eq!(world.count("failed"), 1);
}

#[test]
fn finding_36_an_agent_that_asks_at_the_terminal_goes_on_without_an_answer() {
    let world = planned(ONE);
    let asks = "(read x < /dev/tty) && exit 9; test -z \"$GPG_TTY\" || exit 8\n";
    let agent = agent(&world, &format!("{asks}{DONE}"));
    let mut command = command_run(&world, &agent, &[]);
    command.env("GPG_TTY", "/dev/pts/0");
    let mut run = at_a_terminal(&command);
    assert_eq!(run.ended().code(), Some(0));
    assert_eq!((committed(&world), world.count("failed")), (vec!["1.1".to_owned()], 0));
}

#[test]
fn finding_36_a_command_can_be_given_a_terminal_in_which_nobody_types() {
    if !Command::new("script").arg("--version").output().is_ok_and(|tried| tried.status.success()) {
        return skipped("there is no script(1) here", "SPECUM_NEEDS", "all");
    }
    let world = planned(ONE);
    let agent = agent(&world, &format!("test -t 1 && : < /dev/tty || exit 9\n{DONE}"));
    // As docs/run.md shows it.
    let agent = format!("script -qec '{agent}' /dev/null");
    run_with(&world, &agent, &[]).exits(0);
    assert_eq!((committed(&world), world.count("failed")), (vec!["1.1".to_owned()], 0));
}

#[test]
fn finding_36_a_hook_of_git_that_asks_at_the_terminal_refuses_at_once() {
    let world = planned(ONE);
    let agent = agent(&world, DONE);
    world.git_hook("pre-commit", "exec < /dev/tty; read x\n");
    let mut run = at_a_terminal(&command_run(&world, &agent, &["--max-task-iterations", "1"]));
    assert_eq!(run.ended().code(), Some(6));
    assert_eq!(committed(&world), [""; 0]);
}

#[test]
fn finding_36_a_setup_that_asks_at_the_terminal_fails_at_once() {
    let world = planned("- [ ] 1.1 [P] a\n- [ ] 1.2 [P] b\n");
    world.write(".claude/ralph-specum.local.md", "---\nworktree_setup: 'read x < /dev/tty'\n---\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "settings"]);
    let agent = agent(&world, DONE);
    let mut run = at_a_terminal(&command_run(&world, &agent, &[]));
    assert_eq!(run.ended().code(), Some(1));
    nothing_is_left(&world);
}

#[test]
fn finding_36_ctrl_c_at_the_terminal_still_ends_everything() {
    let world = planned(ONE);
    let agent = agent(&world, "echo $$ > $HOME/line; sleep infinity\n");
    let mut line = Listener::new(&world, "line");
    let mut run = at_a_terminal(&command_run(&world, &agent, &[]));
    let pid = line.line();
    run.press(CTRL_C);
    assert_eq!(run.ended().code(), Some(130));
    assert!(!lives(&pid));
    nothing_is_left(&world);
}

//! What a person types into the live view does no harm: it stays whole, the shell behind it
//! gets nothing of it, and the terminal is afterwards what it was.

use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::terminals::in_a_session;
use super::{Listener, agent, command_run, committed, nothing_is_left, planned};
use crate::terminal::{CTRL_C, CTRL_Z, ENTER, Terminal};
use crate::world::{World, fifo, gate, on_a_terminal};

const HELP: &str = "Ctrl-C stops · `specum pause` waits";

/// A plan of one task whose agent says when it works, and ends when `$HOME/gate` is opened.
fn waiting_agent(world: &World) -> String {
    fifo(&world.home().join("gate"));
    agent(
        world,
        "echo $$ > $HOME/line; read x < $HOME/gate; echo whole > $id.txt; echo TASK_COMPLETE\n",
    )
}

/// A shell with job control in the project, with a prompt that nothing else prints.
fn shell(run: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "--noediting", "-i"]);
    shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PS1", "ready> ").env_remove("BASH_ENV");
    shell.current_dir(run.get_current_dir().expect("a world has a root"));
    in_a_session(&shell)
}

/// What a person types to start a command.
fn typed(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_str().expect("text")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// 200 keys, the same each time: letters, signs, arrows, ends of lines, and no Ctrl.
fn keys() -> String {
    let mut seed: u64 = 0x5eed;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).expect("31 bits")
    };
    let some = ["p", "q", "?", "Z", "5", " ", "\t", "ü", "[", "\x7f", ENTER, "\x1b[A", "\x1b[5~"];
    (0..200).map(|_| some[next() % some.len()]).collect()
}

fn spinners(screen: &str) -> usize {
    screen.chars().filter(|c| ('\u{2800}'..='\u{28ff}').contains(c)).count()
}

#[test]
fn two_hundred_keys_leave_a_whole_view_and_an_empty_shell_line() {
    let world = planned("- [ ] 1.1 a\n");
    let agent = waiting_agent(&world);
    let run = command_run(&world, &agent, &[]);
    let mut line = Listener::new(&world, "line");
    let mut terminal = Terminal::of_size(shell(&run), 60, 100);
    terminal.shows("ready>");
    terminal.press(&format!("{}{ENTER}", typed(&run)));
    line.line();
    terminal.until("a spinner", |screen| spinners(screen) == 1);
    assert!(!terminal.shows_keys(), "the view shows no keys");
    terminal.press(&keys());
    let screen = terminal.shows(HELP);
    assert!(screen.contains("specum log 1.1 -f"), "{screen}");
    assert_eq!(spinners(&screen), 1, "one row that moves:\n{screen}");
    // What was typed last has arrived.
    terminal.press("x");
    gate(&world.home().join("gate"));
    let end = |screen: &str| screen.matches("ready>").count() == 2;
    let screen = terminal.until("a second prompt", end);
    assert!(screen.ends_with("ready>"), "the shell's line is empty:\n{screen}");
    assert_eq!(spinners(&screen), 0, "nothing of the view is left:\n{screen}");
    assert!(terminal.shows_keys(), "the terminal is what it was");
    // Nothing waits to be read either.
    terminal.press(&format!("echo $((6*7)){ENTER}"));
    let screen = terminal.until("an answer", |screen| screen.contains("42"));
    assert!(screen.contains("ready> echo $((6*7))\n42"), "{screen}");
    assert_eq!(committed(&world), ["1.1"]);
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    let world = planned("- [ ] 1.1 a\n");
    let agent = waiting_agent(&world);
    let run = command_run(&world, &agent, &[]);
    let mut line = Listener::new(&world, "line");
    let mut terminal = Terminal::of_size(shell(&run), 60, 100);
    terminal.shows("ready>");
    terminal.press(&format!("{}{ENTER}", typed(&run)));
    line.line();
    terminal.until("a spinner", |screen| spinners(screen) == 1);
    terminal.press(CTRL_Z);
    terminal.until("a second prompt", |screen| screen.matches("ready>").count() == 2);
    assert!(terminal.shows_keys(), "a stopped run holds no terminal");
    terminal.press(&format!("fg{ENTER}"));
    // The explanation comes only of a key that the run has got, and it shows none.
    terminal.press_until("k", HELP);
    assert!(!terminal.shows_keys());
    terminal.press(CTRL_C);
    terminal.until("a third prompt", |screen| screen.matches("ready>").count() == 3);
    assert!(terminal.shows_keys(), "Ctrl-C gives the terminal back");
    terminal.press(&format!("echo code $?{ENTER}"));
    terminal.shows("code 130");
    terminal.press(&format!("exit{ENTER}"));
    terminal.ended();
    nothing_is_left(&world);
}

#[test]
fn the_terminal_is_what_it_was_after_every_signal_that_ends_a_run() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)] {
        let world = planned("- [ ] 1.1 a\n");
        let agent = waiting_agent(&world);
        let run = command_run(&world, &agent, &[]);
        let (mut line, mut pid) = (Listener::new(&world, "line"), Listener::new(&world, "pid"));
        let mut terminal = Terminal::of_size(shell(&run), 60, 100);
        terminal.shows("ready>");
        let named = "sh -c 'echo $$ > $HOME/pid; exec \"$@\"' run";
        terminal.press(&format!("{named} {}{ENTER}", typed(&run)));
        line.line();
        terminal.until("a spinner", |screen| spinners(screen) == 1);
        assert!(!terminal.shows_keys());
        let pid = pid.line().parse().expect("a number");
        kill_process(Pid::from_raw(pid).expect("a process"), signal).unwrap();
        terminal.until("a second prompt", |screen| screen.matches("ready>").count() == 2);
        assert!(terminal.shows_keys(), "{signal:?}");
        terminal.press(&format!("echo code $?{ENTER}"));
        terminal.shows(&format!("code {code}"));
        terminal.press(&format!("exit{ENTER}"));
        terminal.ended();
        nothing_is_left(&world);
    }
}

#[test]
fn a_view_of_twenty_columns_and_one_that_is_made_wider_stay_whole() {
    let world = planned("- [ ] 1.1 a task with quite a long title\n");
    let agent = waiting_agent(&world);
    let run = command_run(&world, &agent, &[]);
    let mut line = Listener::new(&world, "line");
    let mut terminal = Terminal::of_size(in_a_session(&run), 30, 20);
    line.line();
    terminal.until("a spinner", |screen| spinners(screen) == 1);
    terminal.press("k");
    let screen = terminal.shows("Ctrl-C stops");
    assert_eq!(spinners(&screen), 1, "{screen}");
    terminal.resize(30, 100);
    let screen = terminal.shows(HELP);
    assert_eq!(spinners(&screen), 1, "{screen}");
    gate(&world.home().join("gate"));
    assert_eq!(terminal.ended().code(), Some(0));
    assert_eq!(spinners(&terminal.screen()), 0, "{terminal:?}");
}

#[test]
fn the_end_of_a_long_run_rings_and_stands_in_the_title_of_the_terminal_unless_the_settings_say_no()
{
    let call = "\x07\x1b]2;test-spec: complete\x07";
    for (settings, long, rings) in [("", "0", true), ("bell: false\n", "0", false), ("", "", false)]
    {
        let world = planned("- [ ] 1.1 a\n");
        world.write("specum.yaml", format!("{settings}max_parallel: 2\n"));
        world.commit_all();
        let agent = agent(&world, "echo whole > $id.txt; echo TASK_COMPLETE\n");
        let mut run = command_run(&world, &agent, &[]);
        run.env("SPECUM_LONG_RUN", long);
        let shown = on_a_terminal(run);
        assert_eq!(shown.contains(call), rings, "{settings}{long}: {shown:?}");
        assert_eq!(shown.contains('\x07'), rings, "{settings}{long}: {shown:?}");
    }
}

#[test]
fn a_run_in_the_background_leaves_the_terminal_to_the_shell() {
    let world = planned("- [ ] 1.1 a\n");
    let agent = waiting_agent(&world);
    let run = command_run(&world, &agent, &[]);
    let mut line = Listener::new(&world, "line");
    let mut terminal = Terminal::of_size(shell(&run), 60, 100);
    terminal.shows("ready>");
    terminal.press(&format!("{} &{ENTER}", typed(&run)));
    line.line();
    terminal.until("a spinner", |screen| spinners(screen) >= 1);
    assert!(terminal.shows_keys());
    gate(&world.home().join("gate"));
    terminal.press_until(ENTER, "Done");
    assert_eq!(committed(&world), ["1.1"]);
}

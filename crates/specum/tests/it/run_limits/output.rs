//! Whatever an agent prints, the run goes on, the log has its beginning and its
//! end, and specum stays small.

use super::speech::claude;
use super::{Stage, wants};
use crate::world::{JOURNAL, TASKS, on_a_terminal};

/// The most memory a run may ever use, in kilobytes.
const MOST_MEMORY: u64 = 50 * 1024;
const MEGABYTE: usize = 1024 * 1024;

fn one() -> Stage {
    Stage::new(wants("1.1", "a.txt"))
}

/// How much an agent has printed, by a log in which only beginning and end are.
#[track_caller]
fn printed(log: &[u8]) -> usize {
    assert!(log.len() < 50 * MEGABYTE, "{} bytes of log", log.len());
    let text = String::from_utf8_lossy(log);
    let (_, rest) = text.split_once("\n[specum: ").expect("it says that something is missing");
    let (missing, _) = rest.split_once(" bytes are left out here]\n").expect("and how much");
    log.len() + missing.trim().parse::<usize>().expect("a number")
}

/// An agent that prints something, does its work, and looks at specum's memory.
fn after(prints: &str) -> String {
    format!("{prints}\nsh touch a.txt\nmeasure\n{}", claude::complete(5, 0.1))
}

fn peak(stage: &Stage, agent: &str) -> u64 {
    String::from_utf8(stage.left(agent, 1, "memory")).unwrap().trim().parse().unwrap()
}

#[test]
fn fault_31_one_byte_that_is_no_text_ended_the_run() {
    let stage = one();
    // A broken character, a colour, a title, a NUL, a bell, and half an event.
    let bytes = b"\xff\xfe\x1b[31mred\x1b]0;title\x07\0\0\x07\n{\"type\":\"assis\xc3\n";
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    stage.agent("claude", after(&format!("bytes {digits}")));
    let told = stage.run(&[]);
    told.ends(0, "complete");
    assert_eq!(told.failures(), []);
    let log = stage.logs().remove("1.1-1.log").unwrap();
    let last = claude::complete(5, 0.1);
    let expected = [bytes, last.strip_prefix("say ").unwrap().as_bytes()].concat();
    assert!(log == expected, "{}", String::from_utf8_lossy(&log));
}

#[test]
fn a_log_has_the_last_byte_even_if_no_line_ends_there() {
    let stage = one();
    stage.agent("plain", "sh touch a.txt\nsay TASK_COMPLETE\nbytes 656e64ff00");
    stage.run(&["--agent-command", "plain"]).ends(0, "complete");
    assert_eq!(stage.logs()["1.1-1.log"], b"TASK_COMPLETE\nend\xff\0");
}

#[test]
fn what_a_terminal_would_obey_does_not_reach_it() {
    let digits: String =
        b"\x1b[2J\x1b]0;owned\x07TASK\x1b[0m\n".iter().map(|byte| format!("{byte:02x}")).collect();
    let stage = || {
        let stage = one();
        stage.agent("plain", format!("bytes {digits}\nsh touch a.txt\nsay TASK_COMPLETE"));
        stage
    };
    let agent = ["--agent-command", "plain"];
    let json = stage().run(&agent);
    json.ends(0, "complete");
    let plain = stage().specum(&[&["run"], &agent[..]].concat());
    assert!(json.call.stdout.contains("TASK"), "{}", json.call.stdout);
    for shown in [&json.call.stdout, &plain.exits(0).stdout] {
        assert!(!shown.contains(['\x1b', '\x07']), "{shown:?}");
    }
    // There, specum itself moves the cursor.
    let live = on_a_terminal(stage().command(&[&["run"], &agent[..]].concat()));
    assert!(live.contains("\x1b[") && live.contains("1.1"), "{live:?}");
    assert!(!live.contains("\x1b[2J") && !live.contains("\x1b]") && !live.contains('\x07'));
}

#[test]
fn finding_49_of_a_line_of_100_megabytes_the_log_keeps_beginning_and_end() {
    let stage = one();
    stage.agent("claude", after("flood 100 0"));
    stage.run(&[]).ends(0, "complete");
    let log = stage.logs().remove("1.1-1.log").unwrap();
    assert!(printed(&log) > 100 * MEGABYTE);
    assert!(log.starts_with(b"xxx") && log.ends_with(b"}\n"));
    assert!(peak(&stage, "claude") < MOST_MEMORY, "{} kB", peak(&stage, "claude"));
}

#[test]
fn long_lines_in_a_row_are_not_kept_in_memory() {
    // As long as a line may be that is given to the parser.
    let stage = one();
    stage.agent("claude", after(&"flood 3 0\n".repeat(30)));
    stage.run(&[]).ends(0, "complete");
    assert!(peak(&stage, "claude") < MOST_MEMORY, "{} kB", peak(&stage, "claude"));
}

#[test]
fn fault_31_100_megabytes_of_output_were_held_in_memory() {
    let stage = one();
    stage.agent("claude", after("flood 100 128"));
    stage.run(&[]).ends(0, "complete");
    let log = stage.logs().remove("1.1-1.log").unwrap();
    assert!(printed(&log) > 100 * MEGABYTE);
    assert!(peak(&stage, "claude") < MOST_MEMORY, "{} kB", peak(&stage, "claude"));
}

#[test]
fn a_flood_that_is_shown_line_by_line_is_not_kept_in_memory() {
    let stage = one();
    stage.agent("chatty", "flood 20 1024\nsh touch a.txt\nmeasure\nsay TASK_COMPLETE");
    let call = stage.specum(&["run", "--agent-command", "chatty"]);
    call.exits(0);
    assert!(peak(&stage, "chatty") < MOST_MEMORY, "{} kB", peak(&stage, "chatty"));
}

#[test]
fn a_flood_on_standard_error_is_not_kept_in_memory() {
    let stage = one();
    stage.agent("claude", after("flood-error 100 80"));
    stage.run(&[]).ends(0, "complete");
    let log = stage.logs().remove("1.1-1.log").unwrap();
    assert!(printed(&log) > 100 * MEGABYTE);
    assert!(peak(&stage, "claude") < MOST_MEMORY, "{} kB", peak(&stage, "claude"));
}

#[test]
fn a_run_goes_on_although_nobody_reads_what_it_says() {
    let stage = one();
    stage.agent("claude", after("flood 1 80"));
    let mut command = stage.command(&["run", "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(stage.tasks().starts_with("- [x]"));
}

#[test]
fn finding_49_old_logs_and_copies_of_work_that_was_done_again_go_and_it_is_said() {
    let group = wants("1.1", "a.txt") + &wants("1.2", "b.txt");
    let stage = Stage::new(group.replace(" Write", " [P] Write"));
    stage.once("claude", 1, format!("sh touch half\n{}", claude::complete(5, 0.1)));
    stage.agent("claude", format!("sh touch a.txt b.txt\n{}", claude::complete(5, 0.1)));
    stage.run(&[]).ends(0, "complete");
    let references = || stage.world.git(&["for-each-ref", "--format=%(refname)", "refs/specum"]);
    let [kept] = stage.journal("kept").try_into().unwrap();
    let kept = kept["reference"].as_str().unwrap();
    let unknown = "refs/specum/test-spec/kept/9.9-1";
    stage.world.git(&["update-ref", unknown, "HEAD"]);
    assert_eq!((references().lines().count(), stage.logs().len()), (2, 3));

    // A hundred years later.
    let journal = stage.world.read(JOURNAL).replace("\"at\":\"20", "\"at\":\"19");
    stage.world.write(JOURNAL, journal);
    let logs = stage.world.home().join(".local/state/specum/logs");
    let script = "find \"$0\" -name '*.log' -exec touch -d '40 days ago' {} +";
    let mut touch = std::process::Command::new("sh");
    assert!(touch.args(["-c", script]).arg(logs).status().unwrap().success());
    stage.world.write(TASKS, wants("1.3", "c.txt"));
    stage.world.git(&["commit", "-qam", "more"]);
    stage.agent("claude", format!("sh touch c.txt\n{}", claude::complete(5, 0.1)));
    let told = stage.run(&[]);
    told.ends(0, "complete");
    let said: Vec<&str> =
        told.all("warning").iter().filter_map(|told| told["text"].as_str()).collect();
    let [of_reference, of_logs, of_journal] = said[..] else { panic!("{said:?}") };
    assert!(of_reference.starts_with(&format!("deleted {kept}, unfinished work at 1.")));
    assert_eq!(of_logs, "deleted 3 logs of agents, older than 30 days (keep_days)");
    assert_eq!(
        of_journal,
        "deleted all but verdicts, commits and proofs from 1 journal of earlier loops, older than \
         30 days (keep_days)"
    );
    let earlier = stage.world.read("specs/test-spec/.ralph-journal-1.jsonl");
    for (event, count) in [("opened", 0), ("passed", 2), ("failed", 1), ("committed", 2)] {
        assert_eq!(earlier.matches(&format!("\"event\":\"{event}\"")).count(), count, "{event}");
    }
    assert_eq!(references(), format!("{unknown}\n"), "nobody knows what it is");
    assert_eq!(stage.logs().into_keys().collect::<Vec<_>>(), ["1.3-1.log"]);
}

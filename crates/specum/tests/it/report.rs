//! `specum report`: a loop as a page, as Markdown and as JUnit, with the real binary and,
//! where there is one, in a real Chromium.

mod browser;
mod hostile;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use harness::run::{agent, at_work, planned, run, run_with, works};

use crate::world::{JOURNAL, World};

/// A loop with a failure, an unproved tick, a group, and a task that is left open.
const PLAN: &str = "# Plan: short links\n\n## Make it work\n\n\
    - [ ] 1.1 Keep links\n  - **Do**: a table\n    ```sh\n    echo kept > store.txt\n    ```\n  \
    - **Files**: store.txt\n  - **Done when**: a link is found again\n  - **Verify**: `grep -q kept store.txt`\n  \
    - **Commit**: `feat(store): keep links`\n\
    - [ ] 1.2 Turn numbers into codes\n  - **Do**: it\n    ```sh\n    if [ \"$SPECUM_ATTEMPT\" = 1 ]; then\n    \
    echo bad > code.txt\n    else\n    echo good > code.txt; echo x > other.txt\n    fi\n    ```\n  \
    - **Files**: code.txt\n  - **Verify**: `cat code.txt && grep -q good code.txt`\n\
    \n## What people ask for\n\n\
    - [ ] 2.1 [P] Count clicks\n  - **Do**: it\n    ```sh\n    echo a > a.py\n    ```\n  - **Files**: a.py\n  - **Verify**: `test -f a.py`\n\
    - [ ] 2.2 [P] Let links expire\n  - **Do**: it\n    ```sh\n    echo b > b.py\n    ```\n  - **Files**: b.py\n  - **Verify**: `test -f b.py`\n\
    - [ ] 2.3 Say what it is\n  - **Do**: it\n    ```sh\n    echo readme > README.md\n    ```\n  - **Files**: README.md\n  - **Verify**: it reads well\n";

/// That loop, worked to its end.
fn worked() -> World {
    let world = planned(PLAN);
    run(&world, &[]).exits(0);
    world
}

/// Where the page is that `specum report` writes.
fn page(world: &World) -> PathBuf {
    let printed = world.specum(&["report"]).exits(0).stdout.clone();
    PathBuf::from(printed.trim_end())
}

#[test]
fn a_report_is_a_private_file_whose_address_is_printed() {
    let world = worked();
    let before = world.snapshot();
    let file = page(&world);
    assert!(file.starts_with(world.home().join(".local/state/specum/reports")), "{file:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let html = fs::read_to_string(&file).unwrap();
    for part in [
        "All 5 tasks are done",
        "One needed more than one attempt",
        "one is ticked without proof",
        "Failed once.",
        "Nothing could be run to prove it.",
        "First attempt failed",
        "Second attempt passed",
        "feat(store): keep links",
        "+kept",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(page(&world), file, "the next one takes its place");
    assert_eq!(world.snapshot(), before, "nothing in the project has changed");
    let json = world.specum(&["report", "--json"]).exits(0).json();
    assert_eq!((json["spec"].as_str(), json["file"].as_str()), (Some("test-spec"), file.to_str()));
}

#[test]
fn the_form_follows_the_word_or_the_ending_of_the_file() {
    let world = worked();
    let markdown = world.specum(&["report", "--format", "md"]).exits(0).stdout.clone();
    assert!(
        markdown.starts_with("## test-spec: Complete\n\n**All 5 tasks are done**"),
        "{markdown}"
    );
    assert!(markdown.contains(", and **one is ticked without proof**."), "{markdown}");
    assert!(markdown.contains("| ✓ | 1.1 | Keep links | 1 |"), "{markdown}");
    let junit = world.specum(&["report", "--format", "junit"]).exits(0).stdout.clone();
    assert!(
        junit.contains("tests=\"5\" failures=\"0\"") && junit.contains("<flakyFailure"),
        "{junit}"
    );
    assert!(junit.contains("<testsuite name=\"Make it work\" tests=\"2\""), "{junit}");
    for (file, begin) in [("r.md", "## "), ("r.xml", "<?xml"), ("r.html", "<!DOCTYPE html>")] {
        world.specum(&["report", "-o", file]).exits(0);
        assert!(world.read(file).starts_with(begin), "{file}");
    }
    let html = world.specum(&["report", "-o", "-"]).exits(0).stdout.clone();
    assert!(html.starts_with("<!DOCTYPE html>"));
    assert!(world.specum(&["report", "--brief"]).exits(2).stderr.contains("--format md"));
}

#[test]
fn a_report_that_is_passed_on_has_neither_words_of_agents_nor_paths_of_this_machine() {
    let world = World::planned(
        "# Plan\n\n- [ ] 1.1 Say where\n  - **Do**: it\n    ```sh\n    echo \"I work in $PWD\"; exit 1\n    \
         ```\n  - **Verify**: `echo \"looked in $PWD and $HOME/x\"; false`\n",
    );
    run(&world, &["--max-task-iterations", "1"]).exits(6);
    let root = world.root.to_str().unwrap().to_owned();
    let html = |args: &[&str]| world.specum(&[&["report", "-o", "-"], args].concat()).stdout;
    let private = html(&[]);
    assert!(private.contains(&format!("I work in {root}")), "{private}");
    let shared = html(&["--share"]);
    assert!(!shared.contains("What the agent said") && !shared.contains(&root), "{shared}");
    assert!(!shared.contains(world.home().to_str().unwrap()), "{shared}");
    assert!(shared.contains("looked in . and ~/x"), "{shared}");
}

#[test]
fn a_run_writes_its_report_however_it_ends() {
    let world = planned(PLAN);
    let plain = agent(&world, "echo nothing");
    run_with(&world, &plain, &["--max-task-iterations", "1", "--report", "out.html"]).exits(6);
    let html = world.read("out.html");
    assert!(html.contains("Blocked") && html.contains("0 of 5 tasks are done"), "{html}");
    let world = planned(PLAN);
    run(&world, &["--report", "out.md"]).exits(0);
    assert!(world.read("out.md").contains("**All 5 tasks are done**"));
    run(&world, &["--allow-dirty", "--report", "out.xml"]).exits(0);
    assert!(world.read("out.xml").contains("failures=\"0\""), "also where nothing is left to do");
    let refused = run(&world, &["--allow-dirty", "--report", "no/such/folder/out.md"]);
    assert!(refused.exits(0).stderr.contains("the report is not written"), "{}", refused.stderr);
}

#[test]
fn a_run_whose_report_could_not_be_written_does_not_begin() {
    let world = planned(PLAN);
    let call = run(&world, &["--report", "no/such/folder/out.md"]);
    assert!(call.exits(2).stderr.contains("no file in a folder that there is"), "{}", call.stderr);
    assert_eq!(world.count("run-started"), 0);
}

#[test]
fn a_loop_that_is_being_worked_has_a_report_too() {
    let world = planned(PLAN);
    let mut listener = harness::run::Listener::new(&world, "said");
    let waits = agent(&world, "echo began > \"$HOME/said\"; sleep 600");
    let mut child = at_work(&world, &waits, &[]);
    assert_eq!(listener.line(), "began");
    let html = world.specum(&["report", "-o", "-"]).exits(0).stdout.clone();
    assert!(html.contains("Working") && html.contains("being worked on"), "{html}");
    harness::run::send(&child, rustix::process::Signal::TERM);
    child.wait().unwrap();
}

#[test]
fn whatever_has_become_of_the_journal_there_is_a_report() {
    let world = worked();
    let whole = world.read(JOURNAL);
    let html = || world.specum(&["report", "-o", "-"]).exits(0).stdout.clone();
    world.write(JOURNAL, &whole[..whole.len() - 40]);
    assert!(html().contains("Keep links"), "torn");
    world.write(JOURNAL, format!("{whole}{{\"v\":99,\"event\":\"dreamt\",\"at\":\"2030\"}}\n"));
    assert!(html().contains("Keep links"), "of a newer format");
    world.write(JOURNAL, "not a journal\n\0\n");
    assert!(html().contains("Not begun") && html().contains("Keep links"), "damaged");
    fs::remove_file(world.path(JOURNAL)).unwrap();
    assert!(html().contains("Keep links"), "gone");
}

#[test]
fn a_project_that_is_no_repository_has_a_report_too() {
    let world = World::empty();
    world.write(crate::world::TASKS, "# Plan\n\n- [ ] 1.1 Do it\n  - **Do**: it\n    ```sh\n    echo a > a\n    ```\n  - **Verify**: `test -f a`\n");
    run(&world, &[]).exits(0);
    let html = world.specum(&["report", "-o", "-"]).exits(0).stdout.clone();
    assert!(html.contains("nothing keeps its work: it is not committed"), "{html}");
}

#[test]
fn a_commit_that_is_gone_is_said_to_be() {
    let world = worked();
    world.git(&["checkout", "--quiet", "--orphan", "new"]);
    world.git(&["commit", "--quiet", "-m", "all of it anew"]);
    world.git(&["branch", "--quiet", "-D", "main"]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    let html = world.specum(&["report", "-o", "-"]).exits(0).stdout.clone();
    assert!(html.contains("The repository no longer has this commit"), "{html}");
}

#[test]
fn a_key_that_an_agent_has_printed_or_committed_is_blacked_out_in_every_form() {
    let key = format!("ghp_{}", "A1b2".repeat(9));
    let world = World::planned(
        "# Plan\n\n- [ ] 1.1 Do it\n  - **Do**: it\n  - **Files**: k\n  - **Verify**: `cat k; test -f done`\n",
    );
    let script = format!(
        "echo {key} > k; echo \"my key is {key}\"; [ $SPECUM_ATTEMPT = 1 ] || touch done; echo TASK_COMPLETE"
    );
    works(&world, &script, &[]).exits(0);
    for form in ["html", "md", "junit"] {
        let report = world.specum(&["report", "--format", form, "-o", "-"]).exits(0).stdout.clone();
        assert!(!report.contains(&key), "{form}");
        assert!(report.contains("ghp_█"), "{form}: {report}");
    }
}

#[test]
fn a_journal_of_a_hundred_megabytes_gives_a_page_within_its_bounds() {
    let world = worked();
    let warning = format!(
        "{{\"v\":2,\"at\":\"2026-01-01T00:00:00.000Z\",\"event\":\"warning\",\"text\":\"{}\"}}\n",
        "w".repeat(1_000)
    );
    let journal = world.read(JOURNAL) + &warning.repeat(100_000);
    assert!(journal.len() > 100 << 20);
    world.write(JOURNAL, journal);
    let file = page(&world);
    assert!(fs::metadata(&file).unwrap().len() < 25 << 20);
    let html = fs::read_to_string(&file).unwrap();
    assert!(html.contains("Keep links") && html.contains("what came before is left out here"));
}

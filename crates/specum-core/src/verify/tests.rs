use super::*;

fn evidence(result: &str) -> Evidence<'_> {
    Evidence {
        role: Role::Executor,
        result,
        check: ran(ProcessEnd::Code(0)),
        files: &[],
        changed: &[],
        proofs: &[],
        commit: CommitRun::Left(vec![]),
    }
}

fn ran(ended: ProcessEnd) -> CheckRun {
    CheckRun::Ran(vec![run("make", ended)])
}

fn run(command: &str, ended: ProcessEnd) -> CommandRun {
    CommandRun {
        time: CheckTime::new(Some(5_000)),
        command: Command::plain(command),
        ended,
        output: String::new(),
        stdout: "3\n".into(),
        cut: false,
        millis: 0,
    }
}

fn failures(evidence: &Evidence<'_>) -> Vec<String> {
    judge(evidence).failures.into_iter().map(|f| f.message).collect()
}

#[test]
fn good_evidence_passes() {
    let verdict = judge(&evidence("Did it.\n\nTASK_COMPLETE"));
    assert_eq!(
        verdict,
        Verdict { failures: vec![], proof: Proof::Check, outside: vec![], proofs: vec![] }
    );
}

#[test]
fn all_failures_are_named_together() {
    let mut bad = evidence("The last step requires\nmanual work.\nTASK_COMPLETE");
    bad.check = ran(ProcessEnd::Code(2));
    bad.commit = CommitRun::Left(vec!["a.rs".into()]);
    insta::assert_snapshot!(judge(&bad).reason().replace("; ", "\n"), @r#"
    CONTRADICTION: claimed complete but the result says "requires manual"
    left uncommitted: a.rs
    `make` ended with code 2
    "#);
}

#[test]
fn admissions_in_quotes_code_or_the_negative_are_none() {
    for result in [
        "Renamed `requires manual`.\nTASK_COMPLETE",
        "The label \"needs human\" is now red.\nTASK_COMPLETE",
        "The label “needs human” is now red.\nTASK_COMPLETE",
        "```\nunable to complete\n```\nTASK_COMPLETE",
        "> manual intervention\n\nTASK_COMPLETE",
        "It ran without manual intervention.\nTASK_COMPLETE",
        "No manual intervention needed.\nTASK_COMPLETE",
    ] {
        assert_eq!(failures(&evidence(result)), Vec::<String>::new(), "{result}");
    }
    for phrase in ADMISSIONS {
        let result = format!("This {} a bit.\nTASK_COMPLETE", phrase.to_uppercase());
        assert!(
            failures(&evidence(&result))[0].starts_with("CONTRADICTION: claimed complete but ")
        );
    }
}

#[test]
fn an_admission_without_a_claim_is_honest() {
    assert_eq!(
        failures(&evidence("I was unable to complete this.")),
        ["the result does not say TASK_COMPLETE on a line of its own"]
    );
}

#[test]
fn the_qa_engineer_says_another_word() {
    let mut qa = evidence("VERIFICATION_PASS");
    qa.role = Role::QaEngineer;
    assert!(judge(&qa).passed());
    qa.result = "VERIFICATION_FAIL";
    assert!(!judge(&qa).passed());
    qa.result = "TASK_COMPLETE";
    assert!(!judge(&qa).passed());
}

#[test]
fn how_a_check_ends() {
    let failed = |ended: ProcessEnd| {
        let mut evidence = evidence("TASK_COMPLETE");
        evidence.check = ran(ended);
        failures(&evidence).join("")
    };
    assert_eq!(failed(ProcessEnd::Code(0)), "");
    assert_eq!(failed(ProcessEnd::Code(1)), "`make` ended with code 1");
    assert_eq!(failed(ProcessEnd::Signal(9)), "`make` was ended by signal 9");
    assert_eq!(
        failed(ProcessEnd::TimedOut(5)),
        "`make` did not end within 5 seconds, which is what a check has; verify_timeout in the \
         settings gives it more"
    );
    assert_eq!(failed(ProcessEnd::NotStarted("gone".into())), "`make` could not be started: gone");
}

/// Why a command fails that printed this and ended so.
fn misprinted(wanted: Expectation, stdout: &str, code: i32) -> String {
    let mut command = Command::plain("grep -c x y");
    command.expect = Some(wanted);
    let (stdout, ended) = (stdout.to_owned(), ProcessEnd::Code(code));
    let time = CheckTime::new(None);
    let done =
        CommandRun { time, command, ended, output: stdout.clone(), stdout, cut: false, millis: 0 };
    failed_check(&CheckRun::Ran(vec![done])).unwrap_or_default()
}

#[test]
fn an_expected_output_takes_the_place_of_the_exit_code() {
    assert_eq!(misprinted(Expectation::Number(0), " 0\n", 1), "", "grep -c fails at 0");
    assert_eq!(
        misprinted(Expectation::Number(3), "0\n", 0),
        "`grep -c x y` should print 3 and printed \"0\""
    );
    assert_eq!(misprinted(Expectation::AtLeast(5), "7\n", 0), "");
    assert_eq!(
        misprinted(Expectation::AtLeast(5), "4", 0),
        "`grep -c x y` should print 5 or more and printed \"4\""
    );
}

#[test]
fn a_command_that_breaks_off_has_not_printed_nothing() {
    assert_eq!(misprinted(Expectation::Nothing, "\n", 0), "");
    assert_eq!(misprinted(Expectation::Nothing, "", 1), "", "grep finds nothing");
    assert_eq!(
        misprinted(Expectation::Nothing, "", 127),
        "`grep -c x y` printed nothing, as it should, but ended with code 127"
    );
    assert!(misprinted(Expectation::Nothing, "x", 0).contains("and printed \"x\""));
}

#[test]
fn an_output_that_was_cut_is_never_the_number() {
    let mut cut = CommandRun { cut: true, ..run("make", ProcessEnd::Code(0)) };
    cut.command.expect = Some(Expectation::Number(3));
    assert_eq!(
        failed_check(&CheckRun::Ran(vec![cut])).unwrap(),
        "`make` should print 3 and printed more than is kept, so it cannot be compared"
    );
}

/// Runs commands of which some fail: what was run, and why the check fails.
fn sequence(commands: &[(&str, bool)], failing: &[&str]) -> (String, String) {
    let commands = commands
        .iter()
        .map(|(text, instead)| {
            let mut command = Command::plain(text);
            command.instead = *instead;
            command
        })
        .collect();
    let check = CheckRun::of(commands, |command| {
        let code = i32::from(failing.contains(&command.head().as_str()));
        CommandRun { command, ..run("", ProcessEnd::Code(code)) }
    });
    let CheckRun::Ran(runs) = &check else { panic!("something is run") };
    let names: Vec<String> = runs.iter().map(|run| run.command.head()).collect();
    (names.join(" "), failed_check(&check).unwrap_or_default())
}

#[test]
fn a_check_that_was_run_is_told_from_another_one() {
    let command = |text: &str, instead: bool| {
        let mut command = Command::plain(text);
        command.instead = instead;
        command
    };
    let with_alternative = [command("a", false), command("b", true), command("c", false)];
    let ran = CheckRun::of(with_alternative.to_vec(), |command| CommandRun {
        command,
        ..run("", ProcessEnd::Code(0))
    });
    assert!(ran.is_of(&with_alternative), "nobody needed the alternative");
    assert!(!ran.is_of(&with_alternative[..2]), "more was run");
    assert!(!ran.is_of(&[&with_alternative[..], &[command("d", false)]].concat()));
    assert!(!ran.is_of(&[]) && CheckRun::Unverified.is_of(&[]));
    assert!(!CheckRun::Unverified.is_of(&with_alternative));
}

#[test]
fn every_command_is_run_until_one_fails() {
    let all = [("a", false), ("b", false), ("c", false)];
    assert_eq!(sequence(&all, &[]), ("a b c".into(), String::new()));
    assert_eq!(sequence(&all, &["b"]), ("a b".into(), "`b` ended with code 1".into()));
}

#[test]
fn one_of_several_is_enough_where_they_are_joined_by_or() {
    let all = [("a", false), ("b", true), ("c", false)];
    assert_eq!(sequence(&all, &[]), ("a c".into(), String::new()));
    assert_eq!(sequence(&all, &["a"]), ("a b c".into(), String::new()));
    let both = "`a` ended with code 1, and `b` ended with code 1";
    assert_eq!(sequence(&all, &["a", "b"]), ("a b".into(), both.into()));
    assert_eq!(sequence(&all, &["a", "c"]).1, "`c` ended with code 1");
}

#[test]
fn a_check_that_cannot_fail_proves_nothing() {
    let mut evidence = evidence("TASK_COMPLETE");
    evidence.check = CheckRun::Ran(vec![run("make | tee log", ProcessEnd::Code(0))]);
    assert!(judge(&evidence).passed() && judge(&evidence).unverified());
    evidence.check = CheckRun::Ran(vec![
        run("make", ProcessEnd::Code(0)),
        run("echo done", ProcessEnd::Code(0)),
    ]);
    assert!(!judge(&evidence).unverified(), "one of them could have failed");
    evidence.check =
        CheckRun::Ran(vec![run("make", ProcessEnd::Code(1)), run("true", ProcessEnd::Code(0))]);
    assert!(judge(&evidence).unverified(), "what failed proves nothing either");
}

#[test]
fn without_a_command_a_task_passes_unverified() {
    let mut evidence = evidence("TASK_COMPLETE");
    evidence.check = CheckRun::Unverified;
    let verdict = judge(&evidence);
    assert!(verdict.passed() && verdict.unverified());
}

#[test]
fn a_refused_commit_fails_the_attempt() {
    let mut evidence = evidence("TASK_COMPLETE");
    evidence.commit = CommitRun::Refused("hook said no".into());
    assert_eq!(failures(&evidence), ["the commit was refused: hook said no"]);
    evidence.commit = CommitRun::NotApplicable;
    assert!(judge(&evidence).passed());
}

#[test]
fn files_outside_the_scope_are_named_not_refused() {
    let files: Vec<String> = ["src/a.rs", "docs/", "tests/*.rs"].map(String::from).to_vec();
    let changed: Vec<String> =
        ["src/a.rs", "docs/x/y.md", "tests/it.rs", "src/a.rs.bak", "Cargo.toml"]
            .map(String::from)
            .to_vec();
    let mut evidence = evidence("TASK_COMPLETE");
    (evidence.files, evidence.changed) = (&files, &changed);
    let verdict = judge(&evidence);
    assert!(verdict.passed());
    assert_eq!(verdict.outside, ["src/a.rs.bak", "Cargo.toml"]);
    evidence.files = &[];
    assert!(judge(&evidence).outside.is_empty());
}

#[test]
fn finding_21_a_check_has_the_time_that_is_set_and_a_hook_no_more_than_its_host_gives() {
    let minutes = |time: CheckTime| time.millis / 60_000;
    assert_eq!(minutes(CheckTime::new(None)), 30);
    assert_eq!(minutes(CheckTime::new(Some(120 * 60_000))), 120);
    assert_eq!(minutes(CheckTime::in_hook(None)), 8);
    assert_eq!(minutes(CheckTime::in_hook(Some(20 * 60_000))), 20);
    let cut = CheckTime::in_hook(Some(120 * 60_000));
    assert_eq!(minutes(cut), 50);
    let late = CommandRun { time: cut, ..run("make", ProcessEnd::TimedOut(3000)) };
    assert_eq!(
        late.failure().unwrap(),
        "`make` did not end within 3000 seconds, which is what a hook's check has in this host, \
         whatever verify_timeout says; `specum run` waits longer"
    );
}

#[test]
fn a_class_is_one_word_and_that_of_another_version_is_kept() {
    for (word, class) in [
        ("no-signal", FailureClass::NoSignal),
        ("context-overflow", FailureClass::ContextOverflow),
        ("checkmark", FailureClass::Other("checkmark".into())),
    ] {
        let json = format!("\"{word}\"");
        assert_eq!(serde_json::from_str::<FailureClass>(&json).unwrap(), class);
        assert_eq!(serde_json::to_string(&class).unwrap(), json);
        assert_eq!(class.to_string(), word);
    }
}

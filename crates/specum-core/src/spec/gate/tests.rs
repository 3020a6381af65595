//! A spec without findings, and for each rule one change that gives exactly its finding.

use super::mutants::{Mutant, judged, mutants, sample, strict, texts_up_to};
use super::*;
use crate::spec::samples::{REQUIREMENTS, RESEARCH, TASKS};

/// The findings about a document with this text, the ones in front of it as they are.
fn found<'a>(doc: Doc, text: &'a str, change: impl FnOnce(&mut Facts<'a>)) -> Vec<Finding> {
    let texts = texts_up_to(Profile::Full, doc).with(doc, text.as_bytes());
    judged(doc, texts, &strict(), change)
}

#[test]
fn a_good_spec_of_each_size_has_no_findings() {
    for profile in [Profile::Small, Profile::Standard, Profile::Full] {
        for doc in profile.docs() {
            let text = sample(profile, *doc).as_bytes();
            let texts = texts_up_to(profile, *doc).with(*doc, text);
            assert_eq!(judged(*doc, texts, &strict(), |_| ()), [], "{profile:?} {doc}");
        }
    }
}

fn rules(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule.name()).collect()
}

#[test]
fn each_change_breaks_its_rule_and_no_other() {
    let wrong: Vec<String> = mutants().iter().filter_map(wrong_with).collect();
    assert_eq!(wrong, [""; 0]);
}

/// What is wrong with a change: it does not give exactly its finding, at its line and with
/// a way out.
fn wrong_with(mutant: &Mutant) -> Option<String> {
    let Mutant { rule, profile, doc, text, line, .. } = mutant;
    let what = format!("{} in {doc} of {profile:?} ({line})", rule.name());
    let findings = mutant.findings();
    let [finding] = findings.as_slice() else {
        return Some(format!("{what}: {:?}", rules(&findings)));
    };
    let named = text.lines().nth(finding.line - 1).unwrap_or_default();
    let is_there = if line.is_empty() { finding.line == 1 } else { named.contains(line) };
    let is_right = finding.rule == *rule && is_there && !finding.fix.is_empty();
    (!is_right).then(|| format!("{what}: {} at `{named}`", finding.rule.name()))
}

#[test]
fn what_is_known_of_the_project_breaks_rules_too() {
    let green: BTreeMap<String, FirstRun> = [("1.2".to_owned(), FirstRun::Green)].into();
    let broken = [("1.2".to_owned(), FirstRun::Broken("exit code 127".into()))].into();
    let lost: BTreeSet<Id> = Id::parse("FR-7").into_iter().collect();
    assert_eq!(
        rules(&found(Doc::Tasks, TASKS, |facts| facts.first_runs = &green)),
        ["verify-green"]
    );
    assert_eq!(
        rules(&found(Doc::Tasks, TASKS, |facts| facts.first_runs = &broken)),
        ["verify-broken"]
    );
    assert_eq!(
        rules(&found(Doc::Requirements, REQUIREMENTS, |facts| facts.approved = &lost)),
        ["id-lost"]
    );
    let guard = TASKS.replace("`cargo test routes`", "`cargo test routes` (green before: kept)");
    assert_eq!(rules(&found(Doc::Tasks, &guard, |facts| facts.first_runs = &green)), [""; 0]);
    let check = [("V1".to_owned(), FirstRun::Green)].into();
    assert_eq!(rules(&found(Doc::Tasks, TASKS, |facts| facts.first_runs = &check)), [""; 0]);
}

#[test]
fn a_question_is_answered_before_the_next_document() {
    let texts = texts_up_to(Profile::Full, Doc::Design);
    let policy = Policy { is_authored: true, ..Policy::default() };
    assert_eq!(rules(&judged(Doc::Requirements, texts, &policy, |_| ())), ["question-open"]);
    let answered = REQUIREMENTS.replace(
        "- [ ] Q-1: Which mailer sends the link? (affects FR-1)",
        "- [x] Q-1: Which? → SMTP",
    );
    let texts = texts.with(Doc::Requirements, answered.as_bytes());
    assert_eq!(rules(&judged(Doc::Requirements, texts, &policy, |_| ())), [""; 0]);
}

#[test]
fn a_misspelt_id_is_named_with_the_right_one() {
    let text = REQUIREMENTS.replace("| FR-2 |", "| FR2 |");
    let findings = found(Doc::Requirements, &text, |_| ());
    assert_eq!(rules(&findings), ["criterion-unused", "id-malformed"]);
    assert_eq!(findings[1].fix, "write FR-2");
}

#[test]
fn every_rule_has_a_change_that_breaks_it() {
    let all = mutants();
    for rule in Rule::ALL {
        assert!(all.iter().any(|mutant| mutant.rule == *rule), "{}", rule.name());
        assert_eq!(Rule::named(rule.name()), Some(*rule));
    }
}

#[test]
fn what_is_twice_too_large_is_an_error() {
    let with = |count| {
        let long =
            RESEARCH.replace("The database", &format!("{}The database", "word ".repeat(count)));
        found(Doc::Research, &long, |_| ())[0].severity
    };
    assert_eq!(with(1300), Severity::Warning);
    assert_eq!(with(3000), Severity::Error);
    let steps = |count: usize| {
        let steps: String = (1..=count).map(|n| format!("    {n}. a\n")).collect();
        found(Doc::Tasks, &TASKS.replace("    1. register POST /links\n", &steps), |_| ())[0]
            .severity
    };
    assert_eq!(steps(20), Severity::Warning);
    assert_eq!(steps(21), Severity::Error);
}

#[test]
fn parallel_neighbours_that_share_nothing_are_fine() {
    let parallel = TASKS.replace("1.1 Add", "1.1 [P] Add").replace("1.2 Add", "1.2 [P] Add");
    assert_eq!(rules(&found(Doc::Tasks, &parallel, |_| ())), [""; 0]);
}

#[test]
fn what_people_have_written_is_warned_of() {
    let text = TASKS.replace("  - _Requirements: NFR-1_\n", "").replace("`cargo test routes`", "x");
    let texts = texts_up_to(Profile::Full, Doc::Tasks).with(Doc::Tasks, text.as_bytes());
    let by_hand = judged(Doc::Tasks, texts, &Policy::default(), |_| ());
    assert_eq!(rules(&by_hand), ["requirement-uncovered"], "the check of the plan says the other");
    assert_eq!(by_hand[0].severity, Severity::Warning);
    let alone = Texts { tasks: Some(text.as_bytes()), ..Texts::default() };
    assert_eq!(rules(&judged(Doc::Tasks, alone, &Policy::default(), |_| ())), [""; 0]);
}

#[test]
fn the_settings_have_the_last_word() {
    let text = TASKS.replace("  - _Requirements: NFR-1_\n", "");
    let with = |level: Level| {
        let levels = [(Rule::RequirementUncovered, level)].into();
        let texts = texts_up_to(Profile::Full, Doc::Tasks).with(Doc::Tasks, text.as_bytes());
        let found = judged(Doc::Tasks, texts, &Policy { is_authored: true, levels }, |_| ());
        found.first().map(|finding| finding.severity)
    };
    assert_eq!(with(Level::Off), None);
    assert_eq!(with(Level::Warn), Some(Severity::Warning));
    assert_eq!(with(Level::Error), Some(Severity::Error));
}

#[test]
fn the_documents_of_other_tools_are_left_alone() {
    let kiro = "# Requirements\n### Requirement 1\n1. WHEN a THEN b\n";
    let tasks = "- [ ] 1. a\n  - _Requirements: 1.1_\n";
    let texts = Texts::default()
        .with(Doc::Requirements, kiro.as_bytes())
        .with(Doc::Tasks, tasks.as_bytes());
    for doc in Doc::ALL {
        assert_eq!(judged(doc, texts, &Policy::default(), |_| ()), [], "{doc}");
    }
}

#[test]
fn facts_of_a_goal_are_what_can_be_looked_for() {
    let facts = requirements::goal_facts(
        "Rename --colour to `--color` in src/cli.rs, keep \"the old name\", 15 minutes or 20ms.",
    );
    assert_eq!(facts, ["--color", "the old name", "--colour", "src/cli.rs", "15 minutes", "20ms"]);
    assert!(requirements::goal_facts("it's done").is_empty());
}

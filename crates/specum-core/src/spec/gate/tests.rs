//! A spec without findings, and for each rule one change that gives exactly its finding.

use super::*;
use crate::spec::samples::{DESIGN, GOAL, REQUIREMENTS, RESEARCH, TASKS};

const FOLDER: &str = "specs/add-sign-in";

/// The findings about a document with this text, the ones in front of it as they are.
fn found<'a>(doc: Doc, text: &'a str, change: impl FnOnce(&mut Facts<'a>)) -> Vec<Finding> {
    let texts = texts_up_to(doc).with(doc, text.as_bytes());
    judged(doc, texts, &Policy { is_authored: true, ..Policy::default() }, change)
}

fn texts_up_to(doc: Doc) -> Texts<'static> {
    let mut texts = Texts { goal: Some(GOAL), ..Texts::default() };
    for doc in Doc::ALL.into_iter().filter(|one| *one <= doc) {
        texts = texts.with(doc, sample(doc).as_bytes());
    }
    texts
}

fn sample(doc: Doc) -> &'static str {
    match doc {
        Doc::Research => RESEARCH,
        Doc::Requirements => REQUIREMENTS,
        Doc::Design => DESIGN,
        Doc::Tasks => TASKS,
    }
}

fn judged<'a>(
    doc: Doc,
    texts: Texts<'a>,
    policy: &Policy,
    change: impl FnOnce(&mut Facts<'a>),
) -> Vec<Finding> {
    let mut facts: Facts<'a> = Facts {
        look: &|path| match path {
            "src/main.rs" => Look::File(10),
            "src" => Look::Folder,
            _ => Look::Missing,
        },
        lookup: &|name| if name == "nosuch" { Program::Missing } else { Program::Found },
        syntax: &|command| command.text.ends_with(b"((").then(|| "unexpected end".to_owned()),
        targets: &|_| Some(["test".to_owned()].into()),
        folder: FOLDER,
        ..Facts::none()
    };
    change(&mut facts);
    judge(doc, &Spec::of(texts), &facts, policy)
}

#[test]
fn a_good_spec_has_no_findings() {
    for doc in Doc::ALL {
        assert_eq!(found(doc, sample(doc), |_| ()), [], "{doc}");
    }
}

/// A change of a document, the rule that it breaks, and a text of the line that is named;
/// none for the first line.
type Mutation = (Rule, Doc, &'static str, &'static str, &'static str);

const MUTATIONS: &[Mutation] = &[
    (
        Rule::MissingSection,
        Doc::Requirements,
        "## Assumptions\n- A-1: Addresses are unique, as users.email says.\n",
        "",
        "",
    ),
    (Rule::MissingSection, Doc::Research, "## Constraints", "## Limits", ""),
    (Rule::MissingSection, Doc::Design, "## Data Flow", "## Flow", ""),
    (
        Rule::EmptySection,
        Doc::Design,
        "1. An address comes in, a link goes out.\n",
        "",
        "## Data Flow",
    ),
    (
        Rule::EmptySection,
        Doc::Requirements,
        "- A-1: Addresses are unique, as users.email says.\n",
        "",
        "## Assumptions",
    ),
    (Rule::Placeholder, Doc::Design, "asks again", "TBD", "TBD"),
    (Rule::Placeholder, Doc::Tasks, "register POST /links", "register {{route}}", "{{route}}"),
    (Rule::FenceOpen, Doc::Design, "## not a heading\n```\n", "## Not a heading\n", "```mermaid"),
    (Rule::QuestionForm, Doc::Requirements, "  - Provider API: bounces are seen\n", "", "Q-1"),
    (Rule::QuestionForm, Doc::Requirements, "(default) SMTP", "SMTP", "Q-1"),
    (Rule::QuestionForm, Doc::Requirements, "(affects FR-1)", "(affects FR-9)", "Q-1"),
    (Rule::QuestionForm, Doc::Requirements, "Q-1: Which", "Which", "Which mailer"),
    (
        Rule::FactWithoutSource,
        Doc::Research,
        "src/main.rs:1 —",
        "src/main.rs:99 —",
        "src/main.rs:99",
    ),
    (Rule::FactWithoutSource, Doc::Research, "src/main.rs:1 —", "src/gone.rs:1 —", "src/gone.rs"),
    (Rule::FactWithoutSource, Doc::Research, " — https://example.org/scanners", "", "scanners"),
    (
        Rule::IdDuplicate,
        Doc::Requirements,
        "## Functional",
        "- AC-1.2: WHEN a THE b SHALL c.\n## Functional",
        "SHALL c",
    ),
    (Rule::IdDangling, Doc::Requirements, "| Must | AC-1.2 |", "| Must | AC-1.2, AC-7.1 |", "FR-2"),
    (
        Rule::StoryWithoutCriteria,
        Doc::Requirements,
        "## Functional",
        "### US-2: B\n**As a** b\n## Functional",
        "US-2",
    ),
    (
        Rule::RequirementWithoutCriteria,
        Doc::Requirements,
        "| FR-1 | A link is mailed on request | Must | AC-1.1 |",
        "| FR-1 | A link is mailed on request | Must | none |\n| FR-3 | It is logged | Must | AC-1.1 |",
        "FR-1 |",
    ),
    (
        Rule::CriterionUnused,
        Doc::Requirements,
        "## Functional",
        "- AC-1.3: WHEN a THE b SHALL c.\n## Functional",
        "AC-1.3",
    ),
    (Rule::NoMeasure, Doc::Requirements, "< 200 ms", "as before", "NFR-1"),
    (
        Rule::OutOfScopeEmpty,
        Doc::Requirements,
        "- Passwords, social sign-in\n",
        "",
        "## Out of Scope",
    ),
    (Rule::GoalFactLost, Doc::Requirements, "older than 15 minutes", "too old", "## Functional"),
    (
        Rule::CriterionForm,
        Doc::Requirements,
        "IF the link is older than 15 minutes THEN THE service SHALL answer 410",
        "links live 15 minutes",
        "AC-1.2",
    ),
    (
        Rule::VagueWord,
        Doc::Requirements,
        "An expired link is refused",
        "An expired link is gracefully refused",
        "FR-2",
    ),
    (
        Rule::RequirementWithoutComponent,
        Doc::Design,
        "_Requirements: FR-1, FR-2_",
        "_Requirements: FR-1_",
        "## Components",
    ),
    (
        Rule::ComponentWithoutRequirement,
        Doc::Design,
        "## Data Flow",
        "### C-3: Idle\n**Purpose**: none\n## Data Flow",
        "C-3",
    ),
    (
        Rule::FileAction,
        Doc::Design,
        "| src/links.rs | Create |",
        "| src/links.rs | Modify |",
        "src/links.rs",
    ),
    (
        Rule::FileAction,
        Doc::Design,
        "| `src/main.rs` | Modify |",
        "| `src/main.rs` | Create |",
        "src/main.rs` |",
    ),
    (Rule::FileAction, Doc::Design, "| Modify | the routes", "| Polish | the routes", "the routes"),
    (Rule::PathOutside, Doc::Design, "| src/links.rs |", "| ../links.rs |", "../links.rs"),
    (
        Rule::DecisionOpen,
        Doc::Design,
        "| memory, a table | a table |",
        "| memory, a table | ? |",
        "Where links live",
    ),
    (Rule::ComponentUncovered, Doc::Tasks, "  - _Design: C-2_\n", "", ""),
    (Rule::RequirementUncovered, Doc::Tasks, "  - _Requirements: NFR-1_\n", "", ""),
    (Rule::FileUnplanned, Doc::Tasks, "src/main.rs", "src/other.rs", ""),
    (Rule::LinkUnknown, Doc::Tasks, "NFR-1_", "NFR-1, FR-9_", "1.2 Add"),
    (Rule::LinkUnknown, Doc::Tasks, "_Design: C-2_", "_Design: C-2, C-9_", "1.2 Add"),
    (Rule::TaskForm, Doc::Tasks, "  - **Done when**: POST /links answers\n", "", "1.2 Add"),
    (Rule::TaskForm, Doc::Tasks, "  - **Commit**: `feat(links): keep links`\n", "", "1.1 Add"),
    (
        Rule::TooManySteps,
        Doc::Tasks,
        "    1. register POST /links\n",
        "    1. a\n    2. a\n    3. a\n    4. a\n    5. a\n    6. a\n    7. a\n    8. a\n    9. a\n    10. a\n    11. a\n",
        "1.2 Add",
    ),
    (
        Rule::TooManyFiles,
        Doc::Tasks,
        "src/main.rs",
        "src/main.rs, a.rs, b.rs, c.rs, d.rs, e.rs, f.rs",
        "1.2 Add",
    ),
    (
        Rule::FileOrder,
        Doc::Tasks,
        "`cargo test links`\n  - **Commit**: `feat(links): keep links`\n  - _Requirements: FR-1, AC-1.2_\n  - _Design: C-1_\n- [ ] 1.2 Add the routes\n  - **Do**:\n    1. register POST /links\n  - **Files**: src/main.rs",
        "`grep -q x src/late.rs`\n  - **Commit**: `feat(links): keep links`\n  - _Requirements: FR-1, AC-1.2_\n  - _Design: C-1_\n- [ ] 1.2 Add the routes\n  - **Do**:\n    1. register POST /links\n  - **Files**: src/main.rs, src/late.rs",
        "1.1 Add",
    ),
    (Rule::NoFinalCheck, Doc::Tasks, "`cargo test`\n", "`grep -q x README.md`\n", "V1"),
    (
        Rule::ManualWords,
        Doc::Tasks,
        "every test passes",
        "somebody has looked at it manually",
        "V1",
    ),
    (Rule::VerifyMissing, Doc::Tasks, "  - **Verify**: `cargo test routes`\n", "", "1.2 Add"),
    (Rule::VerifyProse, Doc::Tasks, "`cargo test routes`", "the routes answer", "1.2 Add"),
    (Rule::VerifySyntax, Doc::Tasks, "`cargo test routes`", "`cargo test ((`", "1.2 Add"),
    (
        Rule::VerifyCannotFail,
        Doc::Tasks,
        "`cargo test routes`",
        "`cargo test routes | tail -1`",
        "1.2 Add",
    ),
    (
        Rule::VerifyCannotFail,
        Doc::Tasks,
        "`cargo test routes`",
        "`jq 'has(\"x\")' a.json`",
        "1.2 Add",
    ),
    (Rule::VerifyProgram, Doc::Tasks, "`cargo test routes`", "`nosuch routes`", "1.2 Add"),
    (Rule::VerifyTarget, Doc::Tasks, "`cargo test routes`", "`npm run bench`", "1.2 Add"),
    (
        Rule::VerifyMachinePath,
        Doc::Tasks,
        "`cargo test routes`",
        "`test -f /tmp/routes`",
        "1.2 Add",
    ),
    (Rule::VerifyOpenEnded, Doc::Tasks, "`cargo test routes`", "`cargo test --watch`", "1.2 Add"),
    (
        Rule::VerifySelf,
        Doc::Tasks,
        "`cargo test routes`",
        "`grep -q x specs/add-sign-in/tasks.md`",
        "1.2 Add",
    ),
];

fn rules(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule.name()).collect()
}

#[test]
fn each_change_breaks_its_rule_and_no_other() {
    let wrong: Vec<String> = MUTATIONS.iter().filter_map(wrong_with).collect();
    assert_eq!(wrong, [""; 0]);
}

/// What is wrong with a change: it is none, or it does not give exactly its finding.
fn wrong_with((rule, doc, from, to, line): &Mutation) -> Option<String> {
    let changed = sample(*doc).replacen(from, to, 1);
    let what = format!("{} by `{from}` → `{to}`", rule.name());
    if changed == sample(*doc) {
        return Some(format!("{what}: it is not there"));
    }
    let findings = found(*doc, &changed, |_| ());
    let [finding] = findings.as_slice() else {
        return Some(format!("{what}: {:?}", rules(&findings)));
    };
    let named = changed.lines().nth(finding.line - 1).unwrap_or_default();
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
fn what_is_too_large_is_named() {
    let long = RESEARCH.replace("The database", &format!("{}The database", "word ".repeat(1300)));
    let findings = found(Doc::Research, &long, |_| ());
    assert_eq!(rules(&findings), ["too-long"]);
    assert_eq!(findings[0].severity, Severity::Warning);
    let longer = RESEARCH.replace("The database", &format!("{}The database", "word ".repeat(3000)));
    assert_eq!(found(Doc::Research, &longer, |_| ())[0].severity, Severity::Error);

    let checks: String = (2..42)
        .map(|n| {
            format!("- [ ] V{n} [VERIFY] b\n  - **Done when**: c\n  - **Verify**: `cargo test`\n")
        })
        .collect();
    assert_eq!(rules(&found(Doc::Tasks, &format!("{TASKS}{checks}"), |_| ())), ["plan-too-large"]);

    let stories: String =
        (2..9).map(|n| format!("### US-{n}: B\n- AC-{n}.1: WHEN a THE b SHALL c.\n")).collect();
    let rows: String =
        (2..9).map(|n| format!("| FR-{} | c | Must | AC-{n}.1 |\n", n + 1)).collect();
    let many = REQUIREMENTS
        .replace("## Functional", &format!("{stories}## Functional"))
        .replace("\n## Non-Functional", &format!("\n{rows}## Non-Functional"));
    assert_eq!(rules(&found(Doc::Requirements, &many, |_| ())), ["too-many"]);

    let question =
        |n: usize| format!("- [ ] Q-{n}: Which? (affects FR-1)\n  - (default) a\n  - b\n");
    let questions: String = (2..6).map(question).collect();
    let asks = REQUIREMENTS.replace("## Assumptions", &format!("{questions}## Assumptions"));
    assert_eq!(rules(&found(Doc::Requirements, &asks, |_| ())), ["too-many-questions"]);
}

#[test]
fn a_question_is_answered_before_the_next_document() {
    let texts = texts_up_to(Doc::Design);
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
fn parallel_neighbours_share_nothing() {
    let parallel = TASKS.replace("1.1 Add", "1.1 [P] Add").replace("1.2 Add", "1.2 [P] Add");
    assert_eq!(rules(&found(Doc::Tasks, &parallel, |_| ())), [""; 0]);
    let overlap = parallel.replace("Files**: src/main.rs", "Files**: src/main.rs, src/links.rs");
    assert_eq!(rules(&found(Doc::Tasks, &overlap, |_| ())), ["parallel-overlap"]);
    let needs = parallel.replace("`cargo test routes`", "`grep -q x src/links.rs`");
    assert_eq!(rules(&found(Doc::Tasks, &needs, |_| ())), ["parallel-order"]);
}

#[test]
fn every_rule_has_a_test() {
    let others = [
        "too-long",
        "too-many-questions",
        "question-open",
        "id-malformed",
        "id-lost",
        "too-many",
        "parallel-overlap",
        "parallel-order",
        "plan-too-large",
        "verify-green",
        "verify-broken",
    ];
    for rule in Rule::ALL {
        let is_tested = MUTATIONS.iter().any(|(other, ..)| other == rule);
        assert!(is_tested || others.contains(&rule.name()), "{}", rule.name());
        assert_eq!(Rule::named(rule.name()), Some(*rule));
    }
}

#[test]
fn what_people_have_written_is_warned_of() {
    let text = TASKS.replace("  - _Requirements: NFR-1_\n", "").replace("`cargo test routes`", "x");
    let texts = texts_up_to(Doc::Tasks).with(Doc::Tasks, text.as_bytes());
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
        let texts = texts_up_to(Doc::Tasks).with(Doc::Tasks, text.as_bytes());
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

//! Specs without findings, one of each size, and for each rule changes that break it and
//! no other.
//!
//! The tests of the gate and the figures share them: the texts are here, and what is done
//! with them is there.

use std::collections::{BTreeMap, BTreeSet};

use super::samples::{DESIGN, GOAL, REQUIREMENTS, RESEARCH, SMALL, TASKS};
use super::{
    Doc, Facts, Finding, FirstRun, Id, Look, Policy, Profile, Program, Rule, Spec, Texts, judge,
};

const FOLDER: &str = "specs/add-sign-in";

/// A document that breaks one rule.
pub(super) struct Mutant {
    /// The rule.
    pub(super) rule: Rule,
    /// The size of the spec that it is part of.
    pub(super) profile: Profile,
    /// The document that is changed.
    pub(super) doc: Doc,
    /// Its text.
    pub(super) text: String,
    /// Whether those behind it are there.
    pub(super) with_later: bool,
    /// What the checks did before the work.
    pub(super) first_runs: BTreeMap<String, FirstRun>,
    /// The ids that were approved.
    pub(super) approved: BTreeSet<Id>,
    /// A text of the line that is named; none for the first line.
    pub(super) line: &'static str,
}

impl Mutant {
    fn of(rule: Rule, profile: Profile, doc: Doc, text: String, line: &'static str) -> Mutant {
        let (first_runs, approved) = (BTreeMap::new(), BTreeSet::new());
        Mutant { rule, profile, doc, text, with_later: false, first_runs, approved, line }
    }

    /// What the gate finds in it.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut texts = texts_up_to(self.profile, self.doc);
        if self.with_later {
            texts = texts_up_to(self.profile, Doc::Tasks);
        }
        let texts = texts.with(self.doc, self.text.as_bytes());
        judged(self.doc, texts, &strict(), |facts| {
            facts.first_runs = &self.first_runs;
            facts.approved = &self.approved;
        })
    }
}

/// The policy for documents that specum had written.
pub(super) fn strict() -> Policy {
    Policy { is_authored: true, ..Policy::default() }
}

/// The clean documents of a spec of this size, the last one this.
pub(super) fn texts_up_to(profile: Profile, last: Doc) -> Texts<'static> {
    let docs = profile.docs().iter().copied().filter(|doc| *doc <= last);
    let texts = Texts { goal: Some(GOAL), ..Texts::default() };
    docs.fold(texts, |texts, doc| texts.with(doc, sample(profile, doc).as_bytes()))
}

/// A clean document.
pub(super) fn sample(profile: Profile, doc: Doc) -> &'static str {
    match doc {
        Doc::Research => RESEARCH,
        Doc::Requirements => REQUIREMENTS,
        Doc::Design => DESIGN,
        Doc::Tasks if profile == Profile::Small => SMALL,
        Doc::Tasks => TASKS,
    }
}

/// The findings about a document, in a project with one file and one target.
pub(super) fn judged<'a>(
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

/// All of them: each change in every size of spec that has the document.
pub(super) fn mutants() -> Vec<Mutant> {
    let mut all = Vec::new();
    for profile in [Profile::Standard, Profile::Full] {
        let has = |doc: Doc| profile.docs().contains(&doc);
        for (rule, doc, from, to, line) in MUTATIONS.iter().filter(|(_, doc, ..)| has(*doc)) {
            all.push(replaced(*rule, profile, *doc, from, to, line));
        }
        for (rule, doc, make, line) in MADE.iter().filter(|(_, doc, ..)| has(*doc)) {
            let text = make(sample(profile, *doc));
            all.push(Mutant::of(*rule, profile, *doc, text, line));
        }
        all.extend(by_facts(profile, "1.2", "1.2 Add"));
        let lost = Mutant {
            approved: Id::parse("FR-7").into_iter().collect(),
            ..Mutant::of(Rule::IdLost, profile, Doc::Requirements, REQUIREMENTS.to_owned(), "")
        };
        let open = Mutant {
            with_later: true,
            ..Mutant::of(
                Rule::QuestionOpen,
                profile,
                Doc::Requirements,
                REQUIREMENTS.to_owned(),
                "Q-1",
            )
        };
        all.extend([lost, open]);
    }
    let small = SMALL_MUTATIONS.iter();
    all.extend(
        small.map(|(rule, from, to, line)| {
            replaced(*rule, Profile::Small, Doc::Tasks, from, to, line)
        }),
    );
    all.extend(by_facts(Profile::Small, "1.1", "1.1 Add"));
    all
}

fn replaced(
    rule: Rule,
    profile: Profile,
    doc: Doc,
    from: &str,
    to: &str,
    line: &'static str,
) -> Mutant {
    let text = sample(profile, doc).replacen(from, to, 1);
    assert_ne!(text, sample(profile, doc), "`{from}` is not in {doc}");
    Mutant::of(rule, profile, doc, text, line)
}

/// What only a first run of a check shows.
fn by_facts(profile: Profile, task: &str, line: &'static str) -> [Mutant; 2] {
    let broken = FirstRun::Broken("exit code 127".into());
    [(Rule::VerifyGreen, FirstRun::Green), (Rule::VerifyBroken, broken)].map(|(rule, run)| {
        let text = sample(profile, Doc::Tasks).to_owned();
        let first_runs = [(task.to_owned(), run)].into();
        Mutant { first_runs, ..Mutant::of(rule, profile, Doc::Tasks, text, line) }
    })
}

/// A rule, the document, how it is made, and a text of the line that is named.
type Made = (Rule, Doc, fn(&str) -> String, &'static str);

const MADE: &[Made] = &[
    (Rule::TooLong, Doc::Research, |text| with_words(text, "The database", 1300), ""),
    (Rule::TooLong, Doc::Requirements, |text| with_words(text, "Addresses are", 1700), ""),
    (Rule::TooLong, Doc::Design, |text| with_words(text, "A table keeps", 2100), ""),
    (Rule::TooLong, Doc::Tasks, |text| with_words(text, "POST /links answers", 1400), ""),
    (
        Rule::TooManyQuestions,
        Doc::Requirements,
        |text| {
            let questions: String = (2..6)
                .map(|n| format!("- [ ] Q-{n}: Which? (affects FR-1)\n  - (default) a\n  - b\n"))
                .collect();
            text.replace("## Assumptions", &format!("{questions}## Assumptions"))
        },
        "Q-5",
    ),
    (
        Rule::IdMalformed,
        Doc::Requirements,
        |text| {
            text.replace(
                "| Must | AC-1.2 |",
                "| Must | AC-1.2 |\n| FR3 | It is logged | Must | AC-1.2 |",
            )
        },
        "FR3",
    ),
    (
        Rule::TooMany,
        Doc::Requirements,
        |text| {
            let stories: String = (2..9)
                .map(|n| format!("### US-{n}: B\n- AC-{n}.1: WHEN a THE b SHALL c.\n"))
                .collect();
            let rows: String =
                (2..9).map(|n| format!("| FR-{} | c | Must | AC-{n}.1 |\n", n + 1)).collect();
            text.replace("## Functional", &format!("{stories}## Functional"))
                .replace("\n## Non-Functional", &format!("\n{rows}## Non-Functional"))
        },
        "US-8",
    ),
    (
        Rule::ParallelOverlap,
        Doc::Tasks,
        |text| parallel(text).replace("Files**: src/main.rs", "Files**: src/main.rs, src/links.rs"),
        "1.2 [P]",
    ),
    (
        Rule::ParallelOrder,
        Doc::Tasks,
        |text| parallel(text).replace("`cargo test routes`", "`grep -q x src/links.rs`"),
        "1.2 [P]",
    ),
    (
        Rule::PlanTooLarge,
        Doc::Tasks,
        |text| {
            let check = |n| {
                format!(
                    "- [ ] V{n} [VERIFY] b\n  - **Done when**: c\n  - **Verify**: `cargo test`\n"
                )
            };
            format!("{text}{}", (2..42).map(check).collect::<String>())
        },
        "V39",
    ),
];

fn with_words(text: &str, before: &str, count: usize) -> String {
    text.replacen(before, &format!("{}{before}", "word ".repeat(count)), 1)
}

fn parallel(text: &str) -> String {
    text.replace("1.1 Add", "1.1 [P] Add").replace("1.2 Add", "1.2 [P] Add")
}

/// The same for the plan of a small spec, which states its requirements itself.
const SMALL_MUTATIONS: &[(Rule, &str, &str, &str)] = &[
    (Rule::Placeholder, "- other options\n", "- TBD\n", "TBD"),
    (Rule::FenceOpen, "- other options\n", "- other options\n```\n", "```"),
    (Rule::RequirementUncovered, "FR-1, FR-2_", "FR-1_", ""),
    (Rule::LinkUnknown, "FR-1, FR-2_", "FR-1, FR-2, FR-9_", "1.1 Add"),
    (Rule::TaskForm, "  - **Files**: src/main.rs\n", "", "1.1 Add"),
    (
        Rule::ManualWords,
        "both options set the colour",
        "somebody has tried both by hand",
        "1.1 Add",
    ),
    (Rule::VerifyMissing, "  - **Verify**: `cargo test color`\n", "", "1.1 Add"),
    (Rule::VerifyProse, "`cargo test color`", "both work", "1.1 Add"),
    (Rule::VerifySyntax, "`cargo test color`", "`cargo test ((`", "1.1 Add"),
    (
        Rule::VerifyCannotFail,
        "`cargo test color`",
        "`grep -c color src/main.rs || true`",
        "1.1 Add",
    ),
    (Rule::VerifyProgram, "`cargo test color`", "`nosuch color`", "1.1 Add"),
    (Rule::VerifyTarget, "`cargo test color`", "`make color`", "1.1 Add"),
    (Rule::VerifyMachinePath, "`cargo test color`", "`test -f ~/.color`", "1.1 Add"),
    (Rule::VerifyOpenEnded, "`cargo test color`", "`npm run test -- --watch`", "1.1 Add"),
    (Rule::VerifySelf, "`cargo test color`", "`test -s specs/add-sign-in/tasks.md`", "1.1 Add"),
];

/// A rule, the document, what is replaced by what, and a text of the line that is named.
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
    (
        Rule::VerifyCannotFail,
        Doc::Tasks,
        "`cargo test routes`",
        "`for f in src/*; do echo $f; done`",
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

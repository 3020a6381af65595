use super::*;

const EPIC: &str = "\
# Epic: Accounts
## Vision
People have accounts. They sign in without a password.
## Success Criteria
- A person signs in within 10 s, by `sign-in-page`.
## Specs
### 1. link-store
**Goal**: keep one open link for each address.
**Acceptance Criteria**:
- a link is found for 15 minutes,
  and not a minute more
**In**: the table   **Out**: mail   **Dependencies**: none
**Exposes**: `link-api`: `issue(address) -> Token`
**Consumes**: none   **Size**: S
### 2. sign-in
**Goal**: a page that takes the link.
**Acceptance Criteria**:
- the page answers 200
**Dependencies**: link-store
**Exposes**:
- `sign-in-page`: `GET /in?token=…`
**Consumes**: `link-api`
### 3. audit
**Goal**: every use of a link is in the log.
**Acceptance Criteria**: one line for each use
**Dependencies**: sign-in
**Consumes**: `link-api`
";

fn judged(text: &str) -> Vec<Finding> {
    judge(&Epic::scan(text.as_bytes()), &|name| name == "taken")
}

#[test]
fn an_epic_is_read_with_its_fields_wherever_they_stand() {
    let epic = Epic::scan(EPIC.as_bytes());
    assert_eq!(epic.title, "Accounts");
    let names: Vec<&str> = epic.specs.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["link-store", "sign-in", "audit"]);
    let store = &epic.specs[0];
    assert_eq!(store.goal, "keep one open link for each address.");
    assert_eq!(store.criteria, ["a link is found for 15 minutes, and not a minute more"]);
    assert_eq!((store.inside.as_str(), store.outside.as_str()), ("the table", "mail"));
    assert_eq!(store.needs, []);
    assert_eq!(store.size.as_deref(), Some("S"));
    assert_eq!(store.exposes[0].name, "link-api");
    assert_eq!(store.exposes[0].shape, "`issue(address) -> Token`");
    assert_eq!(epic.specs[1].needs, [("link-store".to_owned(), 19)]);
    assert_eq!(epic.specs[2].consumes, [("link-api".to_owned(), 27)]);
    assert_eq!(epic.specs[2].criteria, ["one line for each use"]);
    assert_eq!(judged(EPIC), []);
}

#[test]
fn each_change_breaks_its_rule_and_no_other() {
    // The rule, what is replaced by what, and a text of the line that is named.
    let mutations = [
        (Rule::SpecName, "### 3. audit", "### 3. Audit Log", "Audit Log"),
        (Rule::SpecTwice, "### 3. audit", "### 3. sign-in", "### 3."),
        (Rule::SpecTaken, "### 3. audit", "### 3. taken", "taken"),
        (Rule::SpecWithoutGoal, "**Goal**: a page that takes the link.\n", "", "### 2."),
        (
            Rule::SpecWithoutCriteria,
            "**Acceptance Criteria**: one line for each use\n",
            "",
            "### 3.",
        ),
        (
            Rule::DependencyUnknown,
            "**Dependencies**: sign-in",
            "**Dependencies**: sign-in, mail",
            "mail",
        ),
        (
            Rule::ContractTwice,
            "- `sign-in-page`",
            "- `link-api`: x\n- `sign-in-page`",
            "`link-api`: x",
        ),
        (
            Rule::ContractOpen,
            "**Consumes**: `link-api`\n### 3",
            "**Consumes**: `link-api`, `mail-api`\n### 3",
            "mail-api",
        ),
        (Rule::ContractUnused, "by `sign-in-page`", "by a page", "- `sign-in-page`"),
    ];
    for (rule, from, to, line) in mutations {
        let text = EPIC.replacen(from, to, 1);
        assert_ne!(text, EPIC, "{from} is not there");
        let found = judged(&text);
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule.name()).collect();
        assert_eq!(rules, [rule.name()], "{from}");
        let named = text.lines().nth(found[0].line - 1).unwrap();
        assert!(named.contains(line) && !found[0].fix.is_empty(), "{}: {named}", rule.name());
    }
}

#[test]
fn specs_that_need_each_other_are_named() {
    let circle = EPIC.replace("**Dependencies**: none", "**Dependencies**: audit");
    let rules: Vec<Rule> = judged(&circle).iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::DependencyCycle; 3]);
    let itself = EPIC.replace("**Dependencies**: none", "**Dependencies**: link-store");
    assert_eq!(judged(&itself)[0].rule, Rule::DependencyCycle);
}

#[test]
fn a_contract_is_closed_only_by_a_spec_that_is_needed() {
    let apart = EPIC.replace("**Dependencies**: sign-in", "**Dependencies**: none");
    let found = judged(&apart);
    assert_eq!(found[0].rule, Rule::ContractOpen);
    assert_eq!(found[0].fix, "add link-store to its Dependencies");
}

#[test]
fn an_epic_has_two_to_eight_specs() {
    let (one, _) = EPIC.split_once("### 2.").unwrap();
    let rules: Vec<Rule> = judged(one).iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::EpicSize, Rule::ContractUnused]);
    let more: String = (4..=9)
        .map(|n| format!("### {n}. spec-{n}\n**Goal**: x\n**Acceptance Criteria**: y\n"))
        .collect();
    let found = judged(&format!("{EPIC}{more}"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "the epic has 9 specs");
    assert_eq!(judged("")[0].rule, Rule::EpicSize);
}

#[test]
fn what_is_in_progress_comes_first_then_the_first_whose_needs_are_met() {
    let epic = Epic::scan(EPIC.as_bytes());
    let next = |done: &[&str], begun: &[&str], over: &[&str]| {
        let progress = |name: &str| match () {
            () if done.contains(&name) => Progress::Completed,
            () if begun.contains(&name) => Progress::InProgress,
            () => Progress::Pending,
        };
        let over = over.iter().map(ToString::to_string).collect();
        epic.next(&progress, &over).map(|part| part.name.clone())
    };
    assert_eq!(next(&[], &[], &[]).as_deref(), Some("link-store"));
    assert_eq!(next(&["link-store"], &[], &[]).as_deref(), Some("sign-in"));
    assert_eq!(next(&["link-store", "sign-in"], &[], &["audit"]), None);
    assert_eq!(next(&[], &[], &["link-store"]), None, "the others need it");
    assert_eq!(next(&["link-store", "sign-in", "audit"], &[], &[]), None);
    let apart = EPIC.replace("**Dependencies**: sign-in", "**Dependencies**: none");
    let epic = Epic::scan(apart.as_bytes());
    let progress = |name: &str| match name {
        "audit" => Progress::InProgress,
        _ => Progress::Pending,
    };
    assert_eq!(epic.next(&progress, &BTreeSet::new()).unwrap().name, "audit");
}

#[test]
fn the_goal_of_a_spec_has_its_contracts_word_for_word() {
    let epic = Epic::scan(EPIC.as_bytes());
    insta::assert_snapshot!(epic.goal_of(&epic.specs[1]), @"
    # Goal: sign-in

    a page that takes the link.

    ## Acceptance Criteria

    - the page answers 200

    ## Exposes

    - `sign-in-page`: `GET /in?token=…`

    ## Consumes

    - `link-api`: `issue(address) -> Token` (exposed by link-store)
    ");
}

#[test]
fn the_state_is_what_others_expect_and_keeps_what_was_made() {
    let epic = Epic::scan(EPIC.as_bytes());
    let plans: BTreeMap<String, String> = [("audit".to_owned(), plan_digest(b"x"))].into();
    let text = epic.state_text("accounts", &|_| Progress::Pending, &plans);
    let state: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(state["name"], "accounts");
    assert_eq!(state["specs"][1]["status"], "pending");
    assert_eq!(state["specs"][1]["dependencies"][0], "link-store");
    assert_eq!(plans_of_state(text.as_bytes()), plans);
    assert!(plans_of_state(b"{").is_empty());
}

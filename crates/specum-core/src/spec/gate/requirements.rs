//! The rules of `requirements.md`.

use std::collections::{HashMap, HashSet};

use super::common::has_word;
use super::{Facts, Findings, Rule, Spec};
use crate::spec::id::{Id, Kind};
use crate::spec::outline::{Outline, without_code};
use crate::spec::requirements::{Requirements, Statement};

/// Words that no check can decide.
const VAGUE: &[&str] = &[
    "fast",
    "quickly",
    "robust",
    "simple",
    "easy",
    "easily",
    "properly",
    "appropriate",
    "appropriately",
    "intuitive",
    "user-friendly",
    "seamless",
    "seamlessly",
    "efficient",
    "efficiently",
    "reasonable",
    "gracefully",
];
/// Words of a criterion with a situation and a result.
const FORM: &[&str] =
    &["WHEN", "IF", "WHILE", "WHERE", "SHALL", "THEN", "MUST", "GIVEN", "Given", "When", "Then"];

const MOST_STORIES: usize = 7;
const MOST_CRITERIA: usize = 25;

pub(super) fn judge(
    outline: &Outline,
    spec: &Spec<'_>,
    facts: &Facts<'_>,
    findings: &mut Findings<'_>,
) {
    let nothing = Requirements::default();
    let stated = spec.requirements().unwrap_or(&nothing);
    ids(stated, facts, findings);
    links(stated, findings);
    words(stated, findings);
    if let Some(section) = outline.section(&["Out of Scope"])
        && outline.is_empty(section)
    {
        let message = "nothing is out of scope";
        let fix = "name what a reader may expect and will not get";
        findings.add(Rule::OutOfScopeEmpty, section.line, message, fix);
    }
    goal(outline, spec, findings);
    let many =
        [(&stated.stories, MOST_STORIES, "stories"), (&stated.criteria, MOST_CRITERIA, "criteria")];
    for (statements, most, what) in many {
        if let Some(first) = statements.get(most) {
            let message =
                format!("{} {what}, and {most} are enough for one spec", statements.len());
            findings.add(Rule::TooMany, first.line, message, "cut the goal into several specs");
        }
    }
}

fn ids(stated: &Requirements, facts: &Facts<'_>, findings: &mut Findings<'_>) {
    for misspelt in &stated.misspelt {
        let message = format!("\"{}\" is no id", misspelt.written);
        findings.add(
            Rule::IdMalformed,
            misspelt.line,
            message,
            format!("write {}", misspelt.meant),
        );
    }
    let mut first: HashMap<&Id, usize> = HashMap::new();
    for statement in stated.all() {
        let id = &statement.id;
        match first.get(id) {
            Some(line) => {
                let message = format!("{id} is stated twice, first in line {line}");
                findings.add(Rule::IdDuplicate, statement.line, message, "give it the next number");
            }
            None => {
                first.insert(id, statement.line);
            }
        }
    }
    let is_ours = |id: &&Id| {
        matches!(id.kind, Kind::Story | Kind::Criterion | Kind::Functional | Kind::NonFunctional)
    };
    for id in facts.approved.iter().filter(is_ours).filter(|id| !first.contains_key(id)) {
        let message = format!("{id} was approved, and is gone");
        findings.add(Rule::IdLost, 1, message, "put it back, marked (retired) if it does not hold");
    }
}

fn links(stated: &Requirements, findings: &mut Findings<'_>) {
    let told: HashSet<u32> = stated.criteria.iter().map(|one| one.id.numbers[0]).collect();
    for story in stated.stories.iter().filter(|story| !story.is_retired) {
        if !told.contains(&story.id.numbers[0]) {
            let message = format!("{} has no criterion", story.id);
            let fix = format!("add `- AC-{}.1: WHEN … THE … SHALL …`", story.id.numbers[0]);
            findings.add(Rule::StoryWithoutCriteria, story.line, message, fix);
        }
    }
    for requirement in stated.active() {
        let id = &requirement.id;
        if requirement.links.is_empty() && id.kind == Kind::Functional {
            let message = format!("{id} names no criterion");
            let fix = "add the id of the one it stands on";
            findings.add(Rule::RequirementWithoutCriteria, requirement.line, message, fix);
        }
        for link in requirement.links.iter().filter(|link| stated.get(link).is_none()) {
            let message = format!("{id} names {link}, which nobody states");
            let fix = "state it, or name another";
            findings.add(Rule::IdDangling, requirement.line, message, fix);
        }
        let measure = requirement.target.as_deref().unwrap_or(&requirement.text);
        if id.kind == Kind::NonFunctional && !measure.contains(|c: char| c.is_ascii_digit()) {
            let message = format!("{id} has no number to be measured by");
            findings.add(Rule::NoMeasure, requirement.line, message, "put one into its Target");
        }
    }
    // A document without links from requirements is of another form.
    if stated.active().all(|requirement| requirement.links.is_empty()) {
        return;
    }
    let used: HashSet<&Id> = stated.active().flat_map(|requirement| &requirement.links).collect();
    let is_unused = |one: &&Statement| !one.is_retired && !used.contains(&one.id);
    for criterion in stated.criteria.iter().filter(is_unused) {
        let message = format!("no requirement names {}", criterion.id);
        let fix = "name it in the row of the one that stands on it";
        findings.add(Rule::CriterionUnused, criterion.line, message, fix);
    }
}

fn words(stated: &Requirements, findings: &mut Findings<'_>) {
    let has_form = |criterion: &&Statement| FORM.iter().any(|word| has_word(&criterion.text, word));
    let formed = stated.criteria.iter().filter(has_form).count();
    // Criteria may be written in any language.
    if formed > 0 && formed * 2 >= stated.criteria.len() {
        for criterion in stated.criteria.iter().filter(|criterion| !has_form(criterion)) {
            let message = format!("{} names no situation and result", criterion.id);
            findings.add(
                Rule::CriterionForm,
                criterion.line,
                message,
                "write WHEN … THE … SHALL …",
            );
        }
    }
    for statement in stated.criteria.iter().chain(stated.active()) {
        let text = without_code(&statement.text).to_lowercase();
        let has_number = text.contains(|c: char| c.is_ascii_digit())
            || statement
                .target
                .as_ref()
                .is_some_and(|text| text.contains(|c: char| c.is_ascii_digit()));
        let vague = VAGUE.iter().find(|word| has_word(&text, word));
        if let Some(word) = vague.filter(|_| !has_number) {
            let message = format!("\"{word}\" in {} can be checked by nobody", statement.id);
            findings.add(Rule::VagueWord, statement.line, message, "say it with a number, or not");
        }
    }
}

/// Every name, flag, path, address and number of the goal comes up.
fn goal(outline: &Outline, spec: &Spec<'_>, findings: &mut Findings<'_>) {
    let Some(goal) = spec.texts.goal else { return };
    let facts = goal_facts(goal);
    if facts.is_empty() {
        return;
    }
    let is_elsewhere =
        |title: &str| ["Goal", "Open Questions", "Unresolved Questions"].contains(&title);
    let says =
        |line: &&crate::spec::outline::DocLine| !outline.titles_above(line).any(is_elsewhere);
    let stated: Vec<&str> =
        outline.lines.iter().filter(says).map(|line| line.text.as_str()).collect();
    let stated = stated.join("\n").to_lowercase();
    let line = outline.section(&["Functional Requirements"]).map_or(1, |section| section.line);
    for fact in facts.iter().filter(|fact| !stated.contains(&fact.to_lowercase())) {
        let message = format!("the goal names \"{fact}\", and nothing here does");
        let fix = "state it as a requirement, or under Out of Scope";
        findings.add(Rule::GoalFactLost, line, message, fix);
    }
}

/// The longest goal that is looked at.
const LONGEST_GOAL: usize = 64 * 1024;
/// How many facts of a goal count.
const MOST_FACTS: usize = 100;

/// What of a goal can be looked for word by word: code, quotations, flags, paths,
/// addresses, and numbers with their units.
pub(super) fn goal_facts(goal: &str) -> Vec<String> {
    let goal = crate::line::head(goal, LONGEST_GOAL);
    let mut facts: Vec<String> = Vec::new();
    let mut add = |fact: &str| {
        let fact = fact.trim_matches(|c: char| ",;:.!?()[]\"'“”".contains(c));
        if facts.len() < MOST_FACTS
            && fact.len() > 1
            && fact.len() < 80
            && !facts.iter().any(|known| known == fact)
        {
            facts.push(fact.to_owned());
        }
    };
    for mark in ['`', '"'] {
        if goal.matches(mark).count().is_multiple_of(2) {
            goal.split(mark).skip(1).step_by(2).for_each(&mut add);
        }
    }
    let words: Vec<&str> = goal.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let bare = word.trim_matches(|c: char| ",;:.!?()[]\"'`".contains(c));
        let is_flag = bare.starts_with("--") && bare.len() > 3;
        let is_path = bare.contains('/') && bare.contains('.') || bare.contains("://");
        if is_flag || is_path {
            add(bare);
        }
        let is_number = bare.parse::<f64>().is_ok();
        let unit =
            words.get(at + 1).map(|unit| unit.trim_matches(|c: char| ",;:.!?()".contains(c)));
        match unit.filter(|unit| is_number && is_unit(unit)) {
            Some(unit) => add(&format!("{bare} {unit}")),
            None if has_unit(bare) => add(bare),
            None => {}
        }
    }
    facts
}

const UNITS: &[&str] = &[
    "ms",
    "s",
    "sec",
    "second",
    "seconds",
    "min",
    "minute",
    "minutes",
    "h",
    "hour",
    "hours",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "b",
    "kb",
    "mb",
    "gb",
    "tb",
    "bytes",
    "%",
    "percent",
    "px",
    "times",
    "users",
    "requests",
    "characters",
    "lines",
    "files",
];

fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.to_lowercase().as_str())
}

/// Whether a word is a number with its unit behind it: `15min`.
fn has_unit(word: &str) -> bool {
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(0);
    digits > 0 && word.starts_with(|c: char| c.is_ascii_digit()) && is_unit(&word[digits..])
}

//! An epic: a goal that is cut into specs, each of which can be built and used without
//! those behind it.
//!
//! `epic.md` names the specs, what they depend on, and the contracts between them. Reading
//! never fails; [`judge`] names what is wrong. How far each spec has come is never written
//! in it: that follows from the boxes of its plan.

mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::authoring::name::{is_name, name_of};
use crate::check::Severity;
use crate::digest::Digest;

pub use self::read::current;

/// An epic as its document says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Epic {
    /// Its title, without `Epic:` in front.
    pub title: String,
    /// What it is for.
    pub vision: String,
    /// What stands below Success Criteria.
    pub success: String,
    /// Its specs, in their order.
    pub specs: Vec<Part>,
}

/// A spec of an epic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// The line of its heading, from 1.
    pub line: usize,
    /// What it is for.
    pub goal: String,
    /// What is to be true then, an item each.
    pub criteria: Vec<String>,
    /// What belongs to it.
    pub inside: String,
    /// What does not.
    pub outside: String,
    /// The specs that it needs, with the line that says so.
    pub needs: Vec<(String, usize)>,
    /// What others may build on.
    pub exposes: Vec<Contract>,
    /// What it builds on, with the line that says so.
    pub consumes: Vec<(String, usize)>,
    /// S, M or L, if it says so.
    pub size: Option<String>,
}

/// Something that one spec promises and others build on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contract {
    /// What it is called.
    pub name: String,
    /// Its exact shape, as it is written.
    pub shape: String,
    /// Its line, from 1.
    pub line: usize,
}

macro_rules! rules {
    ($($rule:ident $name:literal $severity:ident $about:literal;)*) => {
        /// What an epic is judged by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $about] $rule,)*
        }

        impl Rule {
            /// All rules, in their order.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)*];

            /// The name that messages use.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)* }
            }

            /// How bad a finding is.
            pub fn severity(self) -> Severity {
                match self { $(Rule::$rule => Severity::$severity,)* }
            }

            /// What it looks for.
            pub fn about(self) -> &'static str {
                match self { $(Rule::$rule => $about,)* }
            }
        }
    };
}

rules! {
    EpicSize "epic-size" Error "fewer than two specs, or more than eight";
    SpecName "spec-name" Error "a name with anything but small letters, digits and single hyphens";
    SpecTwice "spec-twice" Error "two specs have one name";
    SpecTaken "spec-taken" Error "there is a spec of this name that is not the epic's";
    SpecWithoutGoal "spec-without-goal" Error "a spec says nothing under Goal";
    SpecWithoutCriteria "spec-without-criteria" Error "a spec has no acceptance criterion";
    DependencyUnknown "dependency-unknown" Error "a spec needs one that the epic does not have";
    DependencyCycle "dependency-cycle" Error "specs need each other in a circle";
    ContractTwice "contract-twice" Error "two specs expose a contract of one name";
    ContractOpen "contract-open" Error "a spec consumes what no spec exposes that it needs, directly or not";
    ContractUnused "contract-unused" Warning "a contract is neither consumed nor named in Success Criteria";
}

/// Something to be fixed in an epic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Its line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub fix: String,
}

/// The fewest and the most specs.
const FEWEST: usize = 2;
const MOST: usize = 8;

/// Everything that is to be fixed, in the order of the lines. `is_taken` knows the specs
/// of the project that are none of the epic's.
pub fn judge(epic: &Epic, is_taken: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |rule, line, message: String, fix: &str| {
        found.push(Finding { rule, line, message, fix: fix.to_owned() });
    };
    let count = epic.specs.len();
    if !(FEWEST..=MOST).contains(&count) {
        let line = epic.specs.get(MOST).map_or(1, |part| part.line);
        let fix = if count > MOST {
            "cut the goal into two epics"
        } else {
            "name each below `## Specs` as `### 1. name`; a single spec needs no epic"
        };
        add(Rule::EpicSize, line, format!("the epic has {count} specs"), fix);
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut exposed: BTreeMap<&str, &str> = BTreeMap::new();
    for part in &epic.specs {
        let (name, line) = (part.name.as_str(), part.line);
        if !is_name(name) {
            let fix = format!("call it {}", name_of(name));
            add(Rule::SpecName, line, format!("\"{name}\" is no name for a spec"), &fix);
        } else if !names.insert(name) {
            add(Rule::SpecTwice, line, format!("{name} is named twice"), "give one another name");
        } else if is_taken(name) {
            let message = format!("there is a spec {name} already");
            add(Rule::SpecTaken, line, message, "give this one another name");
        }
        if part.goal.is_empty() {
            add(Rule::SpecWithoutGoal, line, format!("{name} has no goal"), "add `**Goal**: …`");
        }
        if part.criteria.is_empty() {
            let fix = "add `**Acceptance Criteria**:` with an item each";
            add(Rule::SpecWithoutCriteria, line, format!("{name} has no criterion"), fix);
        }
        for contract in &part.exposes {
            match exposed.get(contract.name.as_str()) {
                None => {
                    exposed.insert(&contract.name, name);
                }
                Some(other) => {
                    let message = format!("{other} and {name} both expose `{}`", contract.name);
                    add(Rule::ContractTwice, contract.line, message, "give one another name");
                }
            }
        }
    }
    for part in &epic.specs {
        let name = &part.name;
        for (need, line) in part.needs.iter().filter(|(need, _)| epic.spec(need).is_none()) {
            let message = format!("{name} needs {need}, which is no spec of this epic");
            add(Rule::DependencyUnknown, *line, message, "name one of the specs here, or none");
        }
        let all = epic.all_needs(name);
        if all.contains(name.as_str()) {
            let message = format!("{name} needs itself, by way of what it needs");
            let line = part.needs.first().map_or(part.line, |(_, line)| *line);
            let fix = "put what they share into a spec that comes first";
            add(Rule::DependencyCycle, line, message, fix);
        }
        for (wanted, line) in &part.consumes {
            let by = exposed.get(wanted.as_str());
            if by.is_none_or(|by| *by == name || !all.contains(by)) {
                let (message, fix) = match by {
                    Some(by) if *by != name => (
                        format!("{name} consumes `{wanted}` of {by}, which it does not need"),
                        format!("add {by} to its Dependencies"),
                    ),
                    _ => (
                        format!("{name} consumes `{wanted}`, which no other spec exposes"),
                        "expose it, with its exact shape, where it is built".to_owned(),
                    ),
                };
                add(Rule::ContractOpen, *line, message, &fix);
            }
        }
    }
    for contract in epic.specs.iter().flat_map(|part| &part.exposes) {
        let is_consumed = epic
            .specs
            .iter()
            .any(|part| part.consumes.iter().any(|(name, _)| *name == contract.name));
        if !is_consumed && !epic.success.contains(&contract.name) {
            let message = format!("nothing consumes `{}`", contract.name);
            let fix = "name it in Success Criteria if people use it, or leave it out";
            add(Rule::ContractUnused, contract.line, message, fix);
        }
    }
    found.sort_by_key(|finding| (finding.line, finding.rule));
    found
}

/// How far a spec has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Nobody has begun.
    Pending,
    /// Some of it is done, or a loop is under way.
    InProgress,
    /// Every box is ticked.
    Completed,
}

impl Progress {
    /// As it stands in `.epic-state.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Progress::Pending => "pending",
            Progress::InProgress => "in_progress",
            Progress::Completed => "completed",
        }
    }
}

impl Epic {
    /// The spec with a name.
    pub fn spec(&self, name: &str) -> Option<&Part> {
        self.specs.iter().find(|part| part.name == name)
    }

    /// The names of all specs that one needs, directly or not; its own if it stands in a
    /// circle.
    pub fn all_needs(&self, name: &str) -> BTreeSet<&str> {
        let mut all = BTreeSet::new();
        let mut open = vec![name];
        while let Some(next) = open.pop().and_then(|name| self.spec(name)) {
            for (need, _) in &next.needs {
                if let Some(part) = self.spec(need)
                    && all.insert(part.name.as_str())
                {
                    open.push(&part.name);
                }
            }
        }
        all
    }

    /// What is worked next: what is in progress, or else the first spec whose needs are
    /// complete. Those that are passed over are not taken.
    pub fn next(
        &self,
        progress: &dyn Fn(&str) -> Progress,
        passed_over: &BTreeSet<String>,
    ) -> Option<&Part> {
        let is_ready = |part: &&Part| {
            let needs = part.needs.iter().all(|(need, _)| progress(need) == Progress::Completed);
            needs && !passed_over.contains(&part.name)
        };
        let with = |wanted: Progress| {
            self.specs.iter().filter(is_ready).find(|part| progress(&part.name) == wanted)
        };
        with(Progress::InProgress).or_else(|| with(Progress::Pending))
    }

    /// What a spec of the epic is asked for: its goal, its criteria and its contracts, word
    /// for word.
    pub fn goal_of(&self, part: &Part) -> String {
        let mut text = format!("# Goal: {}\n\n{}\n", part.name, part.goal);
        let mut section = |title: &str, content: &str| {
            if !content.is_empty() {
                text.push_str(&format!("\n## {title}\n\n{}\n", content.trim_end()));
            }
        };
        let list = |items: Vec<String>| -> String {
            items.into_iter().map(|item| format!("- {item}\n")).collect()
        };
        section("Acceptance Criteria", &list(part.criteria.clone()));
        section("In Scope", &part.inside);
        section("Out of Scope", &part.outside);
        let shape = |contract: &Contract| format!("`{}`: {}", contract.name, contract.shape);
        section("Exposes", &list(part.exposes.iter().map(shape).collect()));
        let consumed = part.consumes.iter().map(|(name, _)| {
            let by = self.specs.iter().find_map(|other| {
                let contract = other.exposes.iter().find(|contract| contract.name == *name)?;
                Some(format!("{} (exposed by {})", shape(contract), other.name))
            });
            by.unwrap_or_else(|| format!("`{name}`"))
        });
        section("Consumes", &list(consumed.collect()));
        text
    }

    /// `.epic-state.json`, for others to read.
    pub fn state_text(
        &self,
        name: &str,
        progress: &dyn Fn(&str) -> Progress,
        plans: &BTreeMap<String, String>,
    ) -> String {
        let specs = self.specs.iter().map(|part| {
            let needs: Vec<&str> = part.needs.iter().map(|(need, _)| need.as_str()).collect();
            let mut spec = json!({
                "name": part.name,
                "status": progress(&part.name).as_str(),
                "dependencies": needs,
            });
            if let Some(plan) = plans.get(&part.name) {
                spec["plan"] = json!(plan);
            }
            spec
        });
        let state = json!({"name": name, "specs": specs.collect::<Vec<_>>()});
        format!("{state:#}\n")
    }
}

/// The digests of the plans that were made when an epic was approved, by spec; nothing if
/// the state says nothing of them.
pub fn plans_of_state(text: &[u8]) -> BTreeMap<String, String> {
    let state: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
    let specs = state["specs"].as_array().into_iter().flatten();
    let plan = |spec: &serde_json::Value| {
        Some((spec["name"].as_str()?.to_owned(), spec["plan"].as_str()?.to_owned()))
    };
    specs.filter_map(plan).collect()
}

/// What is kept of a plan that was made, to know later whether somebody has edited it.
pub fn plan_digest(plan: &[u8]) -> String {
    Digest::of(plan).hex()
}

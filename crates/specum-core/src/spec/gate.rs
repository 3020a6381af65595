//! The gate: is a document good enough to be built on?
//!
//! [`judge`] looks at one document, at the others and at what is known of the project,
//! and gives everything that is to be fixed: the rule, the line, what is wrong, what would
//! be right. It runs nothing; what commands have done is a fact like others. The rules
//! are one table, [`Rule::ALL`], which `docs/gates.md` shows.

mod common;
mod design;
#[cfg(test)]
mod mutants;
mod requirements;
mod tasks;
#[cfg(test)]
mod tests;
mod verify;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::design::Design;
use super::id::Id;
use super::outline::Outline;
use super::red::FirstRun;
use super::requirements::Requirements;
#[cfg(test)]
use super::samples;
use super::{Doc, Texts};
#[cfg(test)]
use crate::authoring::Profile;
use crate::check::Severity;
use crate::tasks::{Command, Lookup, Program, TaskFile};

macro_rules! rules {
    ($($rule:ident $name:literal $severity:ident $about:literal;)*) => {
        /// What a document is judged by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $about] $rule,)*
        }

        impl Rule {
            /// All rules, in the order of the documents.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)*];

            /// The name that messages and settings use.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)* }
            }

            /// How bad a finding is unless the settings say otherwise.
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
    MissingSection "missing-section" Error "a section of the form is not there";
    EmptySection "empty-section" Error "a section says nothing; \"None: why\" says something";
    Placeholder "placeholder" Error "`{{…}}`, TBD, TODO or `[NEEDS CLARIFICATION]` outside of code";
    FenceOpen "fence-open" Error "a code fence is not closed";
    TooLong "too-long" Warning "the document is longer than its cap; an error at twice the cap";
    QuestionForm "question-form" Error "a question has no id, not two to four answers, not one default, or affects what nobody states";
    TooManyQuestions "too-many-questions" Error "more than four questions are open";
    QuestionOpen "question-open" Error "a question is open although the next document is written";
    FactWithoutSource "fact-without-source" Error "a fact names no file or line that exists, or no address";
    IdMalformed "id-malformed" Error "an id is misspelt";
    IdDuplicate "id-duplicate" Error "an id is stated twice";
    IdDangling "id-dangling" Error "a requirement names a criterion that nobody states";
    IdLost "id-lost" Error "an id that was approved is gone and not marked (retired)";
    StoryWithoutCriteria "story-without-criteria" Error "a story has no acceptance criterion";
    RequirementWithoutCriteria "requirement-without-criteria" Error "a functional requirement names no criterion";
    CriterionUnused "criterion-unused" Warning "no requirement names a criterion";
    NoMeasure "no-measure" Error "the target of a non-functional requirement has no number";
    OutOfScopeEmpty "out-of-scope-empty" Error "nothing is said to be out of scope";
    GoalFactLost "goal-fact-lost" Error "a name, flag, path or number of the goal comes up nowhere";
    CriterionForm "criterion-form" Warning "a criterion has no situation and result, where the others have";
    VagueWord "vague-word" Warning "a word such as fast or robust, without a number";
    TooMany "too-many" Warning "more than 7 stories or 25 criteria";
    RequirementWithoutComponent "requirement-without-component" Error "no component is there for a requirement; a warning for a non-functional one";
    ComponentWithoutRequirement "component-without-requirement" Error "a component names no requirement";
    FileAction "file-action" Error "a file to be modified or deleted is not there, or one to be created is";
    PathOutside "path-outside" Error "a planned path leads out of the project";
    DecisionOpen "decision-open" Warning "a decision has no choice";
    RequirementUncovered "requirement-uncovered" Error "no task names a requirement or one of its criteria";
    ComponentUncovered "component-uncovered" Error "no task names a component";
    FileUnplanned "file-unplanned" Warning "a planned file is in no task";
    LinkUnknown "link-unknown" Error "a task names an id that nobody states";
    TaskForm "task-form" Error "a task lacks Do, Files, Done when, Verify or Commit";
    TooManySteps "too-many-steps" Warning "a task has more than 10 steps; an error at twice that";
    TooManyFiles "too-many-files" Warning "a task names more than 6 files; an error at twice that";
    FileOrder "file-order" Error "a task uses a file that a later task makes";
    ParallelOverlap "parallel-overlap" Error "`[P]` neighbours name the same file";
    ParallelOrder "parallel-order" Error "a `[P]` task uses a file that its neighbour makes";
    NoFinalCheck "no-final-check" Error "the last phase runs no command of the project's own";
    ManualWords "manual-words" Error "Verify or Done when asks for a person";
    PlanTooLarge "plan-too-large" Warning "the plan has more than 40 tasks";
    VerifyMissing "verify-missing" Error "a task has no Verify";
    VerifyProse "verify-prose" Error "a Verify has no command";
    VerifySyntax "verify-syntax" Error "the shell cannot read a command";
    VerifyCannotFail "verify-cannot-fail" Error "a command succeeds whatever happens";
    VerifyProgram "verify-program" Error "a program is not there, and no task makes it";
    VerifyTarget "verify-target" Error "a script or target is in no manifest";
    VerifyMachinePath "verify-machine-path" Error "a path of one machine, or of its temporary folder";
    VerifyOpenEnded "verify-open-ended" Warning "a command that does not end by itself";
    VerifySelf "verify-self" Error "a command that reads the spec's own documents";
    VerifyGreen "verify-green" Error "a check that passes before the work is done proves nothing";
    VerifyBroken "verify-broken" Warning "a check fails because it cannot be run";
}

impl Rule {
    /// The rule with this name.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.name() == name)
    }

    /// Whether [`crate::check`] tells the same of a plan that was written by hand.
    pub fn is_in_check(self) -> bool {
        matches!(
            self,
            Rule::TaskForm
                | Rule::ParallelOverlap
                | Rule::VerifyMissing
                | Rule::VerifyProse
                | Rule::VerifySyntax
                | Rule::VerifyCannotFail
                | Rule::VerifyProgram
        )
    }
}

/// Something to be fixed in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// How bad.
    pub severity: Severity,
    /// Its line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub fix: String,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing.
    Missing,
    /// A folder.
    Folder,
    /// A file, with so many lines.
    File(usize),
}

/// What a manifest lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manifest {
    /// The scripts of `package.json`.
    Npm,
    /// The targets of a Makefile.
    Make,
    /// The recipes of a justfile.
    Just,
    /// The packages of a Cargo workspace.
    Cargo,
}

/// What is known of the project around a spec.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// What a path from the project's root leads to.
    pub look: &'a dyn Fn(&str) -> Look,
    /// Which programs there are.
    pub lookup: Lookup<'a>,
    /// Why the shell cannot read a command.
    pub syntax: &'a dyn Fn(&Command) -> Option<String>,
    /// What a manifest lists; `None` if that cannot be told.
    pub targets: &'a dyn Fn(Manifest) -> Option<BTreeSet<String>>,
    /// What the checks did before the work, by the name of the task.
    pub first_runs: &'a BTreeMap<String, FirstRun>,
    /// The ids that were approved.
    pub approved: &'a BTreeSet<Id>,
    /// The spec's folder, from the project's root.
    pub folder: &'a str,
}

impl Facts<'_> {
    /// Nothing is known: every program is there, and every file is missing.
    pub fn none() -> Facts<'static> {
        static NO_RUNS: BTreeMap<String, FirstRun> = BTreeMap::new();
        static NO_IDS: BTreeSet<Id> = BTreeSet::new();
        Facts {
            look: &|_| Look::Missing,
            lookup: &|_| Program::Found,
            syntax: &|_| None,
            targets: &|_| None,
            first_runs: &NO_RUNS,
            approved: &NO_IDS,
            folder: "",
        }
    }
}

/// What a project makes of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It is not looked at.
    Off,
    /// A finding is a warning.
    Warn,
    /// A finding is an error.
    Error,
}

/// How strict the gate is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether specum had the documents written. Of those that people have written, what
    /// is no error in the plan itself is a warning.
    pub is_authored: bool,
    /// What the settings say of single rules.
    pub levels: BTreeMap<Rule, Level>,
}

impl Policy {
    /// How bad a finding of a rule is, that would be this bad by itself.
    fn severity(&self, rule: Rule, severity: Severity) -> Option<Severity> {
        match self.levels.get(&rule) {
            Some(Level::Off) => None,
            Some(Level::Warn) => Some(Severity::Warning),
            Some(Level::Error) => Some(Severity::Error),
            None if !self.is_authored && rule.is_in_check() => None,
            None if !self.is_authored => Some(Severity::Warning),
            None => Some(severity),
        }
    }
}

/// The documents of a spec, each read when it is asked for.
pub struct Spec<'a> {
    /// The texts.
    pub texts: Texts<'a>,
    outlines: [OnceCell<Outline>; 4],
    requirements: OnceCell<Option<Requirements>>,
    design: OnceCell<Option<Design>>,
    tasks: OnceCell<Option<TaskFile<'a>>>,
}

impl<'a> Spec<'a> {
    /// The documents with these texts.
    pub fn of(texts: Texts<'a>) -> Spec<'a> {
        Spec {
            texts,
            outlines: Default::default(),
            requirements: OnceCell::new(),
            design: OnceCell::new(),
            tasks: OnceCell::new(),
        }
    }

    /// A document, cut into sections.
    pub fn outline(&self, doc: Doc) -> Option<&Outline> {
        let text = self.texts.get(doc)?;
        Some(self.outlines[doc as usize].get_or_init(|| Outline::scan(text)))
    }

    /// What `requirements.md` states, or else the plan itself, if either is written in
    /// our form.
    pub fn requirements(&self) -> Option<&Requirements> {
        let read = || {
            let doc = self.requirements_doc()?;
            let found = Requirements::of(self.outline(doc)?);
            found.is_ours().then_some(found)
        };
        self.requirements.get_or_init(read).as_ref()
    }

    /// The document that states the requirements.
    pub fn requirements_doc(&self) -> Option<Doc> {
        let docs = [Doc::Requirements, Doc::Tasks];
        docs.into_iter().find(|doc| self.texts.get(*doc).is_some())
    }

    /// What `design.md` says.
    pub fn design(&self) -> Option<&Design> {
        let read = || self.outline(Doc::Design).map(Design::of);
        self.design.get_or_init(read).as_ref()
    }

    /// The plan.
    pub fn tasks(&self) -> Option<&TaskFile<'a>> {
        self.tasks.get_or_init(|| self.texts.tasks.map(TaskFile::scan)).as_ref()
    }
}

/// Collects findings about one document.
struct Findings<'p> {
    policy: &'p Policy,
    found: Vec<Finding>,
}

impl Findings<'_> {
    /// Whether a finding of a rule is told.
    fn wants(&self, rule: Rule) -> bool {
        self.policy.severity(rule, rule.severity()).is_some()
    }

    fn add(&mut self, rule: Rule, line: usize, message: impl Into<String>, fix: impl Into<String>) {
        self.add_as(rule, rule.severity(), line, message, fix);
    }

    /// The same where the severity depends on how far a limit is exceeded, or on what is
    /// concerned.
    fn add_as(
        &mut self,
        rule: Rule,
        severity: Severity,
        line: usize,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        if let Some(severity) = self.policy.severity(rule, severity) {
            let (message, fix) = (message.into(), fix.into());
            self.found.push(Finding { rule, severity, line, message, fix });
        }
    }
}

/// Everything that is to be fixed in a document, in the order of its lines. A document
/// that is not there has no findings.
pub fn judge(doc: Doc, spec: &Spec<'_>, facts: &Facts<'_>, policy: &Policy) -> Vec<Finding> {
    let mut findings = Findings { policy, found: Vec::new() };
    let Some(outline) = spec.outline(doc) else { return Vec::new() };
    match doc {
        Doc::Research => {
            common::judge(doc, outline, spec, &mut findings);
            common::research(outline, facts, &mut findings);
        }
        Doc::Requirements => {
            // A file of this name may be another tool's.
            if policy.is_authored || spec.requirements().is_some() {
                common::judge(doc, outline, spec, &mut findings);
                requirements::judge(outline, spec, facts, &mut findings);
            }
        }
        Doc::Design => {
            if policy.is_authored || spec.design().is_some_and(Design::is_ours) {
                common::judge(doc, outline, spec, &mut findings);
                design::judge(spec, facts, &mut findings);
            }
        }
        Doc::Tasks => {
            let is_linked = policy.is_authored || spec.requirements().is_some();
            if is_linked {
                common::judge(doc, outline, spec, &mut findings);
            }
            if let Some(file) = spec.tasks().filter(|file| !file.tasks.is_empty()) {
                let planned = tasks::planned(file, facts);
                tasks::judge(spec, &planned, facts, is_linked, &mut findings);
                verify::judge(&planned, facts, is_linked, &mut findings);
            }
        }
    }
    let mut found = findings.found;
    found.sort_by_key(|finding| (finding.line, finding.rule));
    found
}

//! Attempts that end without a judgement in the user's tree: given up, failed
//! where they were worked, or set aside.

use std::path::Path;

use specum_core::agent::Trouble;
use specum_core::attempt::{Attempt, Ending, Judgement, question, suite_question};
use specum_core::journal::Entry;
use specum_core::line;
use specum_core::machine::{self, Event};
use specum_core::tasks;
use specum_core::verify::{
    self, CheckRun, CommitRun, Evidence, Failure, FailureClass, Proof, Verdict,
};

use super::judge::{By, KEPT_EVIDENCE, evidence, foreign_ticks};
use super::modify::Asked;
use super::review::{review, without_ticks};
use super::{AttemptError, Workspace};
use crate::git;

/// Work that was examined in its worktree, outside the user's tree.
#[derive(Debug)]
pub struct Trial {
    /// What the layers say.
    pub verdict: Verdict,
    /// The end of the Verify command's output.
    pub output: String,
    /// What the attempt has left in the user's tree.
    pub left: Vec<String>,
    /// What became of the check, if there was one.
    pub check: CheckRun,
    /// What its executor asks of the plan.
    pub asked: Option<Asked>,
}

impl Trial {
    fn unchecked(verdict: Verdict, left: Vec<String>) -> Trial {
        Trial { verdict, output: String::new(), left, check: CheckRun::Unverified, asked: None }
    }
}

impl Workspace {
    /// Ends an attempt as failed on somebody's word, without a check: the one who
    /// worked it broke off.
    pub fn give_up(&self, opened: &Attempt, reason: &str) -> Result<Judgement, AttemptError> {
        let left = self.changed_by(opened, &self.tree()?)?;
        let message = line::head(reason, KEPT_EVIDENCE).to_owned();
        let failures = vec![Failure { class: FailureClass::NoSignal, message }];
        let verdict = Verdict::failed(failures);
        self.fail(opened, Trial::unchecked(verdict, left), By::Verb)
    }

    /// Ends an attempt of a run as failed, for a reason that lies with the
    /// agent.
    pub fn give_up_on(
        &self,
        opened: &Attempt,
        trouble: &Trouble,
        left: Vec<String>,
    ) -> Result<Judgement, AttemptError> {
        let failures = vec![Failure { class: trouble.class(), message: trouble.message() }];
        let verdict = Verdict::failed(failures);
        self.fail(opened, Trial::unchecked(verdict, left), By::Run)
    }

    /// Lets the loop wait for a person, with the reason.
    pub fn pause(&self, why: &str) -> Result<(), AttemptError> {
        let locked = self.store.lock()?;
        let view = locked.read()?;
        if let Some(state) = &view.state {
            let why = Some(why.to_owned());
            let step = machine::step(state, &view.file(), Event::Pause { why: why.clone() });
            locked.write_step(Entry::Paused { why, branch: None }, &step)?;
        }
        Ok(())
    }

    /// Examines work in the worktree where it was done.
    pub fn try_work(
        &self,
        opened: &Attempt,
        result: &str,
        root: &Path,
        changed: &[String],
    ) -> Result<Trial, AttemptError> {
        let check = self.check_in(opened, root)?;
        Ok(self.weigh(opened, result, check, changed))
    }

    /// Runs the check of an attempt in its worktree.
    pub fn check_in(&self, opened: &Attempt, root: &Path) -> Result<CheckRun, AttemptError> {
        Ok(self.run_check(self.check_of(opened)?.as_ref(), root))
    }

    /// What is to be said of work with such a check.
    pub fn weigh(
        &self,
        opened: &Attempt,
        result: &str,
        check: CheckRun,
        changed: &[String],
    ) -> Trial {
        let files = self.in_repository(opened.fields().files);
        // What would not come along is not dropped in silence.
        let cannot = git::cannot_be_committed(changed, &[]);
        let verdict = verify::judge(&Evidence {
            role: opened.role,
            result,
            check: check.clone(),
            files: &files,
            changed,
            proofs: &[],
            commit: CommitRun::Cannot(cannot),
        });
        let asked = if verdict.passed() { None } else { self.asked(opened, result) };
        Trial { verdict, output: evidence(&check), left: Vec::new(), check, asked }
    }

    /// Defers an attempt whose changes conflict with the files.
    pub fn set_aside(
        &self,
        opened: &Attempt,
        reason: String,
        output: String,
    ) -> Result<Judgement, AttemptError> {
        let failures = vec![Failure { class: FailureClass::Verify, message: reason }];
        let verdict = Verdict { proof: Proof::Check, ..Verdict::failed(failures) };
        let tried = Trial { output, ..Trial::unchecked(verdict, Vec::new()) };
        self.fail(opened, tried, By::OnTop)
    }

    /// Ends an attempt that did not pass.
    pub fn fail(
        &self,
        opened: &Attempt,
        tried: Trial,
        by: By<'_>,
    ) -> Result<Judgement, AttemptError> {
        let locked = self.store.lock()?;
        let mut reviewed = review(&self.store, &locked, locked.read()?)?;
        self.review_suite(&locked, &mut reviewed, false)?;
        self.tell(&mut reviewed);
        let view = &reviewed.view;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        let file = view.file();
        let opened = &self.renamed(opened)?;
        self.is_still_open(state, opened, by)?;
        let task = match file.find(&opened.key) {
            tasks::TaskMatch::Same(index) | tasks::TaskMatch::Retitled(index) => Some(index),
            tasks::TaskMatch::Gone => None,
        };
        let verdict = tried.verdict;
        let asked = question(&reviewed.plan_record, &opened.key, task.is_none(), &verdict);
        let occasion = self.occasion(opened, by)?;
        let asked = asked.or_else(|| suite_question(&reviewed.plan_record, &verdict, &tried.check));
        let ending = Ending::of(&verdict, asked, occasion)
            .or_halts(|| self.plan_fault(opened, &file, &tried.check));
        let mut judged = Judgement::new(opened, verdict, ending, tried.left);
        judged.output = tried.output;
        let answered = self.weigh_request(&mut judged, tried.asked, &file);
        match task.and_then(|index| judged.ending.event(&judged.verdict, index)) {
            Some(event) => {
                let foreign = foreign_ticks(&reviewed, opened);
                judged.unticked = foreign.iter().map(|key| key.id.clone()).collect();
                let step = without_ticks(state, &file, event, &foreign);
                judged.learn_from(&step);
                locked.write_step_of(&opened.id, self.entry(&judged, opened), &step)?;
                self.record_halt(&locked, &judged)?;
                self.record_answer(&locked, &judged, opened, answered)?;
                self.record_fixes(&locked, &step)?;
            }
            None => locked.record_of(&opened.id, self.entry(&judged, opened))?,
        }
        drop(locked);
        self.copy_left(opened, judged, occasion)
    }
}

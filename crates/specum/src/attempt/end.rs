//! Attempts that end without a judgement in the user's tree: given up, failed
//! where they were worked, or set aside.

use std::path::Path;

use specum_core::agent::Trouble;
use specum_core::journal::{Changes, Entry};
use specum_core::line;
use specum_core::machine::Event;
use specum_core::tasks::{self, TaskEdit, TaskFile, TaskKey};
use specum_core::verify::{self, CommitRun, Evidence, Failure, Layer, Verdict};

use super::judge::{
    By, Judged, KEPT_EVIDENCE, evidence, foreign_ticks, run_check, without_foreign_ticks,
};
use super::{AttemptError, History, Opened, Workspace};
use crate::git;

/// Work that was looked at where it was done, beside the user's tree.
#[derive(Debug)]
pub struct Tried {
    /// What the layers say.
    pub verdict: Verdict,
    /// The kind of failure, in one word; empty if it passed.
    pub class: String,
    /// The end of the Verify command's output.
    pub output: String,
    /// What the attempt has left in the user's tree.
    pub left: Vec<String>,
}

impl Workspace {
    /// Ends an attempt as failed on somebody's word, without a check: whoever
    /// worked it broke off.
    pub fn give_up(&self, opened: &Opened, reason: &str) -> Result<Judged, AttemptError> {
        let left = self.changed_by(opened, &self.tree()?)?;
        let message = line::head(reason, KEPT_EVIDENCE).to_owned();
        let failures = vec![Failure { layer: Layer::Signal, message }];
        let verdict = Verdict::failed(failures);
        let class = verdict.class().to_owned();
        self.fail(opened, Tried { verdict, class, output: String::new(), left }, By::Verb)
    }

    /// Ends an attempt of a run as failed, for a reason that lies with the
    /// agent.
    pub fn give_up_on(
        &self,
        opened: &Opened,
        trouble: &Trouble,
        left: Vec<String>,
    ) -> Result<Judged, AttemptError> {
        let failures = vec![Failure { layer: Layer::Signal, message: trouble.message() }];
        let verdict = Verdict::failed(failures);
        let class = trouble.class().to_owned();
        self.fail(opened, Tried { verdict, class, output: String::new(), left }, By::Run)
    }

    /// Looks at work where it was done, in a tree beside the user's.
    pub fn try_work(
        &self,
        opened: &Opened,
        result: &str,
        root: &Path,
        changed: &[String],
    ) -> Tried {
        let check = run_check(opened.fields().verify.as_ref(), root);
        let files = self.in_repository(opened.fields().files);
        let block = line::readable(&opened.block);
        // What would not come along is not dropped in silence.
        let left = changed.iter().filter(|path| !git::can_be_committed(path)).cloned().collect();
        let verdict = verify::judge(&Evidence {
            role: opened.role,
            result,
            block_before: block.as_bytes(),
            block_after: Some(block.as_bytes()),
            check: check.clone(),
            files: &files,
            changed,
            proofs: &[],
            commit: CommitRun::Left(left),
        });
        let class = verdict.class().to_owned();
        Tried { verdict, class, output: evidence(&check), left: Vec::new() }
    }

    /// Opens the boxes again that were ticked by agents of a run whom nobody got
    /// to judge. A state that they have spoilt does not hold it up.
    pub fn take_back_ticks(&self) -> Result<(), AttemptError> {
        let locked = self.store.lock()?;
        if !self.store.has_state() {
            return Ok(());
        }
        let tasks = self.store.read_tasks()?.unwrap_or_default();
        let file = TaskFile::scan(&tasks);
        let journal = self.store.read_journal()?;
        let history = History(&journal);
        let mut ticked: Vec<TaskKey> = Vec::new();
        for (opened, _) in history.unsettled() {
            let passed = history.passed_since(&opened);
            let keys = file.ticked_since(&opened.ticks).into_iter().map(tasks::Task::key);
            ticked.extend(keys.filter(|key| !passed.contains(&key.id.as_str())));
        }
        ticked.dedup();
        if ticked.is_empty() {
            return Ok(());
        }
        let names = ticked.iter().map(|key| key.id.clone()).collect();
        let edits = ticked.into_iter().map(TaskEdit::Untick).collect();
        let changes = Changes { tasks: edits, ..Changes::default() };
        Ok(locked.write(Entry::Unticked { tasks: names }, changes)?)
    }

    /// Sets an attempt aside whose work does not even fit into the files.
    pub fn set_aside(
        &self,
        opened: &Opened,
        reason: String,
        output: String,
    ) -> Result<Judged, AttemptError> {
        let failures = vec![Failure { layer: Layer::Verify, message: reason.clone() }];
        let verdict = Verdict { unverified: false, ..Verdict::failed(failures) };
        let class = "conflict".to_owned();
        self.end(opened, Tried { verdict, class, output, left: Vec::new() }, By::OnTop, |index| {
            Event::SetAside { index, reason }
        })
    }

    /// Ends an attempt as failed.
    pub fn fail(&self, opened: &Opened, tried: Tried, by: By<'_>) -> Result<Judged, AttemptError> {
        let reason = tried.verdict.reason();
        self.end(opened, tried, by, |index| Event::Fail { index, reason })
    }

    fn end(
        &self,
        opened: &Opened,
        tried: Tried,
        by: By<'_>,
        event: impl FnOnce(usize) -> Event,
    ) -> Result<Judged, AttemptError> {
        let locked = self.store.lock()?;
        let view = locked.read()?;
        let state =
            view.state.as_ref().ok_or_else(|| AttemptError::NoLoop(self.spec.name.clone()))?;
        let file = view.file();
        let journal = self.store.read_journal()?;
        self.is_still_open(state, opened, by, &journal)?;
        let (tasks::Found::Same(index) | tasks::Found::Retitled(index)) = file.find(&opened.key)
        else {
            return Err(AttemptError::NoTask(opened.key.id.clone()));
        };
        let foreign = foreign_ticks(&file, opened, History(&journal));
        let mut judged = Judged::new(opened, tried.verdict, tried.left, &foreign);
        (judged.class, judged.output) = (tried.class, tried.output);
        let event = event(index);
        judged.set_aside = matches!(event, Event::SetAside { .. });
        let step = without_foreign_ticks(state, &file, event, &foreign);
        judged.learn_from(&step);
        locked.write_step(judged.entry(opened), &step)?;
        Ok(judged)
    }
}

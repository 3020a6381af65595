//! Documents in a run: an author works in a worktree, so whatever it does there stays out
//! of the user's tree; its document alone is taken over, and what else it changed is kept
//! under a reference. Without a commit to make one from it works in the tree.

use std::collections::BTreeMap;
use std::path::PathBuf;

use specum_core::agent::Trouble;
use specum_core::authoring::brief::too_large;
use specum_core::authoring::{Profile, Status};
use specum_core::coordinate::{Input, Site};
use specum_core::event::Outcome;
use specum_core::spec::Doc;
use specum_core::spec::red::FirstRun;

use super::crew::{Crew, PassedWork, StartRequest, Work, lock};
use super::worktree::{PreparedWorktree, worktree_name};
use super::{RunError, Tell};
use crate::attempt::{AuthorsWork, NextDocument};
use crate::ops::{self, RedScope};
use crate::process::Handle;

/// The longest document that is taken over from a worktree.
const MAX_DOCUMENT: u64 = 1024 * 1024;

impl Crew<'_> {
    /// Opens the document that is due.
    pub(super) fn open_document(&self) -> Result<Input, RunError> {
        if self.is_planned()? {
            self.workspace.commit_documents()?;
            self.record_news()?;
            return Ok(Input::NothingDue(Outcome::Planned));
        }
        let next = self.workspace.open_document()?;
        self.record_news()?;
        Ok(match next {
            NextDocument::Author(opened) => {
                let opened = [(*opened, Site::Tree)].into_iter();
                Input::Opened(self.works_of(opened)?)
            }
            NextDocument::Approve(doc) => {
                let name = &self.workspace.spec.name;
                let why = format!(
                    "{} is written and waits for your approval: `specum approve {name}`, or \
                     `specum change \"…\"`; then `specum plan {name}` goes on",
                    doc.file()
                );
                Input::NothingDue(Outcome::Waits { why })
            }
            NextDocument::Fix(doc, why) => {
                let why = format!("{why}. Fix {}, then `specum resume`", doc.file());
                Input::NothingDue(Outcome::Blocked { why })
            }
            NextDocument::Paused(Some(why)) => Input::NothingDue(Outcome::Waits { why }),
            NextDocument::Paused(None) => Input::NothingDue(Outcome::Paused),
            NextDocument::Planned => Input::NothingDue(Outcome::Planned),
        })
    }

    /// Whether every document that was asked for is agreed to.
    pub(super) fn is_planned(&self) -> Result<bool, RunError> {
        let Some(planning) = self.workspace.planning()? else { return Ok(false) };
        let until = self.options.plan.and_then(|plan| plan.until).unwrap_or(Doc::Tasks);
        let mut docs = planning.profile.docs().iter().filter(|doc| **doc <= until);
        Ok(docs.all(|doc| planning.document(*doc).status == Status::Approved))
    }

    /// Starts an author.
    pub(super) fn start_author(
        &self,
        request: &StartRequest,
        work: &Work,
        handle: Handle,
        tell: &Tell<'_>,
    ) -> Result<Option<Input>, RunError> {
        let opened = &work.attempt;
        if opened.base().is_none() || self.workspace.git.is_err() {
            let root = &self.workspace.spec.root;
            return self.carry_out(request, work, (root, None), handle, tell);
        }
        let mut place = lock(&work.worktree);
        if place.as_ref().is_none_or(|tree| !tree.is_there(self.workspace).unwrap_or(false)) {
            let name = worktree_name(opened);
            *place = Some(PreparedWorktree::add(self.workspace, &name, opened.base())?);
        }
        let Some(worktree) = place.as_ref() else {
            return Ok(Some(Input::NotStarted(request.launch)));
        };
        self.carry_out(request, work, (&worktree.root, Some(worktree)), handle, tell)
    }

    /// Judges what an author has written.
    pub(super) fn judge_author(
        &self,
        work: &Work,
        doc: Doc,
        passed: &PassedWork,
    ) -> Result<Input, RunError> {
        let opened = &work.attempt;
        let settled = Input::Settled(opened.id.clone());
        let made = self.take_over(work, doc)?;
        let profile = self.workspace.planning()?.map(|planning| planning.profile);
        let too_large = too_large(&passed.report.result);
        if let (Some(Profile::Small), Some(why)) = (profile, too_large) {
            self.workspace.too_large(opened, &why)?;
            self.record_news()?;
            return Ok(settled);
        }
        let text = match &made {
            Some(made) => made.text.clone(),
            None => {
                let path = self.workspace.store.document_path(doc);
                self.workspace.world().disk.read_if_there(&path, MAX_DOCUMENT).ok().flatten()
            }
        };
        let first_runs = self.first_runs(doc, text.as_deref())?;
        if self.stop.is_set() {
            return Ok(Input::BrokenOff(opened.id.clone()));
        }
        self.workspace.judge_document(opened, made.as_ref(), &first_runs)?;
        self.workspace.commit_documents()?;
        self.record_news()?;
        Ok(settled)
    }

    /// Ends a try whose author has failed.
    pub(super) fn give_up_author(&self, work: &Work, trouble: &Trouble) -> Result<Input, RunError> {
        let opened = &work.attempt;
        if let Some(worktree) = lock(&work.worktree).take() {
            self.keep_all(&worktree, opened)?;
            worktree.remove(self.workspace)?;
        }
        self.workspace.fail_document(opened, &trouble.message())?;
        self.record_news()?;
        Ok(Input::Settled(opened.id.clone()))
    }

    /// What an author has left in its worktree, which is removed; `None` if it has worked
    /// in the user's tree.
    fn take_over(&self, work: &Work, doc: Doc) -> Result<Option<AuthorsWork>, RunError> {
        let opened = &work.attempt;
        let Some(worktree) = lock(&work.worktree).take() else { return Ok(None) };
        if !worktree.is_there(self.workspace)? {
            return Ok(Some(AuthorsWork::default()));
        }
        let (path, in_git) = self.document_in(&worktree, doc);
        let disk = &self.workspace.world().disk;
        // A link could bring in any file.
        let is_file = disk.look(&path).is_ok_and(|found| found.is_file());
        let text = match is_file {
            true => disk.read_if_there(&path, MAX_DOCUMENT).unwrap_or_else(|_| Some(vec![0])),
            false => None,
        };
        let mut elsewhere = worktree.changed()?;
        elsewhere.retain(|path| Some(path) != in_git.as_ref());
        let mut kept = elsewhere.clone();
        if self.workspace.was_edited_meanwhile(opened)? {
            let file = doc.file();
            self.workspace.warn(format!(
                "{file} was changed in your tree while its author worked: yours stays"
            ))?;
            kept.extend(in_git);
        }
        if let Some(reference) = self.workspace.keep(&*worktree.git, opened, &kept)? {
            let files = kept.join(", ");
            self.workspace.warn(format!(
                "the author of {} has changed {files} too; that is not in your tree, and kept: \
                 {reference}",
                doc.file()
            ))?;
        }
        worktree.remove(self.workspace)?;
        Ok(Some(AuthorsWork { text, elsewhere }))
    }

    /// Where a document is in a worktree, and how git calls it there.
    fn document_in(&self, worktree: &PreparedWorktree, doc: Doc) -> (PathBuf, Option<String>) {
        let spec = &self.workspace.spec;
        let below = spec.dir.strip_prefix(&spec.root).unwrap_or(&spec.dir);
        let path = worktree.root.join(below).join(doc.file());
        let in_git = path.strip_prefix(worktree.git.root()).ok().map(crate::git::shown);
        (path, in_git)
    }

    /// What the checks of a plan do before the work. A plan that is to be fixed anyway is
    /// not worth the time.
    fn first_runs(
        &self,
        doc: Doc,
        text: Option<&[u8]>,
    ) -> Result<BTreeMap<String, FirstRun>, RunError> {
        let is_wanted = self.options.plan.is_some_and(|plan| plan.red) && doc == Doc::Tasks;
        let Some(text) = text.filter(|_| is_wanted) else { return Ok(BTreeMap::new()) };
        if !self.workspace.is_sound(doc, text)? {
            return Ok(BTreeMap::new());
        }
        let setup = self.options.worktree_setup.as_deref();
        match ops::plan_time_runs(&self.workspace.spec, setup, text, RedScope::All) {
            Ok(runs) => Ok(runs),
            Err(error) => {
                let why = format!("the checks of the plan are not run before the work: {error}");
                self.workspace.warn(why)?;
                Ok(BTreeMap::new())
            }
        }
    }
}

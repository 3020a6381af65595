//! The port to version control, by the `git` program.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use specum_core::patch::Patch;

use super::{ChangedFile, Committed, Forward, Git, GitError, Merge, Programs, Status, Worktree};
use crate::ports::{Listener, Repositories, Repository};

/// The repositories that the `git` program knows.
pub struct LocalRepositories;

impl Repositories for LocalRepositories {
    fn open(&self, dir: &Path) -> Result<Arc<dyn Repository>, GitError> {
        Ok(Arc::new(Git::open(dir)?))
    }

    fn at(&self, root: &Path) -> Arc<dyn Repository> {
        Arc::new(Git::at(root.to_owned()))
    }
}

impl Repository for Git {
    fn root(&self) -> &Path {
        &self.root
    }

    fn head(&self) -> Option<String> {
        Git::head(self)
    }

    fn branch_of_head(&self) -> Option<String> {
        Git::branch_of_head(self)
    }

    fn is_on_shared_branch(&self) -> Result<bool, GitError> {
        Git::is_on_shared_branch(self)
    }

    fn switch(&self, branch: &str) -> Result<bool, GitError> {
        Git::switch(self, branch)
    }

    fn status(&self) -> Result<Status, GitError> {
        Git::status(self)
    }

    fn changed_at(&self, path: &str) -> Option<SystemTime> {
        Git::changed_at(self, path)
    }

    fn tracked(&self) -> Result<HashSet<PathBuf>, GitError> {
        Git::tracked(self)
    }

    fn ignored(&self, paths: &[String]) -> Result<Vec<String>, GitError> {
        Git::ignored(self, paths)
    }

    fn committed_loop(
        &self,
        files: &[PathBuf],
        others: &[PathBuf],
    ) -> Result<Option<String>, GitError> {
        Git::committed_loop(self, files, others)
    }

    fn programs(&self, known: Option<&Programs>) -> Result<Programs, GitError> {
        Git::programs(self, known)
    }

    fn changed_since(&self, commit: &str) -> Result<Vec<String>, GitError> {
        Git::changed_since(self, commit)
    }

    fn changed_between(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        Git::changed_between(self, from, to)
    }

    fn changed_in(&self, commits: &[&str]) -> Result<HashMap<String, Vec<ChangedFile>>, GitError> {
        Git::changed_in(self, commits)
    }

    fn patches_in(
        &self,
        commits: &[&str],
        without: &[String],
    ) -> Result<HashMap<String, Patch>, GitError> {
        Git::patches_in(self, commits, without)
    }

    fn descends(&self, commit: &str, from: &str) -> Result<bool, GitError> {
        Git::descends(self, commit, from)
    }

    fn parent_of(&self, commit: &str) -> Option<String> {
        Git::parent_of(self, commit)
    }

    fn file_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        Git::file_at(self, commit, path)
    }

    fn paths_at(&self, commit: &str, paths: &[String]) -> Result<Vec<String>, GitError> {
        Git::paths_at(self, commit, paths)
    }

    fn commit_since(&self, start: Option<&str>, line: &str) -> Result<Option<String>, GitError> {
        Git::commit_since(self, start, line)
    }

    fn had_file(&self, file: &Path, path: &Path) -> Result<bool, GitError> {
        Git::had_file(self, file, path)
    }

    fn commit(&self, paths: &[String], message: &str) -> Result<Committed, GitError> {
        Git::commit(self, paths, message)
    }

    fn committed(
        &self,
        commit: &str,
        is_untouched: &dyn Fn(&String) -> bool,
    ) -> Result<Committed, GitError> {
        Git::committed(self, commit, &[], is_untouched)
    }

    fn commit_paths(
        &self,
        base: Option<&str>,
        paths: &[String],
        message: &str,
    ) -> Result<String, GitError> {
        Git::commit_paths(self, base, paths, message)
    }

    fn overlay(&self, onto: &str, from: &str, paths: &[String]) -> Result<String, GitError> {
        Git::overlay(self, onto, from, paths)
    }

    fn commit_tree(
        &self,
        files: &str,
        parent: Option<&str>,
        message: &str,
    ) -> Result<String, GitError> {
        Git::commit_tree(self, files, parent, message)
    }

    fn references(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        Git::references(self, prefix)
    }

    fn point(&self, reference: &str, commit: &str) -> Result<(), GitError> {
        Git::point(self, reference, commit)
    }

    fn delete_reference(&self, reference: &str) -> Result<(), GitError> {
        Git::delete_reference(self, reference)
    }

    fn merge(&self, commit: &str) -> Result<Merge, GitError> {
        Git::merge(self, commit)
    }

    fn transplant(&self, commit: &str, onto: &str) -> Result<Merge, GitError> {
        Git::transplant(self, commit, onto)
    }

    fn differing(&self, tree: &str) -> Result<Vec<String>, GitError> {
        Git::differing(self, tree)
    }

    fn difference(&self, tree: &str, paths: &[String]) -> Result<String, GitError> {
        Git::difference(self, tree, paths)
    }

    fn put_in(&self, tree: &str) -> Result<(), GitError> {
        Git::put_in(self, tree)
    }

    fn take_out(&self, paths: &[String]) -> Result<(), GitError> {
        Git::take_out(self, paths)
    }

    fn in_the_way(
        &self,
        from: &str,
        commit: &str,
        own: &[String],
    ) -> Result<Vec<String>, GitError> {
        Git::in_the_way(self, from, commit, own)
    }

    fn fast_forward(&self, from: &str, to: &str, own: &[String]) -> Result<Forward, GitError> {
        Git::fast_forward(self, from, to, own)
    }

    fn add_worktree(&self, path: &Path, commit: &str) -> Result<Arc<dyn Repository>, GitError> {
        Ok(Arc::new(Git::add_worktree(self, path, commit)?))
    }

    fn remove_worktree(&self, path: &Path) -> Result<(), GitError> {
        Git::remove_worktree(self, path)
    }

    fn worktrees_below(&self, directory: &Path) -> Result<Vec<Worktree>, GitError> {
        Git::worktrees_below(self, directory)
    }

    fn has_worktree(&self, path: &Path) -> bool {
        Git::has_worktree(self, path)
    }

    fn repair_worktree(&self, path: &Path) -> Result<(), GitError> {
        Git::repair_worktree(self, path)
    }

    fn remove_half_made(&self) -> Result<(), GitError> {
        Git::remove_half_made(self)
    }

    fn adopt_submodules(&self, worktree: &Path, paths: &[String]) -> Result<(), GitError> {
        Git::adopt_submodules(self, &Git::at(worktree.to_owned()), paths)
    }

    fn reset_to(&self, commit: &str) -> Result<(), GitError> {
        Git::reset_to(self, commit)
    }

    fn stage_on(&self, commit: &str, files: &str) -> Result<(), GitError> {
        Git::stage_on(self, commit, files)
    }

    fn apply(&self, commit: &str) -> Result<bool, GitError> {
        Git::apply(self, commit)
    }

    fn run_lock(&self) -> Result<PathBuf, GitError> {
        Git::run_lock(self)
    }

    fn be_alone(&self, alone: bool) {
        Git::be_alone(self, alone);
    }

    fn say_to(&self, listener: Option<Listener>) {
        Git::say_to(self, listener);
    }

    fn say(&self, text: String) {
        Git::say(self, text);
    }

    fn clear_locks(&self) -> Result<(), GitError> {
        Git::clear_locks(self)
    }

    fn remove_scratch(&self) -> Result<(), GitError> {
        Git::remove_scratch(self)
    }

    fn exclude_own_files(&self) -> Result<(), GitError> {
        Git::exclude_own_files(self)
    }

    fn refuse_old(&self) -> Result<(), GitError> {
        Git::refuse_old(self)
    }

    fn refuse_half_done(&self) -> Result<(), GitError> {
        Git::refuse_half_done(self)
    }

    fn refuse_without_identity(&self) -> Result<(), GitError> {
        Git::refuse_without_identity(self)
    }

    fn refuse_unable_to_commit(&self) -> Result<(), GitError> {
        Git::refuse_unable_to_commit(self)
    }

    fn refuse_unsigned(&self) -> Result<(), GitError> {
        Git::refuse_unsigned(self)
    }

    fn refuse_read_only(&self) -> Result<(), GitError> {
        Git::refuse_read_only(self)
    }
}

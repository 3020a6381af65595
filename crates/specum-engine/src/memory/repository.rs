//! Repositories in memory: commits are snapshots of the files on a memory disk.
//!
//! There is no index: what is committed is what stands in the files. Two versions of a
//! file merge only if one of them is the old one.

mod history;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use self::history::{Files, History, Snapshot, differing};
use super::MemoryDisk;
use crate::git::{Committed, Forward, GitError, Merge, Programs, Status, Worktree, is_own_file};
use crate::ports::{Disk, Listener, Repositories, Repository};

/// What goes wrong with the next commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// git refuses it.
    Refused,
    /// git fails before it has made it.
    FailsBefore,
    /// git has made it, and fails then.
    FailsAfter,
}

/// One repository with its worktrees, on a memory disk. Clones are the same one.
#[derive(Clone)]
pub struct MemoryRepositories {
    disk: MemoryDisk,
    main: PathBuf,
    history: Arc<Mutex<History>>,
}

impl MemoryRepositories {
    /// A repository at a root, with a first commit of what is there.
    pub fn init(disk: &MemoryDisk, root: &Path) -> MemoryRepositories {
        disk.put(&root.join(".git/HEAD"), b"ref: refs/heads/main\n");
        let made = MemoryRepositories {
            disk: disk.clone(),
            main: root.to_owned(),
            history: Arc::default(),
        };
        let files = made.tree(root).files();
        let mut history = made.history();
        let first = history.add(files, None, "the first");
        history.heads.insert(root.to_owned(), first);
        drop(history);
        made
    }

    /// What goes wrong with the next commit.
    pub fn fail_next(&self, fault: Option<CommitFault>) {
        self.history().fault = fault;
    }

    /// How many commits of the main work tree have a message with these words.
    pub fn count(&self, words: &str) -> usize {
        let history = self.history();
        let head = history.heads.get(&self.main);
        let log = head.into_iter().flat_map(|head| history.ancestors(*head));
        log.filter(|at| history.commits[*at].message.contains(words)).count()
    }

    /// What a commit of the main work tree changed; `None` if it is none of it.
    pub fn changed_by(&self, commit: &str) -> Option<Vec<String>> {
        let history = self.history();
        let (head, commit): (usize, usize) =
            (*history.heads.get(&self.main)?, commit.parse().ok()?);
        history.ancestors(head).find(|at| *at == commit)?;
        let Snapshot { files, parent, .. } = &history.commits[commit];
        let empty = Files::new();
        let before = parent.map_or(&empty, |parent| &history.commits[parent].files);
        Some(differing(before, files))
    }

    /// Every reference, and the roots of all work trees but the main one.
    pub fn left(&self) -> (Vec<String>, Vec<PathBuf>) {
        let history = self.history();
        let worktrees = history.heads.keys().filter(|root| **root != self.main);
        (history.references.keys().cloned().collect(), worktrees.cloned().collect())
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().expect("no holder panics")
    }

    fn tree(&self, root: &Path) -> MemoryTree {
        MemoryTree { all: self.clone(), root: root.to_owned() }
    }
}

impl Repositories for MemoryRepositories {
    fn open(&self, dir: &Path) -> Result<Arc<dyn Repository>, GitError> {
        let history = self.history();
        let root = dir.ancestors().find(|dir| history.heads.contains_key(*dir));
        match root {
            Some(root) => Ok(Arc::new(self.tree(root))),
            None => Err(GitError::NoRepository(dir.to_owned())),
        }
    }

    fn at(&self, root: &Path) -> Arc<dyn Repository> {
        Arc::new(self.tree(root))
    }
}

/// One work tree of a repository.
struct MemoryTree {
    all: MemoryRepositories,
    root: PathBuf,
}

impl MemoryTree {
    /// What stands in the files, but for specum's own.
    fn files(&self) -> Files {
        let mut files = self.all.disk.files_below(&self.root);
        files.retain(|path, _| !path.starts_with(".git") && !is_own_file(path));
        files
    }

    fn said(command: &str, message: &str) -> GitError {
        GitError::Said { command: command.into(), message: message.into() }
    }

    /// The number of a commit or tree.
    fn number(&self, history: &History, id: &str) -> Result<usize, GitError> {
        let (name, is_parent) = match id.strip_suffix('^') {
            Some(name) => (name, true),
            None => (id, false),
        };
        let at = match name {
            "HEAD" => history.heads.get(&self.root).copied(),
            number => number.parse().ok().filter(|at| *at < history.commits.len()),
        };
        let at = if is_parent { at.and_then(|at| history.commits[at].parent) } else { at };
        at.ok_or_else(|| MemoryTree::said("rev-parse", &format!("unknown revision {id}")))
    }

    fn head_files(&self) -> Files {
        let history = self.all.history();
        let head = history.heads.get(&self.root);
        head.map(|head| history.commits[*head].files.clone()).unwrap_or_default()
    }

    /// Lets the files be as these, at these paths.
    fn write_files(&self, files: &Files, paths: &[String]) -> Result<(), GitError> {
        let disk: &dyn Disk = &self.all.disk;
        for path in paths {
            let file = self.root.join(path);
            match files.get(path) {
                Some(bytes) => {
                    disk.make_folder(file.parent().unwrap_or(&self.root))?;
                    disk.write(&file, bytes)?;
                }
                None => disk.remove(&file)?,
            }
        }
        Ok(())
    }

    /// Those of the paths that differ between two commits which stand in the files as
    /// neither has them.
    fn in_the_way_of(&self, from: &Files, to: &Files, own: &[String]) -> Vec<String> {
        let now = self.files();
        let mut theirs = differing(from, to);
        theirs.retain(|path| {
            let file = now.get(path);
            !own.contains(path) && file != from.get(path) && file != to.get(path)
        });
        theirs
    }
}

impl Repository for MemoryTree {
    fn root(&self) -> &Path {
        &self.root
    }

    fn head(&self) -> Option<String> {
        self.all.history().heads.get(&self.root).map(usize::to_string)
    }

    fn branch_of_head(&self) -> Option<String> {
        (self.root == self.all.main).then(|| "main".to_owned())
    }

    fn is_on_shared_branch(&self) -> Result<bool, GitError> {
        Ok(false)
    }

    /// There is one branch here, under whatever name.
    fn switch(&self, _: &str) -> Result<bool, GitError> {
        Ok(false)
    }

    fn status(&self) -> Result<Status, GitError> {
        let changed = differing(&self.head_files(), &self.files());
        Ok(Status::new(self.head(), self.branch_of_head(), changed))
    }

    fn changed_at(&self, path: &str) -> Option<SystemTime> {
        self.all.disk.look(&self.file(path)).ok()?.modified
    }

    fn tracked(&self) -> Result<HashSet<PathBuf>, GitError> {
        Ok(self.head_files().keys().map(|path| self.file(path)).collect())
    }

    fn ignored(&self, _: &[String]) -> Result<Vec<String>, GitError> {
        Ok(Vec::new())
    }

    fn committed_loop(&self, files: &[PathBuf], _: &[PathBuf]) -> Result<Option<String>, GitError> {
        let committed = self.head_files();
        let is_of_loop = |path: &&String| files.contains(&self.file(path));
        Ok(committed.keys().find(is_of_loop).cloned())
    }

    fn programs(&self, _: Option<&Programs>) -> Result<Programs, GitError> {
        Ok(Programs::default())
    }

    fn changed_since(&self, commit: &str) -> Result<Vec<String>, GitError> {
        self.changed_between(commit, "HEAD")
    }

    fn changed_between(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let history = self.all.history();
        let (from, to) = (self.number(&history, from)?, self.number(&history, to)?);
        Ok(differing(&history.commits[from].files, &history.commits[to].files))
    }

    fn descends(&self, commit: &str, from: &str) -> Result<bool, GitError> {
        let history = self.all.history();
        let (commit, from) = (self.number(&history, commit)?, self.number(&history, from)?);
        Ok(history.ancestors(commit).any(|at| at == from))
    }

    fn parent_of(&self, commit: &str) -> Option<String> {
        let history = self.all.history();
        let at = self.number(&history, commit).ok()?;
        history.commits[at].parent.map(|parent| parent.to_string())
    }

    fn file_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let history = self.all.history();
        let at = self.number(&history, commit)?;
        Ok(history.commits[at].files.get(path).map(|bytes| bytes.to_vec()))
    }

    fn paths_at(&self, commit: &str, paths: &[String]) -> Result<Vec<String>, GitError> {
        let history = self.all.history();
        let files = &history.commits[self.number(&history, commit)?].files;
        Ok(paths.iter().filter(|path| files.contains_key(*path)).cloned().collect())
    }

    fn commit_since(&self, start: Option<&str>, line: &str) -> Result<Option<String>, GitError> {
        let history = self.all.history();
        let start = start.map(|start| self.number(&history, start)).transpose()?;
        let Some(head) = history.heads.get(&self.root) else { return Ok(None) };
        let since = history.ancestors(*head).take_while(|at| Some(*at) != start);
        let has_line = |message: &str| message.lines().any(|found| found == line);
        let mut found = since.filter(|at| has_line(&history.commits[*at].message));
        Ok(found.next().map(|at| at.to_string()))
    }

    fn had_file(&self, _: &Path, _: &Path) -> Result<bool, GitError> {
        Ok(false)
    }

    fn commit(&self, paths: &[String], message: &str) -> Result<Committed, GitError> {
        let fault = self.all.history().fault.take();
        let (command, why) = ("commit".to_owned(), "a fault".to_owned());
        match fault {
            Some(CommitFault::Refused) => {
                return Err(GitError::Refused { command, message: why });
            }
            Some(CommitFault::FailsBefore) => return Err(MemoryTree::said("add", &why)),
            Some(CommitFault::FailsAfter) | None => {}
        }
        let (mut files, now) = (self.head_files(), self.files());
        for path in paths {
            match now.get(path) {
                Some(bytes) => files.insert(path.clone(), Arc::clone(bytes)),
                None => files.remove(path),
            };
        }
        if files == self.head_files() {
            return Ok(Committed { id: None, by_hooks: Vec::new(), status: self.status()? });
        }
        let mut history = self.all.history();
        let parent = history.heads.get(&self.root).copied();
        let commit = history.add(files, parent, message);
        history.heads.insert(self.root.clone(), commit);
        drop(history);
        match fault {
            Some(_) => Err(MemoryTree::said("status", &why)),
            None => self.committed(&commit.to_string(), &|_| true),
        }
    }

    fn committed(&self, _: &str, _: &dyn Fn(&String) -> bool) -> Result<Committed, GitError> {
        let status = self.status()?;
        Ok(Committed { id: status.head.clone(), by_hooks: Vec::new(), status })
    }

    fn commit_paths(
        &self,
        base: Option<&str>,
        paths: &[String],
        message: &str,
    ) -> Result<String, GitError> {
        let now = self.files();
        let mut history = self.all.history();
        let base = base.map(|base| self.number(&history, base)).transpose()?;
        let mut files = base.map(|at| history.commits[at].files.clone()).unwrap_or_default();
        for path in paths {
            match now.get(path) {
                Some(bytes) => files.insert(path.clone(), Arc::clone(bytes)),
                None => files.remove(path),
            };
        }
        Ok(history.add(files, base, message).to_string())
    }

    fn overlay(&self, onto: &str, from: &str, paths: &[String]) -> Result<String, GitError> {
        let mut history = self.all.history();
        let files = |at: &str| -> Result<Files, GitError> {
            Ok(history.commits[self.number(&history, at)?].files.clone())
        };
        let (mut onto, from) = (files(onto)?, files(from)?);
        for path in paths {
            match from.get(path) {
                Some(bytes) => onto.insert(path.clone(), Arc::clone(bytes)),
                None => onto.remove(path),
            };
        }
        Ok(history.add(onto, None, "").to_string())
    }

    fn commit_tree(
        &self,
        files: &str,
        parent: Option<&str>,
        message: &str,
    ) -> Result<String, GitError> {
        let mut history = self.all.history();
        let files = history.commits[self.number(&history, files)?].files.clone();
        let parent = parent.map(|parent| self.number(&history, parent)).transpose()?;
        Ok(history.add(files, parent, message).to_string())
    }

    fn references(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        let history = self.all.history();
        let ours = history.references.keys().filter(|name| name.starts_with(prefix));
        Ok(ours.cloned().collect())
    }

    fn point(&self, reference: &str, commit: &str) -> Result<(), GitError> {
        let mut history = self.all.history();
        let commit = self.number(&history, commit)?;
        history.references.insert(reference.to_owned(), commit);
        Ok(())
    }

    fn delete_reference(&self, reference: &str) -> Result<(), GitError> {
        self.all.history().references.remove(reference);
        Ok(())
    }

    fn merge(&self, commit: &str) -> Result<Merge, GitError> {
        let mut history = self.all.history();
        let (ours, theirs) = (self.number(&history, "HEAD")?, self.number(&history, commit)?);
        let ancestors: HashSet<usize> = history.ancestors(ours).collect();
        let base = history.ancestors(theirs).find(|at| ancestors.contains(at));
        let base = base.ok_or_else(|| MemoryTree::said("merge-tree", "unrelated histories"))?;
        Ok(history.merge(base, ours, theirs))
    }

    fn transplant(&self, commit: &str, onto: &str) -> Result<Merge, GitError> {
        let mut history = self.all.history();
        let (onto, commit) = (self.number(&history, onto)?, self.number(&history, commit)?);
        let base = history.commits[commit].parent.unwrap_or(commit);
        Ok(history.merge(base, onto, commit))
    }

    fn differing(&self, tree: &str) -> Result<Vec<String>, GitError> {
        self.changed_between("HEAD", tree)
    }

    fn difference(&self, _: &str, paths: &[String]) -> Result<String, GitError> {
        Ok(paths.iter().map(|path| format!("both changed {path}\n")).collect())
    }

    fn put_in(&self, tree: &str) -> Result<(), GitError> {
        let (head, now) = (self.head_files(), self.files());
        let files = {
            let history = self.all.history();
            history.commits[self.number(&history, tree)?].files.clone()
        };
        let paths = differing(&head, &files);
        match paths.iter().find(|path| now.get(*path) != head.get(*path)) {
            Some(path) => Err(MemoryTree::said("read-tree", &format!("{path} is changed"))),
            None => self.write_files(&files, &paths),
        }
    }

    fn take_out(&self, paths: &[String]) -> Result<(), GitError> {
        self.write_files(&self.head_files(), paths)
    }

    fn in_the_way(
        &self,
        from: &str,
        commit: &str,
        own: &[String],
    ) -> Result<Vec<String>, GitError> {
        let (from, to) = {
            let history = self.all.history();
            let files = |id: &str| -> Result<Files, GitError> {
                Ok(history.commits[self.number(&history, id)?].files.clone())
            };
            (files(from)?, files(commit)?)
        };
        Ok(self.in_the_way_of(&from, &to, own))
    }

    fn fast_forward(&self, from: &str, to: &str, own: &[String]) -> Result<Forward, GitError> {
        let theirs = self.in_the_way(from, to, own)?;
        if !theirs.is_empty() {
            return Ok(Forward::InTheWay(theirs));
        }
        if self.head().as_deref() != Some(from) {
            return Ok(Forward::Moved);
        }
        let mut paths = self.changed_between(from, to)?;
        paths.retain(|path| !own.contains(path));
        let (at, files) = {
            let history = self.all.history();
            let at = self.number(&history, to)?;
            (at, history.commits[at].files.clone())
        };
        self.write_files(&files, &paths)?;
        self.all.history().heads.insert(self.root.clone(), at);
        Ok(Forward::Done)
    }

    fn add_worktree(&self, path: &Path, commit: &str) -> Result<Arc<dyn Repository>, GitError> {
        let tree = self.all.tree(path);
        let files = {
            let mut history = self.all.history();
            let at = self.number(&history, commit)?;
            history.heads.insert(path.to_owned(), at);
            history.commits[at].files.clone()
        };
        let disk: &dyn Disk = &self.all.disk;
        disk.make_folder(path)?;
        disk.write(&path.join(".git"), b"gitdir: elsewhere\n")?;
        tree.write_files(&files, &files.keys().cloned().collect::<Vec<_>>())?;
        Ok(Arc::new(tree))
    }

    fn remove_worktree(&self, path: &Path) -> Result<(), GitError> {
        self.all.disk.remove_tree(path)?;
        self.all.history().heads.remove(path);
        Ok(())
    }

    fn worktrees_below(&self, directory: &Path) -> Result<Vec<Worktree>, GitError> {
        let history = self.all.history();
        let below = history.heads.keys().filter(|root| root.starts_with(directory));
        Ok(below.map(|root| Worktree { path: root.clone() }).collect())
    }

    fn has_worktree(&self, path: &Path) -> bool {
        let disk: &dyn Disk = &self.all.disk;
        self.all.history().heads.contains_key(path) && disk.is_file(&path.join(".git"))
    }

    fn repair_worktree(&self, _: &Path) -> Result<(), GitError> {
        Ok(())
    }

    fn remove_half_made(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn adopt_submodules(&self, _: &Path, _: &[String]) -> Result<(), GitError> {
        Ok(())
    }

    fn reset_to(&self, commit: &str) -> Result<(), GitError> {
        let before = self.head_files();
        let (at, files) = {
            let history = self.all.history();
            let at = self.number(&history, commit)?;
            (at, history.commits[at].files.clone())
        };
        let paths: BTreeSet<&String> = before.keys().chain(files.keys()).collect();
        self.write_files(&files, &paths.into_iter().cloned().collect::<Vec<_>>())?;
        self.all.history().heads.insert(self.root.clone(), at);
        Ok(())
    }

    fn stage_on(&self, commit: &str, files: &str) -> Result<(), GitError> {
        self.reset_to(files)?;
        let mut history = self.all.history();
        let at = self.number(&history, commit)?;
        history.heads.insert(self.root.clone(), at);
        Ok(())
    }

    fn apply(&self, commit: &str) -> Result<bool, GitError> {
        let Merge::Clean(tree) = self.transplant(commit, "HEAD")? else { return Ok(false) };
        self.put_in(&tree)?;
        Ok(true)
    }

    fn run_lock(&self) -> Result<PathBuf, GitError> {
        Ok(self.root.join(".git/specum-run.lock"))
    }

    fn be_alone(&self, _: bool) {}

    fn say_to(&self, _: Option<Listener>) {}

    fn say(&self, _: String) {}

    fn clear_locks(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn remove_scratch(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn exclude_own_files(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn refuse_old(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn refuse_half_done(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn refuse_without_identity(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn refuse_unable_to_commit(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn refuse_unsigned(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn refuse_read_only(&self) -> Result<(), GitError> {
        Ok(())
    }
}

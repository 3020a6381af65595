use std::path::Path;

use serde_json::json;
use specum_core::journal;
use specum_core::owner::{Asker, Holder};

use super::advice::Advice;
use super::{print, print_json};
use crate::attempt::{AttemptError, Workspace};
use crate::claude_config;
use crate::codex_config::{self, HOW_TO_TRUST, Trust};
use crate::exit;
use crate::files;
use crate::git::{Git, GitError};
use crate::owner;
use crate::plugin::{self, PLUGIN};
use crate::process::find_program;
use crate::project::{Project, SETTINGS_FILE, Spec};
use crate::runner;
use crate::session;
use crate::store::Store;

/// Look at everything specum needs and say what to do next
///
/// With --repair it puts away what a run that was killed has left: processes,
/// worktrees, half-done work. What such a run had changed is kept under
/// refs/specum/. What is older than `keep_days` is deleted, as each run does: logs
/// of loops that are over, and copies of work that was done again since.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Put away what killed runs have left
    #[arg(long)]
    repair: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Grade {
    Good,
    Note,
    Bad,
}

struct Finding {
    grade: Grade,
    about: &'static str,
    text: String,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    if args.repair {
        let repaired = repair()?;
        if !args.json {
            print(repaired)?;
        }
    }
    let findings = examine()?;
    let bad = findings.iter().any(|finding| finding.grade == Grade::Bad);
    let word = |grade: Grade| match grade {
        Grade::Good => "ok",
        Grade::Note => "note",
        Grade::Bad => "bad",
    };
    if args.json {
        let rows: Vec<_> = findings
            .iter()
            .map(|f| json!({"grade": word(f.grade), "about": f.about, "text": f.text}))
            .collect();
        let next = Advice::here().json();
        print_json(&json!({"good": !bad, "findings": rows, "next": next}))?;
    } else {
        for finding in &findings {
            print(format!("{:4}  {:9} {}", word(finding.grade), finding.about, finding.text))?;
        }
        print(format!("\n{}", Advice::here().text()))?;
    }
    Ok(if bad { exit::FAILED } else { exit::OK })
}

fn examine() -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut add = |grade, about, text: String| findings.push(Finding { grade, about, text });
    let here = std::env::current_dir()?;
    let home = std::env::var_os("HOME");
    add(Grade::Good, "specum", format!("version {}", env!("CARGO_PKG_VERSION")));
    if find_program("specum").is_none() {
        let folder = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
        let folder = folder.map_or("its folder".into(), |folder| folder.display().to_string());
        let text = format!("specum is not on PATH, where agents look for it: put {folder} there");
        add(Grade::Note, "PATH", text);
    }
    let hosts: Vec<&str> = ["claude", "codex", "gemini", "opencode"]
        .into_iter()
        .filter(|name| find_program(name).is_some())
        .collect();
    match hosts.as_slice() {
        [] => add(
            Grade::Note,
            "agents",
            "none of claude, codex, gemini, opencode is on PATH; `specum demo` needs none".into(),
        ),
        hosts => add(Grade::Good, "agents", hosts.join(", ")),
    }
    let project = Project::find(&here, home.as_deref().map(Path::new));
    examine_plugin(project.as_ref().map_or(&here, |project| &project.root), &mut add);
    match Git::open(&here) {
        Ok(git) => match able_to_commit(&git) {
            Ok(()) => add(Grade::Good, "git", format!("repository {}", git.root.display())),
            Err(GitError::ReadOnly(_)) if session::judged_by_hooks().is_some() => add(
                Grade::Note,
                "git",
                "read-only in this sandbox; specum's hooks commit outside of it".into(),
            ),
            Err(error) => add(Grade::Bad, "git", format!("nothing can be committed: {error}")),
        },
        Err(error) => add(Grade::Note, "git", format!("no commits will be made: {error}")),
    }
    let Some(project) = project else {
        add(
            Grade::Note,
            "project",
            "no specs here or above: write specs/<name>/tasks.md, then `specum switch <name>`"
                .into(),
        );
        return Ok(findings);
    };
    add(Grade::Good, "project", project.root.display().to_string());
    for problem in &project.problems {
        add(
            Grade::Bad,
            "settings",
            format!("{SETTINGS_FILE}:{}: {}", problem.line, problem.message),
        );
    }
    for key in &project.inherited {
        let (line, name) = (key.line, key.key);
        let effect = match key.read_as {
            Some(ours) => format!("`{name}` of the smart-ralph plugin is read as `{ours}`"),
            None => format!("`{name}` of the smart-ralph plugin has no effect in specum"),
        };
        add(Grade::Note, "settings", format!("{SETTINGS_FILE}:{line}: {effect}"));
    }
    for warning in &project.warnings {
        add(Grade::Note, "settings", warning.clone());
    }
    if !project.settings.enabled {
        add(Grade::Note, "settings", "enabled: false, so the hooks do nothing".into());
    }
    match project.active() {
        Ok(Some(active)) => {
            let spec = &active.spec;
            add(Grade::Good, "active", format!("{} ({})", spec.name, spec.shown));
            if let Some(doubt) = active.doubt() {
                add(Grade::Note, "active", doubt);
            }
            examine_spec(&Store::of(spec), &spec.dir, &mut add);
        }
        Ok(None) => add(Grade::Note, "active", "no spec is active: `specum switch <name>`".into()),
        Err(error) => {
            add(Grade::Bad, "active", format!("{error}; `specum switch <name>` writes it anew"));
        }
    }
    for spec in project.specs() {
        examine_runs(&project, spec, &mut add);
    }
    Ok(findings)
}

/// What would keep a run from beginning.
fn able_to_commit(git: &Git) -> Result<(), GitError> {
    git.refuse_old()?;
    git.refuse_unable_to_commit()?;
    git.refuse_half_done()?;
    git.refuse_unsigned()
}

/// Whether sessions of Claude Code have our plugin, or another of its name.
fn examine_plugin(root: &Path, add: &mut impl FnMut(Grade, &'static str, String)) {
    let is_ours = claude_config::has_our_plugin(root);
    if is_ours {
        add(Grade::Good, "plugin", format!("{PLUGIN} is enabled in Claude Code"));
    }
    if plugin::is_in_gemini(root) {
        add(Grade::Good, "plugin", "the hooks are in the settings of Gemini CLI".into());
    }
    match codex_config::trust() {
        Trust::NotInstalled => {}
        Trust::Given => {
            add(Grade::Good, "plugin", format!("{PLUGIN} is installed in Codex, hooks trusted"));
        }
        Trust::Missing => {
            let text = format!("Codex does not run the hooks of {PLUGIN}: {HOW_TO_TRUST}");
            add(Grade::Bad, "plugin", text);
        }
    }
    if let Some(namesakes) = claude_config::namesakes(root) {
        add(if is_ours { Grade::Bad } else { Grade::Note }, "plugin", namesakes);
    }
}

/// Puts away what killed runs have left, of every spec that was ever worked.
fn repair() -> anyhow::Result<String> {
    let project = super::project()?;
    let (mut repaired, mut said) = (Vec::new(), Vec::new());
    for spec in project.specs() {
        let workspace = Workspace::new(&project, spec)?;
        if !workspace.store.journal_path().exists() {
            continue;
        }
        let state = workspace.store.read_state().and_then(Result::ok);
        let spec = workspace.spec.name.clone();
        let holder = owner::holder(&workspace.store, state.as_ref(), Asker::Person);
        if let Holder::Other(owner) = holder {
            let by = owner.description();
            return Err(AttemptError::Held { spec, by }.into());
        }
        said.extend(runner::repair(&workspace, project.settings.run.keep_days)?);
        super::tell_news(&workspace);
        repaired.push(spec);
    }
    said.push(format!("repaired: {}", repaired.join(", ")));
    Ok(said.join("\n"))
}

/// What runs have left that did not get to their end.
fn examine_runs(project: &Project, spec: Spec, add: &mut impl FnMut(Grade, &'static str, String)) {
    let name = spec.name.clone();
    let workspace = match Workspace::new(project, spec) {
        Ok(workspace) => workspace,
        Err(error) => return add(Grade::Bad, "runs", format!("{name}: {error}")),
    };
    let state = workspace.store.read_state().and_then(Result::ok);
    let holder = owner::holder(&workspace.store, state.as_ref(), Asker::Person);
    let works = holder != Holder::Nobody;
    match runner::leftovers(&workspace) {
        Err(error) => add(Grade::Bad, "runs", error.to_string()),
        Ok(left) => {
            if !left.worktrees.is_empty() && !works {
                let count = left.worktrees.len();
                add(
                    Grade::Bad,
                    "runs",
                    format!(
                        "a run of {name} was killed and has left {count} worktrees: `specum run` goes on with them, `specum doctor --repair` puts them away"
                    ),
                );
            }
            if !left.kept.is_empty() {
                add(
                    Grade::Note,
                    "kept",
                    format!(
                        "work that was not finished; look with `git show`, delete with `git update-ref -d`: {}",
                        left.kept.join(", ")
                    ),
                );
            }
        }
    }
}

fn examine_spec(store: &Store, dir: &Path, add: &mut impl FnMut(Grade, &'static str, String)) {
    match store.read_state() {
        None => add(Grade::Note, "loop", "not running: `specum implement` starts it".into()),
        Some(Ok(state)) => add(
            Grade::Good,
            "loop",
            format!("phase {}, iteration {}", state.phase.as_str(), state.global_iteration),
        ),
        Some(Err(why)) => add(
            Grade::Bad,
            "loop",
            format!("the state is corrupt ({why}): `specum implement` rebuilds it from tasks.md"),
        ),
    }
    match store.read_tasks() {
        Ok(Some(_)) => {}
        Ok(None) => add(Grade::Bad, "tasks", "tasks.md is missing".into()),
        Err(error) => add(Grade::Bad, "tasks", error.to_string()),
    }
    if let Ok(tail) = files::read_tail(&store.journal_path(), 1024 * 1024)
        && journal::unfinished(&tail.bytes).is_some()
    {
        add(
            Grade::Note,
            "journal",
            "a change was interrupted; the next command that writes completes it".into(),
        );
    }
    if store.is_locked() {
        let text = "another process is changing this spec right now, or is stuck in it";
        add(Grade::Note, "lock", text.into());
    }
    let leftovers: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(files::TEMP_PREFIX))
        .collect();
    if !leftovers.is_empty() {
        add(
            Grade::Note,
            "leftovers",
            format!("of a killed process, safe to delete: {}", leftovers.join(", ")),
        );
    }
}

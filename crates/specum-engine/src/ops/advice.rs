//! What to do next, told from where things stand: for a person who types
//! `specum` and nothing else, and at the end of `specum doctor`.
//!
//! Looking changes nothing and never fails: what cannot be read is where things
//! stand.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use specum_core::agent;
use specum_core::owner::Asker;
use specum_core::state::{Phase, Standing, State};

use super::caller::meant;
use super::stray;
use crate::attempt::counted_suite;
use crate::claude_config;
use crate::lint;
use crate::owner;
use crate::ports::World;
use crate::process::find_program;
use crate::project::{Project, Spec};
use crate::store::Store;

/// Where things stand, and the steps from there, the likeliest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Advice {
    /// Where things stand.
    pub stands: String,
    /// What a person can do.
    pub steps: Vec<Step>,
    /// Whether an example of a plan would help.
    #[serde(skip)]
    pub example: bool,
}

/// Something that a person can do next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Step {
    /// A command, or what to write.
    #[serde(rename = "do")]
    pub action: String,
    /// What it is good for.
    pub why: String,
}

impl Advice {
    /// The advice for the current directory.
    pub fn here(world: &World) -> Advice {
        let here = match std::env::current_dir() {
            Ok(here) => here,
            Err(error) => {
                return stands(format!("The current directory cannot be read: {error}."))
                    .step("cd <your project>", "go where it can");
            }
        };
        if find_program("git").is_none() {
            return stands("git is not on PATH; specum commits with it.")
                .step("install git", "https://git-scm.com/downloads");
        }
        let home = std::env::var_os("HOME");
        match Project::find(world, &here, home.as_deref().map(Path::new)) {
            Some(project) => in_project(&project),
            None => without_plan(world, &here),
        }
    }

    fn step(mut self, step: impl Into<String>, why: impl Into<String>) -> Advice {
        self.steps.push(Step { action: step.into(), why: why.into() });
        self
    }

    /// The step into a repository, for those who have none. Nobody wants one
    /// of everything they have.
    fn step_into_repository(self, world: &World, here: &Path) -> Advice {
        let is_home = std::env::var_os("HOME").is_some_and(|home| Path::new(&home) == here);
        match world.repositories.open(here) {
            Err(error) if error.means_no_repository() => {
                if is_home || here.parent().is_none() {
                    self.step("cd <your project>", "a plan lies in the folder it is about")
                } else {
                    self.step("git init", "without a repository nothing is committed")
                }
            }
            Ok(_) | Err(_) => self,
        }
    }

    /// The step to work with whatever agent is there.
    fn step_to_work(self, root: &Path) -> Advice {
        match agent::NAMES.into_iter().find(|name| find_program(name).is_some()) {
            Some("claude") => {
                let advice = self.step("specum run", "works it with claude, unattended");
                if claude_config::has_our_plugin(root) {
                    advice.step("claude \"/ralph-specum:implement\"", "or: in a session")
                } else {
                    let why = "or: in a session, by /ralph-specum:implement";
                    advice.step("specum plugin install", why)
                }
            }
            Some(_) => self.step("specum run", "works it to its end, unattended"),
            None => self
                .step(
                    "install an agent",
                    "claude, codex, gemini or opencode: none of them is on PATH",
                )
                .step(
                    "specum run --agent-command '<program>'",
                    "or: any program that reads a brief on standard input",
                ),
        }
    }
}

fn stands(text: impl Into<String>) -> Advice {
    Advice { stands: text.into(), steps: Vec::new(), example: false }
}

fn without_plan(world: &World, here: &Path) -> Advice {
    let advice = stands(format!("There is no plan yet in {} or above.", here.display()))
        .step("specum demo", "watch a small plan being worked, without agent or account")
        .step_into_repository(world, here);
    if let Some(path) = stray::first(world, here) {
        let (command, name) = stray::way(&path);
        return advice
            .step(command, format!("makes {path} a plan that specum works"))
            .step(format!("specum check {name}"), "finds mistakes in it");
    }
    let advice = advice
        .step("write specs/<name>/tasks.md", "your plan: `specum help format` shows how")
        .step("specum check <name>", "finds mistakes in it");
    Advice { example: true, ..advice }
}

fn in_project(project: &Project) -> Advice {
    if !project.problems.is_empty() {
        let advice = stands("The settings have mistakes; nothing is worked until they are fixed.");
        return project.problems.iter().fold(advice, |advice, (file, problem)| {
            advice.step(format!("fix {file}:{}", problem.line), problem.message.clone())
        });
    }
    let specs = match project.specs() {
        Ok(specs) => specs,
        Err(error) => return stands(format!("The specs cannot be read: {error}.")),
    };
    match project.current() {
        Ok(Some(spec)) => in_spec(project, &spec, "The active spec"),
        Ok(None) if specs.is_empty() => without_plan(&project.world, &project.root),
        Ok(None) => match meant(&specs) {
            Some(spec) => in_spec(project, &spec, "The spec"),
            None => choose(&specs, "No spec is active."),
        },
        Err(error) => choose(&specs, &format!("The active spec is not clear: {error}.")),
    }
}

/// One of several specs is to be made the active one.
fn choose(specs: &[Spec], why: &str) -> Advice {
    let advice = stands(format!("{why} There {}.", counted(specs.len(), "spec")));
    specs.iter().take(5).fold(advice, |advice, spec| {
        let counts = Store::of(spec).read_tasks().ok().flatten().map(|tasks| {
            let file = tasks.file();
            (file.done_count(), file.count())
        });
        let state = match counts {
            Some((_, 0)) => "makes it active; its tasks.md has no tasks yet",
            Some((done, all)) if done < all => "makes it active; it has open tasks",
            Some(_) => "makes it active; nothing in it is open",
            None => "makes it active; it has no tasks.md yet",
        };
        advice.step(format!("specum switch {}", spec.name), state)
    })
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("is 1 {what}") } else { format!("are {count} {what}s") }
}

fn in_spec(project: &Project, spec: &Spec, what: &str) -> Advice {
    let (store, name) = (Store::of(spec), &spec.name);
    let plan = format!("{}/tasks.md", spec.shown);
    let tasks = match store.read_tasks() {
        Ok(Some(tasks)) => tasks,
        Ok(None) => {
            let advice = stands(format!("{what} {name} has no tasks yet."))
                .step(format!("write {plan}"), "a list of checkboxes")
                .step("specum check", "finds mistakes in it");
            return Advice { example: true, ..advice };
        }
        Err(error) => return stands(format!("{error}.")).step(format!("fix {plan}"), ""),
    };
    let file = tasks.file();
    let set = project.settings.run.suite.clone();
    let record = store.plan_record().unwrap_or_default();
    let suite = counted_suite(&record, file.text(), set);
    let mistake = lint::mistake(&spec.world, &spec.root, &file, &suite);
    if let Some(mistake) = mistake {
        return stands(format!("{plan}:{} has a mistake: {}.", mistake.line, mistake.message))
            .step("specum check", "lists all of them");
    }
    let (done, total) = (file.done_count(), file.count());
    let progress = format!("{what} is {name}, {done} of {total} tasks are done");
    match store.read_state() {
        Some(Err(why)) => stands(format!("{progress}; its state is corrupt ({why})."))
            .step("specum run", "reads it from the journal and tasks.md, and goes on"),
        Some(Ok(state)) => under_way(&project.root, &store, &state, &progress, done < total),
        None if done == total => all_done(project, spec, what),
        None => stands(format!("{progress}, and no loop is running."))
            .step_into_repository(&project.world, &project.root)
            .step("specum run --dry-run", "shows what would be worked, and how it is checked")
            .step_to_work(&project.root),
    }
}

fn under_way(
    root: &Path,
    store: &Store,
    state: &State,
    progress: &str,
    something_open: bool,
) -> Advice {
    if let Standing::Blocked(why) = &state.standing {
        let stuck =
            super::summary(store).ok().and_then(|summary| Some(summary.stuck()?.id.clone()));
        let log = stuck.map_or("specum log".to_owned(), |task| format!("specum log {task}"));
        return stands(format!("{progress}; it is blocked: {why}."))
            .step(log, "shows what was tried")
            .step("specum resume", "after fixing it: gives the task another round")
            .step("specum run", "then: goes on");
    }
    if let Standing::Paused(why) = &state.standing {
        let why = why.as_ref().map(|why| format!(": {why}"));
        let why = why.unwrap_or_default();
        let (verb, does) = match why.contains("`specum accept git`") {
            true => ("specum accept git", "takes it"),
            false => ("specum resume", "lets it go on"),
        };
        return stands(format!("{progress}; it is paused{why}."))
            .step(verb, does)
            .step("specum run", "then: goes on");
    }
    let questions: Vec<String> = store
        .plan_record()
        .map(|plan_record| plan_record.questions().collect())
        .unwrap_or_default();
    match owner::holder(store, Some(state), Asker::Person).other() {
        Some(owner) => {
            let by = owner.description();
            stands(format!("{progress}; {by} works it."))
                .step("specum log --follow", "watch it")
                .step("specum pause", "let it wait")
        }
        None if !questions.is_empty() => {
            let waits = questions.join("; ");
            let advice = stands(format!("{progress}; it waits for you: {waits}."))
                .step("specum status", "where it stands");
            let advice = if something_open { advice.step_to_work(root) } else { advice };
            advice.step("specum cancel", "or: stop for good; keeps plan, commits and history")
        }
        None if state.phase == Phase::Execution => {
            stands(format!("{progress}; a loop has begun, and no run or session works on it."))
                .step("specum status", "where it stands")
                .step_to_work(root)
                .step("specum cancel", "or: stop for good; keeps plan, commits and history")
        }
        None => stands(format!("{progress}; it is in phase {}.", state.phase.as_str()))
            .step_to_work(root),
    }
}

fn all_done(project: &Project, spec: &Spec, what: &str) -> Advice {
    let what = what.to_lowercase();
    let advice = stands(format!("Every task of {what} {} is done.", spec.name))
        .step("specum log", "what happened, and what it took");
    let is_open = |other: &&Spec| {
        let tasks = Store::of(other).read_tasks().ok().flatten().unwrap_or_default();
        let file = tasks.file();
        *other != spec && !file.is_complete()
    };
    match project.specs().unwrap_or_default().iter().find(is_open) {
        Some(other) => {
            advice.step(format!("specum switch {}", other.name), "the next spec with open tasks")
        }
        None => advice.step("write specs/<name>/tasks.md", "the next plan"),
    }
}

//! Deliberate faults in the engine, each of which the simulation must find.
//!
//! A fault replaces one piece of the source in a copy of the repository; the simulation
//! built from it must break a promise within twenty seeds. See `docs/proof/simulation.md`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use clap::Args;
use harness::world::repository;

/// How many seeds a fault may stay hidden for.
const SEEDS: u64 = 20;
/// How many steps each of them lives.
const STEPS: u64 = 20_000;

/// Put faults into the engine one by one, and show that the simulation finds each
#[derive(Args)]
pub struct Options {
    /// Only faults whose name contains this
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

struct Fault {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const FAULTS: [Fault; 17] = [
    Fault {
        name: "git commits before the journal has the verdict",
        file: "crates/specum-engine/src/attempt/judge.rs",
        from: "                locked.write_step_of(&opened.id, self.entry(&judged, opened), step)?;\n",
        to: "                if let Ok(git) = &self.git {\n\
             let mut paths = judged.changed.clone();\n\
             paths.extend(self.spec_files_to_commit(&**git)?);\n\
             let _ = git.commit(&paths, &self.message(opened));\n}\n\
             locked.write_step_of(&opened.id, self.entry(&judged, opened), step)?;\n",
    },
    Fault {
        name: "the files are changed before the journal says so",
        file: "crates/specum-engine/src/store/transaction.rs",
        from: "        self.append(Record { changes: Some(changes.clone()), ..record })?;\n",
        to: "        self.apply(&changes)?;\n\
             self.append(Record { changes: Some(changes.clone()), ..record })?;\n",
    },
    Fault {
        name: "what a dead process has begun is not completed",
        file: "crates/specum-engine/src/store/transaction.rs",
        from: "        self.refuse_newer_format()?;\n        self.complete(&changes)\n",
        to: "        drop(changes);\n        self.refuse_newer_format()\n",
    },
    Fault {
        name: "a verdict is written without the spec's lock",
        file: "crates/specum-engine/src/store.rs",
        from: "self.acquire(&self.lock_path(), lock_patience())?;",
        to: "self.acquire(&self.dir.join(\".ralph-other.lock\"), lock_patience())?;",
    },
    Fault {
        name: "results of a group are integrated as they come",
        file: "crates/specum-core/src/coordinate.rs",
        from: "        match self.window.first() {\n",
        to: "        let ready = self.window.iter().rev().find(|m| m.stage == Stage::Ready);\n\
             match ready.or(self.window.first()) {\n",
    },
    Fault {
        name: "a tick stays after git has refused the commit",
        file: "crates/specum-engine/src/attempt/commit.rs",
        from: "        let mut changes = locked.changes(&step)?;\n",
        to: "        let mut changes = locked.changes(&step)?;\n        changes.tasks.clear();\n",
    },
    Fault {
        name: "a start of an agent is not charged",
        file: "crates/specum-engine/src/runner/driver.rs",
        from: "                let charged = self.charge((launch, &attempt, agent), charge, millis);\n",
        to: "                let charged = match launch.0 % 5 {\n3 => Ok(()),\n\
             _ => self.charge((launch, &attempt, agent), charge, millis),\n};\n",
    },
    Fault {
        name: "ticks with nothing behind them stay",
        file: "crates/specum-engine/src/attempt/review.rs",
        from: "    let unproved = std::mem::take(&mut reviewed.unproved);\n",
        to: "    let mut unproved = std::mem::take(&mut reviewed.unproved);\n    unproved.clear();\n",
    },
    Fault {
        name: "the check in the plan counts, not the one on record",
        file: "crates/specum-engine/src/attempt/judge.rs",
        from: "            Some(on_record) => Check::of_lines(&on_record.check.0),\n",
        to: "            Some(_) => {\nlet view = self.store.read()?;\nlet file = view.file();\n\
             let task = file.tasks.iter().find(|task| task.name() == key.id);\n\
             task.and_then(|task| file.fields(task).verify)\n}\n",
    },
    Fault {
        name: "a commit takes everything that is changed",
        file: "crates/specum-engine/src/attempt/commit.rs",
        from: "        let mut paths = passed.changed.clone();\n",
        to: "        let mut paths = git.changed()?;\n",
    },
    Fault {
        name: "a task gets one attempt more than is allowed",
        file: "crates/specum-core/src/machine/fix_tasks.rs",
        from: "            if result.attempts < cap || ",
        to: "            if result.attempts <= cap || ",
    },
    Fault {
        name: "attempts do not follow a task that is renumbered",
        file: "crates/specum-core/src/attempt/ledger/fold.rs",
        from: "        if renames.is_empty() {\n",
        to: "        if !renames.is_empty() {\n",
    },
    Fault {
        name: "a run leaves its worktrees",
        file: "crates/specum-engine/src/runner/recover.rs",
        from: "    put_away_worktrees(workspace, git, &unsettled)?;\n",
        to: "    let _ = put_away_worktrees;\n",
    },
    Fault {
        name: "a skip ticks the box",
        file: "crates/specum-core/src/machine/person.rs",
        from: "        self.state.skipped.push(task.name());\n",
        to: "        self.state.skipped.push(task.name());\n\
             self.effects.push(super::Effect::Edit(TaskEdit::Tick(task.key())));\n",
    },
    Fault {
        name: "a note is lost with the run to which it was said",
        file: "crates/specum-core/src/attempt/ledger/words.rs",
        from: "            Entry::Cancelled | Entry::Completed { .. } => ",
        to: "            Entry::Cancelled | Entry::Completed { .. } | Entry::RunStarted { .. } => ",
    },
    Fault {
        name: "a retry counts as an attempt",
        file: "crates/specum-core/src/machine/person.rs",
        from: "            false => self.begin_anew(task),\n",
        to: "            false => {\n\
             let counted = &mut self.state.global_iteration;\n\
             *counted = crate::state::one_more(*counted);\n\
             self.begin_anew(task);\n}\n",
    },
    Fault {
        name: "a break after a task is not made",
        file: "crates/specum-core/src/machine/person.rs",
        from: "        Some(PauseAfter::Task) => return Some(Hold::Pause),\n",
        to: "        Some(PauseAfter::Task) => {}\n",
    },
];

/// Tries the faults, and prints a row for each.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let copy = repository().join("target/faults");
    let is_meant = |fault: &&Fault| options.only.as_ref().is_none_or(|w| fault.name.contains(w));
    renew(&copy)?;
    println!("| the fault | seed | step | the promise that breaks |\n|---|---|---|---|");
    for fault in FAULTS.iter().filter(is_meant) {
        let path = copy.join(fault.file);
        let before = fs::read_to_string(&path)?;
        fs::write(&path, with(fault, &before)?)?;
        let found = find(&copy).with_context(|| fault.name);
        fs::write(&path, before)?;
        let (seed, story) = found?;
        let (step, promise) = story.split_once(": ").context("a story names its promise")?;
        let step = step.rsplit(' ').next().unwrap_or_default();
        println!("| {} | {seed} | {step} | {promise} |", fault.name);
    }
    Ok(())
}

/// A copy of what is committed here; what was built from an earlier one stays.
fn renew(copy: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(copy)?;
    let script = "git archive HEAD | tar -x -C \"$0\"";
    let mut archive = Command::new("sh");
    archive.args(["-c", script]).arg(copy).current_dir(repository());
    ensure!(archive.status()?.success(), "the repository cannot be copied");
    Ok(())
}

fn with(fault: &Fault, source: &str) -> anyhow::Result<String> {
    let count = source.matches(fault.from).count();
    ensure!(count == 1, "{}: its place stands {count} times in {}", fault.name, fault.file);
    Ok(source.replacen(fault.from, fault.to, 1))
}

/// The first seed that breaks a promise, and the first line of its story.
fn find(copy: &Path) -> anyhow::Result<(u64, String)> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--profile", "tools", "--package", "xtask"]);
    build.current_dir(copy).env("RUSTFLAGS", "-Awarnings").env("CARGO_INCREMENTAL", "1");
    ensure!(build.status()?.success(), "it does not build");
    for seed in 1..=SEEDS {
        let mut campaign = Command::new(copy.join("target/tools/xtask"));
        let (seed_word, steps) = (seed.to_string(), STEPS.to_string());
        campaign.args(["campaign", "--runs", "0", "--seed", &seed_word, "--steps", &steps]);
        let said =
            String::from_utf8_lossy(&campaign.current_dir(copy).output()?.stdout).into_owned();
        if let Some(story) = said.lines().find(|line| line.starts_with("seed ")) {
            return Ok((seed, story.to_owned()));
        }
    }
    bail!("{SEEDS} seeds of {STEPS} steps did not find it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_place_in_the_source() {
        for fault in &FAULTS {
            let source = fs::read_to_string(repository().join(fault.file)).expect("it is there");
            assert_ne!(with(fault, &source).expect("one place"), source);
        }
    }
}

//! What a run puts away that did not get to its end: its own, or one that died.

use specum::attempt::History;
use specum_core::agent;
use specum_core::journal::{Changes, Entry};
use specum_core::tasks::{Task, TaskEdit, TaskFile};

use super::work::took_effect;
use super::world::{Halt, World};

impl World {
    /// Puts away what a run has left, as `runner::recover` does.
    pub(crate) fn put_away(&mut self) -> Result<(), Halt> {
        self.complete_commits()?;
        if self.state().is_some() {
            let lost: Vec<_> = History(&self.disk.records)
                .uncharged()
                .iter()
                .map(|lost| (lost.task.clone(), lost.attempt, lost.agent.to_owned()))
                .collect();
            for (task, attempt, name) in lost {
                let agent = agent::by_name(&name, Some("")).expect("an agent of this name");
                let measures = agent.measures();
                self.write_charge((task, attempt, &name), |b| b.charge(measures, None, true), 0)?;
            }
        }
        self.take_back_ticks()?;
        let unsettled = History(&self.disk.records).unsettled();
        for (opened, _) in unsettled {
            let (task, attempt) = (opened.key, opened.attempt);
            self.record(Entry::Cleared { task, attempt })?;
        }
        Ok(())
    }

    /// Opens the boxes again that agents have ticked whom nobody got to judge.
    pub(crate) fn take_back_ticks(&mut self) -> Result<(), Halt> {
        self.lock()?;
        if self.disk.state.is_none() {
            return Ok(());
        }
        let text = self.disk.tasks.clone();
        let file = TaskFile::scan(&text);
        let history = History(&self.disk.records);
        let mut ticked = Vec::new();
        let mut moved = false;
        for (opened, _) in history.unsettled() {
            let ticks = self.disk.records.iter().rev().find_map(|record| match &record.entry {
                Entry::Opened { task, attempt, ticks, .. }
                    if task.id == opened.key.id && *attempt == opened.attempt =>
                {
                    Some(ticks.clone())
                }
                _ => None,
            });
            let passed = history.passed_since(&opened);
            let since = file.ticked_since(&ticks.unwrap_or_default());
            let mine = since.into_iter().filter(|task| !passed.contains(&task.name().as_str()));
            ticked.extend(mine.map(Task::key));
            moved |= self.truth.moved_at.is_some();
        }
        ticked.dedup();
        if moved {
            self.truth.rogues_are_found_out(true);
        }
        if ticked.is_empty() {
            return Ok(());
        }
        let tasks = ticked.iter().map(|key| key.id.clone()).collect();
        let edits = ticked.into_iter().map(TaskEdit::Untick).collect();
        let changes = Changes { tasks: edits, ..Changes::default() };
        let at = self.at();
        let written = self.disk.write(&at, Entry::Unticked { tasks }, changes).map_err(Halt::from);
        if took_effect(&written) {
            self.truth.rogues_are_found_out(false);
        }
        written
    }
}

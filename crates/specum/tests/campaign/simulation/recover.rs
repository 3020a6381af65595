//! What a run puts away that did not get to its end: its own, or one that died.

use specum::attempt::History;
use specum_core::agent;
use specum_core::journal::Entry;

use super::plan::soul_of;
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
            let soul = soul_of(&task);
            let entry = Entry::Cleared { task, attempt };
            // What an earlier loop has left goes by the name it had there.
            let at = self.at();
            let written = match self.is_rightly_named(&entry) {
                Err(_) if !self.is_of_this_loop(&soul) => {
                    self.disk.record(&at, entry).map_err(Halt::from)
                }
                _ => self.record(entry),
            };
            if took_effect(&written) {
                self.truth.tasks.at_work.remove(&soul);
            }
            written?;
        }
        Ok(())
    }

    /// Whether somebody has begun to work on a task in this loop.
    fn is_of_this_loop(&self, soul: &str) -> bool {
        self.truth.tasks.opened.contains_key(soul)
    }
}

//! What a run puts away that did not get to its end: its own, or one that died.

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
            let lost: Vec<_> = self
                .disk
                .ledger
                .uncharged()
                .iter()
                .filter_map(|lost| {
                    let attempt = self.disk.ledger.attempt(&lost.attempt)?;
                    Some((attempt.key.clone(), attempt.number, lost.agent.clone()))
                })
                .collect();
            for (task, attempt, name) in lost {
                let agent = agent::by_name(&name, Some("")).expect("an agent of this name");
                let measures = agent.measures();
                self.write_charge((task, attempt, &name), |b| b.charge(measures, None, true), 0)?;
            }
        }
        self.take_back_ticks()?;
        let unsettled = self.disk.ledger.unsettled();
        for (opened, _) in unsettled {
            let (task, attempt) = (opened.key, opened.number);
            let soul = soul_of(&task);
            let entry = Entry::Cleared { task, attempt };
            // What an earlier loop has left goes by the name it had there.
            let at = self.at();
            let written = match self.is_rightly_named(&entry) {
                Err(_) if !self.is_of_this_loop(&entry) => {
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

    /// Whether the attempt of a record has begun in this loop.
    fn is_of_this_loop(&self, entry: &Entry) -> bool {
        let records = self.disk.records.iter().rev().map(|record| &record.entry);
        let this_loop = records
            .take_while(|entry| !matches!(entry, Entry::Cancelled | Entry::Completed { .. }));
        let mut opened = this_loop.filter(|entry| matches!(entry, Entry::Opened { .. }));
        opened.any(|opened| opened.task() == entry.task())
    }
}

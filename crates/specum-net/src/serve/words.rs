//! What an agent says, as it says it: the end of its log, read on as it grows.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use specum_core::agent::{self, Reader, Sign, Spoken, Transcript, Usage};
use specum_core::report::Veil;
use specum_engine::logs;
use specum_engine::process::Replay;
use specum_engine::project::Spec;

/// So much of the end of a log is read at the beginning.
const BEGINS_WITH: u64 = 256 * 1024;
/// A log that has grown by more since the last look is begun anew.
const AT_ONCE: u64 = 2 * 1024 * 1024;
/// So many lines are kept.
pub(super) const KEPT: usize = 200;

/// A line of what an agent says or does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Word {
    /// Its number; it only grows.
    pub(super) n: u64,
    pub(super) kind: Kind,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Words,
    Tool,
    Trouble,
}

/// What an agent has said, as far as anybody still looks at it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) task: String,
    /// Which start of which agent it is.
    pub(super) start: String,
    pub(super) words: VecDeque<Arc<Word>>,
    pub(super) used: Option<Usage>,
}

/// Listens to one start of an agent.
pub(super) struct Ear {
    path: PathBuf,
    agent: Option<String>,
    replay: Option<Replay>,
    transcript: Transcript,
    reader: Option<Box<dyn Reader>>,
    /// How long the log was at the last look.
    length: u64,
    next: u64,
    pub(super) heard: Heard,
}

impl Ear {
    /// Listens to a log that the journal names; `None` if it is none of this spec's.
    pub(super) fn at(spec: &Spec, task: &str, agent: Option<&str>, log: &str) -> Option<Ear> {
        let path = Path::new(log);
        let start = path.file_name()?.to_string_lossy().into_owned();
        logs::is_log(spec, path).then(|| Ear {
            path: path.to_owned(),
            agent: agent.map(str::to_owned),
            replay: None,
            transcript: Transcript::of(agent),
            reader: None,
            length: 0,
            next: 0,
            heard: Heard { task: task.to_owned(), start, ..Heard::default() },
        })
    }

    /// Whether it listens to this log.
    pub(super) fn is_at(&self, log: &str) -> bool {
        self.path.as_os_str() == log
    }

    /// Hears what was added, and tells whether anything was.
    pub(super) fn listen(&mut self, spec: &Spec) -> bool {
        let disk = &*spec.world.disk;
        let Ok(found) = disk.look(&self.path) else { return false };
        if self.replay.is_some() && found.length == self.length {
            return false;
        }
        let (mut skips, mut replay) = (false, self.replay.take());
        if replay.is_none() || found.length.saturating_sub(self.length) > AT_ONCE {
            let Ok((begun, left_out)) =
                disk.open_own(&self.path).and_then(|log| Replay::of_end(log, BEGINS_WITH))
            else {
                return false;
            };
            // It begins somewhere in a line.
            skips = left_out > 0;
            replay = Some(begun);
            self.transcript = Transcript::of(self.agent.as_deref());
            let agent = self.agent.as_deref().and_then(|name| agent::by_name(name, Some("")));
            self.reader = agent.map(|agent| agent.reader());
        }
        self.length = found.length;
        let before = (self.next, self.heard.used);
        if let Some(replay) = &mut replay {
            let read = replay.read_on(|line| match std::mem::take(&mut skips) {
                true => {}
                false => self.take(line),
            });
            if read.is_err() {
                return false;
            }
        }
        self.replay = replay;
        (self.next, self.heard.used) != before
    }

    fn take(&mut self, line: &[u8]) {
        let veil = Veil::default();
        for piece in self.transcript.line(line) {
            let (kind, text) = match piece {
                Spoken::Words(text) | Spoken::Printed(text) => (Kind::Words, text),
                Spoken::Call(text) => (Kind::Tool, text),
                Spoken::Note(text) | Spoken::Trouble(text) => (Kind::Trouble, text),
                Spoken::Result { .. } => continue,
            };
            let text = veil.text(text.trim());
            if !text.is_empty() {
                self.heard.words.push_back(Arc::new(Word { n: self.next, kind, text }));
                self.next += 1;
            }
        }
        while self.heard.words.len() > KEPT {
            self.heard.words.pop_front();
        }
        for sign in self.reader.iter_mut().flat_map(|reader| reader.line(line)) {
            if let Sign::Used(used) = sign {
                self.heard.used = Some(used);
            }
        }
    }
}

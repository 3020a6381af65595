//! Faults that can strike a plan, drawn by lot.

use fastrand::Rng;

use super::fault::{
    AtAgent, AtCommit, AtGit, AtStart, Boxes, Edit, Fault, Kind, Rewrite, SKIP, Then,
};
use super::plan::{Check, Marker, Task};

/// What may become read-only.
const PATHS: [&str; 4] =
    ["specs/plan", "specs/plan/.ralph-journal.jsonl", ".git", ".git/refs/heads"];
/// What a person may type while a run works.
const VERBS: [&str; 7] = [
    "run --agent claude",
    "next",
    "pause",
    "cancel",
    "implement",
    "doctor --repair",
    "finish $TASK",
];

/// What a person says to the work at a terminal, while an agent works.
const WORDS: [&str; 7] = [
    "note $TASK mind-the-gap",
    "note --all mind-the-gap",
    "retry $TASK",
    SKIP,
    "pause --after task",
    "pause --after phase",
    "undo $TASK",
];

/// Draws faults for a plan.
pub(super) struct Lot<'l> {
    pub tasks: &'l [Task],
    /// Whether the tasks have no ids.
    pub bare: bool,
    /// Whether the user has changes that are not committed.
    pub dirty: bool,
    pub rng: &'l mut Rng,
}

impl Lot<'_> {
    /// A fault of a kind.
    pub(super) fn fault(&mut self, kind: Kind) -> Fault {
        let size = self.tasks.len() as u64 + 1;
        match kind {
            Kind::KillSpecum if self.one_in(5) => self.agent(AtAgent::Slays, Task::needs_agent),
            Kind::KillSpecum => {
                let point = self.rng.u64(1..=size * 40);
                self.start(AtStart::Killed { point })
            }
            Kind::KillAgent => {
                let how = self.one_of(&[AtAgent::Killed, AtAgent::KilledHalfway]);
                self.agent(how, Task::needs_agent)
            }
            Kind::FullDisk if self.one_in(3) => {
                let blocks = self.rng.u64(0..=24);
                self.start(AtStart::SmallFiles { blocks })
            }
            Kind::FullDisk => {
                let first = self.rng.u64(1..=size * 15);
                let last = first + self.rng.u64(0..=8);
                self.start(AtStart::Full { first, last })
            }
            Kind::ReadOnly => {
                let path = self.one_of(&PATHS);
                self.agent(AtAgent::ReadOnly(path), Task::needs_agent)
            }
            Kind::GitFails => self.git(&[AtGit::Fails, AtGit::FailsAfter, AtGit::Killed]),
            Kind::GitSlow => self.git(&[AtGit::Slow, AtGit::Outlives]),
            Kind::TornJournal if self.one_in(4) => self.agent(AtAgent::TearsJournal, in_sequence),
            Kind::TornJournal => {
                let write = self.rng.u64(1..=size * 15);
                self.start(AtStart::Torn { write })
            }
            Kind::ClockJump => {
                let seconds = self.one_of(&[-86_400 * 400, -7200, -1, 1, 7200, 86_400 * 4000]);
                let look = self.rng.u64(1..=size * 10);
                self.start(AtStart::Clock { look, seconds })
            }
            Kind::PersonEdits => self.edit(),
            Kind::RateLimit => self.agent(AtAgent::RateLimit, Task::needs_agent),
            Kind::Garbage => {
                let how = self.one_of(&[AtAgent::Garbage, AtAgent::Flood, AtAgent::NoSignal]);
                self.agent(how, Task::needs_agent)
            }
            Kind::TwoOwners if self.one_in(4) => self.start(AtStart::Twice),
            Kind::TwoOwners => {
                let verb = self.one_of(&VERBS);
                self.agent(AtAgent::Verb(verb), Task::needs_agent)
            }
            Kind::PersonSteers => {
                let words = self.one_of(&WORDS);
                self.agent(AtAgent::Steers(words), Task::needs_agent)
            }
            // Where nothing can be run, nobody can tell.
            Kind::FalseClaim => self.agent(AtAgent::FalseClaim, |task| {
                task.needs_agent() && task.check != Check::Prose
            }),
            Kind::AgentTicks => {
                let boxes = self.one_of(&[Boxes::Own, Boxes::All, Boxes::Elsewhere]);
                let how = match self.one_in(3) && boxes != Boxes::Elsewhere {
                    true => AtAgent::TicksAndDies(boxes),
                    false => AtAgent::Ticks(boxes),
                };
                self.agent(how, Task::needs_agent)
            }
            Kind::AgentEdits => self.agent_edit(),
            Kind::Interrupt => {
                let signal = self.one_of(&["INT", "TERM", "HUP"]);
                self.agent(AtAgent::Signals(signal), Task::needs_agent)
            }
            Kind::PersonReturns => self.agent(AtAgent::SlaysBeforeEdits, Task::needs_agent),
            Kind::CommitHook => {
                let how = self.one_of(&[
                    AtCommit::Formats,
                    AtCommit::FormatsIndex,
                    AtCommit::FormatsAndFails,
                    AtCommit::AddsFile,
                ]);
                Fault::Hook { how }
            }
            Kind::AgentRewrites => self.rewrite(),
            Kind::AgentCleans => {
                let then = self.then();
                self.agent(AtAgent::Cleans(then), in_sequence)
            }
            Kind::PowerCut if self.one_in(2) => {
                let millis = self.rng.u64(0..6);
                self.git(&[AtGit::PowerCut { millis }])
            }
            Kind::PowerCut => self.agent(AtAgent::PowerCut, Task::needs_agent),
            // Of the first start: many stories have no second one.
            Kind::StalledReader => Fault::Start { start: 1, how: AtStart::Stalled },
            Kind::ProcessLimit => {
                let limit = self.rng.u64(2..=20);
                Fault::Start { start: 1, how: AtStart::FewProcesses { limit } }
            }
        }
    }

    /// An agent rewrites the history. With a hard reset the user's own changes
    /// would be gone, and that would be its doing.
    fn rewrite(&mut self) -> Fault {
        let how = match self.dirty {
            true => Rewrite::Amends,
            false => self.one_of(&[Rewrite::Drops, Rewrite::Amends]),
        };
        let then = self.then();
        self.agent(AtAgent::Rewrites { how, then }, in_sequence)
    }

    fn then(&mut self) -> Then {
        if self.one_in(3) { Then::IsKilled } else { Then::Works }
    }

    fn one_in(&mut self, count: u8) -> bool {
        self.rng.u8(0..count) == 0
    }

    fn one_of<T: Clone, const N: usize>(&mut self, all: &[T; N]) -> T {
        all[self.rng.usize(0..N)].clone()
    }

    /// The first event, mostly, or the second.
    fn number(&mut self) -> usize {
        if self.one_in(4) { 2 } else { 1 }
    }

    fn start(&mut self, how: AtStart) -> Fault {
        Fault::Start { start: self.number(), how }
    }

    fn git(&mut self, among: &[AtGit]) -> Fault {
        let call = self.rng.u64(1..=(self.tasks.len() as u64 + 1) * 10);
        Fault::Git { call, how: among[self.rng.usize(0..among.len())] }
    }

    /// One of an agent, while it works a task of some kind.
    fn agent(&mut self, how: AtAgent, which: impl Fn(&Task) -> bool) -> Fault {
        let among: Vec<&Task> = self.tasks.iter().filter(|task| which(task)).collect();
        // A plan without one has a fault that never strikes.
        let task = self.rng.choice(among).map_or("0.0".to_owned(), |task| task.id.clone());
        Fault::Agent { task, nth: self.number() as u64, how }
    }

    /// A person edits what comes later, while a task is worked in sequence: then
    /// nobody else writes the plan.
    fn edit(&mut self) -> Fault {
        let at = self.rng.usize(0..self.tasks.len());
        let later: Vec<String> = self.tasks[at + 1..].iter().map(|task| task.id.clone()).collect();
        let one = self.rng.usize(0..later.len().max(1));
        let before = self.tasks[..=at].iter().rev().find(|task| in_sequence(task));
        let task = before.map_or("1.1".to_owned(), |task| task.id.clone());
        let edit = match (self.rng.u8(0..12), later.as_slice()) {
            (7, _) => Edit::Insert(format!("8.{}", self.rng.u8(1..9)), task.clone()),
            (8, _) => Edit::Reword(task.clone()),
            (9, _) => Edit::Recheck(task.clone()),
            (10, _) if !self.bare => Edit::Renumber(task.clone(), "9.1".to_owned()),
            (11, _) => Edit::Retitle(task.clone()),
            (0, [_, ..]) => Edit::Retitle(later[one].clone()),
            (1, [_, ..]) => Edit::Tick(later[one].clone()),
            (2..=3, [first, rest @ ..]) if !rest.is_empty() => {
                Edit::Swap(first.clone(), rest[one.saturating_sub(1)].clone())
            }
            (4, _) => Edit::Crlf,
            _ => Edit::Append(format!("8.{}", self.rng.u8(1..9))),
        };
        Fault::Agent { task, nth: 1, how: AtAgent::Edit(edit) }
    }
}

impl Lot<'_> {
    /// An agent edits what comes later.
    fn agent_edit(&mut self) -> Fault {
        let works = |task: &&Task| in_sequence(task);
        let first = self.tasks.iter().find(works).map_or("1.1".to_owned(), |task| task.id.clone());
        let at = self.tasks.iter().position(|task| task.id == first).unwrap_or(0);
        let later: Vec<&Task> = self.tasks[at + 1..].iter().collect();
        let is_put_back = self.one_in(2);
        let how = match self.rng.choice(later) {
            // Prose cannot be weakened. Whose check passes needs no agent if
            // that is all it asks for.
            Some(task)
                if task.marker == Marker::Verify
                    || task.check == Check::Prose
                    || self.one_in(2) =>
            {
                AtAgent::Removes { task: task.id.clone(), is_put_back }
            }
            Some(task) => AtAgent::Weakens(task.id.clone()),
            // Its own check, then.
            None => AtAgent::Weakens(first.clone()),
        };
        Fault::Agent { task: first, nth: 1, how }
    }
}

fn in_sequence(task: &Task) -> bool {
    task.marker == Marker::Alone
}

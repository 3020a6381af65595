//! What the coordinator of a run takes in, and what it answers.

use serde::{Deserialize, Serialize};

use super::agents::Millis;
use crate::agent::{Measures, Report, Sign, Trouble};
use crate::attempt::AttemptId;
use crate::budget::Charge;
use crate::event::Outcome;

/// One start of an agent; numbers are never used again within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Launch(pub u64);

/// An agent that a run may start.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// What it tells of its use.
    pub measures: Measures,
    /// What a person does to sign it in.
    pub sign_in: String,
}

/// An attempt that was opened, or was open already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWork {
    /// Which.
    pub attempt: AttemptId,
    /// The name of its task.
    pub task: String,
    /// Where the task stands in the plan.
    pub place: usize,
    /// Where it is worked on.
    pub site: Site,
    /// How far it has come already.
    pub stands: Stands,
}

/// Where an attempt is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Site {
    /// In the user's tree: it is judged where it was made.
    Tree,
    /// In a worktree of its own, as one of a group: what passes there is a commit, and
    /// is integrated afterwards.
    Worktree,
    /// The same in the one worktree of an isolated run.
    Isolated,
}

/// How far an attempt has come when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// It needs an agent.
    NeedsAgent,
    /// Its check may pass without one.
    NeedsCheck,
    /// It passed in a worktree in an earlier run, and was not integrated.
    Ready,
    /// It is worked on already; only its place may be another by now.
    UnderWay,
}

/// Something that has happened.
#[derive(Debug)]
pub enum Input {
    /// Time has passed. Sent about ten times a second.
    Tick,
    /// The driver did not listen for a while, so no agent counts as silent for that time.
    WasAway,
    /// After [`Action::Open`] or [`Action::Join`]: these attempts are open, with those
    /// that the coordinator knows already. None after `Join`: nothing may join now.
    Opened(Vec<OpenWork>),
    /// After [`Action::Open`]: nothing is due, and the run ends as this.
    NothingDue(Outcome),
    /// After [`Action::CompleteIfDone`]: boxes are open.
    NotDone,
    /// After [`Action::Check`]: it has not passed, so an agent is to work.
    CheckFailed(AttemptId),
    /// A running agent has printed something without a meaning.
    Printed(Launch),
    /// A running agent has said what it does.
    Said(Launch, Vec<Sign>),
    /// A running agent has said its last word; or it has said more.
    Answered(Launch, bool),
    /// An agent has ended. In a worktree, what it did is checked next.
    Ended(AgentEnd),
    /// The attempt has passed in its worktree, and is to be integrated.
    Ready(AttemptId),
    /// The attempt has its verdict, or waits for a person.
    Settled(AttemptId),
    /// The attempt is not open any more: a person has changed the plan.
    Lost(AttemptId),
    /// A person does not want the attempt any more. May be sent again and again.
    Unwanted(AttemptId),
    /// A start was broken off because everybody stops, before its agent ran.
    NotStarted(Launch),
    /// What was done for the attempt was broken off because everybody stops; it stays
    /// open.
    BrokenOff(AttemptId),
    /// Everybody is to stop, for this reason.
    Stop(Outcome),
    /// What an action asked for has failed, and that is no attempt's fault.
    Broke(Broken),
}

/// Which action has failed.
#[derive(Debug)]
pub enum Broken {
    /// [`Action::Open`] or [`Action::CompleteIfDone`].
    Open,
    /// [`Action::Join`].
    Join,
    /// [`Action::Start`], before the agent has ended or after it.
    Start(Launch, AttemptId),
    /// Another one about an attempt.
    Attempt(AttemptId),
    /// Another one.
    Other,
}

/// An agent that has ended.
#[derive(Debug)]
pub struct AgentEnd {
    /// Which start of it.
    pub launch: Launch,
    /// What it came to.
    pub report: Report,
    /// Whether it has changed anything.
    pub changed: bool,
    /// In how many milliseconds a limit ends that it named.
    pub resets_in: Option<Millis>,
}

/// Something that is to be done. What touches the user's tree is asked for one at a
/// time; the next such action follows when the last one was answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Open what is due.
    Open,
    /// Open at most so many more tasks of the group that is worked on. May be done
    /// beside everything else.
    Join {
        /// How many.
        room: usize,
    },
    /// Complete the loop if every box is ticked. Nothing is opened.
    CompleteIfDone,
    /// Run the check of an attempt for which no agent has worked yet.
    Check(AttemptId),
    /// Start an agent.
    Start {
        /// As which start.
        launch: Launch,
        /// For which attempt.
        attempt: AttemptId,
        /// Which agent.
        agent: usize,
        /// Most dollars that it may cost.
        max_cost: Option<f64>,
    },
    /// End an agent.
    End(Launch),
    /// End everything that runs, and let nothing more begin.
    EndAll,
    /// Write down what a start of an agent is charged with, and how much time has
    /// passed since the last such record.
    Charge {
        /// Which start.
        launch: Launch,
        /// Of which attempt.
        attempt: AttemptId,
        /// Which agent.
        agent: usize,
        /// What it is charged with.
        charge: Charge,
        /// The time.
        millis: Millis,
    },
    /// Judge the attempt in the user's tree; if it was worked on elsewhere, put its
    /// work on top of the others' first.
    Integrate(AttemptId),
    /// End the attempt as failed, for a reason that lies with its agent.
    GiveUp {
        /// Which.
        attempt: AttemptId,
        /// The reason.
        trouble: Trouble,
    },
    /// End the attempt for a person who does not want it any more. It counts for
    /// nothing, and what it has made is kept.
    Drop(AttemptId),
    /// Tell that another agent takes over.
    TellChange {
        /// Who worked.
        from: usize,
        /// Who works from now on.
        to: usize,
        /// Why.
        why: String,
    },
    /// Tell that the run waits for an agent.
    TellWait {
        /// For which.
        agent: usize,
        /// How long.
        millis: Millis,
        /// Why.
        why: String,
    },
    /// Tell that starts are held back until a price is known.
    TellHeldBack,
    /// Tell that an attempt at this task was forgotten twice, and nothing was settled in
    /// between: something deletes the journal.
    TellForgotten(String),
    /// The run is over.
    Finish(Outcome),
}

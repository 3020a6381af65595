//! Faults, and the events at which they strike.

use std::fmt;

/// The kinds of faults, as they are named on the command line and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    KillSpecum,
    KillAgent,
    FullDisk,
    ReadOnly,
    GitFails,
    GitSlow,
    TornJournal,
    ClockJump,
    PersonEdits,
    RateLimit,
    Garbage,
    TwoOwners,
    FalseClaim,
    Interrupt,
    AgentTicks,
    AgentEdits,
    PersonReturns,
    PersonSteers,
    CommitHook,
    AgentRewrites,
    AgentCleans,
    PowerCut,
    StalledReader,
    ProcessLimit,
}

impl Kind {
    pub const ALL: [Kind; 24] = [
        Kind::KillSpecum,
        Kind::KillAgent,
        Kind::FullDisk,
        Kind::ReadOnly,
        Kind::GitFails,
        Kind::GitSlow,
        Kind::TornJournal,
        Kind::ClockJump,
        Kind::PersonEdits,
        Kind::RateLimit,
        Kind::Garbage,
        Kind::TwoOwners,
        Kind::FalseClaim,
        Kind::Interrupt,
        Kind::AgentTicks,
        Kind::AgentEdits,
        Kind::PersonReturns,
        Kind::PersonSteers,
        Kind::CommitHook,
        Kind::AgentRewrites,
        Kind::AgentCleans,
        Kind::PowerCut,
        Kind::StalledReader,
        Kind::ProcessLimit,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::KillSpecum => "kill-specum",
            Kind::KillAgent => "kill-agent",
            Kind::FullDisk => "full-disk",
            Kind::ReadOnly => "read-only",
            Kind::GitFails => "git-fails",
            Kind::GitSlow => "git-slow",
            Kind::TornJournal => "torn-journal",
            Kind::ClockJump => "clock-jump",
            Kind::PersonEdits => "person-edits",
            Kind::RateLimit => "rate-limit",
            Kind::Garbage => "garbage",
            Kind::TwoOwners => "two-owners",
            Kind::FalseClaim => "false-claim",
            Kind::Interrupt => "interrupt",
            Kind::AgentTicks => "agent-ticks",
            Kind::AgentEdits => "agent-edits",
            Kind::PersonReturns => "person-returns",
            Kind::PersonSteers => "person-steers",
            Kind::CommitHook => "commit-hook",
            Kind::AgentRewrites => "agent-rewrites",
            Kind::AgentCleans => "agent-cleans",
            Kind::PowerCut => "power-cut",
            Kind::StalledReader => "stalled-reader",
            Kind::ProcessLimit => "process-limit",
        }
    }
}

/// What a person says who wants a task passed over.
pub const SKIP: &str = "skip $TASK";

/// Something that goes wrong, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A start of specum does not go well.
    Start { start: usize, how: AtStart },
    /// A call of git, counted over all starts.
    Git { call: u64, how: AtGit },
    /// A start of the agent for a task, counted over all starts of specum.
    Agent { task: String, nth: u64, how: AtAgent },
    /// The repository has a `pre-commit` hook.
    Hook { how: AtCommit },
}

/// What happens to a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtStart {
    /// It is killed at its nth fail point.
    Killed { point: u64 },
    /// It is killed in the middle of its nth write.
    Torn { write: u64 },
    /// Its writes find no room, from one to another.
    Full { first: u64, last: u64 },
    /// No file may grow beyond this, its children's and git's included.
    SmallFiles { blocks: u64 },
    /// The clock jumps when it is looked at for the nth time.
    Clock { look: u64, seconds: i64 },
    /// A second one is started at the same moment.
    Twice,
    /// Its output is not read before it has ended.
    Stalled,
    /// The user may have this many processes and threads.
    FewProcesses { limit: u64 },
}

/// What a `pre-commit` hook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtCommit {
    /// Formats the staged files and stages them again, as lint-staged does.
    Formats,
    /// Formats what is staged and leaves the files.
    FormatsIndex,
    /// Formats the staged files, and fails if that changed any, as the pre-commit
    /// framework does.
    FormatsAndFails,
    /// Writes and stages a file of its own.
    AddsFile,
}

/// What happens to a call of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtGit {
    /// It does nothing and says so.
    Fails,
    /// It does its work and says that it has not.
    FailsAfter,
    /// It is killed and leaves its lock behind.
    Killed,
    /// It takes its time.
    Slow,
    /// The process that called it is killed, and it goes on without.
    Outlives,
    /// The power is cut this long after it has started.
    PowerCut { millis: u64 },
}

/// What an agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtAgent {
    /// Is killed before it has done anything.
    Killed,
    /// Is killed in the middle.
    KilledHalfway,
    /// Prints what nobody can read, and no answer.
    Garbage,
    /// Prints very much of it, and its answer.
    Flood,
    /// Says that it is done and has done nothing.
    FalseClaim,
    /// Does its work and does not say so.
    NoSignal,
    /// Says that a limit is reached.
    RateLimit,
    /// A person edits the plan meanwhile.
    Edit(Edit),
    /// Something becomes read-only meanwhile: a path below the project.
    ReadOnly(&'static str),
    /// A person uses specum meanwhile.
    Verb(&'static str),
    /// A person says something to the work meanwhile, at a terminal of their own.
    Steers(&'static str),
    /// Kills specum, and goes on without.
    Slays,
    /// Sends specum this signal.
    Signals(&'static str),
    /// Half a record is left at the end of the journal meanwhile.
    TearsJournal,
    /// Ticks boxes, and does its work.
    Ticks(Boxes),
    /// Ticks boxes, and is killed.
    TicksAndDies(Boxes),
    /// Lets the check of a task pass whatever is done. That one's agent claims to
    /// be done and has done nothing.
    Weakens(String),
    /// Removes a later task. A person puts it back, or agrees.
    Removes { task: String, is_put_back: bool },
    /// Kills specum halfway. A person edits the tree before the next start.
    SlaysBeforeEdits,
    /// Rewrites the history.
    Rewrites { how: Rewrite, then: Then },
    /// Deletes whatever git does not track, ignored files included.
    Cleans(Then),
    /// The power is cut halfway.
    PowerCut,
}

/// How an agent rewrites the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// `git reset --hard HEAD~1`.
    Drops,
    /// `git commit --amend`.
    Amends,
}

/// What an agent does after it has done harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Works,
    IsKilled,
}

/// Boxes that an agent ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boxes {
    /// That of its own task.
    Own,
    /// All of them.
    All,
    /// Those of another plan.
    Elsewhere,
}

/// What a person does to the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Adds a task at the end.
    Append(String),
    /// Writes another title.
    Retitle(String),
    /// Ticks a box.
    Tick(String),
    /// Lets two tasks change places.
    Swap(String, String),
    /// Lets every line end as on Windows.
    Crlf,
    /// Adds a task above another.
    Insert(String, String),
    /// Rewrites what a task asks for.
    Reword(String),
    /// Writes another check that does the same.
    Recheck(String),
    /// Gives a task another number.
    Renumber(String, String),
}

impl Edit {
    /// The task that comes with it.
    pub fn adds(&self) -> Option<&String> {
        match self {
            Edit::Append(id) | Edit::Insert(id, _) => Some(id),
            _ => None,
        }
    }

    /// As `person` reads it.
    pub fn words(&self) -> String {
        match self {
            Edit::Append(id) => format!("append {id}"),
            Edit::Retitle(id) => format!("retitle {id}"),
            Edit::Tick(id) => format!("tick {id}"),
            Edit::Swap(one, other) => format!("swap {one} {other}"),
            Edit::Crlf => "crlf".to_owned(),
            Edit::Insert(id, before) => format!("insert {id} {before}"),
            Edit::Reword(id) => format!("reword {id}"),
            Edit::Recheck(id) => format!("recheck {id}"),
            Edit::Renumber(id, number) => format!("renumber {id} {number}"),
        }
    }
}

impl Fault {
    pub fn kind(&self) -> Kind {
        match self {
            Fault::Start { how, .. } => match how {
                AtStart::Killed { .. } => Kind::KillSpecum,
                AtStart::Torn { .. } => Kind::TornJournal,
                AtStart::Full { .. } | AtStart::SmallFiles { .. } => Kind::FullDisk,
                AtStart::Clock { .. } => Kind::ClockJump,
                AtStart::Twice => Kind::TwoOwners,
                AtStart::Stalled => Kind::StalledReader,
                AtStart::FewProcesses { .. } => Kind::ProcessLimit,
            },
            Fault::Hook { .. } => Kind::CommitHook,
            Fault::Git { how, .. } => match how {
                AtGit::Fails | AtGit::FailsAfter | AtGit::Killed => Kind::GitFails,
                AtGit::Slow | AtGit::Outlives => Kind::GitSlow,
                AtGit::PowerCut { .. } => Kind::PowerCut,
            },
            Fault::Agent { how, .. } => match how {
                AtAgent::Killed | AtAgent::KilledHalfway => Kind::KillAgent,
                AtAgent::Garbage | AtAgent::Flood | AtAgent::NoSignal => Kind::Garbage,
                AtAgent::FalseClaim => Kind::FalseClaim,
                AtAgent::RateLimit => Kind::RateLimit,
                AtAgent::Edit(_) => Kind::PersonEdits,
                AtAgent::ReadOnly(_) => Kind::ReadOnly,
                AtAgent::Verb(_) => Kind::TwoOwners,
                AtAgent::Steers(_) => Kind::PersonSteers,
                AtAgent::Slays => Kind::KillSpecum,
                AtAgent::Signals(_) => Kind::Interrupt,
                AtAgent::TearsJournal => Kind::TornJournal,
                AtAgent::Ticks(_) | AtAgent::TicksAndDies(_) => Kind::AgentTicks,
                AtAgent::Weakens(_) | AtAgent::Removes { .. } => Kind::AgentEdits,
                AtAgent::SlaysBeforeEdits => Kind::PersonReturns,
                AtAgent::Rewrites { .. } => Kind::AgentRewrites,
                AtAgent::Cleans(_) => Kind::AgentCleans,
                AtAgent::PowerCut => Kind::PowerCut,
            },
        }
    }

    /// Whether two faults cannot both be: they want the same event, or do the
    /// same thing to the plan.
    pub fn excludes(&self, other: &Fault) -> bool {
        // Only specum's own clock jumps. Back by hours, it would make the files of an
        // attempt that nobody has judged younger than the run.
        let apart = |one: &Fault, other: &Fault| {
            one.turns_the_clock_back() && other.may_leave_an_attempt_open()
                || one.kind() == Kind::ClockJump && other.kind() == Kind::PersonReturns
                // The copy of the journal has found no room, and the journal is deleted.
                || one.kind() == Kind::FullDisk && other.kind() == Kind::AgentCleans
                // The editor of the plan finds no process to run in, and who was called
                // has changed nothing; half of a hook commits what is half formatted.
                || one.kind() == Kind::ProcessLimit
                    && matches!(
                        other.kind(),
                        Kind::PersonEdits | Kind::AgentEdits | Kind::CommitHook
                    )
        };
        if apart(self, other) || apart(other, self) {
            return true;
        }
        match (self, other) {
            (Fault::Start { start: one, .. }, Fault::Start { start: other, .. }) => one == other,
            (Fault::Git { call: one, .. }, Fault::Git { call: other, .. }) => one == other,
            (
                Fault::Agent { task: one, nth, how },
                Fault::Agent { task: other, nth: other_nth, how: other_how },
            ) => {
                let same = match (how, other_how) {
                    (AtAgent::Edit(one), AtAgent::Edit(other)) => {
                        one == other || (one.adds().is_some() && one.adds() == other.adds())
                    }
                    // Nobody can follow what two change at once.
                    (AtAgent::Edit(_), AtAgent::Weakens(_) | AtAgent::Removes { .. })
                    | (AtAgent::Weakens(_) | AtAgent::Removes { .. }, AtAgent::Edit(_))
                    | (
                        AtAgent::Weakens(_) | AtAgent::Removes { .. },
                        AtAgent::Weakens(_) | AtAgent::Removes { .. },
                    ) => true,
                    // A person has agreed to a check that holds without any work.
                    (AtAgent::Weakens(id), AtAgent::FalseClaim) => id == other,
                    (AtAgent::FalseClaim, AtAgent::Weakens(id)) => id == one,
                    _ => false,
                };
                same || (one == other && nth == other_nth)
                    || how.undoes(other_how)
                    || other_how.undoes(how)
            }
            (Fault::Hook { .. }, Fault::Hook { .. }) => true,
            _ => false,
        }
    }
}

impl Fault {
    fn turns_the_clock_back(&self) -> bool {
        matches!(self, Fault::Start { how: AtStart::Clock { seconds, .. }, .. } if *seconds < -1)
    }

    /// Whether it may end a start without a verdict on what an agent has done.
    fn may_leave_an_attempt_open(&self) -> bool {
        let harmless = [
            Kind::KillAgent,
            Kind::ClockJump,
            Kind::PersonEdits,
            Kind::RateLimit,
            Kind::Garbage,
            Kind::FalseClaim,
            Kind::AgentTicks,
            Kind::AgentEdits,
            Kind::CommitHook,
            Kind::AgentCleans,
            Kind::StalledReader,
        ];
        !harmless.contains(&self.kind())
    }
}

impl AtAgent {
    /// Whether it takes away, before anybody has committed it, what another one
    /// leaves for the end of the story; or would do a second time what can be
    /// followed only once.
    fn undoes(&self, other: &AtAgent) -> bool {
        match self {
            AtAgent::Rewrites { .. } => matches!(
                other,
                AtAgent::Rewrites { .. }
                    | AtAgent::Edit(_)
                    | AtAgent::Weakens(_)
                    | AtAgent::Removes { .. }
                    | AtAgent::SlaysBeforeEdits
            ),
            // Once a run is killed, a person who says `finish` gives the task all that
            // is in the tree, and a person who says `run` works there with them.
            AtAgent::SlaysBeforeEdits | AtAgent::Verb("finish $TASK" | "run --agent claude") => {
                *other == AtAgent::SlaysBeforeEdits
            }
            // A loop that is begun anew takes the plan as it finds it.
            AtAgent::Verb("cancel") => {
                matches!(other, AtAgent::Weakens(_) | AtAgent::Removes { .. })
            }
            _ => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Start { start, how } => {
                write!(f, "start {start}: ")?;
                match how {
                    AtStart::Killed { point } => write!(f, "killed at fail point {point}"),
                    AtStart::Torn { write } => write!(f, "killed in the middle of write {write}"),
                    AtStart::Full { first, last } => {
                        write!(f, "the disk is full from write {first} to {last}")
                    }
                    AtStart::SmallFiles { blocks } => {
                        write!(f, "no file can grow beyond {blocks} blocks")
                    }
                    AtStart::Clock { look, seconds } => {
                        write!(f, "the clock jumps by {seconds} s at look {look}")
                    }
                    AtStart::Twice => write!(f, "a second run starts at the same moment"),
                    AtStart::Stalled => write!(f, "nobody reads its output"),
                    AtStart::FewProcesses { limit } => {
                        write!(f, "the user may have {limit} processes")
                    }
                }
            }
            Fault::Hook { how } => write!(f, "pre-commit hook: {how:?}"),
            Fault::Git { call, how } => write!(f, "git call {call}: {how:?}"),
            Fault::Agent { task, nth, how } => {
                write!(f, "agent for {task}, start {nth}: {how:?}")
            }
        }
    }
}

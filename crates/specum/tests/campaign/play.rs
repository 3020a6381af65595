//! Plays a story: starts specum, lets the faults strike, does what a person
//! would do then, and starts it again, until the plan is worked.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::end::{self, Before, End};
use super::invariants::{self, Broken};
use super::scripts;
use super::stage::{Ended, Stage};
use super::story::Story;
use super::story::fault::{AtAgent, AtStart, Fault, Kind};

/// What became of a story.
pub(crate) struct Played {
    /// How often specum was started.
    pub(crate) starts: usize,
    /// How many tasks are done.
    pub(crate) done: usize,
    /// Which faults have struck, in the order of the story.
    pub(crate) struck: Vec<bool>,
    /// What does not hold, if anything.
    pub(crate) broken: Option<Broken>,
    /// Where everything lies, if something does not hold.
    pub(crate) kept: Option<PathBuf>,
}

/// Plays a story to its end.
pub(crate) fn play(story: &Story) -> io::Result<Played> {
    let stage = Stage::new(story)?;
    let before = Before::of(&stage)?;
    let mut play =
        Play { story, stage, struck: vec![false; story.faults.len()], told: String::new() };
    let (starts, broken) = play.work()?;
    play.make_writable()?;
    play.unlock()?;
    let end = End::of(&play.stage, story, &play.struck, before);
    let (done, broken) = match (end, broken) {
        (Ok(end), None) => (end.done(), invariants::broken(&end)),
        (Ok(end), broken) => (end.done(), broken),
        (Err(error), broken) => {
            let unreadable = Broken { invariant: "repository-whole", why: error.to_string() };
            (0, broken.or(Some(unreadable)))
        }
    };
    play.stage.end_processes();
    let Play { stage, struck, told, .. } = play;
    let kept = (broken.is_some()).then(|| {
        // For whoever looks at it.
        let _ = fs::write(stage.base().join("told"), &told);
        stage.keep()
    });
    Ok(Played { starts, done, struck, broken, kept })
}

struct Play<'s> {
    story: &'s Story,
    stage: Stage,
    struck: Vec<bool>,
    told: String,
}

/// More starts than any story has faults, and questions for a person.
const MOST_STARTS: usize = 50;

impl Play<'_> {
    /// Starts specum until it has worked the plan. Each start that does not has
    /// to be explained by a fault that has struck during it.
    fn work(&mut self) -> io::Result<(usize, Option<Broken>)> {
        let mut struck_before = false;
        for start in 1..=MOST_STARTS {
            let how = self.story.faults.iter().find_map(|fault| match fault {
                Fault::Start { start: at, how } if *at == start => Some(*how),
                _ => None,
            });
            let ended = self.stage.start(how)?;
            let outcome =
                ended.code.map_or("killed".to_owned(), |code| format!("exit code {code}"));
            self.told += &format!("\n== start {start}: {outcome}\n{}\n", ended.said);
            let new = self.strike(start, &ended);
            if let Some(broken) = end::after_start(&self.stage, &ended) {
                return Ok((start, Some(broken)));
            }
            if ended.code == Some(0) {
                return Ok((start, None));
            }
            // A task may have used its attempts before specum could say so; and
            // what an agent did to the plan is asked about once all else is done.
            let waits = ended.code == Some(6) && ended.said.contains("specum accept");
            let explained = !new.is_empty()
                || (ended.code == Some(6) && struck_before)
                || (waits && self.somebody_edited());
            struck_before = !new.is_empty();
            if !explained {
                let last = ended.said.lines().last().unwrap_or_default();
                let why =
                    format!("start {start} came to {outcome} although nothing struck: {last}");
                return Ok((start, Some(Broken { invariant: "goes-on", why })));
            }
            self.help(&ended)?;
        }
        let why = format!("the plan is not worked after {MOST_STARTS} starts");
        Ok((MOST_STARTS, Some(Broken { invariant: "goes-on", why })))
    }

    /// Notes which faults have struck, and gives those that are new.
    fn strike(&mut self, start: usize, ended: &Ended) -> Vec<usize> {
        let struck = |fault: &Fault| match fault {
            Fault::Start { start: at, .. } if *at != start => false,
            Fault::Start { how, .. } => match how {
                AtStart::Killed { .. } => ended.said.contains("fail point"),
                AtStart::Torn { .. } => ended.said.contains("is torn"),
                AtStart::Full { .. } => ended.said.contains("finds the disk full"),
                AtStart::SmallFiles { .. } => ended.code != Some(0),
                AtStart::Clock { .. } => ended.said.contains("the clock jumps"),
                AtStart::Twice => true,
            },
            other => scripts::script_name(other).is_some_and(|name| {
                self.stage.base().join("stage").join(format!("{name}.called")).exists()
            }),
        };
        let now: Vec<bool> = self.story.faults.iter().map(struck).collect();
        let new = (0..now.len()).filter(|n| now[*n] && !self.struck[*n]).collect();
        for (struck, now) in self.struck.iter_mut().zip(now) {
            *struck |= now;
        }
        new
    }

    /// Lets everything be written again that has become read-only.
    fn make_writable(&self) -> io::Result<()> {
        for fault in &self.story.faults {
            let Fault::Agent { how: AtAgent::ReadOnly(path), .. } = fault else { continue };
            let path = self.stage.root().join(path);
            if let Ok(found) = fs::metadata(&path) {
                let mode = found.permissions().mode() | 0o200;
                fs::set_permissions(&path, Permissions::from_mode(mode))?;
            }
        }
        Ok(())
    }

    /// Removes the locks that git has left because it was killed, or because
    /// their folder had become read-only, as its own message says.
    fn unlock(&self) -> io::Result<()> {
        let has_left_some = |(fault, struck): (&Fault, &bool)| {
            let kinds = [Kind::GitFails, Kind::ReadOnly];
            *struck && kinds.contains(&fault.kind())
        };
        if !self.story.faults.iter().zip(&self.struck).any(has_left_some) {
            return Ok(());
        }
        for name in end::git_locks(&self.stage) {
            fs::remove_file(self.stage.root().join(".git").join(name))?;
        }
        Ok(())
    }

    /// Whether an agent, or a person, has changed the plan during an attempt.
    fn somebody_edited(&self) -> bool {
        let mut struck = self.story.faults.iter().zip(&self.struck).filter(|(_, struck)| **struck);
        struck.any(|(fault, _)| [Kind::AgentEdits, Kind::PersonEdits].contains(&fault.kind()))
    }

    /// Does what a person does who reads what specum has said.
    fn help(&mut self, ended: &Ended) -> io::Result<()> {
        self.make_writable()?;
        self.unlock()?;
        if ended.code != Some(6) {
            return Ok(());
        }
        for fault in &self.story.faults {
            let Fault::Agent { how, .. } = fault else { continue };
            let is_asked = |id: &str| ended.said.contains(&format!("specum accept {id}`"));
            match how {
                AtAgent::Removes { is_put_back: true, .. }
                    if ended.said.contains(" was removed ") =>
                {
                    let edited = self.stage.editor(&["put-back"])?;
                    self.told += &format!("\n== put back: {:?} {}\n", edited.code, edited.said);
                }
                AtAgent::Removes { .. } | AtAgent::Weakens(_) | AtAgent::Edit(_) => {
                    let asked: Vec<String> = asked(&ended.said);
                    for id in asked.iter().filter(|id| is_asked(id)) {
                        let accepted = self.stage.person(&["accept", id])?;
                        self.told +=
                            &format!("\n== accept {id}: {:?} {}\n", accepted.code, accepted.said);
                    }
                }
                _ => {}
            }
        }
        let resumed = self.stage.person(&["resume"])?;
        self.told += &format!("\n== resume: {:?}\n{}\n", resumed.code, resumed.said);
        Ok(())
    }
}

/// The tasks that specum asks about.
fn asked(said: &str) -> Vec<String> {
    let behind = said.split("`specum accept ").skip(1);
    let mut asked: Vec<String> =
        behind.filter_map(|text| Some(text.split('`').next()?.to_owned())).collect();
    asked.sort();
    asked.dedup();
    asked
}

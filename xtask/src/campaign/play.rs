//! Plays a story: starts specum, lets the faults strike, does what a person
//! would do then, and starts it again, until the plan is worked.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use super::end::{self, Before, End};
use super::invariants::{self, Broken};
use super::scripts;
use super::stage::{Ended, Stage};
use super::story::Story;
use super::story::fault::{AtAgent, AtStart, Fault, Kind, Rewrite, SKIP, Then};

/// What became of a story.
pub struct Played {
    /// How often specum was started.
    pub starts: usize,
    /// How many tasks are done.
    pub done: usize,
    /// Which faults have struck, in the order of the story.
    pub struck: Vec<bool>,
    /// What does not hold, if anything.
    pub broken: Option<Broken>,
    /// Where everything lies, if something does not hold.
    pub kept: Option<PathBuf>,
}

/// Plays a story to its end.
pub fn play(story: &Story) -> io::Result<Played> {
    let stage = Stage::new(story)?;
    let before = Before::of(&stage)?;
    let struck = vec![false; story.faults.len()];
    let told = String::new();
    let mut play = Play { story, stage, before, struck, told, by_hand: None, is_put_right: false };
    let (starts, broken) = play.work()?;
    play.make_writable()?;
    play.unlock()?;
    let end = End::of(&play.stage, story, &play.struck, play.before.clone(), &play.told);
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
        // For a person who looks at it.
        let _ = fs::write(stage.base().join("told"), &told);
        stage.keep()
    });
    Ok(Played { starts, done, struck, broken, kept })
}

struct Play<'s> {
    story: &'s Story,
    stage: Stage,
    /// What the user has in the tree, as they left it last.
    before: Before,
    struck: Vec<bool>,
    told: String,
    /// What the user has changed after a run was killed.
    by_hand: Option<[&'static str; 3]>,
    /// Whether the user has put the history right that an agent had rewritten.
    is_put_right: bool,
}

/// How long a run may take to end when it is told to.
const LONGEST_STOP: Duration = Duration::from_secs(60);

/// More starts than any story has faults, and questions for a person.
const MOST_STARTS: usize = 50;

impl Play<'_> {
    /// Starts specum until it has worked the plan. Each start that does not has
    /// to be explained by a fault that has struck during it.
    fn work(&mut self) -> io::Result<(usize, Option<Broken>)> {
        let mut struck_before = false;
        // A start that is killed while the power is about to be cut leaves the cut to the
        // next one.
        let mut cut_before = false;
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
            let broken = end::after_start(&self.stage, &ended)
                .or_else(|| self.stopped_late(&new, &ended))
                .or_else(|| self.went_over_edits(&ended));
            if broken.is_some() {
                return Ok((start, broken));
            }
            // Where a run does not stay it ends like this.
            let code = if ended.stayed { Some(6) } else { ended.code };
            let ended = Ended { code, ..ended };
            if ended.code == Some(0) && self.wants_it_after_all()? {
                continue;
            }
            if ended.code == Some(0) {
                return Ok((start, None));
            }
            // A task may have used its attempts before specum could say so; and
            // what an agent did to the plan is asked about once all else is done.
            let waits = ended.code == Some(6) && ended.said.contains("specum accept");
            let is_excused = new.iter().any(|n| may_end_a_start(&self.story.faults[*n]));
            let explained = is_excused
                || (ended.code == Some(6) && struck_before)
                || (ended.code.is_none() && cut_before)
                || (waits && self.somebody_edited())
                || waits_for_approval(&ended)
                || self.is_refused_for_edits(&ended)
                || self.is_refused_for_another(&ended)
                || self.is_read_only_again()?;
            struck_before = is_excused;
            cut_before = new.iter().any(|n| self.story.faults[*n].kind() == Kind::PowerCut);
            if !explained {
                let last = ended.said.lines().last().unwrap_or_default();
                let why =
                    format!("start {start} came to {outcome} although nothing struck: {last}");
                return Ok((start, Some(Broken { invariant: "goes-on", why })));
            }
            self.help(&ended)?;
            self.edit_after_kill(&new)?;
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
                AtStart::SmallFiles { .. } | AtStart::FewProcesses { .. } => ended.code != Some(0),
                AtStart::Clock { .. } => ended.said.contains("the clock jumps"),
                AtStart::Twice | AtStart::Stalled => true,
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

    /// Whether an agent that has outlived its run has made something read-only since
    /// that was put right.
    fn is_read_only_again(&self) -> io::Result<bool> {
        for fault in &self.story.faults {
            let Fault::Agent { how: AtAgent::ReadOnly(path), .. } = fault else { continue };
            let path = self.stage.root().join(path);
            if path.exists() && fs::metadata(path)?.permissions().mode() & 0o200 == 0 {
                return Ok(true);
            }
        }
        Ok(false)
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

    /// Changes files as a person does who comes back to a run that was killed.
    fn edit_after_kill(&mut self, new: &[usize]) -> io::Result<()> {
        let is_it = |n: &usize| self.story.faults[*n].kind() == Kind::PersonReturns;
        if new.iter().any(is_it) {
            let edited = self.stage.edit_by_hand()?;
            self.before.follow(&self.stage, edited)?;
            self.by_hand = Some(edited);
        }
        Ok(())
    }

    /// Whether a start refuses to work in a tree that the person has changed.
    fn is_refused_for_edits(&self, ended: &Ended) -> bool {
        self.by_hand.is_some()
            && !self.stage.allows_dirty()
            && ended.code == Some(1)
            && ended.said.contains("your tree has changes that are not committed")
    }

    /// Whether a start finds somebody at work: what was said by hand while an agent
    /// worked goes on when the run is killed.
    fn is_refused_for_another(&self, ended: &Ended) -> bool {
        let is_by_hand =
            |fault: &Fault| matches!(fault, Fault::Agent { how: AtAgent::Verb(_), .. });
        let mut all = self.story.faults.iter().zip(&self.struck);
        ended.code == Some(5) && all.any(|(fault, struck)| *struck && is_by_hand(fault))
    }

    /// A start that has not done what the person's changes ask for: refuse, and
    /// name them.
    fn went_over_edits(&self, ended: &Ended) -> Option<Broken> {
        let invariant = "edits-refused";
        let edited = self.by_hand.filter(|_| !self.stage.allows_dirty())?;
        if ended.code == Some(0) {
            let why = "a run was completed in a tree that a person had changed".to_owned();
            return Some(Broken { invariant, why });
        }
        let unnamed = edited.into_iter().find(|path| !ended.said.contains(path))?;
        let why = format!("a run was refused, and {unnamed} is not named: {}", ended.said);
        self.is_refused_for_edits(ended).then_some(Broken { invariant, why })
    }

    /// A start that has gone on for too long after it was told to stop.
    fn stopped_late(&self, new: &[usize], ended: &Ended) -> Option<Broken> {
        new.iter().find(|n| self.story.faults[**n].kind() == Kind::Interrupt)?;
        let told = self.stage.base().join("stage").join(scripts::SIGNALLED);
        let told = fs::metadata(told).ok()?.modified().ok()?;
        let took = ended.at?.duration_since(told).ok()?;
        let why = format!("a start went on for {took:?} after it was told to stop");
        (took > LONGEST_STOP).then_some(Broken { invariant: "stops-at-once", why })
    }

    /// Brings back the commit that an agent has taken out of the history, once
    /// specum has said where it is.
    fn put_history_right(&mut self) -> io::Result<()> {
        let is_rewritten = self.stage.base().join("stage").join(scripts::TIP).exists();
        if !is_rewritten || self.is_put_right {
            return Ok(());
        }
        let status = self.stage.verb(&["status"])?.said;
        self.told += &format!("\n== status\n{status}\n");
        let Some(kept) = kept_history(&self.told) else { return Ok(()) };
        let how = self.story.faults.iter().find_map(|fault| match fault {
            Fault::Agent { how: AtAgent::Rewrites { how, .. }, .. } => Some(*how),
            _ => None,
        });
        let reset = if how == Some(Rewrite::Drops) { "--hard" } else { "--soft" };
        self.stage.git_in_spite_of_locks(&["reset", "--quiet", reset, &kept])?;
        self.told += &format!("\n== git reset {reset} {kept}\n");
        self.is_put_right = true;
        Ok(())
    }

    /// Lets a task be worked on that a person has skipped, once all else is done; whether
    /// there is one.
    fn wants_it_after_all(&mut self) -> io::Result<bool> {
        let mut struck = self.story.faults.iter().zip(&self.struck);
        let skipped = struck.find_map(|(fault, struck)| match fault {
            Fault::Agent { task, how: AtAgent::Steers(SKIP), .. } if *struck => Some(task),
            _ => None,
        });
        let Some(task) = skipped.filter(|task| {
            let ticked = end::ticked(&fs::read(self.stage.plan()).unwrap_or_default());
            !ticked.contains(*task)
        }) else {
            return Ok(false);
        };
        let said = self.stage.person(&["unskip", task])?;
        self.told += &format!("\n== unskip {task}: {:?} {}\n", said.code, said.said);
        Ok(said.code == Some(0))
    }

    /// Does what a person does who reads what specum has said.
    fn help(&mut self, ended: &Ended) -> io::Result<()> {
        self.make_writable()?;
        self.unlock()?;
        if !self.stage.root().join("specs/.current-spec").exists() {
            let switched = self.stage.verb(&["switch", "plan"])?;
            self.told += &format!("\n== switch: {:?} {}\n", switched.code, switched.said);
        }
        self.put_history_right()?;
        if self.is_refused_for_edits(ended) {
            self.stage.allow_dirty();
        }
        if self.is_refused_for_another(ended) {
            self.stage.wait_for_others();
        }
        if ended.code != Some(6) {
            return Ok(());
        }
        if waits_for_approval(ended) {
            let approved = self.stage.person(&["approve"])?;
            self.told += &format!("\n== approve: {:?} {}\n", approved.code, approved.said);
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

/// Whether a start has ended because a person is to let the next phase begin.
fn waits_for_approval(ended: &Ended) -> bool {
    ended.code == Some(6) && ended.said.contains("waits for your approval")
}

/// Whether a fault may end a start before the plan is worked. The others only make
/// it harder.
fn may_end_a_start(fault: &Fault) -> bool {
    let is_harmless = matches!(
        fault,
        Fault::Hook { .. }
            | Fault::Start { how: AtStart::Stalled, .. }
            | Fault::Agent { how: AtAgent::Cleans(Then::Works), .. }
    );
    !is_harmless
}

/// The reference that holds the history as it was, if specum names it.
fn kept_history(told: &str) -> Option<String> {
    let behind = told.split(end::HISTORY_REWRITTEN).nth(1)?;
    let name = behind.split("It is kept: ").nth(1)?.split_whitespace().next()?;
    let name = name.trim_end_matches(['.', ',', ';', ')', '"']);
    Some(name.to_owned())
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

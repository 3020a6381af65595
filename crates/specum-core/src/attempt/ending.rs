//! How an attempt ends: what follows from its verdict, from what a person is asked
//! meanwhile, and from where its work was looked at.

use crate::modify::Change;
use crate::plan_record::{OnRecord, PlanRecord};
use crate::tasks::TaskKey;
use crate::verify::{CheckRun, FailureClass, Verdict};

use crate::machine::Event;

/// How often an executor is sent back within one attempt.
const MAX_SENT_BACK: usize = 2;

/// What can follow from a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Nobody is left who could change anything about it.
    Final,
    /// The executor still listens, and was sent back this often.
    Fixable {
        /// How often.
        sent_back: usize,
    },
    /// The work has passed by itself, and was tried on top of the others'.
    Integration,
}

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Not yet: its executor is to fix what is missing.
    SentBack,
    /// The task is done.
    Passed,
    /// It has failed, which counts.
    Failed,
    /// The work may be good and does not fit on top of the others': it is done again,
    /// alone, and has not failed.
    SetAside,
    /// The plan is changed as its executor has asked, and the task is done again: no
    /// failed attempt.
    Modified(Box<Change>),
    /// Neither passed nor failed: a person is asked this first.
    Waits(String),
    /// Neither passed nor failed: its check cannot be run, whatever an attempt does, and
    /// the loop stops until a person has seen to it.
    Halts(String),
}

impl Ending {
    /// What follows from a verdict. A question to a person comes before everything:
    /// until it is answered, it is open what the verdict should rest on.
    pub fn of(verdict: &Verdict, question: Option<String>, occasion: Occasion) -> Ending {
        match (question, occasion) {
            (Some(question), _) => Ending::Waits(question),
            (None, _) if verdict.passed() => Ending::Passed,
            (None, Occasion::Fixable { sent_back }) if sent_back < MAX_SENT_BACK => {
                Ending::SentBack
            }
            (None, Occasion::Integration) if only_the_check_failed(verdict) => Ending::SetAside,
            (None, Occasion::Final | Occasion::Fixable { .. } | Occasion::Integration) => {
                Ending::Failed
            }
        }
    }

    /// The same, unless the check cannot be run at all: then no attempt is to blame.
    #[must_use]
    pub fn or_halts(self, fault: impl FnOnce() -> Option<String>) -> Ending {
        match self {
            Ending::SentBack | Ending::Failed | Ending::SetAside => {
                fault().map_or(self, Ending::Halts)
            }
            Ending::Passed | Ending::Modified(_) | Ending::Waits(_) | Ending::Halts(_) => self,
        }
    }

    /// The same, unless what the executor has asked of the plan is granted.
    #[must_use]
    pub fn or_modified(self, change: Option<Change>) -> Ending {
        match (self, change) {
            (Ending::SentBack | Ending::Failed | Ending::SetAside, Some(change)) => {
                Ending::Modified(Box::new(change))
            }
            (ending, _) => ending,
        }
    }

    /// What happens to the loop, for the task at this position; `None` as long as
    /// nothing is decided.
    pub fn event(&self, verdict: &Verdict, index: usize) -> Option<Event> {
        Some(match self {
            Ending::SentBack => return None,
            Ending::Passed => Event::Pass { index, unverified: verdict.unverified() },
            Ending::Failed => Event::Fail { index, reason: verdict.reason() },
            Ending::SetAside => Event::SetAside { index, reason: verdict.reason() },
            Ending::Modified(change) => Event::Modify { index, change: (**change).clone() },
            Ending::Waits(question) => Event::Wait { index, reason: question.clone() },
            Ending::Halts(why) => Event::Halt { index, reason: why.clone() },
        })
    }

    /// Whether what the attempt has left in the user's tree is copied under a
    /// reference. What a run has put there it keeps and takes out by itself.
    pub fn is_copied(&self, occasion: Occasion) -> bool {
        matches!(self, Ending::Waits(_) | Ending::Halts(_)) && occasion != Occasion::Integration
    }
}

/// What a person is asked before an attempt can have a verdict: its task was removed,
/// or the check on record fails and another one waits to be accepted.
pub fn question(
    plan_record: &PlanRecord,
    key: &TaskKey,
    is_gone: bool,
    verdict: &Verdict,
) -> Option<String> {
    let asked = plan_record.task(&key.id).and_then(OnRecord::question);
    if is_gone {
        return Some(asked.unwrap_or_else(|| format!("task {} is gone from tasks.md", key.id)));
    }
    asked.filter(|_| only_the_check_failed(verdict))
}

/// The same about the checks of the whole plan, if one of them has failed.
pub fn suite_question(
    plan_record: &PlanRecord,
    verdict: &Verdict,
    check: &CheckRun,
) -> Option<String> {
    let by_it = check.fails_by_suite() && only_the_check_failed(verdict);
    plan_record.suite_question().filter(|_| by_it)
}

/// Whether the work itself may be good and only the ground has moved.
fn only_the_check_failed(verdict: &Verdict) -> bool {
    !verdict.passed()
        && verdict.failures.iter().all(|failure| failure.class == FailureClass::Verify)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Failure;

    fn failed(classes: &[FailureClass]) -> Verdict {
        let failure =
            |class: &FailureClass| Failure { class: class.clone(), message: class.to_string() };
        Verdict::failed(classes.iter().map(failure).collect())
    }

    const ANYWHERE: [Occasion; 3] =
        [Occasion::Final, Occasion::Fixable { sent_back: 0 }, Occasion::Integration];

    #[test]
    fn whatever_passes_has_passed_wherever_it_was_looked_at() {
        let verdict = failed(&[]);
        for occasion in ANYWHERE {
            let ending = Ending::of(&verdict, None, occasion);
            assert_eq!(ending, Ending::Passed);
            let event = ending.event(&verdict, 3);
            assert_eq!(event, Some(Event::Pass { index: 3, unverified: true }));
        }
    }

    #[test]
    fn a_question_comes_before_every_verdict() {
        for verdict in [failed(&[]), failed(&[FailureClass::Verify])] {
            for occasion in ANYWHERE {
                let ending = Ending::of(&verdict, Some("which?".into()), occasion);
                assert_eq!(ending, Ending::Waits("which?".into()));
                let event = ending.event(&verdict, 0);
                assert_eq!(event, Some(Event::Wait { index: 0, reason: "which?".into() }));
                assert_eq!(ending.is_copied(occasion), occasion != Occasion::Integration);
            }
        }
    }

    #[test]
    fn an_executor_is_sent_back_twice_and_then_the_attempt_has_failed() {
        let verdict = failed(&[FailureClass::NoSignal, FailureClass::Verify]);
        let after = |sent_back| Ending::of(&verdict, None, Occasion::Fixable { sent_back });
        assert_eq!(after(0), Ending::SentBack);
        assert_eq!(after(1), Ending::SentBack);
        assert_eq!(after(1).event(&verdict, 0), None, "nothing is decided");
        assert_eq!(after(2), Ending::Failed);
        let reason = "no-signal; verify".to_owned();
        assert_eq!(after(2).event(&verdict, 0), Some(Event::Fail { index: 0, reason }));
    }

    #[test]
    fn a_check_that_cannot_be_run_is_no_attempts_failure() {
        let verdict = failed(&[FailureClass::Verify]);
        for occasion in ANYWHERE {
            let halts = Ending::of(&verdict, None, occasion).or_halts(|| Some("why".into()));
            assert_eq!(halts, Ending::Halts("why".into()));
            let event = halts.event(&verdict, 1);
            assert_eq!(event, Some(Event::Halt { index: 1, reason: "why".into() }));
        }
        let passed = Ending::of(&failed(&[]), None, Occasion::Final);
        assert_eq!(passed.or_halts(|| Some("why".into())), Ending::Passed);
        let fails = Ending::of(&verdict, None, Occasion::Final);
        assert_eq!(fails.or_halts(|| None), Ending::Failed);
    }

    #[test]
    fn work_is_set_aside_only_if_nothing_but_its_check_fails_on_top_of_others() {
        let only =
            |classes: &[FailureClass], occasion| Ending::of(&failed(classes), None, occasion);
        let check = [FailureClass::Verify];
        let both = [FailureClass::Verify, FailureClass::Contradiction];
        assert_eq!(only(&check, Occasion::Integration), Ending::SetAside);
        assert_eq!(only(&check, Occasion::Final), Ending::Failed);
        assert_eq!(only(&both, Occasion::Integration), Ending::Failed);
        assert!(!Ending::SetAside.is_copied(Occasion::Final), "the run keeps it");
    }

    #[test]
    fn a_task_that_is_gone_is_asked_about_although_nothing_is_on_record() {
        let key = TaskKey { id: "1.2".into(), title: "b".into() };
        let none = PlanRecord::default();
        assert_eq!(question(&none, &key, false, &failed(&[FailureClass::Verify])), None);
        let asked = question(&none, &key, true, &failed(&[]));
        assert_eq!(asked.as_deref(), Some("task 1.2 is gone from tasks.md"));
    }
}

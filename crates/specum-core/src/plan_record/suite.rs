//! The checks of the whole plan, as they stand on record.

use super::{PlanRecord, Proof, when};
use crate::journal::Entry;
use crate::suite::Suite;

impl PlanRecord {
    /// The checks of the whole plan that count.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// Others that wait for a person's word.
    pub fn asked_suite(&self) -> Option<&Suite> {
        self.asked_suite.as_ref().map(|(suite, _)| suite)
    }

    /// What goes on record if the checks of the whole plan are these now. `during` names
    /// the tasks that are being worked on; `None` if nobody holds the loop, and whatever
    /// was changed is a person's.
    pub fn review_suite(&self, now: &Suite, during: Option<&str>) -> Option<Entry> {
        if now.runs_the_same_as(&self.suite) {
            // What waited is as it was on record again.
            let was_asked = self.asked_suite.is_some();
            let suite = self.suite.clone();
            return was_asked.then_some(Entry::SuiteChanged { suite, during: None });
        }
        // Only the run itself knows what was typed for it.
        if during.is_some() && self.suite.once && !now.once {
            return None;
        }
        // What waits goes on waiting, whatever process looks at it.
        if !now.once && self.asked_suite().is_some_and(|asked| asked.runs_the_same_as(now)) {
            return None;
        }
        let during = during.filter(|_| !now.once).map(str::to_owned);
        Some(Entry::SuiteChanged { suite: now.clone(), during })
    }

    /// What waits for a person's word about the checks of the whole plan.
    pub fn suite_question(&self) -> Option<String> {
        let change = self.suite_change()?;
        Some(format!("{change}; `specum accept verify` takes the new one"))
    }

    /// The same once everything is done, if a task was checked by the old ones.
    pub(super) fn overruled_suite(&self) -> Option<String> {
        let has_passed = self.tasks.iter().any(|task| task.proof == Some(Proof::Passed));
        let run = if has_passed { "; the old one was run" } else { "" };
        Some(format!("{}{run}", self.suite_change()?))
    }

    fn suite_change(&self) -> Option<String> {
        let (asked, during) = self.asked_suite.as_ref()?;
        let (old, new, when) = (self.suite.shown(), asked.shown(), when(during));
        Some(format!("the check of the whole plan was changed {when}: {old} → {new}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Record;

    fn suite(verify: &str) -> Suite {
        Suite { verify: vec![verify.into()], ..Suite::default() }
    }

    /// Reviews, and records what was found.
    fn reviewed(record: &mut PlanRecord, now: &Suite, during: Option<&str>) -> bool {
        let found = record.review_suite(now, during);
        let is_new = found.is_some();
        found.into_iter().for_each(|entry| record.add(&Record::new("t", entry)));
        is_new
    }

    #[test]
    fn a_change_during_an_attempt_waits_for_a_person_and_one_in_between_counts() {
        let mut record = PlanRecord::default();
        assert!(!reviewed(&mut record, &Suite::default(), None));
        assert!(reviewed(&mut record, &suite("a"), None) && record.suite() == &suite("a"));
        assert!(reviewed(&mut record, &suite("true"), Some("1.2")));
        assert_eq!(record.suite(), &suite("a"), "the old one counts");
        assert!(!reviewed(&mut record, &suite("true"), Some("1.3")), "it is asked once");
        insta::assert_snapshot!(record.suite_question().unwrap(), @"the check of the whole plan was changed while 1.2 was being worked on: `a` → `true`; `specum accept verify` takes the new one");
        assert!(reviewed(&mut record, &suite("a"), Some("1.3")), "it is as it was");
        assert_eq!(record.suite_question(), None);
        reviewed(&mut record, &suite("true"), Some(""));
        assert!(!reviewed(&mut record, &suite("true"), None), "it waits for an answer");
        assert!(record.suite_question().is_some());
        assert!(reviewed(&mut record, &suite("b"), None), "a person has written another");
        assert_eq!((record.suite(), record.suite_question()), (&suite("b"), None));
    }

    #[test]
    fn what_was_typed_for_one_run_counts_at_once_and_nobody_else_asks_about_it() {
        let mut record = PlanRecord::default();
        reviewed(&mut record, &suite("a"), None);
        let once = Suite::once(vec!["b".into()]);
        assert!(reviewed(&mut record, &once, Some("1.1")) && record.suite() == &once);
        assert!(!reviewed(&mut record, &suite("a"), Some("1.1")), "by another process");
        assert!(reviewed(&mut record, &suite("a"), None), "the next run");
        assert_eq!(record.suite(), &suite("a"));
    }
}

//! What a loop may use, and what it has used.
//!
//! Both are part of the state, so that a cap binds the next worker too and
//! however often the run is started again. An attempt that ended without saying
//! what it used is charged like the dearest one so far: a cap must not be
//! passed by dying early.

use serde::{Deserialize, Serialize};

use crate::agent::{Measures, Usage};

/// Caps and expenses of a loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Most tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Most dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Longest time of work, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_millis: Option<u64>,
    /// Attempts for the whole loop, if a person has chosen them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u64>,
    /// Tokens used.
    pub tokens: u64,
    /// Dollars spent.
    pub cost: f64,
    /// Time worked, in milliseconds.
    pub millis: u64,
    /// Whether some of it is an estimate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Whether an agent has named no price for what it used.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    /// The most tokens that one start of an agent used.
    pub dearest_tokens: u64,
    /// The most dollars that one start of an agent cost.
    pub dearest_cost: f64,
}

/// What a loop may use. What is `None` has no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Caps {
    /// Most dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Most tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Longest time of work, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub millis: Option<u64>,
}

impl Caps {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Caps::default()
    }
}

/// What one start of an agent is charged with.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Charge {
    /// Tokens; `None` from an agent that does not count them.
    pub tokens: Option<u64>,
    /// Dollars; `None` from an agent that does not name them.
    pub cost: Option<f64>,
    /// Whether the agent did not get to say so.
    pub estimated: bool,
    /// Whether it has used tokens and names no price, although it could.
    pub unpriced: bool,
}

impl Budget {
    /// What the loop may use.
    pub fn caps(&self) -> Caps {
        Caps { cost: self.max_cost, tokens: self.max_tokens, millis: self.max_millis }
    }

    /// What a start of an agent is to be charged with: what it reported, or, if
    /// it broke off, at least as much as the dearest one before it.
    pub fn charge(&self, measures: Measures, reported: Option<Usage>, broke_off: bool) -> Charge {
        let known = reported.unwrap_or_default();
        let estimated = broke_off && (measures.tokens || measures.cost);
        let (least_tokens, least_cost) =
            if estimated { (self.dearest_tokens, self.dearest_cost) } else { (0, 0.0) };
        Charge {
            tokens: measures.tokens.then(|| known.tokens.max(least_tokens)),
            cost: measures.cost.then(|| amount(known.cost).max(least_cost)),
            estimated,
            unpriced: measures.cost && !broke_off && known.tokens > 0 && amount(known.cost) == 0.0,
        }
    }

    /// Takes a cap in dollars over from a start of the loop. One that is higher
    /// lets an agent that has named no price try again.
    pub fn allow_cost(&mut self, cap: Option<f64>) {
        if cap > self.max_cost {
            self.unpriced = false;
        }
        self.max_cost = cap.or(self.max_cost);
    }

    /// Adds a charge.
    pub fn spend(&mut self, charge: &Charge) {
        let (tokens, cost) = (charge.tokens.unwrap_or(0), amount(charge.cost));
        self.tokens = self.tokens.saturating_add(tokens);
        // JSON has no infinity: a sum beyond all numbers could not be read again.
        self.cost = (self.cost + cost).min(f64::MAX);
        self.estimated |= charge.estimated;
        self.unpriced |= charge.unpriced;
        if !charge.estimated {
            self.dearest_tokens = self.dearest_tokens.max(tokens);
            self.dearest_cost = self.dearest_cost.max(cost);
        }
    }

    /// Which cap is reached, in words, if those who run right now have used so
    /// much on top.
    pub fn exhausted(&self, running: &[Usage], running_millis: u64) -> Option<String> {
        self.spent(running).or_else(|| self.out_of_time(running_millis))
    }

    /// The same for what agents report.
    pub fn spent(&self, running: &[Usage]) -> Option<String> {
        let tokens =
            running.iter().fold(self.tokens, |sum, usage| sum.saturating_add(usage.tokens));
        let cost = running.iter().fold(self.cost, |sum, usage| sum + amount(usage.cost));
        if let Some(cap) = self.max_tokens.filter(|cap| tokens >= *cap) {
            return Some(format!("{tokens} of {cap} tokens are used (--max-tokens)"));
        }
        if let Some(cap) = self.max_cost.filter(|cap| cost >= *cap) {
            return Some(format!("${cost:.2} of ${cap:.2} are spent (--max-cost)"));
        }
        if self.max_cost.is_some() && self.unpriced {
            let why = "an agent has used tokens and named no price, so --max-cost cannot bind; \
                       --max-tokens does";
            return Some(why.to_owned());
        }
        None
    }

    /// How many dollars the cap leaves; `None` without a cap.
    pub fn cost_left(&self) -> Option<f64> {
        self.max_cost.map(|cap| (cap - self.cost).max(0.0))
    }

    /// What an agent at work has to be expected to cost: the dearest price so far, or
    /// what it has named itself, if that is more or its last word.
    pub(crate) fn expected_cost(&self, usage: Usage, has_answered: bool) -> f64 {
        let named = amount(usage.cost);
        if has_answered && named > 0.0 { named } else { named.max(self.dearest_cost) }
    }

    /// The same for time.
    pub fn out_of_time(&self, running_millis: u64) -> Option<String> {
        let millis = self.millis.saturating_add(running_millis);
        if let Some(cap) = self.max_millis.filter(|cap| millis >= *cap) {
            let (worked, cap) = (millis / 1000, cap / 1000);
            return Some(format!("{worked} of {cap} seconds are worked (--max-time)"));
        }
        None
    }
}

/// A price that can be added up: agents may say anything.
fn amount(cost: Option<f64>) -> f64 {
    cost.filter(|cost| cost.is_finite() && *cost > 0.0).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Measures = Measures { tokens: true, cost: true };
    const NEITHER: Measures = Measures { tokens: false, cost: false };

    fn used(tokens: u64, cost: f64) -> Usage {
        Usage { tokens, cost: Some(cost) }
    }

    #[test]
    fn whoever_breaks_off_is_charged_like_the_dearest() {
        let mut budget = Budget::default();
        for (tokens, cost) in [(100, 0.5), (40, 0.75)] {
            let charge = budget.charge(BOTH, Some(used(tokens, cost)), false);
            budget.spend(&charge);
        }
        let lost = budget.charge(BOTH, None, true);
        let expected =
            Charge { tokens: Some(100), cost: Some(0.75), estimated: true, unpriced: false };
        assert_eq!(lost, expected);
        let partly = budget.charge(BOTH, Some(used(300, 0.1)), true);
        assert_eq!(partly, Charge { tokens: Some(300), ..expected });
        budget.spend(&partly);
        assert!(budget.estimated);
        assert_eq!(budget.dearest_tokens, 100, "an estimate is no yardstick for the next");
        let silent = budget.charge(NEITHER, None, true);
        assert_eq!(silent, Charge::default(), "who never measures is never estimated");
    }

    #[test]
    fn a_cap_binds_with_what_runs_right_now() {
        let budget = Budget {
            max_tokens: Some(100),
            max_cost: Some(1.0),
            max_millis: Some(5000),
            tokens: 60,
            cost: 0.5,
            ..Budget::default()
        };
        assert_eq!(budget.exhausted(&[used(20, 0.1), used(19, 0.1)], 4999), None);
        let reached = |running: &[Usage], millis| budget.exhausted(running, millis).unwrap();
        insta::assert_snapshot!(reached(&[used(20, 0.1), used(20, 0.1)], 0), @"100 of 100 tokens are used (--max-tokens)");
        insta::assert_snapshot!(reached(&[used(0, 0.6)], 0), @"$1.10 of $1.00 are spent (--max-cost)");
        insta::assert_snapshot!(reached(&[], 5000), @"5 of 5 seconds are worked (--max-time)");
    }

    #[test]
    fn a_sum_beyond_all_numbers_can_still_be_written_and_read() {
        let mut budget = Budget { max_cost: Some(1.0), ..Budget::default() };
        for _ in 0..2 {
            budget.spend(&Charge { cost: Some(f64::MAX), ..Charge::default() });
        }
        let again: Budget = serde_json::from_str(&serde_json::to_string(&budget).unwrap()).unwrap();
        assert_eq!(again, budget);
        assert!(again.exhausted(&[], 0).is_some());
    }

    #[test]
    fn finding_50_tokens_without_a_price_reach_a_cap_in_dollars() {
        for cost in [None, Some(0.0), Some(f64::NAN)] {
            let mut budget = Budget { max_cost: Some(1.0), ..Budget::default() };
            let report = Usage { tokens: 10, cost };
            let charge = budget.charge(BOTH, Some(report), false);
            budget.spend(&charge);
            let why = budget.spent(&[]).unwrap();
            assert!(why.contains("--max-cost cannot bind"), "{why}");
            budget.allow_cost(Some(1.0));
            assert!(budget.spent(&[]).is_some(), "a script starts it again");
            budget.allow_cost(Some(2.0));
            assert_eq!(budget.spent(&[]), None);
            budget.spend(&charge);
            budget.max_cost = None;
            assert_eq!(budget.spent(&[]), None, "nobody has asked for the price");
        }
        let budget = Budget { max_cost: Some(1.0), ..Budget::default() };
        let nothing = budget.charge(BOTH, Some(Usage::default()), false);
        let broke_off = budget.charge(BOTH, Some(Usage { tokens: 10, cost: None }), true);
        assert!(!nothing.unpriced && !broke_off.unpriced, "it is charged like the dearest");
    }

    #[test]
    fn prices_that_are_no_numbers_change_nothing() {
        let mut budget = Budget { max_cost: Some(1.0), ..Budget::default() };
        for cost in [f64::NAN, f64::INFINITY, -5.0] {
            let charge = budget.charge(BOTH, Some(used(0, cost)), false);
            budget.spend(&charge);
            assert_eq!(budget.cost, 0.0);
            assert_eq!(budget.exhausted(&[used(0, cost)], 0), None);
        }
    }
}

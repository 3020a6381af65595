//! What happened when: attempts as spans in lanes, with waits, phases, and the time in
//! which nothing happened.
//!
//! There are as many lanes as attempts were under way at once, so a loop of a thousand
//! tasks needs no more room than one of fifteen. Moments are milliseconds since 1970.

use jiff::Timestamp;
use serde::Serialize;

use crate::moment::Moment;
use crate::summary::{Attempt, AttemptResult, Summary};

/// So much of the whole has to pass without anything happening to be left out.
const GAP_PART: i64 = 20;
/// A shorter time than this is never left out.
const SHORTEST_GAP: i64 = 20 * 60_000;

/// What happened when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// When the first attempt began.
    pub from: i64,
    /// When the last thing ended.
    pub until: i64,
    /// How many attempts were under way at once at most.
    pub lanes: usize,
    /// The attempts, in the order of their opening.
    pub spans: Vec<Span>,
    /// When a run waited for an agent.
    pub waits: Vec<WaitSpan>,
    /// When each phase was worked on, in the order of the plan.
    pub phases: Vec<PhaseSpan>,
    /// Long times in which nothing was worked on and nothing was waited for.
    pub gaps: Vec<(i64, i64)>,
}

/// An attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// The task, by its place in the summary.
    pub task: usize,
    /// Which attempt at it, from 1.
    pub place: u64,
    /// The lane, from 0.
    pub lane: usize,
    /// When it was opened.
    pub from: i64,
    /// When it was over.
    pub until: i64,
    /// When agents worked on it.
    pub worked: Vec<(i64, i64)>,
    /// What came of it.
    pub result: AttemptResult,
}

/// A wait for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitSpan {
    /// When it began.
    pub from: i64,
    /// When it ended.
    pub until: i64,
    /// For whom.
    pub agent: String,
    /// Why.
    pub why: String,
}

/// A phase of the plan, from its first attempt to its last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseSpan {
    /// The phase, by its place among those of the plan.
    pub phase: usize,
    /// When its first attempt began.
    pub from: i64,
    /// When its last one was over.
    pub until: i64,
}

impl Timeline {
    /// The times of a loop whose tasks belong to these phases, one for each task of the
    /// summary. `now` is the time, if somebody works on it.
    pub fn of(summary: &Summary, phases: &[usize], now: Option<Timestamp>) -> Timeline {
        let last = now.or_else(|| summary.until.as_ref()?.time());
        let last = last.map_or(i64::MIN, Timestamp::as_millisecond);
        let mut spans: Vec<Span> = Vec::new();
        for (task, of_task) in summary.tasks.iter().enumerate() {
            spans.extend(of_task.attempts.iter().filter_map(|one| span(task, one, last)));
        }
        spans.sort_by_key(|span| (span.from, span.task, span.place));
        let lanes = put_in_lanes(&mut spans);
        let waits: Vec<WaitSpan> =
            summary.waits.iter().filter_map(|wait| wait_span(wait, last)).collect();
        let busy: Vec<(i64, i64)> = busy(&spans, &waits);
        let from = busy.first().map_or(0, |first| first.0);
        let until = busy.last().map_or(0, |last| last.1);
        let phases = phase_spans(&spans, phases);
        Timeline { gaps: gaps(&busy), from, until, lanes, spans, waits, phases }
    }

    /// How long something was worked on or waited for.
    pub fn millis(&self) -> u64 {
        length(&busy(&self.spans, &self.waits))
    }

    /// How long a run waited.
    pub fn waited(&self) -> u64 {
        length(&busy(&[], &self.waits))
    }
}

/// A moment of a record in milliseconds; `None` if it is none.
pub fn millis_of(moment: &Moment) -> Option<i64> {
    moment.time().map(Timestamp::as_millisecond)
}

fn span(task: usize, attempt: &Attempt, last: i64) -> Option<Span> {
    let from = millis_of(&attempt.began)?;
    let is_open = attempt.result == AttemptResult::Open;
    let over = [&attempt.committed, &attempt.judged];
    let over = over.into_iter().flatten().filter_map(millis_of).max();
    let until = over.filter(|_| !is_open).unwrap_or(last).max(from);
    let worked = attempt.starts.iter().filter_map(|start| {
        let begin = millis_of(&start.launched)?.clamp(from, until);
        let end = start.ended.as_ref().and_then(millis_of).unwrap_or(until);
        Some((begin, end.clamp(begin, until)))
    });
    let (place, worked) = (attempt.place, worked.collect());
    Some(Span { task, place, lane: 0, from, until, worked, result: attempt.result })
}

fn wait_span(wait: &crate::summary::Wait, last: i64) -> Option<WaitSpan> {
    let from = millis_of(&wait.at)?;
    let planned = i64::try_from(wait.millis).unwrap_or(i64::MAX);
    let until = from.saturating_add(planned).min(last).max(from);
    Some(WaitSpan { from, until, agent: wait.agent.clone(), why: wait.why.clone() })
}

/// Gives each span the first lane that is free, and says how many there are.
fn put_in_lanes(spans: &mut [Span]) -> usize {
    let mut free_from: Vec<i64> = Vec::new();
    for span in spans {
        span.lane = match free_from.iter().position(|free| *free <= span.from) {
            Some(lane) => lane,
            None => {
                free_from.push(i64::MIN);
                free_from.len() - 1
            }
        };
        free_from[span.lane] = span.until;
    }
    free_from.len()
}

/// The times in which anything happened, in their order, none of which touch.
fn busy(spans: &[Span], waits: &[WaitSpan]) -> Vec<(i64, i64)> {
    let mut times: Vec<(i64, i64)> = spans.iter().map(|span| (span.from, span.until)).collect();
    times.extend(waits.iter().map(|wait| (wait.from, wait.until)));
    times.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (from, until) in times {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => joined.push((from, until)),
        }
    }
    joined
}

fn length(times: &[(i64, i64)]) -> u64 {
    times.iter().fold(0, |sum, (from, until)| sum.saturating_add(until.abs_diff(*from)))
}

fn gaps(busy: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let (Some(first), Some(last)) = (busy.first(), busy.last()) else { return Vec::new() };
    let least = (last.1.saturating_sub(first.0) / GAP_PART).max(SHORTEST_GAP);
    let between = busy.windows(2).map(|pair| (pair[0].1, pair[1].0));
    between.filter(|(from, until)| until.saturating_sub(*from) > least).collect()
}

fn phase_spans(spans: &[Span], phases: &[usize]) -> Vec<PhaseSpan> {
    let mut found: Vec<PhaseSpan> = Vec::new();
    for span in spans {
        let Some(&phase) = phases.get(span.task) else { continue };
        match found.iter_mut().find(|known| known.phase == phase) {
            Some(known) => known.until = known.until.max(span.until),
            None => found.push(PhaseSpan { phase, from: span.from, until: span.until }),
        }
    }
    found.sort_by_key(|phase| phase.phase);
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::summary::{AgentStart, TaskSummary, Wait};

    fn at(millis: i64) -> Moment {
        Moment::from(Timestamp::from_millisecond(millis).unwrap())
    }

    fn attempt(place: u64, from: i64, until: Option<i64>) -> Attempt {
        let result = if until.is_some() { AttemptResult::Passed } else { AttemptResult::Open };
        let start = AgentStart { launched: at(from + 1), ended: until.map(|until| at(until - 1)) };
        let (began, judged) = (at(from), until.map(at));
        Attempt { place, began, judged, result, starts: vec![start], ..Attempt::default() }
    }

    fn summary(tasks: Vec<Vec<Attempt>>) -> Summary {
        let task = |attempts| TaskSummary { attempts, ..TaskSummary::default() };
        Summary { tasks: tasks.into_iter().map(task).collect(), ..Summary::default() }
    }

    #[test]
    fn what_ran_at_once_stands_in_lanes_and_what_followed_takes_the_first_free_one() {
        let tasks = vec![
            vec![attempt(1, 0, Some(100))],
            vec![attempt(1, 10, Some(50)), attempt(2, 60, Some(90))],
            vec![attempt(1, 120, None)],
        ];
        let mut of = summary(tasks);
        of.waits.push(Wait { at: at(100), agent: "a".into(), why: "w".into(), millis: 15 });
        let now = Timestamp::from_millisecond(140).unwrap();
        let line = Timeline::of(&of, &[0, 0, 1], Some(now));
        let lanes: Vec<(usize, usize)> =
            line.spans.iter().map(|span| (span.task, span.lane)).collect();
        assert_eq!((line.lanes, lanes), (2, vec![(0, 0), (1, 1), (1, 1), (2, 0)]));
        assert_eq!((line.from, line.until), (0, 140), "what is open goes on until now");
        assert_eq!(line.spans[0].worked, [(1, 99)]);
        assert_eq!((line.millis(), line.waited()), (135, 15));
        let phases: Vec<(usize, i64, i64)> =
            line.phases.iter().map(|phase| (phase.phase, phase.from, phase.until)).collect();
        assert_eq!(phases, [(0, 0, 100), (1, 120, 140)]);
        assert_eq!(line.gaps, []);
    }

    #[test]
    fn a_night_in_which_nothing_happened_is_a_gap() {
        let hour = 3_600_000;
        let tasks = vec![vec![attempt(1, 0, Some(hour)), attempt(2, 10 * hour, Some(11 * hour))]];
        let line = Timeline::of(&summary(tasks), &[0], None);
        assert_eq!(line.gaps, [(hour, 10 * hour)]);
        assert_eq!(line.millis(), 2 * hour as u64);
    }

    #[test]
    fn a_moment_that_is_none_leaves_its_attempt_out() {
        let odd = Attempt { began: Moment::from("soon"), ..Attempt::default() };
        assert_eq!(Timeline::of(&summary(vec![vec![odd]]), &[0], None), Timeline::default());
    }

    proptest! {
        #[test]
        fn lanes_never_overlap_and_are_as_few_as_ran_at_once(
            times in prop::collection::vec((0_i64..1_000, 0_i64..300), 1..40),
        ) {
            let tasks = times.iter().map(|(from, long)| vec![attempt(1, *from, Some(from + long))]);
            let of = summary(tasks.collect());
            let line = Timeline::of(&of, &vec![0; times.len()], None);
            for (index, one) in line.spans.iter().enumerate() {
                for other in &line.spans[index + 1..] {
                    let apart = one.until <= other.from || other.until <= one.from;
                    prop_assert!(one.lane != other.lane || apart, "{one:?} {other:?}");
                }
            }
            let at_once = |moment: i64| {
                let under_way = |span: &&Span| (span.from..=span.until).contains(&moment);
                line.spans.iter().filter(under_way).count()
            };
            let most = line.spans.iter().map(|span| at_once(span.from)).max().unwrap_or(0);
            prop_assert!(line.lanes <= most.max(1));
        }
    }
}

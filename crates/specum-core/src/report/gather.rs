//! From records, plan and patches to a report.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::{
    AgentTotal, Asked, Attempt, Commit, Evidence, Mark, Report, Requirement, Said, Stands, Task,
    TaskStands, Totals, Veil, story,
};
use crate::journal::{Entry, Record};
use crate::line;
use crate::look::{self, LookAt, Piece, Seen};
use crate::patch::{FilePatch, Patch};
use crate::progress::{self, Section};
use crate::spec::links;
use crate::summary::{self, AttemptResult, LineCounts, Spent, Standing, Summary, TaskSummary};
use crate::tasks::{self, TaskFile};
use crate::timeline::{Timeline, millis_of};
use crate::verify::{CheckOutcome, Proof};

/// The most of all changes of one task that is shown.
const MAX_TASK: usize = 200 * 1024;

/// What a report is made from.
pub struct Input<'a> {
    /// The spec.
    pub spec: &'a str,
    /// Its folder, as a person names it.
    pub place: &'a str,
    /// The version of specum.
    pub version: &'a str,
    /// The time.
    pub now: Timestamp,
    /// Whether somebody works on it.
    pub is_worked_on: bool,
    /// The records that are told of.
    pub records: &'a [Record],
    /// What became of the loop, from the same records.
    pub summary: &'a Summary,
    /// The plan.
    pub file: &'a TaskFile<'a>,
    /// What checks a task, in one text.
    pub check: &'a dyn Fn(&tasks::Task) -> Option<String>,
    /// The progress file.
    pub progress: &'a [u8],
    /// What commits have changed, by their ids.
    pub patches: HashMap<String, Patch>,
    /// What agents said and did, by task and place of the attempt.
    pub words: HashMap<(String, u64), Vec<Said>>,
    /// The requirements.
    pub requirements: Vec<Requirement>,
    /// What stands between texts of others and the report.
    pub veil: Veil,
}

impl Report {
    /// What became of a loop.
    pub fn of(mut input: Input<'_>) -> Report {
        let (phases, of_task) = phases(input.file, input.summary);
        let now = input.is_worked_on.then_some(input.now);
        let mut timeline = Timeline::of(input.summary, &of_task, now);
        let patches = std::mem::take(&mut input.patches);
        let look = look(&input, &patches);
        let tasks = tasks_of(&mut input, &of_task, patches, &timeline);
        let veil = &input.veil;
        for wait in &mut timeline.waits {
            (wait.agent, wait.why) = (veil.line(&wait.agent), veil.line(&wait.why));
        }
        let (standing, why) = stands(&input);
        let requirement = |one: &Requirement| Requirement {
            id: veil.line(&one.id),
            text: veil.line(&one.text),
            tasks: one.tasks.iter().map(|task| veil.line(task)).collect(),
            is_proven: one.is_proven,
        };
        let learned = line::readable(progress::section(input.progress, Section::Learnings));
        Report {
            spec: veil.line(input.spec),
            place: veil.line(input.place),
            version: input.version.to_owned(),
            made: input.now.as_millisecond(),
            standing,
            why: veil.line(&why),
            branch: branch(input.records).map(|branch| veil.line(branch)),
            commits: first_and_last(input.records)
                .map(|(first, last)| (veil.line(first), veil.line(last))),
            totals: totals(&input, &timeline),
            look,
            timeline,
            phases: phases.iter().map(|phase| veil.line(phase)).collect(),
            tasks,
            story: story::tell_all(input.records, veil),
            learned: veil.text(learned.trim()),
            requirements: input.requirements.iter().map(requirement).collect(),
        }
    }
}

/// The phases, and that of each task of the summary.
fn phases(file: &TaskFile<'_>, summary: &Summary) -> (Vec<String>, Vec<usize>) {
    let mut phases: Vec<String> = Vec::new();
    let mut place = |phase: String| {
        let known = phases.iter().position(|known| *known == phase);
        known.unwrap_or_else(|| {
            phases.push(phase);
            phases.len() - 1
        })
    };
    let mut of_task: Vec<usize> = file.tasks.iter().map(|task| place(file.phase(task))).collect();
    if summary.tasks.len() > of_task.len() {
        let gone = place("No longer in the plan".to_owned());
        of_task.resize(summary.tasks.len(), gone);
    }
    (phases, of_task)
}

fn stands(input: &Input<'_>) -> (Stands, String) {
    let none = String::new();
    match &input.summary.standing {
        Standing::NotStarted => (Stands::NotStarted, none),
        Standing::UnderWay if input.is_worked_on => (Stands::Working, none),
        Standing::UnderWay => (Stands::Left, none),
        Standing::Paused { why } => (Stands::Paused, why.clone().unwrap_or_default()),
        Standing::Blocked { why } => (Stands::Blocked, why.clone()),
        Standing::Stopped { why } => (Stands::Stopped, why.clone()),
        Standing::Cancelled => (Stands::Cancelled, none),
        Standing::Complete => (Stands::Complete, none),
    }
}

fn branch(records: &[Record]) -> Option<&str> {
    records.iter().rev().find_map(|record| match &record.entry {
        Entry::Opened { branch, .. } => branch.as_deref(),
        _ => None,
    })
}

fn first_and_last(records: &[Record]) -> Option<(&str, &str)> {
    let mut commits = records.iter().filter_map(|record| match &record.entry {
        Entry::Committed { commit, .. } => commit.as_deref(),
        _ => None,
    });
    let first = commits.next()?;
    Some((first, commits.next_back().unwrap_or(first)))
}

fn totals(input: &Input<'_>, timeline: &Timeline) -> Totals {
    let summary = input.summary;
    let attempts = || summary.tasks.iter().flat_map(|task| &task.attempts);
    let with = |result| attempts().filter(|one| one.result == result).count();
    let mut agents: Vec<AgentTotal> = Vec::new();
    for record in input.records {
        let Entry::Charged { agent, tokens, cost, estimated, .. } = &record.entry else { continue };
        let cost = cost.filter(|cost| cost.is_finite());
        let spent = Spent { tokens: *tokens, cost, estimated: *estimated };
        let agent = input.veil.line(agent);
        match agents.iter_mut().find(|known| known.agent == agent) {
            Some(known) => known.spent = known.spent.and(spent),
            None => agents.push(AgentTotal { agent, spent }),
        }
    }
    Totals {
        done: summary.done,
        tasks: summary.total,
        fixes: summary.tasks.iter().filter(|task| task.fixes.is_some()).count(),
        unproved: summary.unverified.len() + summary.by_person.len() + summary.green_before.len(),
        attempts: summary.attempts,
        passed: with(AttemptResult::Passed),
        failed: with(AttemptResult::Failed),
        set_aside: with(AttemptResult::SetAside),
        again: summary.tasks.iter().filter(|task| task.done && task.attempts.len() > 1).count(),
        millis: timeline.millis(),
        waited: timeline.waited(),
        at_once: timeline.lanes,
        spent: summary.spent,
        lost: summary.tasks.iter().fold(Spent::default(), |sum, task| sum.and(task.lost())),
        cap: summary.caps.cost,
        agents,
    }
}

/// The patches of a task's commits.
fn patches_of<'p>(
    task: &TaskSummary,
    patches: &'p HashMap<String, Patch>,
) -> impl Iterator<Item = &'p FilePatch> {
    let ids: Vec<&String> = task.attempts.iter().filter_map(|one| one.commit.as_ref()).collect();
    ids.into_iter().filter_map(|id| patches.get(id)).flat_map(|patch| &patch.files)
}

fn look(input: &Input<'_>, patches: &HashMap<String, Patch>) -> Vec<LookAt> {
    let summary = input.summary;
    let ends = !input.is_worked_on && summary.standing != Standing::NotStarted;
    let stuck = summary.stuck().filter(|_| ends).map(|task| task.id.as_str());
    let seen = summary.tasks.iter().map(|task| Seen {
        task,
        is_stuck: stuck == Some(task.id.as_str()),
        by_person: summary.by_person.contains(&task.id),
        fixed_by: fixed_by(summary, &task.id),
        files: patches_of(task, patches).collect(),
    });
    let mut look = look::first(seen);
    for piece in look.iter_mut().flat_map(|look| &mut look.why).flatten() {
        if let Piece::Code(text) | Piece::Task(text) = piece {
            *text = input.veil.line(text);
        }
    }
    look
}

fn fixed_by<'s>(summary: &'s Summary, id: &str) -> Vec<&'s str> {
    let fixes = summary.tasks.iter().filter(|task| task.fixes.as_deref() == Some(id));
    fixes.map(|task| task.id.as_str()).collect()
}

fn tasks_of(
    input: &mut Input<'_>,
    phases: &[usize],
    mut patches: HashMap<String, Patch>,
    timeline: &Timeline,
) -> Vec<Task> {
    let steering = Steering::of(input.records);
    let mut words = std::mem::take(&mut input.words);
    let mut millis: Vec<u64> = vec![0; input.summary.tasks.len()];
    for span in &timeline.spans {
        millis[span.task] = millis[span.task].saturating_add(span.until.abs_diff(span.from));
    }
    let mut tasks = Vec::with_capacity(input.summary.tasks.len());
    for (place, of) in input.summary.tasks.iter().enumerate() {
        let planned = input.file.tasks.get(place);
        let veil = &input.veil;
        let attempts = of.attempts.iter().map(|one| {
            let words = words.remove(&(of.id.clone(), one.place)).unwrap_or_default();
            attempt(input, of, one, words)
        });
        let commits: Vec<Commit> = of
            .attempts
            .iter()
            .filter_map(|one| one.commit.as_ref())
            .map(|id| commit(id, patches.remove(id), veil))
            .collect();
        let notes = steering.notes.get(of.id.as_str()).into_iter().flatten();
        tasks.push(Task {
            id: veil.line(&of.id),
            title: veil.line(&of.title),
            phase: phases[place],
            state: state(input, of, planned, &steering),
            line: planned.map_or(0, |task| task.line),
            fixes: of.fixes.as_ref().map(|id| veil.line(id)),
            marks: marks(input.summary, of),
            asked: planned.map(|task| asked(input, task)).unwrap_or_default(),
            attempts: attempts.collect(),
            evidence: evidence(input, of),
            changes: changes(of, &commits),
            commits: within_bounds(commits),
            spent: of.spent(),
            millis: millis[place],
            notes: notes.map(|note| veil.text(note)).collect(),
        });
    }
    tasks
}

/// What persons have said about single tasks.
#[derive(Default)]
struct Steering<'r> {
    skipped: HashSet<&'r str>,
    notes: HashMap<&'r str, Vec<&'r str>>,
}

impl<'r> Steering<'r> {
    fn of(records: &'r [Record]) -> Steering<'r> {
        let mut steering = Steering::default();
        for record in records {
            match &record.entry {
                Entry::Skipped { task } => drop(steering.skipped.insert(&task.id)),
                Entry::Unskipped { task } => drop(steering.skipped.remove(task.id.as_str())),
                Entry::Noted { task: Some(task), text } => {
                    steering.notes.entry(&task.id).or_default().push(text);
                }
                _ => {}
            }
        }
        steering
    }
}

fn state(
    input: &Input<'_>,
    of: &TaskSummary,
    planned: Option<&tasks::Task>,
    steering: &Steering<'_>,
) -> TaskStands {
    let last = of.attempts.last().map(|attempt| attempt.result);
    match last {
        _ if of.done => TaskStands::Done,
        _ if planned.is_none() => TaskStands::Gone,
        _ if steering.skipped.contains(of.id.as_str()) => TaskStands::Skipped,
        Some(AttemptResult::Failed) => TaskStands::Failed,
        Some(AttemptResult::SetAside) => TaskStands::Again,
        Some(AttemptResult::Waits) => TaskStands::Waits,
        Some(AttemptResult::Open) if input.is_worked_on => TaskStands::Working,
        _ => TaskStands::Open,
    }
}

fn marks(summary: &Summary, of: &TaskSummary) -> Vec<Mark> {
    let passed = of.passed().filter(|_| of.done);
    let proof = passed.and_then(|passed| passed.proof);
    let is_outside = passed.is_some_and(|passed| !passed.outside.is_empty());
    let marks = [
        (proof == Some(Proof::None), Mark::Unproved),
        (proof == Some(Proof::Suite), Mark::BySuite),
        (proof == Some(Proof::GreenBefore), Mark::GreenBefore),
        (summary.by_person.contains(&of.id), Mark::ByPerson),
        (is_outside, Mark::Outside),
        (of.fixes.is_some(), Mark::Fixes),
    ];
    marks.into_iter().filter_map(|(holds, mark)| holds.then_some(mark)).collect()
}

/// The fields of a task, as its block has them.
fn asked(input: &Input<'_>, task: &tasks::Task) -> Vec<Asked> {
    let fields = input.file.fields(task);
    let named: Vec<String> =
        links::of(input.file, task).requirements.iter().map(ToString::to_string).collect();
    let verify = (input.check)(task).map(|command| (command, true)).or_else(|| {
        let words = fields.verify.as_ref().map(|check| check.text().to_owned());
        words.map(|words| (words, false))
    });
    let (verify, is_code) = verify.unwrap_or_default();
    let all = [
        ("Do", fields.does.unwrap_or_default(), false),
        ("Files", fields.files.join(", "), false),
        ("Done when", fields.done_when.unwrap_or_default(), false),
        ("Verify", verify, is_code),
        ("Requirements", named.join(", "), false),
    ];
    let shown = all.into_iter().filter(|(_, text, _)| !text.trim().is_empty());
    let one = |(name, text, is_code): (&str, String, bool)| Asked {
        name: name.to_owned(),
        text: if is_code { input.veil.code(&text) } else { input.veil.text(text.trim()) },
        is_code,
    };
    shown.map(one).collect()
}

fn attempt(
    input: &Input<'_>,
    of: &TaskSummary,
    one: &summary::Attempt,
    words: Vec<Said>,
) -> Attempt {
    let veil = &input.veil;
    let lines = |texts: &[String]| texts.iter().map(|text| veil.line(text)).collect();
    let said = |said: Said| match said {
        Said::Words(text) => Said::Words(veil.text(&text)),
        Said::Tool(text) => Said::Tool(veil.line(&text)),
        Said::Trouble(text) => Said::Trouble(veil.text(&text)),
        Said::LeftOut => Said::LeftOut,
    };
    let kept = input.summary.kept.iter().rev();
    let mut kept = kept.filter(|kept| kept.task == of.id && kept.place == one.place);
    let over = [&one.committed, &one.judged];
    Attempt {
        place: one.place,
        from: millis_of(&one.began),
        until: over.into_iter().flatten().filter_map(millis_of).max(),
        result: one.result,
        agents: lines(&one.agents),
        spent: one.spent,
        reasons: lines(&one.reasons),
        sent_back: lines(&one.sent_back),
        output: veil.text(&one.output),
        check: one.check.as_ref().map(|check| veil.line(&ended(check))),
        kept: kept.next().map(|kept| veil.line(&kept.reference)),
        words: words.into_iter().map(said).collect(),
    }
}

/// How a check ended, and how long it took.
fn ended(check: &CheckOutcome) -> String {
    let how = match check {
        CheckOutcome { not_started: Some(why), .. } => format!("could not be started: {why}"),
        CheckOutcome { timed_out: Some(seconds), .. } => format!("did not end within {seconds} s"),
        CheckOutcome { signal: Some(signal), .. } => format!("was ended by signal {signal}"),
        CheckOutcome { code: Some(0), .. } => "succeeded".to_owned(),
        CheckOutcome { code: Some(code), .. } => format!("ended with {code}"),
        _ => "ended".to_owned(),
    };
    match check.millis {
        // Nobody waits for it.
        0..100 => how,
        millis => {
            #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
            let seconds = millis as f64 / 1_000.0;
            format!("{how}, after {seconds:.1} s")
        }
    }
}

/// What a tick rests on.
fn evidence(input: &Input<'_>, of: &TaskSummary) -> Vec<Evidence> {
    let text = |text: &str| vec![Piece::Text(text.to_owned())];
    let mut found = Vec::new();
    let mut add = |is_good: bool, what: Vec<Piece>| found.push(Evidence { is_good, what });
    if !of.done {
        return found;
    }
    if input.summary.by_person.contains(&of.id) {
        add(false, text("a person ticked it, and nothing was checked"));
    }
    let Some(passed) = of.passed() else { return found };
    let (is_good, words) = proof_in_words(passed.proof.unwrap_or_default());
    match (&passed.command, &passed.check) {
        (Some(command), Some(check)) => {
            let command = Piece::Code(input.veil.line(command));
            let how = format!(" {}, run by specum", ended(check));
            add(true, vec![command, Piece::Text(how)]);
        }
        (Some(command), None) if passed.proof != Some(Proof::None) => {
            let command = Piece::Code(input.veil.line(command));
            add(true, vec![command, Piece::Text(" succeeded, run by specum".to_owned())]);
        }
        _ => {}
    }
    if !words.is_empty() {
        add(is_good, text(&words));
    }
    if !passed.starts.is_empty() {
        add(true, text("its agent said that it is done, and nothing to the contrary"));
    }
    match (&passed.commit, passed.went_to_git) {
        (Some(_), _) => add(true, text("everything is committed")),
        (None, true) => add(true, text("there was nothing to commit")),
        (None, false) => add(false, text("nothing keeps its work: it is not committed")),
    }
    found
}

/// What is to be said of a proof, and whether it speaks for the task.
fn proof_in_words(proof: Proof) -> (bool, String) {
    let word = proof.to_string();
    match word.as_str() {
        "check" => (true, String::new()),
        "none" => (false, "nothing could be run to prove it".to_owned()),
        "suite" => (false, "it has no check of its own; those of the whole plan passed".to_owned()),
        "red-green" => (true, "its check failed before the work and passed after it".to_owned()),
        "earlier" => (true, "its check is known to have failed without the work".to_owned()),
        "green-before" => (false, "its check passed before the work already".to_owned()),
        "guard" => (true, "its check guards what was there before".to_owned()),
        _ => (true, format!("proof: {word}")),
    }
}

fn commit(id: &str, patch: Option<Patch>, veil: &Veil) -> Commit {
    let is_there = patch.is_some();
    let Patch { subject, files } = patch.unwrap_or_default();
    let file = |file: FilePatch| FilePatch {
        path: veil.line(&file.path),
        from: file.from.map(|from| veil.line(&from)),
        text: veil.code(&file.text),
        ..file
    };
    let (id, subject) = (veil.line(id), veil.line(&subject));
    Commit { id, subject, files: files.into_iter().map(file).collect(), is_there }
}

/// How many lines a task has changed: as the patches say, or as was counted.
fn changes(of: &TaskSummary, commits: &[Commit]) -> Option<LineCounts> {
    let mut counts = LineCounts::default();
    for file in commits.iter().flat_map(|commit| &commit.files) {
        counts.files += 1;
        counts.added = counts.added.saturating_add(file.added);
        counts.removed = counts.removed.saturating_add(file.removed);
    }
    (counts.files > 0).then_some(counts).or_else(|| of.passed()?.changes)
}

/// The same commits, without the texts of the files that are too much for one task.
fn within_bounds(mut commits: Vec<Commit>) -> Vec<Commit> {
    let mut left = MAX_TASK;
    for file in commits.iter_mut().flat_map(|commit| &mut commit.files) {
        match left.checked_sub(file.text.len()) {
            Some(rest) => left = rest,
            None => (file.text, file.is_cut) = (String::new(), true),
        }
    }
    commits
}

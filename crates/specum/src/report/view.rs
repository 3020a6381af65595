//! What the live view shows, as a value: events and a clock in, lines out.
//!
//! Each running task has one line, with what its agent does now; below them
//! stands the whole. What has ended is told once, in lines that stay.

use std::time::Duration;

use specum_core::agent::{Sign, Usage};
use specum_core::picture;
use specum_core::tasks::TaskKey;

use super::layout::{Layout, Part, Tone, columns, fit};
use super::lines::Line;
use super::{numbers, sanitize, see_log};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long a picture of the spinner stands.
const FRAME: u128 = 100;
/// A running task's title and what its agent does share a line if both have
/// about this much of it.
const ROOM_FOR_BOTH: usize = 56;

/// A time that nobody believes to the second.
fn roughly(left: Duration) -> String {
    match left.as_secs() {
        0..55 => "less than 1 min".into(),
        seconds => {
            let minutes = Duration::from_secs(seconds.next_multiple_of(60));
            format!("about {}", numbers::duration(minutes))
        }
    }
}

/// What the live view shows.
#[derive(Debug, Default)]
pub(super) struct View {
    spec: String,
    began: Duration,
    done: usize,
    total: usize,
    /// How many tasks have passed in this run.
    passed: usize,
    /// In the plan's order.
    running: Vec<Running>,
    order: Order,
    waiting: Option<Waiting>,
    /// How long the run has waited; no part of the estimate.
    waited: Duration,
    /// What ended attempts have used.
    used: Usage,
}

/// An attempt that runs.
#[derive(Debug)]
struct Running {
    /// As the events name it.
    key: String,
    id: String,
    title: String,
    agent: Option<String>,
    since: Duration,
    usage: Usage,
    /// What the agent said last.
    words: String,
    /// What it does apart from its words, and whether that is a wait.
    doing: Option<(String, Tone)>,
}

/// In which order tasks stand in the plan, as far as that is known.
#[derive(Debug, Default)]
struct Order(Vec<String>);

impl Order {
    /// Takes in the tasks of a group, which the plan has in this order.
    fn follow(&mut self, group: &[TaskKey]) {
        self.0 = group.iter().map(|task| task.id.clone()).collect();
    }

    /// Whether one task stands behind another: as the group has them, else by their
    /// ids, with numbers as numbers.
    fn puts(&self, one: &str, behind: &str) -> bool {
        let place = |id: &str| self.0.iter().position(|known| known == id);
        match (place(one), place(behind)) {
            (Some(one), Some(other)) => one > other,
            _ => pieces(one) > pieces(behind),
        }
    }
}

/// An id in pieces that can be compared: its numbers, and what stands between them.
fn pieces(id: &str) -> Vec<(u64, &str)> {
    let mut pieces = Vec::new();
    let mut rest = id;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece.parse().map_or((0, piece), |number| (number, "")));
        rest = behind;
    }
    pieces
}

/// A wait for an agent.
#[derive(Debug)]
struct Waiting {
    agent: String,
    why: String,
    since: Duration,
    until: Duration,
}

impl View {
    /// Takes a line in, and gives the lines of the screen that are to stay.
    pub(super) fn take(&mut self, event: &Line, now: Duration, layout: Layout) -> Vec<String> {
        match event {
            Line::RunStarted { spec, total, done, .. } => {
                self.spec.clone_from(spec);
                (self.total, self.done, self.began) = (*total, *done, now);
            }
            Line::AttemptStarted { task, agent, since, .. } => {
                self.stop_waiting(now);
                self.remove(task);
                let began = now.saturating_sub(*since);
                let running = Running::new(task, agent.as_deref(), began);
                let behind = |other: &Running| self.order.puts(&other.key, &running.key);
                let place = self.running.iter().position(behind);
                self.running.insert(place.unwrap_or(self.running.len()), running);
            }
            Line::Agent { task, sign } => {
                if let Some(running) = self.find(task) {
                    running.take(sign);
                }
            }
            Line::Checking { task, command, integrated } => {
                let what = command.as_deref().map_or("no command".into(), sanitize::one_line);
                let where_ =
                    if *integrated { "checking on top of the others: " } else { "checking: " };
                if let Some(running) = self.find(task) {
                    running.doing = Some((format!("{where_}{what}"), Tone::Normal));
                }
            }
            Line::Passed { task, usage, .. } => {
                self.end(task, usage.as_ref());
                self.done += 1;
                self.passed += 1;
            }
            Line::Failed { task, usage, .. } => self.end(task, usage.as_ref()),
            Line::SetAside { task, .. } | Line::Waits { task, .. } => {
                self.end(task, None);
            }
            // The new task is one more to be done.
            Line::FixAdded { .. } | Line::TaskAdded { .. } => self.total += 1,
            Line::Waiting { agent, why, millis } => {
                self.stop_waiting(now);
                self.waiting = Some(Waiting {
                    agent: sanitize::one_line(agent),
                    why: sanitize::one_line(why),
                    since: now,
                    until: now.saturating_add(Duration::from_millis(*millis)),
                });
            }
            Line::AgentChanged { .. } => self.stop_waiting(now),
            Line::GroupStarted { tasks } => self.order.follow(tasks),
            Line::Document { .. } | Line::Warning { .. } | Line::RunEnded { .. } => {}
        }
        lasting(event, layout)
    }

    /// The lines that are drawn anew again and again, at most `rows` of them.
    pub(super) fn lines(&self, now: Duration, layout: Layout, rows: usize) -> Vec<String> {
        if self.total == 0 {
            return Vec::new();
        }
        // The overall bar, a wait, and how many tasks are not shown.
        let room = rows.saturating_sub(3).max(1);
        let shown = self.running.iter().take(room);
        let mut lines: Vec<String> = shown.map(|task| task.line(now, layout)).collect();
        if let Some(more) = self.running.len().checked_sub(room).filter(|more| *more > 0) {
            lines.push(layout.line(&[Part::new(format!("  and {more} more"), Tone::Dim)]));
        }
        lines.extend(self.waiting.as_ref().map(|waiting| waiting.line(now, layout)));
        lines.push(self.overall(now, layout));
        lines
    }

    /// The name of what is worked.
    pub(super) fn spec(&self) -> &str {
        &self.spec
    }

    /// What somebody can do who has pressed a key, while there is something to be done.
    pub(super) fn explanation_of_keys(&self, layout: Layout) -> Option<String> {
        let task = self.running.first();
        let follows = task.map(|task| format!(" · `specum log {} -f` follows", task.id));
        let text = format!("Ctrl-C stops · `specum pause` waits{}", follows.unwrap_or_default());
        (self.total > 0).then(|| layout.line(&[Part::new(text, Tone::Wary)]))
    }

    /// `12/40 ━━━━────  1:02:03  about 2 h left  1.2M tok  $3.20`
    fn overall(&self, now: Duration, layout: Layout) -> String {
        let head = format!("{}/{} ", self.done, self.total);
        let mut facts =
            vec![Part::new(numbers::clock(now.saturating_sub(self.began)), Tone::Normal)];
        if let Some(left) = self.estimate(now) {
            facts.push(Part::new(format!("{} left", roughly(left)), Tone::Dim));
        }
        let all = self.running.iter().fold(self.used, |sum, task| plus(sum, task.usage));
        facts.extend(usage_facts(all));
        let taken: usize = facts.iter().map(|fact| columns(&fact.text) + 2).sum();
        let room = layout.width.saturating_sub(columns(&head) + taken).clamp(8, 30);
        let full = (self.done.min(self.total) * room).checked_div(self.total).unwrap_or(0);
        let head = [
            Part::new(head, Tone::Strong),
            Part::new("━".repeat(full), Tone::Good),
            Part::new("─".repeat(room - full), Tone::Dim),
        ];
        layout.row(&head, &Part::new("", Tone::Normal), &facts)
    }

    /// How long the open tasks will take if they take as long as those before.
    fn estimate(&self, now: Duration) -> Option<Duration> {
        let waits = self.waiting.as_ref().map_or(Duration::ZERO, |w| now.saturating_sub(w.since));
        let worked = now.saturating_sub(self.began).saturating_sub(self.waited + waits);
        let worked = u64::try_from(worked.as_millis()).ok()?;
        let open = self.total.saturating_sub(self.done);
        picture::estimate(worked, self.passed, open).map(Duration::from_millis)
    }

    fn find(&mut self, task: &TaskKey) -> Option<&mut Running> {
        self.running.iter_mut().find(|running| running.key == task.id)
    }

    fn remove(&mut self, task: &TaskKey) -> Option<Running> {
        let at = self.running.iter().position(|running| running.key == task.id)?;
        Some(self.running.remove(at))
    }

    fn end(&mut self, task: &TaskKey, usage: Option<&Usage>) {
        let last = self.remove(task).map(|running| running.usage);
        self.used = plus(self.used, usage.copied().or(last).unwrap_or_default());
    }

    fn stop_waiting(&mut self, now: Duration) {
        if let Some(waiting) = self.waiting.take() {
            self.waited += now.saturating_sub(waiting.since);
        }
    }
}

impl Running {
    fn new(task: &TaskKey, agent: Option<&str>, now: Duration) -> Running {
        Running {
            key: task.id.clone(),
            id: sanitize::one_line(&task.id),
            title: sanitize::one_line(&task.title),
            agent: agent.map(sanitize::one_line),
            since: now,
            usage: Usage::default(),
            words: String::new(),
            doing: None,
        }
    }

    fn take(&mut self, sign: &Sign) {
        match sign {
            Sign::Text { text } => {
                self.words = sanitize::last_line(text);
                self.doing = None;
            }
            Sign::Tool { name } => self.doing = Some((sanitize::one_line(name), Tone::Normal)),
            Sign::ToolEnded => self.doing = None,
            Sign::Used(usage) => self.usage = *usage,
            Sign::Retrying { why } => {
                let why = format!("waits: {}", sanitize::one_line(why));
                self.doing = Some((why, Tone::Wary));
            }
        }
    }

    fn line(&self, now: Duration, layout: Layout) -> String {
        let frame = usize::try_from(now.as_millis() / FRAME % SPINNER.len() as u128).unwrap_or(0);
        let mut head = vec![
            Part::new(format!("{} ", SPINNER[frame]), Tone::Good),
            Part::new(format!("{} ", fit(&self.id, 12)), Tone::Strong),
        ];
        let mut facts =
            vec![Part::new(numbers::clock(now.saturating_sub(self.since)), Tone::Normal)];
        facts.extend(usage_facts(self.usage));
        let does = match &self.doing {
            Some((doing, tone)) => Part::new(doing.clone(), *tone),
            None if self.words.is_empty() && self.agent.is_some() => {
                Part::new("starting", Tone::Dim)
            }
            None => Part::new(self.words.clone(), Tone::Dim),
        };
        if layout.width < ROOM_FOR_BOTH {
            // The id says which task it is; what happens is the news.
            let body = if does.text.is_empty() { self.title_part() } else { does };
            return layout.spread(&head, &body, &facts);
        }
        let title = fit(&self.title, layout.width * 2 / 5);
        head.push(Part::new(format!("{title}  "), Tone::Normal));
        head.extend(
            self.agent.iter().map(|name| Part::new(format!("{}  ", fit(name, 12)), Tone::Dim)),
        );
        layout.spread(&head, &does, &facts)
    }

    fn title_part(&self) -> Part {
        Part::new(self.title.clone(), Tone::Normal)
    }
}

impl Waiting {
    fn line(&self, now: Duration, layout: Layout) -> String {
        let left = numbers::clock(self.until.saturating_sub(now));
        let head = Part::new(format!("◷ {left} until {} may work: ", self.agent), Tone::Wary);
        layout.row(&[head], &Part::new(self.why.clone(), Tone::Dim), &[])
    }
}

fn usage_facts(usage: Usage) -> Vec<Part> {
    let counted = (usage.tokens > 0).then(|| format!("{} tok", numbers::tokens(usage.tokens)));
    let facts = counted.into_iter().chain(usage.cost.map(numbers::dollars));
    facts.map(|fact| Part::new(fact, Tone::Dim)).collect()
}

fn plus(one: Usage, two: Usage) -> Usage {
    let cost = match (one.cost, two.cost) {
        (Some(one), Some(two)) => Some(one + two),
        (one, two) => one.or(two),
    };
    Usage { tokens: one.tokens.saturating_add(two.tokens), cost }
}

/// The lines of an event that stay on the screen.
fn lasting(event: &Line, layout: Layout) -> Vec<String> {
    match event {
        Line::RunStarted { spec, total, done, agents, jobs } => {
            let mut facts = vec![Part::new(format!("{done} of {total} done"), Tone::Normal)];
            let agents: Vec<String> = agents.iter().map(|name| sanitize::one_line(name)).collect();
            facts.push(Part::new(agents.join(", "), Tone::Dim));
            facts.extend((*jobs > 1).then(|| Part::new(format!("{jobs} at once"), Tone::Dim)));
            vec![layout.row(&[], &Part::new(sanitize::one_line(spec), Tone::Strong), &facts)]
        }
        Line::Passed { task, place, commit, proof, changed_nothing, millis, usage, .. } => {
            let mut facts = Vec::new();
            facts.extend(proof.note().map(|note| Part::new(note, Tone::Wary)));
            facts.extend(changed_nothing.then(|| Part::new("changed nothing", Tone::Wary)));
            facts.extend((*place > 1).then(|| Part::new(format!("attempt {place}"), Tone::Dim)));
            facts.push(Part::new(numbers::millis(*millis), Tone::Dim));
            let commit = commit.as_deref().map(|id| sanitize::one_line(&numbers::commit(id)));
            facts.extend(commit.map(|id| Part::new(id, Tone::Dim)));
            facts.extend(usage.map(usage_facts).unwrap_or_default());
            vec![title_row(layout, ("✓", Tone::Good), task, &facts)]
        }
        Line::Failed { task, place, reasons, telling, millis, usage, .. } => {
            let mut facts = vec![Part::new(format!("attempt {place}"), Tone::Dim)];
            facts.push(Part::new(numbers::millis(*millis), Tone::Dim));
            facts.extend(usage.map(usage_facts).unwrap_or_default());
            let row = title_row(layout, ("✗", Tone::Bad), task, &facts);
            let log = (!telling.is_empty()).then(|| see_log(task));
            let log = log.into_iter().flat_map(|text| layout.wrapped(4, &text, Tone::Dim));
            let behind = layout.quoted(telling).into_iter().chain(log);
            [row].into_iter().chain(reason_lines(layout, reasons)).chain(behind).collect()
        }
        Line::SetAside { task, place, reasons, .. } => {
            let mut facts = vec![Part::new("set aside", Tone::Wary)];
            facts.push(Part::new("runs again alone", Tone::Dim));
            facts.extend((*place > 1).then(|| Part::new(format!("attempt {place}"), Tone::Dim)));
            let row = title_row(layout, ("↻", Tone::Wary), task, &facts);
            [row].into_iter().chain(reason_lines(layout, reasons)).collect()
        }
        Line::Waits { task, question, kept, .. } => {
            let facts = [Part::new("waits for you", Tone::Wary)];
            let row = title_row(layout, ("?", Tone::Wary), task, &facts);
            let kept = kept.as_ref().map(|at| format!("its work is kept: {at}"));
            let reasons: Vec<String> = [question.clone()].into_iter().chain(kept).collect();
            [row].into_iter().chain(reason_lines(layout, &reasons)).collect()
        }
        Line::FixAdded { task, fix } => {
            let head = Part::new(format!("+ {} ", sanitize::one_line(fix)), Tone::Wary);
            let body = format!("is to fix {}", sanitize::one_line(&task.id));
            vec![layout.row(&[head], &Part::new(body, Tone::Normal), &[])]
        }
        Line::TaskAdded { task, added } => {
            let head = Part::new(format!("+ {} ", sanitize::one_line(added)), Tone::Wary);
            let body = format!("was asked for by {}", sanitize::one_line(&task.id));
            vec![layout.row(&[head], &Part::new(body, Tone::Normal), &[])]
        }
        Line::AgentChanged { from, to, why } => {
            let (from, to) = (sanitize::one_line(from), sanitize::one_line(to));
            let head = Part::new(format!("→ {to} takes over from {from}: "), Tone::Wary);
            vec![layout.row(&[head], &Part::new(sanitize::one_line(why), Tone::Normal), &[])]
        }
        Line::Document { document, standing, findings } => {
            let (sign, tone) = match *standing {
                "wrong" => ("✗", Tone::Wary),
                _ => ("✓", Tone::Normal),
            };
            let more = findings.iter().map(|finding| sanitize::one_line(finding));
            let text = format!("{sign} {}.md {standing}", sanitize::one_line(document));
            let rows = more.flat_map(|finding| layout.wrapped(2, &finding, tone));
            layout.wrapped(0, &text, tone).into_iter().chain(rows).collect()
        }
        Line::Warning { text } => {
            layout.wrapped(0, &format!("! {}", sanitize::one_line(text)), Tone::Wary)
        }
        Line::GroupStarted { .. }
        | Line::AttemptStarted { .. }
        | Line::Agent { .. }
        | Line::Checking { .. }
        | Line::Waiting { .. }
        | Line::RunEnded { .. } => Vec::new(),
    }
}

fn title_row(layout: Layout, (sign, tone): (&str, Tone), task: &TaskKey, facts: &[Part]) -> String {
    let id = fit(&sanitize::one_line(task.shown()), 12);
    let head = [Part::new(format!("{sign} "), tone), Part::new(format!("{id} "), Tone::Strong)];
    layout.row(&head, &Part::new(sanitize::one_line(&task.title), Tone::Normal), facts)
}

fn reason_lines(layout: Layout, reasons: &[String]) -> Vec<String> {
    reasons.iter().flat_map(|why| layout.wrapped(4, &sanitize::one_line(why), Tone::Dim)).collect()
}

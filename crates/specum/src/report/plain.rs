//! Plain lines, for files and pipes: one for each event, without colours, made
//! to be searched.
//!
//! A line about a task begins with its id and a verb: `1.2 started`, `1.2
//! checking`, `1.2 passed`, `1.2 failed`, `1.2 set aside`.

use std::io::Write;

use specum_core::agent::{OneSign, Sign};
use specum_core::summary::Summary;
use specum_core::tasks::TaskKey;

use super::layout::{Layout, fit};
use super::lines::{Line, Stamp};
use super::{Reporter, missing, numbers, sanitize, see_log, summary};

/// The longest text of others in a line.
const LONGEST: usize = 200;

/// Writes plain lines.
pub(super) struct Plain<W>(pub(super) W);

impl<W: Write> Plain<W> {
    fn write(&mut self, text: &str) {
        // A run goes on although nobody reads what it says.
        let _ = writeln!(self.0, "{text}");
        let _ = self.0.flush();
    }
}

impl<W: Write> Reporter for Plain<W> {
    fn line(&mut self, _stamp: Stamp<'_>, told: &Line) {
        if let Some(line) = line(told) {
            self.write(&line);
        }
    }

    fn said(
        &mut self,
        stamp: Stamp<'_>,
        task: &TaskKey,
        signs: &mut dyn Iterator<Item = OneSign<'_>>,
    ) {
        for sign in signs {
            // Nothing else that an agent says has a line.
            if let OneSign::Other(Sign::Retrying { .. }) = sign {
                return self.line(stamp, &Line::Agent { task: task.clone(), sign: sign.to_sign() });
            }
        }
    }

    fn left_out(&mut self, stamp: Stamp<'_>, count: u64) {
        self.line(stamp, &missing(count));
    }

    fn tick(&mut self) {}

    // Each line is.
    fn flush(&mut self) {}

    fn summary(&mut self, _at: &str, spec: &str, summary: &Summary) {
        let text = summary::render(spec, summary, Layout::of(None, false));
        self.write(&format!("\n{}", text.trim_end()));
    }
}

/// What an event is in one line; `None` if it says nothing to a person who
/// reads later.
fn line(event: &Line) -> Option<String> {
    Some(match event {
        Line::RunStarted { spec, total, done, agents, jobs } => format!(
            "run started: {}, {done} of {total} tasks done, agents: {}, {jobs} at once",
            said(spec),
            names(agents)
        ),
        Line::GroupStarted { tasks } => {
            let ids: Vec<String> = tasks.iter().map(id).collect();
            format!("group started: {}", ids.join(", "))
        }
        Line::AttemptStarted { task, place, agent, .. } => {
            let who = agent.as_deref().map_or("check only".into(), said);
            format!("{} started ({who}, attempt {place}): {}", id(task), said(&task.title))
        }
        Line::Agent { task, sign: Sign::Retrying { why } } => {
            format!("{} waits: {}", id(task), said(why))
        }
        Line::Agent { .. } => return None,
        Line::Checking { task, command, integrated } => {
            let what = command.as_deref().map_or("no command".into(), said);
            let place = if *integrated { " (on top of the others)" } else { "" };
            format!("{} checking{place}: {what}", id(task))
        }
        Line::Passed {
            task,
            place,
            commit,
            proof,
            changed_nothing,
            outside,
            proofs,
            millis,
            usage,
            ..
        } => {
            let mut facts = vec![format!("attempt {place}"), numbers::millis(*millis)];
            facts.extend(commit.as_deref().map(|id| said(&numbers::commit(id))));
            facts.extend(numbers::used(usage.as_ref()));
            facts.extend(proof.note().map(str::to_owned));
            facts.extend(changed_nothing.then(|| "changed nothing".into()));
            let outside = if outside.is_empty() {
                String::new()
            } else {
                format!(", changed outside its files: {}", names(outside))
            };
            let proofs = if proofs.is_empty() {
                String::new()
            } else {
                format!(", changed {}, which its check runs", names(proofs))
            };
            format!("{} passed ({}){outside}{proofs}", id(task), facts.join(", "))
        }
        Line::Failed { task, place, class, reasons, telling, millis, usage, .. } => {
            let mut facts = vec![format!("attempt {place}"), numbers::millis(*millis), said(class)];
            facts.extend(numbers::used(usage.as_ref()));
            let failed = format!("{} failed ({}): {}", id(task), facts.join(", "), all(reasons));
            let log = (!telling.is_empty()).then(|| see_log(task));
            let behind = telling.iter().map(|line| said(line)).chain(log);
            behind.fold(failed, |text, line| format!("{text}\n{} │ {line}", id(task)))
        }
        Line::SetAside { task, place, reasons, .. } => {
            format!("{} set aside (attempt {place}): {}", id(task), all(reasons))
        }
        Line::Waits { task, place, question, kept, .. } => {
            let kept = kept.as_ref().map(|at| format!("; its work is kept: {}", said(at)));
            let kept = kept.unwrap_or_default();
            format!("{} waits (attempt {place}): {}{kept}", id(task), said(question))
        }
        Line::TaskAdded { task, added } => {
            format!("{} has asked for another task: {}", id(task), said(added))
        }
        Line::FixAdded { task, fix } => format!("{} gets a fix task: {}", id(task), said(fix)),
        Line::Waiting { agent, why, millis } => {
            format!("waiting for {}, {}: {}", said(agent), numbers::millis(*millis), said(why))
        }
        Line::AgentChanged { from, to, why } => {
            format!("agent changed from {} to {}: {}", said(from), said(to), said(why))
        }
        Line::Document { document, standing, findings } => {
            document_line(document, standing, findings)
        }
        Line::Warning { text } => format!("warning: {}", said(text)),
        Line::RunEnded { outcome, done, total, millis } => {
            let outcome = said(&outcome.to_string());
            format!(
                "run ended: {outcome}, {done} of {total} tasks done, {}",
                numbers::millis(*millis)
            )
        }
    })
}

fn said(text: &str) -> String {
    fit(&sanitize::one_line(text), LONGEST)
}

fn id(task: &TaskKey) -> String {
    fit(&sanitize::one_line(task.shown()), 40)
}

fn names(names: &[String]) -> String {
    fit(&names.iter().map(|name| said(name)).collect::<Vec<_>>().join(", "), LONGEST)
}

fn all(reasons: &[String]) -> String {
    reasons.iter().map(|reason| said(reason)).collect::<Vec<_>>().join("; ")
}

/// What became of a try at a document, in a line for each thing to be known.
fn document_line(document: &str, standing: &str, findings: &[String]) -> String {
    let file = said(&format!("{document}.md"));
    let head = match standing {
        "wrong" => format!("{file} goes back to its author:"),
        "agreed" => format!("{file} is agreed to"),
        _ => format!("{file} is good"),
    };
    let lines = findings.iter().map(|finding| format!("\n  - {}", said(finding)));
    head + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use specum_core::agent::Usage;
    use specum_core::event::Outcome;
    use specum_core::verify::Proof;

    use super::*;

    fn told(events: &[Line]) -> String {
        let mut plain = Plain(Vec::new());
        events.iter().for_each(|event| plain.line(Stamp::default(), event));
        String::from_utf8(plain.0).unwrap()
    }

    #[test]
    fn every_event_is_one_line_that_can_be_searched() {
        let task = || TaskKey { id: "1.2".into(), title: "Add the parser".into() };
        let usage = Some(Usage { tokens: 48_211, cost: Some(0.314) });
        let events = [
            Line::RunStarted {
                spec: "calculator".into(),
                total: 12,
                done: 1,
                agents: vec!["claude".into(), "codex".into()],
                jobs: 2,
            },
            Line::GroupStarted {
                tasks: vec![task(), TaskKey { id: "1.3".into(), title: String::new() }],
            },
            Line::AttemptStarted {
                task: task(),
                attempt: 1,
                place: 1,
                agent: Some("claude".into()),
                log: None,
                since: Duration::ZERO,
            },
            Line::Agent { task: task(), sign: Sign::Text { text: "hm".into() } },
            Line::Agent { task: task(), sign: Sign::Retrying { why: "overloaded".into() } },
            Line::Checking { task: task(), command: Some("cargo test".into()), integrated: false },
            Line::Failed {
                task: task(),
                attempt: 1,
                place: 1,
                class: "verify".into(),
                reasons: vec!["`cargo test` ended\nwith code 101".into(), "no signal".into()],
                telling: vec!["left: 41".into(), "right: 42".into()],
                millis: 34_000,
                usage,
            },
            Line::SetAside {
                task: task(),
                attempt: 2,
                place: 2,
                reasons: vec!["conflict in a.rs".into()],
            },
            Line::FixAdded { task: task(), fix: "1.2.1".into() },
            Line::Waiting { agent: "claude".into(), why: "limit".into(), millis: 3_600_000 },
            Line::AgentChanged { from: "claude".into(), to: "codex".into(), why: "limit".into() },
            Line::Warning { text: "the branch has changed".into() },
            Line::Passed {
                task: task(),
                attempt: 1,
                place: 3,
                commit: Some("abc1234def".into()),
                unverified: true,
                proof: Proof::None,
                changed_nothing: false,
                outside: vec!["b.rs".into()],
                proofs: vec!["tests/b.rs".into()],
                millis: 12_000,
                usage,
            },
            Line::RunEnded {
                outcome: Outcome::Blocked { why: "1.3 failed 5 times".into() },
                done: 2,
                total: 12,
                millis: 3_725_000,
            },
        ];
        insta::assert_snapshot!(told(&events), @r#"
        run started: calculator, 1 of 12 tasks done, agents: claude, codex, 2 at once
        group started: 1.2, 1.3
        1.2 started (claude, attempt 1): Add the parser
        1.2 waits: overloaded
        1.2 checking: cargo test
        1.2 failed (attempt 1, 34 s, verify, 48.2k tokens, $0.31): `cargo test` ended with code 101; no signal
        1.2 │ left: 41
        1.2 │ right: 42
        1.2 │ `specum log 1.2` shows all of it
        1.2 set aside (attempt 2): conflict in a.rs
        1.2 gets a fix task: 1.2.1
        waiting for claude, 1 h: limit
        agent changed from claude to codex: limit
        warning: the branch has changed
        1.2 passed (attempt 3, 12 s, abc1234, 48.2k tokens, $0.31, unverified), changed outside its files: b.rs, changed tests/b.rs, which its check runs
        run ended: blocked: 1.3 failed 5 times, 2 of 12 tasks done, 1 h 2 min
        "#);
    }

    #[test]
    fn whatever_is_said_a_line_stays_one_short_line() {
        let evil = "\x1b[2J\u{202e}x\n\r\u{9b}1m ".repeat(10_000);
        let task = TaskKey { id: evil.clone(), title: evil.clone() };
        let text = told(&[
            Line::AttemptStarted {
                task,
                attempt: 1,
                place: 1,
                agent: Some(evil.clone()),
                log: None,
                since: Duration::ZERO,
            },
            Line::Warning { text: evil },
        ]);
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.chars().count() < 500));
        assert!(text.chars().all(|c| c == '\n' || !sanitize::is_hidden(c)), "{text:?}");
    }
}

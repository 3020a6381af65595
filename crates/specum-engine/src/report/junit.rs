//! The report as JUnit's XML: a suite for each phase, a case for each task. By hand: it is
//! four elements, and every text in it goes through one function.

use specum_core::report::{Attempt, Mark, Report, Task, TaskStands};
use specum_core::summary::AttemptResult;

use super::words;

pub(super) fn render(report: &Report) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (failures, skipped) = counts(report.tasks.iter());
    out.push_str(&format!(
        "<testsuites name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" \
         time=\"{}\">\n",
        escape(&report.spec),
        report.tasks.len(),
        seconds(report.totals.millis)
    ));
    for (phase, name) in report.phases.iter().enumerate() {
        let tasks = || report.tasks.iter().filter(move |task| task.phase == phase);
        let (failures, skipped) = counts(tasks());
        let name = if name.is_empty() { &report.spec } else { name };
        out.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" \
             skipped=\"{skipped}\">\n",
            escape(name),
            tasks().count()
        ));
        tasks().for_each(|task| case(report, task, &mut out));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// How a case ends.
enum End {
    Passed,
    Failed,
    Skipped,
}

fn end(task: &Task) -> End {
    match task.state {
        TaskStands::Done => End::Passed,
        _ if task.attempts.is_empty() => End::Skipped,
        TaskStands::Skipped | TaskStands::Gone => End::Skipped,
        _ => End::Failed,
    }
}

fn counts<'t>(tasks: impl Iterator<Item = &'t Task>) -> (usize, usize) {
    tasks.fold((0, 0), |(failed, skipped), task| match end(task) {
        End::Passed => (failed, skipped),
        End::Failed => (failed + 1, skipped),
        End::Skipped => (failed, skipped + 1),
    })
}

fn case(report: &Report, task: &Task, out: &mut String) {
    let name = escape(&format!("{} {}", task.id, task.title));
    out.push_str(&format!(
        "    <testcase name=\"{name}\" classname=\"{}\" time=\"{}\">\n",
        escape(&report.spec),
        seconds(task.millis)
    ));
    let properties: Vec<String> = task
        .marks
        .iter()
        .filter(|mark| !matches!(mark, Mark::Fixes))
        .map(|mark| escape(&words::mark(*mark, task)))
        .map(|mark| format!("        <property name=\"specum\" value=\"{mark}\"/>\n"))
        .collect();
    if !properties.is_empty() {
        out.push_str(&format!("      <properties>\n{}      </properties>\n", properties.concat()));
    }
    let failed: Vec<&Attempt> =
        task.attempts.iter().filter(|one| one.result == AttemptResult::Failed).collect();
    let (last, earlier) = match (end(task), failed.split_last()) {
        (End::Failed, Some((last, earlier))) => (Some(*last), earlier),
        _ => (None, &failed[..]),
    };
    match end(task) {
        End::Passed => {}
        End::Skipped => out.push_str("      <skipped/>\n"),
        End::Failed => problem("failure", words::sign(task).2, last, out),
    }
    let rerun = if matches!(end(task), End::Passed) { "flakyFailure" } else { "rerunFailure" };
    earlier.iter().for_each(|one| problem(rerun, "failed", Some(one), out));
    out.push_str("    </testcase>\n");
}

fn problem(element: &str, word: &str, attempt: Option<&Attempt>, out: &mut String) {
    let message = attempt.map_or_else(|| word.to_owned(), |one| one.reasons.join("; "));
    let output = attempt.map(|one| one.output.as_str()).unwrap_or_default();
    out.push_str(&format!(
        "      <{element} message=\"{}\" type=\"{}\">{}</{element}>\n",
        escape(&message),
        escape(word),
        escape(output)
    ));
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

/// A text inside an element or an attribute. What XML knows no character for is left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\t' => out.push(c),
            '\0'..'\x20' | '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

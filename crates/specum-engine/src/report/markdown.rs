//! The report in Markdown, for a pull request or the summary of a CI step.
//!
//! Texts of others stand in it as texts: nobody is mentioned, nothing is linked, no markup
//! of theirs begins or ends anything. What agents have said is left out.

use specum_core::look::Piece;
use specum_core::numbers;
use specum_core::report::{Attempt, Report, Task};
use specum_core::summary::AttemptResult;

use super::words;

/// How long a text may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// For the body of a pull request.
    Brief,
    /// For the summary of a CI step.
    Full,
}

impl Length {
    fn most(self) -> usize {
        match self {
            Length::Brief => 60_000,
            Length::Full => 900_000,
        }
    }
}

/// How many lines of a failed check are shown.
const OUTPUT: usize = 20;
/// Tasks that should be looked at first, at most.
const LOOK: usize = 20;

pub(super) fn render(report: &Report, length: Length) -> String {
    let sections = [head(report), look(report), table(report), totals(report), details(report)];
    let mut text = String::new();
    for (at, section) in sections.iter().enumerate() {
        let is_last = at + 1 == sections.len();
        let left = length.most().saturating_sub(text.len() + 200);
        if section.concat().len() <= left {
            text.extend(section.iter().map(String::as_str));
            continue;
        }
        let mut size = 0;
        for block in section {
            size += block.len();
            if size > left {
                break;
            }
            text.push_str(block);
        }
        let what = if is_last { "failed attempts" } else { "tasks" };
        text.push_str(&format!(
            "\n*There are more {what} than fit here; `specum report` has all.*\n"
        ));
    }
    text
}

fn head(report: &Report) -> Vec<String> {
    let verdict = words::verdict(report).into_iter().map(|(strong, part)| match strong {
        true => format!("**{}**", plain(&part)),
        // The parts are one text, with blanks between them.
        false => {
            let words = plain(&part);
            let (before, behind) =
                (part.starts_with(' '), part.ends_with(' ') && !words.is_empty());
            let blank = |there: bool| if there { " " } else { "" };
            format!("{}{words}{}", blank(before), blank(behind))
        }
    });
    let standing = words::standing(report.standing);
    vec![format!("## {}: {standing}\n\n{}\n", plain(&report.spec), verdict.collect::<String>())]
}

fn look(report: &Report) -> Vec<String> {
    let mut blocks = Vec::new();
    if report.look.is_empty() {
        return blocks;
    }
    blocks.push("\n### Look at these first\n\n".to_owned());
    for look in report.look.iter().take(LOOK) {
        let task = &report.tasks[look.task];
        let sentences: Vec<String> = look.why.iter().map(|why| sentence(why)).collect();
        let name = format!("**{} {}**", plain(&task.id), plain(&task.title));
        blocks.push(format!("- {name}: {}\n", sentences.join(" ")));
    }
    let others = words::others(report);
    if report.look.len() > LOOK {
        blocks.push(format!("- and {} more\n", report.look.len() - LOOK));
    } else if !others.is_empty() {
        blocks.push(format!("\n{others}\n"));
    }
    blocks
}

fn sentence(pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Code(text) => code(text),
        Piece::Task(id) => plain(id),
    };
    pieces.iter().map(piece).collect()
}

fn table(report: &Report) -> Vec<String> {
    if report.tasks.is_empty() {
        return Vec::new();
    }
    let head = "\n| | Task | | Attempts | Time | Cost | Commit |\n|---|---|---|--:|--:|--:|---|\n";
    let row = |task: &Task| {
        let (sign, _, word) = words::sign(task);
        let marks: Vec<String> =
            task.marks.iter().map(|mark| plain(&words::mark(*mark, task))).collect();
        let title = match marks.is_empty() {
            true => plain(&task.title),
            false => format!("{} *({})*", plain(&task.title), marks.join(", ")),
        };
        let time = if task.millis > 0 { words::coarse(task.millis) } else { String::new() };
        let cost = task.spent.cost.map(|_| words::cost(task.spent)).unwrap_or_default();
        let commit = task.commits.last().map(|commit| code(&numbers::commit(&commit.id)));
        let sign = if sign == "·" { word } else { sign };
        format!(
            "| {sign} | {} | {title} | {} | {time} | {cost} | {} |\n",
            plain(&task.id),
            task.attempts.len(),
            commit.unwrap_or_default()
        )
    };
    std::iter::once(head.to_owned()).chain(report.tasks.iter().map(row)).collect()
}

fn totals(report: &Report) -> Vec<String> {
    let totals = &report.totals;
    let mut parts = vec![words::counted(totals.attempts, "attempt")];
    parts.extend((totals.failed > 0).then(|| format!("{} failed", totals.failed)));
    parts.extend(
        (totals.waited > 0).then(|| format!("{} of waiting", words::coarse(totals.waited))),
    );
    parts.push(format!("cost {}", words::cost(totals.spent)));
    parts.push(format!("tokens {}", words::tokens(totals.spent)));
    vec![format!("\n{}. Made by specum {}.\n", parts.join(", "), plain(&report.version))]
}

/// The attempts that failed, folded.
fn details(report: &Report) -> Vec<String> {
    let mut blocks = Vec::new();
    for task in &report.tasks {
        let failed = task.attempts.iter().filter(|one| one.result == AttemptResult::Failed);
        blocks.extend(failed.map(|one| detail(task, one)));
    }
    blocks
}

fn detail(task: &Task, one: &Attempt) -> String {
    let lines: Vec<&str> = one.output.trim_end().lines().collect();
    let end = lines[lines.len().saturating_sub(OUTPUT)..].join("\n");
    let output = if end.trim().is_empty() { String::new() } else { fence(&end) };
    let reasons: String =
        one.reasons.iter().map(|reason| format!("Why: {}\n", plain(reason))).collect();
    format!(
        "\n<details><summary>{} {}, attempt {}: failed</summary>\n\n{reasons}\n{output}</details>\n",
        plain(&task.id),
        plain(&task.title),
        one.place
    )
}

/// A text that is only a text: no markup, no mention, no reference, no link, no cell.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Neither a person nor an issue is told, and no address becomes a link.
            '@' | '#' => out.extend([c, '\u{2060}']),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '+'
            | '=' | '"' | '\'' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // An address is a link without any markup.
    out.replace("://", ":\u{2060}//").replace("www.", "www\u{2060}.")
}

/// Code in a sentence or a cell.
fn code(text: &str) -> String {
    let text = text.replace('|', "¦").replace(['\n', '\r'], " ");
    let ticks = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

fn fence(text: &str) -> String {
    let ticks = "`".repeat((longest_run(text) + 1).max(3));
    format!("{ticks}text\n{text}\n{ticks}\n\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

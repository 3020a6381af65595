//! What a task has changed, file by file. A diff is one text; the script colours it when
//! somebody looks.

use maud::{Markup, html};
use specum_core::patch::{FilePatch, PatchKind};
use specum_core::report::{Commit, Report, Task};

use super::{Page, escaped, short};

/// A longer one is folded.
const OPEN: usize = 60;

/// How much each file adds to the page.
pub(super) fn sizes(report: &Report) -> Vec<usize> {
    let commits = report.tasks.iter().flat_map(|task| &task.commits);
    commits.flat_map(|commit| &commit.files).map(|file| escaped(&file.text)).collect()
}

pub(super) fn commits(page: &Page<'_>, task: &Task) -> Markup {
    html! { @for commit in &task.commits { (one(page, commit)) } }
}

fn one(page: &Page<'_>, commit: &Commit) -> Markup {
    html! {
        div {
            h4 {
                "What changed "
                span.soft { "· " code { (short(&commit.id)) } " " code { (commit.subject) } }
            }
            @if !commit.is_there {
                p.soft { "The repository no longer has this commit, or there is none here." }
            } @else if commit.files.is_empty() {
                p.soft { "Nothing but the plan." }
            }
            @for file in &commit.files { (changed(page, commit, file)) }
        }
    }
}

fn changed(page: &Page<'_>, commit: &Commit, file: &FilePatch) -> Markup {
    let is_shown = !file.text.is_empty() && escaped(&file.text) <= page.longest_diff;
    let is_short = is_shown && file.text.lines().count() <= OPEN;
    let what = match file.kind {
        PatchKind::Changed if file.from.is_some() => "moved",
        PatchKind::Changed => "",
        PatchKind::New => "new",
        PatchKind::Deleted => "deleted",
        PatchKind::Binary => "no text",
        PatchKind::Submodule => "another repository",
    };
    html! {
        details.file data-path=(file.path) open[is_short] {
            summary {
                code { (file.path) }
                @if !what.is_empty() { span.new { (what) } }
                @if let Some(from) = &file.from { span.new { "from " code { (from) } } }
                @if file.hides_something { span.tag.wary { "hidden characters" } }
                span.pm {
                    @if file.added > 0 { span.good { "+" (file.added) } }
                    @if file.removed > 0 { " " span.bad { "−" (file.removed) } }
                }
            }
            @if is_shown {
                pre.diff.mono tabindex="0" role="region" aria-label={ "Changes of " (file.path) } { (file.text) }
            }
            @if file.is_cut || !is_shown {
                p.cut {
                    @match (is_shown, file.kind) {
                        (_, PatchKind::Binary | PatchKind::Submodule) => "It cannot be shown here: ",
                        (false, _) if file.text.is_empty() && !file.is_cut => "No line has changed: ",
                        (true, _) => "There is more of it: ",
                        _ => "It is too long to be shown here: ",
                    }
                    code { "git show " (short(&commit.id)) }
                }
            }
        }
    }
}

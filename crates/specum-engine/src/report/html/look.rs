//! What a person should look at first.

use maud::{Markup, html};
use specum_core::look::{LookAt, Sign};

use super::super::words;
use super::Page;

/// So many are shown; the rest is folded.
const SHOWN: usize = 5;

pub(super) fn section(page: &Page<'_>) -> Markup {
    let look = &page.report.look;
    let (first, more) = look.split_at(look.len().min(SHOWN));
    let others = words::others(page.report);
    html! {
        @if !page.report.tasks.is_empty() {
            section aria-labelledby="look" {
                h2 #look { "Look at these first" }
                @if !others.is_empty() { p.say { (others) } }
                @if !first.is_empty() { (list(page, first)) }
                @if !more.is_empty() {
                    details.fold.more {
                        summary { (more.len()) " more" }
                        (list(page, more))
                    }
                }
            }
        }
    }
}

fn list(page: &Page<'_>, look: &[LookAt]) -> Markup {
    html! {
        ul.look {
            @for one in look {
                @let task = &page.report.tasks[one.task];
                @let (sign, tone) = sign(one.sign);
                li {
                    span.m.(tone) aria-hidden="true" { (sign) }
                    span.id { (task.id) }
                    div {
                        a href={ "#" (page.anchors[one.task]) } { (task.title) }
                        " "
                        p {
                            @for (at, sentence) in one.why.iter().enumerate() {
                                @if at > 0 { " " }
                                (page.sentence(sentence))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn sign(sign: Sign) -> (&'static str, &'static str) {
    match sign {
        Sign::Failed => ("✗", "bad"),
        Sign::Again => ("↻", "wary"),
        Sign::Doubt => ("△", "wary"),
    }
}

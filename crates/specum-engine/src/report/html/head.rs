//! How the loop stands: a word, a sentence, five numbers.

use maud::{Markup, html};
use specum_core::numbers;
use specum_core::report::Stands;

use super::super::words;
use super::Page;

pub(super) fn head(page: &Page<'_>) -> Markup {
    let report = page.report;
    let tone = match report.standing {
        Stands::Complete => "good",
        Stands::Working => "cool",
        Stands::Blocked => "bad",
        Stands::NotStarted => "soft",
        _ => "wary",
    };
    html! {
        div.head {
            div.standing.(tone) { i {} (words::standing(report.standing)) }
            h1 { (report.spec) }
            p.lede {
                @for (strong, text) in words::verdict(report) {
                    @if strong { strong { (text) } } @else { (page.reason(&text)) }
                }
            }
            (facts(page))
        }
    }
}

fn facts(page: &Page<'_>) -> Markup {
    let totals = &page.report.totals;
    let fixes = (totals.fixes > 0).then(|| match totals.fixes {
        1 => "1 was added to fix another".to_owned(),
        fixes => format!("{fixes} were added to fix others"),
    });
    let parts =
        [(totals.passed, "passed"), (totals.failed, "failed"), (totals.set_aside, "set aside")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let at_once = (totals.at_once > 1).then(|| format!("up to {} tasks at once", totals.at_once));
    let waited =
        (totals.waited > 0).then(|| format!("{} of it waiting", words::coarse(totals.waited)));
    let time: Vec<String> = at_once.into_iter().chain(waited).collect();
    let lost = totals.lost.cost.filter(|cost| *cost >= 0.005);
    let lost = lost.map(|cost| format!("{} on attempts that did not pass", numbers::dollars(cost)));
    let cap = totals.cap.map(|cap| format!("of {} at most", numbers::dollars(cap)));
    let money: Vec<String> = cap.into_iter().chain(lost).collect();
    let agents: Vec<String> = match &totals.agents[..] {
        [only] => vec![only.agent.clone()],
        all => {
            all.iter().map(|one| format!("{} {}", one.agent, words::tokens(one.spent))).collect()
        }
    };
    let took = match totals.millis {
        0 => "–".to_owned(),
        millis => words::coarse(millis),
    };
    html! {
        dl.facts {
            (fact("Tasks", &format!("{} of {}", totals.done, totals.tasks), &fixes.unwrap_or_default()))
            (fact("Attempts", &totals.attempts.to_string(), &parts.join(", ")))
            (fact("Time", &took, &time.join(", ")))
            (fact("Cost", &words::cost(totals.spent), &money.join(", ")))
            (fact("Tokens", &words::tokens(totals.spent), &agents.join(", ")))
        }
    }
}

fn fact(name: &str, value: &str, more: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) small { (more) } } } }
}

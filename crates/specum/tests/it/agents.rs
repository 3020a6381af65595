//! Every agent, called and read by the kernel, on the real program: the brief
//! arrives whole, what it does is seen, what goes wrong is told apart, and the
//! hooks of the person's own sessions take no part where they can be kept out.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod shell;

use serde_json::Value;
use specum_core::agent::{Report, Sign, Trouble};

use crate::host::Workplace;
use crate::other_model::{Answer, OtherModel, Told};

/// Longer than any argument of a program may be.
fn long_brief() -> String {
    format!("The beginning. {}The end.", "Lorem ipsum dolor sit amet. ".repeat(11_000))
}

/// Runs a command for the first thing it is told and then says that it is done.
fn one_command(told: &Told) -> Answer {
    match told {
        Told::Text(_) => Answer::Run("echo done > made".to_owned()),
        Told::Output(_) => Answer::Say("I made it.\n\nTASK_COMPLETE".to_owned()),
    }
}

/// A Stop hook of a person's own loop: it leaves a trace and sends every session
/// on once.
const STOP_HOOK: &str = r#"echo ran >> "$HOME/hook-ran"
grep -q '"stop_hook_active":true' || echo '{"decision":"block","reason":"one more"}'
"#;

/// Asserts what a run with one command shows and comes to.
#[track_caller]
fn assert_one_command(signs: &[Sign], report: &Report, tool: &str) {
    let at = |wanted: &Sign| {
        let found = signs.iter().position(|sign| sign == wanted);
        found.unwrap_or_else(|| panic!("no {wanted:?} in {signs:#?}"))
    };
    let began = at(&Sign::Tool { name: tool.to_owned() });
    assert!(began < at(&Sign::ToolEnded));
    let said = |sign: &Sign| matches!(sign, Sign::Text { text } if text.contains("TASK_COMPLETE"));
    assert!(signs.iter().any(said), "{signs:#?}");
    assert_eq!(report.result.trim(), "I made it.\n\nTASK_COMPLETE");
    assert_eq!(report.trouble, None);
    let used = report.usage.expect("it counts its tokens");
    assert!(used.tokens > 0);
    assert_eq!(
        signs.iter().rev().find(|sign| matches!(sign, Sign::Used(_))),
        Some(&Sign::Used(used))
    );
}

/// Asserts that a long brief reaches the model, and its answer us.
#[track_caller]
fn assert_arrives_whole(model: &OtherModel, place: &Workplace, named: Option<&str>) {
    let brief = long_brief();

    let (_, report) = place.work(&brief, named);

    assert_eq!(report.result, "read");
    assert!(contains(&model.told(), &brief));
}

/// Asserts what an agent makes of each refusal of its model; `refused` works
/// against a model that answers so, if the agent is there at all.
#[track_caller]
fn assert_told_apart(
    refusals: &[(u16, Value, &str)],
    refused: impl Fn(u16, Value) -> Option<Report>,
) {
    for (status, body, expected) in refusals {
        let Some(report) = refused(*status, body.clone()) else { return };
        assert_eq!(class(&report), *expected, "{status} {body}");
    }
}

/// The class of what went wrong.
fn class(report: &Report) -> &'static str {
    report.trouble.as_ref().map_or("", Trouble::class)
}

/// Whether a prompt holds this text.
fn contains(told: &[Told], text: &str) -> bool {
    told.iter().any(|told| matches!(told, Told::Text(said) if said.contains(text)))
}

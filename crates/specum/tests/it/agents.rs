//! Every agent, called and read by the kernel, on the real program: the brief
//! arrives whole, what it does is seen, what goes wrong is told apart, and the
//! hooks of the person's own sessions take no part where they can be kept out.

mod claude;
mod codex;
mod gemini;
mod opencode;
/// What holds for all that speak to another API than Claude Code's.
mod others;
mod shell;

use serde_json::Value;
use specum_core::agent::{Report, Sign};

use crate::host::Workplace;
use crate::other_model::{Answer, Api, OtherModel, Told};

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

/// An agent that speaks to another API than Claude Code's.
struct Other {
    api: Api,
    /// The model it is told to ask, if it must be told.
    named: Option<&'static str>,
    /// What it calls a command of its model's.
    runs: &'static str,
    /// A place for it; `None` if this machine has to do without.
    settle: fn(&OtherModel) -> Option<Workplace>,
}

impl Other {
    /// A model with this script, and the agent where it can ask it.
    fn with_model(
        &self,
        script: impl Fn(&Told) -> Answer + Send + Sync + 'static,
    ) -> Option<(OtherModel, Workplace)> {
        let model = OtherModel::start(self.api, script);
        let place = (self.settle)(&model)?;
        Some((model, place))
    }

    /// The same with a model that answers nothing but this.
    fn refused(&self, status: u16, body: Value) -> Option<(OtherModel, Workplace)> {
        self.with_model(move |_| Answer::Refuse(status, body.clone()))
    }

    /// Asserts what the agent makes of each refusal of its model.
    #[track_caller]
    fn assert_told_apart(&self, refusals: &[(u16, Value, &str)]) {
        for (status, body, expected) in refusals {
            let Some((_model, place)) = self.refused(*status, body.clone()) else { return };
            let (_, report) = place.work("hello", self.named);
            assert_eq!(class(&report), *expected, "{status} {body}");
        }
    }

    /// Asserts what is known of a refusal when the agent is ended while it waits to
    /// ask again.
    #[track_caller]
    fn assert_known_when_ended(&self, refusals: &[(u16, &str, &str)]) {
        for (status, message, expected) in refusals {
            let body = serde_json::json!({"error": {"message": message}});
            let Some((model, place)) = self.refused(*status, body) else { return };
            let at_work = place.start(&place.call("hello", self.named));
            // It has told of the first refusal before it asks again.
            model.wait_for(2);
            assert_eq!(class(&at_work.end().1), *expected, "{status} {message}");
        }
    }
}

/// The class of what went wrong.
fn class(report: &Report) -> String {
    report.trouble.as_ref().map_or_else(String::new, |trouble| trouble.class().to_string())
}

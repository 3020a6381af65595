//! What a person says by the web: each is one operation of the engine, the same as the verb
//! of its name, and the journal says that it came from here.

use std::collections::BTreeMap;

use serde::Deserialize;
use specum_core::machine::Raise;
use specum_engine::ops::{self, About, Caller, NoteText, OpError, PausedBy};
use specum_engine::person::Door;
use specum_engine::ports::World;
use specum_engine::project::Spec;
use specum_engine::store::Store;

/// What comes with it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Words {
    task: Option<String>,
    text: Option<String>,
    /// What is to be over before a pause: `task` or `phase`.
    after: Option<String>,
    /// The most dollars from now on.
    max_cost: Option<f64>,
    /// The spec's name, for what cannot be taken back.
    name: Option<String>,
}

/// The verbs that are asked for by their names.
pub(super) const VERBS: [&str; 8] =
    ["pause", "resume", "note", "retry", "skip", "unskip", "approve", "cancel"];

/// Does what was said, or tells why not in the verb's own words.
pub(super) fn act(world: &World, spec: &Spec, verb: &str, words: &Words) -> Result<(), String> {
    let warn = |_: &str| {};
    let caller = Caller::new(world, Door::Web, &warn).at(spec.root.clone());
    let place = spec.dir.to_str().ok_or("the spec's path is no UTF-8: use a terminal")?;
    let named = Some(place);
    let workspace = || caller.workspace(named);
    let task = || words.task.as_deref().ok_or_else(|| "say which task".to_owned());
    let done = match verb {
        "pause" => {
            let when = match words.after.as_deref() {
                None => PausedBy::Now,
                Some("task") => PausedBy::Task,
                Some("phase") => PausedBy::Phase,
                Some(_) => return Err("`after` is `task` or `phase`".into()),
            };
            workspace().and_then(|workspace| ops::pause(&caller, &workspace, when)).map(drop)
        }
        "resume" => {
            let raise = raise(words.max_cost)?;
            workspace().and_then(|workspace| ops::resume(&caller, &workspace, raise)).map(drop)
        }
        "note" => {
            let about = words.task.as_deref().map_or(About::Every, About::Task);
            let text = NoteText::Typed(words.text.clone().unwrap_or_default());
            ops::note(&caller, named, about, text).map(drop)
        }
        "retry" => ops::retry(&caller, named, task()?).map(drop),
        "skip" => ops::skip(&caller, named, task()?).map(drop),
        "unskip" => ops::unskip(&caller, named, task()?).map(drop),
        // A document is approved where it can be read.
        "approve" if !a_phase_waits(spec) => {
            return Err("no phase waits for your approval".into());
        }
        "approve" => ops::approve(&caller, named, None, &BTreeMap::new()).map(drop),
        "cancel" if words.name.as_deref() != Some(&spec.name) => {
            return Err("type the spec's name to cancel its loop".into());
        }
        "cancel" => ops::cancel(&caller, named, false).map(drop),
        _ => return Err("there is no such action".into()),
    };
    done.map_err(|error: OpError| error.to_string())
}

fn a_phase_waits(spec: &Spec) -> bool {
    let state = Store::of(spec).look_at_state().and_then(Result::ok);
    state.is_some_and(|state| state.waiting_for.is_some())
}

fn raise(max_cost: Option<f64>) -> Result<Raise, String> {
    match max_cost {
        Some(cost) if !(cost.is_finite() && cost > 0.0) => {
            Err("the cap is an amount of dollars above 0".into())
        }
        max_cost => Ok(Raise { max_cost, ..Raise::default() }),
    }
}

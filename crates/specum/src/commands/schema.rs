use clap::builder::PossibleValuesParser;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, json_schema};

use super::plugin::{PluginChange, PluginPath};
use super::{Answered, FailureJson, print_json};
use crate::exit::Exit;
use specum_core::picture::Picture;
use specum_engine::ops;

/// Print the JSON schema of what a command prints with --json
///
/// The schema is JSON Schema 2020-12. A failure has a schema of its own, `error`.
/// docs/json.md lists the fields of every answer.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The command; `dry-run` for `specum run --dry-run`, `plugin-path` for `specum
    /// plugin path`, `picture` for the part of `status` that views show, `approve-epic`
    /// for `specum approve --epic`
    #[arg(value_parser = PossibleValuesParser::new(ANSWERS.map(|(name, _)| name)))]
    command: String,
}

/// Makes the schema of an answer.
type MakeSchema = fn() -> Schema;

/// What has a schema.
const ANSWERS: [(&str, MakeSchema); 37] = [
    ("list", of::<ops::SpecList>),
    ("switch", of::<ops::Switch>),
    ("status", of::<ops::Status>),
    ("picture", of::<Picture>),
    ("log", line),
    ("diff", of::<ops::Diff>),
    ("report", of::<ops::WrittenReport>),
    ("check", of::<ops::Check>),
    ("trace", of::<ops::Trace>),
    ("index", of::<ops::Index>),
    ("import", of::<ops::Import>),
    ("epic", of::<ops::EpicView>),
    ("approve-epic", of::<ops::ApproveEpic>),
    ("run", line),
    ("dry-run", of::<ops::DryRun>),
    ("implement", of::<ops::Implement>),
    ("next", of::<ops::DueWork>),
    ("finish", of::<ops::Finish>),
    ("fail", of::<ops::Verdict>),
    ("tick", of::<ops::Tick>),
    ("accept", of::<ops::Accept>),
    ("note", of::<ops::Note>),
    ("retry", of::<ops::Retry>),
    ("skip", of::<ops::Skip>),
    ("unskip", of::<ops::Skip>),
    ("undo", of::<ops::Undo>),
    ("approve", of::<ops::Approval>),
    ("change", of::<ops::Changed>),
    ("new", of::<ops::NewSpec>),
    ("pause", of::<ops::Pause>),
    ("resume", of::<ops::Resume>),
    ("cancel", of::<ops::Cancel>),
    ("doctor", of::<ops::Doctor>),
    ("plugin", of::<PluginChange>),
    ("plugin-path", of::<PluginPath>),
    ("plan", line),
    ("error", of::<FailureJson>),
];

pub(super) fn run(args: &Args) -> Answered {
    let known = ANSWERS.iter().find(|(name, _)| *name == args.command);
    // The parser lets no other name through.
    let schema = known.map(|(_, schema)| schema());
    print_json(&schema, Exit::Done)
}

fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

/// A line of `specum run --json`, `specum plan --json` or `specum log --json`. The kinds of events and
/// their fields are documented in docs/run-events.md.
fn line() -> Schema {
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Line",
        "description": "One line of many; docs/run-events.md has the fields of each kind of event.",
        "type": "object",
        "properties": {
            "at": {"description": "When, in RFC 3339.", "type": "string"},
            "event": {"description": "What happened.", "type": "string"},
        },
        "required": ["at", "event"],
    })
}

//! What `--json` prints is what `specum schema` says.

use serde_json::{Map, Value, json};

use crate::world::{Call, TASKS, World};

/// The names that `specum schema` knows.
pub(crate) fn answers() -> Vec<String> {
    let definition = specum::commands::definition();
    let schema = definition.find_subcommand("schema").expect("there is such a verb");
    let argument = schema.get_arguments().next().expect("it has one");
    argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

/// The schema of an answer, as the program prints it.
pub(crate) fn schema_of(world: &World, answer: &str) -> Value {
    world.specum(&["schema", answer]).exits(0).json()
}

/// A schema with what `$ref` leads to put in its place.
pub(crate) fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    match schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => root.pointer(pointer).expect("a reference leads somewhere"),
        None => schema,
    }
}

/// What is wrong with a value: wrong types, missing fields, and fields that the
/// schema does not know.
fn faults(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut known = Map::new();
    let mut found = faults_of(root, schema, value, path, &mut known);
    if let (Some(fields), false) = (value.as_object(), known.is_empty()) {
        let strange = fields.keys().filter(|name| !known.contains_key(*name));
        found.extend(strange.map(|name| format!("{path}.{name} is not in the schema")));
    }
    found
}

fn faults_of(
    root: &Value,
    schema: &Value,
    value: &Value,
    path: &str,
    known: &mut Map<String, Value>,
) -> Vec<String> {
    let mut found = Vec::new();
    if schema["$ref"].is_string() {
        found.extend(faults_of(root, resolved(root, schema), value, path, known));
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    if !types.is_empty() && !types.iter().any(|wanted| has_type(value, wanted)) {
        found.push(format!("{path} is {value}, not {types:?}"));
    }
    if schema.get("const").is_some_and(|wanted| wanted != value)
        || schema["enum"].as_array().is_some_and(|all| !all.contains(value))
    {
        found.push(format!("{path} is {value}, which is none of the values"));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        known.insert(name.clone(), Value::Null);
        if let Some(value) = value.get(name) {
            found.extend(faults(root, field, value, &format!("{path}.{name}")));
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().expect("a name")).is_none() {
            found.push(format!("{path}.{name} is missing"));
        }
    }
    if schema["items"].is_object() {
        for (at, item) in value.as_array().into_iter().flatten().enumerate() {
            found.extend(faults(root, &schema["items"], item, &format!("{path}[{at}]")));
        }
    }
    if let Some(others) = schema.get("additionalProperties").filter(|others| others.is_object()) {
        for (name, value) in value.as_object().into_iter().flatten() {
            found.extend(faults(root, others, value, &format!("{path}.{name}")));
        }
    }
    for choice in ["oneOf", "anyOf"] {
        let Some(choices) = schema[choice].as_array() else { continue };
        let tried = choices.iter().map(|choice| {
            let mut fields = Map::new();
            (faults_of(root, choice, value, path, &mut fields), fields)
        });
        let mut tried: Vec<_> = tried.collect();
        match tried.iter().position(|(faults, _)| faults.is_empty()) {
            Some(fits) => known.append(&mut tried[fits].1),
            None => found.push(format!("{path} is {value}, none of the choices: {tried:?}")),
        }
    }
    found
}

fn has_type(value: &Value, wanted: &Value) -> bool {
    match wanted.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        other => panic!("what is the type {other:?}?"),
    }
}

/// A value that has to fit a schema of the program.
#[track_caller]
fn fits(world: &World, answer: &str, value: &Value) {
    let schema = schema_of(world, answer);
    let faults = faults(&schema, &schema, value, answer);
    assert!(faults.is_empty(), "{faults:#?}\n{value:#}");
}

/// Calls a verb with `--json`, and gives its answer once it fits.
#[track_caller]
fn answered(world: &World, answer: &str, args: &[&str], input: &str, code: u8) -> Value {
    let args = [args, &["--json"]].concat();
    let value = world.specum_with(&args, input.as_bytes()).exits(code).json();
    fits(world, answer, &value);
    value
}

/// The same for a verb that is a person's, at a terminal.
#[track_caller]
fn answered_to_person(world: &World, answer: &str, args: &[&str]) -> Value {
    let shown = world.person(&[args, &["--json"]].concat());
    let value = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"));
    fits(world, answer, &value);
    value
}

#[test]
fn the_validator_finds_what_does_not_fit() {
    let world = World::empty();
    let schema = schema_of(&world, "switch");
    let faults_of = |value: Value| faults(&schema, &schema, &value, "");
    assert_eq!(faults_of(json!({"spec": "a", "path": "b"})), [""; 0]);
    for wrong in [
        json!({"spec": "a"}),
        json!({"spec": "a", "path": null}),
        json!({"spec": "a", "path": "b", "more": 1}),
        json!([]),
    ] {
        assert_ne!(faults_of(wrong.clone()), [""; 0], "{wrong}");
    }
    let schema = schema_of(&world, "next");
    for wrong in [
        json!({"due": "complete"}),
        json!({"due": "later", "tasks": []}),
        json!({"due": "paused", "message": "a", "loopFile": "gone"}),
        json!({"due": "paused", "message": "a", "loopFile": null, "tasks": []}),
        json!({"due": "task", "tasks": [{"id": "1.1"}]}),
    ] {
        assert_ne!(faults(&schema, &schema, &wrong, ""), [""; 0], "{wrong}");
    }
}

#[test]
fn one_thing_has_one_name_in_every_answer() {
    let world = World::empty();
    for answer in answers() {
        let schema = schema_of(&world, &answer);
        let parts = schema["$defs"].as_object().into_iter().flatten().map(|(_, part)| part);
        for part in parts.chain([&schema]) {
            let fields = part["properties"].as_object().cloned().unwrap_or_default();
            for (name, instead) in [("name", "spec"), ("grade", "severity")] {
                assert!(!fields.contains_key(name), "{answer}: {name}, not {instead}");
            }
            let odd = fields.keys().find(|field| field.contains(['_', '-']));
            assert_eq!(odd, None, "{answer}: names are in camel case");
            let is_list = fields.get("tasks").is_none_or(|tasks| tasks["type"] == "array");
            assert!(is_list, "{answer}: tasks is a list, and total a number");
        }
    }
}

const PLAN: &str = "\
- [ ] 1.1 First\n  - **Verify**: `test -e a`\n\
- [ ] 1.2 [P] Second\n- [ ] 1.3 [P] Third\n\
- [ ] 1.4 [VERIFY] All of it\n  - **Verify**: `true`\n";

/// Requirements of which something is stale and something is in no task.
const REQUIRED: &str = "\
## Functional Requirements
| ID | Requirement | Acceptance Criteria |
|----|-------------|---------------------|
| FR-1 | It is there | AC-1.1 |
";

#[test]
fn what_the_verbs_of_a_loop_print_fits_their_schemas() {
    let world = World::planned(PLAN);
    world.write("specs/other/tasks.md", "- [ ] 1.1 a\n");
    answered(&world, "list", &["list"], "", 0);
    answered(&world, "switch", &["switch", "test-spec"], "", 0);
    answered(&world, "status", &["status"], "", 0);
    answered(&world, "check", &["check", "--red"], "", 0);
    world.write("specs/test-spec/requirements.md", REQUIRED);
    answered(&world, "trace", &["trace", "--rebuild"], "", 0);
    answered(&world, "index", &["index"], "", 0);
    let plan = ["run", "--dry-run", "--agent-command", "true"];
    answered(&world, "dry-run", &plan, "", 0);
    answered(&world, "implement", &["implement"], "", 0);
    let due = |kind: &str, code: u8| {
        assert_eq!(answered(&world, "next", &["next"], "", code)["due"], kind);
    };
    due("task", 0);
    let failed = answered(&world, "finish", &["finish", "1.1"], "TASK_COMPLETE", 1);
    assert!(!failed["failures"].as_array().unwrap().is_empty());
    due("task", 0);
    answered(&world, "fail", &["fail", "1.1", "--reason", "broke off"], "", 0);
    answered(&world, "pause", &["pause"], "", 0);
    due("paused", 6);
    answered(&world, "status", &["status"], "", 0);
    answered(&world, "resume", &["resume"], "", 0);
    due("task", 0);
    world.write("a", "");
    let passed = answered(&world, "finish", &["finish", "1.1"], "TASK_COMPLETE", 0);
    assert!(passed["commit"].is_string());
    answered(&world, "diff", &["diff", "1.1"], "", 0);
    due("parallel", 0);
    for id in ["1.2", "1.3"] {
        answered(&world, "finish", &["finish", id], "TASK_COMPLETE", 0);
    }
    due("verify", 0);
    answered(&world, "finish", &["finish", "1.4"], "VERIFICATION_PASS", 0);
    due("complete", 0);
    answered(&world, "cancel", &["cancel"], "", 0);
    answered(&world, "cancel", &["cancel", "other", "--remove"], "", 0);
    let doctor = world.specum(&["doctor", "--repair", "--json"]).json();
    fits(&world, "doctor", &doctor);
    for line in world.specum(&["log", "--json"]).exits(0).stdout.lines() {
        has_envelope(&world, "log", line);
    }
}

/// A line of a stream has at least what the schema names.
#[track_caller]
fn has_envelope(world: &World, answer: &str, line: &str) {
    let (schema, line) = (schema_of(world, answer), serde_json::from_str(line).unwrap());
    assert_eq!(faults_of(&schema, &schema, &line, answer, &mut Map::new()), [""; 0], "{line}");
}

#[test]
fn what_a_persons_verbs_print_fits_their_schemas() {
    let world = World::started("- [ ] 1.1 a\n  - **Verify**: `false`\n- [ ] 1.2 b\n");
    answered_to_person(&world, "note", &["note", "1.1", "look"]);
    answered_to_person(&world, "note", &["note", "--all", "--withdraw"]);
    assert_eq!(answered_to_person(&world, "skip", &["skip", "1.2"])["ended"], false);
    answered_to_person(&world, "unskip", &["unskip", "1.2"]);
    assert_eq!(answered_to_person(&world, "retry", &["retry", "1.1"])["reopened"], false);
    let after = answered_to_person(&world, "pause", &["pause", "--after", "task"]);
    assert_eq!(after["state"], "pause-asked");
    answered_to_person(&world, "resume", &["resume"]);
    answered_to_person(&world, "tick", &["tick", "1.2"]);
    assert_eq!(answered_to_person(&world, "tick", &["tick", "1.2"])["already"], true);
    world.write(TASKS, world.read(TASKS).replace("`false`", "`true`"));
    let asked = answered(&world, "finish", &["finish", "1.1"], "TASK_COMPLETE", 6);
    assert!(asked["waits"].is_string());
    answered(&world, "next", &["next"], "", 6);
    answered(&world, "status", &["status"], "", 0);
    let accepted = answered_to_person(&world, "accept", &["accept", "1.1"]);
    assert_eq!(accepted["check"], "`true`");
}

#[test]
fn what_import_and_epics_print_fits_their_schemas() {
    let world = World::empty();
    world.write(".kiro/specs/app/tasks.md", "- [ ] 1. a\n  - [ ] 1.1 b\n");
    answered(&world, "import", &["import", ".kiro/specs/app"], "", 0);
    let spec = |name: &str| format!("### {name}\n**Goal**: a\n**Acceptance Criteria**: b\n");
    let epic = format!("# Epic: Two\n## Specs\n{}{}", spec("one"), spec("two"));
    world.write("specs/_epics/two/epic.md", epic);
    answered(&world, "epic", &["epic"], "", 0);
    answered_to_person(&world, "approve-epic", &["approve", "--epic", "two"]);
    world.write("specs/_epics/two/epic.md", "# Epic: Two\n");
    answered(&world, "epic", &["epic", "two"], "", 1);
}

#[test]
fn what_the_plugin_verbs_and_a_run_print_fits_their_schemas() {
    let world = World::planned("- [ ] 1.1 a\n");
    answered(&world, "plugin-path", &["plugin", "path"], "", 0);
    answered(&world, "plugin", &["plugin", "install", "--host", "gemini"], "", 0);
    answered(&world, "plugin", &["plugin", "uninstall", "--host", "gemini"], "", 0);
    let run = world.specum(&["run", "--json", "--agent-command", "echo TASK_COMPLETE"]);
    for line in run.exits(0).stdout.lines() {
        has_envelope(&world, "run", line);
    }
}

#[test]
fn a_failure_is_json_too_and_says_its_exit_code() {
    let world = World::with_tasks("- [ ] 1.1 a\n");
    let failed = |args: &[&str], kind: &str, code: u8| {
        let call: Call = world.specum(&[args, &["--json"]].concat());
        let value = call.exits(code).json();
        fits(&world, "error", &value);
        assert_eq!(value["error"]["kind"], kind, "{args:?}");
        assert_eq!(value["error"]["exit"], code, "{args:?}");
        let message = value["error"]["message"].as_str().unwrap();
        assert_eq!(call.stderr, format!("error: {message}\n"), "people read the same");
    };
    failed(&["status", "nothing"], "not-found", 3);
    failed(&["status", "."], "usage", 2);
    failed(&["finish", "7.7"], "not-found", 3);
    failed(&["tick", "1.1"], "person-needed", 1);
    failed(&["run", "--agent", "nobody"], "usage", 2);
    world.raw_state("{");
    failed(&["status"], "unusable", 4);
    assert_eq!(world.specum(&["status"]).exits(4).stdout, "", "without --json, text alone");
}

#[test]
fn every_verb_that_prints_json_has_a_schema() {
    let definition = specum::commands::definition();
    let names = answers();
    let has_json = |command: &&clap::Command| {
        command.get_arguments().any(|argument| argument.get_id() == "json")
    };
    let verbs = definition.get_subcommands().filter(has_json).map(clap::Command::get_name);
    let verbs: Vec<&str> = verbs.collect();
    assert!(verbs.len() > 14, "{verbs:?}");
    for verb in verbs {
        assert!(names.iter().any(|name| name == verb), "{verb}");
    }
}

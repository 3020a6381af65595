//! Documents from a sentence: by `specum plan` with a scripted author, and by verbs.
//!
//! The author is a shell script that puts files of `$HOME/docs` where the brief says:
//! `requirements-1.md` at its first try, else `requirements.md`; and that works tasks too.

mod bad_input;
mod headless;
mod kills;
mod persons;
mod verbs;

use std::fs;
use std::process::Command;

use crate::world::{Call, World, call};

pub(crate) const GOAL: &str = "Greet the reader of `greet.txt`, within 15 minutes";
pub(crate) const SPEC: &str = "specs/greet-reader-greet-txt-within";

pub(crate) const REQUIREMENTS: &str = "\
# Requirements: greet
## Goal
Whoever opens `greet.txt` is greeted, within 15 minutes of work.
## User Stories
### US-1: Be greeted
**As a** reader **I want** a greeting **so that** I feel welcome.
**Acceptance Criteria:**
- AC-1.1: WHEN greet.txt is read THE file SHALL say hello.
- AC-1.2: WHEN greet.txt is written twice THE file SHALL say hello once.
## Functional Requirements
| ID | Requirement | Priority | Acceptance Criteria |
|----|-------------|----------|---------------------|
| FR-1 | greet.txt says hello | Must | AC-1.1 |
| FR-2 | hello stands there once | Must | AC-1.2 |
## Non-Functional Requirements
None: it is a file
## Out of Scope
- Other languages, and whatever takes more than 15 minutes
## Open Questions
- [ ] Q-1: How loud is it? (affects FR-1)
  - (default) hello: as people write
  - HELLO: louder
## Assumptions
- A-1: The reader reads English.
";

pub(crate) const DESIGN: &str = "\
# Design: greet
## Overview
One file is written. Nothing else changes.
## Architecture
```text
reader -> greet.txt
```
## Components
### C-1: The greeting
**Purpose**: says hello.
_Requirements: FR-1, FR-2_
## Data Flow
1. The reader opens the file.
## Technical Decisions
| Decision | Options | Choice | Rationale |
|----------|---------|--------|-----------|
| Where | a file, a program | a file | it is enough |
## File Structure
| File | Action | Purpose |
|------|--------|---------|
| greet.txt | Create | the greeting |
## Error Handling
| Error | Handling | User impact |
|-------|----------|-------------|
| none | none | none |
## Test Strategy
`sh check.sh` proves AC-1.1 and AC-1.2.
## Existing Patterns to Follow
check.sh:1
## Open Questions
None: all is decided
";

const WORK: &str = "\
- [ ] 1.1 Write the greeting
  - **Do**:
    1. write hello into greet.txt
  - **Files**: greet.txt (new)
  - **Done when**: greet.txt says hello
  - **Verify**: `grep -qx hello greet.txt`
  - **Commit**: `feat: greet the reader`
";

pub(crate) fn tasks() -> String {
    format!(
        "# Tasks: greet\n## Phase 1: Red-Green-Yellow Cycles\n{WORK}  - _Requirements: FR-1, \
         FR-2_\n  - _Design: C-1_\n## Phase 2: Quality Gates\n{FINAL}"
    )
}

pub(crate) fn small_tasks() -> String {
    format!(
        "# Tasks: greet\n## Goal\nThe reader of greet.txt is greeted, within 15 minutes.\n## \
         Requirements\n- FR-1: greet.txt says hello\n- FR-2: hello stands there once\n## Out of \
         Scope\n- Other languages, and whatever takes more than 15 minutes\n## Assumptions\n- A-1: English\n## Phase 1: Change\n{WORK}  - \
         _Requirements: FR-1, FR-2_\n{FINAL}"
    )
}

const FINAL: &str = "\
- [ ] V1 [VERIFY] The project holds
  - **Done when**: its own check passes
  - **Verify**: `sh check.sh`
";

/// Puts a document where the brief says, and works on tasks.
const AUTHOR: &str = r#"
brief=$(cat)
name=$(printf '%s\n' "$brief" | sed -n 's/.*specum-attempt .*"task":"@\([a-z]*\)","attempt":\([0-9]*\).*/\1 \2/p' | tail -n 1)
if [ -z "$name" ]; then echo hello > greet.txt; echo TASK_COMPLETE; exit; fi
doc=${name% *} try=${name#* } dir=$(echo specs/*/)
echo "$doc $try" >> "$HOME/starts"
printf '%s\n' "$brief" > "$HOME/brief-$doc-$try"
for act in "$HOME/docs/$doc-$try.sh" "$HOME/docs/$doc.sh"; do
  if [ -e "$act" ]; then . "$act"; exit; fi
done
for from in "$HOME/docs/$doc-$try.md" "$HOME/docs/$doc.md"; do
  if [ -e "$from" ]; then cp "$from" "$dir$doc.md"; break; fi
done
echo written
"#;

/// A project with a check of its own, and an author who writes good documents.
pub(crate) fn project() -> World {
    let world = World::empty();
    world.write("check.sh", "test \"$(cat greet.txt)\" = hello\n");
    world.write("README.md", "# Greetings\n");
    world.git_init();
    writes(&world, "requirements.md", REQUIREMENTS);
    writes(&world, "design.md", DESIGN);
    writes(&world, "tasks.md", tasks());
    fs::write(world.home().join("author.sh"), AUTHOR).expect("a file");
    world
}

/// The same with an author of small plans.
pub(crate) fn small_project() -> World {
    let world = project();
    writes(&world, "tasks.md", small_tasks());
    world
}

/// What the author writes, or does, under a name such as `design-1.md` or `design-2.sh`.
pub(crate) fn writes(world: &World, name: &str, text: impl AsRef<[u8]>) {
    let docs = world.home().join("docs");
    fs::create_dir_all(&docs).expect("a folder");
    fs::write(docs.join(name), text).expect("a file");
}

/// `specum plan` with that author.
pub(crate) fn plan_command(world: &World, args: &[&str]) -> Command {
    let mut command = world.command();
    let agent = format!("sh {}", world.home().join("author.sh").display());
    command.args(["plan", "--agent-command", &agent]).args(args);
    command
}

/// The same, to its end.
pub(crate) fn plan(world: &World, args: &[&str]) -> Call {
    call(plan_command(world, args), b"")
}

/// Which documents the author was asked for, and at which try.
pub(crate) fn starts(world: &World) -> Vec<String> {
    let starts = fs::read_to_string(world.home().join("starts")).unwrap_or_default();
    starts.lines().map(str::to_owned).collect()
}

/// What the author was given to read.
pub(crate) fn brief(world: &World, doc: &str, attempt: u64) -> String {
    fs::read_to_string(world.home().join(format!("brief-{doc}-{attempt}"))).expect("a brief")
}

/// The subjects of the commits, the newest first.
pub(crate) fn subjects(world: &World) -> Vec<String> {
    world.git(&["log", "--format=%s"]).lines().map(str::to_owned).collect()
}

/// A file of the spec.
pub(crate) fn read(world: &World, name: &str) -> String {
    world.read(&format!("{SPEC}/{name}"))
}

/// The journal of the spec.
pub(crate) fn journal(world: &World, event: &str) -> Vec<serde_json::Value> {
    world.journal_of(SPEC.trim_start_matches("specs/"), event)
}

/// Where each document stands, by the state file.
pub(crate) fn status(world: &World, doc: &str) -> String {
    let state = world.read(&format!("{SPEC}/.ralph-state.json"));
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    state["phases"][doc]["status"].as_str().unwrap_or("absent").to_owned()
}

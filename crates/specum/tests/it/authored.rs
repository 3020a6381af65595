//! The documents of a small spec in which no rule finds anything, and authors that write
//! them.

use specum_core::spec::Doc;

/// What a person asks for.
pub(crate) const GOAL: &str = "Greet whoever reads hello.txt, it's two words";

/// Its requirements, with one open question.
pub(crate) const REQUIREMENTS: &str = "\
# Requirements: greeting
## Goal
Whoever reads hello.txt is greeted with two words.
## User Stories
### US-1: Be greeted
**As a** reader **I want to** be greeted **so that** I feel at home.
**Acceptance Criteria:**
- AC-1.1: WHEN hello.txt is read THE file SHALL say hello.
## Functional Requirements
| ID | Requirement | Priority | Acceptance Criteria |
|----|-------------|----------|---------------------|
| FR-1 | hello.txt greets its reader | Must | AC-1.1 |
## Non-Functional Requirements
None: a file has none
## Out of Scope
- Other languages
## Open Questions
- [ ] Q-1: Who is greeted? (affects FR-1)
  - (default) the world: as everywhere
  - the reader: by name
## Assumptions
- A-1: A line is enough.
";

/// Its design.
pub(crate) const DESIGN: &str = "\
# Design: greeting
## Overview
One file with one line. Nothing else changes.
## Architecture
A reader opens hello.txt.
## Components
### C-1: Greeting
**Purpose**: greets whoever reads it.
**Interface**: hello.txt, one line of text
_Requirements: FR-1_
## Data Flow
1. The file is read.
## Technical Decisions
| Decision | Options | Choice | Rationale |
|----------|---------|--------|-----------|
| Form | text, HTML | text | anybody can read it |
## File Structure
| File | Action | Purpose |
|------|--------|---------|
| hello.txt | Create | the greeting |
## Error Handling
| Error | Handling | User impact |
|-------|----------|-------------|
| no file | none | not greeted |
## Test Strategy
`sh check.sh` proves AC-1.1.
## Existing Patterns to Follow
None: the first file
## Open Questions
None: all is decided
";

/// Its plan: a task, and a check of the project's own.
pub(crate) const TASKS: &str = "\
# Tasks: greeting
## Phase 1: Make It Work
- [ ] 1.1 Write the greeting
  - **Do**:
    1. write hello.txt
  - **Files**: hello.txt
  - **Done when**: hello.txt says hello
  - **Verify**: `grep -q hello hello.txt`
  - **Commit**: `feat: greet`
  - _Requirements: FR-1_
  - _Design: C-1_
## Phase 2: Quality Gates
- [ ] V1 [VERIFY] The project holds
  - **Done when**: the check passes
  - **Verify**: `sh check.sh`
";

/// A document as a good author writes it.
pub(crate) fn good(doc: Doc) -> &'static str {
    match doc {
        Doc::Research => panic!("the spec has none"),
        Doc::Requirements => REQUIREMENTS,
        Doc::Design => DESIGN,
        Doc::Tasks => TASKS,
    }
}

/// The same with something that the gate refuses.
pub(crate) fn bad(doc: Doc) -> String {
    good(doc).replace("FR-1 ", "FR-1 TODO ").replace("One file", "TODO one file")
}

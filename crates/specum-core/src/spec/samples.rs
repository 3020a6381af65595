//! A spec that no rule finds anything in, for the tests of this module.

pub(crate) const GOAL: &str = "Add sign-in by e-mail link, tokens live 15 minutes";

pub(crate) const RESEARCH: &str = "\
# Research: add-sign-in
## Executive Summary
It can be built on the mailer that is here. The risk is the clock.
## Codebase Analysis
- src/main.rs:1 — routes are registered here; a new one goes beside them
## External Research
- Links are opened by scanners — https://example.org/scanners
## Constraints
The database is SQLite.
## Verification
`cargo test` runs all of it.
## Related Specs
None: the first one
## Feasibility Assessment
| Aspect | Level | Why |
|--------|-------|-----|
| Mail | High | it is there |
## Recommendations for Requirements
1. Limit the life of a link.
## Open Questions
None: everything can be looked up
";

pub(crate) const REQUIREMENTS: &str = "\
---
spec: add-sign-in
phase: requirements
---
# Requirements: add-sign-in
## Goal
Visitors sign in without a password: a link by e-mail, good for 15 minutes.
## User Stories
### US-1: Sign in by link
**As a** visitor **I want to** get a link by e-mail **so that** I need no password.
**Acceptance Criteria:**
- AC-1.1: WHEN a known address is sent in THE service SHALL mail a link within 5 s and answer 202.
- AC-1.2: IF the link is older than 15 minutes THEN THE service SHALL answer 410.
## Functional Requirements
| ID | Requirement | Priority | Acceptance Criteria |
|----|-------------|----------|---------------------|
| FR-1 | A link is mailed on request | Must | AC-1.1 |
| FR-2 | An expired link is refused | Must | AC-1.2 |
## Non-Functional Requirements
| ID | Requirement | Metric | Target |
|----|-------------|--------|--------|
| NFR-1 | Answers are quick | p95 of POST /links | < 200 ms |
## Out of Scope
- Passwords, social sign-in
## Open Questions
- [ ] Q-1: Which mailer sends the link? (affects FR-1)
  - (default) SMTP as today: nothing new to run
  - Provider API: bounces are seen
## Assumptions
- A-1: Addresses are unique, as users.email says.
";

pub(crate) const DESIGN: &str = "\
# Design: add-sign-in
## Overview
A table keeps one open link for each address.
## Architecture
```mermaid
graph LR
## not a heading
```
## Components
### C-1: Link store
**Purpose**: keeps one open link for each address.
**Interface**: `issue(address) -> Token`
_Requirements: FR-1, FR-2_
### C-2: Routes
**Purpose**: answers POST /links.
_Requirements: NFR-1_
## Data Flow
1. An address comes in, a link goes out.
## Technical Decisions
| Decision | Options | Choice | Rationale |
|----------|---------|--------|-----------|
| Where links live | memory, a table | a table | they survive a restart |
## File Structure
| File | Action | Purpose |
|------|--------|---------|
| src/links.rs | Create | the store |
| `src/main.rs` | Modify | the routes |
## Error Handling
| Error | Handling | User impact |
|-------|----------|-------------|
| expired | 410 | asks again |
## Test Strategy
`cargo test links` proves AC-1.1 and AC-1.2.
## Existing Patterns to Follow
src/main.rs:1
## Open Questions
None: all is decided
";

pub(crate) const TASKS: &str = "\
# Tasks: add-sign-in
## Phase 1: Make It Work
- [ ] 1.1 Add the link store
  - **Do**:
    1. write the table and `issue`
  - **Files**: src/links.rs (new)
  - **Done when**: an expired link is refused
  - **Verify**: `cargo test links`
  - **Commit**: `feat(links): keep links`
  - _Requirements: FR-1, AC-1.2_
  - _Design: C-1_
- [ ] 1.2 Add the routes
  - **Do**:
    1. register POST /links
  - **Files**: src/main.rs
  - **Done when**: POST /links answers
  - **Verify**: `cargo test routes`
  - **Commit**: `feat(links): answer requests`
  - _Requirements: NFR-1_
  - _Design: C-2_
## Phase 2: Quality Gates
- [ ] V1 [VERIFY] The project holds
  - **Done when**: every test passes
  - **Verify**: `cargo test`
";

/// The plan of a small spec, which states its requirements itself.
pub(crate) const SMALL: &str = "\
# Tasks: rename-colour
## Goal
Scripts can say `--color`; `--colour` works as before.
## Requirements
- FR-1: `--color` sets the colour
- FR-2: `--colour` still works
## Out of Scope
- other options
## Assumptions
- A-1: of both the last one counts
## Phase 1: Change
- [ ] 1.1 Add the option
  - **Do**:
    1. read `--color` where `--colour` is read
  - **Files**: src/main.rs
  - **Done when**: both options set the colour
  - **Verify**: `cargo test color`
  - **Commit**: `feat(cli): add --color`
  - _Requirements: FR-1, FR-2_
- [ ] V1 [VERIFY] The project holds
  - **Done when**: every test passes
  - **Verify**: `cargo test`
";

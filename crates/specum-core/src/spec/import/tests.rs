use super::*;
use crate::spec::gate::{self, Facts, Policy, Spec};
use crate::spec::{Doc, Texts};

/// The files of a Kiro spec, as Kiro writes them.
const KIRO_REQUIREMENTS: &str = "\
# Requirements Document

## Introduction

Visitors sign in by a link.

## Glossary

- **Link**: an address with a token

## Requirements

### Requirement 1: Sign in

**User Story:** As a visitor, I want a link, so that I need no password.

#### Acceptance Criteria

1. WHEN a known address is sent in THEN the service SHALL mail a link
2. IF the link is older
   than 15 minutes THEN the service SHALL answer 410

### Requirement 2

**User Story:** As an admin, I want a log

#### Acceptance Criteria

1. WHEN a link is used THEN the service SHALL log it | once
";

fn text(imported: &Imported, doc: Doc) -> String {
    let found = imported.documents.iter().find(|(other, _)| *other == doc);
    let (_, text) = found.unwrap_or_else(|| panic!("no {doc}: {:?}", imported.documents));
    String::from_utf8(text.clone()).unwrap()
}

/// What the gate finds in what was imported, rule by rule.
fn findings(imported: &Imported, doc: Doc) -> Vec<&'static str> {
    let documents = imported.documents.iter();
    let texts = documents.fold(Texts::default(), |texts, (doc, text)| texts.with(*doc, text));
    let found = gate::judge(doc, &Spec::of(texts), &Facts::none(), &Policy::default());
    let mut rules: Vec<&str> = found.iter().map(|finding| finding.rule.name()).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

fn source<'a>(path: &'a str, text: &'a str) -> Source<'a> {
    Source { path, text: text.as_bytes() }
}

fn converted(sources: &[Source<'_>]) -> (Tool, Imported) {
    let tool = tool(sources).expect("it is a plan");
    (tool, convert(tool, "sign-in", sources))
}

#[test]
fn a_kiro_spec_becomes_stories_criteria_and_requirements() {
    let plan = include_str!("../../tasks/tests/plans/kiro.md");
    let design = "# Design\n## Overview\nx\n## Components and Interfaces\n### Store\nkeeps\n\
                  ```\n## Testing Strategy\n```\n## Testing Strategy\ny\n";
    let sources = [
        source("requirements.md", KIRO_REQUIREMENTS),
        source("design.md", design),
        source("tasks.md", plan),
        source("notes.md", "x"),
    ];
    let (tool, imported) = converted(&sources);
    assert_eq!(tool, Tool::Kiro);
    assert_eq!(imported.left_out, ["notes.md"]);
    insta::assert_snapshot!(text(&imported, Doc::Requirements), @"
    ---
    spec: sign-in
    phase: requirements
    ---
    # Requirements: sign-in

    ## Goal

    Visitors sign in by a link.

    ## User Stories

    ### US-1: Sign in

    As a visitor, I want a link, so that I need no password.

    **Acceptance Criteria:**

    - AC-1.1: WHEN a known address is sent in THEN the service SHALL mail a link
    - AC-1.2: IF the link is older than 15 minutes THEN the service SHALL answer 410

    ### US-2: Requirement 2

    As an admin, I want a log

    **Acceptance Criteria:**

    - AC-2.1: WHEN a link is used THEN the service SHALL log it | once

    ## Functional Requirements

    | ID | Requirement | Priority | Acceptance Criteria |
    |----|-------------|----------|---------------------|
    | FR-1 | Sign in |  | AC-1.1, AC-1.2 |
    | FR-2 | Requirement 2 |  | AC-2.1 |

    ## Glossary

    - **Link**: an address with a token
    ");
    insta::assert_snapshot!(text(&imported, Doc::Tasks), @"
    ---
    spec: sign-in
    phase: tasks
    ---
    # Tasks: sign-in

    ## Phase 1: Set up project structure and core interfaces

    - [x] 1. Set up project structure and core interfaces
      - **Do**:
        - Create directories for models, services and the API
        - Define the interfaces that mark the system's boundaries
      - _Requirements: AC-1.1_

    ## Phase 2: Implement data models and validation

    - [x] 2.1 Create model interfaces and types
      - **Do**:
        - Write TypeScript interfaces for all data models
        - Add validation for required fields
      - _Requirements: AC-2.1, AC-3.3, AC-1.2_
    - [ ] 2.2 Implement the User model
      - **Do**:
        - Write the User class with its validation
      - _Requirements: AC-1.2_
    - [ ]* 2.3 Write property tests for the User model
      - **Do**:
        - **Property 1: round trip of serialisation**
      - _Requirements: AC-2.5_
    - [ ] 2.4 Implement the Document model
      - _Requirements: AC-2.1, AC-3.3_

    ## Phase 3: Checkpoint - ensure all tests pass

    - [ ] 3. Checkpoint - ensure all tests pass
      - **Do**:
        - Ask the user if questions arise.

    ## Phase 4: Build the storage layer

    - [ ] 4.1 Write the connection code
      - _Requirements: AC-2.1_
    - [ ]* 4.2 Write unit tests for connections

    ## Phase 5: Benchmarks

    - [ ]* 5.1 Measure reads
    - [ ]* 5.2 Measure writes

    ## Phase 6: Wire everything together

    - [ ] 6. Wire everything together
    ");
    insta::assert_snapshot!(text(&imported, Doc::Design), @"
    # Design
    ## Overview
    x
    ## Components
    ### C-1: Store
    keeps
    ```
    ## Testing Strategy
    ```
    ## Test Strategy
    y
    ");
    assert_eq!(findings(&imported, Doc::Requirements), ["missing-section"]);
}

#[test]
fn a_spec_kit_feature_becomes_a_spec_whose_tasks_name_their_story() {
    let spec = "\
# Feature Specification: Photo albums

**Input**: User description: \"Sort photos into `albums`\"

## User Scenarios & Testing *(mandatory)*

### User Story 1 - Make an album (Priority: P1)

A person makes an album.

**Why this priority**: it is the core

**Acceptance Scenarios**:

1. **Given** no album, **When** one is made, **Then** it is listed

### Edge Cases

- What happens with no photo?

## Requirements *(mandatory)*

### Functional Requirements

- **FR-001**: System MUST list albums
- **FR-002**: System MUST keep [NEEDS CLARIFICATION: how many?] photos

## Success Criteria *(mandatory)*

- **SC-001**: An album opens within 2 seconds

## Assumptions

- Photos are local
";
    let plan = include_str!("../../tasks/tests/plans/spec-kit.md");
    let (tool, imported) = converted(&[
        source("spec.md", spec),
        source("plan.md", "# Plan\n## Summary\nsmall\n"),
        source("tasks.md", plan),
        source("data-model.md", "x"),
    ]);
    assert_eq!(tool, Tool::SpecKit);
    assert_eq!(imported.goal.as_deref(), Some("Sort photos into `albums`"));
    assert_eq!(imported.left_out, ["data-model.md"]);
    insta::assert_snapshot!(text(&imported, Doc::Requirements), @"
    ---
    spec: sign-in
    phase: requirements
    ---
    # Requirements: sign-in

    ## Goal

    Sort photos into `albums`

    ## User Stories

    ### US-1: Make an album (Priority: P1)

    A person makes an album.

    **Acceptance Criteria:**

    - AC-1.1: Given no album, When one is made, Then it is listed

    ## Functional Requirements

    | ID | Requirement | Priority | Acceptance Criteria |
    |----|-------------|----------|---------------------|
    | FR-1 | System MUST list albums | Must |  |
    | FR-2 | System MUST keep [NEEDS CLARIFICATION: how many?] photos | Must |  |

    ## Non-Functional Requirements

    - NFR-1: An album opens within 2 seconds

    ## Assumptions

    - A-1: Photos are local

    ## Edge Cases

    - What happens with no photo?
    ");
    insta::assert_snapshot!(text(&imported, Doc::Tasks), @"
    ---
    spec: sign-in
    phase: tasks
    ---
    # Tasks: sign-in

    ## Phase 1: Setup (Shared Infrastructure)

    - [x] 1.1 Create project structure per implementation plan
    - [ ] 1.2 Initialize the Python project with FastAPI dependencies
    - [ ] 1.3 [P] Configure linting and formatting tools in pyproject.toml
      - **Files**: pyproject.toml

    ## Phase 2: User Story 1 - Sign up (Priority: P1) 🎯 MVP

    ### Tests for User Story 1 ⚠

    - [ ] 2.1 [P] Contract test for POST /users in tests/contract/test_users.py
      - **Files**: tests/contract/test_users.py
      - _Requirements: US-1_
    - [ ] 2.2 [P] Integration test for sign-up in `tests/integration/test_signup.py`
      - **Files**: tests/integration/test_signup.py
      - _Requirements: US-1_

    ### Implementation for User Story 1

    - [ ] 2.3 [P] Create User model in src/models/user.py
      - **Files**: src/models/user.py
      - _Requirements: US-1_
    - [ ] 2.4 [P] Create Session model in src/models/session.py
      - **Files**: src/models/session.py
      - _Requirements: US-1_
    - [ ] 2.5 Implement UserService in src/services/user_service.py (depends on 2.3, 2.4)
      - **Files**: src/services/user_service.py
      - _Requirements: US-1_
    - [ ] 2.6 Add validation and error handling
      - _Requirements: US-1_
    ");
    assert_eq!(text(&imported, Doc::Design), "# Plan\n## Overview\nsmall\n");
    assert_eq!(
        findings(&imported, Doc::Requirements),
        ["missing-section", "placeholder", "requirement-without-criteria"]
    );
}

#[test]
fn an_openspec_change_becomes_requirements_with_its_scenarios() {
    let proposal =
        "## Why\n\nCodes are safer.\n\n## What Changes\n- adds codes\n\n## Impact\nauth\n";
    let delta = "## ADDED Requirements\n\n### Requirement: Two factors\nThe system SHALL ask for \
                 a code.\n\n#### Scenario: Code is asked\n- **WHEN** the password fits\n\
                 - **THEN** a code is asked for\n\n## REMOVED Requirements\n### Requirement: Hints\n";
    let design =
        "## Context\nx\n## Goals / Non-Goals\n**Goals:**\n- codes\n\n**Non-Goals:**\n- SMS\n";
    let plan = include_str!("../../tasks/tests/plans/openspec.md");
    let (tool, imported) = converted(&[
        source("proposal.md", proposal),
        source("specs/auth/spec.md", delta),
        source("design.md", design),
        source("tasks.md", plan),
    ]);
    assert_eq!(tool, Tool::OpenSpec);
    assert_eq!(imported.left_out, [""; 0]);
    insta::assert_snapshot!(text(&imported, Doc::Requirements), @"
    ---
    spec: sign-in
    phase: requirements
    ---
    # Requirements: sign-in

    ## Goal

    Codes are safer.

    ## Acceptance Criteria

    - AC-1.1: Code is asked: WHEN the password fits THEN a code is asked for

    ## Functional Requirements

    | ID | Requirement | Priority | Acceptance Criteria |
    |----|-------------|----------|---------------------|
    | FR-1 | Two factors: The system SHALL ask for a code. | Must | AC-1.1 |
    | FR-2 | Removed: Hints |  |  |

    ## Out of Scope

    - SMS

    ## What Changes

    - adds codes

    ## Impact

    auth
    ");
    insta::assert_snapshot!(text(&imported, Doc::Tasks), @"
    ---
    spec: sign-in
    phase: tasks
    ---
    # Tasks: sign-in

    ## Phase 1: Database

    - [x] 1.1 Add an `otp_secret` column to users
    - [ ] 1.2 Write the migration

    ## Phase 2: Backend

    - [ ] 2.1 Add the OTP endpoint
    - [ ] 2.2 Change the login flow
    - [ ] 2.3a Rate limit the endpoint
    - [ ] 2.3b Log refused codes

    ## Phase 2A: Hardening

    - [ ] 2A.1 Rotate the secrets
    - [ ] 4. Update the documentation

    ## Phase 3: Frontend

    - [ ] 3.1 Create the OTP input
    ");
}

#[test]
fn the_documents_of_smart_ralph_are_taken_over_byte_for_byte() {
    let requirements = "## Functional Requirements\n- FR-1: x\n\r\n";
    let (tool, imported) = converted(&[
        source("requirements.md", requirements),
        source("tasks.md", "- [ ] 1.1 a\r\n"),
    ]);
    assert_eq!(tool, Tool::SmartRalph);
    assert_eq!(text(&imported, Doc::Requirements), requirements);
    assert_eq!(text(&imported, Doc::Tasks), "- [ ] 1.1 a\r\n");
}

#[test]
fn a_plan_alone_is_known_by_its_tasks() {
    let of = |plan: &str| tool(&[source("tasks.md", plan)]);
    assert_eq!(of("- [ ] T001 a\n"), Some(Tool::SpecKit));
    assert_eq!(of("- [ ] 1. a\n  - [ ] 1.1 b\n"), Some(Tool::Kiro));
    assert_eq!(of("- [ ] 1.1 a\n  - **Verify**: `true`\n"), Some(Tool::SmartRalph));
    assert_eq!(of("no task\n"), None);
    assert_eq!(tool(&[source("notes.md", "x")]), None);
}

#[test]
fn what_a_task_says_stays_its_own() {
    let plan = "- [ ] T001 a\n  ```sh\n  - [ ] no task\n  ```\n- [x] T002 b <!-- c\n\
                - [ ] T003 d (depends on T001)\n";
    let (_, imported) = converted(&[source("tasks.md", plan)]);
    let text = text(&imported, Doc::Tasks);
    let scanned = TaskFile::scan(text.as_bytes());
    let ticks: Vec<bool> = scanned.tasks.iter().map(|task| task.done).collect();
    assert_eq!(ticks, [false, true, false], "{text}");
    assert_eq!(scanned.tasks[2].title, "d (depends on 1.1)");
}

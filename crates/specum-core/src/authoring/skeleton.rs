//! Documents with nothing but their headings, for people who write themselves.

use super::Profile;
use crate::spec::Doc;

/// The document as it begins.
pub fn of(doc: Doc, profile: Profile, name: &str) -> String {
    let form = match doc {
        Doc::Research => {
            "# Research: {name}\n\n## Executive Summary\n\n## Codebase Analysis\n\n## External \
             Research\n\n## Constraints\n\n## Verification\n\n## Related Specs\n\n## Feasibility \
             Assessment\n\n## Recommendations for Requirements\n\n## Open Questions\n"
        }
        Doc::Requirements => {
            "# Requirements: {name}\n\n## Goal\n\n## User Stories\n\n## Functional \
             Requirements\n\n| ID | Requirement | Priority | Acceptance Criteria |\n\
             |----|-------------|----------|---------------------|\n\n## Non-Functional \
             Requirements\n\n| ID | Requirement | Metric | Target |\n\
             |----|-------------|--------|--------|\n\n## Out of Scope\n\n## Open Questions\n\n\
             ## Assumptions\n"
        }
        Doc::Design => {
            "# Design: {name}\n\n## Overview\n\n## Architecture\n\n## Components\n\n## Data \
             Flow\n\n## Technical Decisions\n\n| Decision | Options | Choice | Rationale |\n\
             |----------|---------|--------|-----------|\n\n## File Structure\n\n\
             | File | Action | Purpose |\n|------|--------|---------|\n\n## Error Handling\n\n\
             ## Test Strategy\n\n## Existing Patterns to Follow\n\n## Open Questions\n"
        }
        Doc::Tasks if profile == Profile::Small => {
            "# Tasks: {name}\n\n## Goal\n\n## Requirements\n\n## Out of Scope\n\n## \
             Assumptions\n\n## Phase 1: Change\n"
        }
        Doc::Tasks => "# Tasks: {name}\n\n## Phase 1: Make It Work\n",
    };
    form.replace("{name}", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Texts;
    use crate::spec::gate::{self, Facts, Policy, Rule, Spec};

    #[test]
    fn a_skeleton_has_every_section_and_says_nothing() {
        let policy = Policy { is_authored: true, ..Policy::default() };
        for (doc, profile) in Doc::ALL
            .map(|doc| (doc, Profile::Full))
            .into_iter()
            .chain([(Doc::Tasks, Profile::Small)])
        {
            let text = of(doc, profile, "demo");
            let spec = Spec::of(Texts::default().with(doc, text.as_bytes()));
            let found = gate::judge(doc, &spec, &Facts::none(), &policy);
            let is_missing = |f: &&gate::Finding| f.rule == Rule::MissingSection;
            assert_eq!(found.iter().find(is_missing), None, "{doc}");
            assert!(!text.contains('{'));
        }
    }
}

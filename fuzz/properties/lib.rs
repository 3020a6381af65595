//! What the kernel promises about any bytes, one module for each format.
//!
//! Each `hold` panics if a promise is broken. The fuzz targets call them with
//! whatever libFuzzer makes up; `specum-core`'s test `corpus` calls them with
//! every file in `fuzz/corpus`, so that a case once found stays found.

pub mod hook_input;
pub mod import;
pub mod journal;
pub mod read_only;
pub mod request;
pub mod settings;
pub mod spec_documents;
pub mod state;
pub mod stream;
pub mod task_file;

/// A plan for the targets that need one beside their bytes.
const PLAN: &[u8] = b"# Plan\n\n## Phase 1: One\n\n\
- [x] 1.1 Begin\n  - **Do**: begin\n  - **Verify**: `true`\n\
- [ ] 1.2 [P] Left\n  - **Files**: left.txt\n  - **Verify**: `grep -c x left.txt` returns 1\n\
- [ ] 1.3 [P] Right\n  - **Files**: right.txt\n  - **Verify**: `true`\n\
- [ ] 1.4 [FIX 1.3] Fix\n\
\n## Phase 2: Two\n\n\
- [ ] V1 [VERIFY] Look\n  - **Verify**:\n    ```sh\n    make check\n    ```\n\
- [ ] 2.1 End\n";

/// Whether a text is fit for a terminal: no control characters but line ends
/// and tabs.
fn is_clean(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')
}

/// Some places to cut bytes at: each of few, a spread of many.
fn cuts(length: usize) -> impl Iterator<Item = usize> {
    let step = (length / 16).max(1);
    (0..=length).step_by(step)
}

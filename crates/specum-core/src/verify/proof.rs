//! The files that a check rests on: those it runs, and tests. An agent that changes
//! one changes what is proved.

use super::CheckRun;
use crate::tasks::Command;

/// Which of the changed files a check has run, or look like tests. `place`
/// turns a path of a command into one of those. Whether they were there before
/// is not known here.
pub fn proofs(
    check: &CheckRun,
    changed: &[String],
    place: impl Fn(Vec<String>) -> Vec<String>,
) -> Vec<String> {
    let CheckRun::Ran(runs) = check else { return Vec::new() };
    let run = place(runs.iter().map(|run| &run.command).flat_map(Command::files).collect());
    let is_proof = |path: &&String| run.contains(path) || is_test(path);
    changed.iter().filter(is_proof).cloned().collect()
}

/// Whether a path is one that test runners look for.
fn is_test(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').collect();
    let file = folders.pop().unwrap_or_default();
    let in_tests = |folder: &&str| matches!(*folder, "test" | "tests" | "__tests__" | "e2e");
    let Some((stem, extension)) = file.rsplit_once('.') else {
        return folders.iter().any(in_tests);
    };
    let is_code = !matches!(extension, "md" | "txt" | "lock");
    let lower = stem.to_ascii_lowercase();
    let named = ["test_", "test."].iter().any(|start| lower.starts_with(start))
        || ["_test", "_tests", ".test", ".spec", "_spec"].iter().any(|end| lower.ends_with(end))
        || matches!(lower.as_str(), "test" | "tests" | "conftest")
        || (matches!(extension, "java" | "kt" | "cs" | "swift" | "php")
            && (stem.ends_with("Test") || stem.ends_with("Tests")));
    is_code && (named || folders.iter().any(in_tests))
}

#[cfg(test)]
mod tests {
    use super::super::{CommandRun, ProcessEnd};
    use super::*;

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "tests/store.py",
            "src/__tests__/a.js",
            "test_store.py",
            "pkg/store_test.go",
            "src/a.test.ts",
            "a.spec.js",
            "spec/a_spec.rb",
            "src/parser/tests.rs",
            "FooTest.java",
            "conftest.py",
            "test.sh",
            "tests/run",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in
            ["src/main.rs", "latest.py", "contest.go", "tests/README.md", "specs/a/x.rs", ""]
        {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn files_that_a_command_runs_are_named_and_those_it_looks_at_are_not() {
        let changed: Vec<String> =
            ["check.sh", "out/a.txt", "src/a.rs", "sub/Makefile", "tests/b.rs"]
                .map(String::from)
                .to_vec();
        let of = |command: &str| {
            let command = Command::plain(command);
            let check = CheckRun::of(vec![command], |command| CommandRun {
                time: crate::verify::CheckTime::new(None),
                command,
                ended: ProcessEnd::Code(0),
                output: String::new(),
                stdout: String::new(),
                cut: false,
                millis: 0,
            });
            proofs(&check, &changed, |paths| paths)
        };
        assert_eq!(of("sh ./check.sh src/a.rs"), ["check.sh", "src/a.rs", "tests/b.rs"]);
        assert_eq!(of("test -f out/a.txt && grep -q x src/a.rs"), ["tests/b.rs"]);
        assert_eq!(of("cd sub && make"), ["sub/Makefile", "tests/b.rs"]);
        assert!(
            proofs(&CheckRun::Unverified, &changed, |paths| paths).is_empty(),
            "nothing is run"
        );
    }
}

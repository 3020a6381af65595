use proptest::prelude::*;

use super::*;

/// What is told of an output, as one text.
fn told(output: &str) -> String {
    telling(output, &[]).join("\n")
}

#[test]
fn a_python_test_is_told_by_its_assertion() {
    insta::assert_snapshot!(told(include_str!("samples/pytest.txt")), @"
    E        +  where 41 = answer()
    test_m.py:4: AssertionError
    FAILED test_m.py::test_answer - assert 41 == 42
    ");
    insta::assert_snapshot!(told(include_str!("samples/unittest.txt")), @"
    FAIL: test_answer (test_a.T.test_answer)
    self.assertEqual(41, 42)
    AssertionError: 41 != 42
    ");
}

#[test]
fn a_rust_test_is_told_by_both_sides_and_a_compile_error_by_its_place() {
    insta::assert_snapshot!(told(include_str!("samples/cargo-test.txt")), @"
    thread 'tests::it_works' (22830) panicked at src/lib.rs:5:21:
    left: 41
    right: 42
    ");
    let with_stack = told(include_str!("samples/cargo-test-backtrace.txt"));
    assert!(with_stack.ends_with("panicked at src/lib.rs:5:21:\nleft: 41\nright: 42"));
    insta::assert_snapshot!(told(include_str!("samples/rustc.txt")), @"
    error[E0308]: mismatched types
    --> src/lib.rs:1:34
    ");
}

/// After the format of the package `testing`.
#[test]
fn a_go_test_is_told_by_what_it_says() {
    insta::assert_snapshot!(told(include_str!("samples/go.txt")), @"
    --- FAIL: TestAdd (0.00s)
    add_test.go:7: got 3, want 4
    ");
}

#[test]
fn tests_in_javascript_are_told_by_their_names_and_values() {
    insta::assert_snapshot!(told(include_str!("samples/jest.txt")), @"
    ● adds 1 + 2
    Expected: 4
    Received: 3
    ");
    insta::assert_snapshot!(told(include_str!("samples/vitest.txt")), @"
    FAIL  t/s.spec.mjs > adds
    AssertionError: expected 3 to be 4 // Object.is equality
    ");
    insta::assert_snapshot!(told(include_str!("samples/node-tap.txt")), @"
    not ok 1 - adds
    expected: 4
    actual: 3
    ");
    insta::assert_snapshot!(told(include_str!("samples/node-spec.txt")), @"
    ✖ adds (17.046648ms)
    actual: 3,
    expected: 4,
    ");
}

#[test]
fn compilers_and_linters_are_told_by_their_errors() {
    insta::assert_snapshot!(told(include_str!("samples/tsc.txt")), @"
    t/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.
    t/a.ts(2,41): error TS2551: Property 'lenght' does not exist on type 'string'. Did you mean 'length'?
    ");
    insta::assert_snapshot!(told(include_str!("samples/eslint.txt")), @"
    /p/js/t/l.js
    1:5  error  'x' is assigned a value but never used  no-unused-vars
    ");
    insta::assert_snapshot!(told(include_str!("samples/make.txt")), @"
    x.c: In function ‘main’:
    x.c:3:3: error: expected ‘,’ or ‘;’ before ‘return’
    ");
}

#[test]
fn a_command_that_is_not_there_is_told() {
    insta::assert_snapshot!(told(include_str!("samples/not-found.txt")), @"bash: line 1: pytset: command not found");
    assert_eq!(told("sh: 1: Syntax error: \"then\" unexpected\n").lines().count(), 1);
    assert_eq!(
        told("make: *** No rule to make target 'tset'.  Stop.\n"),
        "make: *** No rule to make target 'tset'.  Stop."
    );
    let npm = "npm error Missing script: \"tset\"\nnpm error\nnpm error path /p\n";
    assert_eq!(told(npm), "npm error Missing script: \"tset\"");
}

#[test]
fn without_a_cause_the_last_lines_are_told_that_are_no_noise() {
    assert_eq!(told("one\ntwo\n\n===\nthree\nfour\n"), "two\nthree\nfour");
    assert_eq!(told("Ran 0 tests in 0.000s\n"), "Ran 0 tests in 0.000s");
    assert_eq!(told("10%\r20%\r\u{1b}[31m[#### ]\u{1b}[0m\n----\n"), "10%\n20%");
    assert_eq!(told("\n\n"), "");
}

#[test]
fn what_a_reason_quotes_is_not_told_again() {
    let reasons = ["`cat price.txt` should print 42 and printed \"41\"".to_owned()];
    assert_eq!(telling("41\n", &reasons), Vec::<String>::new());
    assert_eq!(telling("41 and more\n", &reasons), ["41 and more"]);
}

proptest! {
    #[test]
    fn any_output_is_told_in_three_short_lines(output in any::<String>()) {
        let lines = telling(&output, &[]);
        prop_assert!(lines.len() <= MOST);
        for line in lines {
            prop_assert!(!line.is_empty() && line.len() <= LONGEST);
            prop_assert!(line.chars().all(|c| !c.is_control() || c == '\t'));
        }
    }
}

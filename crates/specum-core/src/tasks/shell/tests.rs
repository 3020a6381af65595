use super::*;

fn never(command: &str) -> Option<String> {
    never_fails(command.as_bytes(), false)
}

#[test]
fn a_command_that_cannot_fail_names_the_part_that_hides_it() {
    for (command, part) in [
        ("make | tee log", "tee log"),
        ("make 2>&1 | tail -n 3", "tail -n 3"),
        ("cat a | sort | uniq", "uniq"),
        ("make || true", "true"),
        ("make; echo done", "echo done"),
        ("true", "true"),
        ("echo 'a; b' > out", "echo a; b"),
        ("make || echo \"it $(date) failed\"", "echo it $(date) failed"),
        ("FOO=1 printf '%s' x", "printf %s x"),
        ("(cd web && make) 2>&1 | tail -5", "tail -5"),
        ("{ make; } | tee log", "tee log"),
        ("if make; then make test; fi | tee log", "tee log"),
        ("for x in a; do make; done; echo done", "echo done"),
        ("echo `make`", "echo `make`"),
    ] {
        assert_eq!(never(command).as_deref(), Some(part), "{command}");
    }
    for command in [
        "make",
        "cat a",
        "wc -l a",
        "make && echo ok",
        "make | grep -q ok",
        "! make | tee log",
        "set -o pipefail; make | tee log",
        "make || exit 1",
        "x=$(make)",
        "for x in a; do make || exit 1; done; echo done",
        "for x in a; do make; done",
        "if make; then echo yes; else exit 1; fi; echo done",
        "cat <<EOF | tee log\nx\nEOF",
        "(make)",
        "! (make) | tee log",
        "(make) | tee log | grep -q ok",
        "f() { make; }; f | tee log",
        "case x in x) make;; esac; echo done",
        "make | awk '/x/ {exit 1}'",
        "make | sed '/x/q1'",
        "",
        "|",
        "echo 'unclosed",
    ] {
        assert_eq!(never(command), None, "{command}");
    }
}

#[test]
fn a_block_can_fail_at_any_line_that_stops_it() {
    let never = |block: &str| never_fails(block.as_bytes(), true).is_some();
    assert!(!never("make\necho done"));
    assert!(never("make | tee log\necho done"));
    assert!(never("! make\necho done"));
    assert!(never("make && echo ok\necho done"));
    assert!(!never("make && test -f x\necho done"));
    let unheard = |block: &str| lines_that_do_not_stop(block.as_bytes());
    assert_eq!(unheard("make && echo ok\n! grep x y\nmake"), ["make && echo ok", "! grep x y"]);
    assert!(unheard("make && test -f x\nmake || exit 1\nx || true\n! grep x y").is_empty());
    let go_on = |block: &str| pipes_that_go_on(block.as_bytes());
    assert_eq!(go_on("make | tee log\n(make) | cat && ls\nls"), ["make | tee log", "(…) | cat"]);
    assert!(go_on("make | grep x\necho x | tee log\n! make | cat\nls").is_empty());
}

#[test]
fn a_number_is_printed_by_what_stands_in_front_of_true() {
    let prints = |command: &str| prints_a_number(command.as_bytes());
    assert!(prints("grep -c x f") && prints("grep -c x f || true") && prints("ls | wc -l || :"));
    assert!(!prints("npm test || true") && !prints("true"));
}

#[test]
fn what_a_command_begins_with() {
    let program = |command: &str| first(command.as_bytes());
    let named = |name: &str| First::Program(name.into());
    assert_eq!(program("make all"), named("make"));
    assert_eq!(program("! FOO='a b' 2>/dev/null make"), named("make"));
    assert_eq!(program("'my tool' x"), named("my tool"));
    assert_eq!(program("# words\n\nmake"), named("make"));
    assert_eq!(program("cat <<EOF\nEOF"), named("cat"));
    assert_eq!(program("test -f x"), First::Builtin);
    assert_eq!(program("if true; then make; fi"), First::Builtin);
    assert_eq!(program("A=1"), First::Assignment);
    assert_eq!(program("$X y"), First::Unknown);
    assert_eq!(program("(make)"), First::Unknown);
    assert_eq!(program(""), First::Unknown);
}

#[test]
fn the_programs_that_a_command_needs() {
    let needs = |command: &str| programs(command.as_bytes());
    assert_eq!(needs("a x && b | c; test y"), ["a", "b", "c"]);
    assert!(needs("a || b").is_empty());
    assert_eq!(needs("a && . venv/bin/activate && pytest"), ["a"]);
    assert_eq!(needs("cd x && ./y && z"), ["z"]);
    assert!(needs("PATH=x:$PATH; tool").is_empty());
    assert!(needs("f() { x; }; f").is_empty());
}

#[test]
fn the_files_that_a_command_runs() {
    let files = |command: &str| files_it_runs(command.as_bytes());
    assert_eq!(files("./a.sh && cat b"), ["a.sh"]);
    assert_eq!(files("pytest tests/test_a.py::test_b"), ["pytest", "tests/test_a.py"]);
    assert_eq!(files("cd sub/ && sh t.sh"), ["sub/sh", "sub/t.sh"]);
    assert!(files("npm test").contains(&"package.json".to_owned()));
    assert!(files("make check").contains(&"Makefile".to_owned()));
    assert!(files("test -f out/a.txt").is_empty());
    assert!(files("for t in a; do sh tests/$t.sh; done; sh b.sh").contains(&"b.sh".to_owned()));
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(
            command in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                "[a-z |&;<>()'\"$`!#=\\\\\n]{0,40}".prop_map(String::into_bytes),
            ],
        ) {
            first(&command);
            programs(&command);
            files_it_runs(&command);
            prints_a_number(&command);
            bash_word(&command);
            lines_that_do_not_stop(&command);
            pipes_that_go_on(&command);
            let stops = never_fails(&command, true);
            prop_assert!(stops.is_none() || never_fails(&command, false).is_some());
        }
    }
}

//! How a Verify is read.

use super::super::{Check, Lookup, Program, Shell, TaskFile, shown};

const PROGRAMS: &[&str] =
    &["make", "npm", "grep", "wc", "ls", "id", "pytest", "git", "cat", "a", "b", "c"];

/// A machine with a few programs.
const LOOKUP: Lookup<'static> = &|name: &str| {
    if PROGRAMS.contains(&name) || name == "/bin/sh" { Program::Found } else { Program::Missing }
};

fn check(verify: &str) -> Option<Check> {
    let text = format!("- [ ] 1.1 a\n  - **Verify**: {verify}\n  - **Commit**: `fix: it`\n");
    let file = TaskFile::scan(text.as_bytes());
    file.fields(&file.tasks[0]).verify
}

/// What is run, in one line.
#[track_caller]
fn run(verify: &str) -> String {
    shown(&check(verify).expect("there is a Verify").commands(LOOKUP))
}

#[test]
fn every_code_span_is_run_in_its_order() {
    for verify in [
        "`a` && `b`",
        "`a`; `b`",
        "`a` and `b`",
        "`a`, then `b`.",
        "`a` passes and `b` passes",
        "run `a` and then run `b`",
        "\n    - `a`\n    - `b`",
        "\n    1. `a`\n    2. [ ] first: `b`",
        "all of these:\n    - `a`\n\n    - `b`",
        "`a`\n  - **Verify**: `b`",
        "`a`\n  - Verify: `b`",
        "`a`\n  - *Verify*: `b`",
        "`a`\n  **Verification:** `b`",
        "`a`\n  - Files: x\n  - *verification:* `b`",
    ] {
        assert_eq!(run(verify), "`a`, then `b`", "{verify}");
    }
    assert_eq!(run("``echo `date` ``"), "`echo `date``");
    assert_eq!(run("`a` `b` and\n    `c\n    d`"), "`a`, then `b`, then `c d`");
}

#[test]
fn spans_that_are_joined_by_or_make_up_for_each_other() {
    assert_eq!(run("`a` or `b`, then `c`"), "`a` or `b`, then `c`");
    assert_eq!(run("`a` || `b`"), "`a` or `b`");
    assert_eq!(run("`a` (or `b` with yarn)"), "`a` or `b`");
    assert_eq!(run("see `README.md` or `b c`"), "`b c`", "there is nothing to make up for");
}

#[test]
fn a_block_is_run_by_the_shell_it_names() {
    let shells = |verify: &str| -> Vec<Shell> {
        check(verify).unwrap().commands(LOOKUP).iter().map(|command| command.shell).collect()
    };
    assert_eq!(run("\n    ```sh\n    set -e\n      make\n    ```"), "`set -e\n  make`");
    assert_eq!(shells("\n    ```\n    make\n    ```"), [Shell::ShBlock]);
    assert_eq!(shells("\n    ```bash\n    make\n    ```"), [Shell::BashBlock]);
    assert_eq!(shells("`a`\n    ~~~sh\n    b\n    ~~~"), [Shell::Sh, Shell::ShBlock]);
    assert_eq!(run("`a`\n    ```\n    what it prints\n    ```"), "`a`");
    assert_eq!(run("in `src`:\n    ```\n    make\n    ```"), "`make`");
    assert_eq!(run("\n    ```json\n    {}\n    ```"), "");
    assert_eq!(run("\n    ```sh\n    ```\n    ```sh\n    make\n    ```"), "`make`");
    assert_eq!(run("\n```sh\nmake\n```"), "`make`", "at column 0");
    assert_eq!(run("\n    ````sh\n    cat <<E\n    ```\n    E\n    ````"), "`cat <<E\n```\nE`");
}

#[test]
fn an_expectation_belongs_to_the_span_before_it() {
    for (verify, meant) in [
        ("`grep -c x y` returns 0", "`grep -c x y`, which must print 0"),
        ("`grep -c x y` shows `12`.", "`grep -c x y`, which must print 12"),
        ("`ls | wc -l` returns >=5", "`ls | wc -l`, which must print 5 or more"),
        ("`wc -l y` >= 5", "`wc -l y`, which must print 5 or more"),
        ("`grep x y` returns nothing", "`grep x y`, which must print nothing"),
        ("`make` passes and `echo 0` returns 0", "`make`, then `echo 0`, which must print 0"),
        ("`npm x` equals 4", "`npm x`, which must print 4"),
        ("`a` prints 1 and `b` prints 2", "`a`, which must print 1, then `b`, which must print 2"),
        ("`npm test` returns 0", "`npm test`"),
        ("`npm test` prints 0", "`npm test`, which must print 0"),
        ("`ls x` shows 2 directories", "`ls x`"),
        ("`a` shows `make`", "`a`"),
        ("`a` exits with `0`", "`a`"),
        ("`make` returns 0 errors", "`make`"),
    ] {
        assert_eq!(run(verify), meant, "{verify}");
    }
}

#[test]
fn code_in_a_sentence_is_run_only_if_it_is_a_program() {
    for verify in [
        "check that `README.md` mentions it",
        "the `id` column is there",
        "the `id` and `git` columns are there",
        "the answer is `true`",
        "it prints `make`",
        "Manual test: `/ralph-specum:start x`",
        "see that `docs/guide.md` and `src/main` are good",
        "`FOO=1` is set in `.env`",
        "`$HOME` is there",
        "`--help` works well",
        "open `http://localhost:3000/a b`",
        "see `{\"ok\": true}` in it",
    ] {
        let read = check(verify).unwrap();
        assert!(read.commands(LOOKUP).is_empty(), "{verify}");
        assert!(
            !read.not_run(LOOKUP).is_empty()
                || verify.contains(" is `")
                || verify.contains("prints"),
            "{verify}"
        );
    }
    for (verify, meant) in [
        ("run `make` and look", "`make`"),
        ("Unit tests: `pytest`", "`pytest`"),
        ("see that `npm test` is quick", "`npm test`"),
        ("run `./tool` and look", "`./tool`"),
        (
            "see what `scripts/check.sh` and `bin/tool --all` say",
            "`scripts/check.sh`, then `bin/tool --all`",
        ),
        ("see that `/bin/sh -c x` works", "`/bin/sh -c x`"),
        ("see that `test -f x` holds for `x`", "`test -f x`"),
        ("look at `README.md`, then run `make`", "`make`"),
    ] {
        assert_eq!(run(verify), meant, "{verify}");
    }
}

#[test]
fn a_verify_of_nothing_but_spans_is_run_whatever_it_names() {
    for verify in ["`README.md`", "`no-such x` passes.", "- `no-such`", "`no-such` returns 3"] {
        assert!(run(verify).starts_with('`'), "{verify}");
    }
}

#[test]
fn words_alone_are_prose() {
    for verify in ["open the page and look", "`unclosed", "``"] {
        assert_eq!(run(verify), "", "{verify}");
        assert_eq!(check(verify).unwrap().text(), verify);
    }
    assert_eq!(check(""), None);
    assert_eq!(Check::of_lines(b""), None);
}

#[test]
fn prose_behind_a_task_is_no_part_of_its_check() {
    let text = "- [ ] 1.1 a\n  - **Verify**: `a`\n\nThe next part uses `b`.\n\n```sh\nc\n```\n- [ ] 1.2 b\n";
    let file = TaskFile::scan(text.as_bytes());
    assert_eq!(file.verify_lines(&file.tasks[0]), b"  - **Verify**: `a`\n");
    let text = "- [ ] 1.1 a\n  - **Do**: x\n    - Verify: `b`\n  - **Verify**: `a`\n- [ ] `b`\n";
    let file = TaskFile::scan(text.as_bytes());
    assert_eq!(file.verify_lines(&file.tasks[0]), b"  - **Verify**: `a`\n", "nor is a step");
}

#[test]
fn bytes_that_are_no_text_are_run_as_they_are() {
    let text = b"- [ ] 1.1 a\n  - **Verify**: `! grep -q 'caf\xe9' f` and look\n";
    let file = TaskFile::scan(text);
    let check = file.fields(&file.tasks[0]).verify.unwrap();
    assert_eq!(check.commands(LOOKUP)[0].text, b"! grep -q 'caf\xe9' f");
}

#[test]
fn a_check_on_record_is_the_one_of_the_block_wherever_its_lines_stand() {
    // The block of a fence stands less far to the right than the task, and nobody
    // closes the fence.
    let block = "    - [ ] 1.1 a\n  - **Verify**:\n ```sh\n  if true; then\n    echo a\n  fi\n";
    let file = TaskFile::scan(block.as_bytes());
    let task = &file.tasks[0];
    let check = file.fields(task).verify.unwrap();
    let [command] = &check.commands(&|_| Program::Found)[..] else { panic!("{check:?}") };
    assert_eq!(command.text, b" if true; then\n   echo a\n fi");
    assert_eq!(Check::of_lines(&file.verify_lines(task)), Some(check));
}

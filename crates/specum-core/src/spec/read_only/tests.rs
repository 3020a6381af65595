use proptest::prelude::*;

use super::*;

fn is_proved(text: &str) -> bool {
    prove_text(text.as_bytes()).is_ok()
}

#[test]
fn what_plans_ask_for_is_proved() {
    for text in [
        "grep -q Hello greeting.txt",
        "test -f out/a.txt && grep -c x out/a.txt",
        "test \"$(jq -r .version package.json)\" = 2.1.0",
        "[ \"$(grep -c 'a b' src/x.rs)\" -ge 3 ]",
        "! grep -rn 'old_name' src/ 2>/dev/null",
        "jq -e '.a | has(\"x\")' plugin.json >/dev/null 2>&1",
        "find src -name '*.rs' -not -path '*/target/*' | wc -l",
        "git diff --quiet HEAD -- docs/",
        "git ls-files --error-unmatch README.md",
        "grep -q '^/api/links' routes.txt",
        "ls src/*.rs | sort -u | head -3",
        "sed -n '1,5p' README.md | grep -q x",
        "(cd web && test -s package.json)",
        "cut -d/ -f1 list.txt | uniq -c",
        "grep -q a b # a remark\ngrep -q c d",
        "LC_ALL=C sort -c names.txt",
        "command -v node",
        "sh -n scripts/run.sh",
        "diff -u a.txt b.txt",
    ] {
        assert!(is_proved(text), "{text}: {:?}", prove_text(text.as_bytes()));
    }
}

/// Each writes, starts something, waits, or looks outside of the project.
const TRAPS: &[&str] = &[
    "rm -rf x",
    "grep x y > z",
    "grep x y >> z",
    "grep x y >/dev/null/x",
    "grep x y 2>errors",
    "grep x $(rm y)",
    "grep x `rm y`",
    "grep \"`rm y`\" z",
    "grep \"$(rm y)\" z",
    "echo \"$(echo \"$(rm y)\")\"",
    "grep x y; rm z",
    "grep x y && rm z",
    "grep x y || rm z",
    "grep x y | tee z",
    "grep x y & rm z",
    "grep x y\nrm z",
    "(rm x)",
    "{ rm x; }",
    "if true; then rm x; fi",
    "rm() { true; }; rm x",
    "! rm x",
    "PATH=. grep x y",
    "LD_PRELOAD=./x.so grep x y",
    "LC_ALL=$(rm x) grep x y",
    "A=1",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -ok rm {} ;",
    "find . -fprint out",
    "find . \"-delete\"",
    "find . -d'elete'",
    "find . \\-delete",
    "find *",
    "find . -files0-from x",
    "sort -o out in",
    "sort -uoout in",
    "sort --output=out in",
    "sort --compress-program=./x in",
    "sort -T/tmp in",
    "uniq in out",
    "rg --pre ./x y",
    "rg --pre=./x y",
    "rg -z y",
    "git grep -O./x y",
    "git grep --open-files-in-pager=./x y",
    "git diff --output=out",
    "git diff --ext-diff",
    "git log --outp=out",
    "git -c core.pager=./x log",
    "git -C .. log",
    "git commit -m x",
    "git checkout .",
    "git show --textconv HEAD",
    "git cat-file --filters HEAD:x",
    "git --no-pager commit",
    "sed -i s/a/b/ x",
    "sed -n 's/a/b/w out' x",
    "sed -n 's/a/id/ep' x",
    "sed -n '1w out' x",
    "sed -n '1e rm x' x",
    "sed -n -i 1p x",
    "sed -n 1p -i x",
    "awk 'BEGIN { system(\"rm x\") }'",
    "xargs rm",
    "env rm x",
    "sh x.sh",
    "sh -c 'rm x'",
    "sh -n -c 'rm x'",
    "bash -n +n x.sh",
    "./check.sh",
    "/bin/rm x",
    "cargo test",
    "make",
    "eval 'rm x'",
    ". ./x",
    "source x",
    "exec rm x",
    "trap 'rm x' EXIT",
    "test -v 'a[$(rm x)]'",
    "test \"$(cat a)\" \"$(cat b)\"",
    "[ \"$(cat a)\" x ]",
    "[[ -v a ]]",
    "printf -v x y",
    "command rm x",
    "command -p rm x",
    "tail -f log",
    "tail --follow log",
    "cat /etc/passwd",
    "cat ../secret",
    "cat a/../../secret",
    "cat ~/.ssh/id_rsa",
    "cat $HOME/x",
    "cat \"$HOME/x\"",
    "cat < ../x",
    "cat < x",
    "cat <<X\nX",
    "grep -q x /etc/passwd",
    "grep -f/etc/passwd x",
    "grep -f ../x y",
    "test -f \"$(cat x)\"",
    "[ \"$(cat x)\" = y -a -f z ]",
    "jq 'include \"/etc/x\"; .' y",
    "diff -l a b",
    "grep -q -e x /etc/passwd",
    "grep --file=/etc/passwd x",
    "test -f /etc/passwd",
    "cd ..",
    "cd /; ls",
    "cd",
    "cd -",
    "ls {a,b}",
    "cat x$(y)",
    "cat ${x}",
    "diff <(cat a) b",
    "grep x y |& tee z",
    "coproc rm x",
    "time rm x",
    "alias grep=rm; grep x",
    "stat *",
    "jq -n --rawfile a /etc/passwd .",
    "jq -f prog.jq x",
    "exit 0; rm x",
    "\\rm x",
    "'rm' x",
    "r\"m\" x",
    "g*p x",
    "case x in x) rm y;; esac",
    "",
    "# nothing",
    "grep x y &&",
    "grep 'x",
    "grep \"x",
    "grep x )",
    "( grep x y",
    "grep x\u{0}y",
];

#[test]
fn no_trap_is_proved() {
    for text in TRAPS {
        assert!(!is_proved(text), "{text}");
    }
}

#[test]
fn what_is_not_proved_says_why() {
    let why = |text: &str| prove_text(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(why("cargo test"), "`cargo` is not known to read only");
    assert_eq!(why("sort -o a b"), "`sort` is not known to read only with `-o`");
    assert_eq!(why("cat ../x"), "`../x` leads out of the project");
    assert_eq!(why("a $(b)"), "`a $(b)` is more than a list of simple commands");
}

#[test]
fn a_block_for_bash_is_not_proved() {
    let mut command = Command::plain("grep x y");
    assert_eq!(prove(&command), Ok(()));
    command.shell = Shell::BashBlock;
    assert!(prove(&command).is_err());
}

proptest! {
    /// Whatever stands around it, a command that writes is never proved.
    #[test]
    fn a_trap_stays_one_in_any_company(
        trap in proptest::sample::select(TRAPS),
        good in proptest::sample::select(&["true", "grep -q a b", "test -f x"][..]),
        join in proptest::sample::select(&[" && ", " || ", "; ", " | ", "\n"][..]),
    ) {
        // A remark ends with its line.
        prop_assume!(!trap.starts_with('#') && !trap.is_empty());
        let last = format!("{good}{join}{trap}");
        let grouped = format!("({last}\n)");
        prop_assert!(!is_proved(&last), "{}", last);
        prop_assert!(!is_proved(&grouped), "{}", grouped);
    }

    /// What writes to a file is never proved, whatever stands in front of it.
    #[test]
    fn any_text_with_a_redirection_behind_it_is_not_proved(text in "[ -~\n]{0,60}") {
        // A remark ends with its line.
        let writes = format!("{text}\ntrue > written");
        prop_assert!(!is_proved(&writes), "{}", writes);
    }
}

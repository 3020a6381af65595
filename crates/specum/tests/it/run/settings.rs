//! git as people have set it up. Whatever is set, a plan comes to one commit a task,
//! a clean tree and a whole repository.
//!
//! Each setting has the values that people give it. A run has one value of each, so
//! that few runs see all of them.

use std::fs;

use super::{agent, committed, nothing_is_left, planned, references, run_with, starts, works};
use crate::world::{PROGRESS, TASKS, World};

/// A sequence and a group, with and without a message of its own.
const PLAN: &str = "\
- [ ] 1.1 First
  - **Verify**: `grep -q 'work of 1.1' out/1.1.txt`
  - **Commit**: `feat: first`
- [ ] 1.2 [P] Left
  - **Verify**: `grep -q 'work of 1.2' out/1.2.txt`
- [ ] 1.3 [P] Right
  - **Commit**: `fix(right): third`
- [ ] 1.4 Last
  - **Verify**: `test -f out/1.4.txt`
";

const WORKS: &str = "echo x >> $HOME/starts; mkdir -p out; echo \"work of $id\" > out/$id.txt\n\
                     echo TASK_COMPLETE\n";

/// What people set, and to what.
const SETTINGS: [(&str, &[&str]); 120] = [
    ("advice.detachedHead", &["false", "true"]),
    ("advice.statusHints", &["false"]),
    ("alias.commit", &["!false"]),
    ("alias.status", &["!false"]),
    ("apply.ignoreWhitespace", &["change"]),
    ("apply.whitespace", &["fix", "error-all", "nowarn"]),
    ("blame.coloring", &["repeatedLines"]),
    ("branch.autoSetupMerge", &["always", "false", "simple"]),
    ("branch.sort", &["-committerdate"]),
    ("checkout.defaultRemote", &["origin"]),
    ("checkout.guess", &["false"]),
    ("checkout.workers", &["4", "1"]),
    ("clean.requireForce", &["false"]),
    ("color.advice", &["always"]),
    ("color.branch", &["always"]),
    ("color.diff", &["always"]),
    ("color.status", &["always"]),
    ("color.ui", &["always", "never", "auto"]),
    ("column.ui", &["always", "never"]),
    ("commit.cleanup", &["strip", "whitespace", "verbatim", "scissors"]),
    ("commit.gpgSign", &["false"]),
    ("commit.status", &["false", "true"]),
    ("commit.verbose", &["true", "2", "false"]),
    ("core.abbrev", &["4", "40", "no", "auto"]),
    ("core.attributesFile", &["~/attributes"]),
    ("core.autocrlf", &["true", "input", "false"]),
    ("core.bigFileThreshold", &["1", "1g"]),
    ("core.checkStat", &["minimal", "default"]),
    ("core.commentChar", &[";", "#", "auto"]),
    ("core.commitGraph", &["false", "true"]),
    ("core.compression", &["0", "9"]),
    ("core.createObject", &["rename", "link"]),
    ("core.deltaBaseCacheLimit", &["1k"]),
    ("core.editor", &["false", "sleep 600"]),
    ("core.eol", &["crlf", "lf", "native"]),
    ("core.excludesFile", &["~/excludes"]),
    ("core.fileMode", &["false", "true"]),
    ("core.filesRefLockTimeout", &["0", "-1"]),
    ("core.fsmonitor", &["true", "false"]),
    ("core.fsync", &["all", "none"]),
    ("core.ignoreCase", &["true", "false"]),
    ("core.logAllRefUpdates", &["always", "false", "true"]),
    ("core.multiPackIndex", &["false"]),
    ("core.notesRef", &["refs/notes/mine"]),
    ("core.packedRefsTimeout", &["0"]),
    ("core.pager", &["false", "less"]),
    ("core.precomposeUnicode", &["true"]),
    ("core.preferSymlinkRefs", &["false"]),
    ("core.preloadIndex", &["false", "true"]),
    ("core.protectHFS", &["true"]),
    ("core.protectNTFS", &["true", "false"]),
    ("core.quotePath", &["false", "true"]),
    ("core.safecrlf", &["warn", "false"]),
    ("core.sharedRepository", &["group", "all", "umask"]),
    ("core.splitIndex", &["true", "false"]),
    ("core.symlinks", &["false", "true"]),
    ("core.trustctime", &["false"]),
    ("core.untrackedCache", &["true", "false", "keep"]),
    ("core.warnAmbiguousRefs", &["false"]),
    ("core.whitespace", &["trailing-space,cr-at-eol", "-trailing-space"]),
    ("credential.helper", &["!false"]),
    ("diff.algorithm", &["histogram", "patience", "minimal"]),
    ("diff.autoRefreshIndex", &["false"]),
    ("diff.colorMoved", &["zebra"]),
    ("diff.context", &["0", "99"]),
    ("diff.external", &["false"]),
    ("diff.ignoreSubmodules", &["all", "none"]),
    ("diff.interHunkContext", &["5"]),
    ("diff.mnemonicPrefix", &["true"]),
    ("diff.noprefix", &["true", "false"]),
    ("diff.orderFile", &["/dev/null"]),
    ("diff.relative", &["true", "false"]),
    ("diff.renames", &["copies", "false", "true"]),
    ("diff.submodule", &["log", "diff"]),
    ("diff.suppressBlankEmpty", &["true"]),
    ("diff.wordRegex", &["."]),
    ("feature.experimental", &["true"]),
    ("feature.manyFiles", &["true"]),
    ("fetch.prune", &["true"]),
    ("format.pretty", &["oneline", "fuller", "%H %s"]),
    ("fsck.missingEmail", &["error"]),
    ("gc.auto", &["1", "0"]),
    ("gc.autoDetach", &["false", "true"]),
    ("gc.pruneExpire", &["now"]),
    ("gc.reflogExpire", &["now"]),
    ("gc.worktreePruneExpire", &["now"]),
    ("gpg.format", &["ssh", "x509"]),
    ("grep.lineNumber", &["true"]),
    ("grep.patternType", &["perl", "fixed"]),
    ("help.autoCorrect", &["immediate", "never"]),
    // Not first, where the index is split: git itself loses its entries then.
    ("index.skipHash", &["false", "true"]),
    ("index.sparse", &["true"]),
    ("index.threads", &["1", "4"]),
    ("index.version", &["4", "3", "2"]),
    ("init.defaultBranch", &["trunk"]),
    ("interactive.singleKey", &["true"]),
    ("log.abbrevCommit", &["true"]),
    ("log.date", &["relative", "iso", "format:%Y", "unix"]),
    ("log.decorate", &["full", "short"]),
    ("log.follow", &["true"]),
    ("log.showRoot", &["false"]),
    ("log.showSignature", &["true"]),
    ("maintenance.auto", &["true", "false"]),
    ("merge.autoStash", &["true"]),
    ("merge.conflictStyle", &["diff3", "zdiff3", "merge"]),
    ("merge.directoryRenames", &["true", "conflict"]),
    ("merge.ff", &["only", "false"]),
    ("merge.renames", &["false", "true"]),
    ("merge.renormalize", &["true"]),
    ("pager.status", &["true", "false"]),
    ("pull.rebase", &["true"]),
    ("rerere.autoUpdate", &["true"]),
    ("rerere.enabled", &["true", "false"]),
    ("sequence.editor", &["false"]),
    ("status.branch", &["true"]),
    ("status.relativePaths", &["false", "true"]),
    ("status.renames", &["copies", "false"]),
    ("status.short", &["true"]),
    ("status.showStash", &["true"]),
    ("status.showUntrackedFiles", &["no", "normal", "all"]),
];

/// The same, for those that did not fit above.
const MORE_SETTINGS: [(&str, &[&str]); 17] = [
    ("i18n.commitEncoding", &["UTF-8"]),
    ("i18n.logOutputEncoding", &["ISO-8859-1", "UTF-8"]),
    ("notes.displayRef", &["refs/notes/*"]),
    ("pack.writeReverseIndex", &["false"]),
    ("protocol.file.allow", &["never"]),
    ("push.gpgSign", &["true"]),
    ("receive.denyCurrentBranch", &["refuse"]),
    ("safe.bareRepository", &["explicit"]),
    ("stash.showIncludeUntracked", &["true"]),
    ("submodule.recurse", &["true", "false"]),
    ("tag.forceSignAnnotated", &["true"]),
    ("tag.gpgSign", &["true"]),
    ("trailer.ifexists", &["addIfDifferent", "replace"]),
    ("trailer.where", &["start", "end"]),
    ("transfer.fsckObjects", &["true"]),
    ("user.useConfigOnly", &["true"]),
    ("worktree.guessRemote", &["true"]),
];

/// Asserts that the plan comes to one agent and one commit a task.
#[track_caller]
fn comes_to_one_commit_a_task(world: &World, told: &str) {
    let ended = works(world, WORKS, &[]);
    let said = format!("{told}\n{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, Some(0), "{said}");
    assert_eq!(committed(world), ["1.1", "1.2", "1.3", "1.4"], "{said}");
    assert_eq!(starts(world), 4, "{said}");
    for id in ["1.1", "1.2", "1.3", "1.4"] {
        let content = world.git(&["show", &format!("HEAD:out/{id}.txt")]);
        assert_eq!(content, format!("work of {id}\n"), "{said}");
    }
    let messages = world.git(&["log", "--format=%s"]);
    assert!(messages.contains("feat: first\n") && messages.contains("fix(right): third\n"));
    let kept: Vec<String> =
        references(world).into_iter().filter(|name| name.contains("/kept/")).collect();
    assert_eq!(kept, [""; 0], "{said}");
    world.git(&["fsck", "--strict", "--no-dangling"]);
    nothing_is_left(world);
}

#[test]
fn whatever_people_set_for_git_a_task_comes_to_one_agent_and_one_commit() {
    let all = || SETTINGS.iter().chain(&MORE_SETTINGS);
    let rounds = all().map(|(_, values)| values.len()).max().unwrap();
    for round in 0..rounds {
        let world = planned(PLAN);
        fs::write(world.home().join("attributes"), "*.txt text\n").unwrap();
        fs::write(world.home().join("excludes"), "*.swp\n.DS_Store\n").unwrap();
        let mut set = Vec::new();
        for (name, values) in all() {
            // The last value stays when there are no more.
            let value = values[round.min(values.len() - 1)];
            // Half of them are the user's, half the repository's.
            let whose = if set.len() % 2 == 0 { "--global" } else { "--local" };
            world.git(&["config", whose, name, value]);
            set.push(format!("{name}={value}"));
        }
        comes_to_one_commit_a_task(&world, &set.join(" "));
    }
}

#[test]
fn a_repository_may_be_of_any_format() {
    let formats: [&[&str]; 4] = [
        &["--object-format=sha256"],
        &["--ref-format=reftable"],
        &["--object-format=sha256", "--ref-format=reftable"],
        &["--separate-git-dir=../elsewhere.git", "--shared=group"],
    ];
    for format in formats {
        let world = World::empty();
        world.write(TASKS, PLAN);
        world.write(PROGRESS, "# Notes\n");
        world.git(&[&["init", "--quiet", "--initial-branch=main"], format].concat());
        world.git_init();
        world.git(&["config", "extensions.worktreeConfig", "true"]);
        world.write("specs/.current-spec", "test-spec\n");
        comes_to_one_commit_a_task(&world, &format.join(" "));
    }
}

/// Adds a line to each message, as Gerrit's hook does.
const CHANGE_ID: &str = "grep -q ^Change-Id: \"$1\" || \
    git interpret-trailers --in-place --trailer \"Change-Id: I$(date +%N)\" \"$1\"\n";
const REVIEWED: &str =
    "git interpret-trailers --in-place --trailer 'Reviewed-by: Somebody' \"$1\"\n";
/// Amends the commit that it hears of, once.
const AMENDS: &str = "test -n \"$AMENDING\" || \
    AMENDING=1 git commit --quiet --amend --no-edit --no-verify --allow-empty\n";
const PRINTS: &str = "head -c 10000000 /dev/zero | tr '\\0' x; head -c 10000000 /dev/zero >&2\n";

#[test]
fn hooks_of_every_kind_come_to_one_commit_a_task() {
    let hooks: [&[(&str, &str)]; 3] = [
        &[
            ("commit-msg", CHANGE_ID),
            ("pre-commit", PRINTS),
            ("post-commit", "echo committed; exit 1\n"),
            ("post-checkout", "echo checked out\n"),
            ("post-index-change", "exit 1\n"),
            ("reference-transaction", "cat > /dev/null\n"),
        ],
        &[
            ("post-commit", AMENDS),
            ("post-rewrite", "cat > /dev/null; exit 1\n"),
            ("prepare-commit-msg", "printf '\\n# a comment\\n' >> \"$1\"\n"),
            ("pre-auto-gc", "exit 1\n"),
        ],
        &[
            ("commit-msg", "test -n \"$(sed -n 1p \"$1\")\"\n"),
            ("prepare-commit-msg", REVIEWED),
            ("pre-commit", "git stash list > /dev/null; sleep 0.01\n"),
            ("post-commit", PRINTS),
        ],
    ];
    for set in hooks {
        let world = planned(PLAN);
        for (name, script) in set {
            world.git_hook(name, script);
        }
        let names: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
        comes_to_one_commit_a_task(&world, &names.join(" "));
    }
}

#[test]
fn a_subject_may_be_any_text() {
    let long = "long ".repeat(2000);
    let subjects = [
        "# begins like a comment",
        "; begins like another",
        "quotes ' and \" and \\",
        "$(touch x) `touch x` %s %H",
        "fixup! feat: first",
        "ünïcödé 日本 🦀",
        "-m --amend",
        "Task: 9.9",
        long.trim_end(),
    ];
    let task = |(n, subject): (usize, &&str)| {
        format!("- [ ] 1.{n} a\n  - **Commit**: `` {subject} ``\n", n = n + 1)
    };
    let world = planned(&subjects.iter().enumerate().map(task).collect::<String>());
    world.git(&["config", "commit.cleanup", "strip"]);
    let works = agent(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n");
    run_with(&world, &works, &[]).exits(0);
    assert_eq!(committed(&world).len(), subjects.len());
    nothing_is_left(&world);
}

#[test]
fn no_plan_steers_the_terminal_of_those_who_read_its_commits() {
    let world = planned(
        "- [ ] 1.1 say \u{1b}[31mred\u{1b}]0;mine\u{7}\u{202e} end\n\
         - [ ] 1.2 b\n  - **Commit**: `feat: \u{1b}[2Jclear\u{202e}`\n",
    );
    let works = agent(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n");
    run_with(&world, &works, &[]).exits(0);
    let subjects = world.git(&["log", "--format=%s", "-2"]);
    assert_eq!(subjects, "feat: clear\nsay red end\n");
}

#[test]
fn what_happened_once_is_not_said_as_if_it_had_been_more() {
    let world = planned("- [ ] 1.1 a\n");
    let works = agent(&world, "echo $id > $id.txt; echo TASK_COMPLETE\n");
    run_with(&world, &works, &[]).exits(0);
    let log = world.specum(&["log"]);
    assert!(log.exits(0).stdout.contains("complete: the only task is done\n"), "{}", log.stdout);
}

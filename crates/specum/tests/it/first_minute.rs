//! A newcomer: an empty home, with and without agents, at every place where one
//! can stand. What is said names the next step.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::world::{Call, World, call};

const PLAN: &str = "- [ ] 1.1 Greet\n  - **Do**: greet\n  - **Files**: a.txt\n  - **Done when**: it greets\n  - **Verify**: `true`\n  - **Commit**: `feat: greet`\n";

/// A PATH with these programs and nothing else.
fn path_of(world: &World, programs: &[&str]) -> PathBuf {
    let bin = world.home().join("bin");
    let _ = fs::remove_dir_all(&bin);
    fs::create_dir_all(&bin).unwrap();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    for program in programs {
        let real = std::env::split_paths(&inherited).map(|dir| dir.join(program));
        let real = real.into_iter().find(|path| path.is_file());
        // An agent is never started here; that it is there is enough.
        let real = real.filter(|_| *program != "claude").unwrap_or_else(|| "/bin/sh".into());
        symlink(real, bin.join(program)).unwrap();
    }
    bin
}

/// A call with this PATH, by somebody whom git does not know.
fn as_newcomer(world: &World, path: &Path, dir: &Path, args: &[&str]) -> Call {
    let mut command = world.command();
    command.args(args).env("PATH", path).current_dir(dir);
    for variable in
        ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]
    {
        command.env_remove(variable);
    }
    call(command, b"")
}

/// What `specum` alone says, which `specum doctor` ends with too.
fn advice(world: &World, programs: &[&str]) -> String {
    let path = path_of(world, programs);
    let said = as_newcomer(world, &path, &world.root, &[]);
    assert_eq!(said.exits(0).stderr, "");
    let (_, advice) = said.stdout.split_once("goes on.\n\n").unwrap();
    let (advice, _) = advice.split_once("\n\nAll commands: specum --help").unwrap();
    let doctor = as_newcomer(world, &path, &world.root, &["doctor"]);
    assert!(doctor.stdout.trim_end().ends_with(advice), "{}\n--\n{advice}", doctor.stdout);
    advice.replace(world.root.to_str().unwrap(), "HERE")
}

#[test]
fn without_a_plan_the_first_steps_are_told_with_an_example_that_has_no_mistake() {
    let world = World::empty();
    fs::remove_dir(world.path("specs")).unwrap();
    insta::assert_snapshot!(advice(&world, &["git"]), @r"
    There is no plan yet in HERE or above.

      specum demo                   watch a small plan being worked, without agent or account
      git init                      without a repository nothing is committed
      write specs/<name>/tasks.md   your plan: `specum help format` shows how
      specum check <name>           finds mistakes in it

    Such as:
      - [ ] 1.1 Write the greeting
        - **Do**: put a greeting into greeting.txt
        - **Verify**: `grep -q Hello greeting.txt`
    ");
    world.git_init();
    let in_repository = advice(&world, &["git"]);
    assert!(!in_repository.contains("git init"), "{in_repository}");

    let (_, example) = in_repository.split_once("Such as:\n").unwrap();
    let plan: String = example.lines().map(|line| format!("{}\n", &line[2..])).collect();
    world.write("specs/greeting/tasks.md", plan);
    let check = world.specum(&["check", "greeting"]);
    assert!(check.exits(0).stdout.contains("1 task, 0 errors"), "{}", check.stdout);
}

#[test]
fn a_plan_that_stands_elsewhere_is_answered_with_the_command_that_makes_it_one() {
    for (path, name, moved) in [
        ("tasks.md", "plan", "mkdir -p specs/plan && mv tasks.md specs/plan/tasks.md"),
        ("PLAN.md", "plan", "mkdir -p specs/plan && mv PLAN.md specs/plan/tasks.md"),
        ("specs/app.md", "app", "mkdir -p specs/app && mv specs/app.md specs/app/tasks.md"),
        (
            "docs/superpowers/plans/2026-01-02-tea.md",
            "2026-01-02-tea",
            "mkdir -p specs/2026-01-02-tea && mv docs/superpowers/plans/2026-01-02-tea.md \
             specs/2026-01-02-tea/tasks.md",
        ),
    ] {
        let world = World::empty();
        fs::remove_dir(world.path("specs")).unwrap();
        world.write(path, "- [ ] 1.1 Greet\n");
        world.git_init();
        for args in [vec!["run"], vec!["run", name], vec!["status"], vec!["check"]] {
            names(&world.specum(&args), 3, &[moved, &format!("`specum run {name}`")]);
        }
        let told = advice(&world, &["git"]);
        assert!(told.contains(moved) && told.contains(&format!("specum check {name}")), "{told}");
        let demo = told.lines().find(|line| line.contains("specum demo")).unwrap();
        assert!(demo.len() <= 100, "a long command does not push the others apart: {told}");
        let mut shell = world.program("sh");
        shell.args(["-c", moved]);
        call(shell, b"").exits(0);
        names(&world.specum(&["check", name]), 0, &["1 task, 0 errors"]);
    }
    // What has no open task is no plan.
    let world = World::empty();
    world.write("TODO.md", "# Some day\n");
    assert!(advice(&world, &["git"]).contains("write specs/<name>/tasks.md"));
}

#[test]
fn nobody_is_told_to_make_a_repository_of_their_home() {
    let world = World::empty();
    let path = path_of(&world, &["git"]);
    let said = as_newcomer(&world, &path, world.home(), &[]).stdout;
    assert!(said.contains("cd <your project>") && !said.contains("git init"), "{said}");
}

#[test]
fn without_git_its_absence_is_the_first_thing_told() {
    let world = World::with_tasks(PLAN);
    insta::assert_snapshot!(advice(&world, &[]), @r"
    git is not on PATH; specum commits with it.

      install git   https://git-scm.com/downloads
    ");
}

#[test]
fn a_spec_to_switch_to_is_named() {
    let world = World::empty();
    world.git_init();
    world.write("specs/greeting/tasks.md", PLAN);
    world.write("specs/later/notes.md", "");
    let meant = advice(&world, &["git"]);
    assert!(meant.starts_with("The spec is greeting, 0 of 1 tasks are done"), "{meant}");
    world.write("specs/other/tasks.md", PLAN);
    insta::assert_snapshot!(advice(&world, &["git"]), @r"
    No spec is active. There are 3 specs.

      specum switch greeting   makes it active; it has open tasks
      specum switch later      makes it active; it has no tasks.md yet
      specum switch other      makes it active; it has open tasks
    ");
}

/// A repository with an active spec that nobody has begun.
fn not_begun(plan: &str) -> World {
    World::planned_as("greeting", plan)
}

#[test]
fn a_plan_that_is_not_begun_is_run_with_the_agent_that_is_there() {
    let world = not_begun(PLAN);
    insta::assert_snapshot!(advice(&world, &["git", "claude"]), @r"
    The active spec is greeting, 0 of 1 tasks are done, and no loop is running.

      specum run --dry-run    shows what would be worked, and how it is checked
      specum run              works it with claude, unattended
      specum plugin install   or: in a session, by /ralph-specum:implement
    ");
}

#[test]
fn without_an_agent_the_ways_to_one_are_told() {
    let world = not_begun(PLAN);
    insta::assert_snapshot!(advice(&world, &["git"]), @r"
    The active spec is greeting, 0 of 1 tasks are done, and no loop is running.

      specum run --dry-run                     shows what would be worked, and how it is checked
      install an agent                         claude, codex, gemini or opencode: none of them is on PATH
      specum run --agent-command '<program>'   or: any program that reads a brief on standard input
    ");
}

#[test]
fn a_plan_with_mistakes_or_without_tasks_is_to_be_mended_first() {
    let twice = not_begun("- [ ] 1.1 a\n- [ ] 1.1 b\n");
    insta::assert_snapshot!(advice(&twice, &["git"]), @r"
    ./specs/greeting/tasks.md:2 has a mistake: id 1.1 is taken: line 1 has it already.

      specum check   lists all of them
    ");
    let empty = not_begun("# Plan\n\nTo be written.\n");
    insta::assert_snapshot!(advice(&empty, &["git"]), @r"
    ./specs/greeting/tasks.md:1 has a mistake: no tasks: a task is a line such as `- [ ] 1.1 Title` at column 0.

      specum check   lists all of them
    ");
    let missing = not_begun(PLAN);
    fs::remove_file(missing.path("specs/greeting/tasks.md")).unwrap();
    assert!(advice(&missing, &["git"]).contains("write ./specs/greeting/tasks.md"));
}

#[test]
fn a_loop_says_whether_it_is_worked_paused_blocked_or_left() {
    let world = World::started(PLAN);
    let left = advice(&world, &["git", "claude"]);
    assert!(
        left.contains("no run or session works on it") && left.contains("  specum run  "),
        "{left}"
    );
    world.specum(&["pause"]).exits(0);
    let paused = advice(&world, &["git"]);
    assert!(paused.contains("it is paused") && paused.contains("specum resume"), "{paused}");
    let mut state = world.read_state();
    state["blocked"] = json!("1.1 failed 5 times");
    world.state(&state);
    insta::assert_snapshot!(advice(&world, &["git"]), @r"
    The active spec is test-spec, 0 of 1 tasks are done; it is blocked: 1.1 failed 5 times.

      specum log      shows what was tried
      specum resume   after fixing it: gives the task another round
      specum run      then: goes on
    ");

    world.person(&["resume"]);
    let mut state = world.read_state();
    state["owner"] = json!({"kind": "session", "sessionId": "s-1"});
    world.state(&state);
    let worked = advice(&world, &["git"]);
    assert!(worked.contains("session s-1 works it") && worked.contains("--follow"), "{worked}");
}

#[test]
fn when_all_is_done_the_next_plan_is_named() {
    let world = not_begun(&PLAN.replace("[ ]", "[x]"));
    let done = advice(&world, &["git"]);
    assert!(done.starts_with("Every task of the active spec greeting is done."), "{done}");
    assert!(done.contains("the next plan"), "{done}");
    world.write("specs/later/tasks.md", PLAN);
    assert!(advice(&world, &["git"]).contains("specum switch later"));
}

/// Whether what was said names these words.
#[track_caller]
fn names(said: &Call, code: u8, words: &[&str]) {
    let text = format!("{}{}", said.stdout, said.stderr);
    said.exits(code);
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn what_is_missing_on_the_machine_is_named_with_the_way_to_it() {
    let world = not_begun(PLAN);
    let without_git = path_of(&world, &["sh", "cat"]);
    let newcomer = |path: &Path, args: &[&str]| as_newcomer(&world, path, &world.root, args);
    names(&newcomer(&without_git, &["demo"]), 1, &["git cannot be started", "install it"]);
    names(&newcomer(&without_git, &["doctor"]), 0, &["git is not on PATH", "git-scm.com"]);

    let with_git = path_of(&world, &["sh", "cat", "git"]);
    let agents = ["no agent is installed", "--agent-command", "specum demo"];
    names(&newcomer(&with_git, &["run"]), 3, &agents);
    names(&newcomer(&with_git, &["run", "--agent", "codex"]), 3, &["codex is not on PATH"]);
    names(&newcomer(&with_git, &["plugin", "install"]), 1, &["claude is not on PATH", "--host"]);
}

#[test]
fn doctor_says_how_to_sign_in_where_nothing_shows_that_an_agent_is_signed_in() {
    let world = not_begun(PLAN);
    let path = path_of(&world, &["git", "claude"]);
    let doctor = || as_newcomer(&world, &path, &world.root, &["doctor"]);
    let how = "nothing shows that claude is signed in: run `claude` and type /login, or set \
               ANTHROPIC_API_KEY";
    names(&doctor(), 0, &[how]);
    let folder = world.home().join(".claude");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(".credentials.json"), "never read").unwrap();
    assert!(!doctor().stdout.contains("signed in"), "{}", doctor().stdout);
    fs::remove_file(folder.join(".credentials.json")).unwrap();
    fs::write(folder.join("settings.json"), "{\"apiKeyHelper\": \"x\"}").unwrap();
    assert!(!doctor().stdout.contains("signed in"), "{}", doctor().stdout);
}

#[test]
fn what_was_mistyped_is_answered_with_what_may_have_been_meant() {
    let world = not_begun(PLAN);
    let meant = |args: &[&str], code: u8, word: &str| names(&world.specum(args), code, &[word]);
    meant(&["stauts"], 2, "did you mean `status`?");
    meant(&["statu"], 2, "'status'");
    meant(&["rnu"], 2, "did you mean `run`?");
    meant(&["run", "--dryrun"], 2, "'--dry-run'");
    meant(&["switch", "greting"], 3, "did you mean `greeting`?");
    meant(&["run", "1.1"], 3, "it is a task of greeting: `specum run --only 1.1` works it alone");
    meant(&["switch", "zzz"], 3, "`specum list` shows all");
    meant(&["run", "--agent", "cluade"], 2, "did you mean `claude`?");
    meant(&["run", "--agent", "script", "--only", "9.9"], 3, "`specum status` lists them");
}

#[test]
fn where_a_run_begins_is_told_if_its_commits_would_be_lost() {
    let agent = ["run", "--agent-command", "cat > a.txt; echo TASK_COMPLETE"];
    let world = not_begun(PLAN);
    world.git(&["checkout", "--quiet", "--detach"]);
    names(&world.specum(&agent), 0, &["HEAD is detached", "`git switch -c <name>`"]);

    let nowhere = World::empty();
    nowhere.write("specs/greeting/tasks.md", PLAN);
    nowhere.write("specs/.current-spec", "greeting\n");
    let said = nowhere.specum(&agent);
    names(&said, 0, &["no commits will be made", "`git init` makes one"]);
    assert!(
        said.stdout.contains("there was no git repository to commit to"),
        "the summary: {}",
        said.stdout
    );
}

#[test]
fn somebody_whom_git_does_not_know_is_told_before_an_agent_is_paid() {
    let world = not_begun(PLAN);
    world.git(&["config", "--unset", "user.name"]);
    world.git(&["config", "--unset", "user.email"]);
    world.git(&["config", "user.useConfigOnly", "true"]);
    let path = std::env::var_os("PATH").unwrap();
    let run = ["run", "--agent-command", "touch started; echo TASK_COMPLETE"];
    let said = as_newcomer(&world, Path::new(&path), &world.root, &run);
    names(&said, 1, &["git config --global user.email", "git config --global user.name"]);
    assert!(!world.path("started").exists());
}

use super::*;

fn read(body: &str) -> Settings {
    parse(format!("---\n{body}\n---\n# Notes\nenabled: false\n").as_bytes()).0
}

fn problems(body: &str) -> Vec<String> {
    let (_, problems) = parse(format!("---\n{body}\n---\n").as_bytes());
    problems.into_iter().map(|p| format!("{}: {}", p.line, p.message)).collect()
}

#[test]
fn aliases_that_multiply_are_a_problem_and_no_list() {
    let line = |name: &str, of: &str| format!("  - &{name} [{}]\n", [of; 8].join(","));
    let mut text = format!("---\nmax_parallel: 3\nagent:\n{}", line("a", "x"));
    for (name, of) in [("b", "*a"), ("c", "*b"), ("d", "*c"), ("e", "*d"), ("f", "*e")] {
        text.push_str(&line(name, of));
    }
    let (settings, problems) = parse(text.as_bytes());
    assert_eq!((settings.max_parallel, settings.run.agent.len()), (3, 0));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("alias"), "{}", problems[0].message);
    let few = parse(b"---\nspecs_dirs: [&a ./x, *a]\n").0.specs_dirs;
    assert_eq!(few, ["./x", "./x"]);
}

#[test]
fn no_front_matter_means_defaults() {
    for text in ["", "\n \n", "---", "---\n---\n"] {
        assert_eq!(parse(text.as_bytes()), (Settings::default(), vec![]), "{text}");
    }
}

#[test]
fn enabled_is_false_in_any_case_quoted_or_not() {
    for value in [
        "false",
        "False",
        "FALSE",
        "'false'",
        "\"False\"",
        "no",
        "off",
        "false   # for now",
        "false\r",
    ] {
        assert!(!read(&format!("enabled: {value}")).enabled, "{value}");
    }
    for value in ["true", "TRUE", "'true'", "yes"] {
        assert!(read(&format!("enabled: {value}")).enabled, "{value}");
    }
}

#[test]
fn lists_are_inline_or_block_with_any_quotes() {
    let expected = ["./a", "b c"];
    for body in [
        "specs_dirs: [./a, 'b c']",
        "specs_dirs: [\"./a\", b c]",
        "specs_dirs:\n  - ./a\n  - 'b c'",
        "specs_dirs:\n- ./a\n# comment\n- \"b c\"",
        "specs_dirs:\r\n  - ./a\r\n  - b c\r",
        "specs_dirs: [\n  ./a,\n  b c\n]",
    ] {
        assert_eq!(read(body).specs_dirs, expected, "{body}");
    }
    assert_eq!(read("specs_dirs: ./one").specs_dirs, ["./one"]);
    assert_eq!(read("specs_dirs:").specs_dirs, Vec::<String>::new());
}

#[test]
fn a_mistake_is_named_and_voids_nothing_else() {
    let body = "specs_dir: [x]\nenabled: false\nmax_parallel: many\nspecs_dirs: [a\nenabled: true";
    assert_eq!(read(body), Settings { enabled: false, ..Settings::default() });
    insta::assert_snapshot!(problems(body).join("\n"), @"
    2: unknown key `specs_dir`; did you mean `specs_dirs`?
    4: `max_parallel` must be a number from 1 to 64, not \"many\"
    5: line 1 column 13: unclosed bracket '['
    6: `enabled` is set twice; the first one counts
    ");
    let unknown = problems("colour: red").remove(0);
    assert!(unknown.starts_with("2: unknown key `colour`; the keys are enabled, specs_dirs,"));
    assert_eq!(problems("enabled: maybe").len(), 1);
}

#[test]
fn the_keys_of_smart_ralph_are_understood_or_ignored() {
    let body = "enabled: true\ndefault_max_iterations: 7\nauto_commit_spec: no\n\
        quick_mode_default: later\nspecs_dirs: [\"./specs\"]";
    assert_eq!(problems(body), Vec::<String>::new());
    assert_eq!(read(body).run.max_task_iterations, Some(7));
    let named = |body: &str| -> Vec<(usize, &str, Option<&str>)> {
        let found = inherited(format!("---\n{body}\n---\n").as_bytes());
        found.into_iter().map(|found| (found.line, found.key, found.read_as)).collect()
    };
    assert_eq!(
        named(body),
        [
            (3, "default_max_iterations", Some("max_task_iterations")),
            (4, "auto_commit_spec", None),
            (5, "quick_mode_default", None),
        ]
    );
    assert_eq!(named("enabled: true\nmodel: quick_mode_default"), []);
    for both in [
        "default_max_iterations: 7\nmax_task_iterations: 3",
        "max_task_iterations: 3\ndefault_max_iterations: 7",
    ] {
        assert_eq!(read(both).run.max_task_iterations, Some(3), "our own key counts more");
        assert_eq!(problems(both), Vec::<String>::new());
    }
    insta::assert_snapshot!(
        problems("default_max_iterations: many\ndefault_max_iteration: 3").join("\n"),
        @r#"
    2: `default_max_iterations` must be a number from 1 to 1000, not "many"
    3: unknown key `default_max_iteration`; did you mean `max_task_iterations`?
    "#
    );
}

#[test]
fn a_run_takes_its_options_from_here() {
    let body = "agent: [claude, codex]\nagent_command: my-agent --fast\nmodel: opus\n\
        max_task_iterations: 3\nmax_global_iterations: 50\nrecovery_mode: yes\naccept_git_changes: true\n\
        task_timeout: 1h30m\nidle_timeout: 90\nverify_timeout: 2h\nkeep_days: 7\nmax_time: 8h\nmax_cost: 2.5\n\
        max_tokens: 1000000\nworktree_setup: npm ci\nisolate: true\nworktree_caches: target\n\
        verify: npm test\nverify_all: [npm run lint]\napprove: phase";
    assert_eq!(problems(body), Vec::<String>::new());
    let expected = RunSettings {
        agent: vec!["claude".into(), "codex".into()],
        agent_command: Some("my-agent --fast".into()),
        model: Some("opus".into()),
        max_task_iterations: Some(3),
        max_global_iterations: Some(50),
        recovery_mode: Some(true),
        approve: Some(true),
        accept_git_changes: Some(true),
        task_timeout: Some(5_400_000),
        idle_timeout: Some(90_000),
        suite: Suite {
            verify: vec!["npm test".into()],
            verify_all: vec!["npm run lint".into()],
            once: false,
        },
        verify_timeout: Some(7_200_000),
        keep_days: Some(7),
        max_time: Some(28_800_000),
        max_cost: Some(2.5),
        max_tokens: Some(1_000_000),
        worktree_setup: Some("npm ci".into()),
        isolate: Some(true),
        worktree_caches: vec!["target".into()],
        ..RunSettings::default()
    };
    assert_eq!(read(body).run, expected);
    assert_eq!(read("agent: claude, codex").run.agent, ["claude", "codex"]);
    for wrong in [
        "max_cost: -1",
        "max_cost: free",
        "max_tokens: 0",
        "idle_timeout: soon",
        "task_timeout: 10 fortnights",
        "recovery_mode: perhaps",
        "approve: tests",
        "agent: {a: b}",
        "model:",
        "max_cots: 5",
    ] {
        assert_eq!(problems(wrong).len(), 1, "{wrong}");
    }
}

#[test]
fn an_isolated_run_is_asked_for_by_a_truth_and_its_caches_by_paths() {
    let run = read("isolate: yes\nworktree_caches: [target, ./web/node_modules]").run;
    assert_eq!(run.isolate, Some(true));
    assert_eq!(run.worktree_caches, ["target", "./web/node_modules"]);
    assert_eq!(read("worktree_caches: target").run.worktree_caches, ["target"]);
    assert_eq!(read("enabled: true").run.isolate, None);
}

#[test]
fn a_cache_that_is_not_below_the_project_is_a_problem() {
    for path in ["..", "../x", "a/../../x", "/tmp/x", "~/x", ".", "./", ".git", ".git/x", "C:/x"] {
        let said = problems(&format!("worktree_caches: ['{path}']"));
        assert_eq!(said.len(), 1, "{path}");
        assert!(said[0].contains("paths below the project"), "{path}: {}", said[0]);
    }
    assert_eq!(problems("isolate: perhaps").len(), 1);
}

#[test]
fn settings_that_stand_outside_of_any_front_matter_are_a_problem() {
    for text in ["max_parallel: 3\n", "# Title\nenabled: false\n"] {
        let (settings, problems) = parse(text.as_bytes());
        assert_eq!(settings, Settings::default());
        let [Problem { line: 1, message }] = problems.as_slice() else { panic!("{problems:?}") };
        insta::allow_duplicates! {
            insta::assert_snapshot!(message, @"there are no settings here: they stand at the top, between two lines `---`");
        }
    }
}

#[test]
fn a_persons_settings_stand_on_top_of_the_teams() {
    let mut settings = Settings::default();
    let team = b"# ours\nmax_parallel: 3\nmax_task_iterations: 4\nagent: [claude, codex]\nkeep_going: true\n";
    assert_eq!(super::read(Place::Team, team, &mut settings), []);
    let own = b"---\nagent: codex\nkeep_going: false\ndefault_max_iterations: 9\n---\n";
    assert_eq!(super::read(Place::Person, own, &mut settings), []);
    assert_eq!((settings.max_parallel, settings.run.max_task_iterations), (3, Some(4)));
    assert_eq!(
        (settings.run.agent, settings.run.keep_going),
        (vec!["codex".to_owned()], Some(false))
    );
    // A file for a team is YAML as a whole; the lines `---` may stand there too.
    let mut fenced = Settings::default();
    assert_eq!(super::read(Place::Team, b"---\nmax_parallel: 2\n---\nno: more\n", &mut fenced), []);
    assert_eq!(fenced.max_parallel, 2);
    let mistakes = super::read(Place::Team, b"max_paralel: 3\nbell: loud\n", &mut fenced);
    assert_eq!(mistakes.iter().map(|problem| problem.line).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn branch_and_notices_are_words_lists_or_truths() {
    let branch = |value: &str| read(&format!("branch: {value}")).run.branch;
    assert_eq!(branch("true"), Some(Branch::OfSpec));
    assert_eq!(branch("off"), Some(Branch::Here));
    assert_eq!(branch("feature/x"), Some(Branch::Named("feature/x".into())));
    let run = read("notify: notify-send x\nnotify_on: [complete, no-agent]\nbell: false").run;
    assert_eq!(run.notify.as_deref(), Some("notify-send x"));
    assert_eq!(run.notify_on, Some(vec![Notice::Complete, Notice::NoAgent]));
    assert_eq!(run.bell, Some(false));
    insta::assert_snapshot!(problems("notify_on: [complet]\nbranch: 3").join("\n"), @"
    2: `notify_on`: there is no `complet`; did you mean `complete`?
    3: `branch` must be a name, or true, not 3
    ");
}

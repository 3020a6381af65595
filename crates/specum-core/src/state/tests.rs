use super::*;

fn parse(text: &str) -> Result<State, Corrupt> {
    State::parse(text.as_bytes())
}

fn rendered(state: &State) -> String {
    String::from_utf8(state.render()).unwrap()
}

#[test]
fn missing_fields_have_their_defaults() {
    let state = parse(r#"{"phase":"execution","totalTasks":3}"#).unwrap();
    assert_eq!(state.phase, Phase::Execution);
    assert_eq!(
        (state.task_index, state.task_iteration, state.max_task_iterations),
        (0, 1, DEFAULT_MAX_TASK_ITERATIONS)
    );
    assert_eq!((state.global_iteration, state.max_global_iterations), (1, 100));
    assert_eq!(state.owner, None);
    assert_eq!(parse("{}").unwrap().phase, Phase::Other(String::new()));
}

#[test]
fn what_is_there_and_wrong_is_corrupt() {
    for text in [
        "",
        " ",
        "[]",
        "null",
        "3",
        "{",
        r#"{"phase":"execution","taskIndex":"#,
        r#"{"taskIndex":-1}"#,
        r#"{"taskIndex":1.5}"#,
        r#"{"taskIndex":"1"}"#,
        r#"{"taskIndex":1e300}"#,
        r#"{"totalTasks":99999999999999999999}"#,
        r#"{"totalTasks":2000000000}"#,
        r#"{"taskIndex":null}"#,
        r#"{"phase":1}"#,
        r#"{"awaitingApproval":"true"}"#,
        r#"{"quickMode":1}"#,
        r#"{"driver":"x"}"#,
        r#"{"owner":"me"}"#,
        r#"{"owner":{"kind":"ghost"}}"#,
        r#"{"fixTaskMap":[]}"#,
        r#"{"taskResults":{"a":{"status":"failed"}}}"#,
        r#"{"taskResults":{"1":{"status":"failed","attempts":2000000000}}}"#,
        r#"{"taskResults":{"1":{"status":"failed","setAside":2000000000}}}"#,
        r#"{"parallelGroup":3}"#,
        r#"{"globalIteration":true}"#,
        "{} {}",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_newer_format_is_told_from_a_corrupt_one() {
    assert_eq!(
        parse(r#"{"formatVersion":2,"owner":{"kind":"pool"}}"#).unwrap_err(),
        Corrupt::Newer(2)
    );
    assert!(parse(r#"{"formatVersion":2,"phase":"execution"}"#).unwrap().is_newer_format());
}

#[test]
fn unknown_fields_and_their_order_survive() {
    let text = "{\n  \"zeta\": [\n    1\n  ],\n  \"taskIndex\": 0,\n  \"name\": \"demo\",\n  \"phase\": \"execution\",\n  \"alpha\": null\n}\n";
    let mut state = parse(text).unwrap();
    assert_eq!(rendered(&state), text, "reading does not make a file grow");
    state.task_index = 4;
    state.standing = Standing::Paused(None);
    insta::assert_snapshot!(rendered(&state), @r#"
        {
          "zeta": [
            1
          ],
          "taskIndex": 4,
          "name": "demo",
          "phase": "execution",
          "alpha": null,
          "awaitingApproval": true
        }
        "#);
}

#[test]
fn numbers_of_others_are_the_same_when_written_again() {
    let once = parse(r#"{"theirs":15516118446744073709551615}"#).unwrap().render();
    let twice = State::parse(&once).unwrap().render();
    assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once));
}

#[test]
fn a_field_set_back_to_nothing_leaves_the_file() {
    let mut state = parse(r#"{"a":1,"parallelGroup":{"startIndex":0,"endIndex":1,"taskIndices":[0,1],"isParallel":true},"b":2}"#).unwrap();
    state.parallel_group = None;
    assert_eq!(rendered(&state), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
}

#[test]
fn a_new_loop_has_room_for_every_attempt_twice_but_at_least_a_hundred() {
    assert_eq!(State::new(3).max_global_iterations, 100);
    assert_eq!(State::new(60).max_global_iterations, 600);
}

#[test]
fn results_are_found_by_name_when_positions_have_shifted() {
    let state = parse(r#"{"taskResults":{"1":{"status":"failed","attempts":2,"id":"1.2"},"5":{"status":"pending"}}}"#).unwrap();
    let ids = ["1.0", "1.1", "1.3", "1.4", "1.5", "1.6", "1.7", "1.2"];
    let text: String = ids.iter().map(|id| format!("- [ ] {id} a\n")).collect();
    let file = TaskFile::scan(text.as_bytes());
    assert_eq!(state.result_of(&file.tasks[7]).unwrap().attempts, 2);
    assert_eq!(state.result_of(&file.tasks[1]), None);
    assert_eq!(state.result_of(&file.tasks[5]).unwrap().status, Status::Pending);
}

#[test]
fn owners_are_read_and_written() {
    let mut state = State::new(1);
    state.owner = Some(Owner::Session {
        session_id: "s".into(),
        process: Some(Process { pid: 7, started: "9".into(), space: None }),
        seen: None,
    });
    let again = State::parse(&state.render()).unwrap();
    assert_eq!(again.owner, state.owner);
    assert_eq!(
        parse(r#"{"owner":{"kind":"runner","process":{"pid":3},"since":"x"}}"#)
            .unwrap()
            .owner
            .unwrap()
            .process()
            .unwrap()
            .pid,
        3
    );
}

#[test]
fn three_fields_say_whether_the_loop_may_go_on() {
    for (fields, standing) in [
        (r#""awaitingApproval":false"#, Standing::Running),
        (r#""awaitingApproval":false,"pausedFor":"x""#, Standing::Running),
        (r#""awaitingApproval":true"#, Standing::Paused(None)),
        (r#""awaitingApproval":true,"pausedFor":"x""#, Standing::Paused(Some("x".into()))),
        (r#""awaitingApproval":true,"blocked":"x""#, Standing::Blocked("x".into())),
        (r#""awaitingApproval":false,"blocked":"x""#, Standing::Blocked("x".into())),
    ] {
        let state = parse(&format!("{{{fields}}}")).unwrap();
        assert_eq!(state.standing, standing, "{fields}");
        let is_held = standing != Standing::Running;
        assert_eq!(state.to_object()["awaitingApproval"], is_held, "{fields}");
    }
}

proptest::proptest! {
    #[test]
    fn a_rendered_state_is_read_as_the_same(index in 0_usize..50, iteration in 1_u64..9, waiting: bool, extra in "[a-z]{1,8}") {
        let mut state = parse(&format!("{{\"x-{extra}\":1,\"phase\":\"execution\"}}")).unwrap();
        state.task_index = index;
        state.task_iteration = iteration;
        state.standing = if waiting { Standing::Paused(None) } else { Standing::Running };
        let again = State::parse(&state.render()).unwrap();
        proptest::prop_assert_eq!(again.render(), state.render());
        proptest::prop_assert_eq!((again.task_index, again.task_iteration, again.standing), (index, iteration, state.standing));
    }
}

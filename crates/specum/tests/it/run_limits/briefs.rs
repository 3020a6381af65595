//! What an agent reads.

use super::Stage;
use super::speech::claude;

/// The brief of an agent for the first task of a plan.
fn brief(plan: &[u8]) -> Vec<u8> {
    let stage = Stage::new(plan);
    stage.agent("claude", format!("read\n{}", claude::complete(5, 0.1)));
    let told = stage.run(&["--only", "0", "--max-task-iterations", "1"]);
    assert!(told.call.code.is_some());
    stage.left("claude", 1, "brief")
}

#[test]
fn a_brief_begins_with_the_task_byte_for_byte() {
    for block in [
        &b"- [ ] 1.1 Plain\n  - **Do**: it\n"[..],
        b"- [ ] 1.1 Windows\r\n  - **Do**: it\r\n",
        b"* [ ] 1.1 Tabs\tand  blanks \n\t- x\n",
        b"- [ ] 1.1 Latin \xe9\xff\n  - \xc3( half a character\n",
        "- [ ] 1.1 日本 \u{202e}\u{feff}\n".as_bytes(),
        b"- [ ] 1.1 NUL \0 and \x1b[31mred\n",
        b"- [ ] 1.1 Fence\n  ```sh\n  - [ ] 9.9 not a task\n  ```\n",
    ] {
        let plan = [block, b"\n- [ ] 1.2 Other\n"].concat();
        let read = brief(&plan);
        assert!(read.starts_with(block), "{}", String::from_utf8_lossy(&read));
        let rest = String::from_utf8(read[block.len()..].to_vec()).unwrap();
        assert!(rest.contains("attempt 1") && !rest.contains("Other"), "{rest}");
    }
}

#[test]
fn fault_34_a_small_task_stood_in_20_kilobytes_of_prompt() {
    let plan = b"- [ ] 1.1 x";
    assert_eq!(plan.len(), 11);
    let read = brief(plan);
    assert!(read.len() < 2048, "{} bytes: {}", read.len(), String::from_utf8_lossy(&read));
}

#[test]
fn a_task_that_is_no_text_is_worked_to_its_end() {
    let stage = Stage::new(b"- [ ] 1.1 Latin \xe9\n  - **Verify**: `test -f a.txt`\n");
    stage.agent("claude", format!("sh touch a.txt\n{}", claude::complete(5, 0.1)));
    stage.run(&[]).ends(0, "complete");
    let tasks = std::fs::read(stage.world.path(super::TASKS)).unwrap();
    assert_eq!(tasks, b"- [x] 1.1 Latin \xe9\n  - **Verify**: `test -f a.txt`\n");
}

#[test]
fn an_agent_that_takes_over_reads_its_own_task_although_another_has_its_number_by_now() {
    let stage = Stage::new("- [ ] 1.1 Paint the door\n- [ ] 1.2 Mow the lawn\n");
    stage.world.specum(&["implement"]).exits(0);
    stage.world.person(&["note", "1.1", "in blue"]);
    let renumbers = format!(
        "printf '%s\\n' '- [ ] 1.2 Paint the door' '- [ ] 1.1 Mow the lawn' > {}",
        super::TASKS
    );
    let limited = claude::fails("rate_limit", 429, "slow down");
    stage.once("claude", 1, format!("read\nsh {renumbers}\n{limited}"));
    stage.agent("claude", format!("read\n{}", claude::complete(5, 0.1)));
    assert!(stage.faster(30, &["--take-over"]).call.code.is_some());
    let read = String::from_utf8(stage.left("claude", 2, "brief")).unwrap();
    assert!(read.starts_with("- [ ] 1.2 Paint the door\n"), "{read}");
    assert!(read.contains("- in blue\n"), "{read}");
    let next = String::from_utf8(stage.left("claude", 3, "brief")).unwrap();
    assert!(next.starts_with("- [ ] 1.1 Mow the lawn\n") && !next.contains("in blue"), "{next}");
}

//! The Stop hook: what it answers, case by case.

use crate::world::World;

#[test]
fn tasks_remain_so_the_agent_is_sent_back() {
    let world = World::with_tasks("- [ ] 1.1 First\n- [ ] 1.2 Second\n");
    let call = world.stop();
    let reason = call.reason();
    assert!(reason.starts_with("Continue spec: test-spec (Task 1/2, Iter 1)\n"), "{reason}");
    assert_eq!(call.system_message(), "Ralph-specum iteration 1 | Task 1/2");
    assert_eq!(
        call.stderr,
        "[ralph-specum] Session stopped during spec: test-spec | Task: 1/2 | Attempt: 1\n"
    );
}

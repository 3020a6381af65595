//! The loop inside one turn of the coordinator, in every host that is supported.

use super::{coordinate, execute, project, run};
use crate::host;
use crate::model::Model;

#[test]
fn ten_tasks_take_about_eleven_requests_of_the_coordinator() {
    for program in host::claudes() {
        let tasks = (1..=10)
            .map(|n| format!("- [ ] 1.{n} Task {n}\n  - **Verify**: `test -f done-1.{n}`\n"));
        let world = project(&tasks.collect::<String>());
        let model = Model::start(|request| {
            if request.is_subagent() { execute(request) } else { coordinate(request) }
        });

        let outcome = run(&program, &world, &model, "/ralph-specum:implement");

        assert_eq!(outcome.result()["result"], "ALL_TASKS_COMPLETE");
        let requests = model.requests();
        let coordinator = requests.iter().filter(|request| !request.is_subagent()).count();
        assert_eq!(coordinator, 11, "one for each result, and one to begin with");
        assert_eq!(outcome.hook_responses("Stop").len(), 1, "the turn ends once");
        assert!(!world.read("specs/demo/tasks.md").contains("- [ ]"));
        assert!(!world.path("specs/demo/.ralph-state.json").exists(), "the loop has ended");
        assert_eq!(
            world
                .git(&["log", "--format=%(trailers:key=Task,valueonly)"])
                .split_whitespace()
                .count(),
            10
        );
    }
}

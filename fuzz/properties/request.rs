//! What an executor asks of the plan: whatever it says, what is granted adds whole tasks
//! within the limits and leaves every other byte of the plan as it was.

use specum_core::modify::{Limits, Request, WORD, decide};
use specum_core::spec::gate::Facts;
use specum_core::spec::{Doc, Texts};
use specum_core::tasks::{TaskEdit, TaskFile};

const LIMITS: Limits = Limits {
    of_task: 0,
    most_of_task: 3,
    most_depth: 2,
    added: 0,
    most_added: None,
    in_group: false,
};

pub fn hold(bytes: &[u8]) {
    let message = String::from_utf8_lossy(bytes);
    asked(&message);
    // As the object of a request, whatever else it is.
    asked(&format!("{WORD}\n```json\n{message}\n```\n"));
    // As a proposed task.
    let object = serde_json::json!({
        "type": "ADD_PREREQUISITE", "originalTaskId": "1.2", "reasoning": "x",
        "proposedTasks": [message],
    });
    asked(&format!("{WORD}\n```json\n{object}\n```\n"));
}

fn asked(message: &str) {
    let Some(Ok(request)) = Request::find(message) else { return };
    let before = TaskFile::scan(super::PLAN);
    let texts = Texts::default().with(Doc::Tasks, super::PLAN);
    for (index, task) in before.tasks.iter().enumerate() {
        let Ok(change) = decide(&request, texts, index, &Facts::none(), &LIMITS) else { continue };
        assert_eq!(request.task, task.name(), "it is about another task");
        let inserted = change.inserted();
        assert!(inserted.len() <= 5, "more were added than may be");
        let text = TaskEdit::apply_all(&change.edits, super::PLAN);
        let after = TaskFile::scan(&text);
        assert_eq!(after.tasks.len(), before.tasks.len() + inserted.len());
        for old in &before.tasks {
            let same = after.tasks.iter().find(|one| one.id == old.id).expect("it is there");
            assert_eq!(after.block(same), before.block(old), "another task was changed");
        }
        let new = after
            .tasks
            .iter()
            .filter(|one| one.id.as_ref().is_some_and(|id| inserted.contains(id)));
        for one in new {
            assert!(!one.done && !one.optional, "it is to be worked");
            assert!(one.id.as_ref().is_some_and(|id| id.starts_with(&task.name())));
        }
        assert_eq!(TaskEdit::apply_all(&change.edits, &text), text, "it is made once");
    }
}

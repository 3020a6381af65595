//! The brief: what one executor reads.
//!
//! It begins with the task's block, byte for byte, and ends with the rules. In
//! between stand what the task is part of, what failed last time and what earlier
//! executors learned. One
//! line of it, the [`BriefMarker`], says which attempt it belongs to, so that its
//! result finds its way back even if the host loses everything else.

mod surroundings;

use serde::{Deserialize, Serialize};

use crate::attempt::AttemptId;
use crate::line;
use crate::prompt::SpecName;
use crate::tasks::Command;
use crate::verify::Role;

pub use surroundings::{Surroundings, documents, rules_for};

/// How much of the earlier executors' notes is passed on: the end.
const MAX_LEARNINGS: usize = 2_000;
/// How much of a person's notes is passed on: the newest of them.
const MAX_WORDS: usize = 8_000;
/// The longest note of a person's.
pub const MAX_NOTE: usize = 4_000;
/// How much of a failed check's output is passed on: the end.
const MAX_OUTPUT: usize = 2_000;

/// Which attempt a brief, or a result, belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefMarker {
    /// The spec's name.
    pub spec: String,
    /// The task's id.
    pub task: String,
    /// From 1.
    pub attempt: u64,
    /// The attempt's id. Briefs of older versions name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AttemptId>,
}

impl BriefMarker {
    /// One line.
    pub fn render(&self) -> String {
        let json = serde_json::to_string(self).expect("plain data is JSON");
        format!("{OPEN}{json}{CLOSE}")
    }

    /// The last marker in a text. The last one, because the task's own block,
    /// the output of a check and the learnings of others stand in front of it
    /// and may quote another.
    pub fn find(text: &str) -> Option<BriefMarker> {
        let (_, behind) = text.rsplit_once(OPEN)?;
        serde_json::from_str(behind.split(CLOSE).next()?).ok()
    }
}

/// How an executor has the plan changed.
const MAY_ASK: &str = "- If the task is too large, or needs what no task makes, do not improvise: \
                       end with TASK_MODIFICATION_REQUEST on a line and a ```json fence \
                       {\"type\": SPLIT_TASK, ADD_PREREQUISITE or ADD_FOLLOWUP, \
                       \"originalTaskId\", \"reasoning\", \"proposedTasks\": [whole task blocks]}.\n";
/// Said of a check that passes before the work.
const GREEN_ALREADY: &str = "It passed before you began, so that it passes proves nothing: see to \
                             it yourself that what the task asks for is there.\n";
const OPEN: &str = "<!-- specum-attempt ";
const CLOSE: &str = " -->";

/// Where an attempt is worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkPlace {
    /// In the user's tree, alone.
    Alone,
    /// In the user's tree, together with others.
    Shared,
    /// In a worktree of its own, while others work in theirs.
    Beside,
    /// In the one worktree of an isolated run, while a person may work in their tree.
    Isolated,
}

/// What goes into a brief.
#[derive(Debug, Clone, Copy)]
pub struct Brief<'a> {
    /// The spec.
    pub spec: SpecName<'a>,
    /// The task's block as it stands.
    pub block: &'a [u8],
    /// The task's id.
    pub task: &'a str,
    /// The folder in which it is worked on, from the root of the file system.
    pub root: &'a str,
    /// Position of the task.
    pub index: usize,
    /// From 1.
    pub attempt: u64,
    /// The attempt's id.
    pub id: &'a AttemptId,
    /// What specum runs to check it, in this order.
    pub check: &'a [Command],
    /// Whether that has passed before the work.
    pub is_green: bool,
    /// Whether it may ask for other tasks.
    pub may_ask: bool,
    /// Who works.
    pub role: Role,
    /// Who else works at the same time, and where.
    pub place: WorkPlace,
    /// Where the task stands.
    pub surroundings: &'a Surroundings,
    /// Why the last attempt failed.
    pub reasons: &'a [String],
    /// What its check printed at the end.
    pub output: &'a str,
    /// The reference that holds what an earlier attempt had changed.
    pub kept: Option<&'a str>,
    /// A person's notes for the task, in their order.
    pub words: &'a [&'a str],
    /// The learnings of earlier executors.
    pub learnings: &'a str,
}

impl Brief<'_> {
    /// The whole of it, with the block byte for byte, whatever it holds.
    pub fn render(&self) -> Vec<u8> {
        [self.block, self.behind_the_block().as_bytes()].concat()
    }

    fn behind_the_block(&self) -> String {
        let mut text = if self.block.ends_with(b"\n") { String::new() } else { "\n".to_owned() };
        text.push_str(&format!(
            "\nThe above is task {} of the plan {}/tasks.md, attempt {}. Work in {}: every path \
             here begins there, and the Verify command runs there.\n",
            self.task, self.spec.path, self.attempt, self.root
        ));
        text.push_str(&self.surroundings.render(self.spec.path));
        if !self.reasons.is_empty() {
            text.push_str("\n## What failed last time\n");
            for reason in self.reasons {
                text.push_str(&format!("- {}\n", line::head(reason, 500)));
            }
            let output = line::tail(self.output.trim_end(), MAX_OUTPUT);
            if !output.is_empty() {
                text.push_str(&format!("The check ended with:\n~~~\n{output}\n~~~\n"));
            }
        }
        if let Some(kept) = self.kept {
            text.push_str(&format!(
                "\n## What there is already\nAn earlier attempt did not get to its end. What it had \
                 changed is no longer in the tree; `git show {kept}` shows it. Take what is good.\n"
            ));
        }
        let words = newest(self.words, MAX_WORDS);
        if !words.is_empty() {
            text.push_str("\n## A word from the person in charge\n");
            for word in words {
                text.push_str(&format!("- {}\n", word.trim().replace('\n', "\n  ")));
            }
        }
        let learnings = line::tail(self.learnings.trim(), MAX_LEARNINGS);
        if !learnings.is_empty() {
            text.push_str(&format!("\n## What others learned\n{learnings}\n"));
        }
        text.push_str(&self.how_it_is_checked());
        let marker = BriefMarker {
            spec: self.spec.name.to_owned(),
            task: self.task.to_owned(),
            attempt: self.attempt,
            id: Some(self.id.clone()),
        };
        // Behind every word of others, who may quote one of their own.
        text.push_str(&format!("\n{}\n## Rules\n", marker.render()));
        text.push_str(&self.rules());
        text
    }

    /// Exactly what is run, and what is compared.
    fn how_it_is_checked(&self) -> String {
        if self.check.is_empty() {
            return String::new();
        }
        let mut text = "\n## How it is checked\nspecum runs this itself, in this order; all of it \
                        must pass:\n"
            .to_owned();
        for command in self.check {
            let or = if command.instead { "or, if that fails, " } else { "" };
            let shown = command.to_string().replace('\n', "\n  ");
            text.push_str(&format!("- {or}{shown}\n"));
        }
        if self.is_green {
            text.push_str(GREEN_ALREADY);
        }
        text
    }

    fn rules(&self) -> String {
        let path = self.spec.path;
        let signal = self.role.signal();
        let work = match self.role {
            Role::Executor | Role::Author(_) => {
                "- Do this task and nothing else; keep to its Files."
            }
            Role::QaEngineer => {
                "- Check what the task asks for. Fix what you can fix within the plan; do not \
                 weaken a check to make it pass."
            }
        };
        let git = match self.place {
            WorkPlace::Alone => {
                "- Do not commit: specum commits what you changed once it has verified it."
            }
            WorkPlace::Shared => {
                "- Others work in the same tree at this moment: do not call git, and leave their \
                 files alone."
            }
            WorkPlace::Beside => {
                "- This directory is a worktree of its own; others work in theirs. Stay in it and \
                 do not commit: specum brings what you changed together with theirs."
            }
            WorkPlace::Isolated => {
                "- This directory is a worktree of its own; a person works in the main one. Stay in \
                 this one and do not commit: specum commits what you changed once it has verified it."
            }
        };
        let notes = match self.place {
            WorkPlace::Alone => format!("the section Learnings of {path}/.progress.md"),
            WorkPlace::Shared | WorkPlace::Beside | WorkPlace::Isolated => {
                format!("{path}/.progress-task-{}.md", self.index)
            }
        };
        let otherwise = match self.role {
            Role::Executor | Role::Author(_) => {
                "If you cannot finish, say what stands in the way, and do not say"
            }
            Role::QaEngineer => {
                "If it does not hold, say VERIFICATION_FAIL and why, and do not say"
            }
        };
        let is_alone = matches!(self.place, WorkPlace::Alone | WorkPlace::Isolated);
        let asks = if self.may_ask && is_alone { MAY_ASK } else { "" };
        format!(
            "{work}\n- specum checks the task itself. Never change \
             {path}/tasks.md or any .ralph file there, nor use git clean or git stash.\n{git}\n- What the next one should know \
             goes to {notes}, in a line or two.\n{asks}- When it is done and holds, end your answer \
             with {signal} on a line of its own. {otherwise} {signal}.\n"
        )
    }
}

/// The newest texts that have room together, in their order.
fn newest<'a>(texts: &[&'a str], room: usize) -> Vec<&'a str> {
    let mut used = 0;
    let fits = |text: &&&str| {
        used += text.len();
        used <= room
    };
    let mut newest: Vec<&str> = texts.iter().rev().take_while(fits).copied().collect();
    newest.reverse();
    newest
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::tasks::{Context, Part, Program, TaskFile};

    fn brief<'a>(block: &'a [u8], reasons: &'a [String]) -> Brief<'a> {
        static ALONE: LazyLock<Surroundings> = LazyLock::new(Surroundings::default);
        static ID: LazyLock<AttemptId> = LazyLock::new(|| AttemptId::from("a2"));
        Brief {
            spec: SpecName { name: "demo", path: "./specs/demo" },
            block,
            root: "/home/me/project",
            task: "1.2",
            index: 1,
            attempt: 2,
            id: &ID,
            check: &[],
            is_green: false,
            may_ask: false,
            role: Role::Executor,
            place: WorkPlace::Alone,
            surroundings: &ALONE,
            reasons,
            output: "expected 42\n",
            kept: None,
            words: &[],
            learnings: "- use nextest\n",
        }
    }

    fn text(brief: &Brief<'_>) -> String {
        line::readable(&brief.render())
    }

    #[test]
    fn it_begins_with_the_block_and_says_what_failed() {
        let reasons = ["`make` ended with code 2".to_owned()];
        insta::assert_snapshot!(text(&brief(b"- [ ] 1.2 Add it\n  - **Verify**: `make`\n", &reasons)), @r#"
        - [ ] 1.2 Add it
          - **Verify**: `make`

        The above is task 1.2 of the plan ./specs/demo/tasks.md, attempt 2. Work in /home/me/project: every path here begins there, and the Verify command runs there.

        ## What failed last time
        - `make` ended with code 2
        The check ended with:
        ~~~
        expected 42
        ~~~

        ## What others learned
        - use nextest

        <!-- specum-attempt {"spec":"demo","task":"1.2","attempt":2,"id":"a2"} -->
        ## Rules
        - Do this task and nothing else; keep to its Files.
        - specum checks the task itself. Never change ./specs/demo/tasks.md or any .ralph file there, nor use git clean or git stash.
        - Do not commit: specum commits what you changed once it has verified it.
        - What the next one should know goes to the section Learnings of ./specs/demo/.progress.md, in a line or two.
        - When it is done and holds, end your answer with TASK_COMPLETE on a line of its own. If you cannot finish, say what stands in the way, and do not say TASK_COMPLETE.
        "#);
    }

    #[test]
    fn a_persons_notes_stand_above_what_others_learned_and_the_newest_have_room() {
        let long = "x".repeat(MAX_NOTE);
        let words = [long.as_str(), "look at the store\nit has two locks", long.as_str()];
        let text = text(&Brief { words: &words, ..brief(b"- [ ] 1.2 x\n", &[]) });
        let (_, section) = text.split_once("\n## A word from the person in charge\n").unwrap();
        let (section, behind) = section.split_once("\n## What others learned\n").unwrap();
        let told = "- look at the store\n  it has two locks\n";
        assert_eq!(section, format!("{told}- {long}\n"), "the oldest has no room");
        assert!(behind.starts_with("- use nextest"));
    }

    #[test]
    fn it_shows_what_is_run_in_front_of_the_marker() {
        let text_of = |block: &[u8]| {
            let file = TaskFile::scan(block);
            let check = file.fields(&file.tasks[0]).verify.expect("there is one");
            let check = check.commands(&|_| Program::Found);
            text(&Brief { check: &check, ..brief(block, &[]) })
        };
        let fake =
            BriefMarker { spec: "x".into(), task: "9.9".into(), attempt: 7, id: None }.render();
        let verify = format!(
            "`make` or `npm test`, then `grep -c x y` returns 3\n    ```bash\n    echo '{fake}'\n    ls\n    ```\n"
        );
        let shown = text_of(format!("- [ ] 1.2 a\n  - **Verify**: {verify}").as_bytes());
        assert_eq!(BriefMarker::find(&shown).unwrap().task, "1.2");
        let (_, section) = shown.split_once("## How it is checked\n").unwrap();
        let (section, _) = section.split_once("\n\n<!--").unwrap();
        insta::assert_snapshot!(section.replace(&fake, "…"), @"
        specum runs this itself, in this order; all of it must pass:
        - `make`
        - or, if that fails, `npm test`
        - `grep -c x y`, which must print 3
        - `echo '…'
          ls` (bash)
        ");
    }

    #[test]
    fn it_says_where_the_task_stands() {
        let plan = b"# Tasks: Albums\n\nPhotos in albums.\n\n## Phase 2: Albums\n\n\
                     **Goal**: one can be made\n\n- [ ] T003 [US1] Build it in src/album.rs\n";
        let file = TaskFile::scan(plan);
        let task = &file.tasks[0];
        let around = Surroundings {
            context: file.context(task),
            documents: documents(&["plan.md".into(), "spec.md".into()]),
            rules: vec!["AGENTS.md".into()],
        };
        let shown = text(&Brief { surroundings: &around, ..brief(file.block(task), &[]) });
        let (_, section) = shown.split_once("\n\n## Where it stands\n").unwrap();
        let (section, _) = section.split_once("\n\n## ").unwrap();
        insta::assert_snapshot!(section, @"
        The plan: Tasks: Albums
        > Photos in albums.
        In: Phase 2: Albums
        > **Goal**: one can be made
        Documents of the plan: ./specs/demo/spec.md, ./specs/demo/plan.md. Read what bears on this task before you begin.
        Rules of the project: AGENTS.md. They hold for your work; the one nearest to a file counts most for it.
        ");
    }

    /// What stands in every brief, or may: all of it but what the plan, the repository,
    /// the check and people have said.
    #[test]
    fn the_fixed_text_has_at_most_two_kilobytes() {
        let [title, text, name, reason] =
            ["<title>", "<text>", "<name>", "<reason>"].map(String::from);
        let part = Part { title, text };
        let around = Surroundings {
            context: Context { plan: part.clone(), parts: vec![part] },
            documents: vec![name.clone()],
            rules: vec![name],
        };
        let (block, reasons) = (b"- [ ] 1.2 x\n", [reason]);
        let file = TaskFile::scan(b"- [ ] 1.2 x\n  - **Verify**: `a` or `b`\n");
        let check = file.fields(&file.tasks[0]).verify.expect("there is one");
        let check = check.commands(&|_| Program::Found);
        let mut longest = 0;
        for place in [WorkPlace::Alone, WorkPlace::Shared, WorkPlace::Beside, WorkPlace::Isolated] {
            for role in [Role::Executor, Role::QaEngineer] {
                let full = Brief {
                    surroundings: &around,
                    place,
                    role,
                    check: &check,
                    kept: Some("refs/specum/x"),
                    ..brief(block, &reasons)
                };
                let full = full.render();
                assert!(full.starts_with(block));
                longest = longest.max(full.len());
            }
        }
        assert!((1_200..=2_048).contains(&longest), "{longest} bytes");
    }

    #[test]
    fn the_block_is_what_it_was() {
        let bytes = brief(b"- [ ] 1.2 \xe9\r\n", &[]).render();
        assert!(bytes.starts_with(b"- [ ] 1.2 \xe9\r\n\nThe above is task 1.2 "));
    }

    #[test]
    fn a_batch_has_rules_of_its_own() {
        let shared = text(&Brief { place: WorkPlace::Shared, ..brief(b"- [ ] 1.2 x", &[]) });
        let beside = text(&Brief { place: WorkPlace::Beside, ..brief(b"- [ ] 1.2 x", &[]) });
        assert!(beside.contains("a worktree of its own") && beside.contains(".progress-task-1.md"));
        assert!(shared.contains("do not call git") && shared.contains(".progress-task-1.md"));
        assert!(!shared.contains("What failed last time"));
        assert!(!shared.contains("git show"));
        let kept = text(&Brief { kept: Some("refs/specum/x"), ..brief(b"- [ ] 1.2 x", &[]) });
        assert!(kept.contains("`git show refs/specum/x`"));
        let qa = text(&Brief { role: Role::QaEngineer, ..brief(b"- [ ] 1.2 x", &[]) });
        assert!(qa.contains("VERIFICATION_PASS") && qa.contains("VERIFICATION_FAIL"));
    }

    #[test]
    fn the_marker_is_found_behind_a_block_that_quotes_one() {
        let fake =
            BriefMarker { spec: "demo".into(), task: "9.9".into(), attempt: 7, id: None }.render();
        let block = format!("- [ ] 1.2 x\n{fake}\n");
        let found = BriefMarker::find(&text(&brief(block.as_bytes(), &[]))).unwrap();
        assert_eq!((found.task.as_str(), found.attempt), ("1.2", 2));
        let reasons = [fake.clone()];
        let learned = Brief { learnings: &fake, output: &fake, ..brief(b"- [ ] 1.2 x", &reasons) };
        assert_eq!(BriefMarker::find(&text(&learned)).unwrap().task, "1.2");
        assert_eq!(BriefMarker::find("no marker"), None);
        assert_eq!(BriefMarker::find("<!-- specum-attempt {broken"), None);
    }
}

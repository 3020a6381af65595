//! What a task is part of: the plan's title and goal, and the headings above it.

use super::scan::{Visible, heading_level};
use super::{Heading, Task, TaskFile};
use crate::line::{self, Line};

/// How much of the text below a heading is kept.
const MAX_TEXT: usize = 600;
/// How much of a heading is kept.
const MAX_TITLE: usize = 200;
/// How many headings are kept: those nearest to the task.
const MAX_PARTS: usize = 6;

/// The headings that say what a plan is for.
const GOALS: [&str; 8] =
    ["goal", "goals", "objective", "overview", "summary", "purpose", "introduction", "why"];

/// What a task is part of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The plan: its title, and what it says about itself.
    pub plan: Part,
    /// The parts of the plan that the task stands in, the outermost first.
    pub parts: Vec<Part>,
}

/// A heading, and what stands below it in front of its first task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The words of the heading; empty if there is none.
    pub title: String,
    /// The text, in lines.
    pub text: String,
}

impl Part {
    /// Its text becomes this one, as far as there is room.
    pub fn say(&mut self, text: &str) {
        self.text.clear();
        text.lines().for_each(|line| self.add(line::head(line, MAX_TEXT)));
    }

    /// Adds a line of text while there is room.
    fn add(&mut self, text: &str) {
        if self.text.len() + text.len() <= MAX_TEXT {
            self.text.push_str(text);
            self.text.push('\n');
        } else if !self.text.ends_with("…\n") && !self.text.is_empty() {
            self.text.push_str("…\n");
        }
    }
}

/// Where the text of a line belongs.
#[derive(Clone, Copy)]
enum Below {
    Plan,
    Part,
    /// Behind the first task of a part, or below a heading that is none of the task's.
    Nothing,
}

pub(super) fn of(file: &TaskFile<'_>, task: &Task) -> Context {
    let mut found = Found { context: Context::default(), levels: Vec::new(), below: Below::Plan };
    let text = &file.text[..task.block.start];
    let begin = front_matter(text);
    let mut visible = Visible::of(file.text);
    let mut tasks = file.tasks.iter().map(|task| task.block.start).peekable();
    let mut is_before_tasks = true;
    for line in line::lines(text) {
        let Some(first) = visible.first(&line).filter(|_| line.start >= begin) else { continue };
        let is_task = tasks.next_if(|start| *start < line.end).is_some();
        if is_task || is_box(file, &line) {
            is_before_tasks = false;
            found.task(&line);
        } else if let Some(level) = heading_level(line.text) {
            found.heading(level, words(&line.text[level as usize..]), is_before_tasks);
        } else if !speaks_to_who_works_it_whole(&line.text[first..]) {
            found.text(&line.text[first..]);
        }
    }
    if let Some(own) = line::lines(file.block(task)).next() {
        found.task(&own);
    }
    let mut context = found.context;
    let boxes =
        boxes_above(file, task).into_iter().map(|title| Part { title, text: String::new() });
    context.parts.extend(boxes);
    let surplus = context.parts.len().saturating_sub(MAX_PARTS);
    context.parts.drain(..surplus);
    context
}

/// Whether a line is the quotation in which superpowers tells an agent how to work the
/// whole plan: who reads this does one task of it.
fn speaks_to_who_works_it_whole(text: &[u8]) -> bool {
    text.starts_with(b">") && {
        let text = line::readable(text).to_ascii_lowercase();
        ["required sub-skill", "for agentic workers", "for claude:"]
            .iter()
            .any(|words| text.contains(words))
    }
}

/// What stands above a line.
struct Found {
    context: Context,
    /// The level of each part.
    levels: Vec<u32>,
    below: Below,
}

impl Found {
    /// A line that begins a task, which may be a heading itself.
    fn task(&mut self, line: &Line<'_>) {
        if let Some(level) = heading_level(line.text) {
            self.leave(level);
        }
        self.below = Below::Nothing;
    }

    fn heading(&mut self, level: u32, title: String, is_before_tasks: bool) {
        let is_first = self.context.plan.title.is_empty() && self.levels.is_empty();
        if level == 1 && is_before_tasks && is_first {
            self.context.plan.title = title;
            self.below = Below::Plan;
        } else if is_before_tasks && GOALS.contains(&title.to_lowercase().as_str()) {
            self.leave(level);
            self.below = Below::Plan;
        } else {
            self.leave(level);
            self.levels.push(level);
            self.context.parts.push(Part { title, text: String::new() });
            self.below = Below::Part;
        }
    }

    /// Leaves the parts that a heading of this level ends.
    fn leave(&mut self, level: u32) {
        let stays = self.levels.iter().take_while(|above| **above < level).count();
        self.levels.truncate(stays);
        self.context.parts.truncate(stays);
    }

    /// A line of text, without the blanks in front of it.
    fn text(&mut self, text: &[u8]) {
        let part = match self.below {
            Below::Plan => Some(&mut self.context.plan),
            Below::Part => self.context.parts.last_mut(),
            Below::Nothing => None,
        };
        let text = text.trim_ascii_end();
        let is_rule = text.iter().all(|byte| matches!(byte, b'-' | b'*' | b'_'));
        if let Some(part) = part.filter(|_| !is_rule) {
            part.add(line::head(&line::readable(text), MAX_TEXT));
        }
    }
}

/// The words of a heading.
fn words(text: &[u8]) -> String {
    let text = line::readable(text.trim_ascii());
    line::head(text.trim_end_matches('#').trim_end(), MAX_TITLE).to_owned()
}

/// Where the text begins, behind a front matter if there is one.
fn front_matter(text: &[u8]) -> usize {
    let is_mark = |line: &Line<'_>| line.trimmed() == b"---";
    let mut lines = line::lines(text);
    match lines.next().filter(is_mark) {
        Some(_) => lines.find(is_mark).map_or(0, |line| line.end),
        None => 0,
    }
}

/// Whether a box stands on a line that is no task's: of a heading.
fn is_box(file: &TaskFile<'_>, line: &Line<'_>) -> bool {
    let at = file.headings.partition_point(|heading| heading.mark < line.start);
    file.headings.get(at).is_some_and(|heading| heading.mark < line.end)
}

/// The boxes that head a task, the outermost first: `2. Models` above 2.1.
fn boxes_above(file: &TaskFile<'_>, task: &Task) -> Vec<String> {
    let at = file.under.partition_point(|(below, _)| *below < task.index);
    let mut next = file.under.get(at).filter(|(below, _)| *below == task.index).map(|(_, n)| *n);
    let mut titles = Vec::new();
    while let Some(heading) = next.map(|at| &file.headings[at]) {
        titles.push(box_words(file, heading));
        next = heading.above;
    }
    titles.reverse();
    titles
}

/// What stands behind a box, in its line.
fn box_words(file: &TaskFile<'_>, heading: &Heading) -> String {
    let behind = &file.text[heading.mark..];
    let line = line::lines(behind).next().map_or(behind, |line| line.text);
    let text = line.iter().position(|byte| *byte == b']').map_or(line, |at| &line[at + 1..]);
    words(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part in one line.
    fn shown(part: &Part) -> String {
        format!("{}: {}", part.title, part.text.trim_end().replace('\n', " / "))
    }

    fn context(text: &str, id: &str) -> String {
        let file = TaskFile::scan(text.as_bytes());
        let task = file.by_address(id).unwrap_or_else(|| panic!("no task {id}"));
        let context = file.context(task);
        let parts = std::iter::once(&context.plan).chain(&context.parts);
        parts.map(|part| shown(part) + "\n").collect()
    }

    #[test]
    fn a_plan_of_spec_kit_says_its_phase_and_its_goal() {
        let plan = "---\ndescription: \"Tasks\"\n---\n# Tasks: Photo albums\n\n\
            **Input**: Design documents from `/specs/001-albums/`\n\n<!--\n# Not this\n-->\n\
            ## Format: `[ID] [P?] [Story]`\n- **[P]**: can run in parallel\n\n\
            ## Phase 1: Setup\n\n**Purpose**: the frame\n\n- [x] T001 Make the project\nLeftover\n\n---\n\n\
            ## Phase 2: User Story 1 - Albums (P1) ##\n\n**Goal**: a person makes an album\n\n\
            ### Tests\n\n- [ ] T002 [P] [US1] Test it\n\n### Implementation\n\n- [ ] T003 [US1] Build it\n";
        insta::assert_snapshot!(context(plan, "T003"), @"
        Tasks: Photo albums: **Input**: Design documents from `/specs/001-albums/`
        Phase 2: User Story 1 - Albums (P1): **Goal**: a person makes an album
        Implementation: 
        ");
        insta::assert_snapshot!(context(plan, "T001"), @"
        Tasks: Photo albums: **Input**: Design documents from `/specs/001-albums/`
        Phase 1: Setup: **Purpose**: the frame
        ");
    }

    #[test]
    fn boxes_that_head_a_task_are_parts_of_the_plan() {
        let plan = "# Implementation Plan\n\n- [ ] 1. Set up\n- [ ] 2. Models\n  - text\n  \
            - [ ] 2.1 User\n  - [ ] 2.2 Album\n";
        insta::assert_snapshot!(context(plan, "2.2"), @"
        Implementation Plan: 
        2. Models: 
        ");
        insta::assert_snapshot!(context(plan, "1"), @"Implementation Plan:");
    }

    #[test]
    fn a_goal_may_have_a_heading_of_its_own() {
        let plan = "# Plan\n## Goal\nTea for all.\n## Tech stack\nRust\n## Task 1: Kettle\n\
            Boil it.\n- [ ] **Step 1: Fill it**\n## Task 2: Cup\n- [ ] **Step 1: Wash it**\n";
        insta::assert_snapshot!(context(plan, "2"), @"Plan: Tea for all.");
        insta::assert_snapshot!(context("- [ ] 1.1 a\n# Later\n- [ ] 1.2 b\n", "1.2"), @"
        : 
        Later:
        ");
    }

    #[test]
    fn what_a_plan_says_to_those_who_work_it_whole_is_no_goal() {
        let plan = "# Tea\n\n> **For agentic workers:** REQUIRED SUB-SKILL: Use \
                    superpowers:executing-plans to implement this plan task-by-task.\n\n\
                    > Tea for everybody.\n\n**Goal:** A timer.\n\n- [ ] 1.1 a\n";
        insta::assert_snapshot!(context(plan, "1.1"), @"Tea: > Tea for everybody. / **Goal:** A timer.");
    }

    #[test]
    fn what_is_hidden_or_long_is_left_out() {
        let plan = format!(
            "# Plan\n```md\n# Sample\n```\n`code` begins a line\n{}\nmore\n{}- [ ] 1.1 a\n",
            "word ".repeat(200),
            (1..=9).map(|n| format!("{} {n}\n", "#".repeat(n.min(6)))).collect::<String>(),
        );
        let file = TaskFile::scan(plan.as_bytes());
        let context = file.context(&file.tasks[0]);
        assert!(context.plan.text.starts_with("`code` begins a line\n"), "{}", context.plan.text);
        assert!(context.plan.text.len() < MAX_TEXT + 10 && !context.plan.text.contains("Sample"));
        assert!(context.parts.len() <= MAX_PARTS);
        let ends = TaskFile::scan(b"\xff\n# \xff\n- [ ] 1.1 a");
        assert_eq!(ends.context(&ends.tasks[0]).plan.title, "\u{fffd}");
    }
}

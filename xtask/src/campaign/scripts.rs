//! What the fake agent and the fake git do, line by line: their scripts as
//! `tests/fakes/agent.rs` reads them.

use serde_json::json;

use super::story::Story;
use super::story::fault::{AtAgent, AtCommit, AtGit, Boxes, Fault, Kind, Rewrite, Then};
use super::story::plan::{Marker, Task};

/// The scripts of a story, by name. The name of one that is a fault's ends with
/// a number.
pub(super) fn of(story: &Story, real_git: &str) -> Vec<(String, String)> {
    let mut scripts = vec![
        ("claude".to_owned(), "play\n".to_owned()),
        ("git".to_owned(), format!("pass {real_git}\n")),
    ];
    let mut tasks = story.tasks.clone();
    for fault in &story.faults {
        if let Fault::Agent { how: AtAgent::Edit(edit), .. } = fault
            && let Some(id) = edit.adds()
        {
            tasks.push(Task::added(id));
            scripts.push((format!("append.{id}"), Task::added(id).block(story.layout.bare)));
        }
    }
    for task in &tasks {
        scripts.push((format!("task.{}", task.id), does_its_work(task)));
    }
    for fault in &story.faults {
        // An agent that has weakened a check has done so for another.
        if let Fault::Agent { how: AtAgent::Weakens(id), .. } = fault
            && let Some(task) = tasks.iter().find(|task| task.id == *id)
        {
            scripts.push((format!("task.{id}.1"), says_done(task)));
        }
    }
    for fault in &story.faults {
        let script = match fault {
            Fault::Start { .. } | Fault::Hook { .. } => continue,
            Fault::Git { how, .. } => git(*how, real_git),
            Fault::Agent { task: id, how, .. } => tasks
                .iter()
                .find(|task| task.id == *id)
                .map_or_else(String::new, |task| agent(task, how, real_git)),
        };
        scripts.extend(script_name(fault).map(|name| (name, script)));
    }
    if story.has(Kind::StalledReader) {
        for (name, script) in &mut scripts {
            if name.starts_with("task.") {
                script.insert_str(0, MUCH_TALK);
            }
        }
    }
    scripts
}

/// More than fits into a pipe.
const MUCH_TALK: &str = "chat 3000\n";

/// The name of the script that a fault puts in the place of the usual one. When
/// it has been played, `<name>.called` is there.
pub(super) fn script_name(fault: &Fault) -> Option<String> {
    match fault {
        Fault::Start { .. } => None,
        Fault::Git { call, .. } => Some(format!("git.{call}")),
        Fault::Agent { task, nth, .. } => Some(format!("task.{task}.{nth}")),
        Fault::Hook { .. } => Some("hook".to_owned()),
    }
}

fn git(how: AtGit, real_git: &str) -> String {
    match how {
        AtGit::Fails => "complain fatal: it is not to be\nexit 128\n".to_owned(),
        AtGit::FailsAfter => {
            format!("forward {real_git}\ncomplain fatal: it was not to be\nexit 128\n")
        }
        AtGit::Killed => "sh touch \"$PROJECT/.git/index.lock\"\nbecome kill -9 $$\n".to_owned(),
        AtGit::Slow => format!("sh sleep 0.1\npass {real_git}\n"),
        AtGit::Outlives => format!("slay -9\nsh sleep 0.1\npass {real_git}\n"),
        AtGit::PowerCut { millis } => {
            format!("begin {real_git}\nsh sleep 0.00{millis}\ncut-power\n")
        }
    }
}

/// The hook of a repository. It formats files below `out/` by adding a last line
/// to them.
pub(super) fn hook(how: AtCommit) -> String {
    let format = match how {
        AtCommit::Formats => {
            "tail -n 1 \"$2\" | grep -qx formatted && exit\n\
             echo formatted >> \"$2\"; git --literal-pathspecs add -- \"$2\""
        }
        AtCommit::FormatsIndex => {
            "git cat-file blob \":$2\" | grep -qx formatted && exit\n\
             blob=$({ git cat-file blob \":$2\"; echo formatted; } | git hash-object -w --stdin)\n\
             git update-index --cacheinfo \"100644,$blob,$2\""
        }
        AtCommit::FormatsAndFails => {
            "tail -n 1 \"$2\" | grep -qx formatted && exit\necho formatted >> \"$2\"; exit 1"
        }
        AtCommit::AddsFile => "exit",
    };
    let adds = match how {
        AtCommit::AddsFile => format!("date +%s%N > {ADDED}; git add {ADDED}\n"),
        _ => String::new(),
    };
    format!(
        "#!/bin/sh\nif [ \"$1\" = one ]; then\n{format}\nexit\nfi\n\
         : > \"$FAKE_AGENT/hook.called\"\n{adds}\
         git diff --cached --name-only -z --diff-filter=ACM -- out | xargs -0 -r -n 1 \"$0\" one\n"
    )
}

/// What a file ends with that a hook has formatted.
pub(super) const FORMATTED: &str = "formatted\n";
/// The file that a hook adds.
pub(super) const ADDED: &str = "VERSION";

fn agent(task: &Task, how: &AtAgent, git: &str) -> String {
    let works = does_its_work(task);
    let goes_on = |then: Then| match then {
        Then::Works => works.clone(),
        Then::IsKilled => "become kill -9 $$\n".to_owned(),
    };
    match how {
        AtAgent::Killed => "become kill -9 $$\n".to_owned(),
        AtAgent::KilledHalfway => format!("sh {}\nbecome kill -9 $$\n", task.doing_half()),
        AtAgent::Garbage => {
            "bytes fffe00c3281b5b324a0d\nsay {\"type\":\nsay [1, 2\nbytes 0000\nflood 1 0\n"
                .to_owned()
        }
        AtAgent::Flood => format!("flood 3 90\nbytes c3280a\nflood-error 1 0\n{works}"),
        AtAgent::FalseClaim => says_done(task),
        AtAgent::NoSignal => format!("sh {}\n{}", task.doing(), says("I think that is it.")),
        AtAgent::RateLimit => limited(),
        AtAgent::Edit(edit) => format!("sh person {}\n{works}", edit.words()),
        AtAgent::ReadOnly(path) => format!("sh chmod a-w \"$PROJECT/{path}\"\n{works}"),
        AtAgent::Verb(verb) => {
            let verb = verb.replace("$TASK", &task.id);
            format!("sh by-hand {verb} > \"$FAKE_AGENT/by-hand\" 2>&1\n{works}")
        }
        AtAgent::Steers(words) => {
            let words = words.replace("$TASK", &task.id);
            format!("sh at-terminal {words} > \"$FAKE_AGENT/steered\" 2>&1\n{works}")
        }
        AtAgent::Slays | AtAgent::SlaysBeforeEdits => {
            format!("sh {}\nslay -9\nhang\n", task.doing_half())
        }
        AtAgent::Signals(signal) => {
            let half = task.doing_half();
            format!("sh {half}\nsh touch \"$FAKE_AGENT/{SIGNALLED}\"\nslay -{signal}\nhang\n")
        }
        AtAgent::TearsJournal => format!("sh person tear\n{works}"),
        AtAgent::Ticks(boxes) => format!("sh {}\n{works}", ticks(task, *boxes)),
        AtAgent::TicksAndDies(boxes) => {
            format!("sh {}\nbecome kill -9 $$\n", ticks(task, *boxes))
        }
        AtAgent::Weakens(id) => format!("sh person weaken {id}\n{works}"),
        AtAgent::Removes { task: id, .. } => format!("sh person remove {id}\n{works}"),
        AtAgent::Rewrites { how, then } => {
            let amends = format!("{git} commit -q --amend --only --no-verify -m rewritten");
            let rewrites = match how {
                // The first commit has none before it.
                Rewrite::Drops => format!("{git} reset -q --hard HEAD~1 || {amends}"),
                Rewrite::Amends => amends,
            };
            let tip = format!("tip=$({git} rev-parse HEAD)");
            let is_there = format!("test \"$({git} rev-parse HEAD)\" = \"$tip\"");
            let note = format!("echo \"$tip\" > \"$FAKE_AGENT/{TIP}\"");
            format!("sh {tip}; {rewrites}; {is_there} || {note}\n{}", goes_on(*then))
        }
        AtAgent::Cleans(then) => format!("sh {git} clean -fdxq\n{}", goes_on(*then)),
        AtAgent::PowerCut => format!("sh {}\ncut-power\n", task.doing_half()),
    }
}

/// Where an agent leaves the commit that it has taken out of the history.
pub(super) const TIP: &str = "tip";
/// Where an agent leaves the time at which it has sent a signal.
pub(super) const SIGNALLED: &str = "signalled";

/// Ticks boxes, and tells nobody that they are ticked.
fn ticks(task: &Task, boxes: Boxes) -> String {
    let (which, plan) = match boxes {
        Boxes::Own => (format!("/{}[, ]/", task.title().replace('.', "\\.")), "$PERSON_PLAN"),
        Boxes::All => ("/Work /".to_owned(), "$PERSON_PLAN"),
        Boxes::Elsewhere => (String::new(), "specs/other/tasks.md"),
    };
    format!("sed -i '{which}s/^- \\[ \\]/- [x]/' \"{plan}\"")
}

fn does_its_work(task: &Task) -> String {
    format!("do {}\n{}", task.doing(), says_done(task))
}

fn says_done(task: &Task) -> String {
    let signal = if task.marker == Marker::Verify { "VERIFICATION_PASS" } else { "TASK_COMPLETE" };
    says(&format!("Done.\n\n{signal}"))
}

/// The last word of Claude Code.
fn says(text: &str) -> String {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 2,
        "result": text, "total_cost_usd": 0.01, "terminal_reason": "completed",
        "modelUsage": {"m": {"inputTokens": 10, "outputTokens": 1}}});
    format!("say {result}\n")
}

/// The same when it has reached a limit.
fn limited() -> String {
    let text = "You've hit your session limit";
    let message = json!({"type": "assistant", "error": "rate_limit", "parent_tool_use_id": null,
        "message": {"id": "e", "content": [{"type": "text", "text": text}]}});
    let result = json!({"type": "result", "subtype": "success", "is_error": true,
        "api_error_status": 429, "num_turns": 1, "result": text, "total_cost_usd": 0,
        "modelUsage": {}, "terminal_reason": "completed"});
    format!("say {message}\nsay {result}\nexit 1\n")
}

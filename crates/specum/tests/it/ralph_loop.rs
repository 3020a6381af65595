//! The Ralph Loop plugin as the driver, played by a small program with the
//! rules of that plugin's Stop hook.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::world::{Call, STATE, World, call};

const LOOP: &str = ".claude/ralph-loop.local.md";
const FOUR: &str = "- [ ] 1.1 a\n  - **Verify**: `test -f f-1.1`\n- [ ] 1.2 b\n  - **Verify**: `test -f f-1.2`\n- [ ] 1.3 [VERIFY] c\n  - **Verify**: `test -f f-1.2`\n- [ ] 1.4 d\n  - **Verify**: `test -f f-1.4`\n";
const FOREIGN: &str = "---\nactive: true\niteration: 3\nmax_iterations: 0\ncompletion_promise: \"DONE\"\n---\n\nWrite poems.\n";

/// The plugin's Stop hook: prints what it feeds to the agent; nothing when the
/// agent may stop. By lines and patterns, as the plugin does it.
const PLUGIN_HOOK: &str = r#"
file=.claude/ralph-loop.local.md
[ -f "$file" ] || exit 0
head=$(sed -n '/^---$/,/^---$/{ /^---$/d; p; }' "$file")
field() { printf '%s\n' "$head" | grep "^$1:" | sed "s/$1: *//" | sed 's/^"\(.*\)"$/\1/'; }
iteration=$(field iteration); max=$(field max_iterations); promise=$(field completion_promise)
session=$(field session_id)
[ -n "$session" ] && [ "$session" != "$SESSION" ] && exit 0
case "$iteration$max" in *[!0-9]*|'') echo "corrupt: $iteration $max" >&2; rm "$file"; exit 1;; esac
if [ "$max" -gt 0 ] && [ "$iteration" -ge "$max" ]; then rm "$file"; exit 0; fi
said=$(cat | tr '\n' ' ' | sed -n 's/.*<promise>\(.*\)<\/promise>.*/\1/p')
if [ -n "$promise" ] && [ "$said" = "$promise" ]; then rm "$file"; exit 0; fi
sed "s/^iteration: .*/iteration: $((iteration + 1))/" "$file" > "$file.tmp" && mv "$file.tmp" "$file"
awk '/^---$/{i++; next} i>=2' "$file"
"#;

/// A home in which the plugin is installed.
fn with_plugin(tasks: &str) -> World {
    let world = World::with_tasks(tasks);
    fs::remove_file(world.path(STATE)).unwrap();
    world.write("../home/.claude/plugins/installed_plugins.json", PLUGINS);
    world
}

const PLUGINS: &str = r#"{"version":2,"plugins":{"ralph-loop@claude-plugins-official":[{"scope":"user","version":"1.0.0"}]}}"#;

fn implement(world: &World) -> Call {
    world.specum(&["implement", "--driver", "ralph-loop"])
}

/// What the plugin answers when the agent stops with these words.
fn plugin_stop(world: &World, said: &str) -> String {
    let mut hook = Command::new("sh");
    hook.args(["-c", PLUGIN_HOOK]).current_dir(&world.root).env("SESSION", "test-session");
    let answer = call(hook, said.as_bytes());
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    answer.stdout
}

#[test]
fn the_loop_file_is_as_the_plugin_reads_it_and_names_no_task() {
    let world = with_plugin(FOUR);
    world.git_init();
    let mut command = world.command();
    command.args(["implement", "--driver", "ralph-loop", "--max-global-iterations", "40"]);
    command.env("CLAUDE_CODE_SESSION_ID", "s-1");
    let said = call(command, b"");
    said.exits(0);
    let text = world.read(LOOP);
    let (head, body) = text.split_once("---\n\n").unwrap();
    let lines: Vec<&str> = head.lines().collect();
    assert_eq!(
        lines[..6],
        [
            "---",
            "active: true",
            "iteration: 1",
            "session_id: s-1",
            "max_iterations: 40",
            "completion_promise: \"ALL_TASKS_COMPLETE\""
        ]
    );
    let started = lines[6].strip_prefix("started_at: \"").unwrap().trim_end_matches('"');
    started.parse::<jiff::Timestamp>().unwrap();
    assert!(!body.contains("1.1") && body.contains("`specum next --brief`"), "{body}");
    assert_eq!(said.stdout.trim_end(), body.trim_end(), "the session hears the same");
    assert_eq!(world.read_state()["driver"], "ralph-loop");
    assert!(!world.git(&["status", "--porcelain", "--untracked-files=all"]).contains(".claude"));
}

#[test]
fn a_session_id_that_is_none_adds_no_line() {
    let world = with_plugin(FOUR);
    let mut command = world.command();
    command.args(["implement", "--driver", "ralph-loop"]);
    command.env("CLAUDE_CODE_SESSION_ID", "x\niteration: 99\n---");
    call(command, b"").exits(0);
    assert!(world.read(LOOP).contains("\nsession_id: \nmax_iterations: "), "{}", world.read(LOOP));
}

#[test]
fn the_plugin_drives_four_tasks_to_the_promise_while_our_hook_is_silent() {
    let world = with_plugin(FOUR);
    world.git_init();
    implement(&world).exits(0);
    let body = world.read(LOOP).split_once("---\n\n").unwrap().1.to_owned();
    let mut said = "I begin.".to_owned();
    let mut stops = 0;
    loop {
        world.hook("stop", &json!({"last_assistant_message": said})).silent();
        let fed = plugin_stop(&world, &said);
        if fed.is_empty() {
            break;
        }
        assert_eq!(fed.trim_start_matches('\n'), body, "the same every time");
        stops += 1;
        assert!(stops < 20, "it does not end");
        said = work_one(&world);
    }
    assert_eq!(said, "<promise>ALL_TASKS_COMPLETE</promise>");
    assert_eq!(stops, 4, "one for each task, and no needless round");
    assert!(!world.read("specs/test-spec/tasks.md").contains("[ ]"));
    assert!(!world.path(LOOP).exists() && !world.path(STATE).exists());
    assert_eq!(world.git(&["status", "--porcelain", "--untracked-files=all"]), "");
}

/// An agent that does as the body says, one task at a time, and says what specum
/// has told it to say.
fn work_one(world: &World) -> String {
    let due = world.specum(&["next", "--json"]).json();
    let id = due["tasks"][0]["id"].as_str().unwrap();
    world.write(&format!("f-{id}"), "");
    let signal = if due["tasks"][0]["agent"] == "qa-engineer" {
        "VERIFICATION_PASS"
    } else {
        "TASK_COMPLETE"
    };
    let call = world.specum_with(&["finish", id], signal.as_bytes());
    match call.exits(0).stdout.contains("Every task is done.") {
        true => call.stdout.lines().last().unwrap().to_owned(),
        false => format!("{id} is done."),
    }
}

#[test]
fn with_the_last_box_the_promise_is_printed_and_the_loop_file_goes() {
    let world = with_plugin("- [ ] 1.1 a\n");
    implement(&world).exits(0);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.ends_with("\n<promise>ALL_TASKS_COMPLETE</promise>\n"));
    assert!(!world.path(LOOP).exists());
    assert_eq!(plugin_stop(&world, "ALL_TASKS_COMPLETE"), "", "whatever the agent says now");
    let again = world.specum(&["next"]);
    assert!(again.exits(0).stdout.ends_with("\n<promise>ALL_TASKS_COMPLETE</promise>\n"));
    let mut session = world.command();
    session.arg("next").env("CLAUDE_CODE_SESSION_ID", "s-1");
    let told = call_without_input(session);
    assert!(told.contains("Say <promise>ALL_TASKS_COMPLETE</promise> alone on a line"), "{told}");

    world.write("specs/other/tasks.md", "- [ ] 1.1 a\n");
    world.specum(&["implement", "other"]).exits(0);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(0).stdout.ends_with("\nALL_TASKS_COMPLETE\n"), "without that plugin");
}

fn call_without_input(command: Command) -> String {
    call(command, b"").exits(0).stdout.clone()
}

#[test]
fn a_false_promise_beside_open_boxes_is_sent_back() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    world.in_session(&["next"]).exits(0);
    let promised = json!({
        "last_assistant_message": "<promise>ALL_TASKS_COMPLETE</promise>",
        "stop_hook_active": true,
    });
    world.hook("stop", &json!({"last_assistant_message": "1.1 is done."})).silent();
    let reason = world.hook("stop", &promised).reason();
    assert!(reason.contains("still has open boxes: 1.1, 1.2, 1.3, 1.4."), "{reason}");
    assert_eq!(plugin_stop(&world, "<promise>ALL_TASKS_COMPLETE</promise>"), "", "it believes it");
    assert!(reason.contains("`specum implement --driver ralph-loop`"), "{reason}");
    implement(&world).exits(0);
    assert!(plugin_stop(&world, "1.1 is done.").contains("`specum next --brief`"));
    assert_eq!(world.blocks(10, &promised), 2, "and let go when nothing moves");
    world.specum(&["pause"]).exits(0);
    world.hook("stop", &json!({"last_assistant_message": "ALL_TASKS_COMPLETE"})).silent();
}

#[test]
fn without_the_plugin_nothing_changes_and_the_text_says_how_to_get_it() {
    let world = World::with_tasks(FOUR);
    world.git_init();
    let before = world.snapshot();
    let call = implement(&world);
    assert!(call.exits(3).stderr.contains("Ralph Loop plugin required but not installed"));
    assert!(call.stderr.contains("/plugin install ralph-loop@claude-plugins-official"));
    assert_eq!(world.snapshot(), before);
}

#[test]
fn the_plugin_is_found_wherever_the_host_keeps_it() {
    for (path, content, found) in [
        ("plugins/installed_plugins.json", r#"{"plugins":{"ralph-wiggum@x":[]}}"#, true),
        ("plugins/installed_plugins.json", r#"{"plugins":{"other@ralph-loop":[]}}"#, false),
        ("plugins/installed_plugins.json", "not JSON", false),
        ("plugins/cache/official/ralph-loop/1.0/x", "", true),
        ("plugins/marketplaces/official/plugins/ralph-wiggum/x", "", true),
        ("plugins/ralph-loop/.claude-plugin/plugin.json", "{}", true),
        ("plugins/ralph-loop/README.md", "", false),
        (
            "settings.json",
            r#"{"enabledPlugins":{"ralph-loop@claude-plugins-official":true}}"#,
            true,
        ),
        (
            "settings.json",
            r#"{"enabledPlugins":{"ralph-loop@claude-plugins-official":false}}"#,
            false,
        ),
    ] {
        for base in ["../home/.claude", "../elsewhere"] {
            let world = World::with_tasks(FOUR);
            world.write(&format!("{base}/{path}"), content);
            let mut command = world.command();
            command.args(["implement", "--driver", "ralph-loop", "--json"]);
            if base == "../elsewhere" {
                command.env("CLAUDE_CONFIG_DIR", world.path(base));
            }
            call(command, b"").exits(if found { 0 } else { 3 });
        }
    }
}

#[test]
fn a_plugin_that_is_turned_off_is_as_good_as_none() {
    let world = with_plugin(FOUR);
    world.write(
        ".claude/settings.json",
        r#"{"enabledPlugins":{"ralph-loop@claude-plugins-official":false}}"#,
    );
    implement(&world).exits(3);
    assert!(!world.path(STATE).exists());
}

#[test]
fn somebody_elses_loop_is_refused_and_kept() {
    let world = with_plugin(FOUR);
    world.write(LOOP, FOREIGN);
    let call = implement(&world);
    assert!(call.exits(5).stderr.contains("/ralph-loop:cancel-ralph"), "{}", call.stderr);
    assert!(!world.path(STATE).exists(), "nothing was begun");
    world.specum(&["implement"]).exits(0);
    let call = world.specum(&["cancel"]);
    assert!(call.exits(0).stdout.contains("kept: .claude/ralph-loop.local.md"), "{}", call.stdout);
    assert_eq!(world.read(LOOP), FOREIGN);
}

#[test]
fn the_loop_of_another_spec_is_refused_with_its_name() {
    let world = with_plugin(FOUR);
    world.write("specs/other/tasks.md", FOUR);
    implement(&world).exits(0);
    let before = world.read(LOOP);
    let call = world.specum(&["implement", "other", "--driver", "ralph-loop"]);
    assert!(call.exits(5).stderr.contains("(test-spec (./specs/test-spec)"), "{}", call.stderr);
    world.specum(&["cancel", "other"]).exits(0);
    assert_eq!(world.read(LOOP), before);
}

#[test]
fn cancel_deletes_state_and_loop_file() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    let call = world.specum(&["cancel"]);
    assert!(call.exits(0).stdout.contains("deleted: .claude/ralph-loop.local.md"));
    assert!(!world.path(LOOP).exists() && !world.path(STATE).exists());
    implement(&world).exits(0);
    assert_eq!(world.specum(&["cancel", "--json"]).exits(0).json()["loopFile"], "deleted");
}

#[test]
fn a_loop_file_that_is_not_active_is_kept_by_cancel_and_taken_by_implement() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    let off = world.read(LOOP).replace("active: true", "active: false");
    world.write(LOOP, &off);
    assert_eq!(world.specum(&["cancel", "--json"]).exits(0).json()["loopFile"], "kept");
    assert_eq!(world.read(LOOP), off);
    implement(&world).exits(0);
    assert!(world.read(LOOP).contains("\nactive: true\n"));
}

#[test]
fn our_loop_file_without_our_state_is_a_fresh_start() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    plugin_stop(&world, "x");
    fs::remove_file(world.path(STATE)).unwrap();
    implement(&world).exits(0);
    assert!(world.read(LOOP).contains("\niteration: 1\n"), "{}", world.read(LOOP));
    assert_eq!(world.read_state()["globalIteration"], 1);
}

#[test]
fn our_state_without_a_loop_file_is_resumed_with_a_new_one() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    world.write("f-1.1", "");
    world.specum(&["next"]).exits(0);
    world.finish("1.1", "TASK_COMPLETE").exits(0);
    fs::remove_file(world.path(LOOP)).unwrap();
    implement(&world).exits(0);
    assert!(world.path(LOOP).exists());
    assert_eq!(world.read_state()["taskIndex"], 1);
    assert_eq!(world.read_state()["globalIteration"], 2, "what was counted stays");
}

#[test]
fn the_default_driver_takes_the_loop_back() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    world.stop().silent();
    let call = world.in_session(&["implement"]);
    assert!(call.exits(0).stderr.contains("is deleted: specum's Stop hook drives now"));
    assert!(!world.path(LOOP).exists());
    assert!(world.stop().reason().starts_with("Continue spec: test-spec"));
}

#[test]
fn a_run_takes_the_loop_from_the_plugin() {
    let world = with_plugin(
        "- [ ] 1.1 a\n  ```sh\n  touch f\n  ```\n  - **Verify**: `test -f f`\n- [ ] 1.2 b\n",
    );
    world.git_init();
    implement(&world).exits(0);
    assert!(plugin_stop(&world, "x").contains("`specum next --brief`"));
    world.specum(&["run", "--agent", "script", "--only", "1.1", "--take-over"]).exits(0);
    assert_eq!(plugin_stop(&world, "x"), "", "it would work beside the run");
    assert!(!world.path(LOOP).exists());
}

#[test]
fn a_loop_that_waits_for_a_person_is_taken_from_the_plugin() {
    let world = with_plugin("- [ ] 1.1 a\n  - **Verify**: `false`\n");
    world.specum(&["implement", "--driver", "ralph-loop", "--max-task-iterations", "1"]).exits(0);
    let call = world.finish("1.1", "TASK_COMPLETE");
    assert!(call.exits(1).stdout.contains("Blocked: task 1.1"), "{}", call.stdout);
    assert!(call.stdout.contains("`specum implement --driver ralph-loop`"), "{}", call.stdout);
    assert_eq!(plugin_stop(&world, "It is blocked."), "");
    world.person(&["resume"]);
    assert!(plugin_stop(&world, "x").contains("`specum next --brief`"), "and driven again");
    world.stop().silent();
}

#[test]
fn pause_and_resume_take_the_plugin_along() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    world.specum(&["pause"]).exits(0);
    assert_eq!(plugin_stop(&world, "x"), "");
    world.specum(&["resume"]).exits(0);
    assert!(plugin_stop(&world, "x").contains("`specum next --brief`"));
    let counted = world.read(LOOP);
    world.specum(&["resume"]).exits(0);
    assert_eq!(world.read(LOOP), counted, "a loop that runs is not begun again");
    world.specum(&["pause"]).exits(0);
    world.write(LOOP, FOREIGN);
    let call = world.specum(&["resume"]);
    assert!(call.exits(0).stderr.contains("no plugin drives the loop: "), "{}", call.stderr);
    assert_eq!(world.read(LOOP), FOREIGN);
}

#[test]
fn resume_without_the_plugin_says_that_nobody_drives() {
    let world = with_plugin(FOUR);
    implement(&world).exits(0);
    world.specum(&["pause"]).exits(0);
    fs::remove_file(world.path("../home/.claude/plugins/installed_plugins.json")).unwrap();
    let call = world.specum(&["resume"]);
    assert!(call.exits(0).stderr.contains("no plugin drives the loop: Ralph Loop plugin required"));
    assert_eq!(world.read_state()["awaitingApproval"], false);
}

#[test]
fn a_folder_that_leads_out_of_the_project_gets_no_loop_file() {
    let world = with_plugin(FOUR);
    fs::create_dir_all(world.path("../outside")).unwrap();
    std::os::unix::fs::symlink(world.path("../outside"), world.path(".claude")).unwrap();
    let call = implement(&world);
    assert!(call.exits(1).stderr.contains("leads out of the project"), "{}", call.stderr);
    assert!(fs::read_dir(world.path("../outside")).unwrap().next().is_none());
    assert!(!world.path(STATE).exists());
}

#[test]
fn whatever_stands_in_the_place_of_the_loop_file_holds_up_nobody_else() {
    let world = with_plugin(FOUR);
    fs::create_dir_all(world.path(LOOP)).unwrap();
    implement(&world).exits(5);
    for args in [&["implement"][..], &["pause"], &["resume"], &["next"], &["cancel"]] {
        world.specum(args).exits(0);
    }
    assert!(world.path(LOOP).is_dir());
    fs::remove_dir_all(world.path(".claude")).unwrap();
    world.write(".claude", "a file");
    for args in [&["implement"][..], &["next"], &["cancel"]] {
        let call = world.specum(args);
        assert!(!call.exits(0).stdout.contains("ralph-loop"), "{args:?}: {}", call.stdout);
    }
    assert!(implement(&world).exits(1).stderr.contains(".claude"));
    assert!(!world.path(STATE).exists(), "nothing was begun");
}

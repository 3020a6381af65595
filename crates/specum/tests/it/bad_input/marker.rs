use std::fs;
use std::os::unix::fs::symlink;

use super::{STATE, TWO};
use crate::world::{World, fifo};

const MARKER: &str = "specs/.current-spec";

/// A second project beside the first, with a loop of its own that must never
/// be found.
fn beside(world: &World) -> std::path::PathBuf {
    let outside = world.root.parent().expect("a place of its own").join("outside/other");
    fs::create_dir_all(&outside).expect("a directory");
    fs::write(outside.join("tasks.md"), TWO).expect("a file");
    fs::write(outside.join(".ralph-state.json"), world.read(STATE)).expect("a file");
    outside
}

#[track_caller]
fn refused(world: &World, why: &str) {
    let call = world.stop();
    assert!(call.silent().stderr.contains(why), "{}", call.stderr);
    assert!(call.stderr.starts_with("[ralph-specum] ./specs/.current-spec is refused: "));
    assert_eq!(call.stderr.lines().count(), 1, "{}", call.stderr);
    let call = world.specum(&["status"]);
    call.exits(2);
    assert!(call.stderr.contains(why), "{}", call.stderr);
}

#[test]
fn blanks_line_endings_and_a_byte_order_mark_do_not_matter() {
    for text in
        ["test-spec", "  test-spec \t\n", "test-spec\r\n", "\u{feff}test-spec\n", "\n\ntest-spec\n"]
    {
        let world = World::with_tasks(TWO);
        world.write(MARKER, text);
        assert!(world.stop().reason().starts_with("Continue spec: test-spec"), "{text:?}");
    }
}

#[test]
fn an_empty_marker_names_nothing() {
    for text in ["", "\n", "  \r\n \t"] {
        let world = World::with_tasks(TWO);
        world.write(MARKER, text);
        assert_eq!(world.stop().silent().stderr, "", "{text:?}");
        assert!(world.specum(&["status"]).exits(0).stdout.starts_with("test-spec"), "the only one");
        world.write("specs/other/tasks.md", TWO);
        let call = world.specum(&["status"]);
        call.exits(3);
        assert!(call.stderr.contains("no spec is active"), "{}", call.stderr);
    }
}

#[test]
fn a_path_inside_the_project_is_followed_however_it_is_written() {
    let world = World::with_tasks(TWO);
    let absolute = world.path("specs/test-spec").display().to_string();
    for text in ["./specs/test-spec", "specs/test-spec/", "specs/x/../test-spec", &absolute] {
        fs::create_dir_all(world.path("specs/x")).unwrap();
        world.write(MARKER, text);
        assert!(world.stop().reason().contains("Path: ./specs/test-spec |"), "{text}");
    }
}

#[test]
fn a_path_out_of_the_project_is_refused_however_it_is_written() {
    let world = World::with_tasks(TWO);
    let outside = beside(&world);
    symlink(&outside, world.path("specs/link")).unwrap();
    let absolute = outside.display().to_string();
    for text in ["../outside/other", &absolute, "link", "specs/link", "../..", "/"] {
        world.write(MARKER, text);
        refused(&world, "leads out of the project");
    }
    assert!(!outside.join(".ralph-hook.json").exists());
    let before = fs::read_dir(&outside).unwrap().count();
    for verb in ["implement", "next", "pause", "cancel", "check"] {
        world.specum(&[verb]).exits(2);
        world.specum(&[verb, &absolute]).exits(2);
    }
    world.specum(&["cancel", "--remove", "link"]).exits(2);
    world.specum(&["switch", "link"]).exits(2);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), before);
}

#[test]
fn the_project_itself_or_a_file_is_no_spec() {
    let world = World::with_tasks(TWO);
    world.write("specs/file", "");
    for text in [".", "./", "./specs/..", "specs/test-spec/../.."] {
        world.write(MARKER, text);
        refused(&world, "is the project itself");
    }
    world.write(MARKER, "file");
    refused(&world, "is no directory");
}

#[test]
fn a_marker_that_is_no_file_is_refused_and_never_waited_for() {
    let world = World::with_tasks(TWO);
    fs::remove_file(world.path(MARKER)).unwrap();
    fs::create_dir(world.path(MARKER)).unwrap();
    refused(&world, "cannot be read");
    fs::remove_dir(world.path(MARKER)).unwrap();
    fifo(&world.path(MARKER));
    refused(&world, "not a regular file");
    fs::remove_file(world.path(MARKER)).unwrap();
    world.write(MARKER, b"\xff\xfe\0t");
    refused(&world, "is no UTF-8");
    world.write(MARKER, "x".repeat(1024 * 1024));
    refused(&world, "bytes long");
}

#[test]
fn a_name_in_two_roots_means_the_first_for_hooks_and_verbs() {
    let world = World::with_tasks(TWO);
    assert!(world.stop().reason().starts_with("Continue spec: test-spec"));
    world.write(".claude/ralph-specum.local.md", "---\nspecs_dirs: [specs, more]\n---\n");
    world.write("more/test-spec/tasks.md", TWO);
    assert!(world.stop().reason().contains("Path: ./specs/test-spec |"), "the loop goes on");
    let call = world.specum(&["status", "--json"]);
    assert_eq!(call.exits(0).json()["path"], "./specs/test-spec");
    let doubt = "./specs/test-spec is taken, not ./more/test-spec. `specum switch <path>`";
    assert!(call.stderr.contains(doubt), "{}", call.stderr);
    assert!(world.specum(&["doctor"]).exits(0).stdout.contains(doubt));
    world.specum(&["switch", "specs/test-spec"]).exits(0);
    assert_eq!(world.specum(&["status"]).exits(0).stderr, "");
}

#[test]
fn the_marker_is_a_path_where_a_second_spec_of_the_name_could_be_added() {
    let world = World::with_tasks(TWO);
    world.write(".claude/ralph-specum.local.md", "---\nspecs_dirs: [specs, more]\n---\n");
    world.write("more/other/tasks.md", TWO);
    for (spec, path) in [("test-spec", "./specs/test-spec\n"), ("other", "./more/other\n")] {
        world.specum(&["switch", spec]).exits(0);
        assert_eq!(world.read(MARKER), path);
    }
    world.in_session(&["implement"]).exits(0);
    assert!(world.stop().reason().contains("Path: ./more/other |"));
    world.write("specs/other/tasks.md", TWO);
    assert!(world.stop().reason().contains("Path: ./more/other |"), "the loop goes on");
}

#[test]
fn specs_directories_out_of_the_project_are_left_out_with_a_warning() {
    let world = World::with_tasks(TWO);
    let outside = beside(&world);
    symlink(outside.parent().unwrap(), world.path("linked")).unwrap();
    world.write(
        ".claude/ralph-specum.local.md",
        "---\nspecs_dirs:\n  - ../outside\n  - linked\n  - none\n  - /\n---\n",
    );
    let call = world.specum(&["list"]);
    call.exits(0);
    assert!(call.stdout.contains("test-spec") && !call.stdout.contains("other"), "{}", call.stdout);
    assert_eq!(call.stderr.matches("warning: specs_dirs: ").count(), 4, "{}", call.stderr);
    assert!(world.stop().reason().starts_with("Continue spec: test-spec"), "./specs is left");
}

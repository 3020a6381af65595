//! What is packaged, installed and generated from the definitions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::world::{World, call, repository, specum};

/// Cargo as a person calls it, with a folder for what it makes and the compiled
/// dependencies of these tests. Nothing is fetched: they are all there.
fn cargo(made: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    let tests = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    command
        .args(args)
        .current_dir(repository())
        .env("CARGO_TARGET_DIR", made)
        .env("CARGO_BUILD_BUILD_DIR", tests)
        .env("CARGO_NET_OFFLINE", "true")
        // What cargo tells these tests is not meant for the next one.
        .env_remove("CARGO_PKG_VERSION")
        .env_remove("CARGO_MANIFEST_DIR");
    command
}

#[test]
fn cargo_install_puts_specum_there_and_nothing_else() {
    let world = World::empty();
    let root = world.home().join("cargo");
    let install = cargo(
        &world.home().join("made"),
        &["install", "--path", "crates/specum", "--locked", "--debug", "--no-track", "--root"],
    );
    let mut install = install;
    install.arg(&root);
    call(install, b"").exits(0);
    let installed: Vec<_> =
        fs::read_dir(root.join("bin")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(installed, ["specum"]);

    let specum = |arg: &str| {
        let mut command = Command::new(root.join("bin/specum"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.arg(arg).env_clear().env("HOME", world.home()).env("PATH", path);
        command.current_dir(&world.root);
        call(command, b"")
    };
    let version = format!("specum {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(specum("--version").exits(0).stdout, version);
    let demo = specum("demo");
    assert!(demo.exits(0).stdout.contains("demo  complete  7 of 7"), "{}", demo.stdout);
}

#[test]
fn the_crates_as_they_are_packaged_can_be_built() {
    let world = World::empty();
    let made = world.home().join("made");
    // Builds both from their packages, the second with the first. That puts a
    // `specum` without the tests' fail points where it builds: not where ours is.
    let mut package = cargo(&made, &["package", "--locked", "--allow-dirty", "--no-metadata"]);
    package
        .args(["specum-core", "specum-engine", "specum"].map(|name| format!("--package={name}")));
    package.env("CARGO_BUILD_BUILD_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("packaged"));
    let said = call(package, b"");
    said.exits(0);
    let listed = |name: &str| -> BTreeSet<String> {
        let archive =
            made.join("package").join(format!("{name}-{}.crate", env!("CARGO_PKG_VERSION")));
        let output = Command::new("tar").arg("-tzf").arg(archive).output().unwrap();
        let list = String::from_utf8(output.stdout).unwrap();
        list.lines().filter_map(|path| Some(path.split_once('/')?.1.to_owned())).collect()
    };
    for name in ["specum", "specum-core"] {
        let files = listed(name);
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml", "src/lib.rs"] {
            assert!(files.contains(file), "{name} has no {file}: {files:?}");
        }
        let tests = files.iter().find(|file| file.starts_with("tests/"));
        assert_eq!(tests, None, "they need the whole repository");
    }
}

#[test]
fn bash_completes_verbs_options_values_and_the_names_of_the_project() {
    let world = World::with_tasks("- [ ] T001 a\n- [x] T002 b\n");
    world.write("specs/tea-time/tasks.md", "- [ ] 1.1 a\n");
    let script = world.specum(&["completions", "bash"]);
    world.write("completions.bash", &script.exits(0).stdout);
    let bin = specum().parent().unwrap().display().to_string();
    let complete = |words: &[&str]| {
        let last = words.last().unwrap().trim_matches('\'');
        let line = format!(
            "PATH={bin}:$PATH; source completions.bash; COMP_WORDS=(specum {}); COMP_CWORD={}; \
             $(complete -p specum | sed 's/.*-F \\([^ ]*\\).*/\\1/') specum '{last}' ''; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len(),
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &line]).current_dir(&world.root);
        let said = call(bash, b"");
        assert_eq!(said.exits(0).stderr, "", "{line}");
        said.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["impl"]), ["implement"]);
    assert_eq!(complete(&["run", "--max-c"]), ["--max-cost"]);
    assert_eq!(complete(&["plugin", "inst"]), ["install"]);
    assert_eq!(complete(&["switch", "t"]), ["tea-time", "test-spec"]);
    assert_eq!(complete(&["log", "T"]), ["T001", "T002"]);
    assert_eq!(complete(&["run", "--agent", "c"]), ["claude", "codex", "command"]);
    assert_eq!(complete(&["run", "--only", "''"]), ["T001", "T002"]);
    assert_eq!(complete(&["diff", "T001", "--spec", "tea"]), ["tea-time"]);
}

#[test]
fn every_shell_has_completions() {
    let world = World::empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = world.specum(&["completions", shell]);
        assert!(script.exits(0).stdout.contains("implement"), "{shell}");
        let asks = script.stdout.contains("completions --names");
        assert_eq!(asks, ["bash", "fish", "zsh"].contains(&shell), "{shell}");
    }
    world.specum(&["completions", "tcsh"]).exits(2);
}

#[test]
fn every_command_has_a_man_page() {
    let world = World::empty();
    let pages = world.path("man/man1");
    let said = world.specum(&["man", "man/man1"]);
    assert!(said.exits(0).stdout.ends_with("pages in man/man1\n"), "{}", said.stdout);
    let mut definition = specum::commands::definition();
    definition.build();
    let mut names = vec!["specum".to_owned()];
    for verb in definition.get_subcommands() {
        names.push(format!("specum-{}", verb.get_name()));
        let parts = verb.get_subcommands().filter(|part| part.get_name() != "help");
        names.extend(parts.map(|part| format!("specum-{}-{}", verb.get_name(), part.get_name())));
    }
    let written: BTreeSet<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(written, names.iter().map(|name| format!("{name}.1")).collect());
    for name in names {
        let page = fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
        let title = format!(".TH {name} 1 \"\" \"specum {}\"", env!("CARGO_PKG_VERSION"));
        assert!(page.lines().any(|line| line.starts_with(&title)), "{name}: {page}");
        let call = name.replace('-', "\\-");
        assert!(page.contains(&format!(".SH NAME\n{call} \\- ")), "{name}: {page}");
        assert!(page.contains(".SH SYNOPSIS\n") && page.contains(".SH DESCRIPTION\n"), "{name}");
    }
}

//! What a project's own files say can be run: scripts, targets, recipes, packages.
//!
//! Each reader is simple and says `None` where the file means more than it can tell, so
//! that nothing is called missing that is there.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::line;

/// The scripts of a `package.json`.
pub fn npm_scripts(text: &[u8]) -> Option<BTreeSet<String>> {
    let package: Value = serde_json::from_slice(text).ok()?;
    let scripts = package.get("scripts").and_then(Value::as_object);
    Some(scripts.into_iter().flatten().map(|(name, _)| name.clone()).collect())
}

/// The targets of a Makefile; `None` if it includes others or has patterns.
pub fn make_targets(text: &[u8]) -> Option<BTreeSet<String>> {
    let text = line::readable(text);
    let mut targets = BTreeSet::new();
    for line in text.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if matches!(first, "include" | "-include" | "sinclude") || first.starts_with("$(") {
            return None;
        }
        if line.starts_with(['\t', ' ', '#']) {
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else { continue };
        // `NAME := value` sets a variable.
        if rest.starts_with('=') || rest.starts_with(":=") || names.contains('=') {
            continue;
        }
        if names.contains(['%', '$']) {
            return None;
        }
        targets.extend(names.split_whitespace().map(str::to_owned));
    }
    Some(targets)
}

/// The recipes of a justfile; `None` if it takes some from others.
pub fn just_recipes(text: &[u8]) -> Option<BTreeSet<String>> {
    let text = line::readable(text);
    let mut recipes = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '['])) {
        let first = line.split_whitespace().next().unwrap_or_default();
        if matches!(first, "import" | "import?" | "mod" | "mod?") {
            return None;
        }
        if first == "alias" {
            recipes.extend(line.split_whitespace().nth(1).map(str::to_owned));
            continue;
        }
        let Some((head, rest)) = line.split_once(':') else { continue };
        if rest.starts_with('=') || matches!(first, "set" | "export") {
            continue;
        }
        let name = head.split_whitespace().next().unwrap_or_default().trim_start_matches('@');
        recipes.insert(name.to_owned());
    }
    recipes.remove("");
    Some(recipes)
}

/// The name of the package of a `Cargo.toml`.
pub fn cargo_package(text: &[u8]) -> Option<String> {
    let text = line::readable(text);
    let mut table = "";
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            table = line;
        } else if let Some((key, value)) = line.split_once('=').filter(|_| table == "[package]")
            && key.trim() == "name"
        {
            let value = value.trim().strip_prefix('"')?;
            return Some(value.split('"').next()?.to_owned());
        }
    }
    None
}

/// The members of a Cargo workspace as they are written, `crates/*` among them.
pub fn cargo_members(text: &[u8]) -> Vec<String> {
    let text = line::readable(text);
    let Some((_, behind)) = text.split_once("[workspace]") else { return Vec::new() };
    let own = behind.split("\n[").next().unwrap_or(behind);
    let Some((_, list)) = own.split_once("members") else { return Vec::new() };
    let list = list.split(']').next().unwrap_or(list);
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The commands behind `run:` in a workflow of a continuous integration, those of one
/// line.
pub fn workflow_commands(text: &[u8]) -> Vec<String> {
    let text = line::readable(text);
    let commands = text.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        let command = line.strip_prefix("run:")?.trim();
        let is_one = !command.is_empty() && !command.starts_with(['|', '>', '$']);
        is_one.then(|| command.trim_matches(['"', '\'']).to_owned())
    });
    commands.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: Option<BTreeSet<String>>) -> Option<String> {
        names.map(|names| names.into_iter().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn scripts_and_targets_and_recipes_are_listed() {
        let npm = npm_scripts(br#"{"scripts": {"test": "jest", "lint": "eslint"}}"#);
        assert_eq!(listed(npm).as_deref(), Some("lint test"));
        assert_eq!(listed(npm_scripts(b"{}")).as_deref(), Some(""));
        assert_eq!(listed(npm_scripts(b"{")), None);
        let make =
            make_targets(b"CC := cc\n.PHONY: all\nall build: x.o\n\tcc x.o\n# a: b\nx::= y\n");
        assert_eq!(listed(make).as_deref(), Some(".PHONY all build"));
        assert_eq!(listed(make_targets(b"include more.mk\n")), None);
        assert_eq!(listed(make_targets(b"%.o: %.c\n")), None);
        let just = just_recipes(
            b"x := '1'\n@test arg='a': build\n  cargo test\n[private]\nbuild:\nalias t := test\n",
        );
        assert_eq!(listed(just).as_deref(), Some("build t test"));
        assert_eq!(listed(just_recipes(b"import 'a.just'\n")), None);
    }

    #[test]
    fn a_workspace_names_its_members_and_a_package_itself() {
        let text =
            b"[workspace]\nmembers = [\n  \"crates/*\",\n  \"xtask\"]\n[package]\nname = \"a\"\n";
        assert_eq!(cargo_members(text), ["crates/*", "xtask"]);
        assert_eq!(cargo_package(text).as_deref(), Some("a"));
        assert_eq!(cargo_package(b"[dependencies]\nname = \"a\"\n"), None);
    }

    #[test]
    fn commands_of_a_workflow_are_those_of_one_line() {
        let text =
            b"steps:\n  - run: cargo test\n  - name: x\n    run: \"npm ci\"\n  - run: |\n      a\n";
        assert_eq!(workflow_commands(text), ["cargo test", "npm ci"]);
    }
}

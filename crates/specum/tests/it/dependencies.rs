//! What can be said of our dependencies without a network: sources, and two versions of
//! one crate, as far as cargo's own metadata tells. `cargo deny` in CI reads the same
//! `deny.toml`, and knows licences and advisories.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::world::repository;

/// The licences of all dependencies. Each of them leaves a choice that `deny.toml`
/// allows.
const LICENCES: [&str; 14] = [
    "(Apache-2.0 OR MIT) AND BSD-3-Clause",
    "(MIT OR Apache-2.0) AND Unicode-3.0",
    "Apache-2.0",
    "Apache-2.0 OR MIT",
    "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    "BSL-1.0",
    "MIT",
    "MIT AND BSD-3-Clause",
    "MIT OR Apache-2.0",
    "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
    "MIT/Apache-2.0",
    "Unlicense OR MIT",
    "Zlib",
    "Zlib OR Apache-2.0 OR MIT",
];

/// A list of plain names in `deny.toml`.
fn listed(name: &str) -> Vec<String> {
    let path = repository().join("deny.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("\n{name} = [\n")).unwrap();
    let (items, _) = rest.split_once("\n]").unwrap();
    items.lines().map(|line| line.trim().trim_matches([',', '"']).to_owned()).collect()
}

/// Every crate that any target or test of this workspace needs. Those of other
/// systems are fetched for it.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn no_dependency_brings_licences_that_were_not_looked_at() {
    let packages = packages();
    let mut found: Vec<&str> =
        packages.iter().map(|package| package["license"].as_str().unwrap_or("none")).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, LICENCES, "what these mean is for `cargo deny check licenses` to say");
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let packages = packages();
    let of_serde = packages.iter().find(|package| package["name"] == "serde");
    let known = of_serde.and_then(|package| package["source"].as_str()).expect("serde is there");
    assert!(known.starts_with("registry+"), "{known}");
    for package in &packages {
        let (name, source) = (package["name"].as_str().unwrap(), package["source"].as_str());
        let is_ours = source.is_none()
            && (name.starts_with("specum") || ["harness", "xtask"].contains(&name));
        assert!(is_ours || source == Some(known), "{name}: {source:?}");
    }
}

#[test]
fn no_crate_is_there_in_two_versions_but_those_that_are_listed() {
    let mut versions: BTreeMap<String, usize> = BTreeMap::new();
    for package in packages() {
        *versions.entry(package["name"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let twice: Vec<String> =
        versions.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
    assert_eq!(twice, listed("skip"), "`cargo tree --target all --duplicates` shows why");
}

#[test]
fn the_first_command_of_the_readme_builds_specum_alone() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .current_dir(repository())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    // `cargo run` takes the one program that a package names for it, and builds no other.
    let named = metadata["packages"].as_array().unwrap().iter();
    let named: Vec<&str> = named.filter_map(|package| package["default_run"].as_str()).collect();
    assert_eq!(named, ["specum"]);
}

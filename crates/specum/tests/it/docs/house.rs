//! What the pages say of the source: the map of modules, the tests behind claims, and
//! links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::document;
use crate::world::repository;

/// The rows of the map whose heading names a crate: what stands in code in the first cell.
fn modules_on_the_map(name: &str) -> BTreeSet<String> {
    let page = document("ARCHITECTURE.md");
    let (_, map) = page.split_once(&format!("\n`crates/{name}`: ")).expect("the crate has a map");
    let rows = map.lines().skip_while(|line| !line.starts_with("| `"));
    let rows = rows.take_while(|line| line.starts_with("| `"));
    let first_cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(|name| name.trim_end_matches('/').to_owned()).collect()
}

#[test]
fn the_map_has_every_module_of_every_crate_and_no_other() {
    for name in ["specum-core", "specum-engine", "specum"] {
        let source = repository().join("crates").join(name).join("src");
        let map = modules_on_the_map(name);
        assert!(map.len() > 10, "{name}: {map:?}");
        for module in &map {
            let beside = source.with_file_name(module);
            let is_there = source.join(module).is_dir()
                || beside.is_dir()
                || source.join(format!("{module}.rs")).is_file();
            assert!(is_there, "{name}: the map has {module}, which is not there");
        }
        for entry in fs::read_dir(&source).unwrap().flatten() {
            let module = entry.path().file_stem().unwrap().to_string_lossy().into_owned();
            assert!(module == "lib" || map.contains(&module), "{name}: {module} is not on the map");
        }
    }
}

#[test]
fn every_claim_about_security_names_a_test_that_there_is() {
    let sources: String = [
        "crates/specum/tests/it",
        "crates/specum/src",
        "crates/specum-net/src",
        "crates/specum-net/tests",
        "crates/specum-engine/src",
        "crates/specum-core/src",
    ]
    .iter()
    .flat_map(|dir| rust_files(&repository().join(dir)))
    .map(|file| fs::read_to_string(file).unwrap())
    .collect();
    let behind = |text: &str| text.trim_start().strip_prefix("fn ").map(str::to_owned);
    let tests: BTreeSet<String> = sources
        .split("#[test]")
        .filter_map(behind)
        .filter_map(|text| text.split_once('(').map(|(name, _)| name.to_owned()))
        .collect();
    let page = document("docs/security.md");
    let mut rows = 0;
    for table in page.split("| claim | test |\n|---|---|\n").skip(1) {
        for row in table.lines().take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
            let [_, proof] = cells[..] else { panic!("a claim and its tests: {row}") };
            for name in proof.split(", ") {
                assert!(tests.contains(name.trim_matches('`')), "{name} of {row}");
            }
            rows += 1;
        }
    }
    assert!(rows > 25, "only {rows} claims");
    let named = page.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 3);
    let (there, missing): (Vec<&str>, Vec<&str>) = named.partition(|name| tests.contains(*name));
    assert!(missing.is_empty(), "{missing:?}");
    assert!(there.iter().any(|name| name.starts_with("under_bubblewrap")), "{there:?}");
}

/// Every file below a directory.
pub(crate) fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let (dirs, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    dirs.iter().flat_map(|dir| rust_files(dir)).chain(files).collect()
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    let mut checked = 0;
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let below = rust_files(&repository().join("docs"));
    let pages = top.iter().map(|name| repository().join(name)).chain(below);
    for page in pages.filter(|page| page.extension().is_some_and(|kind| kind == "md")) {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if link.contains("://") || target.is_empty() {
                continue;
            }
            let leads_to = page.parent().unwrap().join(target);
            assert!(leads_to.exists(), "{}: {link}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links");
}

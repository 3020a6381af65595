//! The lists in `deny.toml`, as far as cargo's own metadata tells: licences,
//! sources, and two versions of one crate. The advisories are for `cargo deny`
//! in CI.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A list of plain names in `deny.toml`.
fn listed(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
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
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Whether one of the choices that an SPDX expression leaves is allowed in all
/// its parts.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    match top_level(&expression, " OR ") {
        choices if choices.len() > 1 => choices.iter().any(|choice| is_allowed(choice, allowed)),
        _ => match top_level(&expression, " AND ") {
            parts if parts.len() > 1 => parts.iter().all(|part| is_allowed(part, allowed)),
            _ => match expression.trim().strip_prefix('(').and_then(|e| e.strip_suffix(')')) {
                Some(inside) => is_allowed(inside, allowed),
                None => allowed.iter().any(|licence| licence == expression.trim()),
            },
        },
    }
}

/// The parts of an expression between the operators outside of parentheses.
fn top_level<'e>(expression: &'e str, operator: &str) -> Vec<&'e str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    for (at, _) in expression.match_indices(operator) {
        let before = &expression[..at];
        if before.matches('(').count() == before.matches(')').count() {
            parts.push(&expression[begin..at]);
            begin = at + operator.len();
        }
    }
    parts.push(&expression[begin..]);
    parts
}

#[test]
fn every_licence_is_one_that_is_allowed() {
    let allowed = listed("allow");
    for package in packages() {
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(licence, &allowed), "{}: {licence}", package["name"]);
    }
}

#[test]
fn an_expression_of_licences_is_read_as_spdx_means_it() {
    let allowed = ["MIT".to_owned(), "Zlib".to_owned()];
    for good in ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(GPL-3.0 OR MIT) AND Zlib"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "none", ""] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let packages = packages();
    let of_serde = packages.iter().find(|package| package["name"] == "serde");
    let known = of_serde.and_then(|package| package["source"].as_str()).expect("serde is there");
    assert!(known.starts_with("registry+"), "{known}");
    for package in &packages {
        let (name, source) = (package["name"].as_str().unwrap(), package["source"].as_str());
        let is_ours = source.is_none() && name.starts_with("specum");
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

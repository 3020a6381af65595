//! `.ralph-trace.json`: what was approved, and what each part stood on.
//!
//! One part a line, sorted, so that git merges it line by line. It is committed with the
//! spec. An approval in it is never a leave to run anything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// The format that this version writes.
pub const FORMAT: u64 = 1;

/// What is kept of the parts of a spec.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceFile {
    /// The approvals, by the name of the document.
    pub approved: BTreeMap<String, Approval>,
    /// The parts, by their names.
    pub nodes: BTreeMap<String, Node>,
    /// What this version does not know.
    pub others: Map<String, Value>,
}

/// That somebody has agreed to a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The digest of the document.
    pub digest: String,
    /// Who: `person`, `quick`, `setting`.
    pub by: String,
    /// How: `dialog`, `command`, `prompt`, `terminal`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub via: String,
    /// When, in RFC 3339.
    pub at: String,
}

/// A part as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// The digest of what it said.
    pub digest: String,
    /// The digests of what it stood on, by name.
    pub on: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireNode {
    Plain(String),
    Standing { digest: String, on: BTreeMap<String, String> },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    format_version: u64,
    #[serde(default)]
    approved: BTreeMap<String, Approval>,
    #[serde(default)]
    nodes: BTreeMap<String, WireNode>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Why a trace cannot be read.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// It is not what we write.
    #[error("it is not a trace: {0}")]
    Corrupt(#[from] serde_json::Error),
    /// A newer version has written it.
    #[error("its format is {0}, and this version knows {FORMAT}")]
    Newer(u64),
}

impl TraceFile {
    /// Reads a file.
    pub fn parse(text: &[u8]) -> Result<TraceFile, TraceFileError> {
        let wire: Wire = serde_json::from_slice(text)?;
        if wire.format_version > FORMAT {
            return Err(TraceFileError::Newer(wire.format_version));
        }
        let node = |node| match node {
            WireNode::Plain(digest) => Node { digest, on: BTreeMap::new() },
            WireNode::Standing { digest, on } => Node { digest, on },
        };
        let nodes = wire.nodes.into_iter().map(|(name, wire)| (name, node(wire)));
        Ok(TraceFile { approved: wire.approved, nodes: nodes.collect(), others: wire.others })
    }

    /// The file, one part a line.
    pub fn text(&self) -> String {
        let mut text = format!("{{\"formatVersion\": {FORMAT}");
        for (name, value) in &self.others {
            text.push_str(&format!(",\n {}: {value}", Value::from(name.as_str())));
        }
        let approved = self
            .approved
            .iter()
            .map(|(name, approval)| (name, serde_json::to_value(approval).unwrap_or_default()));
        block(&mut text, "approved", approved);
        let node = |node: &Node| match node.on.is_empty() {
            true => Value::from(node.digest.as_str()),
            false => serde_json::json!({"digest": node.digest, "on": node.on}),
        };
        block(&mut text, "nodes", self.nodes.iter().map(|(name, one)| (name, node(one))));
        text.push_str("}\n");
        text
    }
}

/// An object with one entry a line.
fn block<'n>(text: &mut String, name: &str, entries: impl Iterator<Item = (&'n String, Value)>) {
    let lines: Vec<String> = entries
        .map(|(name, value)| format!("\n  {}: {value}", Value::from(name.as_str())))
        .collect();
    text.push_str(&format!(",\n \"{name}\": {{{}}}", lines.join(",")));
}

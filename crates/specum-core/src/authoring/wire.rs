//! A planning in the fields of `.ralph-state.json`.
//!
//! The names are the ancestor's where it has one. A state without `phases` has no
//! planning of ours: it is worked as it always was.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{ApprovedBy, DEFAULT_MAX_ATTEMPTS, Document, Planning, Profile, Status, TaskSize};
use crate::spec::Doc;

/// The most tries that a file may give a document.
const MOST_ATTEMPTS: u64 = 100;

impl Status {
    const ALL: [(Status, &'static str); 6] = [
        (Status::Absent, "absent"),
        (Status::Open, "open"),
        (Status::Written, "written"),
        (Status::Approved, "approved"),
        (Status::Stale, "stale"),
        (Status::Blocked, "blocked"),
    ];

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        let named = Status::ALL.iter().find(|(status, _)| *status == self);
        named.map_or("absent", |(_, word)| word)
    }

    fn named(word: &str) -> Option<Status> {
        Status::ALL.iter().find(|(_, known)| *known == word).map(|(status, _)| *status)
    }
}

impl Profile {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::Small => "small",
            Profile::Standard => "standard",
            Profile::Full => "full",
        }
    }

    /// The profile with this name.
    pub fn named(word: &str) -> Option<Profile> {
        let all = [Profile::Small, Profile::Standard, Profile::Full];
        all.into_iter().find(|profile| profile.as_str() == word)
    }
}

impl ApprovedBy {
    /// The word in the trace.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovedBy::Person => "person",
            ApprovedBy::Quick => "quick",
            ApprovedBy::Setting => "setting",
        }
    }
}

impl TaskSize {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskSize::Coarse => "coarse",
            TaskSize::Fine => "fine",
        }
    }
}

impl Planning {
    /// The planning in a state; `None` if it has none, or one that cannot be read.
    pub fn of_state(state: &Map<String, Value>) -> Option<Planning> {
        let phases = state.get("phases")?.as_object()?;
        let truth = |key: &str| state.get(key).and_then(Value::as_bool).unwrap_or(false);
        let profile = state.get("profile").and_then(Value::as_str);
        let max = state.get("maxPhaseIterations").and_then(Value::as_u64);
        let asks = match state.get("approve").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).filter_map(Doc::named).collect(),
            None => BTreeSet::from(Doc::ALL),
        };
        let documents: Option<BTreeMap<Doc, Document>> = phases
            .iter()
            .map(|(name, phase)| Some((Doc::named(name)?, document(phase)?)))
            .collect();
        Some(Planning {
            profile: profile.map_or(Some(Profile::Standard), Profile::named)?,
            quick: truth("quickMode"),
            plan_only: truth("planOnly"),
            max_attempts: max.unwrap_or(DEFAULT_MAX_ATTEMPTS).clamp(1, MOST_ATTEMPTS),
            asks,
            commits: state.get("commitSpec").and_then(Value::as_bool).unwrap_or(true),
            tasks: match state.get("granularity").and_then(Value::as_str) {
                Some("fine") => TaskSize::Fine,
                _ => TaskSize::Coarse,
            },
            documents: documents?,
        })
    }

    /// The fields that say it, to be put into a state.
    pub fn fields(&self) -> Map<String, Value> {
        let phases =
            self.documents.iter().map(|(doc, document)| (doc.name().to_owned(), wire(document)));
        let asks: Vec<&str> = self.asks.iter().map(|doc| doc.name()).collect();
        let fields = json!({
            "profile": self.profile.as_str(),
            "quickMode": self.quick,
            "planOnly": self.plan_only,
            "maxPhaseIterations": self.max_attempts,
            "approve": asks,
            "commitSpec": self.commits,
            "granularity": self.tasks.as_str(),
            "phases": phases.collect::<Map<String, Value>>(),
        });
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

fn document(phase: &Value) -> Option<Document> {
    let text = |key: &str| phase.get(key).and_then(Value::as_str).map(str::to_owned);
    let attempts = phase.get("attempts").and_then(Value::as_u64).unwrap_or(0);
    Some(Document {
        status: Status::named(phase.get("status")?.as_str()?)?,
        attempts: attempts.min(MOST_ATTEMPTS),
        digest: text("digest"),
        feedback: text("feedback"),
    })
}

fn wire(document: &Document) -> Value {
    let mut phase = json!({"status": document.status.as_str(), "attempts": document.attempts});
    for (key, text) in [("digest", &document.digest), ("feedback", &document.feedback)] {
        if let Some(text) = text {
            phase[key] = Value::from(text.as_str());
        }
    }
    phase
}

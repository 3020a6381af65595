//! When something happened, as records have it.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A moment as it stands in a record: in RFC 3339, to the millisecond. What an old, a
/// foreign or a damaged record has in its place is kept as it is, and is no time.
///
/// Moments of records compare as their texts do, which are all of one length.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(String);

impl Moment {
    /// The text in the record.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The time, if it is one.
    pub fn time(&self) -> Option<Timestamp> {
        self.0.parse().ok()
    }

    /// How many milliseconds later a time is; `None` if it is earlier.
    pub fn millis_until(&self, later: Timestamp) -> Option<u64> {
        u64::try_from(later.as_millisecond() - self.time()?.as_millisecond()).ok()
    }
}

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Moment {
        Moment(time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
    }
}

impl From<&str> for Moment {
    fn from(text: &str) -> Moment {
        Moment(text.to_owned())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_to_the_millisecond_and_read_as_it_stands() {
        let time: Timestamp = "2026-01-01T02:03:04.5006Z".parse().unwrap();
        assert_eq!(Moment::from(time).as_str(), "2026-01-01T02:03:04.500Z");
        for text in ["2026-01-01T02:03:04.500Z", "2026-01-01T02:03:04Z", "yesterday", ""] {
            let json = format!("\"{text}\"");
            let moment: Moment = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&moment).unwrap(), json);
            assert_eq!(moment.time().is_some(), text.starts_with("2026"));
        }
    }

    #[test]
    fn what_is_no_time_has_no_distance_and_nothing_ends_before_it_began() {
        let later: Timestamp = "2026-01-01T00:00:01Z".parse().unwrap();
        assert_eq!(Moment::from("2026-01-01T00:00:00.250Z").millis_until(later), Some(750));
        assert_eq!(Moment::from("2026-01-01T00:00:02Z").millis_until(later), None);
        assert_eq!(Moment::from("soon").millis_until(later), None);
    }
}

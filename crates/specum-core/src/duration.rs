//! Lengths of time as people and programs write them: the only place that reads them.

use crate::line;

/// A longer text names no length of time.
const LONGEST: usize = 60;

/// A length of time, in milliseconds: `90`, `90s`, `10m`, `1h30m`, `1.5h`, `2d`. A
/// number without a unit means seconds.
pub fn millis(text: &str) -> Option<u64> {
    let (seconds, behind) = at_start(text)?;
    let millis = (seconds * 1000.0).round();
    // Further away than any clock goes, and up to here no millisecond is lost.
    (behind.trim().is_empty() && millis < 9e15).then_some(millis as u64)
}

/// The length of time that a text begins with, in seconds, and what stands behind it.
pub(crate) fn at_start(text: &str) -> Option<(f64, &str)> {
    let head = line::head(text, LONGEST);
    let mut rest = head;
    let mut total: Option<f64> = None;
    loop {
        let next = rest.trim_start_matches([' ', ',']);
        let next = next.strip_prefix("and ").unwrap_or(next);
        let (number, behind) = split_while(next, |c| c.is_ascii_digit() || c == '.');
        let (unit, behind) = split_while(behind.trim_start(), |c| c.is_ascii_alphabetic());
        let number = number.trim_end_matches('.').parse::<f64>().ok();
        let Some((number, unit)) = number.zip(seconds_of(unit)) else { break };
        total = Some(total.unwrap_or(0.0) + number * unit);
        rest = behind;
    }
    total.map(|seconds| (seconds, &text[head.len() - rest.len()..]))
}

pub(crate) fn split_while(text: &str, wanted: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !wanted(c)).unwrap_or(text.len()))
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "milliseconds" => Some(0.001),
        "" | "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(24.0 * 3600.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        for (text, expected) in [
            ("90", 90_000),
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("5ms", 5),
            (" 2 days ", 172_800_000),
            ("0", 0),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for text in ["", " ", "m", "-5s", "5 lightyears", "99999999999999999999", "1h x", "..s"] {
            assert_eq!(millis(text), None, "{text}");
        }
        assert_eq!(millis(&"1".repeat(400)), None);
    }

    #[test]
    fn what_stands_behind_a_length_is_given_back() {
        assert_eq!(at_start("3 days 4 hours and 5 minutes."), Some((273_900.0, ".")));
        assert_eq!(at_start("30s and then"), Some((30.0, " and then")));
        assert_eq!(at_start("later"), None);
    }

    proptest::proptest! {
        #[test]
        fn every_number_of_milliseconds_is_read_as_it_is_written(wanted in 0_u64..1 << 50) {
            proptest::prop_assert_eq!(millis(&format!("{wanted}ms")), Some(wanted));
        }
    }
}

//! When an agent may work again, as its error messages say it.

use super::Reset;
use crate::duration::{self, split_while};
use crate::line;

/// Nobody waits longer, and a time further away is a mistake.
const LONGEST_WAIT: f64 = 366.0 * 24.0 * 3600.0;

/// The words before a length of time.
const IN: [&str; 6] =
    ["again in ", "retry in ", "reset after ", "resets in ", "retry after ", "\"retrydelay\":\""];

/// The time a message names: `try again at Nov 16th, 2026 12:46 AM`, `try again
/// at 3:33 AM`, `Please retry in 17.2s`, `will reset after 18h31m10s`.
pub(super) fn in_words(message: &str) -> Option<Reset> {
    let message = message.to_ascii_lowercase();
    let behind = |words: &str| message.find(words).map(|at| &message[at + words.len()..]);
    if let Some(time) = behind("again at ").and_then(wall_clock) {
        return Some(Reset::Local(time));
    }
    IN.into_iter().find_map(behind).and_then(seconds).map(Reset::In)
}

/// A length of time at the beginning of a text, in seconds, rounded up.
pub(super) fn seconds(text: &str) -> Option<u64> {
    // Bounded, so the conversion keeps every second.
    duration::at_start(text).map(|(seconds, _)| seconds.min(LONGEST_WAIT).ceil() as u64)
}

/// `nov 16th, 2026 12:46 am` or `3:33 am` as [`Reset::Local`] has it.
fn wall_clock(text: &str) -> Option<String> {
    let mut words = line::head(text, 40).split_whitespace();
    let first = words.next()?;
    if first.contains(':') {
        return time(first, words.next()?);
    }
    let month = MONTHS.iter().position(|month| first.starts_with(month))? + 1;
    let (day, _) = split_while(words.next()?, |c| c.is_ascii_digit());
    let day: u32 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year: u32 = words.next()?.parse().ok().filter(|year| (2000..=9999).contains(year))?;
    let time = time(words.next()?, words.next()?)?;
    Some(format!("{year}-{month:02}-{day:02}T{time}"))
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// `12:46` and `am` as `00:46:00`.
fn time(clock: &str, half: &str) -> Option<String> {
    let (hour, minute) = clock.split_once(':')?;
    let hour: u32 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let minute: u32 = minute.parse().ok().filter(|minute| *minute < 60)?;
    let afternoon = match half.get(..2)? {
        "am" => 0,
        "pm" => 12,
        _ => return None,
    };
    Some(format!("{:02}:{minute:02}:00", hour % 12 + afternoon))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(time: &str) -> Option<Reset> {
        Some(Reset::Local(time.into()))
    }

    #[test]
    fn the_times_that_agents_name() {
        for (message, reset) in [
            (
                "purchase more credits or try again at Nov 16th, 2026 12:46 AM.",
                local("2026-11-16T00:46:00"),
            ),
            ("or try again at Dec 1st, 2026 1:05 PM.", local("2026-12-01T13:05:00")),
            ("or try again at 3:33 AM.", local("03:33:00")),
            ("or try again at 12:00 pm", local("12:00:00")),
            ("Please retry in 17.2s.", Some(Reset::In(18))),
            ("Please try again in 898ms.", Some(Reset::In(1))),
            ("Your quota will reset after 18h31m10s.", Some(Reset::In(66_670))),
            ("Try again in 3 days 4 hours and 5 minutes.", Some(Reset::In(273_900))),
            (r#"{"retryDelay":"41s"}"#, Some(Reset::In(41))),
            ("retry after 30", Some(Reset::In(30))),
        ] {
            assert_eq!(in_words(message), reset, "{message}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for message in [
            "",
            "Please try again later.",
            "try again at noon",
            "try again at 25:00 am",
            "try again at Nov 99th, 2026 12:46 AM",
            "retry in a while",
            "retry in ..s",
            "again at \u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}",
        ] {
            assert_eq!(in_words(message), None, "{message}");
        }
    }

    #[test]
    fn no_wait_is_longer_than_a_year() {
        assert_eq!(in_words(&format!("retry in {}s", "9".repeat(50))), Some(Reset::In(31_622_400)));
    }

    proptest::proptest! {
        #[test]
        fn a_time_is_never_longer_than_a_year_nor_half_a_date(
            text in "([0-9.:]{1,12} ?(ms|s|min|h|days|am|pm|nov)?,? ?(and )?){0,4}.{0,9}",
            words in proptest::sample::select([&IN[..], &["again at ", "again at nov "]].concat()),
        ) {
            match in_words(&format!("{words}{text}")) {
                Some(Reset::In(seconds)) => proptest::prop_assert!(seconds <= 31_622_400),
                Some(Reset::Local(time)) => {
                    let shape = time.replace(|c: char| c.is_ascii_digit(), "9");
                    let known = ["99:99:99", "9999-99-99T99:99:99"].contains(&shape.as_str());
                    proptest::prop_assert!(known, "{}", time);
                }
                Some(Reset::At(_)) | None => {}
            }
        }
    }
}

//! Times, amounts and ids as people read them.

use std::time::Duration;

use crate::agent::Usage;
use crate::summary::Spent;

/// A length of time: `3.2 s`, `12 s`, `3 min 5 s`, `1 h 2 min`, `2 d 3 h`.
pub fn duration(length: Duration) -> String {
    let seconds = length.as_secs();
    let two = |big: u64, name: &str, small: u64, part: &str| match small {
        0 => format!("{big} {name}"),
        _ => format!("{big} {name} {small} {part}"),
    };
    match seconds {
        0..10 => format!("{:.1} s", length.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

/// The same, from the milliseconds of an event or a record.
pub fn millis(millis: u64) -> String {
    duration(Duration::from_millis(millis))
}

/// A clock that runs: `0:12`, `12:34`, `1:02:03`.
pub fn clock(length: Duration) -> String {
    let seconds = length.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A number of tokens: `950`, `12.3k`, `1.2M`.
pub fn tokens(tokens: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is rounded to three digits anyway")]
    let exact = tokens as f64;
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..99_950 => format!("{:.1}k", exact / 1e3),
        99_950..999_500 => format!("{:.0}k", exact / 1e3),
        _ => format!("{:.1}M", exact / 1e6),
    }
}

/// A price.
pub fn dollars(cost: f64) -> String {
    format!("${cost:.2}")
}

/// What was used, in as many words as there are: `12.3k tokens`, `$0.12`.
pub fn used(usage: Option<&Usage>) -> Vec<String> {
    let Some(usage) = usage else { return Vec::new() };
    let counted = (usage.tokens > 0).then(|| format!("{} tokens", tokens(usage.tokens)));
    counted.into_iter().chain(usage.cost.map(dollars)).collect()
}

/// The same of a summary; `~` stands before an estimate.
pub fn spent(spent: Spent) -> Vec<String> {
    let about = if spent.estimated { "~" } else { "" };
    let counted = spent.tokens.map(|count| format!("{about}{} tokens", tokens(count)));
    counted.into_iter().chain(spent.cost.map(|cost| format!("{about}{}", dollars(cost)))).collect()
}

/// How much was changed: `3 files +41 −2`.
pub fn changes(files: u64, added: u64, removed: u64) -> String {
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    format!("{files} +{added} −{removed}")
}

/// The beginning of a commit's id, as git shows it.
pub fn commit(id: &str) -> String {
    id.chars().take(7).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units_at_most() {
        let shown = |seconds: f64| duration(Duration::from_secs_f64(seconds));
        let told = [0.0, 0.42, 12.9, 60.0, 185.0, 3_600.0, 3_725.0, 90_000.0].map(shown);
        let expected =
            ["0.0 s", "0.4 s", "12 s", "1 min", "3 min 5 s", "1 h", "1 h 2 min", "1 d 1 h"];
        assert_eq!(told, expected);
        assert_eq!(
            [12, 754, 3_723].map(|s| clock(Duration::from_secs(s))),
            ["0:12", "12:34", "1:02:03"]
        );
    }

    #[test]
    fn amounts_are_short() {
        let told =
            [0, 999, 1_000, 12_345, 99_949, 99_950, 999_499, 999_500, 12_345_678].map(tokens);
        let expected = ["0", "999", "1.0k", "12.3k", "99.9k", "100k", "999k", "1.0M", "12.3M"];
        assert_eq!(told, expected);
        assert_eq!(dollars(1.005), "$1.00");
    }
}

//! When a limit ends that an agent has named, by the clock on the wall.

use jiff::Zoned;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use specum_core::agent::{Reset, Trouble};
use specum_core::coordinate::agents::Millis;

use crate::ports::World;

/// The longest a named limit is waited for before it is asked again: a person who
/// names a later time may be mistaken.
const LONGEST_LIMIT: i64 = 8 * 24 * 3600;

/// In how many milliseconds a limit ends that an agent has reported.
pub(super) fn resets_in(world: &World, trouble: Option<&Trouble>) -> Option<Millis> {
    reset_of(trouble, &world.clock.now().to_zoned(TimeZone::system()))
}

fn reset_of(trouble: Option<&Trouble>, now: &Zoned) -> Option<Millis> {
    let Some(Trouble::RateLimited { reset: Some(reset), .. }) = trouble else { return None };
    let seconds = match reset {
        Reset::In(seconds) => i64::try_from(*seconds).ok()?,
        Reset::At(at) => at.saturating_sub(now.timestamp().as_second()),
        Reset::Local(text) => {
            let at = on_the_wall(text, now)?;
            at.timestamp().as_second() - now.timestamp().as_second()
        }
    };
    // A second more: clocks differ, and a limit that is asked for too early
    // starts anew with some of them.
    let seconds = seconds.saturating_add(1).clamp(0, LONGEST_LIMIT);
    u64::try_from(seconds).ok()?.checked_mul(1000)
}

/// The moment that a clock on the wall shows: a date and a time, or a time of
/// today, or of tomorrow if that is over.
fn on_the_wall(text: &str, now: &Zoned) -> Option<Zoned> {
    let zone = now.time_zone();
    if let Ok(moment) = text.parse::<DateTime>() {
        return moment.to_zoned(zone.clone()).ok();
    }
    let time: Time = text.parse().ok()?;
    let today = now.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
    if today > *now {
        return Some(today);
    }
    now.date().tomorrow().ok()?.to_datetime(time).to_zoned(zone.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_ends_when_the_agent_says() {
        let now: Zoned = "2026-11-15T22:00:00+01:00[Europe/Berlin]".parse().unwrap();
        let seconds = |reset: Reset| {
            let trouble = Trouble::RateLimited { why: String::new(), reset: Some(reset) };
            reset_of(Some(&trouble), &now).map(|millis| millis / 1000)
        };
        let local = |text: &str| seconds(Reset::Local(text.into()));
        assert_eq!(seconds(Reset::In(30)), Some(31));
        assert_eq!(seconds(Reset::At(now.timestamp().as_second() + 30)), Some(31));
        assert_eq!(seconds(Reset::At(0)), Some(0), "long ago");
        assert_eq!(seconds(Reset::At(i64::MIN)), Some(0), "before all time");
        assert_eq!(seconds(Reset::At(i64::MAX)), Some(8 * 24 * 3600), "after all time");
        assert_eq!(local("2026-11-16T00:46:00"), Some(166 * 60 + 1));
        assert_eq!(local("22:30:00"), Some(30 * 60 + 1), "today");
        assert_eq!(local("03:33:00"), Some(333 * 60 + 1), "tomorrow");
        assert_eq!(local("soon"), None);
        assert_eq!(reset_of(Some(&Trouble::Idle(1)), &now), None);
    }
}

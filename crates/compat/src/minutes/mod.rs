//! One counter per minute: which counters a window reads, their time to live and their contents.
//!
//! The name of a counter is the local time of its minute. A window reads the counters of instants
//! that are a minute apart. The name of each counter uses the UTC offset at its instant. So a
//! change of the clocks skips or repeats names, but a window never reads a wrong counter. A counter
//! whose name is repeated in a window is counted once.

mod memcached;
mod redis;

use crate::Wait;
use gcra::TICKS_PER_SECOND;
use std::collections::HashSet;
use stores::remote::{Cause, Transport, Visit, record};

/// The name of a counter, or its key on a server.
pub type Name = Vec<u8>;

/// A store that keeps counters of minutes.
pub trait MinuteCounters: Transport {
    /// Returns the keys of counters, grouped by server. The group with the first counter comes
    /// first.
    fn by_server(&self, names: &[Name]) -> Vec<CounterGroup>;

    /// Returns the counts of the counters `keys`, which are all on one server. If `life` is set,
    /// increments the first counter before reading. Fails with [`Cause::Record`] if one of the
    /// values is not a counter. Fails with any other [`Cause`] if the server did not reply in time.
    fn count(visit: &Visit<'_, Self>, keys: &[Name], life: Option<Life>)
    -> Result<Vec<u64>, Cause>;
}

#[derive(Clone, Debug, Default)]
pub struct CounterGroup {
    /// The place of each counter in the window.
    pub places: Vec<usize>,
    /// The keys, in the same order.
    pub keys: Vec<Name>,
}

/// The longest window in minutes: 28 days. Names of day, hour and minute repeat after a month.
pub const MOST_MINUTES: u32 = 40_320;

/// The time to live of a counter that a call increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// The seconds from its creation; at most 30 days.
    pub whole: u32,
    /// The seconds from now for which windows read the counter, plus one. A counter with less time
    /// left is prolonged to at least this time.
    pub rest: u32,
}

impl Life {
    /// Returns the life of this minute's counter at the second `now`. `minutes` is the length of
    /// the window, at most [`MOST_MINUTES`].
    pub fn new(minutes: u32, now: i64) -> Self {
        let whole = minutes * 60 + 1;
        // The seconds since the start of the minute are below 60.
        let gone = u32::try_from(now.rem_euclid(60)).unwrap_or(0);
        Self {
            whole,
            rest: whole - gone,
        }
    }
}

/// Returns the names of the counters of the last `minutes` at the second `now`, beginning with this
/// minute's. `name` returns the name of the minute that contains a second.
pub fn window(minutes: u32, now: i64, mut name: impl FnMut(i64) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut met = HashSet::new();
    (0..i64::from(minutes))
        .filter_map(|ago| {
            let name = name(now - 60 * ago);
            met.insert(name.clone()).then_some(name)
        })
        .collect()
}

/// Returns the wait of the next request at the second `now`, after a request that counted itself.
/// `counts` are those of [`window`]. The request was admitted if the sum of all counts is at most
/// `allowed`.
///
/// A counter leaves the window at the beginning of a minute. If the clocks were put back in the
/// window, the wait may be too long.
pub fn wait(counts: &[u64], allowed: f64, minutes: u32, now: i64) -> Wait {
    let mut left: u128 = counts.iter().copied().map(u128::from).sum();
    if left as f64 <= allowed {
        return Wait::NONE;
    }
    for (place, &count) in counts.iter().enumerate().rev() {
        left -= u128::from(count);
        if (left + 1) as f64 <= allowed {
            let whole = u64::from(minutes).saturating_sub(place as u64) * 60;
            let seconds = whole - now.rem_euclid(60).unsigned_abs();
            return Wait::denied(seconds * TICKS_PER_SECOND);
        }
    }
    Wait::NEVER
}

/// Returns the count in a counter, or `None` if it is not a counter. memcached pads with spaces
/// when it counts down.
pub fn parse(counter: &[u8]) -> Option<u64> {
    record::digits(counter.trim_ascii_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600;
    /// In these tests the clocks are put back by an hour, to 02:00, at this second.
    const CHANGE: i64 = 100 * 24 * HOUR + 2 * HOUR;

    /// Returns the hour and minute of a second.
    fn local(second: i64) -> Vec<u8> {
        let shown = second + if second < CHANGE { HOUR } else { 0 };
        let minute = shown.rem_euclid(24 * HOUR) / 60;
        format!("{:02}{:02}", minute / 60, minute % 60).into_bytes()
    }

    fn names(minutes: u32, now: i64) -> Vec<String> {
        let names = window(minutes, now, local).into_iter();
        names
            .map(|name| String::from_utf8_lossy(&name).into_owned())
            .collect()
    }

    #[test]
    fn a_window_looks_at_so_many_minutes() {
        assert_eq!(names(3, CHANGE - 20 * HOUR + 59), ["0700", "0659", "0658"]);
    }

    #[test]
    fn a_request_waits_until_enough_counters_have_left() {
        let wait = |counts: &[u64], allowed| {
            let wait = super::wait(counts, allowed, 3, 1_000 * 60 + 20);
            wait.ticks().map(|ticks| ticks / TICKS_PER_SECOND)
        };
        assert_eq!(wait(&[1, 2, 2], 5.0), Some(0));
        assert_eq!(wait(&[1, 2, 3], 5.0), Some(40));
        assert_eq!(wait(&[1, 5, 0], 5.0), Some(100));
        assert_eq!(wait(&[6, 0, 0], 5.0), Some(160));
        assert_eq!(wait(&[1, 0, 0], 0.0), None);
        assert_eq!(wait(&[u64::MAX, u64::MAX, 0], 1.0), Some(160));
        assert_eq!(wait(&[9, 9, 9], f64::INFINITY), Some(0));
    }

    #[test]
    fn no_minute_is_missed_or_met_twice_when_the_clocks_are_put_back() {
        // The first 02:59 came just before the second 02:00.
        assert_eq!(names(3, CHANGE), ["0200", "0259", "0258"]);
        // An hour has 60 minutes with different names.
        assert_eq!(names(60, CHANGE + 1_800).len(), 60);
        // In a longer window, the repeated minutes share a counter, which is counted once.
        assert_eq!(names(90, CHANGE + 1_800).len(), 60);
        let all = names(92, CHANGE + 1_800);
        assert_eq!((all.len(), all[60].as_str()), (61, "0159"));
    }

    #[test]
    fn a_counter_lives_while_a_window_looks_at_it() {
        for (now, rest) in [(120, 301), (179, 242)] {
            let life = Life::new(5, now);
            assert_eq!((life.whole, life.rest), (301, rest));
        }
        assert!(Life::new(MOST_MINUTES, 0).whole < 30 * 86_400);
    }

    #[test]
    fn only_numbers_are_counters() {
        assert_eq!(parse(b"12"), Some(12));
        assert_eq!(parse(b"9 "), Some(9));
        for other in [
            &b""[..],
            b" ",
            b"-1",
            b"+1",
            b"1x",
            b"1.5",
            b"\xff",
            b"99999999999999999999",
        ] {
            assert_eq!(parse(other), None);
        }
    }
}

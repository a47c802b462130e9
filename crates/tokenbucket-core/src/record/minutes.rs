//! A counter a minute: which of them a window looks at, how long they live, what they say.
//!
//! Each is named by the local time of its minute. A window's instants are a minute apart, each in the offset
//! that holds at it. So a change of the clocks skips names or meets one twice, but never makes a window
//! look at a wrong one; one that is met twice is counted once.

use std::collections::HashSet;

/// Names of day, hour and minute come again after a month: 28 days.
pub const MOST_MINUTES: u32 = 40_320;

/// How long a counter lives that is counted up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Seconds from when it is made; at most 30 days.
    pub whole: u32,
    /// Seconds from now for which it will be looked at, and one more. What was made to live shorter is made to live
    /// so long.
    pub rest: u32,
}

impl Life {
    /// Of this minute's counter at the second `now`, in a window of `minutes`, at most [`MOST_MINUTES`].
    #[must_use]
    pub fn new(minutes: u32, now: i64) -> Self {
        let whole = minutes * 60 + 1;
        // The part of the minute that is gone is below 60.
        let gone = u32::try_from(now.rem_euclid(60)).unwrap_or(0);
        Self {
            whole,
            rest: whole - gone,
        }
    }
}

/// The names of the counters of the last `minutes` at the second `now`, this minute's first. `name` names the
/// minute of a second.
pub fn window(minutes: u32, now: i64, mut name: impl FnMut(i64) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut met = HashSet::new();
    (0..i64::from(minutes))
        .filter_map(|ago| {
            let name = name(now - 60 * ago);
            met.insert(name.clone()).then_some(name)
        })
        .collect()
}

/// What a counter says; `None` if it is none. Counting down pads with spaces.
#[must_use]
pub fn parse(counter: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(counter.trim_ascii_end()).ok()?;
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600;
    /// In these tests the clocks are put back by an hour, to 02:00, at this second.
    const CHANGE: i64 = 100 * 24 * HOUR + 2 * HOUR;

    /// Hour and minute of a second.
    fn local(second: i64) -> Vec<u8> {
        let shown = if second < CHANGE {
            second + HOUR
        } else {
            second
        };
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
    fn no_minute_is_missed_or_met_twice_when_the_clocks_are_put_back() {
        // 02:59 came before the second 02:00.
        assert_eq!(names(3, CHANGE), ["0200", "0259", "0258"]);
        // An hour: every minute of it has a name of its own.
        assert_eq!(names(60, CHANGE + 1_800).len(), 60);
        // More: the minutes that come twice share a counter, which is counted once.
        assert_eq!(names(90, CHANGE + 1_800).len(), 60);
        let all = names(92, CHANGE + 1_800);
        assert_eq!((all.len(), all[60].as_str()), (61, "0159"));
    }

    #[test]
    fn a_counter_lives_while_a_window_looks_at_it() {
        assert_eq!(
            Life::new(5, 120),
            Life {
                whole: 301,
                rest: 301
            }
        );
        assert_eq!(
            Life::new(5, 179),
            Life {
                whole: 301,
                rest: 242
            }
        );
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

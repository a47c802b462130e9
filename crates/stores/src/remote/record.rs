//! The format of a bucket's record: decimal digits, at most 2^52. Lua and SQL represent such
//! numbers exactly.
//!
//! The number is the microsecond at which the bucket was, or will be, empty. While the bucket is in
//! debt, ":" and the microsecond at which the record was written follow. So a reader knows that a
//! record without them was written at its own instant or later. If the record was written in the
//! future of the reader's clock, the two clocks differ.
//!
//! `redis/bucket.lua` implements the same rule. A record on Redis may also have a third number, a
//! span, which memcached keeps in the item's flags, and two or three numbers of what was taken
//! ahead.

use gcra::{TICKS_PER_MICROSECOND, Timestamp};

/// The greatest number in a record.
pub const GREATEST: u64 = 1 << 52;
/// The most digits in a number of a record.
const MOST_DIGITS: usize = 16;
/// The most bytes of a record.
pub const LONGEST: usize = 2 * MOST_DIGITS + 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The instant at which the bucket was, or will be, empty; 0 if it was reset.
    pub empty_at: Timestamp,
    /// The instant at which the record was written, or an earlier one.
    pub written: Timestamp,
}

/// Parses a record. Returns `None` if it is invalid.
pub fn parse(record: &[u8]) -> Option<Record> {
    let mut parts = record.splitn(2, |&byte| byte == b':').map(number);
    let empty_at = parts.next()??;
    let written = match parts.next() {
        None => empty_at,
        Some(written) => written.filter(|&written| written < empty_at)?,
    };
    Some(Record { empty_at, written })
}

/// Returns the record of a bucket that is written at `now`. Both instants are whole microseconds.
pub fn format(empty_at: Timestamp, now: Timestamp) -> String {
    let state = empty_at.0 / TICKS_PER_MICROSECOND;
    if empty_at <= now {
        return state.to_string();
    }
    format!("{state}:{}", now.0 / TICKS_PER_MICROSECOND)
}

fn number(text: &[u8]) -> Option<Timestamp> {
    digits(text)
        .filter(|&number| number <= GREATEST && text.len() <= MOST_DIGITS)
        .map(|number| Timestamp(number * TICKS_PER_MICROSECOND))
}

/// Parses decimal digits. Returns `None` for any other bytes and for numbers above 2^64 - 1.
pub fn digits(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_digits_up_to_2_to_the_52() {
        let parsed = |record| parse(record).map(|record| record.empty_at.0 / 1000);
        assert_eq!(parsed(b"0"), Some(0));
        assert_eq!(parsed(b"4503599627370496"), Some(GREATEST));
        for other in [
            &b""[..],
            b"4503599627370497",
            b"00000000000000001",
            b"+1",
            b"1 ",
            b"\xff",
            b"5:",
            b":5",
            b"5:5",
            b"5:6",
            b"6:5:4",
            b"6:x",
        ] {
            assert_eq!(parse(other), None);
        }
    }

    #[test]
    fn a_debt_has_the_instant_of_its_record() {
        let at = |micros| Timestamp(micros * TICKS_PER_MICROSECOND);
        for (empty_at, text, written) in [(7, "7", 7), (8, "8", 8), (9, "9:8", 8)] {
            assert_eq!(format(at(empty_at), at(8)), text);
            let (empty_at, written) = (at(empty_at), at(written));
            assert_eq!(parse(text.as_bytes()), Some(Record { empty_at, written }));
        }
    }
}

//! The instants and durations of a log, in nanoseconds.

use super::failure::Failure;
use memchr::memmem;

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// The instants in which the bucket's arithmetic is exact: 2006 to 2116.
pub const KNOWN: std::ops::Range<u64> = 1 << 60..1 << 62;

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Returns an instant since the Unix epoch, and the resolution with which the log states it.
///
/// Reads the time of `common` logs (`29/Nov/2026:07:26:33 +0100`), ISO 8601 with a zone, and the
/// time since the Unix epoch in seconds with decimals, or in whole milli-, micro- or nanoseconds.
pub fn instant(text: &[u8]) -> Result<(u64, u64), Failure> {
    let text = text.strip_prefix(b"[").unwrap_or(text);
    let text = text.strip_suffix(b"]").unwrap_or(text);
    let (ticks, resolution) = match text {
        [_, _, b'/', ..] | [_, _, _, _, b'-', ..] => calendar(text)?,
        _ => epoch(text).ok_or(Failure::Time)?,
    };
    if !KNOWN.contains(&ticks) {
        return Err(Failure::Time);
    }
    Ok((ticks, resolution))
}

/// Returns a duration in `unit` nanoseconds with decimals. nginx separates the durations of several
/// servers by `, ` or ` : `; the last one counts. A missing duration is 0. Fails for more than a
/// day, because the log then has another unit.
pub fn duration(text: &[u8], unit: u64) -> Result<u64, Failure> {
    let separators = [b", ".as_slice(), b" : "];
    let ends = separators.map(|it| memmem::rfind(text, it).map_or(0, |at| at + it.len()));
    match &text[ends[0].max(ends[1])..] {
        [] | b"-" => Ok(0),
        last => scaled(last, unit)
            .map(|it| it.0)
            .filter(|it| *it <= 86_400 * SECOND)
            .ok_or(Failure::Duration),
    }
}

fn epoch(text: &[u8]) -> Option<(u64, u64)> {
    let whole = text.iter().take_while(|it| it.is_ascii_digit()).count();
    let unit = match whole {
        9..=11 => SECOND,
        12..=14 => 1_000_000,
        15..=17 => 1_000,
        18..=19 => 1,
        _ => return None,
    };
    scaled(text, unit)
}

/// Reads a number with decimals in units of `unit`. Returns it with the unit of its last digit.
fn scaled(text: &[u8], unit: u64) -> Option<(u64, u64)> {
    let (whole, decimals) = match text.iter().position(|&byte| byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &text[..0]),
    };
    let (mut value, mut resolution) = (number(whole)?.checked_mul(unit)?, unit);
    for digit in decimals {
        resolution /= 10;
        value = value
            .checked_add(u64::from(digit.checked_sub(b'0').filter(|it| *it < 10)?) * resolution)?;
    }
    Some((value, resolution.max(1)))
}

fn number(text: &[u8]) -> Option<u64> {
    let add = |sum: u64, digit: &u8| {
        let digit = digit.checked_sub(b'0').filter(|it| *it < 10)?;
        sum.checked_mul(10)?.checked_add(digit.into())
    };
    text.iter().try_fold(0, add).filter(|_| !text.is_empty())
}

/// Reads a date and a time of day with a zone.
fn calendar(text: &[u8]) -> Result<(u64, u64), Failure> {
    let part =
        |range: std::ops::Range<usize>| text.get(range).and_then(number).ok_or(Failure::Time);
    let is_common = text.get(2) == Some(&b'/');
    let (year, month, day, time) = if is_common {
        let name = text.get(3..6).unwrap_or_default();
        let month = MONTHS.iter().position(|it| it.as_slice() == name);
        (
            part(7..11)?,
            month.ok_or(Failure::Time)? as u64 + 1,
            part(0..2)?,
            12,
        )
    } else {
        (part(0..4)?, part(5..7)?, part(8..10)?, 11)
    };
    let [hour, minute, second] = [0, 3, 6].map(|at| part(time + at..time + at + 2));
    let (hour, minute, second) = (hour?, minute?, second?);
    let is_valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let year = Some(year)
        .filter(|it| is_valid && (1970..=9999).contains(it))
        .ok_or(Failure::Time)?;
    let rest = text.get(time + 8..).unwrap_or_default();
    let fraction = rest
        .iter()
        .take_while(|it| it.is_ascii_digit() || matches!(it, b'.' | b','))
        .count();
    let (decimals, zone) = rest.split_at(fraction);
    let mut nanoseconds = (0, SECOND);
    if !decimals.is_empty() {
        let decimals = [b"0.", &decimals[1..]].concat();
        nanoseconds = scaled(&decimals, SECOND).ok_or(Failure::Time)?;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    let seconds = offset(zone)?.and_then(|offset| seconds.checked_add_signed(-offset));
    let ticks = seconds
        .and_then(|it| it.checked_mul(SECOND))
        .ok_or(Failure::Time)?;
    Ok((ticks + nanoseconds.0, nanoseconds.1))
}

/// Returns the seconds by which a zone is ahead of UTC, or `None` if it is malformed. Fails without
/// a zone, because a guess could be wrong by hours.
fn offset(zone: &[u8]) -> Result<Option<i64>, Failure> {
    let zone = zone.trim_ascii();
    let (sign, digits) = match zone {
        [] => return Err(Failure::Zone),
        b"Z" | b"z" => return Ok(Some(0)),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return Ok(None),
    };
    let digits: Vec<u8> = digits.iter().copied().filter(|&it| it != b':').collect();
    let number = number(&digits).filter(|it| digits.len() == 4 && *it < 2400);
    Ok(number.map(|it| sign * (it / 100 * 3_600 + it % 100 * 60).cast_signed()))
}

/// Returns the days from the Unix epoch to a date of the Gregorian calendar.
const fn days(year: u64, month: u64, day: u64) -> u64 {
    // A year that begins in March has its leap day at its end.
    let year = if month > 2 { year } else { year - 1 };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_instant_is_read() {
        let second = 1_795_937_193;
        for (text, nanoseconds, resolution) in [
            ("29/Nov/2026:07:26:33 +0000", 0, SECOND),
            ("[29/Nov/2026:08:56:33 +0130]", 0, SECOND),
            ("2026-11-29T07:26:33Z", 0, SECOND),
            ("2026-11-28T22:26:33.250-09:00", 250_000_000, 1_000_000),
            ("1795937193", 0, SECOND),
            ("1795937193.123", 123_000_000, 1_000_000),
            ("1795937193123456", 123_456_000, 1_000),
        ] {
            let expected = second * SECOND + nanoseconds;
            assert_eq!(
                instant(text.as_bytes()).ok(),
                Some((expected, resolution)),
                "{text}"
            );
        }
        let leap = instant(b"29/Feb/2024:00:00:00 +0000").unwrap().0;
        assert_eq!(leap / SECOND, 1_709_164_800);
    }

    #[test]
    fn an_instant_without_a_zone_or_a_year_is_not_guessed() {
        for (text, failure) in [
            ("2026-11-29T07:26:33", Failure::Zone),
            ("29/Nov/2026:07:26:33", Failure::Zone),
            ("29/Nov/2026:07:26:33 CET", Failure::Time),
            ("29/Nov/1970:07:26:33 +0000", Failure::Time),
            ("29/Foo/2026:07:26:33 +0000", Failure::Time),
            ("29/Nov/2026:25:26:33 +0000", Failure::Time),
            ("Nov 29 07:26:33", Failure::Time),
            ("12", Failure::Time),
            ("", Failure::Time),
            ("99999999999999999999", Failure::Time),
        ] {
            assert_eq!(instant(text.as_bytes()), Err(failure), "{text}");
        }
    }

    #[test]
    fn a_duration_is_that_of_the_last_server() {
        assert_eq!(duration(b"0.250", SECOND), Ok(250_000_000));
        assert_eq!(duration(b"1.5, 0.004", SECOND), Ok(4_000_000));
        assert_eq!(duration(b"0.004 : 1.5", SECOND), Ok(1_500_000_000));
        assert_eq!(duration(b"-", SECOND), Ok(0));
        assert_eq!(duration(b"86400", SECOND), Ok(86_400 * SECOND));
        assert_eq!(duration(b"1200", 1_000), Ok(1_200_000));
        for text in [b"x".as_slice(), b"86400.1", b"1.5 0.004", b"0.1,2"] {
            assert_eq!(duration(text, SECOND), Err(Failure::Duration));
        }
    }
}

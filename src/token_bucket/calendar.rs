//! The windows of quotas: minutes, hours, days, weeks, months and years of a calendar.
//!
//! PHP's own date engine computes the starts, because it knows the time zones. An object keeps the
//! starts around the current window, so the engine is called once in a window.

use super::bucket::Bucket;
use gcra::clock::TICKS_PER_SECOND;
use gcra::{Timestamp, Windows};
use std::cell::Cell;
use zend::{Number, Obj, Object, Thrown, Zval, invoke, value};

/// The slots of the properties that `TokenBucket\Quota` declares after those of its parent.
pub const PERIOD: usize = 4;
pub const ANCHOR: usize = 5;

/// The length of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Period {
    /// Returns the period of an enum case, by its name.
    pub fn of_case(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"Minute" => Self::Minute,
            b"Hour" => Self::Hour,
            b"Day" => Self::Day,
            b"Week" => Self::Week,
            b"Month" => Self::Month,
            b"Year" => Self::Year,
            _ => return None,
        })
    }

    /// Returns the length in seconds of the shortest window. Clocks are set forward by three hours
    /// at most, in Antarctica/Casey.
    pub const fn shortest(self) -> u32 {
        const DAY: u32 = 86_400;
        const FORWARD: u32 = 3 * 3600;
        match self {
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => DAY - FORWARD,
            Self::Week => 7 * DAY - FORWARD,
            Self::Month => 28 * DAY - FORWARD,
            Self::Year => 365 * DAY - FORWARD,
        }
    }

    /// Returns the average length in seconds.
    pub const fn average(self) -> f64 {
        match self {
            Self::Minute => 60.0,
            Self::Hour => 3600.0,
            Self::Day => 86_400.0,
            Self::Week => 604_800.0,
            Self::Month => 2_629_746.0,
            Self::Year => 31_556_952.0,
        }
    }
}

/// The calendar of a quota, with the windows that were computed last.
#[derive(Clone, Copy, Debug)]
pub struct Calendar {
    pub period: Period,
    /// The anchor as a Unix time in seconds, and its local year, month and day.
    anchor: i64,
    date: [i64; 3],
    /// The starts of the window before, of the window, and of the two windows after it, as Unix
    /// times in seconds.
    starts: [i64; 4],
}

/// A cell for the calendar of an object. Objects that are not quotas have none.
pub type Place = Cell<Option<Calendar>>;

impl Calendar {
    /// Reads the anchor, which is a `DateTimeImmutable`.
    ///
    /// # Errors
    /// Fails if PHP's date engine fails.
    pub fn new(period: Period, anchor: &Zval) -> Result<Self, Thrown> {
        let object = value::object(anchor).ok_or(Thrown)?;
        Ok(Self {
            period,
            anchor: int(object, "gettimestamp")?,
            date: date(object)?,
            starts: [0; 4],
        })
    }

    /// Returns the starts around the instant `now`, a Unix time in seconds. `anchor` is the object
    /// that the calendar was made from.
    fn around(&self, anchor: Obj<'_>, now: i64) -> Result<[i64; 4], Thrown> {
        let unit = match self.period {
            Period::Minute => 60,
            Period::Hour => 3600,
            _ => return self.dates_around(anchor, now),
        };
        let start = now - (now - self.anchor).rem_euclid(unit);
        Ok([-1, 0, 1, 2].map(|number| start + number * unit))
    }

    /// Does the same for a period of whole days.
    fn dates_around(&self, anchor: Obj<'_>, now: i64) -> Result<[i64; 4], Thrown> {
        let local = invoke::method(anchor, "settimestamp", &mut [of_int(now)])?;
        let today = date(value::object(&local).ok_or(Thrown)?)?;
        let start = |number| self.start(anchor, today, number);
        // The window of today's date is the right one, unless it begins later today, or unless the
        // clocks were set back over its start.
        let mut number = 0;
        while start(number)? > now {
            number -= 1;
        }
        while start(number + 1)? <= now {
            number += 1;
        }
        Ok([
            start(number - 1)?,
            start(number)?,
            start(number + 1)?,
            start(number + 2)?,
        ])
    }

    /// Returns the start of the window `number` windows after the one that contains the date
    /// `today`. If a month has fewer days than the anchor's day, its window starts on its last day.
    fn start(&self, anchor: Obj<'_>, today: [i64; 3], number: i64) -> Result<i64, Thrown> {
        let ([year, month, day], [_, its_month, its_day]) = (today, self.date);
        let date = match self.period {
            Period::Week => {
                let days = days(today) - days(self.date);
                [year, month, day - days.rem_euclid(7) + 7 * number]
            }
            Period::Month => {
                let months = 12 * year + month - 1 + number;
                clamped(months.div_euclid(12), months.rem_euclid(12) + 1, its_day)
            }
            Period::Year => clamped(year + number, its_month, its_day),
            _ => [year, month, day + number],
        };
        let local = invoke::method(anchor, "setdate", &mut date.map(of_int))?;
        int(value::object(&local).ok_or(Thrown)?, "gettimestamp")
    }
}

/// Returns the starts of the windows around the instant `now`, a Unix time in seconds, of a quota.
///
/// # Errors
/// Fails if PHP's date engine fails.
pub fn starts(bucket: &Object<Bucket>, now: i64) -> Result<[i64; 4], Thrown> {
    let calendar = bucket.calendar().get().ok_or(Thrown)?;
    let [_, start, end, _] = calendar.starts;
    if (start..end).contains(&now) {
        return Ok(calendar.starts);
    }
    let anchor = bucket.copy_declared(ANCHOR);
    let starts = calendar.around(value::object(&anchor).ok_or(Thrown)?, now)?;
    bucket.calendar().set(Some(Calendar { starts, ..calendar }));
    Ok(starts)
}

/// Returns the windows of a call on a quota at `now`, a Unix time.
///
/// # Errors
/// Fails as [`starts`] does.
pub fn windows(bucket: &Object<Bucket>, now: Timestamp) -> Result<Windows, Thrown> {
    let [before, start, end, later] = starts(bucket, (now.0 / TICKS_PER_SECOND).cast_signed())?;
    let length = |from: i64, to: i64| u32::try_from(to - from).unwrap_or(0);
    Ok(Windows {
        start: Timestamp(start.unsigned_abs() * TICKS_PER_SECOND),
        lengths: [
            length(before, start),
            length(start, end),
            length(end, later),
        ],
    })
}

pub fn of_int(int: i64) -> Zval {
    Number::Int(int).to_zval()
}

/// Returns the integer that a method of a date object returns.
pub fn int(object: Obj<'_>, method: &str) -> Result<i64, Thrown> {
    let answer = invoke::method(object, method, &mut [])?;
    match value::as_number(&answer) {
        Some(Number::Int(int)) => Ok(int),
        _ => Err(Thrown),
    }
}

/// Returns the local year, month and day of a date object.
fn date(object: Obj<'_>) -> Result<[i64; 3], Thrown> {
    let text = invoke::method(object, "format", &mut [value::of_bytes(b"Y,n,j")])?;
    let text = std::str::from_utf8(value::bytes(&text)).map_err(|_| Thrown)?;
    let mut numbers = text.split(',').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten().ok_or(Thrown);
    Ok([next()?, next()?, next()?])
}

/// Returns the date, or the last day of the month if the month has fewer days.
const fn clamped(year: i64, month: i64, day: i64) -> [i64; 3] {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    [year, month, if day < last { day } else { last }]
}

/// Returns the number of a day, counted from a Monday.
const fn days([year, month, day]: [i64; 3]) -> i64 {
    // Years begin in March, so that a leap day is the last day of a year.
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day
}

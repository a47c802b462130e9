//! The windows of quotas: minutes, hours, days, weeks, months and years of a calendar.
//!
//! PHP's own date engine knows the offsets of time zones. An object keeps the starts of the current
//! window and of its neighbours, so it calls the engine once in each window.

use std::cell::Cell;
use zend::{Kept, Number, Obj, Thrown, Zval, invoke, value};

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

    /// Returns the length in seconds of the shortest window. A window of a day or more is shorter
    /// if the clocks are set forward in it, by three hours at most (in Antarctica/Casey).
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
    /// The anchor as a Unix time in seconds.
    anchor: i64,
    /// The local time of the anchor in seconds since midnight.
    time: u32,
    /// The local day of the week, from 0, the local month and the day of the month.
    weekday: u8,
    month: u8,
    day: u8,
    /// The starts of the window before, of the window, and of the two windows after it, as Unix
    /// times in seconds.
    pub starts: [i64; 4],
}

/// A cell for the calendar of an object. Objects that are not quotas have none.
pub type CalendarCell = Cell<Option<Calendar>>;

impl Calendar {
    /// Reads the anchor, which is a `DateTimeImmutable`. Fails if PHP's date engine fails.
    pub fn new(period: Period, anchor: &Zval) -> Result<Self, Thrown> {
        let object = value::object(anchor).ok_or(Thrown)?;
        let [year, month, day, hour, minute, second] = numbers(object, b"Y,n,j,G,i,s")?;
        let date = [year, month, day];
        // The casts are exact, because the numbers of a date are small.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(Self {
            period,
            anchor: int(object, "gettimestamp")?,
            time: (3600 * hour + 60 * minute + second) as u32,
            weekday: days(date).rem_euclid(7) as u8,
            month: month as u8,
            day: day as u8,
            starts: [0; 4],
        })
    }

    /// Returns the starts around the instant `now`, a Unix time in seconds. `anchor` is the object
    /// that the calendar was made from. Fails if PHP's date engine fails.
    pub fn around(&self, anchor: Obj<'_>, now: i64) -> Result<[i64; 4], Thrown> {
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
        let zone = Zone(invoke::method(anchor, "gettimezone", &mut [])?);
        let local = utc(now + zone.offset_at(now)?)?;
        let today = numbers(value::object(&local).ok_or(Thrown)?, b"Y,n,j")?;
        let start = |number| zone.instant(self.start(today, number));
        // The window 0 starts in today's day, week, month or year, but perhaps after `now`. The
        // window 1 has already begun if the clocks were set back over its start.
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

    /// Returns the start of the window `number` windows after the one that starts in the day, week,
    /// month or year of the date `today`, as a local time in seconds as if it were UTC. If the
    /// anchor's day does not exist in a month, the window starts on the last day of the month.
    fn start(&self, today: [i64; 3], number: i64) -> i64 {
        let [year, month, day] = today;
        let its_day = i64::from(self.day);
        let date = match self.period {
            Period::Week => {
                let days = days(today) - i64::from(self.weekday);
                [year, month, day - days.rem_euclid(7) + 7 * number]
            }
            Period::Month => {
                let months = 12 * year + month - 1 + number;
                clamped(months.div_euclid(12), months.rem_euclid(12) + 1, its_day)
            }
            Period::Year => clamped(year + number, self.month.into(), its_day),
            _ => [year, month, day + number],
        };
        86_400 * (days(date) - days([1970, 1, 1])) + i64::from(self.time)
    }
}

struct Zone(Kept);

impl Zone {
    /// Returns the Unix time of a local time, which is given as if it were UTC, in seconds. If the
    /// time occurs twice because the clocks are set back, returns the first one. If the clocks skip
    /// it, uses the offset from before the change.
    fn instant(&self, local: i64) -> Result<i64, Thrown> {
        let earlier = self.offset_at(local - 86_400)?;
        let later = self.offset_at(local + 86_400)?;
        let [first, second] = [local - earlier, local - later];
        if earlier == later || self.offset_at(first)? == earlier {
            return Ok(first);
        }
        Ok(if self.offset_at(second)? == later {
            second
        } else {
            first
        })
    }

    /// Returns the offset of the zone from UTC at an instant, in seconds.
    fn offset_at(&self, instant: i64) -> Result<i64, Thrown> {
        let zone = value::object(&self.0).ok_or(Thrown)?;
        integer(&invoke::method(
            zone,
            "getoffset",
            &mut [utc(instant)?.into_zval()],
        )?)
    }
}

/// Returns the date object of an instant, in UTC. `setTimestamp()` of a date in another zone may
/// set another instant if the clocks are set back.
fn utc(instant: i64) -> Result<Kept, Thrown> {
    let text = value::of_bytes(format!("@{instant}").as_bytes());
    invoke::named("date_create_immutable", &mut [text])
}

/// Returns the date object of an instant, in the time zone of the anchor. Fails if PHP's date
/// engine fails.
pub fn date(anchor: Obj<'_>, instant: i64) -> Result<Kept, Thrown> {
    let zone = invoke::method(anchor, "gettimezone", &mut [])?.into_zval();
    let date = utc(instant)?;
    invoke::method(
        value::object(&date).ok_or(Thrown)?,
        "settimezone",
        &mut [zone],
    )
}

/// Returns the integer that a method of a date object returns.
pub fn int(object: Obj<'_>, method: &str) -> Result<i64, Thrown> {
    integer(&invoke::method(object, method, &mut [])?)
}

fn integer(value: &Kept) -> Result<i64, Thrown> {
    match value::as_number(value) {
        Some(Number::Int(int)) => Ok(int),
        _ => Err(Thrown),
    }
}

/// Returns the local numbers of a date object in this format, in which commas separate them.
fn numbers<const N: usize>(object: Obj<'_>, format: &[u8]) -> Result<[i64; N], Thrown> {
    let text = invoke::method(object, "format", &mut [value::of_bytes(format)])?;
    let text = std::str::from_utf8(value::bytes(&text)).map_err(|_| Thrown)?;
    let mut numbers = [0; N];
    for (into, number) in numbers.iter_mut().zip(text.split(',')) {
        *into = number.parse().map_err(|_| Thrown)?;
    }
    Ok(numbers)
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

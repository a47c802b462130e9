//! The age of a request: the time since the web server received it.
//!
//! A request waits in the listen queue while all workers are busy. Its client may have given up
//! meanwhile. Then its work would only delay the requests behind it.

use super::SyntaxError;
use std::time::Duration;

/// The greatest age that is believed. A greater one is more likely an error of a clock.
const OLDEST: Duration = Duration::from_secs(300);

/// The greatest age of a request that is served, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxAge(Option<Duration>);

/// The age of a request, compared with the greatest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    Served,
    /// The request has waited too long.
    Stale(Duration),
    /// The instant is malformed, in the future or too long ago.
    Invalid,
}

impl MaxAge {
    /// Parses a whole number of seconds. An empty text and 0 mean that there is no greatest age.
    /// Fails with the position of the error.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let seconds = match text.trim_ascii() {
            "" => Some(0),
            text => digits(text.as_bytes()),
        };
        match seconds.map(Duration::from_secs) {
            Some(Duration::ZERO) => Ok(Self(None)),
            Some(most) if most <= OLDEST => Ok(Self(Some(most))),
            _ => Err(SyntaxError::new(
                0,
                "a whole number of seconds from 1 to 300, or 0",
            )),
        }
    }

    /// Compares the age of a request. `received` is the instant at which the web server received
    /// it: seconds since the Unix epoch with up to six decimals, as nginx has them, or `t=` and
    /// microseconds, as Apache has them. `now` is the time since the Unix epoch.
    pub fn compare(self, received: Option<&[u8]>, now: Duration) -> Age {
        let Some((most, received)) = self.0.zip(received) else {
            return Age::Served;
        };
        let received = instant(received);
        match received.and_then(|received| now.checked_sub(received)) {
            Some(age) if age > OLDEST => Age::Invalid,
            Some(age) if age > most => Age::Stale(age),
            Some(_) => Age::Served,
            None => Age::Invalid,
        }
    }
}

fn instant(text: &[u8]) -> Option<Duration> {
    if let Some(microseconds) = text.strip_prefix(b"t=") {
        return digits(microseconds).map(Duration::from_micros);
    }
    let point = text.iter().position(|&byte| byte == b'.');
    let Some(point) = point else {
        return digits(text).map(Duration::from_secs);
    };
    let (seconds, decimals) = (&text[..point], &text[point + 1..]);
    let missing = 6_u32.checked_sub(u32::try_from(decimals.len()).ok()?)?;
    let microseconds = digits(decimals)? * 10_u64.pow(missing);
    Some(Duration::from_secs(digits(seconds)?) + Duration::from_micros(microseconds))
}

/// Parses 1 to 18 decimal digits.
fn digits(text: &[u8]) -> Option<u64> {
    let is_number = (1..=18).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let digit = |byte: &u8| u64::from(byte - b'0');
    is_number.then(|| {
        text.iter()
            .fold(0, |number, byte| number * 10 + digit(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_millis(1_700_000_000_250);

    fn age(most: &str, received: &str) -> Age {
        let most = MaxAge::parse(most).unwrap();
        most.compare(Some(received.as_bytes()), NOW)
    }

    #[test]
    fn a_request_is_stale_if_it_is_older_than_the_greatest_age() {
        let stale = |micros| Age::Stale(Duration::from_micros(micros));
        for (received, expected) in [
            ("1700000000.250", Age::Served),
            ("1700000000", Age::Served),
            ("1699999995.250", Age::Served),
            ("1699999995.249999", stale(5_000_001)),
            ("1699999995.2", stale(5_050_000)),
            ("t=1699999995250000", Age::Served),
            ("t=1699999995249999", stale(5_000_001)),
            ("1699999700.250", stale(300_000_000)),
            ("1699999700.249999", Age::Invalid),
            ("0", Age::Invalid),
        ] {
            assert_eq!(age("5", received), expected, "{received}");
        }
    }

    #[test]
    fn malformed_and_future_instants_are_invalid() {
        for received in [
            "",
            " ",
            "-",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e9",
            "1700000000,5",
            "1700000000.2500000",
            " 1699999990",
            "1699999990 ",
            "t=",
            "t=1.5",
            "T=1",
            "D=5",
            "(null)",
            "%t",
            "9999999999999999999",
            "999999999999999999",
            "t=999999999999999999",
            "1700000000.250001",
            "1699999990\0",
            "1699999990, 1699999990",
        ] {
            assert_eq!(age("5", received), Age::Invalid, "{received:?}");
        }
    }

    #[test]
    fn no_age_is_too_great_without_a_limit_or_an_instant() {
        for most in ["", " ", "0"] {
            assert_eq!(age(most, "x"), Age::Served);
        }
        let most = MaxAge::parse("5").unwrap();
        assert_eq!(most.compare(None, NOW), Age::Served);
    }

    #[test]
    fn the_greatest_age_is_a_number_of_seconds() {
        for text in ["301", "-1", "1.5", "5s", "x", "99999999999999999999"] {
            assert!(MaxAge::parse(text).is_err(), "{text}");
        }
        assert!(MaxAge::parse(" 300 ").is_ok());
    }
}

//! A bucket as `serialize()` writes `['tokens' => …, 'filled' => …]`. `tokens` is in thousandths of
//! tokens. `filled` is the millisecond of the wall clock at which tokens were last added.
//!
//! This module does not unserialise anything. Only bytes of exactly this shape are a bucket.
//!
//! The limit and the window come with each call. A bucket is full if tokens were last added to it
//! more than a window ago. A denied call takes tokens, too, but the debt stays below one window. A
//! client that keeps calling stays denied. A client that stops for a window is granted a call.
//!
//! Worked example: 5 calls in 300 s. A new bucket holds 5,000 thousandths. Five calls leave 0. The
//! sixth is denied and leaves -1,000. Denied calls leave at least -4,000. 300 s later the bucket
//! holds 1,000 again, which is one call.

/// The number of parts of a thousandth of a token. Refills are rounded down to a part.
const PARTS: i128 = 1_000_000;
/// A token, in parts.
const TOKEN: i128 = 1_000 * PARTS;
/// The greatest number in a record. A double holds every integer up to it.
const GREATEST: f64 = 9_007_199_254_740_992.0;
/// The greatest limit, in tokens.
const MOST_CALLS: f64 = 1e9;

/// A bucket as read from a record or to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerializedBucket {
    /// The tokens, in parts; negative in debt.
    tokens: i128,
    /// The instant at which tokens were last added, in milliseconds since the epoch.
    filled: i64,
}

/// A limit of calls in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// The tokens of a full bucket, in parts. At most 10^18.
    limit: i128,
    /// The window in milliseconds; more than 0.
    window: i64,
}

impl Throttle {
    /// Creates a limit of `limit` calls in `window` milliseconds. A limit above 10^9 becomes 10^9.
    /// Returns `None` if an argument is invalid.
    pub fn new(limit: f64, window: i64) -> Option<Self> {
        if !limit.is_finite() || limit < 0.0 || window <= 0 {
            return None;
        }
        let thousandths = (limit.min(MOST_CALLS) * 1e3).floor();
        // The number is at most 10^12.
        #[allow(clippy::cast_possible_truncation)]
        let limit = thousandths as i128 * PARTS;
        Some(Self { limit, window })
    }

    /// Takes a token from the bucket `found` at the millisecond `now`. If `found` is `None`, the
    /// bucket is full. Returns the verdict (true if the bucket held the token) and the bucket after
    /// the call.
    pub fn take(&self, found: Option<SerializedBucket>, now: i64) -> (bool, SerializedBucket) {
        let full = SerializedBucket {
            tokens: self.limit,
            filled: now,
        };
        // The subtraction does not overflow, because both numbers are below 2^54.
        let bucket = found.filter(|bucket| now - bucket.filled <= self.window);
        let mut bucket = bucket.unwrap_or(full);
        if bucket.filled < now {
            // The factors of the product are at most 2^63 and 10^18, so it fits 128 bits.
            let passed = i128::from(now - bucket.filled);
            bucket.tokens += passed * self.limit / i128::from(self.window);
            bucket.filled = now;
        }
        // An earlier call may have had a greater limit.
        let tokens = bucket.tokens.min(self.limit);
        let deepest = (TOKEN - self.limit).min(0);
        bucket.tokens = (tokens - TOKEN).max(deepest);
        (tokens >= TOKEN, bucket)
    }

    /// Returns the wait in milliseconds until a denied call would be granted. `after` is the bucket
    /// after that call at the millisecond `now`. Returns `None` if no call is ever granted.
    pub fn retry_after(&self, after: &SerializedBucket, now: i64) -> Option<u64> {
        if self.limit < TOKEN {
            return None;
        }
        // The debt is less than the limit, so the tokens are back within a window. The factors of
        // the product are at most 2^63 and 10^18.
        let lacks = (TOKEN - after.tokens).max(0).unsigned_abs();
        let refill =
            (lacks * u128::from(self.window.unsigned_abs())).div_ceil(self.limit.unsigned_abs());
        // If the clock went back, `filled` is later than `now`.
        let ahead = after.filled.saturating_sub(now).max(0).unsigned_abs();
        Some(
            u64::try_from(refill)
                .unwrap_or(u64::MAX)
                .saturating_add(ahead),
        )
    }

    /// Returns the least time to live of a record, in whole seconds. A record older than a window
    /// means the same as a missing record.
    pub fn life(&self) -> u64 {
        self.window.unsigned_abs().div_ceil(1_000) + 1
    }
}

impl SerializedBucket {
    /// Returns the bucket in `bytes`, or `None` if they have another shape.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let text = text.strip_prefix("a:2:{s:6:\"tokens\";")?;
        let (tokens, text) = text.split_once(';')?;
        let text = text.strip_prefix("s:6:\"filled\";")?;
        let filled = number(text.strip_suffix(";}")?)?;
        // The number is at most 2^53.
        #[allow(clippy::cast_possible_truncation)]
        Some(Self {
            tokens: parts(tokens)?,
            // Round up, because the later tokens were last added, the less the bucket holds now.
            filled: filled.ceil() as i64,
        })
    }

    /// Returns the bucket as `serialize()` writes it, or as text with the same meaning to
    /// `unserialize()`.
    pub fn print(&self) -> String {
        let sign = if self.tokens < 0 { "-" } else { "" };
        let size = self.tokens.abs();
        let digits = format!("{}.{:06}", size / PARTS, size % PARTS);
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        let kind = if digits.contains('.') { 'd' } else { 'i' };
        let filled = self.filled;
        format!("a:2:{{s:6:\"tokens\";{kind}:{sign}{digits};s:6:\"filled\";d:{filled};}}")
    }
}

/// Returns a number of a record in parts.
///
/// Numbers written by [`SerializedBucket::print`] are read digit by digit, because a bucket of
/// millions of calls has more digits than a double. Other numbers are rounded to the nearest part.
fn parts(text: &str) -> Option<i128> {
    let number = number(text)?;
    let digits = text.get(2..)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = format!("{whole}{fraction:0<6}").parse();
    let plain = plain.ok().filter(|_| fraction.len() <= 6);
    // The product is below 2^53 * 10^6.
    #[allow(clippy::cast_possible_truncation)]
    let rounded = (number * PARTS as f64).round() as i128;
    Some(plain.unwrap_or(rounded))
}

/// Returns the number in an `i:` or a `d:`, if it is finite and not beyond [`GREATEST`].
fn number(text: &str) -> Option<f64> {
    let (kind, digits) = text.split_once(':')?;
    let is_plain = digits
        .trim_start_matches('-')
        .starts_with(|c: char| c.is_ascii_digit());
    let known = |byte: u8| match kind {
        "i" => byte.is_ascii_digit() || byte == b'-',
        "d" => byte.is_ascii_digit() || b"-+.eE".contains(&byte),
        _ => false,
    };
    let number: f64 = digits.parse().ok()?;
    let is_known = is_plain && digits.bytes().all(known) && number.abs() <= GREATEST;
    is_known.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: i64 = 1_795_273_403_490;

    fn bucket(tokens: &str, filled: &str) -> Vec<u8> {
        format!("a:2:{{s:6:\"tokens\";{tokens};s:6:\"filled\";{filled};}}").into_bytes()
    }

    /// The texts are those that PHP 8.2 writes.
    #[test]
    fn what_serialize_writes_is_read() {
        for (tokens, parts) in [
            ("i:4000", 4_000 * PARTS),
            ("d:4000.25", 4_000_250_000),
            ("d:-1000", -1_000 * PARTS),
            ("i:-1", -PARTS),
            ("d:1.0E-6", 1),
            ("d:1.0E+3", 1_000 * PARTS),
            ("d:0.29999999999999999", 300_000),
            ("d:-0.5", -500_000),
        ] {
            let found = SerializedBucket::parse(&bucket(tokens, "d:1795273403490")).unwrap();
            assert_eq!((found.tokens, found.filled), (parts, NOW));
        }
        let found = SerializedBucket::parse(&bucket("i:1", "i:1795273403490")).unwrap();
        assert_eq!(found.filled, NOW);
    }

    #[test]
    fn nothing_else_is_read() {
        let whole = ["i:", "i:1.5", "i:+1", "i:0x1"];
        let doubles = ["d:NAN", "d:INF", "d:-INF", "d:1e300", "d: 1"];
        let others = ["b:1", "s:1:\"1\"", "N"];
        for tokens in whole.iter().chain(&doubles).chain(&others) {
            assert_eq!(
                SerializedBucket::parse(&bucket(tokens, "d:1")),
                None,
                "{tokens}"
            );
            assert_eq!(
                SerializedBucket::parse(&bucket("i:1", tokens)),
                None,
                "{tokens}"
            );
        }
        let good = bucket("i:1", "d:1");
        for end in 0..good.len() {
            assert_eq!(SerializedBucket::parse(&good[..end]), None);
        }
        for other in [
            &b"O:8:\"stdClass\":0:{}"[..],
            b"a:2:{s:6:\"filled\";d:1;s:6:\"tokens\";i:1;}",
            b"a:3:{s:6:\"tokens\";i:1;s:6:\"filled\";d:1;s:1:\"x\";i:1;}",
            b"a:2:{s:6:\"tokens\";i:1;s:6:\"filled\";d:1;} ",
            b"\xff",
        ] {
            assert_eq!(SerializedBucket::parse(other), None);
        }
    }

    #[test]
    fn the_worked_example_holds() {
        let throttle = Throttle::new(5.0, 300_000).unwrap();
        let mut bucket = None;
        for call in 1..=12 {
            let (granted, after) = throttle.take(bucket, NOW);
            assert_eq!(granted, call <= 5);
            bucket = Some(after);
        }
        assert_eq!(bucket.unwrap().tokens, -4_000 * PARTS);
        assert!(!throttle.take(bucket, NOW + 299_999).0);
        assert!(throttle.take(bucket, NOW + 300_000).0);
        // More than a window later, the bucket is full and holds more than one token.
        let (_, after) = throttle.take(bucket, NOW + 300_001);
        assert_eq!(after.tokens, 4_000 * PARTS);
        // If the clock goes back, nothing is refilled and `filled` does not go back.
        let (granted, after) = throttle.take(bucket, NOW - 5_000);
        assert_eq!((granted, after.filled), (false, NOW));
        assert_eq!(throttle.life(), 301);
    }

    #[test]
    fn a_call_is_granted_after_its_wait_and_not_a_millisecond_before() {
        for (limit, window) in [(1.0, 1_000), (3.0, 1_000), (5.0, 300_000), (7.5, 1_234)] {
            let throttle = Throttle::new(limit, window).unwrap();
            let (mut bucket, mut now) = (None, NOW);
            for call in 0..40 {
                let (granted, after) = throttle.take(bucket, now);
                bucket = Some(after);
                if !granted {
                    let wait = throttle.retry_after(&after, now).unwrap().cast_signed();
                    assert!(throttle.take(bucket, now + wait).0);
                    assert!(!throttle.take(bucket, now + wait - 1).0);
                }
                now += window * (call % 3) / 10;
            }
            let ahead = SerializedBucket {
                tokens: 0,
                filled: NOW + 10,
            };
            let wait = throttle.retry_after(&ahead, NOW).unwrap().cast_signed();
            assert!(throttle.take(Some(ahead), NOW + wait).0);
        }
        let none = Throttle::new(0.5, 1).unwrap();
        assert_eq!(none.retry_after(&none.take(None, NOW).1, NOW), None);
    }

    #[test]
    fn a_bucket_never_holds_more_than_the_limit() {
        let throttle = Throttle::new(3.0, 1_000).unwrap();
        let found = SerializedBucket {
            tokens: 10 * TOKEN,
            filled: NOW,
        };
        assert_eq!(throttle.take(Some(found), NOW + 900).1.tokens, 2 * TOKEN);
    }

    #[test]
    fn senseless_limits_are_refused() {
        for limit in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(Throttle::new(limit, 1), None);
        }
        for window in [0, -1] {
            assert_eq!(Throttle::new(1.0, window), None);
        }
        assert!(!Throttle::new(0.5, 1).unwrap().take(None, NOW).0);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(tokens in -1_000_000_000_000_000_000i128..=1_000_000_000_000_000_000, filled in 0i64..=2_000_000_000_000) {
            let bucket = SerializedBucket { tokens, filled };
            prop_assert_eq!(SerializedBucket::parse(bucket.print().as_bytes()), Some(bucket));
        }

        #[test]
        fn any_bytes_are_a_bucket_or_none(bytes: Vec<u8>) {
            let _ = SerializedBucket::parse(&bytes);
        }
    }
}

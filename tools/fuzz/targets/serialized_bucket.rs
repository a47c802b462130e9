//! Tests random bytes as the record of a throttle.
//!
//! Checks that a record that is accepted as a bucket has the one valid form and is written back
//! unchanged. Also checks that decisions equal those of a naive model, and that no window of a
//! history admits more than the limit allows.
#![no_main]

use compat::throttle::{SerializedBucket, Throttle};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    record: Record,
    limit: f64,
    window: u32,
    now: u64,
    /// The milliseconds between two calls.
    pauses: Vec<u16>,
}

#[derive(Arbitrary, Debug)]
enum Record {
    Bytes(Vec<u8>),
    /// The two values of an array of the right form, which random bytes hardly ever have.
    Shaped(String, String),
    /// Two doubles as PHP writes them.
    Numbers(f64, f64),
}

impl Record {
    fn bytes(&self) -> Vec<u8> {
        let shaped = |tokens: &str, filled: &str| {
            format!("a:2:{{s:6:\"tokens\";{tokens};s:6:\"filled\";{filled};}}").into_bytes()
        };
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Shaped(tokens, filled) => shaped(tokens, filled),
            Self::Numbers(tokens, filled) => {
                shaped(&format!("d:{tokens:?}"), &format!("d:{filled:?}"))
            }
        }
    }
}

/// Reports whether a value roughly has the form in which PHP's `serialize()` writes numbers.
fn is_number(value: &[u8]) -> bool {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let unsigned = |text: &[u8]| text.strip_prefix(b"-").unwrap_or(text).to_vec();
    if let Some(text) = value.strip_prefix(b"i:") {
        return digits(&unsigned(text));
    }
    let Some(text) = value.strip_prefix(b"d:") else {
        return false;
    };
    let text = unsigned(text);
    let mut parts = text.splitn(2, |byte| b"eE".contains(byte));
    let mantissa = parts.next().unwrap_or_default();
    let exponent = parts.next();
    let mut halves = mantissa.splitn(2, |&byte| byte == b'.');
    let whole = halves.next().unwrap_or_default();
    let fraction = halves.next().unwrap_or_default();
    digits(whole)
        && fraction.iter().all(u8::is_ascii_digit)
        && exponent.is_none_or(|exponent| {
            let sign = exponent.first().is_some_and(|byte| b"+-".contains(byte));
            digits(&exponent[usize::from(sign)..])
        })
}

/// Reports whether the bytes are an array of the right form.
fn is_shaped(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(b"a:2:{s:6:\"tokens\";") else {
        return false;
    };
    let Some(end) = rest.iter().position(|&byte| byte == b';') else {
        return false;
    };
    let filled = rest[end..].strip_prefix(b";s:6:\"filled\";");
    let filled = filled.and_then(|rest| rest.strip_suffix(b";}"));
    is_number(&rest[..end]) && filled.is_some_and(is_number)
}

fn read(bucket: SerializedBucket) -> SerializedBucket {
    let text = bucket.print();
    let again = SerializedBucket::parse(text.as_bytes());
    assert_eq!(again, Some(bucket), "{text}");
    assert!(is_shaped(text.as_bytes()), "{text}");
    bucket
}

/// Returns the billionths of tokens in the bucket, and the time of the last refill in milliseconds.
/// The function parses the printed bucket, because its fields are private.
fn numbers(bucket: &SerializedBucket) -> (i128, i128) {
    let text = bucket.print();
    let values: Vec<&str> = text.split(';').collect();
    let parts = |value: &str| {
        let value = &value[2..];
        let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
        format!("{whole}{fraction:0<6}")
            .parse::<i128>()
            .expect("digits")
    };
    (parts(values[1]), parts(values[3]) / 1_000_000)
}

/// The rules of the throttle, as a naive model.
fn model(
    found: Option<(i128, i128)>,
    limit: i128,
    window: i128,
    now: i128,
) -> (bool, (i128, i128)) {
    const TOKEN: i128 = 1_000_000_000;
    let (mut tokens, mut filled) = match found {
        Some(bucket) if now - bucket.1 <= window => bucket,
        _ => (limit, now),
    };
    if now > filled {
        tokens += (now - filled) * limit / window;
        filled = now;
    }
    let tokens = tokens.min(limit);
    let granted = tokens >= TOKEN;
    let mut after = tokens - TOKEN;
    let deepest = if limit > TOKEN { TOKEN - limit } else { 0 };
    if after < deepest {
        after = deepest;
    }
    (granted, (after, filled))
}

fuzz_target!(|input: Input| {
    let bytes = input.record.bytes();
    let found = SerializedBucket::parse(&bytes);
    if let Some(bucket) = found {
        assert!(is_shaped(&bytes), "{}", String::from_utf8_lossy(&bytes));
        read(bucket);
    }
    let Some(throttle) = Throttle::new(input.limit, input.window.into()) else {
        assert!(!input.limit.is_finite() || input.limit < 0.0 || input.window == 0);
        return;
    };
    let window = i128::from(input.window);
    // The limit is rounded down to thousandths of a token, and is at most 10^9 tokens.
    let limit = (input.limit.min(1e9) * 1e3).floor() as i128 * 1_000_000;

    let mut now = (input.now % (1 << 42)) as i64;
    let mut bucket = found;
    let mut grants = Vec::new();
    for pause in input.pauses.iter().take(64) {
        now += i64::from(*pause);
        let (granted, after) = throttle.take(bucket, now);
        let expected = model(bucket.as_ref().map(numbers), limit, window, now.into());
        assert_eq!((granted, numbers(&after)), expected);
        if granted {
            grants.push(i128::from(now));
        }
        bucket = Some(read(after));
    }
    // Every window admits at most the limit and the tokens that the rate adds.
    for (first, begin) in grants.iter().enumerate() {
        for (last, end) in grants.iter().enumerate().skip(first) {
            let count = (last - first + 1) as i128 * 1_000_000_000;
            assert!(count * window <= limit * window + limit * (end - begin));
        }
    }
});

//! Compares the script of the JSON bucket with a pure function, `step`. Both must return the same
//! result for every record.

use crate::{redis, visit};
use compat::records::{self, Next, Records, Stepped};
use compat::{Wait, json_bucket};
use gcra::{Grain, Limit, TICKS_PER_SECOND, Ticks, Timestamp, Tokens};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use stores::remote::redis::{CLOCK, RECORD, Redis};

const MICROSECOND: Ticks = 1_000;

/// Returns a field of the record, or `None` if the text has another shape.
fn field(text: &str) -> Option<f64> {
    text.trim_matches('"').parse().ok()
}

/// Returns the fields of `{"num":tokens,"time":second}`. The generator writes no other spelling.
fn fields(record: &[u8]) -> Option<(f64, f64)> {
    let text = std::str::from_utf8(record).ok()?;
    let (num, time) = text.strip_prefix("{\"num\":")?.split_once(",\"time\":")?;
    Some((field(num)?, field(time.strip_suffix('}')?)?))
}

/// Takes one token from a bucket as the script does. Returns `None` if the record is invalid. Every
/// number is a double, as in Lua.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn step(limit: &Limit, record: Option<&[u8]>, now: Timestamp) -> Option<Stepped> {
    let capacity = limit.capacity().to_float();
    let micros = |ticks: Ticks| (ticks / MICROSECOND) as f64;
    let (now, span) = (micros(now.0), micros(limit.span()));
    let empty_at = match record {
        None => 0.0,
        Some(record) => {
            let (num, second) = fields(record)?;
            let held = (num * span / capacity).min(span).max(-span);
            (second * 1e6 + 0.5).floor() - (held + 0.5).floor()
        }
    };
    let state = empty_at.max(now - span) + micros(limit.cost(Tokens::ONE)?);
    if state > now {
        return Some((false, None));
    }
    let (num, second) = ((now - state) * capacity / span, now / 1e6);
    let next = Next {
        record: format!("{{\"num\":{num},\"time\":{second}}}").into_bytes(),
        life: (state + span - now) as Ticks * MICROSECOND + TICKS_PER_SECOND,
    };
    Some((true, Some(next)))
}

/// Yields the tokens and the age in seconds of a record, or `None` for a missing record. The tokens
/// are a JSON number, or a JSON string that holds a number.
fn found() -> impl Strategy<Value = Option<(String, f64)>> {
    let num = prop_oneof![
        (-20i64..200).prop_map(|num| num.to_string()),
        (-20.0..200.0f64).prop_map(|num| num.to_string()),
        (0u32..200).prop_map(|num| format!("\"{num}\"")),
        (0.0..200.0f64).prop_map(|num| format!("\"{num}\"")),
    ];
    let ago = prop_oneof![
        -30.0..300.0f64,
        (-30i32..300).prop_map(f64::from),
        (0.0..0.01f64)
    ];
    prop::option::of((num, ago))
}

#[test]
fn the_script_and_the_step_do_the_same() {
    let (server, store) = redis();
    let time = || Redis::read(&visit(&store), b"none").unwrap().now;
    let key = b"bucket";
    let record = || Redis::read(&visit(&store), key).unwrap().record;
    let config = Config {
        cases: 600,
        failure_persistence: None,
        ..Config::default()
    };
    let limits = (1u32..200, 1u64..100_000_000).prop_filter_map("a limit", |(tokens, micros)| {
        let tokens = Tokens::from_float(f64::from(tokens) / 2.0).ok()?;
        Limit::within(tokens, micros * MICROSECOND, Grain::Microsecond).ok()
    });
    let any = (limits, found(), prop::collection::vec(any::<bool>(), 1..6));
    let mut runner = TestRunner::new(config);
    let result = runner.run(&any, |(limit, found, by_script)| {
        if limit.cost(Tokens::ONE).is_none() {
            return Ok(());
        }
        match found {
            Some((num, ago)) => {
                let second = time().0 as f64 / 1e9 - ago;
                let text = format!("{{\"num\":{num},\"time\":{second}}}");
                server.cli(&["SET", "bucket", &text, "EX", "1000"]);
            }
            None => drop(server.cli(&["DEL", "bucket"])),
        }
        let step = |record: Option<&[u8]>, now| step(&limit, record, now);
        for by_script in by_script {
            let (before, began) = (record(), time());
            let granted = if by_script {
                json_bucket::take(&visit(&store), key, &limit).map(Wait::admits)
            } else {
                records::take(&visit(&store), key, step)
            };
            let (after, ended) = (record(), time());
            if !granted.unwrap() {
                // A call that is denied now would also be denied at an earlier instant.
                prop_assert_eq!(step(before.as_deref(), began), Some((false, None)));
                prop_assert_eq!(after, before);
                continue;
            }
            let (_, second) = fields(after.as_deref().unwrap_or_default()).unwrap();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let now = Timestamp((second * 1e6).round() as Ticks * MICROSECOND);
            prop_assert!((began..=ended).contains(&now));
            let (granted, next) = step(before.as_deref(), now).unwrap();
            prop_assert!(granted);
            let expected = fields(&next.unwrap().record).unwrap();
            prop_assert_eq!(fields(&after.unwrap()), Some(expected));
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn the_script_passes_no_number_that_may_be_written_with_an_exponent() {
    let server = testkit::Redis::start(&[]);
    let script = [RECORD, CLOCK, include_str!("../../src/json_bucket.lua")].concat();
    // 60 tokens an hour. The second call changes the bucket that the first one has made.
    for _ in 0..2 {
        let reply = server.run_strictly(&script, "bucket", &["60000000", "3600000000", "60"]);
        assert_eq!(reply, "0");
    }
    assert!(server.cli(&["GET", "bucket"]).starts_with("{\"num\":58"));
}

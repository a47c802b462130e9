//! Tests the contract of records on every store. The limiter is simple. It allows a number of calls
//! in a fixed window.

use crate::{assert_lives, left, memcached, redis, set_item, visit};
use compat::records::{Next, Records, Stepped, take};
use gcra::clock::wall_clock;
use gcra::{TICKS_PER_SECOND, Ticks, Timestamp};
use std::time::Instant;
use stores::remote::Cause;
use stores::remote::redis::Redis;

const HOUR: Ticks = 3_600 * TICKS_PER_SECOND;

/// Allows `calls` calls in each window of `span` ticks. The record holds the number of the window
/// and the number of calls in the window. Returns `None` if the record is invalid.
fn step(calls: u64, span: Ticks, record: Option<&[u8]>, now: Timestamp) -> Option<Stepped> {
    let (window, used) = match record {
        None => (0, 0),
        Some(record) => {
            let text = std::str::from_utf8(record).ok()?;
            let (window, used) = text.split_once(' ')?;
            (window.parse().ok()?, used.parse().ok()?)
        }
    };
    let current = now.0 / span;
    let used: u64 = if window == current { used } else { 0 };
    if used >= calls {
        return Some((false, None));
    }
    let next = Next {
        record: format!("{current} {}", used + 1).into_bytes(),
        life: span,
    };
    Some((true, Some(next)))
}

fn granted(store: &impl Records, key: &str, calls: u64) -> bool {
    // The window is longer than any test.
    let step = |record: Option<&[u8]>, now| step(calls, 24 * 365 * 100 * HOUR, record, now);
    take(&visit(store), key.as_bytes(), step).unwrap()
}

fn contract<T: Records + Sync>(store: &T, set: impl Fn(&str, &str), get: impl Fn(&str) -> String) {
    let grants = (0..8).filter(|_| granted(store, "calls", 5)).count();
    assert_eq!(grants, 5);

    let all: usize = std::thread::scope(|scope| {
        let callers = [(); 4]
            .map(|()| scope.spawn(|| (0..50).filter(|_| granted(store, "race", 100)).count()));
        callers.map(|caller| caller.join().unwrap()).iter().sum()
    });
    assert_eq!(all, 100, "exact among callers");

    set("other", "something else");
    let hourly = |record: Option<&[u8]>, now| step(5, HOUR, record, now);
    let refused = take(&visit(store), b"other", hourly);
    assert!(matches!(refused, Err(Cause::Record)), "{refused:?}");
    assert_eq!(get("other"), "something else");

    let before = wall_clock().as_micros();
    let read = T::read(&visit(store), b"none").unwrap();
    assert_eq!(read.record, None);
    let now = u128::from(read.now.0 / 1_000);
    assert!((before..=wall_clock().as_micros()).contains(&now));
}

/// Checks that a swap succeeds if the record is unchanged or still missing. Otherwise the swap must
/// return the current record.
fn swaps<T: Records>(store: &T) {
    let read = || T::read(&visit(store), b"swap").unwrap();
    let swap = |found: &_, record: &[u8], life| {
        let record = record.to_vec();
        T::swap(&visit(store), b"swap", found, &Next { record, life }).unwrap()
    };
    let missing = read();
    assert!(swap(&missing, b"one", 2 * HOUR).is_none());
    let lost = swap(&missing, b"two", HOUR).unwrap();
    assert_eq!(lost.record.as_deref(), Some(&b"one"[..]));
    assert!(swap(&lost, b"two", HOUR).is_none());
    let again = swap(&lost, b"three", HOUR).unwrap();
    assert_eq!(again.record.as_deref(), Some(&b"two"[..]));
    assert_eq!(read().record, again.record);
}

#[test]
fn redis_keeps_the_contract() {
    let ((server, store), start) = (redis(), Instant::now());
    let get = |key: &str| server.cli(&["GET", key]);
    let set = |key: &str, value: &str| drop(server.cli(&["SET", key, value]));
    contract(&store, set, get);
    server.cli(&["LPUSH", "list", "a"]);
    let refused = Redis::read(&visit(&store), b"list");
    assert!(refused.is_err());
    swaps(&store);
    let life = server.cli(&["TTL", "swap"]).parse().unwrap();
    assert_lives(life, 7_200, 7_201, start);
}

#[test]
fn memcached_keeps_the_contract() {
    let ((server, store), start) = (memcached(), Instant::now());
    let set = |key: &str, value: &str| set_item(&server, key, 0, value);
    contract(&store, set, |key| {
        server.command(&format!("get {key}"), "END")[1].clone()
    });
    swaps(&store);
    assert_lives(left(&server, "swap"), 7_200, 7_211, start);
}

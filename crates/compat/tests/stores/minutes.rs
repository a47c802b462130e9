//! Tests minute counters on real servers.

use crate::{assert_lives, left, memcached, redis, set_item, visit};
use compat::minutes::{Life, MinuteCounters};
use std::time::Instant;
use stores::remote::Cause;
use stores::remote::memcached::Memcached;
use stores::remote::redis::Redis;

/// Checks a counter that is created in the first second of its minute. Without a longer lifetime,
/// the counter would expire before its minute leaves the window, because memcached's clock may be
/// two seconds behind.
#[test]
fn memcached_keeps_a_minute_to_its_end() {
    let (server, memcached) = memcached();
    for (second, lives) in [(0, 71), (3, 61), (30, 61)] {
        let key = format!("second{second}");
        for calls in 1..=2 {
            let (life, start) = (Some(Life::new(1, second)), Instant::now());
            let counted = Memcached::count(&visit(&memcached), &[key.clone().into()], life);
            assert_eq!(counted.unwrap(), [calls]);
            assert_lives(left(&server, &key), lives, lives, start);
        }
    }
}

/// Checks that a call increments the first counter and returns the sum of all counters. Checks that
/// an invalid counter is refused.
fn counts<T: MinuteCounters>(store: &T, set: impl Fn(&str, &str)) {
    let count = |keys: &[_], life| T::count(&visit(store), keys, life);
    let keys = ["a", "b", "c"].map(|key| key.as_bytes().to_vec());
    let life = Some(Life::new(3, 30));
    set("b", "40");
    assert_eq!(count(&keys, life).unwrap(), [1, 40, 0]);
    assert_eq!(count(&keys, life).unwrap(), [2, 40, 0]);
    assert_eq!(count(&keys, None).unwrap(), [2, 40, 0]);
    set("c", "4x");
    let refused = count(&keys, life);
    assert!(matches!(refused, Err(Cause::Record)), "{refused:?}");
}

#[test]
fn a_call_counts_itself_and_the_minutes_before() {
    let ((server, store), start) = (redis(), Instant::now());
    counts(&store, |key, value| drop(server.cli(&["SET", key, value])));
    let counted = server.cli(&["GET", "a"]);
    assert_eq!(counted, "2", "a refused call is not counted");
    let life = server.cli(&["TTL", "a"]).parse().unwrap();
    assert_lives(life, 181, 181, start);
    let (server, store) = memcached();
    counts(&store, |key, value| set_item(&server, key, 768, value));
}

#[test]
fn redis_counts_more_counters_than_a_command_takes() {
    let (server, store) = redis();
    let keys: Vec<_> = (0..2_500).map(|n| format!("c{n}").into_bytes()).collect();
    for key in ["c999", "c1000", "c2499"] {
        server.cli(&["SET", key, "5"]);
    }
    let life = Some(Life::new(5, 0));
    let counts = Redis::count(&visit(&store), &keys, life).unwrap();
    assert_eq!(counts.len(), keys.len());
    let found: Vec<_> = (0..).zip(counts).filter(|&(_, count)| count != 0).collect();
    assert_eq!(found, [(0, 1), (999, 5), (1_000, 5), (2_499, 5)]);
}

#[test]
fn redis_never_shortens_a_counter() {
    let (server, store) = redis();
    let key = [b"a".to_vec()];
    let count = |minutes| {
        let life = Some(Life::new(minutes, 0));
        Redis::count(&visit(&store), &key, life).unwrap();
    };
    let start = Instant::now();
    for (minutes, expected) in [(3, 181), (1, 181), (60, 3_601)] {
        count(minutes);
        let life = server.cli(&["TTL", "a"]).parse().unwrap();
        assert_lives(life, expected, expected, start);
    }
    server.cli(&["PERSIST", "a"]);
    count(1);
    assert_eq!(server.cli(&["TTL", "a"]), "-1");
}

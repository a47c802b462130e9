//! Tests other limiters' records on real servers.
#![allow(clippy::unwrap_used)]

mod json_bucket;
mod minutes;
mod records;

use gcra::{TICKS_PER_SECOND, boot_clock};
use std::time::Instant;
use stores::remote::memcached::Memcached;
use stores::remote::memcached::servers::parse_servers;
use stores::remote::redis::Redis;
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Transport, Visit};

/// Returns a visit to the only server, before a deadline that no call misses, even on a busy
/// machine.
fn visit<T: Transport>(store: &T) -> Visit<'_, T> {
    Visit::to(store, b"", boot_clock() + 20 * TICKS_PER_SECOND).unwrap()
}

/// Asserts that `left` is a possible number of seconds until a record expires. The record was set
/// at `start` or later, with a lifetime of `least..=most` seconds.
#[track_caller]
fn assert_lives(left: i64, least: i64, most: i64, start: Instant) {
    let passed = i64::try_from(start.elapsed().as_secs()).unwrap() + 1;
    let range = least - passed..=most;
    assert!(range.contains(&left), "{left}, not {range:?}");
}

fn redis() -> (testkit::Redis, Redis) {
    let server = testkit::Redis::start(&[]);
    let dsn = Dsn::parse(&format!("redis://127.0.0.1:{}", server.port())).unwrap();
    (server, Redis::new(dsn, b""))
}

fn memcached() -> (testkit::Memcached, Memcached) {
    let server = testkit::Memcached::start_tcp(&[]);
    let list = parse_servers([format!("127.0.0.1:{}", server.port())]).unwrap();
    (server, Memcached::new(&list, b""))
}

/// Stores an item, as another client of memcached does.
fn set_item(server: &testkit::Memcached, key: &str, flags: u32, value: &str) {
    let length = value.len();
    server.command(
        &format!("set {key} {flags} 0 {length}\r\n{value}"),
        "STORED",
    );
}

/// Returns the seconds until an item of memcached expires. Returns -1 if the item never expires.
fn left(server: &testkit::Memcached, key: &str) -> i64 {
    let lines = server.command(&format!("mg {key} t\r\nmn"), "MN");
    lines[0].strip_prefix("HD t").unwrap().parse().unwrap()
}

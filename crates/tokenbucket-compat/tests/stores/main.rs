//! Tests other limiters' records on real servers.
#![allow(clippy::unwrap_used)]

mod json_bucket;
mod minutes;
mod records;

use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::memcached::servers::parse_servers;
use tokenbucket_core::remote::redis::Redis;
use tokenbucket_core::remote::redis::dsn::Dsn;
use tokenbucket_core::{TICKS_PER_SECOND, Timestamp, boot_clock};

fn deadline() -> Timestamp {
    boot_clock() + 5 * TICKS_PER_SECOND
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

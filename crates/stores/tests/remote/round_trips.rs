//! Tests the number of round trips of a call. testkit tests the counting itself.

use crate::caller::{CAPACITY, Caller, HOUR, MILLISECOND, PLAIN, Server, cached, take, within};
use gcra::{Denial, Verdict};
use std::thread::sleep;
use std::time::Duration;
use testkit::{Proxy, Redis};

fn trips(proxy: &Proxy, call: impl FnOnce()) -> u64 {
    let before = proxy.round_trips();
    call();
    proxy.round_trips() - before
}

#[test]
fn a_grant_is_one() {
    Server::each(|server| {
        let proxy = server.proxy();
        let caller = server.caller_at(proxy.port(), PLAIN);
        assert!(caller.grants("id", &take(1)));
        let before = proxy.requests();
        for _ in 1..CAPACITY {
            assert_eq!(trips(&proxy, || assert!(caller.grants("id", &take(1)))), 1);
        }
        assert_eq!(proxy.requests() - before, CAPACITY - 1, "in one write each");
        // Takes the first token of another bucket, then makes a denied call and a dry step.
        assert_eq!(trips(&proxy, || assert!(caller.grants("b", &take(1)))), 1);
        assert_eq!(trips(&proxy, || assert!(!caller.grants("id", &take(1)))), 1);
        assert_eq!(trips(&proxy, || assert_eq!(caller.left("b"), 4)), 1);
        assert_eq!(proxy.connections(), 1);
    });
}

#[test]
fn a_denial_for_more_than_the_capacity_has_the_numbers_of_the_bucket() {
    Server::each(|server| {
        let proxy = server.proxy();
        let settings = cached(60_000 * MILLISECOND);
        let caller = server.caller_at(proxy.port(), settings);
        let left = || {
            let outcome = caller.take("id", &take(CAPACITY + 1));
            let never = Verdict::Denied(Denial::ExceedsCapacity);
            assert_eq!(outcome.verdict, never);
            // Cached numbers allow for the round trip and for the drift of clocks, so they may be
            // slightly below a whole token.
            (take(1).available(outcome.empty_at, outcome.now) + HOUR / 2) / HOUR
        };
        assert_eq!(left(), CAPACITY);
        assert!(caller.grants("id", &take(2)));
        assert_eq!(trips(&proxy, || assert_eq!(left(), CAPACITY - 2)), 1);
        assert!(!caller.grants("id", &take(CAPACITY)));
        assert_eq!(
            trips(&proxy, || assert_eq!(left(), CAPACITY - 2)),
            0,
            "it is cached"
        );
        // The server is not needed for the verdict.
        let mut server = server;
        server.kill();
        let other = server.caller(PLAIN);
        let outcome = other.take("id", &take(CAPACITY + 1));
        assert_eq!(outcome.verdict, Verdict::Denied(Denial::ExceedsCapacity));
    });
}

#[test]
fn a_script_is_sent_to_a_server_that_does_not_know_it() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let caller = Caller::redis(&format!("redis://127.0.0.1:{}", proxy.port()), PLAIN);
    let grant = || assert!(caller.grants("id", &take(1)));
    assert_eq!(trips(&proxy, grant), 2);
    assert_eq!(trips(&proxy, grant), 1);
    redis.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(trips(&proxy, grant), 2);
    assert_eq!(trips(&proxy, grant), 1);
    redis.cli(&["FLUSHALL"]);
    assert_eq!(trips(&proxy, grant), 1);
    assert_eq!(caller.left("id"), CAPACITY - 1);
    assert_eq!(proxy.connections(), 1);
}

#[test]
fn a_password_travels_with_the_first_command() {
    let redis = Redis::start(&["--requirepass", "secret"]);
    redis.cli(&["ACL", "SETUSER", "ann", "on", ">hers", "~*", "+@all"]);
    let proxy = Proxy::tcp(redis.port());
    let port = proxy.port();
    let dsn = format!("redis://:secret@127.0.0.1:{port}");
    Caller::redis(&dsn, PLAIN).take("id", &take(1));
    proxy.cut();
    let caller = Caller::redis(&dsn, PLAIN);
    assert_eq!(trips(&proxy, || assert!(caller.grants("id", &take(1)))), 1);
    assert_eq!(trips(&proxy, || assert!(caller.grants("id", &take(1)))), 1);
    let caller = Caller::redis(&format!("redis://ann:hers@127.0.0.1:{port}"), PLAIN);
    assert_eq!(trips(&proxy, || assert!(caller.grants("id", &take(1)))), 1);
    // The client first sends the selection of a database alone, because later commands must not act
    // on another database.
    let caller = Caller::redis(&format!("{dsn}/3"), PLAIN);
    assert_eq!(trips(&proxy, || assert!(caller.grants("id", &take(1)))), 2);
    assert_eq!(trips(&proxy, || assert!(caller.grants("id", &take(1)))), 1);
    assert!(redis.cli(&["INFO", "keyspace"]).contains("db3:keys=1"));
    assert_eq!(proxy.connections(), 4);
}

#[test]
fn under_tls_a_connection_is_used_again() {
    let redis = Redis::start_tls();
    let proxy = Proxy::tcp(redis.tls_port());
    let (port, authority) = (proxy.port(), redis.ca_file());
    let dsn = format!("rediss://127.0.0.1:{port}?cafile={}", authority.display());
    let settings = within(1000 * MILLISECOND);
    let caller = Caller::redis(&dsn, settings);
    assert!(caller.grants("id", &take(1)));
    for _ in 0..2 {
        // Waits beyond the deadline of the previous call.
        sleep(Duration::from_millis(1010));
        assert_eq!(trips(&proxy, || assert!(caller.grants("id", &take(1)))), 1);
    }
    assert_eq!(proxy.connections(), 1);
}

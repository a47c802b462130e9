//! Tests connections that break and servers that hang. A call ends at its deadline, returns the
//! cause and charges the bucket at most once. The next call is correct.

use crate::caller::{Caller, HASTY, PLAIN, Server, take};
use std::thread::scope;
use std::time::{Duration, Instant};
use stores::remote::Cause;
use testkit::{Blackhole, Mode, eventually};

/// Returns the reason why a call with a short timeout failed. Asserts that the call ended at or
/// after its own deadline, and before that of a caller with a long timeout.
fn fails_at_its_deadline(caller: &Caller) -> Cause {
    let start = Instant::now();
    let cause = caller.fails("id", &take(1));
    let took = start.elapsed();
    let deadlines = [HASTY, PLAIN].map(|settings| Duration::from_nanos(settings.timeout));
    assert!((deadlines[0]..deadlines[1]).contains(&took), "{took:?}");
    cause
}

/// Returns a caller with a long timeout and a caller with a short timeout. The callers share their
/// connections.
fn callers(server: &Server, port: u16) -> [Caller; 2] {
    [PLAIN, HASTY].map(|settings| server.caller_at(port, settings))
}

#[test]
fn a_port_that_nobody_listens_on() {
    Server::each(|mut server| {
        let caller = server.caller(PLAIN);
        assert!(caller.grants("id", &take(1)));
        server.kill();
        let start = Instant::now();
        let cause = caller.fails("id", &take(1));
        assert!(matches!(cause, Cause::Connect(_)), "{cause}");
        let timeout = Duration::from_nanos(PLAIN.timeout);
        assert!(start.elapsed() < timeout, "it waited for the deadline");
        server.restart();
        assert_eq!(caller.left("id"), 5);
    });
}

#[test]
fn a_restart_between_two_calls_is_no_failure() {
    Server::each(|mut server| {
        let caller = server.caller(PLAIN);
        assert!(caller.grants("id", &take(1)));
        server.restart();
        assert!(caller.grants("id", &take(1)));
        assert_eq!(caller.left("id"), 4, "it has begun anew");
    });
}

#[test]
fn a_black_hole() {
    let tcp = Blackhole::tcp();
    let unix = Blackhole::unix();
    let (port, path) = (tcp.port(), unix.socket());
    let path = path.display();
    let callers = [
        Caller::redis(&format!("redis://127.0.0.1:{port}"), HASTY),
        Caller::redis(&format!("rediss://127.0.0.1:{port}"), HASTY),
        Caller::redis(&format!("unix://{path}"), HASTY),
        Caller::memcached(&format!("127.0.0.1:{port}"), HASTY),
        Caller::memcached(&format!("unix://{path}"), HASTY),
    ];
    scope(|scope| {
        for caller in &callers {
            scope.spawn(move || {
                assert!(matches!(fails_at_its_deadline(caller), Cause::Timeout));
            });
        }
    });
}

#[test]
fn a_server_that_hangs() {
    Server::each(|server| {
        let proxy = server.proxy();
        let [caller, hasty] = callers(&server, proxy.port());
        assert!(caller.grants("id", &take(1)));
        server.stop();
        assert!(matches!(fails_at_its_deadline(&hasty), Cause::Timeout));
        server.cont();
        assert!(caller.grants("id", &take(1)));
        let left = caller.left("id");
        assert!((2..=3).contains(&left), "{left}: charged more than once");
        assert_eq!(proxy.connections(), 2, "not the one that owes a reply");
    });
}

#[test]
fn a_tls_handshake_that_hangs() {
    let redis = testkit::Redis::start_tls();
    let proxy = testkit::Proxy::tcp(redis.tls_port());
    let (port, authority) = (proxy.port(), redis.ca_file());
    let dsn = format!("rediss://127.0.0.1:{port}?cafile={}", authority.display());
    let [caller, hasty] = [PLAIN, HASTY].map(|settings| Caller::redis(&dsn, settings));
    // The server's part of the handshake has hundreds of bytes.
    for mode in [Mode::SwallowRequests, Mode::Drip(Duration::from_millis(20))] {
        proxy.set(mode);
        let cause = fails_at_its_deadline(&hasty);
        assert!(matches!(cause, Cause::Timeout), "{mode:?}: {cause}");
    }
    proxy.set(Mode::Pass);
    assert!(caller.grants("id", &take(1)));
}

#[test]
fn a_reply_that_drips() {
    Server::each(|server| {
        let proxy = server.proxy();
        let [caller, hasty] = callers(&server, proxy.port());
        assert!(caller.grants("id", &take(1)));
        // A reply has at least 20 bytes, so it takes longer than the timeout, but no wait for a
        // byte does.
        proxy.set(Mode::Drip(Duration::from_millis(50)));
        assert!(matches!(fails_at_its_deadline(&hasty), Cause::Timeout));
        proxy.set(Mode::Pass);
        assert!(caller.grants("id", &take(1)));
        assert_eq!(caller.left("id"), 2);
        assert_eq!(proxy.connections(), 2);
        // Control: with enough time, the client accepts a reply that arrives byte by byte.
        proxy.set(Mode::Drip(Duration::from_millis(5)));
        assert_eq!(caller.left("id"), 2);
    });
}

#[test]
fn half_a_reply() {
    Server::each(|server| {
        let proxy = server.proxy();
        let caller = server.caller_at(proxy.port(), PLAIN);
        assert!(caller.grants("id", &take(1)));
        proxy.set(Mode::HalfReply);
        let cause = caller.fails("id", &take(1));
        assert!(matches!(cause, Cause::Broken(_)), "{cause}");
        proxy.set(Mode::Pass);
        assert!(caller.grants("id", &take(1)));
        assert_eq!(caller.left("id"), 2);
        assert_eq!(proxy.connections(), 2);
    });
}

#[test]
fn a_reply_that_is_lost_is_not_asked_for_again() {
    Server::each(|server| {
        let proxy = server.proxy();
        let [caller, hasty] = callers(&server, proxy.port());
        assert!(caller.grants("id", &take(1)));
        let (requests, replied) = (proxy.requests(), proxy.reply_bytes());
        proxy.set(Mode::SwallowReplies);
        assert!(matches!(fails_at_its_deadline(&hasty), Cause::Timeout));
        assert!(eventually(|| proxy.reply_bytes() > replied));
        assert_eq!(proxy.requests(), requests + 1);
        proxy.set(Mode::Pass);
        assert_eq!(caller.left("id"), 3, "charged once");
        assert!(caller.grants("id", &take(1)));
        assert_eq!(caller.left("id"), 2);
        assert_eq!(proxy.connections(), 2);
    });
}

#[test]
fn a_connection_that_ends_between_two_calls_is_no_failure() {
    Server::each(|server| {
        let proxy = server.proxy();
        let caller = server.caller_at(proxy.port(), PLAIN);
        for connections in 1..=4 {
            assert!(caller.grants("id", &take(1)));
            assert_eq!(proxy.connections(), connections);
            proxy.cut();
            assert!(eventually(|| timers(proxy.port()).is_empty()));
        }
    });
}

#[test]
fn a_kill_during_a_call() {
    Server::each(|mut server| {
        let caller = server.caller(PLAIN);
        assert!(caller.grants("id", &take(1)));
        server.stop();
        let cause = scope(|scope| {
            let call = scope.spawn(|| caller.fails("id", &take(1)));
            assert!(eventually(|| has_unread(server.port())));
            server.kill();
            call.join().unwrap()
        });
        assert!(matches!(cause, Cause::Broken(_)), "{cause}");
        server.restart();
        assert!(caller.grants("id", &take(1)));
    });
}

/// Returns the fields of each established TCP connection, as in the kernel's table.
fn established() -> Vec<Vec<String>> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table
        .lines()
        .map(|row| row.split_whitespace().map(str::to_owned).collect());
    rows.filter(|row: &Vec<_>| row[3] == "01").collect()
}

/// Returns the kernel's timer of the established connections to a port: 2 for keepalive.
fn timers(port: u16) -> Vec<String> {
    let remote = format!(":{port:04X}");
    let rows = established().into_iter();
    let rows = rows.filter(|row| row[2].ends_with(&remote));
    rows.map(|row| row[5].clone()).collect()
}

/// Reports whether a server at this port has received bytes that it has not read.
fn has_unread(port: u16) -> bool {
    let local = format!(":{port:04X}");
    let is_unread = |row: &Vec<String>| row[1].ends_with(&local) && !row[4].ends_with(":00000000");
    established().iter().any(is_unread)
}

#[test]
fn an_idle_connection_is_kept_alive() {
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        assert!(caller.grants("id", &take(1)));
        let timers = timers(server.port());
        // The kernel states the remaining time in units of 10 ms. It is at most ten seconds.
        let is_soon = |timer: &str| u64::from_str_radix(timer, 16).unwrap() <= 1000;
        let is_keepalive = |timer: &String| timer.strip_prefix("02:").is_some_and(is_soon);
        assert!(
            !timers.is_empty() && timers.iter().all(is_keepalive),
            "{timers:?}"
        );
    });
}

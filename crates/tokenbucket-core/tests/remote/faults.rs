//! Tests connections that break and servers that hang. A call ends in time, returns the cause and
//! charges the bucket at most once. The next call is correct.

use crate::caller::{Caller, HASTY, MILLISECOND, PLAIN, Server, take};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::{Blackhole, Mode};
use tokenbucket_core::remote::{Cause, Settings};

/// The time that a call may take beyond its deadline on an idle machine.
const SLACK: Duration = Duration::from_millis(50);

/// Runs `call`. Returns its result and its duration, less the delays that the machine caused
/// meanwhile.
fn time<R>(call: impl FnOnce() -> R) -> (R, Duration) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut worst = Duration::ZERO;
            while !over.load(Relaxed) {
                let start = Instant::now();
                sleep(Duration::from_millis(1));
                worst = worst.max(start.elapsed());
            }
            worst
        });
        let start = Instant::now();
        let result = call();
        let took = start.elapsed();
        over.store(true, Relaxed);
        let worst = watch.join().unwrap();
        (result, took.saturating_sub(3 * worst))
    })
}

/// Returns the reason why a call with a short timeout failed. Asserts that the call failed in time.
fn fails_in_time(caller: &Caller) -> Cause {
    let (cause, took) = time(|| caller.fails("id", &take(1)));
    assert!(
        took < Duration::from_nanos(HASTY.timeout) + SLACK,
        "{took:?}"
    );
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
        let (cause, took) = time(|| caller.fails("id", &take(1)));
        assert!(matches!(cause, Cause::Connect(_)), "{cause}");
        assert!(took < SLACK, "it was clear at once");
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
    for caller in [
        Caller::redis(&format!("redis://127.0.0.1:{port}"), HASTY),
        Caller::redis(&format!("rediss://127.0.0.1:{port}"), HASTY),
        Caller::redis(&format!("unix://{path}"), HASTY),
        Caller::memcached(&format!("127.0.0.1:{port}"), HASTY),
        Caller::memcached(&format!("unix://{path}"), HASTY),
    ] {
        let start = Instant::now();
        assert!(matches!(fails_in_time(&caller), Cause::Timeout));
        assert!(start.elapsed() >= Duration::from_nanos(HASTY.timeout));
    }
}

#[test]
fn a_server_that_hangs() {
    Server::each(|server| {
        let proxy = server.proxy();
        let [caller, hasty] = callers(&server, proxy.port());
        assert!(caller.grants("id", &take(1)));
        server.stop();
        assert!(matches!(fails_in_time(&hasty), Cause::Timeout));
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
    let proxy = testkit::Proxy::tcp(testkit::Upstream::Tcp(redis.tls_port()));
    let (port, authority) = (proxy.port(), redis.ca_file());
    let dsn = format!("rediss://127.0.0.1:{port}?cafile={}", authority.display());
    let [caller, hasty] = [PLAIN, HASTY].map(|settings| Caller::redis(&dsn, settings));
    for mode in [Mode::SwallowRequests, Mode::Drip(Duration::from_millis(20))] {
        proxy.set(mode);
        let cause = fails_in_time(&hasty);
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
        proxy.set(Mode::Drip(Duration::from_millis(20)));
        assert!(matches!(fails_in_time(&hasty), Cause::Timeout));
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
        let [caller, hasty] = callers(&server, proxy.port());
        assert!(caller.grants("id", &take(1)));
        proxy.set(Mode::HalfReply);
        let cause = fails_in_time(&hasty);
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
        let requests = proxy.requests();
        proxy.set(Mode::SwallowReplies);
        assert!(matches!(fails_in_time(&hasty), Cause::Timeout));
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
            sleep(Duration::from_millis(10));
        }
    });
}

#[test]
fn a_kill_during_a_call() {
    Server::each(|mut server| {
        let settings = Settings {
            timeout: 1000 * MILLISECOND,
            ..PLAIN
        };
        let caller = server.caller(settings);
        assert!(caller.grants("id", &take(1)));
        server.stop();
        let cause = std::thread::scope(|scope| {
            let call = scope.spawn(|| caller.fails("id", &take(1)));
            sleep(Duration::from_millis(100));
            server.kill();
            call.join().unwrap()
        });
        assert!(matches!(cause, Cause::Broken(_)), "{cause}");
        server.restart();
        assert!(caller.grants("id", &take(1)));
    });
}

/// Returns the kernel's timer of the established connections to a port: 2 for keepalive.
fn timers(port: u16) -> Vec<String> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table
        .lines()
        .map(|row| row.split_whitespace().collect::<Vec<_>>());
    let remote = format!(":{port:04X}");
    rows.filter(|row| row[2].ends_with(&remote) && row[3] == "01")
        .map(|row| row[5].to_owned())
        .collect()
}

#[test]
fn an_idle_connection_is_kept_alive() {
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        assert!(caller.grants("id", &take(1)));
        let timers = timers(server.port());
        // The timer ends within ten seconds, in units of 10 ms.
        let is_soon = |timer: &str| u64::from_str_radix(timer, 16).unwrap() <= 1000;
        let is_keepalive = |timer: &String| timer.strip_prefix("02:").is_some_and(is_soon);
        assert!(
            !timers.is_empty() && timers.iter().all(is_keepalive),
            "{timers:?}"
        );
    });
}

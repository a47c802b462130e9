//! Tests that the failures of one caller do not affect other callers of the same server and host.

use crate::caller::{Caller, MILLISECOND, PLAIN, Server, host, take, within};
use segment::host::Host;
use stores::remote::Cause;
use testkit::Redis;

/// Calls as `wrong` ten times for each of 50 calls as `right`. Every call of `right` must reach the
/// store. The breaker of `wrong` must refuse some of its calls.
fn apart(wrong: &Caller, right: &Caller) {
    let mut refused = 0;
    for call in 0..50 {
        for _ in 0..10 {
            let answer = wrong.ask(b"id", &take(1));
            refused += u32::from(answer.is_err_and(|it| matches!(it.cause, Cause::Waiting)));
        }
        let answer = right.ask(b"id", &take(0));
        assert!(answer.is_ok(), "call {call}: {answer:?}");
    }
    assert!(refused > 0, "the control: the breaker is open");
}

fn at(redis: &Redis, userinfo: &str, host: &'static Host) -> Caller {
    let dsn = format!("redis://{userinfo}127.0.0.1:{}", redis.port());
    Caller::redis_on(&dsn, PLAIN, host)
}

#[test]
fn a_wrong_password_opens_its_own_breaker_only() {
    let redis = Redis::start(&["--requirepass", "right"]);
    redis.cli(&["ACL", "SETUSER", "ann", "on", ">hers", "~*", "+@all"]);
    for (wrong, right) in [
        (":wrong@", ":right@"),
        ("", ":right@"),
        ("ann:his@", "ann:hers@"),
    ] {
        let host = host();
        apart(&at(&redis, wrong, host), &at(&redis, right, host));
        assert_eq!(host.breakers().states().len(), 2);
    }
}

/// A user may have the permission for one prefix only. A storage with another prefix has the same
/// login, and so the same breaker.
#[test]
fn a_missing_permission_opens_no_breaker() {
    let redis = Redis::start(&[]);
    // The first two users are not allowed to use the key. The third is not allowed to send a
    // script, and the script of the last one is not allowed to read.
    for (user, permissions) in [
        ("bob", &["~u:*", "+@all"][..]),
        ("eve", &["~u:*", "+evalsha", "+eval"]),
        ("ann", &["~*", "+set", "+get", "+time"]),
        ("joe", &["~*", "+evalsha", "+eval"]),
    ] {
        let user = [&["ACL", "SETUSER", user, "on", ">his"], permissions].concat();
        redis.cli(&user);
    }
    for user in ["bob", "eve", "ann", "joe"] {
        let caller = at(&redis, &format!("{user}:his@"), host());
        for _ in 0..10 {
            let cause = caller.fails("id", &take(1));
            assert!(matches!(cause, Cause::Refused(_)), "{user}: {cause}");
        }
        assert_eq!(caller.host.breakers().states()[0].open_until, None);
    }
}

#[test]
fn a_timeout_that_is_too_short_opens_its_own_breaker_only() {
    Server::each(|server| {
        let host = host();
        let caller = |timeout| {
            let settings = within(timeout);
            server.caller_on(host, server.port(), settings)
        };
        let [hasty, usual] = [MILLISECOND / 100, PLAIN.timeout].map(caller);
        apart(&hasty, &usual);
    });
}

/// The workers of one host may run as different users, one of which lacks the permission to read
/// the file.
#[test]
fn a_file_that_a_process_cannot_read_opens_no_breaker() {
    let redis = Redis::start_tls();
    let file = redis.ca_file();
    let at = format!("rediss://127.0.0.1:{}", redis.tls_port());
    let caller = Caller::redis(&format!("{at}?cafile={}", file.display()), PLAIN);
    let aside = file.with_extension("aside");
    std::fs::rename(&file, &aside).unwrap();
    for _ in 0..10 {
        let cause = caller.fails("id", &take(1));
        assert!(matches!(cause, Cause::TlsFile(_)), "{cause}");
    }
    std::fs::rename(&aside, &file).unwrap();
    assert!(caller.ask(b"id", &take(1)).is_ok());
}

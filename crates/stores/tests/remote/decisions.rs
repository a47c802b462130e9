//! Tests the counts of decisions on remote stores, by the part that decided.

use crate::caller::{CAPACITY, Caller, MILLISECOND, Server, cached, take, under, within};
use gcra::decision::retry_after;
use gcra::{Decision, Denial, Verdict};
use segment::slots::counters::By;
use std::time::Duration;
use stores::remote::OnFailure;
use testkit::{Memcached, Mode, Proxy, Upstream};

/// Returns the grants and denials by shared memory, the store, the denial cache and the policy.
fn decisions(caller: &Caller) -> [[u64; 2]; 4] {
    let totals = caller.host.slots().totals();
    [By::SharedMemory, By::Store, By::DenialCache, By::Policy].map(|by| totals.all_decisions(by))
}

#[test]
fn the_store_and_the_denial_cache_are_counted_apart() {
    Server::each(|server| {
        let caller = server.caller(cached(60_000 * MILLISECOND));
        for granted in [true, true, true, true, true, false] {
            assert_eq!(caller.grants("id", &take(1)), granted);
        }
        assert_eq!(decisions(&caller), [[0, 0], [5, 1], [0, 0], [0, 0]]);
        for _ in 0..3 {
            assert!(!caller.grants("id", &take(1)));
        }
        assert_eq!(decisions(&caller), [[0, 0], [5, 1], [0, 3], [0, 0]]);
        assert!(!caller.take("id", &take(CAPACITY + 1)).granted());
        caller.take("id", &take(1).dry());
        caller.take("id", &take(CAPACITY + 1).dry());
        assert_eq!(decisions(&caller), [[0, 0], [5, 1], [0, 4], [0, 0]]);
        assert!(!caller.take("other", &take(CAPACITY + 1)).granted());
        assert_eq!(decisions(&caller), [[0, 0], [5, 2], [0, 4], [0, 0]]);
    });
}

#[test]
fn fallbacks_are_counted_apart() {
    Server::each(|mut server| {
        server.kill();
        let calls = |on_failure| {
            let caller = server.caller(under(on_failure));
            for _ in 0..CAPACITY + 2 {
                caller.ask(b"id", &take(1)).ok();
            }
            caller.ask(b"id", &take(1).dry()).ok();
            decisions(&caller)
        };
        let none = [0, 0];
        assert_eq!(calls(OnFailure::Local), [[CAPACITY, 2], none, none, none]);
        assert_eq!(
            calls(OnFailure::Allow),
            [none, none, none, [CAPACITY + 2, 0]]
        );
        assert_eq!(
            calls(OnFailure::Deny),
            [none, none, none, [0, CAPACITY + 2]]
        );
        assert_eq!(calls(OnFailure::Throw), [none; 4]);
    });
}

/// Another client changes the bucket after the slow client has read it, so memcached refuses the
/// write. The reply arrives late, so there is no time to try again.
#[test]
fn a_contended_call_is_denied_beside_its_tokens() {
    let server = Memcached::start_tcp(&[]);
    let proxy = Proxy::tcp(Upstream::Tcp(server.port()));
    let settings = within(10_000 * MILLISECOND);
    let at = |port| Caller::memcached(&format!("127.0.0.1:{port}"), settings);
    let (slow, other) = (at(proxy.port()), at(server.port()));
    assert!(slow.grants("id", &take(1)));
    assert!(other.grants("id", &take(1)));
    // More than half of the timeout.
    proxy.set(Mode::Delay(Duration::from_secs(6)));
    let outcome = slow.take("id", &take(1));
    assert_eq!(outcome.verdict, Verdict::Denied(Denial::Contended));
    let decision = Decision {
        verdict: outcome.verdict,
        remaining: 0,
        retry_after: retry_after(&take(1), &outcome),
        reset_after: 0,
        fallback: false,
    };
    assert!(decision.is_beside_tokens());
    assert_eq!(decision.retry_after, Some(MILLISECOND));
}

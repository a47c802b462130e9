//! Tests a call that loses its race for a bucket on memcached.

use crate::caller::{Caller, MILLISECOND, take, within};
use gcra::decision::retry_after;
use gcra::{Decision, Denial, Verdict};
use std::time::Duration;
use testkit::{Memcached, Mode, Proxy};

/// Another client changes the bucket after the slow client has read it, so memcached refuses the
/// write. The reply arrives late, so there is no time to try again.
#[test]
fn a_contended_call_is_denied_beside_its_tokens() {
    let server = Memcached::start_tcp(&[]);
    let proxy = Proxy::tcp(server.port());
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

//! Tests servers that have lost their records. The store restores a lost bucket from a host's
//! denial cache, unless the bucket was reset.

use crate::caller::{CAPACITY, Caller, PLAIN, RESET, Server, cached, refund, take};
use gcra::Ticks;
use segment::slots::counters::Event;
use stores::remote::Settings;

/// Records denials in the denial cache, but contacts the store for every call.
const ASKING: Settings = cached(1);

/// The most by which a restored state may be earlier than the lost state: the timeout of a call,
/// and the error of a cached denial, which is the duration of a call. If each call added to the
/// error, 20 calls would exceed this.
const ERROR: Ticks = 3 * PLAIN.timeout;

/// Returns two hosts that were denied a token of the bucket `id`.
fn denied(server: &Server) -> [Caller; 2] {
    let hosts = [(); 2].map(|()| server.caller(ASKING));
    assert!(hosts[0].grants("id", &take(CAPACITY)));
    for host in &hosts {
        assert!(!host.grants("id", &take(1)));
    }
    hosts
}

#[test]
fn a_lost_record_is_restored() {
    Server::each(|mut server| {
        let [host, _] = denied(&server);
        let before = host.take("id", &take(1));
        server.restart();
        assert_eq!(server.record("id"), "", "it has lost all");
        let after = host.take("id", &take(1));
        assert!(!after.granted());
        // The restored state is never later than the lost state. It may be earlier by the duration
        // of a call and the error of a cached denial.
        assert!(after.empty_at <= before.empty_at);
        assert!(after.empty_at + ERROR > before.empty_at);
        assert_eq!(host.count(Event::Cached), 0, "the server's own reply");
        for _ in 0..20 {
            let again = host.take("id", &take(1));
            assert!(!again.granted());
            assert!(again.empty_at + ERROR > before.empty_at, "it wears off");
        }
        // Control: for a host without a cached denial, the bucket is full.
        let stranger = server.caller(ASKING);
        assert!(stranger.grants("id", &take(1)));
    });
}

#[test]
fn what_is_made_up_grants_what_it_would_have() {
    Server::each(|mut server| {
        let host = server.caller(ASKING);
        assert!(host.grants("id", &take(2)));
        assert!(!host.grants("id", &take(4)));
        server.restart();
        assert!(!host.grants("id", &take(4)));
        assert!(host.grants("id", &take(3)));
        assert!(!host.grants("id", &take(1)));
        let other = server.caller(ASKING);
        assert!(!other.grants("id", &take(1)), "the record is there again");
    });
}

#[test]
fn a_refund_of_a_lost_record_gives_back_to_what_was_seen() {
    Server::each(|mut server| {
        let [host, other] = denied(&server);
        server.restart();
        host.put("id", &refund(2));
        assert!(host.grants("id", &take(2)));
        assert!(!host.grants("id", &take(1)));
        assert!(!other.grants("id", &take(1)));
    });
}

#[test]
fn a_reset_after_the_loss_holds_for_every_host() {
    Server::each(|mut server| {
        let [host, other] = denied(&server);
        server.restart();
        host.put("id", &RESET);
        assert_eq!(server.record("id"), "0");
        assert!(other.grants("id", &take(1)), "denied by a memory");
        assert!(host.grants("id", &take(CAPACITY - 1)));
        assert!(!host.grants("id", &take(1)));
    });
}

#[test]
fn a_record_that_is_there_is_never_replaced() {
    Server::each(|server| {
        let [host, other] = denied(&server);
        host.put("id", &refund(2));
        assert!(other.grants("id", &take(1)), "the memory won");
        host.put("id", &RESET);
        assert!(other.grants("id", &take(CAPACITY)));
        assert!(!other.grants("id", &take(1)));
    });
}

//! Tests a failover behind one address: a proxy leads to another server, as a load balancer or a
//! DNS name does.

use crate::caller::{Caller, PLAIN, take};
use stores::remote::Cause;
use testkit::{Proxy, Redis};

/// Returns a caller that has a connection to a primary, and the server that replaces this primary.
/// Open connections still lead to the old primary, which is now a replica.
fn demoted(options: &[&str]) -> (Caller, Proxy, [Redis; 2]) {
    let (old, new) = (Redis::start(options), Redis::start(&[]));
    let proxy = Proxy::tcp(old.port());
    let caller = Caller::redis(&format!("redis://127.0.0.1:{}", proxy.port()), PLAIN);
    assert!(caller.grants("id", &take(1)));
    new.follow(&old);
    new.cli(&["REPLICAOF", "NO", "ONE"]);
    old.follow(&new);
    proxy.lead(new.port());
    (caller, proxy, [old, new])
}

#[track_caller]
fn leaves_after(code: &str, caller: &Caller, new: &Redis) {
    match caller.fails("id", &take(1)) {
        Cause::Refused(text) => assert!(text.starts_with(code), "{text}"),
        cause => panic!("{cause:?}"),
    }
    assert_eq!(caller.left("id"), 4, "decided by the new primary");
    assert!(caller.grants("new", &take(1)));
    assert_eq!(new.cli(&["EXISTS", "t:new"]), "1");
}

#[test]
fn a_connection_to_a_demoted_primary_is_left() {
    let (caller, _proxy, [_old, new]) = demoted(&[]);
    leaves_after("READONLY", &caller, &new);
}

#[test]
fn a_connection_to_a_replica_without_its_primary_is_left() {
    let (caller, _proxy, [old, new]) = demoted(&["--replica-serve-stale-data", "no"]);
    old.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    leaves_after("MASTERDOWN", &caller, &new);
}

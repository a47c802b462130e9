//! Tests permits in a cluster of three primaries.

use crate::caller::PLAIN;
use crate::cluster::{dsn, names};
use crate::permits::{Limiter, a_limit_is_kept, set};
use segment::slots::counters::Event;
use testkit::Cluster;

fn cluster() -> (Cluster, Limiter, Vec<String>) {
    let cluster = Cluster::start(false);
    let limiter = Limiter::new(&dsn(&cluster), PLAIN);
    let names = names(&cluster, set);
    (cluster, limiter, names)
}

#[test]
fn each_server_of_a_cluster_keeps_its_permits() {
    let (cluster, limiter, names) = cluster();
    for (name, node) in names.iter().zip(&cluster.nodes) {
        a_limit_is_kept(&limiter, name);
        let _permit = limiter.acquire(name, 1).unwrap();
        assert_eq!(node.cli(&["ZCARD", &set(name)]), "1");
    }
}

#[test]
fn permits_follow_their_slot_to_another_server() {
    let (cluster, limiter, names) = cluster();
    let (old, new, name, key) = (0, 1, &names[0], set(&names[0]));
    let mut permit = limiter.acquire(name, 2).unwrap();
    cluster.migrate(&key, old, new);
    assert!(limiter.renew(&mut permit));
    let other = limiter.acquire(name, 2).unwrap();
    cluster.finish_migration(&key, old, new);
    assert!(limiter.acquire(name, 2).is_none());
    assert_eq!(cluster.nodes[new].cli(&["ZCARD", &key]), "2");
    limiter.release(other);
    assert!(limiter.renew(&mut permit));
    assert_eq!(limiter.held(name), 1);
    // A slot without keys is on both servers until the migration ends.
    let empty = "{".to_owned() + &key + "}";
    cluster.migrate(&empty, new, old);
    limiter.release(permit);
    assert_eq!(limiter.held(name), 0);
    assert_eq!(limiter.count(Event::Thrown), 0);
}

//! Tests a cluster of three primaries, of which each has a replica in some tests.

use crate::caller::{
    CAPACITY, Caller, HANG, MILLISECOND, PLAIN, PREFIX, count, follows, host, refund, take,
    windows, within,
};
use gcra::Ticket;
use segment::slots::counters::Event;
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};
use stores::remote::redis::Redis;
use stores::remote::redis::dsn::Dsn;
use stores::remote::time_left::TimeLeft;
use stores::remote::{Answer, Cause, OnFailure, Remote, Settings, Transport};
use testkit::{Cluster, Mode, PRIMARIES, Redis as Node, eventually};

/// Returns the DSN of a cluster, with the proxy of its last primary as the only seed.
pub fn dsn(cluster: &Cluster) -> String {
    let port = cluster.proxies[PRIMARIES - 1].port();
    format!("redis+cluster://127.0.0.1:{port}")
}

fn caller(cluster: &Cluster) -> Caller {
    Caller::redis(&dsn(cluster), PLAIN)
}

/// Returns the key of a bucket.
pub fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Yields identifiers whose keys a server of the cluster keeps.
pub fn names_on(
    cluster: &Cluster,
    index: usize,
    key: fn(&str) -> String,
) -> impl Iterator<Item = String> {
    let names = (0..).map(|number| format!("id{number}"));
    names.filter(move |name| cluster.owner(&key(name)) == index)
}

/// Returns one identifier for each primary, which keeps the key of this identifier.
pub fn names(cluster: &Cluster, key: fn(&str) -> String) -> Vec<String> {
    let first = |index| names_on(cluster, index, key).next();
    (0..PRIMARIES).filter_map(first).collect()
}

fn identifiers(cluster: &Cluster) -> Vec<String> {
    names(cluster, key)
}

fn trips(cluster: &Cluster, call: impl FnOnce()) -> u64 {
    let before = cluster.round_trips();
    call();
    cluster.round_trips() - before
}

#[test]
fn each_grant_is_one_round_trip_to_the_server_of_its_key() {
    let cluster = Cluster::start(false);
    let (caller, names) = (caller(&cluster), identifiers(&cluster));
    let grant = |name: &String| assert!(caller.grants(name, &take(1)));
    // The first call asks for the slots. Each server gets the script once.
    let first = trips(&cluster, || names.iter().for_each(grant));
    assert_eq!(first, 1 + 2 * PRIMARIES as u64);
    for (index, name) in names.iter().enumerate() {
        let proxy = &cluster.proxies[index];
        let before = proxy.round_trips();
        assert_eq!(trips(&cluster, || grant(name)), 1);
        assert_eq!(proxy.round_trips() - before, 1);
        assert_eq!(cluster.nodes[index].cli(&["EXISTS", &key(name)]), "1");
    }
    // A new object of the same process knows the slots.
    let other = Caller::redis(&dsn(&cluster), PLAIN);
    assert_eq!(
        trips(&cluster, || assert_eq!(other.left(&names[0]), CAPACITY - 2)),
        1
    );
}

#[test]
fn a_key_is_followed_while_its_slot_is_migrated() {
    let cluster = Cluster::start(false);
    let (caller, names) = (caller(&cluster), identifiers(&cluster));
    let (old, new, name) = (0, 1, &names[0]);
    let key = key(name);
    // Another key of the slot, which is on the source only when the migration begins.
    let sibling = format!("{{t:{name}}}");
    cluster.nodes[old].cli(&["SET", &sibling, "1"]);
    let grant = || assert!(caller.grants(name, &take(1)));
    cluster.migrate(&key, old, new);
    // The source does not have the key, so it sends the first call to the target, which also gets
    // ASKING before the script's text: EVALSHA; ASKING EVALSHA; ASKING EVAL.
    grant();
    assert_eq!(cluster.nodes[old].cli(&["EXISTS", &sibling]), "1");
    let trips_asked = trips(&cluster, grant);
    assert_eq!(trips_asked, 2, "ASK is not learned");
    caller.put(name, &refund(1));
    cluster.finish_migration(&key, old, new);
    // MOVED; then the slots are asked for, at most once a second.
    let moved = trips(&cluster, grant);
    assert!((2..=3).contains(&moved), "{moved}");
    assert_eq!(trips(&cluster, grant), 1, "MOVED is learned");
    assert_eq!(caller.left(name), CAPACITY - 3);
    assert_eq!(cluster.nodes[new].cli(&["EXISTS", &key]), "1");
}

#[test]
fn a_promotion_of_a_replica_fails_no_call() {
    let cluster = Cluster::start(true);
    let (caller, names, hour) = (caller(&cluster), identifiers(&cluster), windows());
    let quota = names_on(&cluster, 0, key).nth(1).unwrap();
    assert!(caller.grants(&names[0], &take(1)) && caller.grants(&quota, &count(3, hour)));
    cluster.fail_over(0);
    let before = caller.count(Event::Thrown);
    assert!(caller.grants(&names[0], &take(1)) && !caller.grants(&quota, &count(3, hour)));
    assert_eq!(caller.left(&names[0]), CAPACITY - 2);
    assert_eq!(caller.unused(&quota, hour), CAPACITY - 3);
    assert_eq!(caller.count(Event::Thrown), before);
}

#[test]
fn a_killed_primary_fails_its_own_keys_until_its_replica_is_promoted() {
    let mut cluster = Cluster::start(true);
    let (caller, names) = (caller(&cluster), identifiers(&cluster));
    for name in &names {
        assert!(caller.grants(name, &take(1)));
    }
    let is_copied = || cluster.nodes[PRIMARIES].cli(&["DBSIZE"]) == "1";
    assert!(eventually(is_copied));
    cluster.nodes[0].kill();
    cluster.proxies[0].cut();
    let is_promoted = || {
        let role = cluster.nodes[PRIMARIES].cli(&["ROLE"]);
        role.starts_with("master")
    };
    let counts = || [Event::Asked, Event::Failed].map(|event| caller.count(event));
    let start = Instant::now();
    while !is_promoted() {
        let fails = caller.ask(names[0].as_bytes(), &take(0)).is_err();
        assert!(fails || is_promoted());
        for other in &names[1..] {
            let [asked, failed] = counts();
            assert_eq!(caller.left(other), CAPACITY - 1);
            assert_eq!(counts(), [asked + 1, failed], "it contacts one server");
        }
        assert!(start.elapsed() < HANG, "no failover");
        sleep(Duration::from_millis(5));
    }
    // All servers send clients to the promoted replica, which decides.
    let (key, port) = (key(&names[0]), cluster.proxies[PRIMARIES].port());
    let sends = |node: &Node| node.cli(&["EXISTS", &key]).ends_with(&format!(":{port}"));
    let others = &cluster.nodes[1..PRIMARIES];
    assert!(eventually(|| others.iter().all(sends)));
    let keeps = || cluster.nodes[PRIMARIES].cli(&["EXISTS", &key]) == "1";
    assert!(eventually(keeps));
    follows(&caller, &names[0]);
    assert_eq!(caller.left(&names[0]), CAPACITY - 1);
}

#[test]
fn a_server_that_hangs_is_not_the_others_fault() {
    let cluster = Cluster::start(false);
    let settings = within(2000 * MILLISECOND);
    let caller = Caller::redis(&dsn(&cluster), settings);
    let names = identifiers(&cluster);
    for name in &names {
        assert!(caller.grants(name, &take(1)));
    }
    cluster.proxies[0].set(Mode::SwallowRequests);
    for _ in 0..3 {
        assert!(matches!(caller.fails(&names[0], &take(1)), Cause::Timeout));
    }
    for _ in 0..20 {
        let cause = caller.fails_while_open(&names[0]);
        assert!(matches!(cause, Cause::Waiting), "{cause}");
        for name in &names[1..] {
            let left = || assert_eq!(caller.left(name), CAPACITY - 1);
            assert_eq!(trips(&cluster, left), 1, "it contacts one server");
        }
    }
    assert_eq!(caller.count(Event::Opened), 1);
}

/// Takes a token from each bucket with `attemptEach()`, and returns whether the policy decided.
fn fallbacks(cluster: &Cluster, names: &[String]) -> Vec<bool> {
    let store = Redis::new(Dsn::parse(&dsn(cluster)).unwrap(), PREFIX.as_bytes());
    let settings = Settings {
        on_failure: OnFailure::Deny,
        ..within(2000 * MILLISECOND)
    };
    let store = Remote::new(store, settings, host());
    let tickets = names.iter().enumerate().map(|(index, name)| {
        let (key, step) = (store.hasher().key(name.as_bytes()), take(1));
        (&store, Ticket { index, key, step })
    });
    let buckets: Vec<_> = tickets.collect();
    let mut fallbacks = vec![true; names.len()];
    let decided = |index: usize, answer: Answer<_>| fallbacks[index] = answer.fallback;
    Remote::take_each(&buckets, None, decided).unwrap();
    fallbacks
}

/// The first call asks for the slots, and then each server for its own steps.
#[test]
fn a_server_that_hangs_is_not_the_others_fault_in_the_first_call() {
    let cluster = Cluster::start(false);
    cluster.proxies[0].set(Mode::SwallowRequests);
    let names = identifiers(&cluster);
    assert_eq!(fallbacks(&cluster, &names), [true, false, false]);
}

#[test]
fn a_server_that_hangs_leaves_the_steps_of_a_moved_slot_their_time() {
    let cluster = Cluster::start(false);
    let names = identifiers(&cluster);
    assert_eq!(fallbacks(&cluster, &names), [false; PRIMARIES]);
    // The source redirects calls only on keys that it does not have.
    cluster.nodes[1].cli(&["DEL", &key(&names[1])]);
    cluster.migrate(&key(&names[1]), 1, 2);
    cluster.proxies[0].set(Mode::SwallowRequests);
    assert_eq!(fallbacks(&cluster, &names), [true, false, false]);
}

#[test]
fn seeds_that_do_not_answer_have_their_own_breaker() {
    let caller = Caller::redis("redis+cluster://127.0.0.1:1,127.0.0.1:2", PLAIN);
    for _ in 0..3 {
        assert!(matches!(caller.fails("id", &take(1)), Cause::Connect(_)));
    }
    let failure = caller.ask(b"id", &take(1)).unwrap_err();
    assert!(matches!(failure.cause, Cause::Waiting));
    assert_eq!(failure.store, "redis+cluster://127.0.0.1:1,127.0.0.1:2");
    assert_eq!(caller.count(Event::Opened), 1);
}

#[test]
fn one_seed_that_answers_is_enough() {
    let cluster = Cluster::start(false);
    let port = cluster.proxies[0].port();
    cluster.proxies[1].set(Mode::SwallowRequests);
    let hung = cluster.proxies[1].port();
    let dsn = format!("redis+cluster://127.0.0.1:1,127.0.0.1:{hung},127.0.0.1:{port}/");
    // The server that hangs gets a third of the timeout.
    let settings = within(4000 * MILLISECOND);
    let caller = Caller::redis(&dsn, settings);
    assert!(caller.grants(&identifiers(&cluster)[0], &take(1)));
}

#[test]
fn a_hash_tag_in_an_identifier_selects_no_server() {
    let cluster = Cluster::start(false);
    let nodes_of = |options: &str| {
        let dsn = Dsn::parse(&format!("{}{options}", dsn(&cluster))).unwrap();
        let redis = Redis::new(dsn, b"t:");
        let remote = Remote::new(redis, PLAIN, host());
        let nodes = (0..30).map(|number| {
            let name = format!("{{x}}{number}");
            let key = remote.hasher().key(name.as_bytes());
            assert!(remote.take(key, &take(1), None).unwrap().value.granted());
            let name = remote.transport().name(name.as_bytes());
            cluster.owner(std::str::from_utf8(&name).unwrap())
        });
        nodes.collect::<BTreeSet<_>>().len()
    };
    assert_eq!(nodes_of(""), PRIMARIES);
    assert_eq!(nodes_of("?hash_tags=1"), 1);
    // Different identifiers have different keys.
    let redis = Redis::new(Dsn::parse("redis+cluster://h").unwrap(), b"t:");
    let names = ["x", "{x}", "{}x", "{}{x}", "{}{}x"];
    let keys = names.map(|name| redis.name(name.as_bytes()));
    assert_eq!(BTreeSet::from(keys).len(), names.len());
}

#[test]
fn only_buckets_of_one_slot_are_charged_together() {
    let cluster = Cluster::start(false);
    let store = |prefix: &[u8]| {
        let dsn = Dsn::parse(&dsn(&cluster)).unwrap();
        Remote::new(Redis::new(dsn, prefix), PLAIN, host())
    };
    let take_all = |remote: &Remote<'static, Redis>, names: [&str; 2]| {
        let ticket = |index: usize| Ticket {
            index,
            key: remote.hasher().key(names[index].as_bytes()),
            step: take(1),
        };
        let tickets = [0, 1].map(|index| (remote, ticket(index)));
        remote.take_all(&tickets, TimeLeft::ALL).unwrap()
    };
    let together = store(b"t{app}:");
    let answer = take_all(&together, ["a", "b"]).unwrap();
    assert_eq!(answer.value.unwrap().len(), 2);
    assert!(take_all(&store(b"t:"), ["a", "b"]).is_none());
    assert!(take_all(&store(b"t:"), ["a", "a"]).is_some());
}

#[test]
fn a_cluster_without_a_server_for_a_slot_says_so() {
    let cluster = Cluster::start(false);
    let (caller, names) = (caller(&cluster), identifiers(&cluster));
    assert!(caller.grants(&names[0], &take(1)));
    let key = key(&names[0]);
    let slot = cluster.nodes[0].cli(&["CLUSTER", "KEYSLOT", &key]);
    cluster.nodes[0].cli(&["CLUSTER", "DELSLOTS", &slot]);
    let is_down = || {
        cluster.nodes[0]
            .cli(&["GET", &key])
            .starts_with("CLUSTERDOWN")
    };
    assert!(eventually(is_down));
    match caller.fails(&names[0], &take(1)) {
        Cause::Refused(text) => assert!(text.starts_with("CLUSTERDOWN"), "{text}"),
        cause => panic!("{cause:?}"),
    }
    cluster.nodes[0].cli(&["CLUSTER", "ADDSLOTS", &slot]);
    assert!(eventually(|| caller
        .ask(names[0].as_bytes(), &take(0))
        .is_ok()));
}

#[test]
fn a_slot_that_no_server_keeps_fails_no_other() {
    let cluster = Cluster::start(false);
    let names = identifiers(&cluster);
    let key = key(&names[2]);
    let slot = cluster.nodes[0].cli(&["CLUSTER", "KEYSLOT", &key]);
    // The owner is the last server and comes first, because its messages would give the slot back
    // to a server that has deleted it.
    let is_gone = |node: &Node| {
        node.cli(&["CLUSTER", "DELSLOTS", &slot]);
        node.cli(&["GET", &key]).starts_with("CLUSTERDOWN")
    };
    assert!(eventually(|| cluster.nodes.iter().rev().all(is_gone)));
    let (caller, start) = (caller(&cluster), Instant::now());
    let trips = trips(&cluster, || {
        for _ in 0..10 {
            let cause = caller.fails(&names[2], &take(1));
            assert!(matches!(cause, Cause::Unserved), "{cause:?}");
        }
    });
    // The client asks for the slots at most twice a second.
    let halves = start.elapsed().as_millis() / 500;
    assert!(u128::from(trips) <= 2 + halves, "{trips}");
    for name in &names[..2] {
        assert!(caller.grants(name, &take(1)));
    }
    assert_eq!(caller.count(Event::Failed), 0);
    // The slot gets a server again.
    let added = cluster.nodes[1].cli(&["CLUSTER", "ADDSLOTS", &slot]);
    assert_eq!(added, "OK");
    let decides = || caller.ask(names[2].as_bytes(), &take(0)).is_ok();
    assert!(eventually(decides));
}

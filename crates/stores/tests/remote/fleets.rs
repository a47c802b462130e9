//! Tests fleets of which a part fails or is far away: sentinels and servers of a cluster that give
//! wrong answers, late answers or none. The others decide.

use crate::caller::{CAPACITY, Caller, HOUR, MILLISECOND, PLAIN, host, take, within};
use crate::cluster::{self, key, names_on};
use gcra::{TICKS_PER_SECOND, Ticket};
use segment::slots::counters::Event;
use std::fs::remove_file;
use std::sync::Barrier;
use std::thread::{scope, sleep};
use std::time::Duration;
use stores::remote::memcached::servers::parse_servers;
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Answer, Cause, OnFailure, Pipelined, Remote, Settings, memcached, redis};
use testkit::{
    Cluster, Memcached, Mode, PRIMARY, Proxy, Redis, Sentinel, eventually, major_version,
};

/// Returns the DSN of the primary that the sentinels at these ports know.
fn at(ports: &[u16]) -> String {
    let hosts: Vec<_> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    format!("redis+sentinel://{}/{PRIMARY}", hosts.join(","))
}

#[test]
fn a_sentinel_that_says_that_the_primary_is_down_is_not_believed() {
    let (mut old, new) = (Redis::start(&[]), Redis::start(&[]));
    let stale = Sentinel::start(&old, &[]);
    let good = Sentinel::start(&new, &[]);
    old.kill();
    let state = || stale.cli(&["SENTINEL", "MASTER", PRIMARY]);
    assert!(eventually(|| state().contains("s_down")));
    let caller = Caller::redis(&at(&[stale.port(), good.port()]), PLAIN);
    for _ in 0..3 {
        assert!(caller.grants("id", &take(1)));
    }
    assert_eq!(new.cli(&["EXISTS", "t:id"]), "1");
    // If there is no other sentinel, the client follows the stale one.
    let alone = Caller::redis(&at(&[stale.port()]), PLAIN);
    assert!(matches!(alone.fails("id", &take(1)), Cause::Connect(_)));
}

#[test]
fn a_sentinel_that_names_a_replica_is_not_believed_again() {
    let (old, new) = (Redis::start(&[]), Redis::start(&[]));
    let stale = Sentinel::start(&old, &[]);
    let good = Sentinel::start(&new, &["sentinel config-epoch mymaster 5"]);
    // No server listens on that port, so `old` is a replica without a primary. As a replica of
    // `new`, `old` would pass the messages of the good sentinel on to the stale one.
    old.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let caller = Caller::redis(&at(&[stale.port(), good.port()]), PLAIN);
    // The first calls meet the replica. Then the other sentinel is asked, too.
    let grants = || {
        caller
            .ask(b"id", &take(1))
            .is_ok_and(|it| it.value.granted())
    };
    assert!(eventually(grants));
    let granted = (0..CAPACITY).filter(|_| grants()).count();
    assert_eq!(granted as u64, CAPACITY - 1);
}

#[test]
fn an_older_configuration_does_not_replace_a_newer_one() {
    let (old, new) = (Redis::start(&[]), Redis::start(&[]));
    let stale = Sentinel::start(&old, &["sentinel config-epoch mymaster 4"]);
    let good = [(); 2].map(|()| Sentinel::start(&new, &["sentinel config-epoch mymaster 5"]));
    let hanging = Proxy::tcp(good[0].port());
    let dsn = at(&[hanging.port(), stale.port(), good[1].port()]);
    let caller = Caller::redis(&dsn, PLAIN);
    assert!(caller.grants("id", &take(1)));
    hanging.set(Mode::SwallowRequests);
    new.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    // The process asks the sentinels before it connects, unless their answer is fresh.
    sleep(Duration::from_millis(200));
    assert!(caller.grants("id", &take(1)));
    assert_eq!(caller.left("id"), CAPACITY - 2);
    assert_eq!(old.cli(&["EXISTS", "t:id"]), "0");
}

#[test]
fn sentinels_that_are_far_away_are_believed() {
    let primary = Redis::start(&[]);
    let sentinel = Sentinel::start(&primary, &[]);
    let proxies = [(); 3].map(|()| Proxy::tcp(sentinel.port()));
    let dsn = at(&proxies.each_ref().map(Proxy::port));
    let all = |mode| proxies.iter().for_each(|proxy| proxy.set(mode));
    all(Mode::Delay(Duration::from_millis(150)));
    assert!(Caller::redis(&dsn, PLAIN).grants("id", &take(1)));
    let each = || {
        let store = redis::Redis::new(Dsn::parse(&dsn).unwrap(), b"t:");
        let store = Remote::new(store, PLAIN, host());
        let (index, key, step) = (0, store.hasher().key(b"id"), take(1));
        let ticket = (&store, Ticket { index, key, step });
        Remote::take_each(&[ticket], None, |_, answer| assert!(!answer.fallback)).unwrap();
    };
    // Another thread has no connection.
    scope(|threads| threads.spawn(each).join().unwrap());
    // Each sentinel needs more than a quarter of the timeout, and one of them hangs.
    all(Mode::Delay(Duration::from_secs(3)));
    proxies[0].set(Mode::SwallowRequests);
    let settings = within(10 * TICKS_PER_SECOND);
    let far = Caller::redis(&format!("{dsn}/0"), settings);
    assert!(far.grants("id", &take(1)));
    let another = scope(|threads| threads.spawn(|| far.grants("id", &take(1))).join().unwrap());
    assert!(another, "another thread has no connection");
}

#[test]
fn seeds_that_are_far_away_are_believed() {
    let cluster = Cluster::start(false);
    let seeds: Vec<_> = cluster
        .nodes
        .iter()
        .map(|node| Proxy::tcp(node.port()))
        .collect();
    let hosts: Vec<_> = seeds
        .iter()
        .map(|seed| format!("127.0.0.1:{}", seed.port()))
        .collect();
    for seed in &seeds {
        seed.set(Mode::Delay(Duration::from_secs(3)));
    }
    seeds[0].set(Mode::SwallowRequests);
    let settings = within(10 * TICKS_PER_SECOND);
    let caller = Caller::redis(&format!("redis+cluster://{}", hosts.join(",")), settings);
    assert!(caller.grants("id", &take(1)));
}

#[test]
fn the_first_cause_is_reported() {
    let redis = Redis::start(&[]);
    let dsn = format!("redis+cluster://127.0.0.1:{},127.0.0.1:1", redis.port());
    let cause = Caller::redis(&dsn, PLAIN).fails("id", &take(1));
    assert!(matches!(&cause, Cause::Refused(_)), "{cause}");
}

#[test]
fn a_server_without_an_address_takes_no_other_with_it() {
    let mut cluster = Cluster::start(false);
    let names = cluster::names(&cluster, key);
    // The first server restarts with a new identity. Then the other servers forget the address of
    // the old identity.
    cluster.nodes[0].kill();
    remove_file(cluster.nodes[0].socket().with_file_name("nodes.conf")).unwrap();
    cluster.nodes[0].restart();
    let forgot = || {
        let forgot = |node: &Redis| node.cli(&["CLUSTER", "NODES"]).contains("noaddr");
        cluster.nodes[1..].iter().all(forgot)
    };
    assert!(eventually(forgot) || eventually(forgot));
    let slots = cluster.nodes[2].cli(&["CLUSTER", "SLOTS"]);
    assert!(
        slots.lines().any(|line| line == "0"),
        "the control: {slots}"
    );
    let caller = Caller::redis(&cluster::dsn(&cluster), PLAIN);
    for name in &names[1..] {
        assert!(caller.grants(name, &take(1)));
    }
    for _ in 0..5 {
        let cause = caller.fails(&names[0], &take(1));
        assert!(matches!(cause, Cause::Unserved), "{cause}");
    }
    assert_eq!(caller.count(Event::Failed), 0);
    assert!(caller.grants(&names[1], &take(1)));
}

#[test]
fn redirected_calls_ask_the_breaker_of_the_other_server() {
    let cluster = Cluster::start(false);
    let settings = within(100 * MILLISECOND);
    let port = cluster.proxies[0].port();
    let caller = Caller::redis(&format!("redis+cluster://127.0.0.1:{port}"), settings);
    let names: Vec<_> = names_on(&cluster, 0, key).take(60).collect();
    let fine = names_on(&cluster, 2, key).next().unwrap();
    // Waits for a call that reaches the server of `fine`. On a slow machine, a call may exceed its
    // timeout.
    let decided = || caller.ask(fine.as_bytes(), &take(0)).is_ok();
    assert!(eventually(decided));
    cluster.proxies[1].set(Mode::SwallowRequests);
    for name in &names {
        cluster.migrate(&key(name), 0, 1);
        cluster.finish_migration(&key(name), 0, 1);
    }
    // The map is asked for at most once a second.
    sleep(Duration::from_millis(1100));
    let (first, others) = names.split_at(30);
    let causes: Vec<_> = first
        .iter()
        .map(|name| caller.fails(name, &take(1)))
        .collect();
    let waiting = causes
        .iter()
        .filter(|cause| matches!(cause, Cause::Waiting));
    assert!(waiting.count() > 10, "{causes:?}");
    // The failures made the process ask for the map, so the old server is not asked again. On a
    // slow machine, the first map may come too late.
    let asks_old = || {
        let before = cluster.proxies[0].round_trips();
        assert!(caller.ask(others[0].as_bytes(), &take(1)).is_err());
        cluster.proxies[0].round_trips() > before
    };
    assert!(eventually(|| !asks_old()));
    let before = cluster.proxies[0].round_trips();
    for name in others {
        assert!(caller.ask(name.as_bytes(), &take(1)).is_err());
    }
    assert_eq!(cluster.proxies[0].round_trips(), before);
    // On a slow machine, this call may take longer than its timeout.
    let of_fine = caller.ask(fine.as_bytes(), &take(0)).map_err(|it| it.cause);
    assert!(!matches!(of_fine, Err(Cause::Waiting)));
    cluster.proxies[1].set(Mode::Pass);
    let recovers = |name: &String| eventually(|| caller.ask(name.as_bytes(), &take(0)).is_ok());
    assert!(names.iter().all(recovers));
}

#[test]
fn a_closed_tls_connection_is_said_to_be_closed() {
    if major_version() < 7 {
        eprintln!("skipped: Redis 6.0 cannot pause only writes");
        return;
    }
    let redis = Redis::start_tls();
    let at = format!("rediss://127.0.0.1:{}", redis.tls_port());
    let dsn = format!("{at}?cafile={}", redis.ca_file().display());
    let caller = Caller::redis(&dsn, PLAIN);
    let barrier = Barrier::new(2);
    let cause = scope(|threads| {
        let call = threads.spawn(|| {
            assert!(caller.grants("id", &take(1)));
            barrier.wait();
            barrier.wait();
            caller.fails("id", &take(1))
        });
        barrier.wait();
        redis.cli(&["CLIENT", "PAUSE", "60000", "WRITE"]);
        barrier.wait();
        // The server has received the request, and closes the connection with a message of TLS.
        let waits = || {
            redis
                .cli(&["INFO", "clients"])
                .contains("blocked_clients:1")
        };
        assert!(eventually(waits));
        redis.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        call.join().unwrap()
    });
    assert!(matches!(cause, Cause::Broken(_)), "{cause}");
    assert!(
        cause.to_string().ends_with("it was closed by the server"),
        "{cause}"
    );
}

#[test]
fn a_tls_connection_that_ends_without_a_message_is_said_to_be_closed() {
    let redis = Redis::start_tls();
    let proxy = Proxy::tcp(redis.tls_port());
    let at = format!("rediss://127.0.0.1:{}", proxy.port());
    let dsn = format!("{at}?cafile={}", redis.ca_file().display());
    let caller = Caller::redis(&dsn, PLAIN);
    assert!(caller.grants("id", &take(1)));
    proxy.set(Mode::HalfReply);
    let cause = caller.fails("id", &take(1));
    assert!(
        cause.to_string().ends_with("it was closed by the server"),
        "{cause}"
    );
}

/// The servers of a call on several buckets.
const SERVERS: usize = 10;

/// Calls a bucket of each store at once, while the servers behind `proxies` hang. The timeout is
/// long, so a call that waited for one server before it asks the next would not ask them all.
fn all_are_asked_at_once<T: Pipelined + Sync>(
    store: impl Fn(u16) -> Remote<'static, T>,
    port: u16,
) {
    let proxies: Vec<_> = (0..SERVERS).map(|_| Proxy::tcp(port)).collect();
    let all = |mode| proxies.iter().for_each(|proxy| proxy.set(mode));
    let ports = proxies.iter().map(Proxy::port).chain([port]);
    let stores: Vec<_> = ports.map(store).collect();
    let call = || {
        let tickets = stores.iter().enumerate().map(|(index, store)| {
            let (key, step) = (store.hasher().key(b"id"), take(1));
            (store, Ticket { index, key, step })
        });
        let buckets: Vec<_> = tickets.collect();
        let mut decided = vec![None; stores.len()];
        let done = |index: usize, answer: Answer<_>| decided[index] = Some(answer.fallback);
        Remote::take_each(&buckets, None, done).unwrap();
        decided
    };
    assert_eq!(call(), vec![Some(false); stores.len()]);
    let before: Vec<_> = proxies.iter().map(Proxy::requests).collect();
    all(Mode::SwallowRequests);
    let are_asked = || {
        let mut counts = proxies.iter().zip(&before);
        counts.all(|(proxy, before)| proxy.requests() > *before)
    };
    let decided = scope(|threads| {
        let call = threads.spawn(call);
        assert!(eventually(are_asked));
        proxies.iter().for_each(Proxy::cut);
        call.join().unwrap()
    });
    let mut expected = vec![Some(true); SERVERS];
    expected.push(Some(false));
    assert_eq!(decided, expected, "the server that works has decided");
}

#[test]
fn servers_that_hang_are_waited_for_together() {
    let settings = Settings {
        timeout: 60 * TICKS_PER_SECOND,
        on_failure: OnFailure::Local,
        ..PLAIN
    };
    let host = host();
    let redis = Redis::start(&[]);
    let store = |port: u16| {
        let dsn = Dsn::parse(&format!("redis://127.0.0.1:{port}")).unwrap();
        Remote::new(redis::Redis::new(dsn, b"t:"), settings, host)
    };
    all_are_asked_at_once(store, redis.port());
    let memcached = Memcached::start_tcp(&[]);
    let store = |port: u16| {
        let servers = parse_servers([format!("127.0.0.1:{port}")]).unwrap();
        Remote::new(memcached::Memcached::new(&servers, b"t:"), settings, host)
    };
    all_are_asked_at_once(store, memcached.port());
    let failed: Vec<_> = host
        .breakers()
        .states()
        .iter()
        .map(|state| state.failures)
        .collect();
    assert_eq!(
        failed.iter().filter(|&&failures| failures == 1).count(),
        2 * SERVERS
    );
}

/// A server of a cluster gets one pipeline. The steps that it refuses are sent to the server that
/// the redirection names.
#[test]
fn steps_of_a_moved_slot_are_decided_by_the_other_server() {
    let cluster = Cluster::start(false);
    let port = cluster.proxies[0].port();
    let dsn = Dsn::parse(&format!("redis+cluster://127.0.0.1:{port}")).unwrap();
    let store = Remote::new(redis::Redis::new(dsn, b"t:"), PLAIN, host());
    let names: Vec<_> = (0..3)
        .flat_map(|index| names_on(&cluster, index, key).take(10))
        .collect();
    let call = || {
        let tickets = names.iter().enumerate().map(|(index, name)| {
            let (key, step) = (store.hasher().key(name.as_bytes()), take(1));
            (&store, Ticket { index, key, step })
        });
        let buckets: Vec<_> = tickets.collect();
        let mut left = vec![0; names.len()];
        Remote::take_each(&buckets, None, |index, answer| {
            assert!(answer.value.granted());
            left[index] = take(0).available(answer.value.empty_at, answer.value.now) / HOUR;
        })
        .unwrap();
        left
    };
    assert_eq!(call(), vec![CAPACITY - 1; names.len()]);
    let trips = cluster.round_trips();
    assert_eq!(call(), vec![CAPACITY - 2; names.len()]);
    assert_eq!(cluster.round_trips() - trips, 3, "one for each server");
    cluster.migrate(&key(&names[0]), 0, 1);
    cluster.migrate(&key(&names[1]), 0, 2);
    cluster.finish_migration(&key(&names[1]), 0, 2);
    assert_eq!(call(), vec![CAPACITY - 3; names.len()]);
}

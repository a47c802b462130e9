//! Tests batches on several buckets of one Redis server. A batch takes from all buckets or from
//! none, in one round trip.

use crate::caller::{CAPACITY, HASTY, HOUR, PLAIN, PREFIX, cached, host, take, under};
use gcra::Step;
use gcra::batch::{Batched, Ticket};
use segment::host::Host;
use segment::slots::counters::By;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::scope;
use stores::remote::memcached::servers::parse_servers;
use stores::remote::redis::dsn::Dsn;
use stores::remote::time_left::TimeLeft;
use stores::remote::{Answer, Failure, OnFailure, Remote, Settings, Transport, memcached, redis};
use testkit::{Memcached, Redis};

type OnRedis = Remote<'static, redis::Redis>;

fn remote(host: &'static Host, port: u16, prefix: &str, settings: Settings) -> OnRedis {
    let dsn = Dsn::parse(&format!("redis://127.0.0.1:{port}")).unwrap();
    Remote::new(redis::Redis::new(dsn, prefix.as_bytes()), settings, host)
}

/// Takes `steps` from the buckets of these names.
fn take_all<T: Transport>(
    remote: &Remote<T>,
    buckets: &[(&str, Step)],
) -> Result<Option<Answer<Batched>>, Failure> {
    let hasher = remote.hasher();
    let ticket = |(index, bucket)| {
        let (name, step): &(&str, Step) = bucket;
        let key = hasher.key(name.as_bytes());
        let step = *step;
        (remote, Ticket { index, key, step })
    };
    let tickets: Vec<_> = buckets.iter().enumerate().map(ticket).collect();
    remote.take_all(&tickets, TimeLeft::ALL)
}

/// Runs a batch on one store. Panics if the store fails.
fn batched(remote: &OnRedis, buckets: &[(&str, Step)]) -> Batched {
    let answer = take_all(remote, buckets).unwrap().unwrap();
    assert!(answer.warning.is_none());
    answer.value
}

fn left(remote: &OnRedis, name: &str) -> u64 {
    let key = remote.hasher().key(name.as_bytes());
    let outcome = remote.take(key, &take(0).dry(), None).unwrap().value;
    take(0).available(outcome.empty_at, outcome.now) / HOUR
}

#[test]
fn a_refused_batch_leaves_its_cached_denials_true() {
    let server = Redis::start(&[]);
    let settings = cached(HOUR);
    let remote = remote(host(), server.port(), PREFIX, settings);
    let hasher = remote.hasher();
    let ask = |name: &[u8], n| remote.take(hasher.key(name), &take(n), None).unwrap().value;
    assert!(ask(b"a", 3).granted() && ask(b"b", CAPACITY).granted());
    assert!(
        !ask(b"a", 3).granted(),
        "leaves a cached denial of two tokens"
    );
    assert!(batched(&remote, &[("a", take(1)), ("b", take(1))]).is_err());
    assert!(ask(b"a", 2).granted());
}

#[test]
fn a_cached_denial_is_that_of_all_steps_on_the_bucket() {
    let server = Redis::start(&[]);
    let remote = remote(host(), server.port(), PREFIX, cached(HOUR));
    assert!(batched(&remote, &[("a", take(CAPACITY))]).is_ok());
    for _ in 0..2 {
        let refused = batched(&remote, &[("a", take(1)), ("b", take(1)), ("a", take(2))]);
        assert_eq!(refused.unwrap_err().step.cost, take(3).cost);
    }
}

#[test]
fn the_local_buckets_stand_in_for_all() {
    let mut server = Redis::start(&[]);
    server.kill();
    let settings = Settings {
        on_failure: OnFailure::Local,
        ..HASTY
    };
    let remote = remote(host(), server.port(), PREFIX, settings);
    let buckets = [("a", take(2)), ("b", take(1)), ("a", take(1))];
    let answer = take_all(&remote, &buckets).unwrap().unwrap();
    assert!(answer.value.is_ok() && answer.warning.is_some());
    let answer = take_all(&remote, &buckets).unwrap().unwrap();
    assert_eq!(answer.value.unwrap_err().index, 2);
    assert!(answer.warning.is_none());
}

#[test]
fn only_buckets_of_one_redis_are_taken_at_once() {
    let server = Redis::start(&[]);
    let port = server.port();
    let host = host();
    let remotes = ["x:", "y:"].map(|prefix| remote(host, port, prefix, PLAIN));
    let ticket = |remote: &OnRedis, index: usize, tokens| Ticket {
        index,
        key: remote.hasher().key(b"a"),
        step: take(tokens),
    };
    let first = (&remotes[0], ticket(&remotes[0], 0, 2));
    let buckets = [first, (&remotes[1], ticket(&remotes[1], 1, 3))];
    let answer = remotes[0].take_all(&buckets, TimeLeft::ALL);
    assert!(answer.unwrap().unwrap().value.is_ok());
    assert_eq!(left(&remotes[0], "a"), 3);
    assert_eq!(left(&remotes[1], "a"), 2);
    let elsewhere = remote(host, Redis::start(&[]).port(), "x:", PLAIN);
    let buckets = [first, (&elsewhere, ticket(&elsewhere, 1, 1))];
    let answer = remotes[0].take_all(&buckets, TimeLeft::ALL);
    assert!(answer.unwrap().is_none());
    let server = Memcached::start_tcp(&[]);
    let list = parse_servers([format!("127.0.0.1:{}", server.port())]).unwrap();
    let remote = Remote::new(memcached::Memcached::new(&list, b"x:"), PLAIN, host);
    let answer = take_all(&remote, &[("a", take(1)), ("b", take(1))]);
    assert!(answer.unwrap().is_none());
}

#[test]
fn batches_that_race_take_what_is_there() {
    let server = Redis::start(&[]);
    let host = host();
    let step = Step::new(HOUR, 300 * HOUR);
    let granted = AtomicU64::new(0);
    scope(|scope| {
        for worker in 0..4 {
            let granted = &granted;
            let remote = remote(host, server.port(), PREFIX, PLAIN);
            scope.spawn(move || {
                let names = [["a", "b"], ["b", "a"]][worker % 2];
                for _ in 0..500 {
                    let buckets = [(names[0], step), (names[1], step)];
                    granted.fetch_add(batched(&remote, &buckets).is_ok().into(), Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), 300);
    let remote = remote(host, server.port(), PREFIX, PLAIN);
    for name in ["a", "b"] {
        let key = remote.hasher().key(name.as_bytes());
        assert!(!remote.take(key, &step, None).unwrap().value.granted());
    }
}

#[test]
fn a_batch_counts_each_bucket_that_granted_or_the_one_that_refused() {
    let mut server = Redis::start(&[]);
    let host = host();
    let on = |on_failure| {
        let settings = under(on_failure);
        remote(host, server.port(), PREFIX, settings)
    };
    let (local, allow) = (on(OnFailure::Local), on(OnFailure::Allow));
    let decisions = || {
        let totals = host.slots().totals();
        [By::Store, By::SharedMemory, By::Policy].map(|by| totals.all_decisions(by))
    };
    let buckets = [("a", take(2)), ("b", take(1)), ("a", take(2))];
    assert!(batched(&local, &buckets).is_ok());
    assert_eq!(decisions(), [[2, 0], [0, 0], [0, 0]], "each bucket once");
    assert!(batched(&local, &buckets).is_err());
    assert_eq!(decisions(), [[2, 1], [0, 0], [0, 0]]);
    server.kill();
    assert!(take_all(&local, &buckets[..2]).is_ok());
    assert_eq!(decisions(), [[2, 1], [2, 0], [0, 0]]);
    assert!(take_all(&allow, &buckets[..2]).is_ok());
    assert_eq!(decisions(), [[2, 1], [2, 0], [2, 0]]);
}

//! Tests permits of requests whose fate is unknown, and of releases that failed. No request is sent
//! again, and a later call removes the permit.

use crate::caller::{HASTY, PLAIN};
use crate::cluster::{dsn, names};
use crate::permits::{Limiter, pass, set};
use segment::slots::counters::Event;
use std::thread::scope;
use stores::remote::Cause;
use testkit::{Cluster, Mode, Proxy, Redis, eventually};

/// A server behind a proxy, with a patient and a hasty limiter. Both share their connections and
/// the permits that must be removed.
struct Scene {
    redis: Redis,
    proxy: Proxy,
    limiter: Limiter,
    hasty: Limiter,
}

impl Scene {
    fn new() -> Self {
        let redis = Redis::start(&[]);
        let proxy = Proxy::tcp(redis.port());
        let [limiter, hasty] = [PLAIN, HASTY].map(|it| Limiter::at(proxy.port(), it));
        // The server knows the script from now on.
        assert_eq!(limiter.held("id"), 0);
        Self {
            redis,
            proxy,
            limiter,
            hasty,
        }
    }

    fn members(&self, name: &str) -> String {
        self.redis.cli(&["ZCARD", &set(name)])
    }

    /// Returns the number of scripts that the server has run.
    fn scripts(&self) -> u64 {
        let stats = self.redis.cli(&["INFO", "commandstats"]);
        let (_, calls) = stats.split_once("cmdstat_evalsha:calls=").unwrap();
        calls.split(',').next().unwrap().parse().unwrap()
    }

    /// Takes a permit, but the caller does not get the reply.
    fn loses(&self, name: &str, mode: Mode) {
        let (requests, replied) = (self.proxy.requests(), self.proxy.reply_bytes());
        self.proxy.set(mode);
        let limiter = match mode {
            Mode::HalfReply => &self.limiter,
            _ => &self.hasty,
        };
        let cause = limiter.fails(name, 3);
        assert!(
            matches!(cause, Cause::Timeout | Cause::Broken(_)),
            "{cause}"
        );
        assert!(eventually(|| self.proxy.reply_bytes() > replied));
        assert_eq!(self.members(name), "1");
        assert_eq!(self.proxy.requests(), requests + 1, "sent once");
        self.proxy.set(Mode::Pass);
    }
}

#[test]
fn the_permit_of_a_lost_reply_is_removed_by_the_next_call_of_the_key() {
    for mode in [Mode::SwallowReplies, Mode::HalfReply] {
        let scene = Scene::new();
        scene.loses("id", mode);
        // This call removes the permit of the call before it.
        scene.loses("id", mode);
        let requests = scene.proxy.requests();
        assert!(scene.limiter.acquire("id", 1).is_some());
        assert_eq!(scene.proxy.requests(), requests + 1, "in the same request");
        assert_eq!(scene.members("id"), "1");
        assert!(scene.limiter.acquire("id", 1).is_none());
    }
}

#[test]
fn the_permit_of_a_lost_reply_is_removed_by_the_next_call_of_another_key() {
    let scene = Scene::new();
    scene.loses("id", Mode::SwallowReplies);
    scene.loses("other", Mode::SwallowReplies);
    assert_eq!(
        (scene.members("id"), scene.members("other")),
        ("1".into(), "1".into())
    );
    let trips = scene.proxy.round_trips();
    assert_eq!(scene.limiter.held("third"), 0);
    assert_eq!(scene.proxy.round_trips(), trips + 2);
    assert_eq!(
        (scene.members("id"), scene.members("other")),
        ("0".into(), "0".into())
    );
    // Control: nothing is left to remove.
    assert_eq!(scene.limiter.held("third"), 0);
    assert_eq!(scene.proxy.round_trips(), trips + 3);
}

#[test]
fn a_removal_that_fails_is_repeated() {
    let scene = Scene::new();
    scene.loses("id", Mode::SwallowReplies);
    scene.proxy.set(Mode::SwallowRequests);
    for name in ["id", "other"] {
        assert!(matches!(scene.hasty.fails(name, 3), Cause::Timeout));
    }
    assert_eq!(scene.members("id"), "1");
    scene.proxy.set(Mode::Pass);
    assert_eq!(scene.limiter.held("id"), 0);
}

/// The clock was set back, so the call that removes the permit also moves the ends of leases.
#[test]
fn a_permit_that_was_removed_does_not_come_back() {
    let scene = Scene::new();
    scene.loses("id", Mode::SwallowReplies);
    pass(&scene.redis, "id", -100 * 3_600_000_000_000);
    assert!(scene.limiter.acquire("id", 1).is_some());
    assert_eq!(scene.members("id"), "1");
}

/// The removal may overtake a request that was delayed on its way. Then the permit is lost until
/// its lease ends.
#[test]
fn a_removal_that_overtakes_its_request_loses_the_permit_for_one_lease() {
    let scene = Scene::new();
    scene.proxy.set(Mode::HoldRequests);
    assert!(matches!(scene.hasty.fails("id", 1), Cause::Timeout));
    scene.proxy.set(Mode::Pass);
    let permit = scene.limiter.acquire("id", 1).unwrap();
    scene.limiter.release(permit);
    assert_eq!(scene.members("id"), "0");
    scene.proxy.deliver();
    assert!(
        eventually(|| scene.members("id") == "1"),
        "the request arrives"
    );
    assert!(scene.limiter.acquire("id", 1).is_none());
    pass(&scene.redis, "id", 3_600_000_000_000);
    assert!(scene.limiter.acquire("id", 1).is_some());
}

/// A late request takes no permit if other callers hold all permits by then.
#[test]
fn a_request_that_was_delayed_is_decided_when_it_arrives() {
    let scene = Scene::new();
    scene.proxy.set(Mode::HoldRequests);
    assert!(matches!(scene.hasty.fails("id", 1), Cause::Timeout));
    scene.proxy.set(Mode::Pass);
    let mut permit = scene.limiter.acquire("id", 1).unwrap();
    let scripts = scene.scripts();
    scene.proxy.deliver();
    assert!(eventually(|| scene.scripts() > scripts));
    assert_eq!(scene.members("id"), "1");
    assert!(scene.limiter.try_renew(&mut permit).unwrap().value);
}

#[test]
fn the_next_call_gives_back_the_permit_of_a_release_that_failed() {
    let scene = Scene::new();
    for mode in [Mode::SwallowReplies, Mode::SwallowRequests] {
        let permit = scene.limiter.acquire("id", 1).unwrap();
        scene.proxy.set(mode);
        assert!(scene.hasty.try_release(permit).is_err());
        scene.proxy.set(Mode::Pass);
        let next = scene.limiter.acquire("id", 1).unwrap();
        scene.limiter.release(next);
    }
    assert_eq!(scene.limiter.count(Event::PermitForeign), 0);
}

#[test]
fn a_permit_is_given_back_after_the_breaker_was_open() {
    let scene = Scene::new();
    let permit = scene.limiter.acquire("id", 1).unwrap();
    scene.redis.stop();
    let is_open = || matches!(scene.hasty.fails("other", 1), Cause::Waiting);
    assert!(eventually(is_open));
    assert!(scene.hasty.try_release(permit).is_err());
    scene.redis.cont();
    assert!(scene.limiter.acquire("id", 1).is_some());
}

#[test]
fn a_thread_removes_only_its_own_permits() {
    let scene = Scene::new();
    scene.loses("id", Mode::SwallowReplies);
    scope(|threads| {
        threads.spawn(|| assert_eq!(scene.limiter.held("id"), 1));
    });
    assert_eq!(scene.limiter.held("id"), 0);
}

#[test]
fn a_server_of_a_cluster_is_asked_to_remove_only_its_own_permits() {
    let cluster = Cluster::start(false);
    let [limiter, hasty] = [PLAIN, HASTY].map(|it| Limiter::new(&dsn(&cluster), it));
    let names = names(&cluster, set);
    for name in &names {
        assert_eq!(limiter.held(name), 0);
    }
    cluster.proxies[0].set(Mode::SwallowReplies);
    assert!(matches!(hasty.fails(&names[0], 1), Cause::Timeout));
    let members = || cluster.nodes[0].cli(&["ZCARD", &set(&names[0])]);
    assert!(eventually(|| members() == "1"));
    let before = cluster.proxies[0].requests();
    assert_eq!(limiter.held(&names[1]), 0);
    assert_eq!(cluster.proxies[0].requests(), before);
    cluster.proxies[0].set(Mode::Pass);
    assert!(limiter.acquire(&names[0], 1).is_some());
    assert_eq!(members(), "1");
}

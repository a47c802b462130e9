//! Tests a primary that sentinels know, with three sentinels.

use crate::caller::{
    CAPACITY, Caller, HANG, MILLISECOND, PLAIN, count, follows, take, under, windows, within,
};
use segment::slots::counters::Event;
use std::thread::sleep;
use std::time::{Duration, Instant};
use stores::remote::{Cause, OnFailure, Settings};
use testkit::{Mode, PRIMARY, Proxy, Redis, Sentinel, eventually, major_version};

/// A primary, its replica, and the sentinels that know them.
struct Trio {
    primary: Redis,
    replica: Redis,
    sentinels: Vec<Sentinel>,
}

impl Trio {
    fn start(options: &[&str]) -> Self {
        // Without the delay, the primary waits for five seconds before it sends its data.
        let options = [options, &["--repl-diskless-sync-delay", "0"]].concat();
        let (primary, replica) = (Redis::start(&options), Redis::start(&options));
        replica.follow(&primary);
        let password = options.iter().position(|option| *option == "--requirepass");
        let lines = password.map(|at| format!("sentinel auth-pass {PRIMARY} {}", options[at + 1]));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let sentinels = (0..3).map(|_| Sentinel::start(&primary, &lines));
        let sentinels: Vec<_> = sentinels.collect();
        // Sentinels find each other through the primary, once in two seconds.
        let know = || sentinels.iter().all(|sentinel| sentinel.knows(2));
        assert!(eventually(know));
        Self {
            primary,
            replica,
            sentinels,
        }
    }

    fn dsn(&self, login: &str) -> String {
        dsn(login, self.sentinels.iter().map(Sentinel::port))
    }

    fn caller(&self, settings: Settings) -> Caller {
        Caller::redis(&self.dsn(""), settings)
    }
}

/// Returns the DSN of the primary that the sentinels at these ports know.
fn dsn(login: &str, ports: impl Iterator<Item = u16>) -> String {
    let hosts: Vec<_> = ports.map(|port| format!("127.0.0.1:{port}")).collect();
    format!("redis+sentinel://{login}{}/{PRIMARY}", hosts.join(","))
}

#[test]
fn calls_follow_the_primary_through_a_failover_and_back() {
    let mut trio = Trio::start(&[]);
    let (caller, hour) = (trio.caller(PLAIN), windows());
    assert!(caller.grants("quota", &count(3, hour)));
    assert!(caller.grants("id", &take(1)));
    assert_eq!(trio.primary.cli(&["EXISTS", "t:id"]), "1");
    // Another DSN has a connection of its own. It is idle until the old primary is back.
    let idle = Caller::redis(&format!("{}/1", trio.dsn("")), PLAIN);
    assert!(idle.grants("idle", &take(1)));
    // Sentinel waits until the replica has copied everything.
    assert!(eventually(|| trio.replica.cli(&["EXISTS", "t:id"]) == "1"));
    trio.primary.kill();
    let port = trio.replica.port().to_string();
    let names_it = |sentinel: &Sentinel| sentinel.primary() == port;
    let start = Instant::now();
    while !trio.sentinels.iter().all(names_it) {
        // The calls fail until a sentinel names the new primary.
        let fails = caller.ask(b"id", &take(0)).is_err();
        assert!(fails || trio.sentinels.iter().any(names_it));
        assert!(start.elapsed() < HANG, "no failover");
        sleep(Duration::from_millis(5));
    }
    follows(&caller, "id");
    assert_eq!(caller.left("id"), CAPACITY - 1);
    assert_eq!(caller.unused("quota", hour), CAPACITY - 3);
    assert!(!caller.grants("quota", &count(3, hour)) && caller.grants("quota", &count(2, hour)));
    // The old primary returns as a primary without data. The sentinels do not name it.
    trio.primary.restart();
    assert!(idle.grants("idle", &take(1)));
    let keys = trio.primary.cli(&["INFO", "keyspace"]);
    assert!(!keys.contains("db1"), "{keys}");
    assert!(caller.grants("id", &take(1)));
    assert_eq!(trio.caller(PLAIN).left("id"), CAPACITY - 2);
    assert_eq!(trio.caller(PLAIN).unused("quota", hour), 0);
}

#[test]
fn sentinels_that_hang_cost_a_part_of_one_call() {
    let trio = Trio::start(&[]);
    let sentinels = trio.sentinels.iter();
    let proxies = sentinels.map(|sentinel| Proxy::tcp(sentinel.port()));
    let proxies: Vec<_> = proxies.collect();
    let dsn = dsn("", proxies.iter().map(Proxy::port));
    let contacts = || [0, 1, 2].map(|index: usize| proxies[index].connections());
    proxies[0].set(Mode::SwallowRequests);
    proxies[1].set(Mode::SwallowRequests);
    let settings = within(2000 * MILLISECOND);
    let caller = Caller::redis(&dsn, settings);
    let start = Instant::now();
    assert!(caller.grants("id", &take(1)));
    assert_eq!(contacts(), [1, 1, 1]);
    // The answer is cached. The sentinels are asked again after ten seconds.
    proxies[2].set(Mode::SwallowRequests);
    for _ in 0..2 {
        assert!(caller.grants("id", &take(1)));
        let is_asked = contacts() != [1, 1, 1];
        assert!(!is_asked || start.elapsed() > Duration::from_secs(9));
    }
    // Another process would ask the sentinels. Here, a caller with another DSN does so.
    let other = Caller::redis(&format!("{dsn}/1"), settings);
    for _ in 0..3 {
        assert!(matches!(other.fails("id", &take(1)), Cause::Timeout));
    }
    assert!(matches!(other.fails_while_open("id"), Cause::Waiting));
    for proxy in &proxies {
        proxy.set(Mode::Pass);
    }
    // The breaker delays the next request to the sentinels, but nothing else does.
    let start = Instant::now();
    while let Err(failure) = other.ask(b"id", &take(0)) {
        assert!(matches!(failure.cause, Cause::Waiting), "{failure}");
        assert!(start.elapsed() < HANG, "no recovery");
        sleep(Duration::from_millis(5));
    }
}

/// A process connects to a primary only if a sentinel has named that primary just before. A slow
/// answer counts as fresh, because it is the newest one.
#[test]
fn a_sentinel_may_take_its_time() {
    let trio = Trio::start(&[]);
    let proxy = Proxy::tcp(trio.sentinels[0].port());
    // An answer has more than 30 bytes.
    proxy.set(Mode::Drip(Duration::from_millis(5)));
    let caller = Caller::redis(&dsn("", std::iter::once(proxy.port())), PLAIN);
    let start = Instant::now();
    assert!(caller.grants("id", &take(1)));
    assert!(start.elapsed() > Duration::from_millis(150), "the control");
}

#[test]
fn sentinels_and_servers_have_their_own_passwords() {
    if major_version() < 7 {
        eprintln!("skipped: sentinels of Redis 6.0 have no users");
        return;
    }
    let trio = Trio::start(&["--requirepass", "right", "--masterauth", "right"]);
    for sentinel in &trio.sentinels {
        sentinel.cli(&["ACL", "SETUSER", "guest", "on", ">hers", "+@all"]);
        sentinel.cli(&["ACL", "SETUSER", "default", "resetpass", ">theirs"]);
    }
    let at = |login: &str, options: &str| {
        let dsn = format!("{}/2?{options}", trio.dsn(login));
        Caller::redis(&dsn, PLAIN)
    };
    let refused = |caller: &Caller, code: &str| {
        let failure = caller.ask(b"id", &take(1)).unwrap_err().to_string();
        assert!(failure.contains(code), "{failure}");
        assert!(!failure.contains("hers") && !failure.contains("wrong"));
    };
    let guest = "sentinel_user=guest&sentinel_password=hers";
    refused(&at(":right@", ""), "NOAUTH");
    refused(&at(":right@", "sentinel_password=wrong"), "WRONGPASS");
    refused(&at("", guest), "NOAUTH");
    refused(&at(":wrong@", guest), "WRONGPASS");
    let caller = at(":right@", guest);
    assert!(caller.grants("id", &take(1)));
    assert!(
        trio.primary
            .cli(&["INFO", "keyspace"])
            .contains("db2:keys=1")
    );
}

#[test]
fn a_name_that_no_sentinel_knows_is_an_error() {
    let trio = Trio::start(&[]);
    let dsn = trio.dsn("").replace(PRIMARY, "unknown");
    let caller = Caller::redis(&dsn, PLAIN);
    let cause = caller.fails("id", &take(1)).to_string();
    assert!(cause.contains("does not know the primary"), "{cause}");
    let settings = under(OnFailure::Local);
    let local = Caller::redis(&dsn, settings);
    assert!(local.ask(b"id", &take(1)).unwrap().value.granted());
    assert_eq!(local.count(Event::Fallback), 1);
}

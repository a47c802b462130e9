//! Tests permits that a Redis server keeps: their leases, their server and the failure policies.
//!
//! A test moves the ends of leases instead of the server's clock. The server cannot tell the
//! difference.

use crate::caller::{HOUR, PLAIN, PREFIX, host};
use gcra::Ticks;
use segment::host::Host;
use segment::permits::{Acquired, Refusal};
use segment::slots::counters::Event;
use stores::remote::permits::ServerPermit;
use stores::remote::redis::Redis as Client;
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Answer, Cause, Failure, Remote, Settings};
use testkit::{PRIMARY, Proxy, Redis, Sentinel};

type Asked = Result<Acquired<ServerPermit>, Refusal>;

/// A limit on a server, and the host that uses it.
pub struct Limiter {
    remote: Remote<'static, Client>,
    pub host: &'static Host,
}

impl Limiter {
    pub fn new(dsn: &str, settings: Settings) -> Self {
        Self::on(dsn, settings, host())
    }

    fn on(dsn: &str, settings: Settings, host: &'static Host) -> Self {
        let client = Client::new(Dsn::parse(dsn).unwrap(), PREFIX.as_bytes());
        let remote = Remote::new(client, settings, host);
        Self { remote, host }
    }

    pub fn of(redis: &Redis) -> Self {
        Self::new(&format!("unix://{}", redis.socket().display()), PLAIN)
    }

    pub fn at(port: u16, settings: Settings) -> Self {
        Self::new(&format!("redis://127.0.0.1:{port}"), settings)
    }

    pub fn ask(&self, name: &str, limit: u16, lease: Ticks) -> Result<Answer<Asked>, Failure> {
        let key = self.remote.hasher().key(name.as_bytes());
        self.remote.acquire(key, limit, lease)
    }

    /// Returns a permit with a lease of an hour, or `None` if all are held.
    pub fn acquire(&self, name: &str, limit: u16) -> Option<ServerPermit> {
        self.acquire_for(name, limit, HOUR)
    }

    pub fn acquire_for(&self, name: &str, limit: u16, lease: Ticks) -> Option<ServerPermit> {
        permit(self.ask(name, limit, lease).unwrap())
    }

    /// Returns the reason why a call failed. Panics if it succeeds.
    pub fn fails(&self, name: &str, limit: u16) -> Cause {
        self.ask(name, limit, HOUR).unwrap_err().cause
    }

    pub fn try_release(&self, permit: ServerPermit) -> Result<Answer<()>, Failure> {
        self.remote.release(permit)
    }

    pub fn release(&self, permit: ServerPermit) {
        self.try_release(permit).unwrap();
    }

    pub fn try_renew(&self, permit: &mut ServerPermit) -> Result<Answer<bool>, Failure> {
        self.remote.renew(permit)
    }

    pub fn renew(&self, permit: &mut ServerPermit) -> bool {
        self.try_renew(permit).unwrap().value
    }

    pub fn held(&self, name: &str) -> u16 {
        let key = self.remote.hasher().key(name.as_bytes());
        self.remote.held(key, 1024).unwrap().value
    }

    pub fn count(&self, event: Event) -> u64 {
        self.host.slots().totals().get(event)
    }
}

/// Returns the permit of a call, or `None` if all permits were held.
fn permit(answer: Answer<Asked>) -> Option<ServerPermit> {
    match answer.value {
        Ok(acquired) => Some(acquired.permit),
        Err(Refusal::TooMany) => None,
        other => panic!("{other:?}"),
    }
}

/// Returns the key of the set that keeps the permits of a name.
pub fn set(name: &str) -> String {
    format!("{PREFIX}{name}~permits")
}

/// Moves the server's clock forward by `ticks`, or back if they are negative, from the view of the
/// permits of a name.
pub fn pass(redis: &Redis, name: &str, ticks: i64) {
    const SCRIPT: &str = "
        for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
            local ends_at = redis.call('ZSCORE', KEYS[1], member) - ARGV[1]
            redis.call('ZADD', KEYS[1], string.format('%.0f', ends_at), member)
        end
        return 'OK'";
    let micros = (ticks / 1000).to_string();
    assert_eq!(redis.cli(&["EVAL", SCRIPT, "1", &set(name), &micros]), "OK");
}

/// Checks that as many permits as the limit are granted, and another one for each that was given
/// back.
pub fn a_limit_is_kept(limiter: &Limiter, name: &str) {
    let mut permits: Vec<_> = (0..3).filter_map(|_| limiter.acquire(name, 3)).collect();
    assert_eq!(permits.len(), 3);
    assert!(limiter.acquire(name, 3).is_none());
    assert_eq!(limiter.held(name), 3);
    assert!(permits.iter_mut().all(|permit| limiter.renew(permit)));
    limiter.release(permits.remove(1));
    assert_eq!(limiter.held(name), 2);
    permits.push(limiter.acquire(name, 3).unwrap());
    assert!(limiter.acquire(name, 3).is_none());
    // Another limit of the same name.
    assert!(limiter.acquire(name, 2).is_none());
    permits.push(limiter.acquire(name, 4).unwrap());
    for permit in permits {
        limiter.release(permit);
    }
    assert_eq!(limiter.held(name), 0);
    assert_eq!(limiter.count(Event::PermitForeign), 0);
    assert_eq!(limiter.count(Event::PermitTakenBack), 0);
}

#[test]
fn a_server_keeps_the_permits() {
    let redis = Redis::start(&[]);
    let sentinel = Sentinel::start(&redis, &[]);
    let dsn = format!("redis+sentinel://127.0.0.1:{}/{PRIMARY}", sentinel.port());
    for limiter in [Limiter::of(&redis), Limiter::new(&dsn, PLAIN)] {
        a_limit_is_kept(&limiter, "id");
        assert_eq!(redis.cli(&["EXISTS", &set("id")]), "0", "nothing is left");
    }
    if let Some(valkey) = Redis::start_valkey(&[]) {
        a_limit_is_kept(&Limiter::of(&valkey), "id");
    }
}

#[test]
fn names_of_any_bytes_have_permits_of_their_own() {
    let redis = Redis::start(&[]);
    let limiter = Limiter::of(&redis);
    let long = "x".repeat(1000);
    let names = ["", "{", "a b\r\n", "\0", &long, &long[1..]];
    for name in names {
        assert!(limiter.acquire(name, 1).is_some(), "{name:?}");
    }
    assert!(names.iter().all(|name| limiter.acquire(name, 1).is_none()));
    assert_eq!(redis.cli(&["DBSIZE"]), names.len().to_string());
}

#[test]
fn a_key_lives_as_long_as_its_longest_lease() {
    let redis = Redis::start(&[]);
    let limiter = Limiter::of(&redis);
    // A busy machine may take some minutes for this test.
    let minutes = || redis.cli(&["PTTL", &set("id")]).parse::<i64>().unwrap() / 60_000;
    let long = limiter.acquire_for("id", 4, 3 * HOUR).unwrap();
    let mut short = limiter.acquire("id", 4).unwrap();
    assert!((150..=180).contains(&minutes()), "{}", minutes());
    limiter.release(long);
    assert!(limiter.renew(&mut short));
    redis.cli(&["PEXPIRE", &set("id"), "1800000"]);
    assert!(limiter.renew(&mut short));
    assert!((31..=60).contains(&minutes()), "{}", minutes());
    redis.cli(&["PERSIST", &set("id")]);
    assert!(limiter.renew(&mut short));
    assert!((31..=60).contains(&minutes()), "{}", minutes());
    limiter.release(short);
    assert_eq!(redis.cli(&["EXISTS", &set("id")]), "0");
    // The shortest and the longest lease.
    assert!(limiter.acquire_for("id", 4, 1).is_some());
    assert!(limiter.acquire_for("id", 4, u64::MAX).is_some());
    assert_eq!(minutes() / 60 / 24 / 365, 36);
}

/// A permit as the naive model knows it. Times are half hours.
struct Known {
    permit: ServerPermit,
    left: i64,
    lease: i64,
}

/// Compares a long history on one key with a model. Steps of the clock in both directions are part
/// of it.
#[test]
fn a_history_equals_the_naive_model() {
    let redis = Redis::start(&[]);
    let limiter = Limiter::of(&redis);
    let mut seed = 11u64;
    let mut below = |most: i64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33).cast_signed() % most
    };
    let (mut known, mut set_back) = (Vec::<Known>::new(), 0);
    for step in 0..3_000 {
        let live = known.iter().filter(|it| it.left > 0).count();
        match below(8) {
            0..3 => {
                let (limit, lease) = (1 + below(4), 1 + below(3));
                let length = lease.cast_unsigned() * HOUR / 2;
                let permit = limiter.acquire_for("id", u16::try_from(limit).unwrap(), length);
                for it in known.iter_mut().filter(|it| it.left > lease.max(it.lease)) {
                    it.left = it.lease;
                    set_back += 1;
                }
                let is_free = i64::try_from(live).unwrap() < limit;
                assert_eq!(permit.is_some(), is_free, "step {step}");
                known.extend(permit.map(|permit| Known {
                    permit,
                    left: lease,
                    lease,
                }));
            }
            3 if !known.is_empty() => {
                let index = below(i64::try_from(known.len()).unwrap());
                let it = known.swap_remove(usize::try_from(index).unwrap());
                let foreign = limiter.count(Event::PermitForeign);
                limiter.release(it.permit);
                let is_held = limiter.count(Event::PermitForeign) == foreign;
                assert_eq!(is_held, it.left > 0, "step {step}");
            }
            4 if !known.is_empty() => {
                let index = below(i64::try_from(known.len()).unwrap());
                let it = &mut known[usize::try_from(index).unwrap()];
                assert_eq!(limiter.renew(&mut it.permit), it.left > 0, "step {step}");
                it.left = if it.left > 0 { it.lease } else { it.left };
            }
            5 | 6 => {
                let halves = if below(4) == 0 { -1 - below(9) } else { 1 };
                pass(&redis, "id", halves * HOUR.cast_signed() / 2);
                // The call that follows removes the permits whose leases have ended.
                for it in &mut known {
                    it.left -= halves;
                    if it.left <= 0 {
                        it.left = i64::MIN / 2;
                    }
                }
                limiter.held("id");
            }
            _ => assert_eq!(usize::from(limiter.held("id")), live, "step {step}"),
        }
    }
    assert!(set_back > 100, "{set_back}");
    assert!(limiter.count(Event::SetBack) > 50);
}

#[test]
fn a_foreign_key_is_left_alone() {
    let redis = Redis::start(&[]);
    let limiter = Limiter::of(&redis);
    let key = &set("id");
    let is_refused = || {
        for _ in 0..2 {
            let cause = limiter.fails("id", 3);
            assert!(matches!(cause, Cause::Record), "{cause}");
        }
    };
    redis.cli(&["SET", key, "hello"]);
    is_refused();
    assert_eq!(redis.cli(&["GET", key]), "hello");
    for member in ["", "x:1", "ab:", ":5", "ab", "ab:-1", "ab:1:2", "ab:1.5"] {
        for score in ["1", "4e15"] {
            redis.cli(&["DEL", key]);
            redis.cli(&["ZADD", key, score, member]);
            is_refused();
            assert_eq!(redis.cli(&["ZRANGE", key, "0", "-1"]), member);
        }
    }
    assert_eq!(limiter.count(Event::Failed), 0, "no fault of the server's");
    assert!(limiter.acquire("other", 1).is_some());
}

#[test]
fn a_call_is_one_round_trip() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let limiter = Limiter::at(proxy.port(), PLAIN);
    let mut permit = limiter.acquire("id", 1).unwrap();
    let before = (proxy.round_trips(), limiter.count(Event::Asked));
    assert!(limiter.acquire("id", 1).is_none());
    assert!(limiter.renew(&mut permit));
    assert_eq!(limiter.held("id"), 1);
    limiter.release(permit);
    assert_eq!(proxy.round_trips() - before.0, 4);
    assert_eq!(limiter.count(Event::Asked) - before.1, 4);
}

//! The callers of remote stores, and one interface for the servers of both kinds.

use gcra::clock::{TICKS_PER_MICROSECOND, unix_time};
use gcra::{
    Denial, Key, Outcome, Put, Refill, Step, TICKS_PER_SECOND, Ticks, Timestamp, Verdict, Windows,
    boot_clock,
};
use segment::host::{self, Host};
use segment::memory::Segment;
use segment::slots::counters::Event;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};
use stores::remote::memcached::Memcached;
use stores::remote::memcached::servers::parse_servers;
use stores::remote::redis::Redis;
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Answer, Cause, Failure, OnFailure, Remote, Settings, Transport};
use testkit::Proxy;

pub const MILLISECOND: Ticks = TICKS_PER_SECOND / 1000;
pub const HOUR: Ticks = 3600 * TICKS_PER_SECOND;
/// The capacity of the bucket in most tests, at one token an hour.
pub const CAPACITY: u64 = 5;
/// The prefix of every key.
pub const PREFIX: &str = "t:";

/// The time after which a test counts as hung. No test fails only because this machine is slow for
/// a shorter time.
pub const HANG: Duration = Duration::from_secs(60);

/// Settings without the denial cache. Failures are thrown. No call of a server that works takes as
/// long as this timeout, even on a busy machine.
pub const PLAIN: Settings = Settings {
    timeout: 20 * TICKS_PER_SECOND,
    on_failure: OnFailure::Throw,
    denial_cache_max_age: None,
    take_ahead: 0,
};
/// Settings with a short timeout, for servers that do not reply.
pub const HASTY: Settings = within(500 * MILLISECOND);
/// Settings with cached denials that are fresh for longer than any test takes.
pub const CACHED: Settings = cached(HOUR);

/// Returns the DSN of a Redis server or a proxy of one on this machine.
pub fn dsn(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

/// Returns [`PLAIN`] with another timeout.
pub const fn within(timeout: Ticks) -> Settings {
    Settings { timeout, ..PLAIN }
}

/// Returns [`PLAIN`] with cached denials that are at most `age` old.
pub const fn cached(age: Ticks) -> Settings {
    let denial_cache_max_age = Some(age);
    Settings {
        denial_cache_max_age,
        ..PLAIN
    }
}

/// Returns [`PLAIN`] with another policy.
pub const fn under(on_failure: OnFailure) -> Settings {
    Settings {
        on_failure,
        ..PLAIN
    }
}

/// Returns a step for `n` tokens of a bucket of [`CAPACITY`].
pub fn take(n: u64) -> Step {
    Step::new(n * HOUR, CAPACITY * HOUR)
}

/// Returns windows of an hour, of which the current one began half an hour ago.
pub fn windows() -> Windows {
    let start = (unix_time() - HOUR / 2).floor(TICKS_PER_SECOND);
    Windows::new(start, [3600; 3])
}

/// Returns a step for `n` tokens of a quota of [`CAPACITY`].
pub fn count(n: u64, windows: Windows) -> Step {
    let token = TICKS_PER_MICROSECOND;
    Step {
        refill: Refill::Windows(windows),
        ..Step::new(n * token, CAPACITY * token)
    }
}

/// A reset of a bucket of [`CAPACITY`].
pub const RESET: Put = Put::Reset {
    span: CAPACITY * HOUR,
};

/// Returns a refund of `n` tokens into a bucket of [`CAPACITY`].
pub fn refund(n: u64) -> Put {
    Put::refund(n * HOUR, CAPACITY * HOUR)
}

/// The hosts of all tests. They stay reachable, so that a leak detector does not report them.
static HOSTS: Mutex<Vec<&Host>> = Mutex::new(Vec::new());

/// Returns a host's shared memory, which is kept until the tests end.
pub fn host() -> &'static Host {
    let settings = host::HostSettings {
        lines: host::lines(1 << 20),
        diagnostics: false,
        evict: false,
    };
    let host = Box::leak(Box::new(Host::new(settings, Segment::private).unwrap()));
    HOSTS.lock().unwrap().push(host);
    host
}

/// A remote store of any kind.
trait AnyRemote: Send + Sync {
    fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a>;
    fn take(&self, key: Key<'_>, step: &Step) -> Result<Answer<Outcome>, Failure>;
    fn put(&self, key: Key<'_>, put: &Put) -> Result<Answer<bool>, Failure>;
}

impl<T: Transport + Send + Sync> AnyRemote for Remote<'_, T> {
    fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        self.hasher().key(identifier)
    }

    fn take(&self, key: Key<'_>, step: &Step) -> Result<Answer<Outcome>, Failure> {
        Remote::take(self, key, step, None)
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Result<Answer<bool>, Failure> {
        Remote::put(self, key, put)
    }
}

/// A remote store, and the host that uses it.
pub struct Caller {
    remote: Box<dyn AnyRemote>,
    pub host: &'static Host,
}

fn redis(dsn: &str) -> Redis {
    Redis::new(Dsn::parse(dsn).unwrap(), PREFIX.as_bytes())
}

fn memcached(list: &str) -> Memcached {
    Memcached::new(&parse_servers([list]).unwrap(), PREFIX.as_bytes())
}

impl Caller {
    pub fn redis(dsn: &str, settings: Settings) -> Self {
        Self::redis_on(dsn, settings, host())
    }

    pub fn redis_on(dsn: &str, settings: Settings, host: &'static Host) -> Self {
        Self::new(redis(dsn), settings, host)
    }

    pub fn memcached(list: &str, settings: Settings) -> Self {
        Self::new(memcached(list), settings, host())
    }

    fn new<T: Transport + Send + Sync + 'static>(
        transport: T,
        settings: Settings,
        host: &'static Host,
    ) -> Self {
        let remote = Box::new(Remote::new(transport, settings, host));
        Self { remote, host }
    }

    pub fn ask(&self, identifier: &[u8], step: &Step) -> Result<Answer<Outcome>, Failure> {
        let key = self.remote.key(identifier);
        self.remote.take(key, step)
    }

    /// Returns the outcome of a step. Panics if the store fails.
    pub fn take(&self, identifier: &str, step: &Step) -> Outcome {
        let answer = self.ask(identifier.as_bytes(), step).unwrap();
        assert!(answer.warning.is_none(), "{:?}", answer.warning);
        answer.value
    }

    pub fn grants(&self, identifier: &str, step: &Step) -> bool {
        let outcome = self.take(identifier, step);
        let denied = Verdict::Denied(Denial::Insufficient);
        assert!(outcome.granted() || outcome.verdict == denied);
        outcome.granted()
    }

    /// Returns the reason why a step failed. Panics if the step succeeds.
    pub fn fails(&self, identifier: &str, step: &Step) -> Cause {
        self.ask(identifier.as_bytes(), step).unwrap_err().cause
    }

    /// Returns the instant until which a breaker of this host is open, or `None` if all are closed.
    pub fn open_until(&self) -> Option<Timestamp> {
        let states = self.host.breakers().states();
        states.iter().filter_map(|state| state.open_until).max()
    }

    /// Repeats the call until one has ended before the open breaker could let a probe through.
    /// Returns the reason why that call failed. On a slow machine, earlier calls may be probes.
    pub fn fails_while_open(&self, identifier: &str) -> Cause {
        let start = Instant::now();
        while start.elapsed() < HANG {
            let until = self.open_until().expect("an open breaker");
            let cause = self.fails(identifier, &take(1));
            if boot_clock() < until {
                return cause;
            }
        }
        panic!("no call ends while the breaker is open");
    }

    /// Makes a change. Returns false if it must be repeated. Panics if the store fails.
    pub fn put(&self, identifier: &str, put: &Put) -> bool {
        let key = self.remote.key(identifier.as_bytes());
        self.remote.put(key, put).unwrap().value
    }

    /// Returns the whole tokens in a bucket of [`CAPACITY`].
    pub fn left(&self, identifier: &str) -> u64 {
        let outcome = self.take(identifier, &take(0).dry());
        take(0).available(outcome.empty_at, outcome.now) / HOUR
    }

    /// Returns the tokens that are left of a quota of [`CAPACITY`].
    pub fn unused(&self, identifier: &str, windows: Windows) -> u64 {
        let look = count(0, windows).dry();
        let outcome = self.take(identifier, &look);
        let left = look.at(outcome.now);
        left.available(outcome.empty_at, outcome.now) / TICKS_PER_MICROSECOND
    }

    pub fn count(&self, event: Event) -> u64 {
        self.host.slots().totals().get(event)
    }
}

/// Asserts that calls follow a failover that all servers of the fleet know by now. A call that
/// begins a second later or more must succeed.
pub fn follows(caller: &Caller, identifier: &str) {
    let start = Instant::now();
    loop {
        let began = start.elapsed();
        let Err(failure) = caller.ask(identifier.as_bytes(), &take(0)) else {
            return;
        };
        assert!(began < Duration::from_secs(1), "{failure} {began:?} later");
        sleep(Duration::from_millis(5));
    }
}

/// A server of either kind.
pub enum Server {
    Redis(testkit::Redis),
    Memcached(testkit::Memcached),
}

impl Server {
    /// Runs `part` against a new server of each kind, at the same time.
    pub fn each(part: impl Fn(Self) + Sync) {
        std::thread::scope(|scope| {
            let redis = scope.spawn(|| part(Self::Redis(testkit::Redis::start(&[]))));
            part(Self::Memcached(testkit::Memcached::start_tcp(&[])));
            println!("memcached passed");
            if let Err(failure) = redis.join() {
                resume_unwind(failure);
            }
            println!("redis passed");
        });
    }

    pub fn port(&self) -> u16 {
        match self {
            Self::Redis(server) => server.port(),
            Self::Memcached(server) => server.port(),
        }
    }

    pub fn proxy(&self) -> Proxy {
        Proxy::tcp(self.port())
    }

    /// Returns a caller of a server of this kind at `port`.
    pub fn caller_at(&self, port: u16, settings: Settings) -> Caller {
        self.caller_on(host(), port, settings)
    }

    /// Does the same as [`Server::caller_at`], but with the shared memory of `host`.
    pub fn caller_on(&self, host: &'static Host, port: u16, settings: Settings) -> Caller {
        let address = format!("127.0.0.1:{port}");
        match self {
            Self::Redis(_) => Caller::new(redis(&format!("redis://{address}")), settings, host),
            Self::Memcached(_) => Caller::new(memcached(&address), settings, host),
        }
    }

    pub fn caller(&self, settings: Settings) -> Caller {
        self.caller_at(self.port(), settings)
    }

    pub fn stop(&self) {
        match self {
            Self::Redis(server) => server.stop(),
            Self::Memcached(server) => server.stop(),
        }
    }

    pub fn cont(&self) {
        match self {
            Self::Redis(server) => server.cont(),
            Self::Memcached(server) => server.cont(),
        }
    }

    pub fn kill(&mut self) {
        match self {
            Self::Redis(server) => server.kill(),
            Self::Memcached(server) => server.kill(),
        }
    }

    /// Restarts the server without data, at the same port.
    pub fn restart(&mut self) {
        match self {
            Self::Redis(server) => server.restart(),
            Self::Memcached(server) => server.restart(),
        }
    }

    /// Returns the record of a bucket, or an empty string if the record is missing.
    pub fn record(&self, identifier: &str) -> String {
        let key = format!("{PREFIX}{identifier}");
        match self {
            Self::Redis(server) => server.cli(&["GET", &key]),
            Self::Memcached(server) => {
                let lines = server.command(&format!("get {key}"), "END");
                lines.get(1).cloned().unwrap_or_default()
            }
        }
    }
}

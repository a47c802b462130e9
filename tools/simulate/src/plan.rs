//! The choices of a seed before its history begins: the fleet, the limits, the calls, the faults.

use crate::chance::Chance;
use crate::tide::Tide;
use crate::world::{MICRO, MILLI, SECOND};
use stores::remote::{OnFailure, Settings};

/// Usually one message in so many is late.
pub const USUALLY_LATE: u64 = 1000;
/// The longest time for which a message is on its way.
pub const LATEST: u64 = 300 * MILLI;
/// The longest stop of a worker, and of a server that goes on afterwards.
pub const LONGEST_STOP: u64 = 2 * SECOND;

macro_rules! parts {
    ($($(#[$what:meta])* $part:ident,)*) => {
        /// A part of the world that a seed may leave out: a fault, or a kind of calls beside those
        /// that take one token. The faults come first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Part { $($(#[$what])* $part,)* }
        pub const PARTS: &[Part] = &[$(Part::$part,)*];
    };
}

parts! {
    /// A worker is killed as by `kill -9`.
    Kill,
    /// A worker is stopped, and goes on after up to two seconds.
    Stop,
    LostRequest,
    LostReply,
    HalfReply,
    Late,
    /// The connection breaks before the reply.
    Reset,
    /// The server refuses connections.
    Refuse,
    /// The server is stopped, and executes later what has arrived meanwhile.
    Hang,
    /// The server restarts with its data, without its scripts.
    Restart,
    /// The server loses its data.
    Flush,
    /// A replica takes over, which lacks the last writes.
    Failover,
    ForgetScripts,
    Loading,
    ReadOnly,
    OutOfMemory,
    /// The clock of the server steps.
    ServerClock,
    /// A host restarts with an empty segment.
    Reboot,
    /// Slots of the cluster move to another server.
    Move,
    Refund,
    Clear,
    Reserve,
    Charge,
    Block,
    Floor,
    Many,
    Each,
    All,
    /// A permit of a concurrency limit is taken, renewed and released.
    Permit,
    /// Hosts change the limits of buckets, and change them back.
    Change,
    /// Tokens are taken from a quota, or given back.
    Quota,
    /// Attempts under a lockout, and successes.
    Lockout,
}

/// The number of faults among the parts.
pub const FAULTS: u64 = Part::Refund as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit {
    /// The tokens of a full bucket.
    pub capacity: u64,
    /// The time in which a token refills, a whole number of microseconds.
    pub token: u64,
}

impl Limit {
    pub fn span(self) -> u64 {
        self.capacity * self.token
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub seed: u64,
    pub calls: u64,
    pub hosts: usize,
    /// The workers of each host.
    pub workers: usize,
    pub servers: usize,
    /// The servers are a cluster. Otherwise each keeps some of the buckets.
    pub is_cluster: bool,
    /// The servers are behind a proxy, which sends a command to the server of its first key.
    pub is_proxied: bool,
    /// A bit for each [`Part`].
    pub parts: u64,
    /// The limits of the buckets.
    pub limits: Vec<Limit>,
    /// The other limits, if limits change.
    pub others: Vec<Limit>,
    /// The time after which a host changes the limits, and by how much the next host is earlier.
    pub period: u64,
    pub lead: u64,
    /// The least time of a message.
    pub latency: u64,
    /// One message in so many is late.
    pub late: u64,
    pub timeout: u64,
    /// The greatest age of a cached denial.
    pub cached: u64,
    pub take_ahead: u64,
    /// One host in so many does not take ahead; 0 if all do.
    pub abstains: u64,
    /// The longest pause of a worker between two calls.
    pub pause: u64,
    /// The longest time between two faults.
    pub calm: u64,
    pub policy: OnFailure,
    /// How much more often than usual the rare kinds of calls come.
    pub zeal: u64,
    /// The greatest limit of permits that callers of an identifier pass, and their longest lease.
    pub permits: u64,
    pub lease: u64,
    /// How calls come, unless they come evenly.
    pub tide: Option<Tide>,
}

/// The tokens of a second. Each refills in whole microseconds, as the judge counts them.
const RATES: [u64; 19] = [
    1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 64, 80, 100, 125, 160, 200, 250,
];

const POLICIES: [OnFailure; 6] = [
    OnFailure::Local,
    OnFailure::Deny,
    OnFailure::Allow,
    OnFailure::Throw,
    OnFailure::Throw,
    OnFailure::Throw,
];

/// Returns the number of hosts, and that of the workers of each.
fn fleet(chance: &mut Chance) -> (u64, u64) {
    let hosts = match chance.below(20) {
        0 => 1 + chance.below(50),
        1..4 => 1,
        _ => 2 + chance.below(7),
    };
    let workers = match chance.below(20) {
        0 if hosts < 10 => 1 + chance.below(20),
        _ => 1 + chance.below(4),
    };
    (hosts, workers)
}

fn latency(chance: &mut Chance) -> u64 {
    let usual = chance.of(&[20, 40, 40, 100, 400, 2000]) * MICRO;
    if chance.one_in(20) { 60 * MILLI } else { usual }
}

impl Plan {
    pub fn new(seed: u64, calls: u64) -> Self {
        let chance = &mut Chance::new(seed ^ 0x706c_616e);
        let (hosts, workers) = fleet(chance);
        let most = 1 + chance.below(RATES.len() as u64);
        let slow = if chance.one_in(10) { 40 } else { 1 };
        let limit = |chance: &mut Chance| Limit {
            // Hosts take slices only from buckets of many tokens.
            capacity: (5 + chance.below(40)) * chance.of(&[1, 1, 20]),
            token: slow * SECOND / RATES[chance.below(most) as usize],
        };
        let limits: Vec<_> = (0..1 + chance.below(4)).map(|_| limit(chance)).collect();
        // The calls want half to 32 times of what the fastest limit grants.
        let token = limits.iter().map(|it| it.token).min().unwrap_or(SECOND);
        let between = (2 * token / chance.of(&[1, 2, 4, 16, 32, 64])).max(20 * MICRO);
        let servers = chance.of(&[1, 1, 1, 2, 3]);
        let latency = latency(chance);
        // A call on a cluster that has changed takes several round trips of up to ten latencies.
        let timeout = (chance.of(&[20, 50, 50, 100, 300]) * MILLI).max(60 * latency);
        let take_ahead = chance.of(&[0, 0, 0, 0, 20, 50, 200, 1000]) * MILLI;
        let is_cluster = servers > 1 && chance.one_in(2);
        Self {
            seed,
            calls,
            hosts: hosts as usize,
            workers: workers as usize,
            servers,
            is_cluster,
            is_proxied: servers > 1 && !is_cluster && seed.is_multiple_of(2),
            parts: chance.next(),
            limits,
            latency,
            late: USUALLY_LATE,
            timeout,
            cached: chance.of(&[200, 1000, 1000, 2000]) * MILLI,
            take_ahead,
            abstains: chance.of(&[0, 2, 3]),
            pause: 2 * between * hosts * workers,
            calm: (700 * between).max(4 * SECOND),
            policy: chance.of(&POLICIES),
            zeal: chance.of(&[1, 3, 6, 6]),
            permits: 1,
            lease: 0,
            others: Vec::new(),
            period: 1,
            lead: 0,
            tide: None,
        }
        .with_permits()
        .with_true_time()
        .with_changes()
        .in_tides()
    }

    fn with_permits(self) -> Self {
        let chance = &mut Chance::new(self.seed ^ 0x7065_726d);
        let lease = self.pause * chance.of(&[2, 8, 32]);
        Self {
            permits: 1 + chance.below(1 + (self.hosts * self.workers) as u64 / 3),
            lease: lease.clamp(20 * MILLI, 4 * SECOND),
            ..self
        }
    }

    /// Quotas and lockouts are judged by the true time. Leaves the steps of servers' clocks out of
    /// one seed of two that has them.
    fn with_true_time(self) -> Self {
        let has_them = self.has(Part::Quota) || self.has(Part::Lockout);
        match has_them && self.seed % 4 < 2 {
            true => self.without(Part::ServerClock),
            false => self,
        }
    }

    /// Lets the limits change in one seed of two that has such changes.
    fn with_changes(self) -> Self {
        let chance = &mut Chance::new(self.seed ^ 0x6c69_6d69);
        if !self.has(Part::Change) || chance.one_in(2) {
            return self;
        }
        let other = |limit: &Limit| Limit {
            capacity: (5 + chance.below(40)) * chance.of(&[1, 1, 20]),
            token: limit.token * chance.of(&[1, 2, 4, 8]) / 2,
        };
        let others = self.limits.iter().map(other).collect();
        let period = self.limits[0].token * chance.of(&[20, 100, 400]);
        Self {
            others,
            period,
            lead: chance.below(period) / chance.of(&[1, 10, 1000]),
            ..self
        }
    }

    /// Reports whether the limits change.
    pub fn changes(&self) -> bool {
        self.has(Part::Change) && !self.others.is_empty()
    }

    /// Returns the limits of a host at an instant.
    pub fn limits_of(&self, host: usize, at: u64) -> &[Limit] {
        let turns = (at + self.lead * host as u64) / self.period;
        match self.changes() && turns % 2 == 1 {
            true => &self.others,
            false => &self.limits,
        }
    }

    pub fn has(&self, part: Part) -> bool {
        self.parts >> part as u32 & 1 == 1
    }

    /// Returns how long the calls of the history take, if they come evenly.
    pub fn duration(&self) -> u64 {
        let workers = (self.hosts * self.workers) as u64;
        self.calls * self.pause / (2 * workers)
    }

    /// Returns the settings of one host.
    pub fn settings(&self, chance: &mut Chance) -> Settings {
        let abstains = self.abstains > 0 && chance.one_in(self.abstains);
        Settings {
            timeout: self.timeout,
            on_failure: self.policy,
            denial_cache_max_age: Some(self.cached),
            take_ahead: if abstains { 0 } else { self.take_ahead },
        }
    }

    /// Returns the greatest age of a cached denial on the true clock.
    pub fn oldest(&self) -> u64 {
        self.cached + self.cached / 256
    }

    /// Returns the longest time after the end of a call in which its request may take effect.
    pub fn linger(&self) -> u64 {
        LATEST + LONGEST_STOP + 10 * MILLI
    }

    /// Reports whether a server may keep a bucket.
    pub fn keeps(&self, server: usize, bucket: usize) -> bool {
        self.is_cluster || bucket % self.servers == server
    }

    /// Reports whether calls on a bucket may fail because of a server. Behind a proxy, clients know
    /// one server only.
    pub fn needs(&self, server: usize, bucket: usize) -> bool {
        self.keeps(server, bucket) || self.is_proxied
    }

    /// Returns the fewest arguments of the command that make this plan again.
    pub fn arguments(&self) -> String {
        let whole = Self::new(self.seed, self.calls);
        let mut text = format!("--seed {} --calls {}", self.seed, self.calls);
        let numbers = [
            ("ahead", self.take_ahead / MILLI, whole.take_ahead / MILLI),
            ("hosts", self.hosts as u64, whole.hosts as u64),
            ("workers", self.workers as u64, whole.workers as u64),
        ];
        for (name, mine, _) in numbers.into_iter().filter(|it| it.1 != it.2) {
            text += &format!(" --{name} {mine}");
        }
        for part in PARTS.iter().filter(|&&it| whole.has(it) && !self.has(it)) {
            text += &format!(" --without {part:?}");
        }
        text
    }

    /// Leaves a part out.
    #[must_use]
    pub fn without(mut self, part: Part) -> Self {
        self.parts &= !(1 << part as u32);
        self
    }
}

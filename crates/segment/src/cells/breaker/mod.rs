//! Circuit breakers of remote stores, shared by all workers of the host. There is one cell for each
//! store, credential and timeout. So a wrong password, or a timeout that is too short, does not
//! open the breaker of other callers. No two stores share a cell.
//!
//! ```text
//! closed      calls go through; three failures in a row open the breaker
//! open        no call goes through until an instant
//! half open   that instant has passed; one worker sets a later instant and probes the store
//! ```
//!
//! A failed probe doubles the pause until the next probe, from 100 ms up to 4 s. A random part of
//! each pause is cut off, so that hosts do not probe at the same time. Any success closes the
//! breaker.
//!
//! Invariant: at most one worker probes at a time. Each probe has a lease. After the lease, another
//! worker may probe. So a killed worker does not keep the breaker open. Each field is an atomic in
//! which any value is valid. A lost race causes at most one more call to a store that is down.

mod table;
#[cfg(test)]
mod tests;

use super::durations::{Durations, Histogram};
use gcra::{TICKS_PER_SECOND, Ticks, Timestamp};
use std::array;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

pub use table::Breakers;
pub(crate) use table::CELLS;

/// The number of failures in a row that opens a breaker.
const PATIENCE: u32 = 3;
const LEAST_PAUSE: Ticks = TICKS_PER_SECOND / 10;
const LONGEST_PAUSE: Ticks = 4 * TICKS_PER_SECOND;
/// The time after which a failed store counts as unused. A failed store that is still in use is
/// probed more often than this, and each failed probe counts as use.
const ABANDONED: Ticks = 600 * TICKS_PER_SECOND;
/// The longest text that is kept, in bytes.
const TEXT: usize = 64;
/// The least time between two warnings of the same kind.
const BETWEEN_WARNINGS: Ticks = 60 * TICKS_PER_SECOND;

#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Breaker {
    /// A hash of the store's identity, the credential and the timeout; 0 while the cell is free.
    store: AtomicU64,
    /// The timeout of the first call, in ticks.
    timeout: AtomicU64,
    /// The instant before which no call goes through; 0 while closed.
    open_until: AtomicU64,
    /// The last pause, in ticks, before its random part is cut off; 0 after a success.
    pause: AtomicU64,
    /// The number of times that the breaker has opened.
    openings: AtomicU64,
    /// The number of failures in a row.
    failures: AtomicU32,
    /// The number of failures of each [`CauseKind`].
    counts: [AtomicU64; KINDS],
    /// The instant of the last warning of each kind; 0 before the first one.
    warned_at: [AtomicU64; KINDS],
    /// The instant of the last failure; 0 before the first one.
    failed_at: AtomicU64,
    name: Text,
    /// The cause of the last failure.
    cause: Text,
    /// The instant of the last call, also of one that did not go through.
    used_at: AtomicU64,
    pub durations: Durations,
}

/// A text for display, padded with zeros. If two processes write it at once, it may be garbled.
#[derive(Debug, Default)]
struct Text([AtomicU64; TEXT / 8]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// The deadline passed.
    Timeout,
    /// The host name could not be looked up.
    Lookup,
    /// The connection could not be established.
    Connect,
    /// The connection broke.
    Broken,
    Tls,
    /// The server refused the request.
    Refused,
    /// The reply is malformed.
    Malformed,
    /// The key holds data that is not a record.
    Record,
    Statement,
    /// The caller's connection was lost.
    Lost,
    /// The caller's code threw an exception or returned something invalid, or the kernel returned
    /// no random number.
    Caller,
    /// The breaker is open. Calls that it stops are not counted.
    Waiting,
}

const KINDS: usize = CauseKind::Waiting as usize + 1;

/// The names of the kinds that are counted, in the order of [`CauseKind`].
const NAMES: [&str; KINDS - 1] = [
    "timeout",
    "lookup",
    "connect",
    "broken",
    "tls",
    "refused",
    "malformed",
    "record",
    "statement",
    "lost",
    "caller",
];

/// The result of [`Breaker::enter`]: permission to call the store, or a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The breaker is closed: the caller may call.
    Closed,
    /// The caller may call, and no other caller may. The call shows whether the store has
    /// recovered.
    Probe,
    /// The breaker is open. No caller may call before this instant.
    Open(Timestamp),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerState {
    /// The store's name for display.
    pub name: String,
    /// The timeout of the first call, in ticks. The timeouts of other calls are similar.
    pub timeout: Ticks,
    /// The number of failures in a row.
    pub failures: u32,
    /// The number of times that the breaker has opened.
    pub openings: u64,
    /// The instant from which the next call may go through; `None` while closed.
    pub open_until: Option<Timestamp>,
    /// The cause of the last failure, and its instant; `None` before the first failure.
    pub last: Option<(String, Timestamp)>,
    /// The number of failures by the name of their kind.
    pub causes: [(&'static str, u64); KINDS - 1],
    pub durations: Histogram,
}

impl Breaker {
    /// Returns true if this is still the breaker of the store, because another store may take over
    /// its cell. For the arguments, see [`Breakers::of`].
    #[inline]
    pub fn is_of(&self, login: u64, timeout: Ticks) -> bool {
        self.store.load(Acquire) == owner(login, timeout)
    }

    /// Returns true if no call may go through at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now.0 < self.open_until.load(Relaxed)
    }

    /// Returns true if the last call did not fail.
    fn is_idle(&self) -> bool {
        self.failures.load(Relaxed) == 0 && self.open_until.load(Relaxed) == 0
    }

    /// Returns true if the store has failed and no call has reached it for a long time.
    fn is_abandoned(&self, now: Timestamp) -> bool {
        let last = self.failed_at.load(Relaxed);
        let last = last.max(self.open_until.load(Relaxed));
        let patience = ABANDONED.saturating_add(self.timeout.load(Relaxed));
        now.saturating_since(Timestamp(last)) > patience
    }

    /// Requests permission to call the store at `now`. If a probe reports no result within `lease`
    /// ticks, another caller may probe.
    #[inline]
    #[must_use]
    pub fn enter(&self, now: Timestamp, lease: Ticks) -> Passage {
        self.used_at.store(now.0, Relaxed);
        // Relaxed: no other read depends on this value.
        let open_until = self.open_until.load(Relaxed);
        if open_until == 0 {
            return Passage::Closed;
        }
        if now.0 < open_until {
            return Passage::Open(Timestamp(open_until));
        }
        let leased = now.saturating_add(lease).0;
        match self
            .open_until
            .compare_exchange(open_until, leased, AcqRel, Relaxed)
        {
            Ok(_) => Passage::Probe,
            Err(0) => Passage::Closed,
            Err(other) => Passage::Open(Timestamp(other)),
        }
    }

    /// Records that the store replied, and closes the breaker.
    #[inline]
    pub fn answered(&self) {
        // The common case only reads, so that the cache line stays shared by all workers.
        if self.failures.load(Relaxed) != 0 || self.open_until.load(Relaxed) != 0 {
            self.failures.store(0, Relaxed);
            self.pause.store(0, Relaxed);
            self.open_until.store(0, Release);
        }
    }

    /// Records at `now` that a call with this `passage` does not show whether the store works. If
    /// the call was a probe, another probe may start soon.
    pub fn unanswered(&self, passage: Passage, now: Timestamp) {
        if passage == Passage::Probe {
            self.open_until.store((now + LEAST_PAUSE).0, Release);
        }
    }

    /// Records at `now` that the store failed a call with this `passage`. Returns true if that
    /// opened the breaker.
    ///
    /// `chance` is a random number. It shortens the pause by up to a half.
    pub fn failed(&self, passage: Passage, now: Timestamp, chance: u64) -> bool {
        let failures = self
            .failures
            .fetch_update(Relaxed, Relaxed, |failures| failures.checked_add(1))
            .map_or(u32::MAX, |failures| failures + 1);
        let until = |pause: Ticks| (now + pause - chance % (pause / 2)).0;
        match passage {
            Passage::Probe => {
                let last = self.pause.load(Relaxed);
                let pause = last.saturating_mul(2).clamp(LEAST_PAUSE, LONGEST_PAUSE);
                self.pause.store(pause, Relaxed);
                self.open_until.store(until(pause), Release);
                false
            }
            Passage::Closed if failures >= PATIENCE => {
                let opened = self
                    .open_until
                    .compare_exchange(0, until(LEAST_PAUSE), AcqRel, Relaxed)
                    .is_ok();
                if opened {
                    self.pause.store(LEAST_PAUSE, Relaxed);
                    self.openings.fetch_add(1, Relaxed);
                }
                opened
            }
            Passage::Closed | Passage::Open(_) => false,
        }
    }

    /// Counts a failure at `now`, and keeps its cause for [`Breakers::states`].
    pub fn record(&self, kind: CauseKind, cause: &str, now: Timestamp) {
        self.counts[kind as usize].fetch_add(1, Relaxed);
        self.failed_at.store(now.0, Relaxed);
        self.cause.set(cause);
    }

    /// Reports whether a caller should be warned at `now` of a failure of this kind. Returns true
    /// at most once a minute for each kind. An open breaker is reported only if no failure was
    /// reported in the last minute. A broken connection and one that cannot be established count as
    /// one kind. When a server ends, some processes lose a connection and others cannot connect.
    #[must_use]
    pub fn warns(&self, kind: CauseKind, now: Timestamp) -> bool {
        let is_due = |last: &AtomicU64| {
            let last = last.load(Relaxed);
            last == 0 || now.saturating_since(Timestamp(last)) >= BETWEEN_WARNINGS
        };
        let reported = if kind == CauseKind::Broken {
            CauseKind::Connect
        } else {
            kind
        };
        let mine = &self.warned_at[reported as usize];
        let last = mine.load(Relaxed);
        let is_news = kind != CauseKind::Waiting || self.warned_at.iter().all(is_due);
        is_news && is_due(mine) && mine.compare_exchange(last, now.0, Relaxed, Relaxed).is_ok()
    }

    /// Resets the counts of a cell that served another store.
    fn forget(&self) {
        // Relaxed: a caller of the new store may report its first failure before this reset. Then
        // that failure is reported twice.
        let counters = self.counts.iter().chain(&self.warned_at);
        for counter in counters.chain([&self.failed_at, &self.openings]) {
            counter.store(0, Relaxed);
        }
        self.durations.clear();
    }

    fn state(&self) -> BreakerState {
        let open_until = self.open_until.load(Relaxed);
        let failed_at = self.failed_at.load(Relaxed);
        BreakerState {
            name: self.name.get(),
            timeout: self.timeout.load(Relaxed),
            failures: self.failures.load(Relaxed),
            openings: self.openings.load(Relaxed),
            open_until: (open_until != 0).then_some(Timestamp(open_until)),
            last: (failed_at != 0).then(|| (self.cause.get(), Timestamp(failed_at))),
            causes: array::from_fn(|kind| (NAMES[kind], self.counts[kind].load(Relaxed))),
            durations: self.durations.histogram(),
        }
    }
}

impl Text {
    fn set(&self, text: &str) {
        let mut bytes = [0; TEXT];
        let kept = text.len().min(TEXT);
        bytes[..kept].copy_from_slice(&text.as_bytes()[..kept]);
        for (word, chunk) in self.0.iter().zip(bytes.as_chunks().0) {
            // Relaxed: a text that is read half-written only looks wrong in `status()`.
            word.store(u64::from_le_bytes(*chunk), Relaxed);
        }
    }

    fn get(&self) -> String {
        let words = self.0.iter().map(|word| word.load(Relaxed).to_le_bytes());
        let bytes: Vec<u8> = words.flatten().take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Returns the number that marks the cell of a store for calls with this `timeout`.
const fn owner(login: u64, timeout: Ticks) -> u64 {
    // The multiplication spreads the timeout over all bits.
    let store = login ^ class(timeout).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if store == 0 { 1 } else { store }
}

/// Rounds a timeout down to three significant bits. Timeouts that round to the same value share a
/// breaker. Otherwise each call of an application that computes its timeouts would use a new
/// breaker, which is closed.
const fn class(timeout: Ticks) -> Ticks {
    let low = (Ticks::BITS - timeout.leading_zeros()).saturating_sub(3);
    timeout >> low << low
}

// A breaker fills whole pairs of cache lines, because it is aligned to such a pair.
const _: () = assert!(size_of::<Breaker>() == 512);

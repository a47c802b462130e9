//! Simulates an exact limiter and its callers. The judge must acquit its logs.
#![allow(dead_code, reason = "each test uses a part")]

use prove::call::{Call, Kind, Nanos, Outcome, TOKEN, Tokens};
use prove::rules::Quota;

/// A random generator: Marsaglia's xorshift.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    pub fn one_in(&mut self, chance: u64) -> bool {
        chance > 0 && self.below(chance) == 0
    }
}

/// The properties of a history. `unknown`, `refund`, `reset` and `lost` are chances of one in n. 0
/// means never.
#[derive(Clone, Copy)]
pub struct Habits {
    pub quota: Quota,
    pub calls: usize,
    /// The longest time from one call to the next, in nanoseconds.
    pub pause: u64,
    /// The most nanoseconds by which a caller's interval is wider than the call, on each side.
    pub width: u64,
    pub greatest_cost: u64,
    pub unknown: u64,
    pub refund: u64,
    pub reset: u64,
    pub lost: u64,
}

/// A bucket of 10 tokens and 1,000 tokens a second. The load is about twice what the bucket can
/// grant.
pub const BUSY: Habits = Habits {
    quota: Quota {
        capacity: 10 * TOKEN,
        rate: 1_000_000,
    },
    calls: 400,
    pause: 2_000_000,
    width: 0,
    greatest_cost: 3,
    unknown: 0,
    refund: 0,
    reset: 0,
    lost: 0,
};

/// The state of the simulated bucket: the tokens that it lacks at the instant `now`.
struct Bucket {
    quota: Quota,
    lack: Tokens,
    now: Nanos,
}

impl Bucket {
    fn advance(&mut self, now: Nanos) {
        self.lack = (self.lack - self.quota.refill(now - self.now)).max(0);
        self.now = now;
    }

    fn take(&mut self, cost: Tokens) -> Outcome {
        let short = self.lack + cost - self.quota.capacity;
        if short <= 0 {
            self.lack += cost;
            return Outcome::Done;
        }
        let wait = (short + self.quota.rate - 1) / self.quota.rate;
        Outcome::Denied {
            retry_after: u64::try_from(wait).ok(),
        }
    }
}

impl Habits {
    /// Returns a history, in the order in which the calls took effect.
    pub fn history(&self, dice: &mut Dice) -> Vec<Call> {
        let now = 1_000_000_000;
        let mut bucket = Bucket {
            quota: self.quota,
            lack: 0,
            now,
        };
        let mut calls = Vec::new();
        for _ in 0..self.calls {
            let now = bucket.now + dice.below(self.pause + 1);
            bucket.advance(now);
            calls.push(self.call(&mut bucket, dice));
        }
        calls
    }

    fn call(&self, bucket: &mut Bucket, dice: &mut Dice) -> Call {
        let mut cost = Tokens::from(1 + dice.below(self.greatest_cost)) * TOKEN;
        let mut kind = Kind::Take;
        let mut outcome = Outcome::Done;
        if dice.one_in(self.lost) {
            (kind, bucket.lack, cost) = (Kind::Lost, 0, 0);
        } else if dice.one_in(self.reset) {
            (kind, bucket.lack, cost) = (Kind::Reset, 0, 0);
        } else if dice.one_in(self.refund) {
            kind = Kind::Refund;
            bucket.lack = (bucket.lack - cost).max(0);
        } else if !dice.one_in(2 * self.unknown) {
            outcome = bucket.take(cost);
        } else {
            // The request never arrived at the store.
            outcome = Outcome::Unknown;
        }
        let unknown = kind != Kind::Lost && dice.one_in(2 * self.unknown);
        Call {
            start: bucket.now - dice.below(self.width + 1),
            end: bucket.now + dice.below(self.width + 1),
            kind,
            cost,
            outcome: if unknown { Outcome::Unknown } else { outcome },
        }
    }
}

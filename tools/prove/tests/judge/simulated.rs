//! Simulates an exact limiter and its callers. The judge must accept the logs.

use prove::call::{Call, Kind, Nanos, Outcome, Quota, TOKEN, Tokens};
use prove::rules::Rules;
use prove::{bound, denials, drains, waits};

/// A random generator: Marsaglia's xorshift.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    pub fn one_in(&mut self, chance: u64) -> bool {
        chance > 0 && self.below(chance) == 0
    }
}

/// The load is about twice what the bucket can grant.
pub const QUOTA: Quota = Quota {
    capacity: 10 * TOKEN,
    rate: 1_000_000,
};

/// The properties of a history. The numbers after `width` are chances of one in n, and 0 means
/// never.
struct Habits {
    /// The longest time from one call to the next, in nanoseconds.
    pause: u64,
    /// The most nanoseconds by which a caller's interval is wider than the call, on each side.
    width: u64,
    unknown: u64,
    refund: u64,
    reset: u64,
    lost: u64,
    charge: u64,
    reserve: u64,
    /// The chance that one of the callers that hold tokens gives them back.
    cancel: u64,
    undone: u64,
    drain: u64,
    /// The chance that a take keeps a floor of half the capacity.
    floor: u64,
}

/// The state of the simulated bucket: the tokens that it lacks at the instant `now`. A bucket that
/// lacks more than its capacity is in debt.
struct Bucket {
    lack: Tokens,
    now: Nanos,
}

/// A take whose tokens are given back later.
struct Held {
    /// The index of the reservation in the history, or `None` for an undone take.
    reservation: Option<usize>,
    start: Nanos,
    cost: Tokens,
    /// The value of [`Bucket::total`] after the take.
    taken: Tokens,
}

impl Bucket {
    fn advance(&mut self, now: Nanos) {
        self.lack = (self.lack - QUOTA.refill(now - self.now)).max(0);
        self.now = now;
    }

    fn take(&mut self, cost: Tokens, longest_wait: Nanos) -> Outcome {
        let short = self.lack + cost - QUOTA.capacity;
        if short <= QUOTA.refill(longest_wait) {
            self.lack += cost;
            return Outcome::Done;
        }
        Outcome::Denied {
            retry_after: Some(QUOTA.time(short)),
        }
    }

    /// Takes tokens if at least `floor` tokens are left in the bucket.
    fn take_above(&mut self, floor: Tokens, cost: Tokens) -> Outcome {
        self.lack += floor;
        let outcome = self.take(cost, 0);
        self.lack -= floor;
        outcome
    }

    /// Takes tokens, so that the bucket holds at most `left` tokens after `wait`.
    fn drain(&mut self, left: Tokens, wait: Nanos) {
        let held = left - QUOTA.refill(wait);
        self.lack = self.lack.max(QUOTA.capacity - held);
    }

    /// Returns the time until the debt is repaid.
    fn delay(&self) -> Nanos {
        QUOTA.time((self.lack - QUOTA.capacity).max(0))
    }

    /// Returns the tokens that the bucket lacks plus all tokens that were refilled before, as if
    /// the bucket had lacked some tokens all the time.
    fn total(&self) -> Tokens {
        self.lack + QUOTA.refill(self.now)
    }

    /// Gives back the tokens of a take that are still missing. While the bucket is in debt, keeps
    /// as many tokens as were taken after the take, and at least half of the cost.
    fn give_back(&mut self, held: &Held) {
        let later = self.total() - held.taken;
        let free = if later == 0 || self.lack <= QUOTA.capacity {
            held.cost
        } else {
            (held.cost - later.max(0)).max(0).min(held.cost / 2)
        };
        let missing = (held.taken - QUOTA.refill(self.now)).max(0);
        self.lack = (self.lack - free.min(missing)).max(0);
    }
}

impl Habits {
    /// Returns a history, in the order in which the calls took effect.
    fn history(&self, dice: &mut Dice) -> Vec<Call> {
        let now = 1_000_000_000;
        let mut bucket = Bucket { lack: 0, now };
        let (mut calls, mut held) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            let now = bucket.now + dice.below(self.pause + 1);
            bucket.advance(now);
            self.act(&mut bucket, dice, &mut calls, &mut held);
        }
        // At the end, the callers die whose batches still have to give tokens back.
        for held in held.iter().filter(|held| held.reservation.is_none()) {
            let (cost, outcome) = (held.cost, Outcome::Unknown);
            let call = self.seen(&bucket, dice, Kind::Take, cost, outcome, 0);
            calls.push(Call {
                start: held.start,
                ..call
            });
        }
        calls
    }

    fn act(
        &self,
        bucket: &mut Bucket,
        dice: &mut Dice,
        calls: &mut Vec<Call>,
        held: &mut Vec<Held>,
    ) {
        let cost = Tokens::from(1 + dice.below(3)) * TOKEN;
        if dice.one_in(self.cancel) && !held.is_empty() {
            let held = held.swap_remove(dice.index(held.len()));
            bucket.give_back(&held);
            let call = self.given_back(bucket, dice, calls, &held);
            calls.push(call);
        } else if dice.one_in(self.undone) && bucket.take(cost, 0) == Outcome::Done {
            held.push(Held {
                reservation: None,
                start: bucket.now,
                cost,
                taken: bucket.total(),
            });
        } else if dice.one_in(self.drain) {
            let block = dice.below(2) * (1 + dice.below(30_000_000));
            let left = Tokens::from(dice.below(3)) * TOKEN;
            let left = if block > 0 { TOKEN } else { left };
            let unknown = dice.one_in(2 * self.unknown);
            if !(unknown && dice.one_in(2)) {
                bucket.drain(left, block);
            }
            let outcome = if unknown {
                Outcome::Unknown
            } else {
                Outcome::Done
            };
            calls.push(self.seen(bucket, dice, Kind::Drain, left, outcome, block));
        } else if dice.one_in(self.charge) {
            bucket.lack += cost;
            calls.push(self.seen(bucket, dice, Kind::Charge, cost, Outcome::Done, 0));
        } else if dice.one_in(self.reserve) {
            let call = self.reserve(bucket, dice, cost);
            if call.outcome == Outcome::Done && dice.one_in(2) {
                held.push(Held {
                    reservation: Some(calls.len()),
                    start: call.start,
                    cost,
                    taken: bucket.total(),
                });
            }
            calls.push(call);
        } else {
            calls.push(self.call(bucket, dice, cost));
        }
    }

    /// Returns the call of an undone take. For a reservation, marks it as cancelled and returns the
    /// cancel.
    fn given_back(
        &self,
        bucket: &Bucket,
        dice: &mut Dice,
        calls: &mut [Call],
        held: &Held,
    ) -> Call {
        let (kind, outcome) = match held.reservation {
            None => (Kind::Take, Outcome::Undone),
            Some(index) => {
                calls[index].outcome = Outcome::Cancelled;
                (Kind::Cancel, Outcome::Done)
            }
        };
        let mut call = self.seen(bucket, dice, kind, held.cost, outcome, 0);
        if kind == Kind::Cancel {
            call.wait = call.start.saturating_sub(held.start);
        } else {
            call.start = held.start - dice.below(self.width + 1);
        }
        call
    }

    fn reserve(&self, bucket: &mut Bucket, dice: &mut Dice, cost: Tokens) -> Call {
        let longest_wait = dice.below(3) * dice.below(20_000_000);
        let outcome = bucket.take(cost, longest_wait);
        if outcome != Outcome::Done {
            return self.seen(bucket, dice, Kind::Reserve, cost, outcome, longest_wait);
        }
        self.seen(bucket, dice, Kind::Reserve, cost, outcome, bucket.delay())
    }

    fn call(&self, bucket: &mut Bucket, dice: &mut Dice, cost: Tokens) -> Call {
        let mut cost = cost;
        let mut floor = 0;
        let mut kind = Kind::Take;
        let mut outcome = Outcome::Done;
        if dice.one_in(self.lost) {
            (kind, bucket.lack, cost) = (Kind::Lost, 0, 0);
        } else if dice.one_in(self.reset) {
            (kind, bucket.lack, cost) = (Kind::Reset, 0, 0);
        } else if dice.one_in(self.refund) {
            kind = Kind::Refund;
            bucket.lack = (bucket.lack - cost).max(0);
        } else if dice.one_in(self.floor) {
            floor = QUOTA.capacity / 2;
            outcome = bucket.take_above(floor, cost);
        } else if !dice.one_in(2 * self.unknown) {
            outcome = bucket.take(cost, 0);
        } else {
            // The request never arrived at the store.
            outcome = Outcome::Unknown;
        }
        let unknown = kind != Kind::Lost && dice.one_in(2 * self.unknown);
        let outcome = if unknown { Outcome::Unknown } else { outcome };
        Call {
            floor,
            ..self.seen(bucket, dice, kind, cost, outcome, 0)
        }
    }

    /// Returns the call as its caller observed it.
    fn seen(
        &self,
        bucket: &Bucket,
        dice: &mut Dice,
        kind: Kind,
        cost: Tokens,
        outcome: Outcome,
        wait: Nanos,
    ) -> Call {
        Call {
            host: 0,
            start: bucket.now - dice.below(self.width + 1),
            end: bucket.now + dice.below(self.width + 1),
            kind,
            cost,
            floor: 0,
            outcome,
            wait,
        }
    }
}

/// Returns a history of an exact limiter with the given seed.
pub fn history(seed: u64) -> Vec<Call> {
    let mut dice = Dice(seed * 0x9e37_79b9);
    let habits = Habits {
        pause: [200_000, 2_000_000, 6_000_000][dice.index(3)],
        width: [0, 100_000, 3_000_000, 30_000_000][dice.index(4)],
        unknown: [0, 5, 30][dice.index(3)],
        refund: [0, 4, 20][dice.index(3)],
        reset: [0, 50][dice.index(2)],
        lost: [0, 50][dice.index(2)],
        charge: [0, 30][dice.index(2)],
        reserve: [0, 10, 4][dice.index(3)],
        cancel: [0, 10][dice.index(2)],
        undone: [0, 10][dice.index(2)],
        drain: [0, 60][dice.index(2)],
        floor: [0, 3][dice.index(2)],
    };
    habits.history(&mut dice)
}

#[test]
fn exact_histories_are_acquitted_however_their_calls_overlap() {
    let mut kinds = [0_u64; 8];
    for seed in 1..=1_200 {
        let calls = history(seed);
        let floor = QUOTA.capacity / 2;
        let violations = [
            bound::judge(&calls, &QUOTA, &Rules::EXACT).violations,
            bound::judge_above(&calls, &QUOTA, &Rules::EXACT, floor).violations,
            denials::judge(&calls, &QUOTA, &Rules::EXACT).violations,
            waits::judge(&calls, &QUOTA, &Rules::EXACT).violations,
            drains::judge(&calls, &QUOTA, &Rules::EXACT).violations,
        ];
        assert_eq!(violations, [0; 5], "seed {seed}");
        let kinds_of = |call: &Call| {
            [
                call.is_granted(),
                call.is_denied(),
                call.outcome == Outcome::Unknown,
                call.outcome == Outcome::Undone,
                call.outcome == Outcome::Cancelled,
                call.is_charged(),
                call.kind == Kind::Drain,
                call.floor > 0,
            ]
        };
        for call in &calls {
            for (count, is_one) in kinds.iter_mut().zip(kinds_of(call)) {
                *count += u64::from(is_one);
            }
        }
    }
    assert!(kinds.iter().all(|&count| count > 3_000), "{kinds:?}");
}

//! Estimates how many different clients were denied on a day, for each row of counters. Keeps
//! nothing that names a client.
//!
//! This is a `HyperLogLog` with 1,024 registers. The hash of a client selects a register, and other
//! bits of the hash have a rank: the number of their leading zeros plus one. A register keeps the
//! greatest rank. The secret of the segment keys the hash, so no client can choose its register,
//! and the registers identify no client.
//!
//! A register has the day in its high bits and the rank in its low bits. So one `fetch_max` adds a
//! client, and replaces the register of an earlier day. Nothing has to be cleared. There is one
//! array for even days and one for odd days, so that today and yesterday use different ones.
//!
//! Invariant: a process that is killed leaves each register as before its change or as after it.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// The binary logarithm of the number of registers. The standard error is 1.04 / sqrt(1024).
const INDEX_BITS: u32 = 10;
const REGISTERS: usize = 1 << INDEX_BITS;
/// The greatest rank.
const MOST: usize = u64::BITS as usize - INDEX_BITS as usize + 1;
const RANK_BITS: u32 = 8;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;

/// The clients that were denied today and yesterday, for one row of counters.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Clients([[AtomicU32; REGISTERS]; 2]);

/// A day since the Unix epoch, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day(u32);

impl Day {
    /// Returns the day of an instant, which is a time since the Unix epoch.
    pub fn of(since_epoch: Duration) -> Self {
        const MOST: u64 = (1 << (u32::BITS - RANK_BITS)) - 1;
        let days = since_epoch.as_secs() / 86_400;
        // The number is at most 2^24.
        Self(u32::try_from(days.min(MOST)).unwrap_or_default())
    }

    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl Clients {
    /// Adds the client with this hash on a day.
    // The casts take parts of the hash.
    #[allow(clippy::cast_possible_truncation)]
    pub fn add(&self, day: Day, hash: u128) {
        let register = &self.of(day)[hash as usize % REGISTERS];
        let rank = ((hash >> u64::BITS) as u64).leading_zeros() + 1;
        let rank = rank.min(MOST as u32);
        // Relaxed, because no other memory depends on a register.
        register.fetch_max(day.0 << RANK_BITS | rank, Relaxed);
    }

    /// Estimates the number of different clients on a day. The standard error is 3.25 %.
    pub fn estimate(&self, day: Day) -> u64 {
        let mut counts = [0_u32; MOST + 1];
        for register in self.of(day) {
            let word = register.load(Relaxed);
            let is_of_day = word >> RANK_BITS == day.0;
            let rank = if is_of_day { word & RANK_MASK } else { 0 };
            // Another program may have written any rank to a named segment.
            counts[(rank as usize).min(MOST)] += 1;
        }
        estimate(&counts)
    }

    const fn of(&self, day: Day) -> &[AtomicU32; REGISTERS] {
        &self.0[day.0 as usize % 2]
    }
}

/// Estimates the number of clients from the number of registers with each rank. This is Otmar
/// Ertl's improved raw estimator (2017, algorithm 6), which needs no correction for few clients.
// The estimate is at most 2^64 / 2 ln 2, and a cast saturates.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn estimate(counts: &[u32; MOST + 1]) -> u64 {
    let registers = f64::from(1_u32 << INDEX_BITS);
    let mut sum = registers * tau(1.0 - f64::from(counts[MOST]) / registers);
    for &count in counts[1..MOST].iter().rev() {
        sum = 0.5 * (sum + f64::from(count));
    }
    sum += registers * sigma(f64::from(counts[0]) / registers);
    let alpha = 0.5 / std::f64::consts::LN_2;
    (alpha * registers * registers / sum).round() as u64
}

/// Weighs the registers that no client has selected.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut sum) = (1.0, x);
    loop {
        x *= x;
        let last = sum;
        sum += x * power;
        power += power;
        // The terms fall to 0, so the sum stops changing.
        if sum <= last {
            return sum;
        }
    }
}

/// Weighs the registers with the greatest rank.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut power, mut rest) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let last = rest;
        power *= 0.5;
        rest -= (1.0 - x).powi(2) * power;
        if rest >= last {
            return rest / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcra::key::KeyHasher;
    use std::array::from_fn;

    const TODAY: Day = Day(20_000);

    fn none() -> Clients {
        Clients(from_fn(|_| from_fn(|_| AtomicU32::new(0))))
    }

    fn add(clients: &Clients, day: Day, secret: u64, numbers: std::ops::Range<u32>) {
        let hasher = KeyHasher::new([secret, 1]);
        for number in numbers {
            clients.add(day, hasher.key(&number.to_le_bytes()).hash);
        }
    }

    /// Four standard errors of an estimate, and half a client, because it is rounded.
    fn is_close(estimate: u64, number: u32) -> bool {
        let error = estimate as f64 - f64::from(number);
        error.abs() <= 4.0 * 0.0325 * f64::from(number) + 0.5
    }

    #[test]
    fn one_to_a_million_clients_are_counted_within_four_standard_errors() {
        for secret in 0..8 {
            let clients = none();
            assert_eq!(clients.estimate(TODAY), 0);
            let mut last = 0;
            for number in [1, 2, 5, 10, 100, 1_000, 2_500, 10_000, 100_000, 1_000_000] {
                // Some clients are added again with each number, which must not change the
                // estimate.
                add(&clients, TODAY, secret, 0..number.min(100));
                add(&clients, TODAY, secret, last..number);
                let estimate = clients.estimate(TODAY);
                assert!(is_close(estimate, number), "{number}: {estimate}");
                last = number;
            }
        }
    }

    #[test]
    fn each_day_has_its_own_clients_and_the_day_before_stays() {
        let clients = none();
        let days = [TODAY.before(), TODAY, Day(TODAY.0 + 1)];
        add(&clients, days[0], 1, 0..1_000);
        add(&clients, days[1], 1, 0..100);
        assert!(is_close(clients.estimate(days[0]), 1_000));
        assert!(is_close(clients.estimate(days[1]), 100));
        // The array of the first day is used again, and its old registers do not count.
        add(&clients, days[2], 1, 0..10);
        let estimates = days.map(|day| clients.estimate(day));
        assert!(is_close(estimates[1], 100) && is_close(estimates[2], 10));
        // A process whose clock is a day behind changes nothing of the later day.
        add(&clients, days[0], 2, 0..1_000);
        assert_eq!(clients.estimate(days[2]), estimates[2]);
    }

    #[test]
    fn any_registers_have_an_estimate() {
        for word in [u32::MAX, TODAY.0 << RANK_BITS | RANK_MASK, 1, RANK_MASK] {
            let clients = Clients(from_fn(|_| from_fn(|_| AtomicU32::new(word))));
            let days = [TODAY, TODAY.before(), Day(0), Day(RANK_MASK)];
            let estimates = days.map(|day| clients.estimate(day));
            assert!(estimates.contains(&0), "{estimates:?}");
        }
    }
}

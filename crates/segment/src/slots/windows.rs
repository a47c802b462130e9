//! Windows in shared memory.
//!
//! A window starts at an instant of the wall clock, and callers pass such instants as times since
//! the Unix epoch. The instants in slots are on the boot clock, which decides when a slot becomes
//! free. So a slot keeps a state of a window minus a constant, which is the difference of the two
//! clocks when the segment was created. Every process computes the same states, because the
//! constant never changes.
//!
//! If the wall clock is set afterwards, the constant is no longer the difference of the clocks. The
//! states are still right, because they are compared only with each other. But the slot must be
//! free when the window ends. So the lifetime of a record is computed from both clocks as they are
//! now, in each call. It is negative if the clock was set forward by more than the window.

use super::changes;
use super::protocol::Variant;
use super::table::SharedMemory;
use super::word::Lifetime;
use gcra::{
    Key, MAX_SPAN, Outcome, Refill, Step, TICKS_PER_SECOND, Ticks, Timestamp, Windows, boot_clock,
    unix_time,
};

impl<V: Variant> SharedMemory<V> {
    /// Runs one step of any kind. [`SharedMemory::take`] does the same for steps without windows,
    /// and is faster. The instants of a step with windows, and of its outcome, are Unix times.
    #[must_use]
    pub fn run(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        let outcome = self.take(key, &self.in_slots(*step), first);
        let mut outcome = self.outside(step, outcome);
        if let Refill::Windows(windows) = step.refill
            && outcome.granted()
        {
            outcome.now = windows.within(outcome.now);
        }
        outcome
    }

    /// Returns the step with its window as slots keep it. The length of this window is the lifetime
    /// of the record: the ticks from the state until the window ends, in whole seconds.
    pub(super) fn in_slots(&self, step: Step) -> Step {
        let Refill::Windows(windows) = step.refill else {
            return step;
        };
        let start = self.shifted(windows).start;
        let lengths = lengths(Self::lifetime(start, &windows));
        Step {
            refill: Refill::Windows(Windows::new(start, lengths)),
            ..step
        }
    }

    /// Returns the ticks from the start of a window in a slot until the window ends. The result is
    /// negative if the wall clock was set forward by more than the window.
    fn lifetime(start: Timestamp, windows: &Windows) -> i64 {
        let now = unix_time();
        // A call that is late, or whose store follows another clock, needs its record, too.
        let left = if windows.contain(now) {
            windows.end().signed_since(now)
        } else {
            (windows.end() - windows.start).cast_signed()
        };
        boot_clock().saturating_add_signed(left).signed_since(start)
    }

    /// Returns the window as slots keep it, with its own length.
    fn shifted(&self, windows: Windows) -> Windows {
        let start = windows.start.saturating_add_signed(-self.difference);
        Windows { start, ..windows }
    }

    /// Returns the outcome of a step with its state as callers know it.
    pub(super) fn outside(&self, step: &Step, outcome: Outcome) -> Outcome {
        let is_absent = outcome.empty_at == Timestamp::ZERO;
        match step.refill {
            Refill::Windows(_) => Outcome {
                now: unix_time(),
                empty_at: if is_absent {
                    Timestamp::ZERO
                } else {
                    outcome.empty_at.saturating_add_signed(self.difference)
                },
                ..outcome
            },
            _ => outcome,
        }
    }

    /// Moves the state forward to the start of a later window.
    pub(super) fn advance(&self, key: Key<'_>, until: Timestamp) {
        let state = until.saturating_add_signed(-self.difference);
        let end = boot_clock().saturating_add_signed(until.signed_since(unix_time()));
        let [lead, length, _] = lengths(end.signed_since(state));
        let lifetime = Lifetime::of_window(lead, Ticks::from(length) * TICKS_PER_SECOND);
        changes::raise(&self.slots(key.hash), lifetime, |_| state);
    }

    /// Gives `cost` ticks back to a window.
    pub(super) fn uncount(&self, key: Key<'_>, cost: u64, windows: Windows) {
        changes::uncount(&self.slots(key.hash), cost, self.shifted(windows));
    }
}

/// Returns the lengths of the window of a record that lives for `lifetime` ticks: a lead or a
/// length, in whole seconds; see [`Lifetime::of`].
fn lengths(lifetime: i64) -> [u32; 3] {
    let seconds = |ticks: Ticks| u32::try_from(ticks).unwrap_or(u32::MAX);
    let ticks = lifetime.unsigned_abs().min(MAX_SPAN);
    if lifetime < 0 {
        [seconds(ticks / TICKS_PER_SECOND), 0, 0]
    } else {
        [0, seconds(ticks.div_ceil(TICKS_PER_SECOND)), 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, HostSettings, lines};
    use crate::memory::Segment;
    use crate::slots::word::Word;
    use gcra::Put;

    const HOUR: Ticks = 3600 * TICKS_PER_SECOND;

    /// Returns a store in whose segment the clocks differ by `set` ticks more than they do now.
    fn store(set: i64) -> Host {
        let settings = HostSettings {
            lines: lines(1),
            diagnostics: false,
            evict: true,
        };
        let mut host: Host = Host::new(settings, Segment::private).unwrap();
        host.slots_mut().difference += set;
        host
    }

    /// Returns a step for one of two tokens in a window that ends `left` ticks from now.
    fn step(left: Ticks) -> Step {
        let windows = Windows::new(unix_time() + left - HOUR, [3600; 3]);
        Step {
            refill: Refill::Windows(windows),
            ..Step::new(1000, 2000)
        }
    }

    /// Returns the instant from which the only record of the store is full.
    fn full_at(host: &Host) -> Timestamp {
        let words = host.slots().words();
        let word = words.into_iter().find(|&word| word != Word::EMPTY);
        word.unwrap().full_at()
    }

    #[test]
    fn a_wall_clock_that_was_set_neither_frees_nor_keeps_a_slot() {
        for set in [
            0,
            HOUR.cast_signed(),
            -HOUR.cast_signed(),
            24 * HOUR.cast_signed(),
            -24 * HOUR.cast_signed(),
            1 << 57,
            -(1 << 57),
        ] {
            let host = store(set);
            let key = host.slots().hasher().key(b"id");
            let before = boot_clock();
            let step = step(HOUR / 2);
            let outcome = host.slots().run(key, &step, None);
            assert!(outcome.granted());
            let Refill::Windows(windows) = step.refill else {
                unreachable!()
            };
            assert_eq!(outcome.empty_at, windows.start + 1000, "{set}");
            let full_at = full_at(&host);
            let after = boot_clock();
            assert!(full_at >= before + HOUR / 2 - TICKS_PER_SECOND, "{set}");
            // A lifetime is rounded up by a thousandth, a lead down by a 256th, and both by a
            // second.
            let rounding = (HOUR + set.unsigned_abs()) / 256 + 2 * TICKS_PER_SECOND;
            assert!(full_at <= after + HOUR / 2 + rounding, "{set}");
            assert!(host.slots().run(key, &step, None).granted());
            assert!(!host.slots().run(key, &step, None).granted());
        }
    }

    /// Fills the table with quotas whose windows end in half an hour, after the wall clock was set
    /// by `set` ticks. Then lets `passed` ticks pass, and returns how many of some buckets of
    /// logins, which are used up, are forgotten.
    fn forgotten(set: i64, passed: Ticks) -> usize {
        let host = store(-set);
        let store = host.slots();
        let names = |kind: &str, count: usize| {
            let names = (0..count).map(|n| format!("{kind}{n}").into_bytes());
            names.collect::<Vec<_>>()
        };
        let slots = store.words().len();
        let hasher = store.hasher();
        for name in names("quota", 4 * slots) {
            assert!(
                store
                    .run(hasher.key(&name), &step(HOUR / 2), None)
                    .granted()
            );
        }
        store.pass(passed);
        let used_up = Step::new(HOUR, HOUR);
        let logins = names("login", slots / 8);
        for name in &logins {
            assert!(store.run(hasher.key(name), &used_up, None).granted());
        }
        let again = |name: &&Vec<u8>| store.run(hasher.key(name), &used_up, None).granted();
        logins.iter().filter(again).count()
    }

    #[test]
    fn quotas_of_ended_windows_push_out_no_login_after_the_clock_was_set() {
        for set in [0, 2 * HOUR.cast_signed(), -2 * HOUR.cast_signed()] {
            let rounding = (HOUR + set.unsigned_abs()) / 256 + 2 * TICKS_PER_SECOND;
            assert_eq!(forgotten(set, HOUR / 2 + rounding), 0, "{set}");
            assert_ne!(forgotten(set, 0), 0, "the quotas fill the table");
        }
    }

    #[test]
    fn an_undo_finds_its_window_in_slots() {
        let host = store(HOUR.cast_signed());
        let key = host.slots().hasher().key(b"id");
        let step = step(HOUR / 2);
        let taken = host.slots().run(key, &step, None);
        assert!(host.slots().run(key, &step, None).granted());
        host.slots().put(key, &Put::undo(&step, taken.empty_at));
        assert!(host.slots().run(key, &step, None).granted());
        assert!(!host.slots().run(key, &step, None).granted());
    }
}

//! Windows in shared memory.
//!
//! A window starts at an instant of the wall clock, and callers pass such instants as times since
//! the Unix epoch. The instants in slots are on the boot clock, by which a slot becomes free. So a
//! slot keeps a state of a window minus a constant, which is the difference of the two clocks when
//! the segment was created. Every process computes the same states, because the constant never
//! changes.
//!
//! If the wall clock is set later, the constant is wrong as a difference. The states are still
//! right, because only states are compared. But the slot must be free when the window ends. So the
//! lifetime of a record is computed from both clocks as they are now.

use super::protocol::{self, Variant};
use super::table::SharedMemory;
use gcra::clock::{TICKS_PER_SECOND, boot_clock, unix_time};
use gcra::quota::MAX_SPAN;
use gcra::{Key, Outcome, Refill, Step, Timestamp, Windows};

impl<V: Variant> SharedMemory<V> {
    /// Runs one step of any kind. [`SharedMemory::take`] does the same for steps without windows,
    /// and is faster. The instants of a step with windows, and of its outcome, are Unix times.
    #[must_use]
    pub fn run(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        let outcome = self.take(key, &self.in_slots(*step), first);
        self.outside(step, outcome)
    }

    /// Returns the step with its window as slots keep it. Its length is the lifetime of the record:
    /// the ticks from the state until the window ends, in whole seconds.
    pub(super) fn in_slots(&self, step: Step) -> Step {
        let Refill::Windows(windows) = step.refill else {
            return step;
        };
        let start = self.shifted(windows).start;
        let left = windows.end().signed_since(unix_time());
        let end = boot_clock().saturating_add_signed(left);
        let lifetime = end.saturating_since(start).min(MAX_SPAN);
        let length = u32::try_from(lifetime.div_ceil(TICKS_PER_SECOND)).unwrap_or(u32::MAX);
        let lengths = [0, length, 0];
        Step {
            refill: Refill::Windows(Windows { start, lengths }),
            ..step
        }
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

    /// Gives `cost` ticks back to a window.
    pub(super) fn uncount(&self, key: Key<'_>, cost: u64, windows: Windows) {
        protocol::uncount(&self.slots(key.hash), cost, self.shifted(windows));
    }
}

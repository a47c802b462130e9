//! The time that is left of a call that asks several stores, one after another.

use gcra::Ticks;

/// The part of its timeout that a store may use.
///
/// A call on several stores has one deadline. The time that the whole call has waited counts
/// against the timeout of each store. So the stores may have different timeouts, and the call takes
/// at most the longest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLeft {
    /// The ticks that the call has waited for stores.
    spent: Ticks,
    /// The number of parts into which the rest is divided. The store may use one of them.
    parts: Ticks,
}

impl TimeLeft {
    /// The whole timeout.
    pub const ALL: Self = Self { spent: 0, parts: 1 };
    /// No time. The store is not contacted, and its failure policy decides.
    pub const NONE: Self = Self {
        spent: Ticks::MAX,
        parts: 1,
    };

    /// Returns the time that is left after the call has waited for `spent` ticks.
    pub const fn after(spent: Ticks) -> Self {
        Self { spent, parts: 1 }
    }

    /// Returns a half of the time, so that the next store has time, too.
    pub const fn half(self) -> Self {
        let parts = 2 * self.parts;
        Self { parts, ..self }
    }

    /// Returns the ticks that a store with this timeout may use.
    pub const fn of(self, timeout: Ticks) -> Ticks {
        timeout.saturating_sub(self.spent) / self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_count_the_time_against_their_own_timeouts() {
        let left = TimeLeft::after(30);
        assert_eq!([100, 40, 30, 20].map(|it| left.of(it)), [70, 10, 0, 0]);
        assert_eq!([100, 40].map(|it| left.half().of(it)), [35, 5]);
        assert_eq!(TimeLeft::ALL.of(100), 100);
        assert_eq!(TimeLeft::NONE.half().of(Ticks::MAX), 0);
    }
}

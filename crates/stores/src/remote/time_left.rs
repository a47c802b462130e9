//! The time that is left of a call that asks several stores, one after another.

use gcra::{Ticks, Timestamp, boot_clock};

/// The time that a store may use of a call on several stores.
///
/// The call takes at most the longest timeout of its stores. A store with a shorter timeout may use
/// no more than its own, whatever the others have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLeft {
    /// The ticks that are left of the call.
    rest: Ticks,
    /// The number of parts into which the time is divided. The store may use one of them.
    parts: Ticks,
}

impl TimeLeft {
    /// The whole timeout.
    pub const ALL: Self = Self::rest(Ticks::MAX);
    /// No time. The store is not contacted, and its failure policy decides.
    pub const NONE: Self = Self::rest(0);

    /// Returns the time of a store if `rest` ticks are left of the call.
    pub const fn rest(rest: Ticks) -> Self {
        Self { rest, parts: 1 }
    }

    /// Returns the time that is left of a call that began at `start` and has this timeout.
    pub fn since(start: Timestamp, timeout: Ticks) -> Self {
        Self::rest(timeout.saturating_sub(boot_clock().saturating_since(start)))
    }

    /// Returns a half of the time, so that the next store has time, too.
    pub const fn half(self) -> Self {
        let parts = 2 * self.parts;
        Self { parts, ..self }
    }

    /// Returns the ticks that a store with this timeout may use.
    pub const fn of(self, timeout: Ticks) -> Ticks {
        let time = if timeout < self.rest {
            timeout
        } else {
            self.rest
        };
        time / self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_uses_the_rest_of_the_call_up_to_its_timeout() {
        let left = TimeLeft::rest(70);
        assert_eq!([100, 70, 20].map(|it| left.of(it)), [70, 70, 20]);
        assert_eq!([100, 20].map(|it| left.half().of(it)), [35, 10]);
        assert_eq!(TimeLeft::ALL.of(100), 100);
        assert_eq!(TimeLeft::NONE.half().of(Ticks::MAX), 0);
    }
}

//! The time that is left of a call that asks several stores, one after another.

use gcra::{Ticks, Timestamp, boot_clock};
use std::cell::Cell;

/// The time that a store may use of a call on several stores.
///
/// The call takes at most the longest timeout of its stores. A store with a shorter timeout may use
/// no more than its own, whatever the others have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct TimeLeft {
    /// The ticks that are left of the call.
    rest: Ticks,
    /// The number of parts into which they are divided. The store may use one of them.
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

    /// Returns the time that is left of a call that waits since `start` and has this timeout.
    pub fn since(start: &Stopwatch, timeout: Ticks) -> Self {
        Self::rest(timeout.saturating_sub(start.waited()))
    }

    /// Returns a half of the time, so that the next store has time, too.
    pub const fn half(self) -> Self {
        let parts = 2 * self.parts;
        Self { parts, ..self }
    }

    /// Returns the ticks that a store with this timeout may use.
    pub const fn of(self, timeout: Ticks) -> Ticks {
        let part = self.rest / self.parts;
        if timeout < part { timeout } else { part }
    }
}

thread_local! {
    /// The ticks of this thread that were no part of a timeout.
    static UNTIMED: Cell<Ticks> = const { Cell::new(0) };
}

/// Runs what is no part of a timeout: the lookup of a host name, or the caller's own code.
pub fn untimed<R>(run: impl FnOnce() -> R) -> R {
    let (start, before) = (boot_clock(), UNTIMED.get());
    let result = run();
    // A handler may look up names, too.
    UNTIMED.set(before + boot_clock().saturating_since(start));
    result
}

/// Measures the time that a call waits for stores.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    start: Timestamp,
    untimed: Ticks,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self {
            start: boot_clock(),
            untimed: UNTIMED.get(),
        }
    }

    /// Returns the ticks since the start, without those that were no part of a timeout.
    pub fn waited(&self) -> Ticks {
        let untimed = UNTIMED.get().saturating_sub(self.untimed);
        boot_clock()
            .saturating_since(self.start)
            .saturating_sub(untimed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_uses_the_rest_of_the_call_up_to_its_timeout() {
        let left = TimeLeft::rest(70);
        assert_eq!([100, 70, 20].map(|it| left.of(it)), [70, 70, 20]);
        assert_eq!([100, 20].map(|it| left.half().of(it)), [35, 20]);
        assert_eq!(TimeLeft::ALL.of(100), 100);
        assert_eq!(TimeLeft::NONE.half().of(Ticks::MAX), 0);
    }
}

//! The settings of a remote store, and its failure policy.

use gcra::{Denial, Key, Outcome, Refill, Step, Ticks, Timestamp, Verdict, boot_clock, unix_time};
use segment::{By, Event, Host};

/// The failure policy: the rule that decides calls while the store fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// A bucket with the same quota in this host's shared memory decides. On H hosts, the limit is
    /// up to H times as high.
    Local,
    /// Every call is granted.
    Allow,
    /// Every call is denied.
    Deny,
    /// The failure is returned to the caller.
    Throw,
}

impl OnFailure {
    /// Orders the policies. If several decide on one bucket, the greatest counts.
    pub const fn strictness(self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Local => 1,
            Self::Deny => 2,
            Self::Throw => 3,
        }
    }

    /// Returns the event that the policy counts when the store fails.
    pub(super) const fn event(self) -> Event {
        match self {
            Self::Local => Event::Fallback,
            Self::Allow => Event::LetThrough,
            Self::Deny => Event::TurnedAway,
            Self::Throw => Event::Thrown,
        }
    }

    /// Returns the outcome that the policy decides while the store fails. Counts the decision
    /// unless the step is dry.
    #[must_use]
    pub fn answer(
        self,
        host: &Host,
        key: Key<'_>,
        step: &Step,
        first: Option<Timestamp>,
    ) -> Outcome {
        let (empty_at, now) = emptied(step);
        let (verdict, empty_at) = match self {
            Self::Local => return host.slots().run(key, step, first),
            Self::Allow => (Verdict::Granted, Timestamp::ZERO),
            Self::Deny | Self::Throw => (Verdict::Denied(Denial::Unavailable), empty_at),
        };
        if !step.dry {
            let granted = verdict == Verdict::Granted;
            host.slots().count_for(key, By::Policy, granted);
        }
        Outcome::new(verdict, empty_at, now)
    }
}

/// Returns the state of an empty bucket, and the current instant on the clock of the step.
pub(super) fn emptied(step: &Step) -> (Timestamp, Timestamp) {
    if let Refill::Windows(windows) = step.refill {
        return (windows.start + step.span, unix_time());
    }
    let now = boot_clock();
    (now, now)
}

/// The settings of a remote store.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The longest time that a call may take, including connecting, in ticks.
    pub timeout: Ticks,
    pub on_failure: OnFailure,
    /// The greatest age of a cached denial that may be returned, in ticks; `None` disables the
    /// cache.
    pub denial_cache_max_age: Option<Ticks>,
    /// How far this host takes places ahead, in ticks: whole microseconds, at most
    /// [`gcra::ahead::MOST`]. 0 if it does not. Needs the denial cache.
    pub take_ahead: Ticks,
}

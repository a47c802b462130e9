//! How a remote store is used, and what happens when it fails.

use crate::clock::{Ticks, boot_clock};
use crate::host::Host;
use crate::key::Key;
use crate::slots::counters::Event;
use crate::step::{Denial, Outcome, Step, Verdict};

/// What happens when the store fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// A bucket of the same quota in this host's shared memory decides: on H hosts H times the limit.
    Local,
    /// Every call is granted.
    Allow,
    /// Every call is denied.
    Deny,
    /// The failure is the answer.
    Throw,
}

impl OnFailure {
    /// Returns the event that the policy counts when the store fails.
    pub(super) const fn event(self) -> Event {
        match self {
            Self::Local => Event::FellBack,
            Self::Allow => Event::LetThrough,
            Self::Deny => Event::TurnedAway,
            Self::Throw => Event::Thrown,
        }
    }

    /// What is answered instead of the store.
    #[must_use]
    pub fn answer(self, host: &Host, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
        let now = boot_clock();
        let (verdict, empty_at) = match self {
            Self::Local => return host.slots().take(key, step, first),
            Self::Allow => (Verdict::Granted, 0),
            Self::Deny | Self::Throw => (Verdict::Denied(Denial::Unavailable), now),
        };
        Outcome {
            verdict,
            now,
            empty_at,
        }
    }
}

/// How a remote store is used.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long one call may take, connecting included.
    pub timeout: Ticks,
    /// What happens when it fails.
    pub on_failure: OnFailure,
    /// How long a denial may be told unasked after it was last seen; `None` never to do so.
    pub hint_max_age: Option<Ticks>,
}

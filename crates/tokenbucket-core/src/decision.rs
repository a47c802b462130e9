//! The whole answer to one call, in tokens and spans.
//!
//! Computed from an [`Outcome`]'s integers, without asking the store again.

use crate::clock::{TICKS_PER_SECOND, Ticks};
use crate::quota::Quota;
use crate::step::{Denial, Outcome, Step, Verdict};

/// A millisecond: by then the others who were in the way have finished, and some bucket may be full.
const CROWDED_RETRY: Ticks = 1_000_000;

/// A store that failed is asked again every 0.1 to 4 seconds.
const UNAVAILABLE_RETRY: Ticks = TICKS_PER_SECOND;

/// The answer to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Granted, or why not.
    pub reason: Reason,
    /// Whole tokens left; 0 in debt.
    pub remaining: u64,
    /// The time until the same call would succeed if nobody else took tokens; `None` for never.
    pub retry_after: Option<Ticks>,
    /// The time until the bucket is full if nobody took tokens.
    pub reset_after: Ticks,
}

/// Why a call was answered as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The tokens were there.
    Granted,
    /// They were not.
    InsufficientTokens,
    /// They never are: the capacity is smaller.
    ExceedsCapacity,
    /// Other processes changed the bucket too often; counted in the store's status.
    Contended,
    /// The store has no place for another bucket; counted in the store's status.
    TableFull,
    /// The store failed, and its failure policy is to deny; counted in the store's status.
    Unavailable,
    /// A signal ended the waiting.
    Interrupted,
}

impl Reason {
    /// The word for it in PHP and in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::InsufficientTokens => "insufficient_tokens",
            Self::ExceedsCapacity => "exceeds_capacity",
            Self::Contended => "contended",
            Self::TableFull => "table_full",
            Self::Unavailable => "unavailable",
            Self::Interrupted => "interrupted",
        }
    }
}

impl Decision {
    /// Reads the answer to `step` under `quota`.
    #[must_use]
    pub fn new(quota: &Quota, step: &Step, outcome: &Outcome) -> Self {
        let retry = || step.retry_after(outcome.empty_at, outcome.now);
        let (reason, retry_after) = match outcome.verdict {
            Verdict::Granted => (Reason::Granted, Some(0)),
            Verdict::Denied(Denial::Insufficient) => (Reason::InsufficientTokens, Some(retry())),
            Verdict::Denied(Denial::ExceedsCapacity) => (Reason::ExceedsCapacity, None),
            Verdict::Denied(Denial::Contended) => {
                (Reason::Contended, Some(retry().max(CROWDED_RETRY)))
            }
            Verdict::Denied(Denial::TableFull) => {
                (Reason::TableFull, Some(retry().max(CROWDED_RETRY)))
            }
            Verdict::Denied(Denial::Unavailable) => (Reason::Unavailable, Some(UNAVAILABLE_RETRY)),
        };
        Self {
            reason,
            remaining: quota.tokens(step.available(outcome.empty_at, outcome.now)),
            retry_after,
            reset_after: step.reset_after(outcome.empty_at, outcome.now),
        }
    }

    /// Whether the tokens were taken.
    #[must_use]
    pub const fn allowed(&self) -> bool {
        matches!(self.reason, Reason::Granted)
    }
}

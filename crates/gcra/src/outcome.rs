//! The result of a step: granted, or the reason for the denial, and the state of the bucket.

use crate::clock::Timestamp;

/// The result of a step: the verdict, its instant and the bucket's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict: granted, or the reason for the denial.
    pub verdict: Verdict,
    /// The instant at which the verdict is true.
    pub now: Timestamp,
    /// The bucket's state after the step.
    pub empty_at: Timestamp,
}

impl Outcome {
    #[inline]
    pub const fn new(verdict: Verdict, empty_at: Timestamp, now: Timestamp) -> Self {
        Self {
            verdict,
            now,
            empty_at,
        }
    }

    /// Returns a denial of a bucket in the state `empty_at` at `now`.
    #[inline]
    pub const fn denied(denial: Denial, empty_at: Timestamp, now: Timestamp) -> Self {
        Self::new(Verdict::Denied(denial), empty_at, now)
    }

    /// Reports whether the step was granted.
    #[inline]
    pub const fn granted(&self) -> bool {
        matches!(self.verdict, Verdict::Granted)
    }
}

/// The verdict on a step: granted, or the reason for the denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tokens were taken. In a dry step, the tokens could be taken.
    Granted,
    /// The tokens were not taken.
    Denied(Denial),
}

impl Verdict {
    /// Every verdict, in the order of [`Verdict::number`].
    pub const ALL: [Self; 9] = [
        Self::Granted,
        Self::Denied(Denial::Insufficient),
        Self::Denied(Denial::ExceedsCapacity),
        Self::Denied(Denial::Contended),
        Self::Denied(Denial::TableFull),
        Self::Denied(Denial::Unavailable),
        Self::Denied(Denial::Interrupted),
        Self::Denied(Denial::BelowFloor),
        Self::Denied(Denial::LockedOut),
    ];

    /// Returns the place of the verdict in [`Verdict::ALL`].
    pub const fn number(self) -> usize {
        match self {
            Self::Granted => 0,
            Self::Denied(denial) => denial as usize + 1,
        }
    }

    /// Returns the word for the verdict in PHP and in the documentation.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Denied(denial) => match denial {
                Denial::Insufficient => "insufficient_tokens",
                Denial::ExceedsCapacity => "exceeds_capacity",
                Denial::Contended => "contended",
                Denial::TableFull => "table_full",
                Denial::Unavailable => "unavailable",
                Denial::Interrupted => "interrupted",
                Denial::BelowFloor => "below_floor",
                Denial::LockedOut => "locked_out",
            },
        }
    }
}

/// The reason why tokens were not taken.
///
/// A denial is a whole word, like the other fields of an [`Outcome`], because a single byte is
/// slower. The processor must wait when it reads a byte that it has just written as part of a word.
/// This wait takes a sixth of the time of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Denial {
    /// The bucket does not hold that many tokens now.
    Insufficient,
    /// The bucket can never hold that many tokens.
    ExceedsCapacity,
    /// Other processes changed the bucket so often that the step lost every race. The call is
    /// counted.
    Contended,
    /// No slot of the table is available for this bucket. The call is counted.
    TableFull,
    /// The store failed, and its failure policy denies. The call is counted.
    Unavailable,
    /// A signal ended the wait for tokens. A step never returns this.
    Interrupted,
    /// The bucket holds that many tokens, but a grant would not leave the floor. A step never
    /// returns this. [`crate::Step::reason`] tells it from [`Denial::Insufficient`].
    BelowFloor,
    /// A lockout blocks the attempt. A step never returns this.
    LockedOut,
}

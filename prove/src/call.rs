//! One call as its caller observed it, in nanoseconds and units of 1e-12 tokens.

/// An amount in units of 1e-12 tokens.
pub type Tokens = i128;
/// Nanoseconds on the clock that all callers share.
pub type Nanos = u64;

/// One token in units of [`Tokens`].
pub const TOKEN: Tokens = 1_000_000_000_000;

/// The operation of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Takes tokens.
    Take,
    /// Gives tokens back.
    Refund,
    /// Fills the bucket.
    Reset,
    /// An event that is not a call. The store may have lost the bucket. A lost bucket is full.
    Lost,
}

/// The result that the caller received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call succeeded. If it was a take, the take was granted.
    Done,
    /// Denied because the bucket lacked tokens.
    Denied {
        /// The time to wait. `None` means that no wait is long enough.
        retry_after: Option<Nanos>,
    },
    /// Denied for another reason that the limiter states and counts.
    Excused,
    /// The caller died or got an error, so the call may have taken effect or not.
    Unknown,
}

/// A call. If it took effect, it did so at one instant of `start..=end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The instant before the call.
    pub start: Nanos,
    /// The instant after the call. If the outcome is unknown, this is the last instant at which the
    /// call may have taken effect.
    pub end: Nanos,
    /// The operation.
    pub kind: Kind,
    /// The number of tokens.
    pub cost: Tokens,
    /// The result.
    pub outcome: Outcome,
}

impl Call {
    /// Reports whether the call certainly took tokens.
    #[must_use]
    pub fn is_granted(&self) -> bool {
        self.kind == Kind::Take && self.outcome == Outcome::Done
    }

    /// Reports whether the call took, or may have taken, tokens.
    #[must_use]
    pub fn may_have_taken(&self) -> bool {
        self.kind == Kind::Take && matches!(self.outcome, Outcome::Done | Outcome::Unknown)
    }

    /// Reports whether the call was denied because the bucket lacked tokens.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.kind == Kind::Take && matches!(self.outcome, Outcome::Denied { .. })
    }
}

//! One call as its caller saw it, in the units of this crate.

/// 1e-12 tokens.
pub type Tokens = i128;
/// Nanoseconds on the one clock that all callers read.
pub type Nanos = u64;

/// Tokens in units of [`Tokens`].
pub const TOKEN: Tokens = 1_000_000_000_000;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tokens.
    Take,
    /// To give tokens back.
    Refund,
    /// To fill the bucket.
    Reset,
    /// Nothing was asked: the store may have lost the bucket, which is then full.
    Lost,
}

/// What its caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done; of a take: granted.
    Done,
    /// Denied for want of tokens.
    Denied {
        /// How long to wait; `None` for ever.
        retry_after: Option<Nanos>,
    },
    /// Denied for another reason that the limiter names and counts.
    Excused,
    /// Nothing: the caller died, or got an error. It may have been done.
    Unknown,
}

/// A call: it took effect, if it did, at one instant of `start..=end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Before the call.
    pub start: Nanos,
    /// After it; of an unknown outcome, the last instant at which it may have been done.
    pub end: Nanos,
    /// What was asked for.
    pub kind: Kind,
    /// How many tokens.
    pub cost: Tokens,
    /// What was answered.
    pub outcome: Outcome,
}

impl Call {
    /// Whether it certainly took tokens.
    #[must_use]
    pub fn is_granted(&self) -> bool {
        self.kind == Kind::Take && self.outcome == Outcome::Done
    }

    /// Whether it may have taken tokens.
    #[must_use]
    pub fn may_have_taken(&self) -> bool {
        self.kind == Kind::Take && matches!(self.outcome, Outcome::Done | Outcome::Unknown)
    }

    /// Whether it was denied for want of tokens.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.kind == Kind::Take && matches!(self.outcome, Outcome::Denied { .. })
    }
}

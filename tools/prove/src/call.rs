//! One call as its caller observed it, and the quota of its bucket. Times are in nanoseconds, and
//! tokens in units of 1e-12.

/// An amount in units of 1e-12 tokens.
pub type Tokens = i128;
/// Nanoseconds on the clock that all callers share.
pub type Nanos = u64;

/// One token in units of [`Tokens`].
pub const TOKEN: Tokens = 1_000_000_000_000;

/// The capacity and rate of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The most tokens that the bucket holds.
    pub capacity: Tokens,
    /// The [`Tokens`] added in a nanosecond.
    pub rate: Tokens,
}

impl Quota {
    /// Converts a capacity in thousandths of a token and a rate in thousandths of a token a second.
    pub fn from_thousandths(capacity: u64, rate: u64) -> Self {
        Self {
            capacity: Tokens::from(capacity) * 1_000_000_000,
            rate: Tokens::from(rate),
        }
    }

    /// Returns the tokens that the rate adds in `time` nanoseconds.
    pub fn refill(&self, time: Nanos) -> Tokens {
        self.rate * Tokens::from(time)
    }

    /// Returns the nanoseconds in which the rate adds `tokens`, rounded up.
    pub fn time(&self, tokens: Tokens) -> Nanos {
        let rate = self.rate.max(1);
        Nanos::try_from((tokens + rate - 1) / rate).unwrap_or(Nanos::MAX)
    }

    /// Returns the quota of `times` buckets together.
    pub fn times(&self, times: u32) -> Self {
        let times = Tokens::from(times);
        Self {
            capacity: self.capacity * times,
            rate: self.rate * times,
        }
    }
}

/// The operation of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Take,
    /// Gives tokens back.
    Refund,
    /// Fills the bucket.
    Reset,
    /// An event that is not a call. The store may have lost the bucket. A lost bucket is full.
    Lost,
    /// Takes tokens even if the bucket does not hold them.
    Charge,
    /// Takes the next tokens, which may be used after a delay.
    Reserve,
    /// Gives back the tokens of a reservation, except those that later calls have built on.
    Cancel,
    /// Takes tokens, so that the bucket holds at most the call's tokens after the call's wait. A
    /// block leaves one token at its end.
    Drain,
    /// A take that a proxy has seen the store grant. Callers log their calls, too.
    Stored,
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
    /// Not granted. The tokens may have been taken and given back, because another bucket denied
    /// the batch.
    Undone,
    /// The reservation was granted. Its caller cancelled it later and did not use the tokens.
    Cancelled,
    /// The caller died or got an error, so the call may have taken effect or not.
    Unknown,
}

/// A call. If it took effect, it did so at one instant of `start..=end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The host of the caller. 0 if it is unknown.
    pub host: u32,
    /// The instant before the call.
    pub start: Nanos,
    /// The instant after the call. If the outcome is unknown, this is the last instant at which the
    /// call may have taken effect.
    pub end: Nanos,
    pub kind: Kind,
    pub cost: Tokens,
    /// The tokens that a grant of this take leaves in the bucket.
    pub floor: Tokens,
    pub outcome: Outcome,
    /// For a granted reservation, the time from the call until its tokens may be used. For a denied
    /// reservation, the longest wait that its caller accepted. For a cancel, the time since the
    /// call that reserved the tokens began. For a drain, the time until the bucket holds the tokens
    /// that are left. For a stored take, the time for which a host may keep the tokens. Otherwise
    /// 0.
    pub wait: Nanos,
}

impl Call {
    /// Reports whether the call certainly took tokens that its caller may use.
    pub fn is_granted(&self) -> bool {
        matches!(self.kind, Kind::Take | Kind::Reserve) && self.outcome == Outcome::Done
    }

    /// Reports whether the call certainly charged tokens.
    pub fn is_charged(&self) -> bool {
        self.kind == Kind::Charge && self.outcome == Outcome::Done
    }

    /// Reports whether the call took, or may have taken, tokens that it did not give back itself.
    pub fn may_have_taken(&self) -> bool {
        let took = [Outcome::Done, Outcome::Unknown, Outcome::Cancelled];
        matches!(self.kind, Kind::Take | Kind::Charge | Kind::Reserve)
            && took.contains(&self.outcome)
    }

    /// Reports whether the call may have left the bucket fewer tokens than it held.
    pub fn may_have_drained(&self) -> bool {
        self.kind == Kind::Drain && matches!(self.outcome, Outcome::Done | Outcome::Unknown)
    }

    /// Reports whether the call may have left the bucket in debt.
    pub fn may_owe(&self) -> bool {
        (self.kind != Kind::Take && self.may_have_taken()) || self.may_have_drained()
    }

    /// Reports whether the call may have given tokens to the bucket.
    pub fn may_have_returned(&self) -> bool {
        self.outcome == Outcome::Undone
            || matches!(
                self.kind,
                Kind::Refund | Kind::Reset | Kind::Lost | Kind::Cancel
            )
    }

    /// Reports whether the call was denied because the bucket lacked tokens.
    pub fn is_denied(&self) -> bool {
        matches!(self.kind, Kind::Take | Kind::Reserve)
            && matches!(self.outcome, Outcome::Denied { .. })
    }

    /// Returns the tokens that the bucket must hold to grant the call at once, or after its wait.
    pub fn asked(&self) -> Tokens {
        self.cost + self.floor
    }

    /// Returns the tokens that the bucket must hold to grant the call. A reservation also gets the
    /// tokens that are refilled while its caller waits, so the result may be negative. For a drain,
    /// returns the most tokens that it leaves in the bucket, which may be negative in a block.
    pub fn needed(&self, quota: &Quota) -> Tokens {
        self.asked() - quota.refill(self.wait)
    }

    /// Returns the tokens that a bucket lacks after a drain: at least the capacity without the
    /// tokens that are left.
    pub fn drained(&self, quota: &Quota, tick: Nanos) -> Tokens {
        (quota.capacity - self.needed(quota) + quota.refill(tick)).max(0)
    }

    /// Returns the first and the last instant from which the granted tokens may be used.
    pub fn due(&self) -> (Nanos, Nanos) {
        let after = |instant: Nanos| instant.saturating_add(self.wait);
        (after(self.start), after(self.end))
    }
}

//! Judges a rate limiter from outside: from the results that its callers received, and when.
//!
//! A caller notes the instant before a call and the instant after it. The limiter decided somewhere
//! between the two. The exact instant is unknown, and the judge must not guess it. So each rule is
//! a
//! *necessary* condition: every history of an exact limiter satisfies it, wherever in their
//! intervals the calls took effect.
//!
//! A conviction therefore proves a fault, either of the limiter or of the allowances. An acquittal
//! is evidence. It is stronger the shorter the intervals are, compared with the time of one token.
//! [`verdict::Verdict`] reports how strong it was.
//!
//! - [`bound`]: in every window of time, the grants wholly inside it are at most the capacity and
//!   the tokens that the rate adds.
//! - [`denials`]: every denial is explained by grants that may have preceded it.
//! - [`waits`]: the wait that a denial stated was true.
//!
//! Each rule takes O(n log n) for n calls. If a caller died in a call or got an error, the outcome
//! of the call is unknown. Such a call may explain a denial and never counts against the bound.
//!
//! Amounts are integers: tokens in units of 1e-12, times in nanoseconds, rates in units of 1e-12
//! tokens a nanosecond, which is 0.001 tokens a second. So the arithmetic is exact.

pub mod bound;
pub mod call;
pub mod denials;
pub mod log;
pub mod record;
pub mod rules;
pub mod tree;
pub mod verdict;
pub mod waits;

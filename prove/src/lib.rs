//! Judges a rate limiter from outside: from what its callers were told, and when.
//!
//! A caller notes the instant before a call and the instant after it. Somewhere between the two the
//! limiter decided; where, nobody knows, and a judge must not guess. So each rule here is a
//! *necessary* condition: every history of an exact limiter satisfies it, wherever within their
//! intervals its calls took effect. A conviction therefore is a proof of a fault (of the limiter, or of
//! the allowances that it was judged by); an acquittal is evidence, as strong as the intervals are short
//! against the time that a token takes. How strong it was, a verdict tells: see [`verdict::Verdict`].
//!
//! - [`bound`]: over every window of time, what was granted wholly inside it is at most the
//!   capacity and what the rate adds.
//! - [`denials`]: every denial is explained by grants that may have preceded it.
//! - [`waits`]: what a denial said about the time to wait was true.
//!
//! Each takes O(n log n) for n calls. A caller that died in a call, or was told of an error, knows nothing of
//! its outcome: such a call may explain a denial and never counts against the bound.
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

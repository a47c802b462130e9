//! Judges a rate limiter from outside, by the results that its callers received and their times.
//!
//! A caller notes the instant before a call and the instant after it. The limiter decided at an
//! unknown instant between the two. The judge must not assume any of these instants. So each rule
//! is a *necessary* condition. Every history of an exact limiter satisfies the rule. This holds for
//! each possible choice of the instants at which the calls took effect.
//!
//! So if a log breaks a rule, the judge convicts the limiter. This proves a fault, either of the
//! limiter or of the allowances. If a log breaks no rule, the judge acquits the limiter. This is
//! evidence, not a proof. The evidence is stronger if the intervals are short compared with the
//! refill time of a token. [`verdict::Verdict`] reports how much the allowances weaken the
//! evidence.
//!
//! - [`bound`]: in every window of time, the tokens granted wholly inside are at most the capacity
//!   plus the tokens that the rate adds.
//! - [`denials`]: every denial is explained by grants that may have preceded it.
//! - [`waits`]: after the wait that a denial stated, the bucket held the tokens, if no other call
//!   took any.
//! - [`drains`]: after a block or a drain, the tokens granted are at most those that it left, plus
//!   the tokens that the rate adds.
//! - [`bound`] also holds with the capacity above a floor, for the calls with that floor.
//!
//! [`ahead`] says what rules 2 and 3 see if hosts take tokens ahead.
//!
//! [`shared`] judges limits that share a bucket. [`windows`] judges quotas, and [`lockouts`] judges
//! lockouts, by rules of their own. [`permits`] judges concurrency limits, which have logs of their
//! own.
//!
//! Each rule takes O(n log n) for n calls. If a caller died in a call or got an error, the outcome
//! of the call is unknown. Such a call may explain a denial and never counts against the bound.
//!
//! Amounts are integers. Tokens are in units of 1e-12, and times are in nanoseconds. Rates are in
//! units of 1e-12 tokens a nanosecond, which is 0.001 tokens a second. So the arithmetic is exact.

pub mod ahead;
pub mod bound;
pub mod call;
pub mod denials;
pub mod drains;
pub mod gifts;
pub mod lockouts;
pub mod log;
pub mod permits;
pub mod record;
pub mod rules;
pub mod shared;
pub mod sums;
pub mod tree;
pub mod verdict;
pub mod waits;
pub mod windows;

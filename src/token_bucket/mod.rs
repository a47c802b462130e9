//! The class `TokenBucket`.
//!
//! A method derives a [`question`] from the properties and passes it to the storage. In shared
//! memory, `consume()` derives no question and uses the cached plan of the bucket ([`consume`]).

mod attempt;
mod attempt_all;
mod bucket;
mod consume;
mod overrides;
mod plan;
mod question;
mod refund;
mod tokens;
mod userland;
mod wait;

pub use attempt::{attempt, peek};
pub use attempt_all::attempt_all;
pub use bucket::Bucket;
pub use consume::{construct, consume};
pub use overrides::{
    compare_microtimes, protected_bootstrap as bootstrap, seconds_to_tokens, tokens_to_seconds,
};
pub use refund::{refund, reset};
pub use wait::wait;

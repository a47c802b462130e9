//! The class `TokenBucket`.
//!
//! A method derives a [`question`] from the properties and passes it to the storage. In shared
//! memory, `consume()` derives no question and uses the cached plan of the bucket ([`consume`]).

mod attempt;
mod attempt_all;
mod attempt_each;
mod block;
mod bucket;
mod calendar;
mod charge;
mod construct;
mod consume;
mod groups;
mod list;
mod plan;
mod protected;
mod question;
pub mod quota;
mod refund;
pub mod reservation;
mod undo;
mod userland;
pub mod wait;

pub use attempt::{attempt, peek};
pub use attempt_all::attempt_all;
pub use attempt_each::attempt_each;
pub use block::{block, drain};
pub use bucket::Bucket;
pub use charge::{charge, settle};
pub use construct::construct;
pub use consume::consume;
pub use protected::{
    compare_microtimes, protected_bootstrap as bootstrap, seconds_to_tokens, tokens_to_seconds,
};
pub use refund::{refund, reset};
pub use reservation::reserve;
pub use wait::wait;

//! `TokenBucket`: the class that users call.
//!
//! A method derives a [`question`] from the properties and asks the storage. `consume()` in shared
//! memory is shorter: it goes from the property slots straight to the bucket ([`consume`]).

mod attempt;
mod attempt_all;
mod bucket;
mod consume;
mod declaration;
mod overrides;
mod plan;
mod question;
mod refund;
mod tokens;
mod userland;
mod wait;

pub use declaration::register;

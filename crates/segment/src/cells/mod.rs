//! The cells in which the processes of a host share what they know of remote stores: breakers with
//! the durations of calls, the denial cache, places that were taken ahead, and addresses.

pub mod ahead;
pub mod breaker;
pub mod denial_cache;
pub mod durations;
pub mod resolve;
pub mod slice;

//! The classes `TokenBucket\ConcurrencyLimit` and `TokenBucket\Permit`: at most a number of permits
//! of an identifier are held at once.
//!
//! [`limit`] asks the storage for a permit. [`held`] lists the permits of this thread, so that they
//! end with their request. [`permit`] is the object that PHP code holds.

pub mod held;
pub mod limit;
pub mod permit;
mod wait;

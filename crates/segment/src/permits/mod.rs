//! The permits of concurrency limits: at most `limit` processes hold a permit of a key at once.
//!
//! [`word`] is the content of a slot. [`protocol`] takes and gives back permits with one
//! compare-and-swap each. `process` gives each process a number, and the kernel says whether a
//! process with a number is alive. [`Permits`] is the region of a segment.
//!
//! Invariant: a permit ends at the latest with the process that holds it, also if the process is
//! killed. No clock, lease or count decides.

mod cells;
mod claim;
mod points;
mod process;
pub mod protocol;
mod region;
mod sight;
pub mod word;

pub use process::{Numbers, Unavailable};
pub use protocol::{Acquired, Permit, Refusal};
pub use region::{MAX_LIMIT, Permits, RowOfPermit};

pub(crate) use process::Process;
pub(crate) use region::{lines, slots};

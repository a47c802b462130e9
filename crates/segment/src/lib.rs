//! The shared memory of a host: a segment that its processes map.
//!
//! [`memory`] maps a segment: private, named, or adopted after a reload. [`slots`] keeps the
//! buckets and their counters. [`permits`] keeps the permits of concurrency limits. [`cells`] keeps
//! the state of remote stores, as this host saw it. [`host`] places all of them in one segment.
//!
//! Invariant: nothing that is read from a segment is trusted as an index, a length or a pointer.

pub mod cells;
pub mod host;
pub mod memory;
pub mod permits;
pub mod slots;
mod worker;

pub use host::Host;
pub use permits::{Acquired, MAX_LIMIT, Permit, Refusal};
pub use slots::SharedMemory;
pub use slots::clients::Day;
pub use slots::counters::{By, Event, Rows, Totals};
pub use slots::namespaces::{Named, StoreKind};

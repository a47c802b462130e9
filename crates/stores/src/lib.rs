//! The stores that hosts share: Redis, memcached and SQL.
//!
//! [`remote`] calls Redis and memcached itself. [`sql`] makes statements as text and reads their
//! results, because only the caller can use its connection.

mod digest;
mod printable;
pub mod remote;
pub mod sql;

pub use printable::printable;

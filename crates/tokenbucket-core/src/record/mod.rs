//! How other limiters lay out their records, so that a fleet can change over server by server.
//!
//! Names and placement only; the decisions on such records are made where the records are.

pub mod flexihash;
pub mod leaky_bucket;

//! How other limiters lay out their records, so that a fleet can change over server by server.
//!
//! Names, placement and shapes only; where a record is in a store that decides, the decisions are made there.

pub mod flexihash;
pub mod leaky_bucket;
pub mod minutes;
pub mod serialized_bucket;

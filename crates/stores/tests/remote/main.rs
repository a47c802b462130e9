//! Tests remote stores with real servers and connections. Some tests break the servers or the
//! connections on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ahead;
mod batches;
mod blame;
mod caller;
mod clocks;
mod cluster;
mod contended;
mod denial_cache;
mod exactness;
mod failover;
mod faults;
mod fleets;
mod give_backs;
mod hangs;
mod healing;
mod lives;
mod numbers;
mod outages;
mod permits;
mod permits_abandoned;
mod permits_cluster;
mod permits_outages;
mod permits_races;
mod placement;
mod refusals;
mod round_trips;
mod sentinel;
mod slice;

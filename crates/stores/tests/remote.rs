//! Tests remote stores with real servers and connections. Some tests break the servers or the
//! connections on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "remote/batches.rs"]
mod batches;
#[path = "remote/blame.rs"]
mod blame;
#[path = "remote/caller.rs"]
mod caller;
#[path = "remote/clocks.rs"]
mod clocks;
#[path = "remote/cluster.rs"]
mod cluster;
#[path = "remote/decisions.rs"]
mod decisions;
#[path = "remote/denial_cache.rs"]
mod denial_cache;
#[path = "remote/exactness.rs"]
mod exactness;
#[path = "remote/failover.rs"]
mod failover;
#[path = "remote/faults.rs"]
mod faults;
#[path = "remote/fleets.rs"]
mod fleets;
#[path = "remote/foreign.rs"]
mod foreign;
#[path = "remote/healing.rs"]
mod healing;
#[path = "remote/lives.rs"]
mod lives;
#[path = "remote/numbers.rs"]
mod numbers;
#[path = "remote/outages.rs"]
mod outages;
#[path = "remote/permits.rs"]
mod permits;
#[path = "remote/permits_abandoned.rs"]
mod permits_abandoned;
#[path = "remote/permits_cluster.rs"]
mod permits_cluster;
#[path = "remote/permits_outages.rs"]
mod permits_outages;
#[path = "remote/permits_races.rs"]
mod permits_races;
#[path = "remote/placement.rs"]
mod placement;
#[path = "remote/refusals.rs"]
mod refusals;
#[path = "remote/round_trips.rs"]
mod round_trips;
#[path = "remote/secrets.rs"]
mod secrets;
#[path = "remote/sentinel.rs"]
mod sentinel;

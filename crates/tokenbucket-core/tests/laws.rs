//! The laws of the step and the quota, on random histories.
//!
//! The code computes everything in one `u64`. It is compared with naive models that count tokens as
//! exact fractions. It is also compared with the promises themselves: how much may be admitted in
//! any window, and that earlier grants explain every denial. Clocks are given, so nothing sleeps.
//!
//! The seed is fixed, so that failures are reproducible. With `PROPTEST_CASES` in the environment,
//! every law is tried that often, from a new seed each time.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "laws/admission.rs"]
mod admission;
#[path = "laws/evictions.rs"]
mod evictions;
#[path = "laws/give_backs.rs"]
mod give_backs;
#[path = "laws/history.rs"]
mod history;
#[path = "laws/model.rs"]
mod model;
#[path = "laws/quotas.rs"]
mod quotas;
#[path = "laws/seconds.rs"]
mod seconds;
#[path = "laws/steps.rs"]
mod steps;

use proptest::test_runner::{Config, RngSeed};

/// Returns the configuration of a law: `cases` tries from a fixed seed, unless the environment sets
/// the number.
fn tried(cases: u32) -> Config {
    let asked = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return asked;
    }
    Config {
        cases,
        rng_seed: RngSeed::Fixed(0x70_6b65_6e62_7563),
        ..asked
    }
}

//! The laws of the step and the quota, on random histories.
//!
//! What the code computes in one `u64` is compared with naive models that count tokens as exact
//! fractions, and with the promises themselves: how much may be admitted in any window, and that
//! every denial is explained by earlier grants. Clocks are given, nothing sleeps.
//!
//! The seed is fixed, so that a failure stays a failure. With `PROPTEST_CASES` in the environment
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

/// How a law is tried: `cases` times from a fixed seed, unless the environment says how often.
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

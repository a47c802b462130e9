//! Tests the laws of the step and the limit on random histories.
//!
//! The code keeps a bucket in one `u64`. The tests compare its results with naive models that count
//! tokens as exact fractions. The tests also check the promises themselves. Any window admits at
//! most the tokens that the limit allows. Earlier grants explain every denial. The tests set the
//! clock, so no test sleeps.
//!
//! The seed is fixed, so that failures are reproducible. If the environment variable
//! `PROPTEST_CASES` is set, every law is tried that often, with a new seed in each run.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod admission;
mod ahead;
mod blocks;
mod bound;
mod changed_limits;
mod fleet;
mod floors;
mod give_backs;
mod history;
mod hosts;
mod lockouts;
mod model;
mod periods;
mod quotas;
mod seconds;
mod steps;
mod windows;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Returns the configuration of a law. The law is tried `cases` times from a fixed seed, unless
/// `PROPTEST_CASES` sets the number.
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

/// Yields `count` values of a strategy, from a fixed seed. Controls use them.
fn drawn<S: Strategy>(strategy: S, count: usize) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::new(tried(1));
    (0..count).map(move |_| strategy.new_tree(&mut runner).unwrap().current())
}

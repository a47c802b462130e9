//! The verdict of a test that could not test anything.

use std::fmt::Display;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How often a test is tried.
const TRIES: u32 = 3;
/// The number of this try. Missing in the first.
const TRY: &str = "TEST_TRY";

/// Ends a test whose fault did not happen, or whose machine was too slow to set it up.
///
/// Under cargo-nextest, where each test is a process, the process starts again, twice. Then it
/// prints `inconclusive: REASON`, which `scripts/test` counts, and fails. `cargo test` runs many
/// tests in one process, so that the test fails at once there.
pub fn inconclusive(reason: impl Display) -> ! {
    static SAID: AtomicBool = AtomicBool::new(false);
    let is_alone = std::env::var_os("NEXTEST_EXECUTION_MODE").is_some();
    assert!(is_alone, "inconclusive: {reason}");
    while SAID.swap(true, Relaxed) {
        std::thread::park();
    }
    let this_try = std::env::var(TRY).map_or(1, |text| text.parse().unwrap());
    if this_try < TRIES {
        eprintln!("tried again: {reason}");
        let error = Command::new(std::env::current_exe().unwrap())
            .args(std::env::args_os().skip(1))
            .env(TRY, (this_try + 1).to_string())
            .exec();
        panic!("{error}");
    }
    eprintln!("inconclusive: {reason}");
    std::process::exit(1);
}

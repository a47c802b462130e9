//! Processes hold permits, and end in every way.
//!
//! The tests start single processes that fork, die, lose their locks or hand a segment over. The
//! model covers deaths at every marked point. `scripts/prove` kills workers under load.
//!
//! The tests fork, so their process must have only one thread. So they have their own `main`.
//! Arguments select the tests whose names contain one of them. For nextest, all of them are one
//! test.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod child;
mod forked;
mod garbage;
mod locks;
mod processes;

use segment::host::{Host, HostSettings, lines};
use segment::memory::Segment;
use std::process::ExitCode;

/// The name of the test that nextest runs.
const ALL: &str = "permits";

type Test = (&'static str, fn());

/// Returns a host with the smallest segment, in a memfd.
fn host() -> Host {
    Host::new(settings(), Segment::memfd).expect("a memfd")
}

/// Returns the settings of the smallest segment.
fn settings() -> HostSettings {
    HostSettings {
        lines: lines(1),
        diagnostics: false,
        evict: false,
    }
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--list") {
        // There are no ignored tests.
        if std::env::args().all(|word| word != "--ignored") {
            println!("{ALL}: test");
        }
        return ExitCode::SUCCESS;
    }
    let arguments = std::env::args().skip(1);
    let filters: Vec<_> = arguments
        .filter(|word| !word.starts_with('-') && word != ALL)
        .collect();
    let tests = [processes::TESTS, locks::TESTS, garbage::TESTS].concat();
    testkit::take_places(3);
    for (name, test) in tests {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter)) {
            continue;
        }
        let is_passed = std::panic::catch_unwind(test).is_ok();
        println!("{} {name}", if is_passed { "PASS" } else { "FAIL" });
        // Ends, because a later test may be inconclusive, and then all would be tried again.
        if !is_passed {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

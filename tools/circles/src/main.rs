//! `circles`: prints the circles of this repository's crates. Exits with 1 if there is one.

use std::path::Path;
use std::process::ExitCode;

/// The folders of the root files, without those of tests.
const CRATES: [&str; 9] = [
    "src",
    "crates/compat/src",
    "crates/gcra/src",
    "crates/guard/src",
    "crates/segment/src",
    "crates/stores/src",
    "crates/zend/src",
    "tools/prove/src",
    "tools/testkit/rust/src",
];

/// The folders whose `mod.rs` declares types that its files use, and calls these files.
const EXEMPT: [&str; 5] = [
    "crates/stores/src/remote",
    "crates/stores/src/remote/memcached",
    "crates/stores/src/remote/redis",
    "crates/stores/src/sql",
    "src/decision",
];

fn main() -> anyhow::Result<ExitCode> {
    let exempt = EXEMPT.map(Path::new);
    let mut code = ExitCode::SUCCESS;
    for folder in CRATES {
        let read = circles::Crate::read(Path::new(folder))?;
        for circle in read.circles(&exempt) {
            print!("{folder}: these files import each other:\n{circle}");
            code = ExitCode::FAILURE;
        }
        for unneeded in exempt.iter().filter(|it| it.starts_with(folder)) {
            let others: Vec<_> = exempt.iter().copied().filter(|it| it != unneeded).collect();
            if read.circles(&others).is_empty() {
                println!(
                    "{}: has no circle, so it needs no exemption",
                    unneeded.display()
                );
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

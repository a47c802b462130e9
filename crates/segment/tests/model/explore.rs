//! Runs all interleavings of a scenario.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Runs the interleavings of `scenario` with at most `preemptions` preemptions of a thread. A quick
/// run has one preemption less, and an exhaustive run covers all interleavings. Panics if an
/// interleaving violates an assertion.
pub fn holds(name: &str, preemptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let bound = match Mode::chosen() {
        Mode::Quick => Some(preemptions - 1),
        Mode::Usual => Some(preemptions),
        Mode::Exhaustive => None,
    };
    if let Err(violation) = explore(name, bound, scenario) {
        std::panic::resume_unwind(violation);
    }
}

/// Does the same as [`holds`] for three threads. The preemptions are always limited, because a run
/// without a limit would take too long.
pub fn holds_for_three(name: &str, scenario: impl Fn() + Send + Sync + 'static) {
    let bound = match Mode::chosen() {
        Mode::Quick => 1,
        Mode::Usual => 2,
        Mode::Exhaustive => 4,
    };
    if let Err(violation) = explore(name, Some(bound), scenario) {
        std::panic::resume_unwind(violation);
    }
}

/// Checks that a scenario without one of the guards fails. Some interleaving must violate the
/// assertion whose message contains `reason`.
pub fn is_violated(
    name: &str,
    preemptions: usize,
    reason: &str,
    scenario: impl Fn() + Send + Sync + 'static,
) {
    let less = usize::from(Mode::chosen() == Mode::Quick);
    let violation = explore(name, Some(preemptions - less), scenario)
        .expect_err("no interleaving needs the missing guard");
    let message = violation
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| violation.downcast_ref::<&str>().copied())
        .unwrap_or_default();
    assert!(message.contains(reason), "{name}: {message}");
}

/// How many interleavings are explored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Quick,
    Usual,
    Exhaustive,
}

impl Mode {
    fn chosen() -> Self {
        match std::env::var("TOKENBUCKET_MODEL").as_deref() {
            Ok("quick") => Self::Quick,
            Ok("exhaustive") => Self::Exhaustive,
            Ok(other) => panic!("TOKENBUCKET_MODEL={other} is neither quick nor exhaustive"),
            Err(_) => Self::Usual,
        }
    }
}

fn explore(
    name: &str,
    preemption_bound: Option<usize>,
    scenario: impl Fn() + Send + Sync + 'static,
) -> std::thread::Result<()> {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemption_bound;
    model.max_branches = 100_000;
    let executions = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&executions);
    let begin = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| {
        model.check(move || {
            counted.fetch_add(1, Relaxed);
            scenario();
        });
    }));
    println!(
        "{name}: {} executions, {:.1} s, preemptions {}, {}",
        executions.load(Relaxed),
        begin.elapsed().as_secs_f64(),
        preemption_bound.map_or("unbounded".to_owned(), |bound| bound.to_string()),
        if result.is_ok() {
            "no violation"
        } else {
            "a violation"
        },
    );
    result
}

//! The proof of the bound, `docs/explanation/bound.smt2`, which z3 checks. Its step must be ours.

use crate::drawn;
use gcra::clock::EPOCH;
use gcra::{Step, Timestamp};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const PROOF: &str = include_str!("../../../../docs/explanation/bound.smt2");

/// Returns what z3 prints for this input.
fn solved(input: &str) -> String {
    let mut z3 = Command::new("z3");
    let z3 = z3
        .arg("-in")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut z3 = z3.expect("scripts/setup proof installs z3");
    let mut stdin = z3.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    String::from_utf8(z3.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
#[ignore = "needs z3"]
fn a_solver_proves_the_theorems_and_refutes_the_controls() {
    let output = solved(PROOF);
    let lines: Vec<_> = output.lines().collect();
    let mut controls = 0;
    for pair in lines.chunks(2) {
        let is_control = pair[0].starts_with("control: ");
        controls += usize::from(is_control);
        let expected = if is_control { "sat" } else { "unsat" };
        assert_eq!(pair.get(1), Some(&expected), "{}", pair[0]);
    }
    assert_eq!((lines.len() / 2 - controls, controls), (18, 10));
}

/// Yields steps, states and instants. Small numbers make the borders likely.
fn calls() -> impl Strategy<Value = (Step, Timestamp, Timestamp)> {
    let numbers = (0_u64..12, 0_u64..12, -9_i64..9, 0_u64..9);
    (numbers, 0_u64..40, any::<bool>()).prop_map(|(numbers, age, owes)| {
        let (cost, span, max_wait, max_debt) = numbers;
        let step = Step {
            max_wait: if owes { 0 } else { max_wait },
            max_debt: if owes { max_debt } else { 0 },
            ..Step::new(cost, span)
        };
        let now = EPOCH + 1_000;
        (step, Timestamp(now.0 + 20 - age), now)
    })
}

#[test]
#[ignore = "needs z3"]
fn the_proof_speaks_of_the_numbers_of_the_step() {
    let (definitions, _) = PROOF.split_once("; --- The numbers of one call").unwrap();
    let mut input = String::from(definitions);
    let mut expected = String::new();
    for (step, state, now) in drawn(calls(), 2_000) {
        let outcome = step.decide(state, now);
        let (cost, span, wait) = (step.cost, step.span, step.max_wait);
        let wait = format!("(- {} {})", wait.max(0), wait.min(0).unsigned_abs());
        let call = format!("{} {} {cost} {span} {wait}", state.0, now.0);
        writeln!(
            input,
            "(simplify (and (= {} (granted {call})) (= {} (exceeds-capacity {cost} {span} {wait})) \
             (= {} (retry-after {call})) (= {} (state-after {} {} {} {cost} {span} {wait} {}))))",
            outcome.granted(),
            step.exceeds_capacity(),
            step.retry_after(state, now),
            outcome.empty_at.0,
            state.0,
            now.0,
            now.0,
            step.max_debt,
        )
        .unwrap();
        expected.push_str("true\n");
    }
    assert_eq!(solved(&input), expected);
}

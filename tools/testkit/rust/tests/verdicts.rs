//! One test for each verdict, which `scripts/test verdicts` runs to check what it counts.

use testkit::inconclusive;

#[test]
#[ignore = "fails on purpose"]
fn planted_fails() {
    panic!("planted");
}

#[test]
#[ignore = "stays inconclusive on purpose"]
fn planted_is_inconclusive() {
    inconclusive("planted");
}

#[test]
#[ignore = "is inconclusive on purpose"]
fn planted_passes_at_last() {
    if std::env::var("TEST_TRY").is_ok_and(|this_try| this_try == "3") {
        return;
    }
    inconclusive("planted");
}

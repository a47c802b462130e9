//! Several steps, all or none, on stores that take one at a time.

use crate::homes::{self, Home};
use crate::{CAPACITY, HOUR, singles, take};
use std::convert::Infallible;
use tokenbucket_core::batch::{Batch, take_all};
use tokenbucket_core::{Denial, Key, Outcome, Put, Step, Ticks, Verdict};

/// Steps on buckets of one store.
struct Basket<'a> {
    home: &'a Home,
    keys: Vec<Key<'a>>,
    steps: Vec<Step>,
    /// Empties this bucket after all were asked and before any is charged.
    rival: Option<Key<'a>>,
}

impl<'a> Basket<'a> {
    /// Single tokens of these buckets.
    fn of(home: &'a Home, identifiers: &[&'a str]) -> Self {
        let key = |identifier: &&'a str| home.key(identifier.as_bytes());
        Self {
            home,
            keys: identifiers.iter().map(key).collect(),
            steps: vec![take(1); identifiers.len()],
            rival: None,
        }
    }
}

impl Batch for Basket<'_> {
    type Error = Infallible;

    fn steps(&self) -> &[Step] {
        &self.steps
    }

    fn same_bucket(&self, a: usize, b: usize) -> bool {
        self.keys[a] == self.keys[b]
    }

    fn take(&mut self, index: usize, step: &Step) -> Result<Outcome, Infallible> {
        if !step.dry
            && let Some(key) = self.rival.take()
        {
            singles(self.home, key);
        }
        Ok(self.home.take(self.keys[index], step, None))
    }

    fn refund(&mut self, index: usize, cost: Ticks) -> Result<(), Infallible> {
        let burst = self.steps[index].burst;
        self.home
            .put(self.keys[index], &Put::Refund { cost, burst });
        Ok(())
    }
}

fn left(home: &Home, identifier: &str) -> u64 {
    let outcome = home.take(home.key(identifier.as_bytes()), &take(0).dry(), None);
    take(0).available(outcome.empty_at, outcome.now) / HOUR
}

#[test]
fn a_batch_takes_from_all() {
    homes::each(|home| {
        let mut batch = Basket::of(home, &["a", "b", "c"]);
        batch.steps[2] = take(3);
        let Ok(Ok(taken)) = take_all(&mut batch) else {
            panic!("refused")
        };
        assert_eq!(taken.len(), 3);
        for (index, one) in taken.iter().enumerate() {
            assert!(one.index == index && one.step == batch.steps[index]);
            assert!(one.outcome.granted() && !one.step.dry);
        }
        let remaining = ["a", "b", "c"].map(|identifier| left(home, identifier));
        assert_eq!(remaining, [CAPACITY - 1, CAPACITY - 1, CAPACITY - 3]);
        assert!(matches!(take_all(&mut Basket::of(home, &[])), Ok(Ok(none)) if none.is_empty()));
    });
}

#[test]
fn a_refused_batch_takes_nothing() {
    homes::each(|home| {
        assert_eq!(singles(home, home.key(b"b")), CAPACITY);
        let Ok(Err(refusal)) = take_all(&mut Basket::of(home, &["a", "b", "c"])) else {
            panic!("granted")
        };
        assert_eq!(refusal.index, 1);
        let insufficient = Verdict::Denied(Denial::Insufficient);
        assert_eq!(refusal.outcome.verdict, insufficient);
        for identifier in ["a", "c"] {
            assert_eq!(singles(home, home.key(identifier.as_bytes())), CAPACITY);
        }
    });
}

#[test]
fn a_bucket_named_twice_pays_twice() {
    homes::each(|home| {
        let mut batch = Basket::of(home, &["a", "b", "a"]);
        batch.steps[2] = take(3);
        assert!(matches!(take_all(&mut batch), Ok(Ok(taken)) if taken.len() == 3));
        assert_eq!(left(home, "a"), CAPACITY - 4);
        let Ok(Err(refusal)) = take_all(&mut batch) else {
            panic!("granted")
        };
        assert_eq!(refusal.index, 2, "the second time");
        assert_eq!(refusal.step.cost, 4 * HOUR, "all that is asked of it");
        assert_eq!(left(home, "a"), CAPACITY - 4);
        assert_eq!(left(home, "b"), CAPACITY - 1);
    });
}

#[test]
fn a_bucket_named_too_often_is_told_that_it_never_holds_that_many() {
    homes::each(|home| {
        let mut batch = Basket::of(home, &["a", "b", "a"]);
        batch.steps[0] = take(CAPACITY);
        let Ok(Err(refusal)) = take_all(&mut batch) else {
            panic!("granted")
        };
        let never = Verdict::Denied(Denial::ExceedsCapacity);
        assert_eq!(refusal.outcome.verdict, never);
        assert_eq!(singles(home, home.key(b"a")), CAPACITY);
    });
}

#[test]
fn a_batch_that_loses_a_race_gives_back_what_it_took() {
    homes::each(|home| {
        let mut batch = Basket::of(home, &["a", "b", "a", "c"]);
        batch.rival = Some(home.key(b"c"));
        let Ok(Err(refusal)) = take_all(&mut batch) else {
            panic!("granted")
        };
        assert_eq!(refusal.index, 3);
        for identifier in ["a", "b"] {
            assert_eq!(singles(home, home.key(identifier.as_bytes())), CAPACITY);
        }
    });
}

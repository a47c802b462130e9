//! Tests batches on stores that take from all buckets in one operation, and on stores that take
//! from one bucket at a time. All steps are granted, or the whole batch is denied.

use crate::homes::{self, Home};
use crate::{CAPACITY, HOUR, MILLISECOND, now, singles, take};
use gcra::batch::{Batch, Batched, Few, Grouped, Taken, Ticket, sum, take_all};
use gcra::{Denial, Key, Step, Ticks, Timestamp, Verdict};
use std::convert::Infallible;

/// A batch on buckets of one store.
struct Basket<'a> {
    home: &'a Home,
    /// In order, so that the index of a ticket is its place here.
    tickets: Vec<Ticket<'a>>,
    /// If set, another caller empties this bucket after all checks, before the first charge.
    rival: Option<Key<'a>>,
}

impl<'a> Basket<'a> {
    /// Returns a batch that takes single tokens from these buckets.
    fn of(home: &'a Home, identifiers: &[&'a str]) -> Self {
        let ticket = |(index, identifier): (usize, &&'a str)| Ticket {
            index,
            key: home.key(identifier.as_bytes()),
            step: take(1),
        };
        Self {
            home,
            tickets: identifiers.iter().enumerate().map(ticket).collect(),
            rival: None,
        }
    }

    /// Takes the tokens of all steps or of none. With a rival, takes from one bucket at a time on
    /// every store.
    fn take_all(&mut self) -> Batched {
        let mut tickets = self.tickets.clone();
        if self.rival.is_none()
            && let Some(batched) = self.home.take_all(Grouped::new(&mut tickets))
        {
            return batched;
        }
        let Ok(batched) = take_all(self);
        batched
    }

    fn buckets(&self) -> Vec<Vec<Ticket<'a>>> {
        let mut tickets = self.tickets.clone();
        let buckets = Grouped::new(&mut tickets).buckets();
        buckets.map(<[_]>::to_vec).collect()
    }

    fn take_sum(&self, mine: &[Ticket<'_>], step: &Step) -> Batched {
        Taken::all_of(mine, self.home.take(mine[0].key, step, None))
    }
}

impl Batch for Basket<'_> {
    type Error = Infallible;

    fn groups(&self) -> usize {
        self.buckets().len()
    }

    fn refused(&mut self) -> Result<Option<Taken>, Infallible> {
        let others = self.buckets().into_iter().skip(1);
        let refused = |mine: Vec<Ticket<'_>>| self.take_sum(&mine, &sum(&mine).dry()).err();
        Ok(others.rev().find_map(refused))
    }

    fn take(&mut self, group: usize, taken: &mut Few<Taken>) -> Result<Option<Taken>, Infallible> {
        if let Some(key) = self.rival.take() {
            singles(self.home, key);
        }
        let mine = &self.buckets()[group];
        let batched = self.take_sum(mine, &sum(mine));
        Ok(batched.map(|more| taken.extend(more)).err())
    }

    fn give_back(&mut self, taken: &[Taken]) -> Result<(), Infallible> {
        for one in taken.iter().rev() {
            let key = self.tickets[one.index].key;
            self.home.put(key, &one.give_back());
        }
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
        batch.tickets[2].step = take(3);
        let Ok(taken) = batch.take_all() else {
            panic!("refused")
        };
        assert_eq!(taken.len(), 3);
        for (index, one) in taken.iter().enumerate() {
            assert!(one.index == index && one.step == batch.tickets[index].step);
            assert!(one.outcome.granted() && !one.step.dry);
        }
        let remaining = ["a", "b", "c"].map(|identifier| left(home, identifier));
        assert_eq!(remaining, [CAPACITY - 1, CAPACITY - 1, CAPACITY - 3]);
        assert!(Basket::of(home, &[]).take_all().unwrap().is_empty());
    });
}

#[test]
fn a_batch_with_costs_is_refused_by_the_bucket_that_lacks_its_cost() {
    homes::each(|home| {
        let mut batch = Basket::of(home, &["a", "b", "c"]);
        batch.tickets[1].step = take(3);
        batch.tickets[2].step = take(2);
        assert!(matches!(take_all(&mut batch), Ok(Ok(_))));
        let Ok(Err(refusal)) = take_all(&mut batch) else {
            panic!("granted")
        };
        assert_eq!((refusal.index, refusal.step.cost), (1, 3 * HOUR));
        let remaining = ["a", "b", "c"].map(|identifier| left(home, identifier));
        assert_eq!(remaining, [CAPACITY - 1, CAPACITY - 3, CAPACITY - 2]);
    });
}

#[test]
fn a_batch_is_refused_by_a_bucket_in_debt_even_for_nothing() {
    homes::each(|home| {
        assert!(
            home.take(home.key(b"b"), &crate::reserve(CAPACITY + 1, 9), None)
                .granted()
        );
        let mut batch = Basket::of(home, &["a", "b"]);
        batch.tickets[1].step = take(0);
        let Ok(Err(refusal)) = take_all(&mut batch) else {
            panic!("granted")
        };
        assert_eq!(refusal.index, 1);
        assert_eq!(left(home, "a"), CAPACITY);
    });
}

#[test]
fn a_bucket_named_twice_pays_twice() {
    homes::each(|home| {
        let mut batch = Basket::of(home, &["a", "b", "a"]);
        batch.tickets[2].step = take(3);
        assert_eq!(batch.take_all().unwrap().len(), 2, "buckets");
        assert_eq!(left(home, "a"), CAPACITY - 4);
        let Err(refusal) = batch.take_all() else {
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
        batch.tickets[0].step = take(CAPACITY);
        let Err(refusal) = batch.take_all() else {
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
        let Err(refusal) = batch.take_all() else {
            panic!("granted")
        };
        assert_eq!(refusal.index, 3);
        for identifier in ["a", "b"] {
            assert_eq!(singles(home, home.key(identifier.as_bytes())), CAPACITY);
        }
    });
}

/// Takes all tokens of the bucket `key` under a quota with the given `span`. Returns the take,
/// which a test then undoes. Another quota with a span of hours has used the bucket before, so no
/// store deletes the record.
fn undone(home: &Home, key: Key<'_>, span: Ticks) -> Taken {
    home.take(key, &take(1), None);
    let step = Step::new(span, span);
    let outcome = home.take(key, &step, None);
    assert!(outcome.granted());
    Taken::new(0, step, outcome)
}

/// Waits until the store's clock has passed `instant`.
fn pass(home: &Home, instant: Timestamp) {
    while now(home, home.key(b"clock")) < instant {
        home.pass(MILLISECOND);
    }
}

/// Takes tokens that refill in a quarter of `span`, under a quota with a span of hours. Returns the
/// state of the bucket.
fn others_take(home: &Home, key: Key<'_>, span: Ticks) -> Timestamp {
    let outcome = home.take(key, &Step::new(span / 4, CAPACITY * HOUR), None);
    assert!(outcome.granted());
    outcome.empty_at
}

fn state(home: &Home, key: Key<'_>) -> Timestamp {
    home.take(key, &take(0).dry(), None).empty_at
}

#[test]
fn a_give_back_after_the_bucket_refilled_returns_nothing() {
    const SPAN: Ticks = 20 * MILLISECOND;
    homes::each(|home| {
        let key = home.key(b"refilled");
        let undone = undone(home, key, SPAN);
        pass(home, undone.outcome.empty_at + SPAN);
        let before = others_take(home, key, SPAN);
        home.put(key, &undone.give_back());
        assert_eq!(state(home, key), before, "the tokens are granted twice");
        // Control: a refund without a take to compare with gives back its whole cost.
        home.put(key, &crate::refund(1));
        assert_eq!(state(home, key), before - HOUR);
    });
}

#[test]
fn a_give_back_after_some_refill_returns_the_missing_part() {
    const SPAN: Ticks = 400 * MILLISECOND;
    homes::each(|home| {
        let key = home.key(b"part");
        let undone = undone(home, key, SPAN);
        pass(home, undone.outcome.empty_at + SPAN / 2);
        let before = others_take(home, key, SPAN);
        home.put(key, &undone.give_back());
        let returned = before - state(home, key);
        assert!(
            returned <= SPAN / 2,
            "{returned}: more than a half is missing"
        );
        let full_at = undone.outcome.empty_at + SPAN;
        let least = full_at.saturating_since(now(home, key));
        assert!(returned >= least, "{returned}, not {least}");
    });
}

#[test]
fn a_give_back_at_once_returns_all() {
    homes::each(|home| {
        let key = home.key(b"at once");
        let step = take(CAPACITY);
        let outcome = home.take(key, &step, None);
        let undone = Taken {
            index: 0,
            step,
            outcome,
        };
        home.put(key, &undone.give_back());
        assert_eq!(singles(home, key), CAPACITY);
    });
}

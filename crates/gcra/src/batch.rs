//! Batches: takes tokens from several buckets or from none.
//!
//! The buckets of a batch form groups. The tokens of a group are taken at once: in shared memory
//! and on one Redis server in one operation, and on several remote servers at the same time. First
//! all buckets are checked without taking tokens. The first group needs no check if one operation
//! takes its tokens. Then the groups are charged in order. If a bucket then denies, all earlier
//! charges are given back.
//!
//! Shared memory is the last group. So its tokens are never held during a round trip to another
//! store, and other calls in shared memory are not denied meanwhile.
//!
//! A batch of several groups is not atomic. Another call may take tokens between the check and the
//! charge. Another call may also be denied until the tokens are given back. A batch never grants
//! too much, because a give-back returns only the part that the bucket still lacks
//! ([`Put::worth`]).
//!
//! A step of a batch is a [`Ticket`], which states its place in the caller's list. So tickets can
//! be sorted, and a denial still names the step that was denied.

use crate::key::Key;
use crate::limit::MAX_SPAN;
use crate::step::{Outcome, Step};
use crate::store::Put;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Deref;

/// A list with a value for each step of a batch. Most batches have few steps, and up to `MOST`
/// values need no heap memory.
pub type Few<T, const MOST: usize = 4> = SmallVec<[T; MOST]>;

/// The result of a batch: the takes of all buckets, or the one take that was denied.
pub type Batched = Result<Few<Taken>, Taken>;

/// A step of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket<'k> {
    /// The index of the step in the caller's list.
    pub index: usize,
    pub key: Key<'k>,
    pub step: Step,
}

/// Tickets on buckets of one store, sorted by bucket. The tickets on a bucket are neighbours and in
/// order. The buckets are in the order of their first tickets.
#[derive(Clone, Copy, Debug)]
pub struct Grouped<'a, 'k>(&'a [Ticket<'k>]);

impl<'a, 'k> Grouped<'a, 'k> {
    /// The greatest number of tickets that are compared with each other. For more tickets, a hash
    /// map is faster.
    const COMPARED: usize = 8;

    /// Sorts the tickets by bucket. Equal hashes are the same bucket.
    pub fn new(tickets: &'a mut [Ticket<'k>]) -> Self {
        if !Self::are_distinct(tickets) {
            let mut first_of = HashMap::new();
            let mut sorted: Vec<(usize, Ticket<'_>)> = Vec::with_capacity(tickets.len());
            for (at, &ticket) in tickets.iter().enumerate() {
                let first = *first_of.entry(ticket.key.hash).or_insert(at);
                sorted.push((first, ticket));
            }
            sorted.sort_by_key(|&(first, _)| first);
            for (place, (_, ticket)) in tickets.iter_mut().zip(sorted) {
                *place = ticket;
            }
        }
        Self(tickets)
    }

    /// Returns true if each ticket is on another bucket, as in most batches. Returns false if there
    /// are too many tickets to compare.
    fn are_distinct(tickets: &[Ticket<'_>]) -> bool {
        let is_new = |at: usize| {
            let mut earlier = tickets[..at].iter();
            earlier.all(|ticket| ticket.key.hash != tickets[at].key.hash)
        };
        tickets.len() <= Self::COMPARED && (1..tickets.len()).all(is_new)
    }

    /// Returns the tickets on each bucket. None of these lists is empty.
    pub fn buckets(self) -> impl Iterator<Item = &'a [Ticket<'k>]> {
        self.0.chunk_by(|a, b| a.key.hash == b.key.hash)
    }
}

impl<'k> Deref for Grouped<'_, 'k> {
    type Target = [Ticket<'k>];

    fn deref(&self) -> &[Ticket<'k>] {
        self.0
    }
}

/// The take of all tokens that a batch requests from one bucket, and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The index of the first step of the batch on this bucket. If the bucket had too few tokens,
    /// the index of the first step that it denies.
    pub index: usize,
    /// The step that ran. Its cost is the sum of the costs of all steps of the batch on the bucket.
    pub step: Step,
    pub outcome: Outcome,
}

impl Taken {
    pub const fn new(index: usize, step: Step, outcome: Outcome) -> Self {
        Self {
            index,
            step,
            outcome,
        }
    }

    /// Returns the take with this outcome. `tickets` are all tickets on its bucket, at least one.
    pub fn of(tickets: &[Ticket<'_>], outcome: Outcome) -> Self {
        let blamed = match tickets {
            [first, _, ..] if !outcome.granted() => denied(tickets, outcome).unwrap_or(first),
            _ => &tickets[0],
        };
        Self::new(blamed.index, sum(tickets), outcome)
    }

    /// Returns the result of a batch with these tickets, at least one. All are on one bucket. Fails
    /// with the take if the outcome is a denial.
    pub fn all_of(tickets: &[Ticket<'_>], outcome: Outcome) -> Batched {
        let taken = Self::of(tickets, outcome);
        let all = || Few::from_elem(taken, 1);
        outcome.granted().then(all).ok_or(taken)
    }

    /// Returns the change that undoes the take. The change must run on the store that ran the step.
    pub fn give_back(&self) -> Put {
        Put::undo(&self.step, self.outcome.empty_at)
    }
}

/// The input of [`take_all`]: the groups, and the operations of their stores.
pub trait Batch {
    type Error;
    fn groups(&self) -> usize;
    /// Returns a take that would be denied, or `None`. Takes nothing.
    fn refused(&mut self) -> Result<Option<Taken>, Self::Error>;
    /// Takes the tokens of the buckets of a group, and adds the takes to `taken`. Returns the take
    /// that was denied, or `None`.
    fn take(&mut self, group: usize, taken: &mut Few<Taken>) -> Result<Option<Taken>, Self::Error>;
    /// Undoes takes of this batch with [`Taken::give_back`]. Fails if a store fails. The other
    /// takes are still undone.
    fn give_back(&mut self, taken: &[Taken]) -> Result<(), Self::Error>;
}

/// Takes the tokens of all groups or of none. Fails if a store fails. Earlier charges are then
/// given back as far as possible.
pub fn take_all<B: Batch>(batch: &mut B) -> Result<Batched, B::Error> {
    if let Some(refused) = batch.refused()? {
        return Ok(Err(refused));
    }
    let mut taken = Few::new();
    for group in 0..batch.groups() {
        match batch.take(group, &mut taken) {
            Ok(None) => {}
            Ok(Some(refused)) => {
                batch.give_back(&taken)?;
                return Ok(Err(refused));
            }
            Err(error) => {
                batch.give_back(&taken).ok();
                return Err(error);
            }
        }
    }
    Ok(Ok(taken))
}

/// Returns the first ticket that is denied if the tickets run in order on a bucket that has denied
/// their sum with this outcome. Each ticket must leave the greatest of their floors.
fn denied<'a, 'k>(tickets: &'a [Ticket<'k>], mut outcome: Outcome) -> Option<&'a Ticket<'k>> {
    let max_wait = sum(tickets).max_wait;
    tickets.iter().find(|ticket| {
        let step = Step {
            max_wait,
            ..ticket.step.at(outcome.now)
        };
        outcome = step.decide(outcome.empty_at, outcome.now);
        !outcome.granted()
    })
}

/// Returns one step that takes the tokens of all tickets on one bucket, at least one. Their steps
/// have one limit. The bucket must hold the greatest of their floors afterwards.
pub fn sum(tickets: &[Ticket<'_>]) -> Step {
    let mut all = tickets[0].step;
    for Ticket { step, .. } in &tickets[1..] {
        all.cost = all.cost.saturating_add(step.cost);
        all.max_wait = all.max_wait.min(step.max_wait);
    }
    // A cost above `MAX_SPAN` exceeds every capacity.
    all.cost = all.cost.min(MAX_SPAN + 1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::key::KeyHasher;
    use crate::step::Denial;

    fn tickets<'k>(names: &[&'k str]) -> Vec<Ticket<'k>> {
        let ticket = |(index, name): (usize, &&'k str)| Ticket {
            index,
            key: KeyHasher::new([1, 2]).key(name.as_bytes()),
            step: Step::new(1, 10),
        };
        names.iter().enumerate().map(ticket).collect()
    }

    /// Returns the indexes of the tickets on each bucket.
    fn grouped(names: &[&str]) -> Vec<Vec<usize>> {
        let mut tickets = tickets(names);
        let buckets = Grouped::new(&mut tickets).buckets();
        let indexes = |bucket: &[Ticket<'_>]| bucket.iter().map(|ticket| ticket.index).collect();
        buckets.map(indexes).collect()
    }

    #[test]
    fn tickets_on_one_bucket_become_neighbours_in_order() {
        assert_eq!(grouped(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(grouped(&["c", "a", "b"]), [[0], [1], [2]]);
        assert_eq!(Grouped::new(&mut tickets(&["c", "a"])).len(), 2);
        assert_eq!(
            grouped(&["c", "a", "c", "b", "a", "c"]),
            [vec![0, 2, 5], vec![1, 4], vec![3]]
        );
        // More tickets than are compared with each other.
        let many = ["b", "a", "c"].repeat(4);
        assert_eq!(grouped(&many), [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]);
        let all: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert!(grouped(&all).into_iter().eq((0..20).map(|index| [index])));
    }

    #[test]
    fn a_denial_names_the_first_ticket_that_the_bucket_cannot_pay() {
        let mut tickets = tickets(&["a"; 3]);
        for (ticket, cost) in tickets.iter_mut().zip([2, 3, 1]) {
            ticket.step.cost = cost;
        }
        let now = Timestamp(100);
        for (held, index) in [(0, 0), (1, 0), (2, 1), (4, 1), (5, 2)] {
            let outcome = sum(&tickets).decide(now - held, now);
            assert!(!outcome.granted());
            let taken = Taken::of(&tickets, outcome);
            assert_eq!((taken.index, taken.step.cost), (index, 6), "{held}");
        }
        // A denial that does not depend on tokens.
        let crowded = Outcome::denied(Denial::TableFull, Timestamp::ZERO, now);
        assert_eq!(Taken::of(&tickets, crowded).index, 0);
        let granted = sum(&tickets).decide(now - 6, now);
        assert_eq!(Taken::of(&tickets, granted).index, 0);
    }

    #[test]
    fn a_sum_leaves_the_greatest_floor_in_every_order() {
        for floors in [[0, -4], [-4, 0], [-4, -2]] {
            let mut tickets = tickets(&["a"; 2]);
            for (ticket, max_wait) in tickets.iter_mut().zip(floors) {
                (ticket.step.cost, ticket.step.max_wait) = (3, max_wait);
            }
            let now = Timestamp(100);
            for (held, index) in [(9, 1), (6, 0)] {
                let outcome = sum(&tickets).decide(now - held, now);
                assert!(!outcome.granted());
                assert_eq!(Taken::of(&tickets, outcome).index, index, "{floors:?}");
            }
            assert!(sum(&tickets).decide(now - 10, now).granted());
        }
    }

    #[test]
    fn a_sum_above_the_greatest_capacity_exceeds_every_capacity() {
        let mut tickets = tickets(&["a"; 2]);
        for ticket in &mut tickets {
            ticket.step = Step::new(MAX_SPAN, MAX_SPAN);
        }
        assert!(sum(&tickets).exceeds_capacity());
        assert!(!sum(&tickets[..1]).exceeds_capacity());
    }
}

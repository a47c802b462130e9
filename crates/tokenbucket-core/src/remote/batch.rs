//! Several steps on one remote store, all or none.

use super::denial_cache::Entry;
use super::{Answer, Ask, Failure, OnFailure, Remote, Replies, Reply, Transport, sure};
use crate::batch::{self, Batch, Taken, take_all};
use crate::clock::{BootClock, Clock, Ticks};
use crate::host::Host;
use crate::key::Key;
use crate::slots::counters::Event;
use crate::step::{Outcome, Step};
use std::convert::Infallible;

/// What became of a batch: all that was taken, or the one that refused.
pub type Batched = Result<Vec<Taken>, Taken>;

impl<T: Transport> Remote<T> {
    /// Takes all steps or none in one operation; `None` if the stores cannot do that. The buckets are of
    /// this store and others; this one's settings apply.
    ///
    /// # Errors
    /// As [`Remote::take`].
    pub fn take_all(
        &self,
        host: &Host,
        buckets: &[(&Self, Key<'_>)],
        steps: &[Step],
    ) -> Result<Option<Answer<Batched>>, Failure> {
        let joins = |(store, _): &(&Self, Key<'_>)| self.transport.joins(&store.transport);
        let Some(&(first, key)) = buckets.first().filter(|_| buckets.iter().all(joins)) else {
            return Ok(None);
        };
        let now = BootClock.now();
        let known = match known(host, buckets, steps, now) {
            Ok(known) => known,
            Err(refused) => {
                host.slots().count(Event::Hinted);
                return Ok(Some(sure(Err(refused))));
            }
        };
        let asks = asks(buckets, steps, &known, now);
        let name = first.transport.name(key.identifier);
        let asked = self.call(host, &name, now, |deadline| {
            self.transport.take_all(&asks, deadline)
        });
        let keys: Vec<_> = buckets.iter().map(|&(_, key)| key).collect();
        let answer = match asked {
            Ok(replies) => {
                learn(host, buckets, steps, &replies, now, &known);
                sure(read(&keys, steps, &replies))
            }
            Err(failed) => self.stand_in(host, failed, |_| {
                let Ok(answer) = take_all(&mut StandIn {
                    policy: self.settings.on_failure,
                    host,
                    keys: &keys,
                    steps,
                });
                answer
            })?,
        };
        Ok(Some(answer))
    }
}

/// Looks the buckets up in the denial cache.
///
/// # Errors
/// The first denial that the cache answers; the store is not asked then.
fn known<T: Transport>(
    host: &Host,
    buckets: &[(&Remote<T>, Key<'_>)],
    steps: &[Step],
    now: Ticks,
) -> Result<Vec<Option<Entry>>, Taken> {
    let buckets = buckets.iter().zip(steps).enumerate();
    buckets
        .map(|(index, (&(store, key), &step))| {
            let entry = store.hint(host, key, &step, now);
            match entry.and_then(|entry| store.told_by(&entry, &step, now)) {
                Some(outcome) => Err(Taken {
                    index,
                    step,
                    outcome,
                }),
                None => Ok(entry),
            }
        })
        .collect()
}

/// Makes the requests to the store.
fn asks<T: Transport>(
    buckets: &[(&Remote<T>, Key<'_>)],
    steps: &[Step],
    known: &[Option<Entry>],
    now: Ticks,
) -> Vec<Ask> {
    let buckets = buckets.iter().zip(steps).zip(known);
    buckets
        .map(|((&(store, key), &step), entry)| Ask {
            name: store.transport.name(key.identifier),
            step,
            first: None,
            seen: entry.and_then(|entry| store.seen(&entry, step.burst, now)),
        })
        .collect()
}

/// Notes what was granted, or else which buckets deny their step even by itself.
fn learn<T: Transport>(
    host: &Host,
    buckets: &[(&Remote<T>, Key<'_>)],
    steps: &[Step],
    replies: &Replies,
    sent: Ticks,
    hints: &[Option<Entry>],
) {
    let found = replies.outcomes.iter().zip(&replies.healed).zip(hints);
    for ((&(store, key), step), ((found, &healed), hint)) in buckets.iter().zip(steps).zip(found) {
        let reply = Reply {
            outcome: if replies.granted {
                *found
            } else {
                // Nothing was taken, so a step that the bucket would grant moves nothing.
                step.dry().decide(found.empty_at, found.now)
            },
            absent: false,
            healed,
        };
        store.learn(host, key, step, &reply, hint.as_ref(), sent);
    }
}

/// What the replies say of each step.
fn read(keys: &[Key<'_>], steps: &[Step], replies: &Replies) -> Batched {
    let outcomes = replies.outcomes.iter();
    if replies.granted {
        let taken = outcomes.zip(steps).enumerate();
        return Ok(taken
            .map(|(index, (&outcome, &step))| Taken {
                index,
                step,
                outcome,
            })
            .collect());
    }
    let same_bucket = |a: usize, b: usize| keys[a] == keys[b];
    let found = outcomes.enumerate().find_map(|(index, found)| {
        let seen = steps[index].dry().decide(found.empty_at, found.now);
        batch::refused(&same_bucket, steps, index, seen)
    });
    // The store has refused by the same arithmetic, so one of the steps does.
    found.map_or_else(|| Ok(Vec::new()), Err)
}

/// The buckets that stand in while the store is down.
struct StandIn<'a> {
    policy: OnFailure,
    host: &'a Host,
    keys: &'a [Key<'a>],
    steps: &'a [Step],
}

impl Batch for StandIn<'_> {
    type Error = Infallible;

    fn steps(&self) -> &[Step] {
        self.steps
    }

    fn same_bucket(&self, a: usize, b: usize) -> bool {
        self.keys[a] == self.keys[b]
    }

    fn take(&mut self, index: usize, step: &Step) -> Result<Outcome, Infallible> {
        Ok(self.policy.answer(self.host, self.keys[index], step, None))
    }

    fn give_back(&mut self, taken: &Taken) -> Result<(), Infallible> {
        if self.policy == OnFailure::Local {
            let key = self.keys[taken.index];
            self.host.slots().put(key, &taken.give_back());
        }
        Ok(())
    }
}

//! Batches: several steps on remote stores in one operation, which takes the tokens of all or none.

use super::time_left::TimeLeft;
use super::{Answer, Ask, Failure, OnFailure, Remote, Reply, Transport, sure};
use gcra::batch::{Batched, Taken, by_bucket, by_key, sum};
use gcra::clock::boot_clock;
use gcra::key::Key;
use gcra::step::{Outcome, Step};
use segment::host::Host;
use segment::slots::counters::By;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

impl<T: Transport> Remote<'_, T> {
    /// Takes the tokens of all steps or of none, in one operation. Some of the buckets may be in
    /// other stores. This store's settings apply to all buckets. The operation ends with the time
    /// `left`. Returns `None` if there are no buckets, or if their stores cannot do this in one
    /// operation.
    ///
    /// # Errors
    /// Fails like [`Remote::take`].
    pub fn take_all(
        &self,
        buckets: &[(&Self, Key<'_>)],
        steps: &[Step],
        left: TimeLeft,
    ) -> Result<Option<Answer<Batched>>, Failure> {
        let Some(&(_, first)) = buckets.first() else {
            return Ok(None);
        };
        let joins = |&(store, key): &(&Self, Key<'_>)| {
            let (mine, its) = (first.identifier, key.identifier);
            self.transport.joins(mine, &store.transport, its)
        };
        if !buckets.iter().all(joins) {
            return Ok(None);
        }
        let now = boot_clock();
        let prepared = buckets.iter().zip(steps).enumerate();
        let prepared = prepared.map(|(index, (&(store, key), &step))| {
            let prepared = store.prepare(key, &step, now);
            prepared.map_err(|outcome| taken(index, step, outcome))
        });
        let (mut asks, hints): (Vec<_>, Vec<_>) = match prepared.collect() {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(Some(sure(Err(refused)))),
        };
        // Hashing long identifiers has taken time, which is no part of the timeout.
        let now = boot_clock();
        for (ask, hint) in asks.iter_mut().zip(&hints) {
            self.set_seen(ask, hint.as_ref(), now);
        }
        let keys: Vec<_> = buckets.iter().map(|&(_, key)| key).collect();
        let ask = |transport: &T, deadline| {
            let mut replies = transport.take_all(&asks, deadline)?;
            let granted = replies.iter().all(|reply| reply.outcome.granted());
            for (index, reply) in replies.iter_mut().enumerate() {
                let ((store, key), step) = (buckets[index], &steps[index]);
                if !granted {
                    // The batch took nothing. Decide each step on its own from the state that the
                    // store returned.
                    reply.outcome = step.dry().decide(reply.outcome.empty_at, reply.outcome.now);
                }
                store.learn(key, step, reply, hints[index].as_ref(), now);
                store.note_clock(reply);
            }
            let batched = read(&asks, steps, granted, &replies);
            count(self.host, &keys, &batched);
            Ok(batched)
        };
        let stand_in = |policy, _: &_| stand_in(policy, buckets, &keys, steps);
        let deadline = now + left.of(self.settings.timeout);
        let answer = self.ask_until(deadline, &asks[0].name, ask, stand_in);
        answer.map(Some)
    }
}

const fn taken(index: usize, step: Step, outcome: Outcome) -> Taken {
    Taken {
        index,
        step,
        outcome,
    }
}

/// Counts the grant of each bucket, or the one denial of the bucket that refused.
fn count(host: &Host, keys: &[Key<'_>], batched: &Batched) {
    let count = |index: usize, granted| host.slots().count_for(keys[index], By::Store, granted);
    match batched {
        Ok(_) => by_key(keys).iter().for_each(|mine| count(mine[0], true)),
        Err(refused) => count(refused.index, false),
    }
}

/// Converts the replies to the outcomes of all steps, or to the first denied step.
fn read(asks: &[Ask], steps: &[Step], granted: bool, replies: &[Reply]) -> Batched {
    if granted {
        let outcomes = replies.iter().map(|reply| reply.outcome).enumerate();
        let all = outcomes.map(|(index, outcome)| taken(index, steps[index], outcome));
        return Ok(all.collect());
    }
    let records = by_record(asks).into_iter();
    let refused = records.filter_map(|mine| refusal(&mine, steps, replies[mine[0]].outcome));
    // The store uses the same arithmetic, so one of the buckets denies here, too.
    refused
        .min_by_key(|refused| refused.index)
        .map_or_else(|| Ok(Vec::new()), Err)
}

/// Groups the indexes of `asks` by their records. One record may have several keys, because its
/// name is a prefix and an identifier, which are joined without a boundary.
fn by_record(asks: &[Ask]) -> Vec<Vec<usize>> {
    let hash =
        |ask: &Ask| u128::from(BuildHasherDefault::<DefaultHasher>::default().hash_one(&ask.name));
    by_bucket(asks.iter().map(hash), |a, b| asks[a].name == asks[b].name)
}

/// Returns the denial of the steps `mine`, which are on one record in the state `seen`, or `None`
/// if they would be granted.
fn refusal(mine: &[usize], steps: &[Step], seen: Outcome) -> Option<Taken> {
    let outcome = sum(mine, steps).dry().decide(seen.empty_at, seen.now);
    if !outcome.granted() {
        return Some(Taken::of(mine, steps, outcome));
    }
    // Under several prefixes, the steps may have different quotas. The store runs them in order.
    let mut empty_at = seen.empty_at;
    mine.iter().find_map(|&index| {
        let outcome = steps[index].decide(empty_at, seen.now);
        empty_at = outcome.empty_at;
        (!outcome.granted()).then(|| taken(index, steps[index], outcome))
    })
}

/// Decides a batch by the failure policy.
fn stand_in<T: Transport>(
    policy: OnFailure,
    buckets: &[(&Remote<'_, T>, Key<'_>)],
    keys: &[Key<'_>],
    steps: &[Step],
) -> Batched {
    if let (OnFailure::Local, Some((store, _))) = (policy, buckets.first()) {
        for (store, key) in buckets {
            store.inherit(*key, store.find(*key, boot_clock()));
        }
        return store.host.slots().take_all(keys, steps);
    }
    let answers = buckets.iter().zip(steps).enumerate();
    let answers = answers.map(|(index, (&(store, key), &step))| {
        let taken = taken(index, step, store.stand_in(policy, key, &step, None));
        taken.outcome.granted().then_some(taken).ok_or(taken)
    });
    answers.collect()
}

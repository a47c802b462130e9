//! Batches: several steps on remote stores in one operation, which takes the tokens of all or none.

use super::denial_cache::CacheEntry;
use super::server_clock;
use super::time_left::TimeLeft;
use super::{Answer, Cause, Failure, OnFailure, Remote, Reply, StepRequest, Transport, Visit};
use gcra::batch::sum;
use gcra::{
    Batched, Denial, Few, Grouped, Key, Outcome, Step, Taken, Ticket, Timestamp, boot_clock,
};
use segment::{By, Host};
use std::collections::HashMap;

impl<T: Transport> Remote<'_, T> {
    /// Takes the tokens of all steps or of none, in one operation. Some of the buckets may be in
    /// other stores. The shortest of their timeouts applies, and if the server fails, the policy of
    /// each bucket's own store. The operation ends with the time `left`. Returns `None` if there
    /// are no buckets, or if their stores cannot do this in one operation. A denial as
    /// [contended](Denial::Contended) means that the buckets are on several servers, or that the
    /// server refuses one of them. Then each must be decided on its own.
    pub fn take_all(
        &self,
        buckets: &[(&Self, Ticket<'_>)],
        left: TimeLeft,
    ) -> Result<Option<Answer<Batched>>, Failure> {
        let Some((_, first)) = buckets.first() else {
            return Ok(None);
        };
        let joins = |(store, ticket): &(&Self, Ticket<'_>)| {
            let (mine, its) = (first.key.identifier, ticket.key.identifier);
            self.transport.joins(mine, &store.transport, its)
        };
        if !buckets.iter().all(joins) {
            return Ok(None);
        }
        let exceeds = |(_, ticket): &&(&Self, Ticket<'_>)| ticket.step.exceeds_capacity();
        if let Some((store, ticket)) = buckets.iter().find(exceeds) {
            let answer = store.take(ticket.key, &ticket.step, None)?;
            return Ok(Some(answer.map(|outcome| Err(taken(ticket, outcome)))));
        }
        let now = boot_clock();
        let prepared = buckets.iter().map(|(store, ticket)| {
            let prepared = store.prepare(ticket.key, &ticket.step, now);
            prepared.map_err(|cached| {
                let mine = tickets_on(buckets, ticket.key);
                refusal(&mine, cached).unwrap_or(taken(ticket, cached))
            })
        });
        let mut prepared: Vec<_> = match prepared.collect() {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(Some(Answer::sure(Err(refused)))),
        };
        // Hashing long identifiers has taken time, which is no part of the timeout.
        let now = boot_clock();
        for prepared in &mut prepared {
            self.set_seen(prepared, now);
        }
        let prepared = prepared.into_iter().map(|it| (it.request, it.entry));
        let (requests, entries): (Vec<_>, Vec<_>) = prepared.unzip();
        let is_one = buckets.iter().all(|(_, it)| it.key.hash == first.key.hash);
        let operation = |visit: &Visit<'_, T>| match T::take_all(visit, &requests) {
            Ok(Some(replies)) => self.batched(visit, replies, &requests, &entries, buckets, now),
            Err(cause) if is_one || !cause.is_of_one_bucket() => Err(cause),
            Ok(None) | Err(_) => {
                // The caller does not see this denial, because it repeats the call.
                let denied = Outcome::denied(Denial::Contended, now, now);
                Ok(Err(taken(&buckets[0].1, denied)))
            }
        };
        let stores = || buckets.iter().map(|&(store, _)| store);
        let strictest = stores().max_by_key(|it| it.on_failure().strictness());
        let timeout = stores().map(Self::timeout).min();
        let deadline = now + left.of(timeout.unwrap_or(self.settings.timeout));
        let name = &requests[0].name;
        let strictest = strictest.unwrap_or(self);
        let answer = strictest.operate_until(deadline, name, operation, |_, _| fallback(buckets));
        answer.map(Some)
    }

    /// Converts the replies to a batch that was sent at `now`, and learns from them.
    fn batched(
        &self,
        visit: &Visit<'_, T>,
        mut replies: Vec<Reply>,
        requests: &[StepRequest],
        entries: &[Option<CacheEntry>],
        buckets: &[(&Self, Ticket<'_>)],
        now: Timestamp,
    ) -> Result<Batched, Cause> {
        let granted = replies.iter().all(|reply| reply.outcome.granted());
        let server = T::server(&visit.route);
        for ((_, ticket), Reply { outcome, .. }) in buckets.iter().zip(&replies) {
            if server_clock::is_outside(server, &ticket.step, outcome)? {
                return Ok(Err(taken(ticket, *outcome)));
            }
        }
        for (index, reply) in replies.iter_mut().enumerate() {
            let (store, Ticket { key, step, .. }) = buckets[index];
            if !granted {
                // The batch took nothing. Decide each step on its own from the state that the
                // store returned.
                reply.outcome = step
                    .dry()
                    .at(reply.outcome.now)
                    .decide(reply.outcome.empty_at, reply.outcome.now);
            }
            store.learn(key, &step, reply, entries[index].as_ref(), now);
            store.note_clock(reply);
        }
        let batched = read(requests, buckets, granted, &replies);
        count(self.host, buckets, &batched);
        Ok(batched)
    }
}

const fn taken(ticket: &Ticket<'_>, outcome: Outcome) -> Taken {
    Taken::new(ticket.index, ticket.step, outcome)
}

fn tickets<'k, S>(buckets: &[(S, Ticket<'k>)]) -> Few<Ticket<'k>> {
    buckets.iter().map(|&(_, ticket)| ticket).collect()
}

/// Returns the tickets on one bucket, which may be listed several times.
fn tickets_on<'k, S>(buckets: &[(S, Ticket<'k>)], key: Key<'_>) -> Few<Ticket<'k>> {
    let mine = buckets.iter().filter(|(_, it)| it.key.hash == key.hash);
    mine.map(|&(_, ticket)| ticket).collect()
}

/// Counts the grant of each bucket, or the one denial of the bucket that refused.
fn count<S>(host: &Host, buckets: &[(S, Ticket<'_>)], batched: &Batched) {
    let count = |key, granted| host.slots().count_for(key, By::Store, granted);
    let mut tickets = tickets(buckets);
    match batched {
        Ok(_) => {
            let buckets = Grouped::new(&mut tickets).buckets();
            buckets.for_each(|mine| count(mine[0].key, true));
        }
        Err(refused) => {
            let refusing = tickets.iter().filter(|it| it.index == refused.index);
            refusing.for_each(|ticket| count(ticket.key, false));
        }
    }
}

/// Converts the replies to the outcomes of all steps, or to the first denied step.
fn read<S>(
    requests: &[StepRequest],
    buckets: &[(S, Ticket<'_>)],
    granted: bool,
    replies: &[Reply],
) -> Batched {
    if granted {
        let all = buckets.iter().zip(replies);
        let all = all.map(|((_, ticket), reply)| taken(ticket, reply.outcome));
        return Ok(all.collect());
    }
    let records = by_record(requests, buckets, replies).into_iter();
    let refused = records.filter_map(|(seen, mine)| refusal(&mine, seen));
    // The store uses the same arithmetic, so one of the buckets denies here, too.
    refused
        .min_by_key(|refused| refused.index)
        .map_or_else(|| Ok(Few::new()), Err)
}

/// Groups the tickets by their records, and returns each with the outcome of its first reply. One
/// record may have several keys, because its name is a prefix and an identifier, which are joined
/// without a boundary.
fn by_record<'k, S>(
    requests: &[StepRequest],
    buckets: &[(S, Ticket<'k>)],
    replies: &[Reply],
) -> Vec<(Outcome, Vec<Ticket<'k>>)> {
    let (mut records, mut places) = (Vec::new(), HashMap::new());
    for ((request, &(_, ticket)), reply) in requests.iter().zip(buckets).zip(replies) {
        let place = *places.entry(&request.name).or_insert(records.len());
        if place == records.len() {
            records.push((reply.outcome, Vec::new()));
        }
        records[place].1.push(ticket);
    }
    records
}

/// Returns the denial of the tickets `mine`, which are on one record in the state `seen`, or `None`
/// if they would be granted.
fn refusal(mine: &[Ticket<'_>], seen: Outcome) -> Option<Taken> {
    let outcome = sum(mine).dry().at(seen.now).decide(seen.empty_at, seen.now);
    if !outcome.granted() {
        return Some(Taken::of(mine, outcome));
    }
    // Stores with different prefixes may share the record, and their steps may have different
    // quotas. The store runs the steps in order.
    let max_wait = sum(mine).max_wait;
    let mut empty_at = seen.empty_at;
    mine.iter().find_map(|ticket| {
        let step = Step {
            max_wait,
            ..ticket.step.at(seen.now)
        };
        let outcome = step.decide(empty_at, seen.now);
        empty_at = outcome.empty_at;
        (!outcome.granted()).then(|| taken(ticket, outcome))
    })
}

/// Decides each bucket by the strictest policy of its stores. The tokens of this host's own buckets
/// are taken at once, after the others.
fn fallback<T: Transport>(buckets: &[(&Remote<'_, T>, Ticket<'_>)]) -> Batched {
    let policy = |ticket: &Ticket<'_>| {
        let mine = buckets
            .iter()
            .filter(|(_, it)| it.key.hash == ticket.key.hash);
        let policies = mine.map(|(store, _)| store.on_failure());
        policies.max_by_key(|it| it.strictness())
    };
    let is_local = |(_, ticket): &(_, Ticket<'_>)| policy(ticket) == Some(OnFailure::Local);
    let (local, others): (Vec<_>, Vec<_>) = buckets.iter().copied().partition(is_local);
    let answers = others.iter().map(|(store, ticket)| {
        let policy = policy(ticket).unwrap_or(store.on_failure());
        let taken = taken(
            ticket,
            store.fallback(policy, ticket.key, &ticket.step, None),
        );
        taken.outcome.granted().then_some(taken).ok_or(taken)
    });
    let mut all = answers.collect::<Batched>()?;
    if let Some((store, _)) = local.first() {
        for (store, ticket) in &local {
            let entry = store.find(ticket.key, ticket.step.lifetime(), boot_clock());
            store.inherit(ticket.key, entry, ticket.step.lifetime());
        }
        let mut tickets = tickets(&local);
        all.extend(store.host.slots().take_all(Grouped::new(&mut tickets))?);
    }
    Ok(all)
}

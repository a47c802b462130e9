//! The mode "enforce": a request takes a token from each rate and a permit from each limit of
//! concurrent requests, or nothing.
//!
//! First the tokens are checked, and nothing is written. Then the permits are acquired in the order
//! of the settings, and then the tokens are taken. If permits came first, a client without tokens
//! could hold them while its requests are denied, and so deny the requests of others.

use super::asked::Asked;
use super::block;
use super::permits::OfRequest;
use super::rules::RuleBuckets;
use gcra::batch::{Few, Grouped, Taken};
use gcra::{Limit, Ticket};
use guard::{Measure, Rule};
use segment::host::Host;
use segment::slots::SharedMemory;

/// The limit that denies a request, with what the response states.
pub enum Exceeded<'a> {
    /// A rate: its bucket denies.
    Tokens(&'a Limit, Taken),
    /// A limit of concurrent requests, of which no permit could be taken.
    Permits(&'a Rule),
}

/// A rule whose limit is a rate.
type Rate<'a> = (&'a RuleBuckets, &'a Limit);

/// Takes a token from each rate and a permit from each limit of concurrent requests, or nothing.
/// The permits are held until the request ends.
pub fn enforce<'a>(
    host: &Host,
    rules: &[&'a RuleBuckets],
    asked: &Asked<'_>,
) -> Result<(), Exceeded<'a>> {
    let mut rates = Few::<Rate<'_>>::new();
    let mut concurrent = Few::<(&RuleBuckets, u16)>::new();
    for &rule in rules {
        match rule.measure() {
            Measure::Rate { limit, .. } => rates.push((rule, limit)),
            &Measure::Concurrent(limit) => concurrent.push((rule, limit)),
        }
    }
    let store = host.slots();
    if concurrent.is_empty() {
        return take(store, &rates, asked);
    }
    check(store, &rates, asked)?;
    let mut permits = OfRequest::default();
    let acquired = acquire(&mut permits, host, &concurrent, asked);
    let taken = acquired.and_then(|()| take(store, &rates, asked));
    match &taken {
        Ok(()) => permits.count_granted(host),
        Err(_) => permits.release(),
    }
    taken
}

/// Acquires a permit of each limit, until one has none.
fn acquire<'a>(
    permits: &mut OfRequest,
    host: &Host,
    rules: &[(&'a RuleBuckets, u16)],
    asked: &Asked<'_>,
) -> Result<(), Exceeded<'a>> {
    for &(rule, limit) in rules {
        let identifier = asked.identifier(rule);
        let key = rule.key(&identifier);
        if !permits.acquire(host, key, limit) {
            asked.count_denied(host.slots(), key.row);
            return Err(Exceeded::Permits(rule));
        }
    }
    Ok(())
}

/// Takes a token from the bucket of each rule or from none.
fn take<'a>(
    store: &SharedMemory,
    rates: &[Rate<'a>],
    asked: &Asked<'_>,
) -> Result<(), Exceeded<'a>> {
    // One limit needs no batch, which takes longer.
    let &[rate] = rates else {
        return in_batch(store, rates, asked, |tickets| store.take_all(tickets).err());
    };
    let (rule, limit) = rate;
    let identifier = asked.identifier(rule);
    let step = limit.step_whole(1);
    let outcome = store.take(rule.key(&identifier), &step, None);
    if outcome.granted() {
        return Ok(());
    }
    let index = 0;
    let denied = Taken {
        index,
        step,
        outcome,
    };
    Err(refusal(store, rate, &identifier, asked, denied))
}

/// Checks that the bucket of each rule has a token.
fn check<'a>(
    store: &SharedMemory,
    rates: &[Rate<'a>],
    asked: &Asked<'_>,
) -> Result<(), Exceeded<'a>> {
    in_batch(store, rates, asked, |tickets| store.refused(tickets))
}

/// Runs a batch with a ticket for each rule. Fails with the refusal of the rule whose bucket
/// denied.
fn in_batch<'a>(
    store: &SharedMemory,
    rates: &[Rate<'a>],
    asked: &Asked<'_>,
    batch: impl FnOnce(Grouped<'_, '_>) -> Option<Taken>,
) -> Result<(), Exceeded<'a>> {
    if rates.is_empty() {
        return Ok(());
    }
    let identifiers = rates.iter().map(|(rule, _)| asked.identifier(rule));
    let identifiers: Few<Vec<u8>> = identifiers.collect();
    let tickets = rates.iter().zip(&identifiers).enumerate();
    let tickets = tickets.map(|(index, ((rule, limit), identifier))| Ticket {
        index,
        key: rule.key(identifier),
        step: limit.step_whole(1),
    });
    let mut tickets: Few<_> = tickets.collect();
    batch(Grouped::new(&mut tickets)).map_or(Ok(()), |denied| {
        let index = denied.index.min(rates.len() - 1);
        let identifier = &identifiers[index];
        Err(refusal(store, rates[index], identifier, asked, denied))
    })
}

/// Returns the refusal by the bucket of a rule. Counts the denied client, and blocks it if the
/// limit has a block.
fn refusal<'a>(
    store: &SharedMemory,
    (rule, limit): Rate<'a>,
    identifier: &[u8],
    asked: &Asked<'_>,
    denied: Taken,
) -> Exceeded<'a> {
    let key = rule.key(identifier);
    asked.count_denied(store, key.row);
    let blocked = block::after(store, rule, key, asked, &denied);
    if blocked.is_some() {
        block::report(store, rule, asked);
    }
    Exceeded::Tokens(limit, blocked.unwrap_or(denied))
}

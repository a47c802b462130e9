//! The mode "enforce": a request takes a token from each rate and a permit from each limit of
//! concurrent requests, or nothing.
//!
//! First the tokens are checked, and nothing is written. Then the permits are acquired in the order
//! of the settings, and then the tokens are taken. If permits came first, a client without tokens
//! could hold them while its requests are denied, and so deny the requests of others.

use super::block;
use super::counted::CountedRequest;
use super::permits::OfRequest;
use super::rules::RuleBuckets;
use gcra::decision::remaining;
use gcra::{Batched, Few, Grouped, Limit, Taken, Ticket};
use guard::{Measure, Rule};
use segment::{Host, Refusal, SharedMemory};

/// The tokens and permits that a request has taken.
pub struct Granted<'a> {
    pub permits: OfRequest,
    /// The rate with the fewest tokens left, and the take from its bucket.
    pub tokens: Option<(&'a Limit, Taken)>,
}

/// The limit that denies a request, with what the response states.
pub enum Exceeded<'a> {
    /// A rate: its bucket denies.
    Tokens(&'a Rule, &'a Limit, Taken),
    /// A limit of concurrent requests, of which no permit could be taken.
    Permits(&'a Rule, Refusal),
}

/// A rule whose limit is a rate.
type Rate<'a> = (&'a RuleBuckets, &'a Limit);

/// Takes a token from each rate and a permit from each limit of concurrent requests, or nothing.
/// The permits are held until the request ends.
pub fn enforce<'a>(
    host: &Host,
    rules: &[&'a RuleBuckets],
    counted: &CountedRequest<'_>,
) -> Result<Granted<'a>, Exceeded<'a>> {
    let mut rates = Few::<Rate<'_>>::new();
    let mut concurrent = Few::<(&RuleBuckets, u16)>::new();
    for &rule in rules {
        match rule.measure() {
            Measure::Rate { limit, .. } => rates.push((rule, limit)),
            &Measure::Concurrent(limit) => concurrent.push((rule, limit)),
        }
    }
    let store = host.slots();
    let mut permits = OfRequest::default();
    if concurrent.is_empty() {
        let tokens = take(store, &rates, counted)?;
        return Ok(Granted { permits, tokens });
    }
    check(store, &rates, counted)?;
    let acquired = acquire(&mut permits, host, &concurrent, counted);
    match acquired.and_then(|()| take(store, &rates, counted)) {
        Ok(tokens) => {
            permits.count_granted(host);
            Ok(Granted { permits, tokens })
        }
        Err(exceeded) => {
            permits.release();
            Err(exceeded)
        }
    }
}

/// Acquires a permit of each limit, until one has none.
fn acquire<'a>(
    permits: &mut OfRequest,
    host: &Host,
    rules: &[(&'a RuleBuckets, u16)],
    counted: &CountedRequest<'_>,
) -> Result<(), Exceeded<'a>> {
    for &(rule, limit) in rules {
        let identifier = counted.identifier(rule);
        let key = rule.key(&identifier);
        if let Err(refusal) = permits.acquire(host, key, limit) {
            counted.count_denied(host.slots(), key.row);
            return Err(Exceeded::Permits(rule, refusal));
        }
    }
    Ok(())
}

/// Takes a token from the bucket of each rule or from none. Returns the take that left the fewest
/// tokens.
fn take<'a>(
    store: &SharedMemory,
    rates: &[Rate<'a>],
    counted: &CountedRequest<'_>,
) -> Result<Option<(&'a Limit, Taken)>, Exceeded<'a>> {
    // One limit needs no batch, which takes longer.
    let &[rate] = rates else {
        return in_batch(store, rates, counted, |tickets| store.take_all(tickets));
    };
    let (rule, limit) = rate;
    let identifier = counted.identifier(rule);
    let step = limit.step_whole(1);
    let outcome = store.take(rule.key(&identifier), &step, None);
    let taken = Taken::new(0, step, outcome);
    if outcome.granted() {
        return Ok(Some((limit, taken)));
    }
    Err(refusal(store, rate, &identifier, counted, taken))
}

/// Checks that the bucket of each rule has a token.
fn check<'a>(
    store: &SharedMemory,
    rates: &[Rate<'a>],
    counted: &CountedRequest<'_>,
) -> Result<(), Exceeded<'a>> {
    let check = |tickets: Grouped<'_, '_>| store.refused(tickets).map_or(Ok(Few::new()), Err);
    in_batch(store, rates, counted, check).map(drop)
}

/// Runs a batch with a ticket for each rule. Returns the take that left the fewest tokens, if there
/// is one. Fails with the refusal of the rule whose bucket denied.
fn in_batch<'a>(
    store: &SharedMemory,
    rates: &[Rate<'a>],
    counted: &CountedRequest<'_>,
    batch: impl FnOnce(Grouped<'_, '_>) -> Batched,
) -> Result<Option<(&'a Limit, Taken)>, Exceeded<'a>> {
    if rates.is_empty() {
        return Ok(None);
    }
    let identifiers = rates.iter().map(|(rule, _)| counted.identifier(rule));
    let identifiers: Few<Vec<u8>> = identifiers.collect();
    let tickets = rates.iter().zip(&identifiers).enumerate();
    let tickets = tickets.map(|(index, ((rule, limit), identifier))| Ticket {
        index,
        key: rule.key(identifier),
        step: limit.step_whole(1),
    });
    let mut tickets: Few<_> = tickets.collect();
    let limit = |taken: &Taken| rates[taken.index.min(rates.len() - 1)].1;
    match batch(Grouped::new(&mut tickets)) {
        Ok(taken) => {
            let left = |taken: &&Taken| remaining(limit(taken), &taken.step, &taken.outcome);
            let tightest = taken.iter().min_by_key(left);
            Ok(tightest.map(|taken| (limit(taken), *taken)))
        }
        Err(denied) => {
            let index = denied.index.min(rates.len() - 1);
            let identifier = &identifiers[index];
            Err(refusal(store, rates[index], identifier, counted, denied))
        }
    }
}

/// Returns the refusal by the bucket of a rule. Counts the denied client, and blocks it if the
/// limit has a block.
fn refusal<'a>(
    store: &SharedMemory,
    (rule, limit): Rate<'a>,
    identifier: &[u8],
    counted: &CountedRequest<'_>,
    denied: Taken,
) -> Exceeded<'a> {
    let key = rule.key(identifier);
    counted.count_denied(store, key.row);
    let blocked = block::after(store, rule, key, counted, &denied);
    if blocked.is_some() {
        block::report(store, rule, counted);
    }
    Exceeded::Tokens(rule, limit, blocked.unwrap_or(denied))
}

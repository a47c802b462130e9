//! The mode "enforce": a request takes a token from each rate and a permit from each limit of
//! concurrent requests, or nothing.
//!
//! First the tokens are checked, and nothing is written. Then the permits are acquired in the order
//! of the settings, and then the tokens are taken. If permits came first, a client without tokens
//! could hold them while its requests are denied, and so deny the requests of others.

use super::block;
use super::counted::CountedRequest;
use super::decided;
use super::permits::OfRequest;
use super::rules::RuleBuckets;
use gcra::decision::remaining;
use gcra::{Batched, Few, Grouped, Limit, Taken, Ticket};
use guard::Measure;
use segment::Refusal;

/// The tokens and permits that a request has taken.
pub struct Granted<'a> {
    pub permits: OfRequest,
    /// The rate with the fewest tokens left, and the take from its bucket.
    pub tokens: Option<Tightest<'a>>,
}

/// The limit that denies a request, with what the response states.
pub enum Exceeded<'a> {
    /// A rate: its bucket denies.
    Tokens(&'a RuleBuckets, &'a Limit, Taken),
    /// A limit of concurrent requests, of which no permit could be taken, and the permits that it
    /// has for this request.
    Permits(&'a RuleBuckets, u16, Refusal),
}

/// A rate, and the take from its bucket.
type Tightest<'a> = (&'a Limit, Taken);

/// A rule whose limit is a rate.
type Rate<'a> = (&'a RuleBuckets, &'a Limit);

impl CountedRequest<'_, '_> {
    /// Takes a token from each rate and a permit from each limit of concurrent requests, or
    /// nothing. The permits are held until the request ends.
    pub fn enforce<'a>(&self, rules: &[&'a RuleBuckets]) -> Result<Granted<'a>, Exceeded<'a>> {
        let mut rates = Few::<Rate<'_>>::new();
        let mut concurrent = Few::<(&RuleBuckets, u16)>::new();
        for &rule in rules {
            match rule.measure() {
                Measure::Rate { limit, .. } => rates.push((rule, limit)),
                &Measure::Concurrent(limit) => concurrent.push((rule, limit)),
            }
        }
        let mut permits = OfRequest::default();
        if concurrent.is_empty() {
            let tokens = self.take(&rates)?;
            return Ok(Granted { permits, tokens });
        }
        let store = self.host.slots();
        let check = |tickets: Grouped<'_, '_>| store.refused(tickets).map_or(Ok(Few::new()), Err);
        self.in_batch(&rates, check)?;
        let acquired = self.acquire(&mut permits, &concurrent);
        match acquired.and_then(|()| self.take(&rates)) {
            Ok(tokens) => {
                permits.count_granted(self.host);
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
        &self,
        permits: &mut OfRequest,
        rules: &[(&'a RuleBuckets, u16)],
    ) -> Result<(), Exceeded<'a>> {
        for &(rule, limit) in rules {
            let identifier = self.identifier(rule);
            let key = rule.key(&identifier);
            let leave = self.left_permits(rule);
            if let Err(refusal) = permits.acquire(self.host, rule, key, [limit, leave]) {
                self.count_denied(key.row);
                return Err(Exceeded::Permits(rule, limit - leave, refusal));
            }
        }
        Ok(())
    }

    /// Takes a token from the bucket of each rule or from none. Returns the take that left the
    /// fewest tokens.
    fn take<'a>(&self, rates: &[Rate<'a>]) -> Result<Option<Tightest<'a>>, Exceeded<'a>> {
        let store = self.host.slots();
        // One limit needs no batch, which takes longer.
        let &[rate] = rates else {
            return self.in_batch(rates, |tickets| store.take_all(tickets));
        };
        let (rule, limit) = rate;
        let identifier = self.identifier(rule);
        let step = self.step(rule, limit);
        let outcome = store.take(rule.key(&identifier), &step, None);
        let taken = Taken::new(0, step, outcome);
        if outcome.granted() {
            decided::note_tokens(rule, limit, &taken);
            return Ok(Some((limit, taken)));
        }
        Err(self.refusal(rate, &identifier, taken))
    }

    /// Runs a batch with a ticket for each rule. Returns the take that left the fewest tokens, if
    /// there is one. Fails with the refusal of the rule whose bucket denied.
    fn in_batch<'a>(
        &self,
        rates: &[Rate<'a>],
        batch: impl FnOnce(Grouped<'_, '_>) -> Batched,
    ) -> Result<Option<Tightest<'a>>, Exceeded<'a>> {
        if rates.is_empty() {
            return Ok(None);
        }
        let identifiers = rates.iter().map(|(rule, _)| self.identifier(rule));
        let identifiers: Few<Vec<u8>> = identifiers.collect();
        let tickets = rates.iter().zip(&identifiers).enumerate();
        let tickets = tickets.map(|(index, ((rule, limit), identifier))| Ticket {
            index,
            key: rule.key(identifier),
            step: self.step(rule, limit),
        });
        let mut tickets: Few<_> = tickets.collect();
        let limit = |taken: &Taken| rates[taken.index.min(rates.len() - 1)].1;
        match batch(Grouped::new(&mut tickets)) {
            Ok(taken) => {
                for taken in &taken {
                    let (rule, limit) = rates[taken.index.min(rates.len() - 1)];
                    decided::note_tokens(rule, limit, taken);
                }
                let left = |taken: &&Taken| remaining(limit(taken), &taken.step, &taken.outcome);
                let tightest = taken.iter().min_by_key(left);
                Ok(tightest.map(|taken| (limit(taken), *taken)))
            }
            Err(denied) => {
                let index = denied.index.min(rates.len() - 1);
                Err(self.refusal(rates[index], &identifiers[index], denied))
            }
        }
    }

    /// Returns the refusal by the bucket of a rule. Counts the denied client, and blocks it if the
    /// limit has a block.
    fn refusal<'a>(&self, rate: Rate<'a>, identifier: &[u8], mut denied: Taken) -> Exceeded<'a> {
        let (rule, limit) = rate;
        denied.outcome.verdict = denied.step.reason(&denied.outcome);
        let key = rule.key(identifier);
        self.count_denied(key.row);
        let blocked = block::after(self, rule, key, &denied);
        if blocked.is_some() {
            block::report(self, rule);
        }
        Exceeded::Tokens(rule, limit, blocked.unwrap_or(denied))
    }
}

//! Blocks of clients that have used up the tokens of a limit with `block`.

use super::counted::CountedRequest;
use super::rules::{self, RuleBuckets};
use super::syslog;
use gcra::{Denial, Key, TICKS_PER_SECOND, Taken, Ticks, Verdict};
use guard::{Client, Measure};

/// Blocks the client of a denied request for the time that follows the word `block` in the limit of
/// `rule`. Does so only if the bucket lacked tokens. Trusted proxies and invalid addresses are not
/// blocked, because each of them stands for many clients. Returns the denial of the blocked bucket,
/// or `None` if this call has not blocked it.
pub fn after(
    counted: &CountedRequest<'_, '_>,
    rule: &RuleBuckets,
    key: Key<'_>,
    denied: &Taken,
) -> Option<Taken> {
    let pause = pause(rule)?;
    let lacks_tokens = denied.outcome.verdict == Verdict::Denied(Denial::Insufficient);
    let is_one = matches!(counted.client, Client::Known(_)) && !counted.is_proxy;
    if !lacks_tokens || !is_one {
        return None;
    }
    let outcome = counted.host.slots().block(key, &denied.step, pause)?;
    Some(Taken { outcome, ..*denied })
}

/// Writes the record of a block to the system's log, except for limits of applications.
pub fn report(counted: &CountedRequest<'_, '_>, rule: &RuleBuckets) {
    let Some(pause) = pause(rule).filter(|_| rule.is_of_operator) else {
        return;
    };
    let (client, name) = (counted.client, rule.name());
    let seconds = pause / TICKS_PER_SECOND;
    let record = format!("guard: blocked {client} for {seconds} s by \"{name}\"");
    if let Err(error) = syslog::write(&record) {
        let message = format!("guard: a block was not written to /dev/log: {error}");
        rules::log(counted.host.slots(), "syslog", &message);
    }
}

fn pause(rule: &RuleBuckets) -> Option<Ticks> {
    match *rule.measure() {
        Measure::Rate { block, .. } => block,
        Measure::Concurrent(_) => None,
    }
}

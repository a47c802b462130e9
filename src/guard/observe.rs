//! The mode "observe": each limit is evaluated alone, and denies nothing.
//!
//! The buckets and permits are not those of the mode "enforce". So the limits of a pool that only
//! observes take nothing from other pools, and each row counts what its limit alone would deny.

use super::block;
use super::counted::CountedRequest;
use super::decided;
use super::permits::OfRequest;
use super::rules::{self, RuleBuckets};
use gcra::Taken;
use guard::Measure;

/// Counts the decision of each limit. Logs the limits whose buckets would deny the request. Returns
/// the permits, which are held until the request ends.
pub fn observe(counted: &CountedRequest<'_, '_>, rules: &[&RuleBuckets]) -> OfRequest {
    let (host, mut permits) = (counted.host, OfRequest::default());
    let store = host.slots();
    for rule in rules {
        let identifier = counted.identifier(rule);
        let key = rule.observed_key(&identifier);
        match rule.measure() {
            &Measure::Concurrent(limit) => {
                let leave = counted.left_permits(rule);
                if permits.acquire(host, rule, key, [limit, leave]).is_err() {
                    counted.count_denied(key.row);
                }
            }
            Measure::Rate { limit, .. } => {
                let step = counted.step(rule, limit);
                let mut outcome = store.take(key, &step, None);
                outcome.verdict = step.reason(&outcome);
                let denied = Taken::new(0, step, outcome);
                decided::note_tokens(rule, limit, &denied);
                if outcome.granted() {
                    continue;
                }
                counted.count_denied(key.row);
                // The block is not written to the system's log, because tools would ban the client.
                block::after(counted, rule, key, &denied);
                let (client, name) = (counted.client, rule.name());
                let message = format!(
                    "guard: {client} exceeds \"{name}\" and would be denied in the mode \"enforce\""
                );
                rules::log(store, name, &message);
            }
        }
    }
    permits.count_granted(host);
    permits
}

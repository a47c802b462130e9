//! `TokenBucket\guard()`: the guard's limits for one request of a worker loop.
//!
//! A script that serves many requests is compiled once, before the first of them. So the gate sees
//! none of them, and the loop calls this function for each.

use super::counted::Variables;
use super::enforce::Exceeded;
use super::{counted, counting, enforces, has_limits, in_force, lists, observe};
use crate::concurrency::held::HeldEntry;
use crate::concurrency::permit;
use crate::{attached, decision};
use ext_php_rs::types::ZendHashTable;
use gcra::Decision;
use guard::{GuardedRequest, Measure, Rule};
use zend::{Call, Thrown, Zval, request, throw, value};

/// Implements `guard(?array $server = null): ?TokenBucket\Permit`. Returns null where the gate has
/// decided before the script was compiled.
pub fn guard(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let server = call.array_or_null(1)?;
    *result = if in_force::is_web() {
        Zval::null()
    } else if let Some(server) = server {
        decide(&Variables::Listed(server))?
    } else {
        let none = ZendHashTable::new();
        request::read_server(|server| decide(&Variables::Listed(server.unwrap_or(&none))))?
    };
    Ok(())
}

/// Applies the limits to a request, and returns the object or null.
fn decide(variables: &Variables<'_>) -> Result<Zval, Thrown> {
    if variables.variable(c"REMOTE_ADDR").is_none() {
        let message = "must have the address of the client as \"REMOTE_ADDR\"";
        return Err(throw::argument_value(1, message));
    }
    in_force::note_loop();
    let Some(host) = attached::host().filter(|_| has_limits()) else {
        return Ok(Zval::null());
    };
    let store = host.slots();
    let enforces = enforces(store);
    let Some(counted) = counted(host, variables) else {
        return Ok(Zval::null());
    };
    let lists = lists(store, variables);
    let rules = counting(&lists, variables);
    if !enforces {
        // No object could end the permits when the request ends.
        observe::observe(&counted, &rules).release();
        return Ok(Zval::null());
    }
    let none = HeldEntry::default();
    let (decision, entry) = match counted.enforce(&rules) {
        Ok(granted) => match (granted.tokens, granted.permits.tightest) {
            (Some((limit, taken)), _) => {
                let decision = Decision::new(limit, &taken.step, &taken.outcome);
                let entry = granted.permits.join();
                (decision::to_object(limit, &decision), entry)
            }
            (None, Some((limit, free))) => {
                let entry = granted.permits.join();
                let decision = decision::of_permit(limit);
                decision::set_free_permits(&decision, free);
                (decision, entry)
            }
            (None, None) => return Ok(Zval::null()),
        },
        Err(Exceeded::Tokens(rule, limit, taken)) => {
            let decision = Decision::new(limit, &taken.step, &taken.outcome);
            (decision::above(limit, &decision, 0, name(rule)), none)
        }
        Err(Exceeded::Permits(rule, refusal)) => {
            let limit = match *rule.measure() {
                Measure::Concurrent(limit) => limit,
                Measure::Rate { .. } => 0,
            };
            (decision::of_denied_permit(limit, refusal, name(rule)), none)
        }
    };
    Ok(permit::of_entry(decision, entry))
}

fn name(rule: &Rule) -> Zval {
    value::of_bytes(rule.name().as_bytes())
}

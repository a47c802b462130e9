//! `TokenBucket\guard()`: the guard's limits for one request of a worker loop.
//!
//! A script that serves many requests is compiled once, before the first of them. So the gate sees
//! none of them, and the loop calls this function for each.

use super::counted::Variables;
use super::decided;
use super::enforce::{Exceeded, Granted};
use super::in_force::{self, has_limits};
use super::{enforces, judged};
use crate::concurrency::held::HeldEntry;
use crate::concurrency::permit;
use crate::{attached, decision};
use ext_php_rs::types::ZendHashTable;
use gcra::{Decision, Limit, Taken};
use guard::{GuardedRequest, Rule};
use zend::{Call, Thrown, Zval, request, throw, value};

/// Implements `guard(?array $server = null): ?TokenBucket\Permit`. Returns null where the gate has
/// decided before the script was compiled.
pub fn guard(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let server = call.array_or_null(1)?;
    *result = if in_force::is_web() {
        Zval::null()
    } else if let Some(server) = server {
        decide(&Variables::listed(server))?
    } else {
        let none = ZendHashTable::new();
        request::read_server(|server| decide(&Variables::listed(server.unwrap_or(&none))))?
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
    decided::begin(has_limits());
    let Some(host) = attached::host().filter(|_| has_limits()) else {
        return Ok(Zval::null());
    };
    let object = judged(host, variables, enforces(host.slots()), object);
    Ok(object.unwrap_or_else(Zval::null))
}

/// Returns the object for the result of the limits, or null if they have taken nothing.
fn object(result: Result<Granted<'_>, Exceeded<'_>>) -> Zval {
    let none = HeldEntry::default();
    let (decision, entry) = match result {
        Ok(granted) => match (granted.tokens, granted.permits.tightest) {
            (Some((limit, taken)), _) => {
                let entry = granted.permits.join();
                (of_bucket(limit, &taken, Zval::null()), entry)
            }
            (None, Some((limit, free))) => {
                let entry = granted.permits.join();
                let decision = decision::of_permit(limit);
                decision::set_free_permits(&decision, free);
                (decision, entry)
            }
            (None, None) => return Zval::null(),
        },
        Err(Exceeded::Tokens(rule, limit, taken)) => {
            // The others have granted nothing then.
            decided::begin(true);
            decided::note_tokens(rule, limit, &taken);
            (of_bucket(limit, &taken, name(rule)), none)
        }
        Err(Exceeded::Permits(rule, limit, refusal)) => {
            decided::begin(true);
            decided::note_permit(rule, limit, Err(refusal));
            let denied = decided::of_permits(rule.is_of_client(), limit, Err(refusal), name(rule));
            (denied, none)
        }
    };
    permit::of_entry(decision, entry)
}

/// Returns the object for the decision of a bucket.
fn of_bucket(limit: &Limit, taken: &Taken, refused_by: Zval) -> Zval {
    let decision = Decision::new(limit, &taken.step, &taken.outcome);
    decision::above(limit, &decision, taken.step.floor(), refused_by)
}

fn name(rule: &Rule) -> Zval {
    value::of_bytes(rule.name().as_bytes())
}

//! `TokenBucket\Decision`: the result of one call.

use crate::classes;
use crate::zend::object::instantiate;
use crate::zend::{Call, Class, State, Thrown, Zval, throw, value};
use ext_php_rs::types::ZendHashTable;
use tokenbucket_core::clock::{TICKS_PER_MICROSECOND, wall_clock};
use tokenbucket_core::{Decision, Quota, Ticks, seconds};

/// The greatest integer that a structured HTTP field can hold (RFC 9651).
const GREATEST_FIELD: u64 = 999_999_999_999_999;

/// The quota and the decision that the object was made from. `headers()` needs them.
#[derive(Clone, Copy, Debug)]
pub struct Answer(Option<(Quota, Decision)>);

impl State for Answer {
    const SLOTS: usize = 6;

    fn class() -> &'static Class {
        &classes::DECISION
    }

    fn born() -> Self {
        Self(None)
    }

    fn cloned(&self) -> Option<Self> {
        Some(*self)
    }
}

/// Returns the PHP object for a decision under `quota`.
///
/// # Errors
/// Fails if there is no memory for the object.
pub fn to_object(quota: &Quota, decision: &Decision) -> Result<Zval, Thrown> {
    let mut allowed = Zval::new();
    allowed.set_bool(decision.allowed());
    let retry_after = decision.retry_after;
    let properties = [
        allowed,
        value::of_float(decision.remaining as f64),
        value::of_float(quota.capacity().to_float()),
        value::of_float(retry_after.map_or(f64::INFINITY, |ticks| shown(quota, ticks))),
        value::of_float(shown(quota, decision.reset_after)),
        value::of_bytes(decision.reason().as_bytes()),
    ];
    instantiate(Answer(Some((*quota, *decision))), |object| {
        for (index, value) in properties.into_iter().enumerate() {
            object.set_property(index, value);
        }
        Ok(())
    })
}

/// Returns a span in seconds, without what rounding the time per token has added, but at most a
/// microsecond less: a caller needs longer than that to call again. A span is never shortened to 0.
fn shown(quota: &Quota, ticks: Ticks) -> f64 {
    let rounding = quota.rounding(ticks).min(TICKS_PER_MICROSECOND);
    seconds::from_ticks(ticks.saturating_sub(rounding).max(ticks.min(1)))
}

/// `__construct()`. It is private in PHP, because only the extension makes decisions.
#[allow(clippy::unnecessary_wraps)]
pub fn construct(_call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    Ok(())
}

pub fn headers(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let policy: &[u8] = if call.count() >= 1 {
        call.string(1)?
    } else {
        b"default"
    };
    let legacy = call.count() >= 2 && call.bool(2)?;
    let policy = quoted(policy)
        .ok_or_else(|| throw::argument_value(1, "must contain only printable ASCII characters"))?;
    let mut table = ZendHashTable::new();
    if let Answer(Some((quota, decision))) = &**call.this::<Answer>() {
        for (name, value) in fields(quota, decision, &policy, legacy) {
            table.insert(name, value).map_err(|_| Thrown)?;
        }
    }
    result.set_hashtable(table);
    Ok(())
}

/// Returns the text as a string of a structured field (RFC 9651), in quotes. Returns `None` if a
/// byte is not printable ASCII.
fn quoted(text: &[u8]) -> Option<String> {
    let mut quoted = String::from('"');
    for &byte in text {
        if !(0x20..=0x7e).contains(&byte) {
            return None;
        }
        if matches!(byte, b'"' | b'\\') {
            quoted.push('\\');
        }
        quoted.push(char::from(byte));
    }
    quoted.push('"');
    Some(quoted)
}

/// Returns the header fields of draft-ietf-httpapi-ratelimit-headers-11.
///
/// q and r are in tokens, w and t in seconds. They are rounded so that a client that follows them
/// is not denied. `Retry-After` (RFC 9110) is at least t.
fn fields(
    quota: &Quota,
    decision: &Decision,
    policy: &str,
    legacy: bool,
) -> Vec<(&'static str, String)> {
    let capacity = quota.capacity().floor().min(GREATEST_FIELD);
    let remaining = decision.remaining.min(GREATEST_FIELD);
    let window = quota.whole_seconds(quota.burst());
    let reset = if remaining > 0 {
        quota.whole_seconds(quota.refill(remaining))
    } else {
        // The bucket is full after `reset_after`. It holds one token as soon as only the refill of
        // the others remains.
        let others = quota.burst() - quota.refill(1);
        quota.whole_seconds(decision.reset_after.saturating_sub(others))
    };
    let policy_field = format!("{policy};q={capacity};w={window}");
    let mut fields = vec![
        ("RateLimit-Policy", policy_field),
        ("RateLimit", format!("{policy};r={remaining};t={reset}")),
    ];
    if !decision.allowed()
        && let Some(retry_after) = decision.retry_after
    {
        // A wait of 0 seconds would look like no denial.
        let seconds = quota.whole_seconds(retry_after).max(reset).max(1);
        fields.push(("Retry-After", seconds.to_string()));
    }
    if legacy {
        let reset = wall_clock().as_secs() + quota.whole_seconds(decision.reset_after);
        fields.push(("X-RateLimit-Limit", capacity.to_string()));
        fields.push(("X-RateLimit-Remaining", remaining.to_string()));
        fields.push(("X-RateLimit-Reset", reset.to_string()));
    }
    fields
}

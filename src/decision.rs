//! `TokenBucket\Decision`: the result of one call.

use crate::classes;
use crate::zend::object::instantiate;
use crate::zend::{Call, Class, State, Thrown, Zval, throw, value};
use ext_php_rs::types::ZendHashTable;
use tokenbucket_core::clock::{TICKS_PER_MICROSECOND, wall_clock};
use tokenbucket_core::{Decision, Quota, TICKS_PER_SECOND, Ticks, seconds};

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
        value::of_float(retry_after.map_or(f64::INFINITY, seconds::from_ticks)),
        value::of_float(seconds::from_ticks(decision.reset_after)),
        value::of_bytes(decision.reason().as_bytes()),
    ];
    instantiate(Answer(Some((*quota, *decision))), |object| {
        for (index, value) in properties.into_iter().enumerate() {
            object.set_property(index, value);
        }
        Ok(())
    })
}

/// Implements `__construct()`. The constructor is private in PHP, because only the extension makes
/// decisions.
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
/// q and r are in tokens, w and t in seconds. The numbers are rounded so that a client that follows
/// them is not denied. `Retry-After` (RFC 9110) is at least t.
fn fields(
    quota: &Quota,
    decision: &Decision,
    policy: &str,
    legacy: bool,
) -> Vec<(&'static str, String)> {
    let capacity = quota.capacity().floor().min(GREATEST_FIELD);
    let remaining = u64::try_from(decision.remaining).map_or(0, |it| it.min(GREATEST_FIELD));
    let window = whole_seconds(quota.burst(), capacity);
    let reset = if remaining > 0 {
        whole_seconds(quota.refill(remaining), remaining)
    } else {
        // The bucket is full after `reset_after`. The bucket holds one token as soon as only the
        // refill of the other tokens remains.
        let others = quota.burst() - quota.refill(1);
        whole_seconds(decision.reset_after.saturating_sub(others), 1)
    };
    let policy_field = format!("{policy};q={capacity};w={window}");
    let mut fields = vec![
        ("RateLimit-Policy", policy_field),
        ("RateLimit", format!("{policy};r={remaining};t={reset}")),
    ];
    if !decision.allowed()
        && let Some(retry_after) = decision.retry_after
    {
        let seconds = whole_seconds(retry_after, 1).max(reset);
        fields.push(("Retry-After", seconds.to_string()));
    }
    if legacy {
        let reset = wall_clock().as_secs() + whole_seconds(decision.reset_after, capacity);
        fields.push(("X-RateLimit-Limit", capacity.to_string()));
        fields.push(("X-RateLimit-Remaining", remaining.to_string()));
        fields.push(("X-RateLimit-Reset", reset.to_string()));
    }
    fields
}

/// Returns `ticks` in whole seconds, rounded up, for the refill of `tokens`.
///
/// The refill time of each token was rounded up to a nanosecond, or to a microsecond on remote
/// stores. That rounding adds less than a thousandth, and must not turn a minute into 61 seconds.
/// So the excess is subtracted before seconds are rounded up. At least a microsecond is subtracted,
/// because the HTTP reply itself takes longer.
fn whole_seconds(ticks: Ticks, tokens: u64) -> u64 {
    let rounded = tokens
        .saturating_mul(TICKS_PER_MICROSECOND)
        .min(ticks / 1_000);
    let rounded = rounded.max(TICKS_PER_MICROSECOND);
    ticks.saturating_sub(rounded).div_ceil(TICKS_PER_SECOND)
}

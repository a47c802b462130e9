//! Rules 2 and 3 for hosts that take tokens ahead.
//!
//! A grant by such a token takes nothing from the store, and a token that no call uses is in no
//! caller's log. So a proxy before the store logs each take that the store has granted, and the
//! takes of the callers do not count. A token that a host keeps counts as taken until the host may
//! use it no longer. Until then the host may also deny calls because of it, and may not have seen a
//! refund or a reset. A slice gives up the oldest tokens of a full bucket, and a place is due late
//! if its reply was late. Both are less than what the rate adds in the longest time that a host
//! keeps tokens, so the capacity is less by that.

use crate::call::{Call, Kind, Quota};
use crate::rules::Rules;

/// Returns the calls, the quota and the allowances for rules 2 and 3. `stored` are the takes that
/// the proxy has logged.
pub fn of_store(
    calls: &[Call],
    stored: &[Call],
    quota: &Quota,
    rules: &Rules,
) -> (Vec<Call>, Quota, Rules) {
    let by_caller =
        |call: &&Call| call.kind == Kind::Take && call.floor == 0 && call.may_have_taken();
    let others = calls.iter().filter(|call| !by_caller(call)).copied();
    let taken = stored.iter().map(|call| Call {
        kind: Kind::Charge,
        end: call.end.saturating_add(call.wait),
        wait: 0,
        ..*call
    });
    let capacity = (quota.capacity - quota.refill(rules.ahead)).max(0);
    let cached = rules.cached.max(rules.ahead);
    (
        others.chain(taken).collect(),
        Quota { capacity, ..*quota },
        Rules { cached, ..*rules },
    )
}

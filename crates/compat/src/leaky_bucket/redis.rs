//! The scripts for hits, clean-ups and the list of denials.

use super::{LOCKED, keys};
use crate::{Wait, wait};
use gcra::TICKS_PER_SECOND;
use std::num::NonZero;
use stores::remote::redis::{Argument, CLOCK, Script, Value};
use stores::remote::{Cause, Redis, Visit};

const DRAIN: &str = include_str!("drain.lua");

static REQUEST: Script = Script::new(&[CLOCK, DRAIN, include_str!("request.lua")]);
static CLEANUP: Script = Script::new(&[CLOCK, DRAIN, include_str!("cleanup.lua")]);
static LOCKED_MOST: Script = Script::new(&[include_str!("locked.lua")]);

/// The number of members to which the set of denials is cut.
const MOST_LOCKED: i64 = 10_000;

/// The most hits of a bucket, and the speed at which the hits leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The seconds in which one hit leaks.
    pub period: NonZero<u32>,
    /// The most hits that a bucket holds; not 0.
    pub limit: u32,
}

/// Ten sets with the same limits.
#[derive(Clone, Debug)]
pub struct Family {
    /// The action of these sets, or `None` for all actions without limits of their own.
    pub action: Option<Vec<u8>>,
    pub limits: Limits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The hits that the bucket holds after the request. A denied request is not a hit.
    pub hits: i64,
    /// The time until a hit would be admitted.
    pub wait: Wait,
}

/// Counts one hit of `member` in a set of a family.
pub fn request(
    visit: &Visit<'_, Redis>,
    family: &Family,
    set: usize,
    member: &[u8],
) -> Result<Requested, Cause> {
    let [set, control] = keys(family.action.as_deref(), set).map(|key| visit.store.raw_name(&key));
    let arguments = [
        Argument::Word(member),
        Argument::Number(family.limits.period.get().into()),
        Argument::Number(family.limits.limit.into()),
        Argument::Number(MOST_LOCKED),
    ];
    let keys = [set, control, visit.store.raw_name(LOCKED)];
    let Value::Array(reply) = visit.run(&REQUEST, &keys, &arguments)? else {
        return Err(Cause::Answer("hits and a verdict are expected"));
    };
    match reply.as_slice() {
        [Value::Int(hits), number] => Ok(Requested {
            hits: *hits,
            wait: wait(number, TICKS_PER_SECOND)?,
        }),
        _ => Err(Cause::Answer("hits and a verdict are expected")),
    }
}

/// Drains one set of a family if a period has ended since it was last drained. A call drains only
/// one set, because the server serves no other client meanwhile.
pub fn cleanup(visit: &Visit<'_, Redis>, family: &Family, set: usize) -> Result<(), Cause> {
    let period = Argument::Number(family.limits.period.get().into());
    let keys = keys(family.action.as_deref(), set).map(|key| visit.store.raw_name(&key));
    visit.run(&CLEANUP, &keys, &[period]).map(drop)
}

/// Returns the `top` members with the most denials and their numbers of denials, the greatest
/// first.
pub fn locked(visit: &Visit<'_, Redis>, top: u32) -> Result<Vec<(Vec<u8>, u64)>, Cause> {
    let arguments = [Argument::Number(top.into())];
    let key = visit.store.raw_name(LOCKED);
    let found = visit.run(&LOCKED_MOST, &[key], &arguments)?;
    let Value::Array(found) = found else {
        return Err(Cause::Answer("a list is expected"));
    };
    let rows = found.chunks(2).map(|row| match row {
        [Value::BulkString(member), Value::BulkString(score)] => {
            let score = std::str::from_utf8(score).ok();
            let score: f64 = score.and_then(|score| score.parse().ok()).unwrap_or(0.0);
            // The scores are counts. `as` saturates if another program wrote other numbers.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Ok((member.clone(), score as u64))
        }
        _ => Err(Cause::Answer("members and scores are expected")),
    });
    rows.collect()
}

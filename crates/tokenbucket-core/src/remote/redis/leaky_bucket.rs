//! A leaky bucket in sorted sets, as [`crate::record::leaky_bucket`] lays it out.

use super::{Argument, Redis, Script, ticks};
use crate::clock::Ticks;
use crate::record::leaky_bucket::{LOCKED, keys};
use crate::remote::Cause;
use redis::Value;
use std::sync::LazyLock;

static REQUEST: LazyLock<Script> = script!("leaky_drain.lua", "leaky_request.lua");
static CLEANUP: LazyLock<Script> = script!("leaky_drain.lua", "leaky_cleanup.lua");
static LOCKED_MOST: LazyLock<Script> = script!("leaky_locked.lua");

/// To how many members the count of denials is cut.
const MOST_LOCKED: i64 = 10_000;

/// How many hits, and how fast they leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The seconds in which one hit leaks; not 0.
    pub period: u32,
    /// Hits held at most; not 0.
    pub limit: u32,
}

/// Ten sets that have their limits in common.
#[derive(Clone, Debug)]
pub struct Family {
    /// The action that they are for; `None` for all that have no limits of their own.
    pub action: Option<Vec<u8>>,
    /// The limits.
    pub limits: Limits,
}

/// One hit of `member` in a set, of an action that has limits of its own if there is one.
///
/// # Errors
/// As [`Redis::run`].
pub fn request(
    redis: &Redis,
    action: Option<&[u8]>,
    set: usize,
    member: &[u8],
    limits: Limits,
    deadline: Ticks,
) -> Result<bool, Cause> {
    let [set, control] = keys(action, set).map(|key| redis.raw_name(&key));
    let arguments = [
        Argument::Word(member),
        Argument::Number(limits.period.into()),
        Argument::Number(limits.limit.into()),
        Argument::Number(MOST_LOCKED),
    ];
    let keys: [&[u8]; 3] = [&set, &control, &redis.raw_name(LOCKED)];
    let admitted = redis.run(&REQUEST, &keys, &arguments, deadline)?;
    Ok(ticks(&admitted)? != 0)
}

/// Drains one set of a family, if that is due. One at a time, for others wait meanwhile.
///
/// # Errors
/// As [`Redis::run`].
pub fn cleanup(redis: &Redis, family: &Family, set: usize, deadline: Ticks) -> Result<(), Cause> {
    let [set, control] = keys(family.action.as_deref(), set).map(|key| redis.raw_name(&key));
    let period = Argument::Number(family.limits.period.into());
    let drained = redis.run(&CLEANUP, &[&set, &control], &[period], deadline);
    drained.map(drop)
}

/// The members that were denied most, and how often, the most denied first.
///
/// # Errors
/// As [`Redis::run`].
pub fn locked(redis: &Redis, top: u32, deadline: Ticks) -> Result<Vec<(Vec<u8>, u64)>, Cause> {
    let arguments = [Argument::Number(top.into())];
    let found = redis.run(
        &LOCKED_MOST,
        &[&redis.raw_name(LOCKED)],
        &arguments,
        deadline,
    )?;
    let Value::Array(found) = found else {
        return Err(Cause::Answer("a list is expected"));
    };
    let rows = found.chunks(2).map(|row| match row {
        [Value::BulkString(member), Value::BulkString(score)] => {
            let score = std::str::from_utf8(score).ok();
            let score: f64 = score.and_then(|score| score.parse().ok()).unwrap_or(0.0);
            // Counts; `as` saturates what others wrote.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Ok((member.clone(), score as u64))
        }
        _ => Err(Cause::Answer("members and scores are expected")),
    });
    rows.collect()
}

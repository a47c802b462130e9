//! `TokenBucket\Compat\LeakyBucket`: limits how often a client runs an action. Each request is a
//! hit, and one hit leaks each period.
//!
//! On Redis the hits are in the sorted sets that existing scripts of this kind use. So hosts with
//! such scripts and hosts with this class share the hits. An existing clean-up by cron may continue
//! or be removed. On other storages each action of a client is a bucket that drains at multiples of
//! the period.

mod storages;

use super::{count, fallback, run};
use crate::classes;
use crate::storage::{self, Servers, Storage};
use compat::Wait;
use compat::leaky_bucket::{self, Family, Limits, Requested, SETS, member, set_of};
use gcra::{MAX_SPAN, Outcome, Refill, Step, TICKS_PER_SECOND, Ticks};
use segment::By;
use std::cell::{Cell, RefCell};
use std::num::NonZero;
use stores::remote::Visit;
use zend::{Call, Class, Held, Number, Object, State, Thrown, Zval, throw, value};

const SECOND: NonZero<Ticks> = NonZero::new(TICKS_PER_SECOND).unwrap();

/// The property slot of the list of storages.
const STORAGES: usize = 0;

/// The state of an object, in addition to its storages.
#[derive(Clone, Debug, Default)]
pub struct LeakyBucket {
    dry_run: Cell<bool>,
    /// The wait after the last request.
    wait: Cell<Wait>,
    /// The hits after the last request.
    hits: Cell<i64>,
    /// The family of ten sets that the constructor makes, and one family for each action with its
    /// own limits. This cell is never borrowed while PHP code runs.
    families: RefCell<Vec<Family>>,
}

impl State for LeakyBucket {
    const SLOTS: usize = STORAGES + 1;
    const OWNS_MEMORY: bool = true;
    const CLASS: &'static Class = &classes::LEAKY_BUCKET;

    fn cloned(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Returns the storages in the property, at least one. The result keeps them alive. Throws `Error`
/// if no constructor has set the property.
fn storages_of(this: &Object<LeakyBucket>) -> Result<Vec<Held<dyn Storage>>, Thrown> {
    let list = this.copy_property(STORAGES);
    let storages = value::elements(&list).into_iter();
    let storages = storages.map(|it| storage::held(it.shallow_clone()).ok());
    let storages: Option<Vec<_>> = storages.collect();
    let storages = storages.filter(|storages| !storages.is_empty());
    storages.ok_or_else(storage::not_constructed::<LeakyBucket>)
}

impl LeakyBucket {
    /// Sets the limits of an action. `None` sets the limits of all actions without limits of their
    /// own.
    fn set(&self, action: Option<Vec<u8>>, limits: Limits) {
        let mut families = self.families.borrow_mut();
        families.retain(|family| family.action != action);
        families.push(Family { action, limits });
    }

    /// Returns the family of an action: its own family, or the family that the constructor has
    /// made.
    fn family(&self, action: &[u8]) -> Result<Family, Thrown> {
        let families = self.families.borrow();
        let of = |action| {
            families
                .iter()
                .find(|family| family.action.as_deref() == action)
        };
        let family = of(Some(action)).or_else(|| of(None));
        let missing = storage::not_constructed::<LeakyBucket>;
        family.cloned().ok_or_else(missing)
    }
}

/// Implements `__construct($storage, int $period = 30, int $limit = 6, bool $dryRun = false)`.
/// `$period` is in seconds.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let limits = limits(call, 2)?;
    let dry_run = call.count() >= 4 && call.bool(4)?;
    let storages = storages::list(call.arg(1))?;
    let this = call.this::<LeakyBucket>();
    this.set(None, limits);
    this.dry_run.set(dry_run);
    this.set_property(STORAGES, storages);
    Ok(())
}

/// Implements `bucket(string $action, int $period, int $limit): static`. Sets the limits of an
/// action. `$period` is in seconds.
pub fn bucket(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let action = call.string(1)?.to_vec();
    let limits = limits(call, 2)?;
    let this = call.this::<LeakyBucket>();
    this.set(Some(action), limits);
    *result = this.to_zval();
    Ok(())
}

/// Reads the arguments `$period`, in seconds, and `$limit`. `first` is the position of `$period`
/// among the arguments.
fn limits(call: &mut Call<'_>, first: u32) -> Result<Limits, Thrown> {
    let mut positive = |number, default| match call.optional(number, Call::int)?.unwrap_or(default)
    {
        ..1 => Err(throw::argument_value(number, "must be greater than 0")),
        int => u32::try_from(int)
            .ok()
            .and_then(NonZero::new)
            .ok_or_else(|| {
                throw::argument_value(number, "must be less than or equal to 4294967295")
            }),
    };
    let limits = Limits {
        period: positive(first, 30)?,
        limit: positive(first + 1, 6)?.get(),
    };
    // Both numbers are below 2^32, so their product is below 2^64.
    let seconds = u64::from(limits.period.get()) * u64::from(limits.limit);
    if seconds > MAX_SPAN / TICKS_PER_SECOND {
        let message = "must leak within 2^60 nanoseconds at the given period";
        return Err(throw::argument_value(first + 1, message));
    }
    Ok(limits)
}

/// Implements `request($clientId, $actionId): bool`. Returns true if this request is admitted.
pub fn request(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (client, action) = (call.untyped_string(1)?, call.untyped_string(2)?);
    let (client, action) = (value::bytes(&client), value::bytes(&action));
    let this = call.this::<LeakyBucket>();
    let family = this.family(action)?;
    let member = member(client, action);
    let set = set_of(&member);
    let storages = storages_of(this)?;
    let native = &*storages[set % storages.len()];
    let step = step(family.limits);
    let bucket = || [b"LeakyBucket\0".as_slice(), &member].concat();
    let Requested { hits, wait } = match native.servers()? {
        Some(Servers::Redis(redis)) => run(
            redis,
            &redis.transport().raw_name(b""),
            |visit| {
                let request = leaky_bucket::request(visit, &family, set, &member)?;
                count(native, &bucket(), By::Store, request.wait.admits());
                Ok(request)
            },
            |policy| decided(&step, &fallback(native, policy, &bucket(), &step)),
        )?,
        _ => decided(&step, &native.take(native.key(&member), &step, None)?.value),
    };
    this.hits.set(hits);
    this.wait.set(wait);
    value::set_bool(result, wait.admits() || this.dry_run.get());
    Ok(())
}

/// Implements `hits(): int`. Returns the hits that the bucket held after the object's last request.
pub fn hits(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    result.set_long(call.this::<LeakyBucket>().hits.get());
    Ok(())
}

/// Implements `retryAfter(): float`. Returns the wait after the object's last request, in seconds.
pub fn retry_after(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = super::retry_after(&call.this::<LeakyBucket>().wait);
    Ok(())
}

/// Returns the result of a request on a storage other than Redis, where the hit was a step of a
/// bucket.
fn decided(step: &Step, outcome: &Outcome) -> Requested {
    // A hit that has leaked in part does not occur, because the bucket leaks in whole periods.
    let held = step.span - step.available(outcome.empty_at, outcome.now);
    Requested {
        hits: held.div_ceil(step.refill.tick()).cast_signed(),
        wait: Wait::after(step, outcome),
    }
}

/// Returns the step of a hit. A hit costs one period, and the bucket leaks only at the end of a
/// period.
fn step(limits: Limits) -> Step {
    // `limits` has checked that the span is at most 2^60 ticks.
    let tick = NonZero::<Ticks>::from(limits.period).saturating_mul(SECOND);
    Step {
        refill: Refill::every(tick),
        ..Step::new(tick.get(), tick.get() * Ticks::from(limits.limit))
    }
}

/// Implements `cleanup(): void`. Drains the sets whose period has ended. A set drains at most once
/// in a period, even if this method is called more often.
pub fn cleanup(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let this = call.this::<LeakyBucket>();
    let families = this.families.borrow().clone();
    let storages = storages_of(this)?;
    for family in &families {
        for set in 0..SETS {
            if let Some(Servers::Redis(redis)) = storages[set % storages.len()].servers()? {
                let cleanup = |visit: &Visit<'_, _>| leaky_bucket::cleanup(visit, family, set);
                run(redis, &redis.transport().raw_name(b""), cleanup, |_| ())?;
            }
        }
    }
    Ok(())
}

/// Implements `locked(int $top = 10): array`. Returns the denials of the clients and actions with
/// the most denials.
pub fn locked(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let top = call.optional(1, Call::int)?.unwrap_or(10);
    if top < 1 {
        return Err(throw::argument_value(1, "must be greater than 0"));
    }
    let top = u32::try_from(top).unwrap_or(u32::MAX);
    let storages = storages_of(call.this::<LeakyBucket>())?;
    let mut rows = Vec::new();
    for native in &storages {
        let Some(Servers::Redis(redis)) = native.servers()? else {
            return Err(throw::logic(
                "TokenBucket\\Compat\\LeakyBucket::locked() needs a TokenBucketStorageRedis",
            ));
        };
        let locked = |visit: &Visit<'_, _>| leaky_bucket::locked(visit, top);
        let name = redis.transport().raw_name(b"");
        rows.extend(run(redis, &name, locked, |_| Vec::new())?);
    }
    rows.sort_by(|(_, a), (_, b)| b.cmp(a));
    rows.truncate(top as usize);
    let mut table = value::of_list([]).ok_or(Thrown)?;
    for (member, denials) in &rows {
        let denials = i64::try_from(*denials).unwrap_or(i64::MAX);
        value::insert(&mut table, member, Number::Int(denials).to_zval());
    }
    *result = table;
    Ok(())
}

//! `TokenBucket\Decision`: the result of one call.

mod header;

pub use header::{Fields, Lines, fields, fields_of, quoted};

use crate::classes;
use ext_php_rs::ffi::IS_NULL;
use gcra::{Decision, Denial, Limit, TICKS_PER_MICROSECOND, Ticks, Timestamp, Verdict, seconds};
use segment::{By, Refusal};
use std::cell::Cell;
use zend::object::{instantiate_beside_memory, instantiate_with};
use zend::system::Starting;
use zend::{Array, Call, Class, Interned, Number, Object, State, Thrown, Zval, throw, value};

/// The message for a text that cannot be a string of a structured HTTP field.
const ONLY_ASCII: &str = "must contain only printable ASCII characters";

/// The names of the properties, in the order of their slots.
const PROPERTIES: [&str; 9] = [
    "allowed",
    "remaining",
    "capacity",
    "retryAfter",
    "resetAfter",
    "reason",
    "fallback",
    "refusedBy",
    "unit",
];

/// The reason of a denial because all permits are held.
const ALL_HELD: &str = "too_many_concurrent";

/// The reason of a denial because too many callers wait for a permit.
const ALL_WAIT: &str = "too_many_waiting";

/// The reason of a denial because the guard's permits that several clients share are held.
const SHARED_HELD: &str = "server_busy";

/// The seconds after which it makes sense to ask for a permit again.
const PERMIT_RETRY: f64 = 1.0;

/// The origin of the object. `None` for a decision on permits, and for a decision that PHP code has
/// made.
#[derive(Debug, Default)]
pub struct DecisionState(Option<HeaderSource>);

/// The values that header fields need, in addition to the properties.
#[derive(Debug)]
enum HeaderSource {
    /// The limit, the decision and the ticks of the floor.
    Bucket(Limit, Decision, Ticks),
    /// A lockout: the ticks until its next attempt, or until its failures are forgotten. If the
    /// decision is that of an attempt, also the attempt, until it is cancelled.
    Lockout(Ticks, Cell<Option<Attempt>>),
}

/// An attempt of a lockout, which can be cancelled.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// The hash of the lockout's key.
    pub lockout: [u8; 16],
    /// The part of the extension that counted the attempt, and the state that it wrote. `None` if
    /// nothing was counted.
    pub counted: Option<(Option<By>, Timestamp)>,
}

impl State for DecisionState {
    const SLOTS: usize = PROPERTIES.len();
    const CLASS: &'static Class = &classes::DECISION;

    fn cloned(&self) -> Option<Self> {
        // An attempt is cancelled once, so no copy of its decision can cancel it.
        Some(Self(self.0.as_ref().map(|source| match *source {
            HeaderSource::Bucket(limit, decision, floor) => {
                HeaderSource::Bucket(limit, decision, floor)
            }
            HeaderSource::Lockout(next, _) => HeaderSource::Lockout(next, Cell::new(None)),
        })))
    }
}

/// The reasons of all verdicts, in the order of [`Verdict::ALL`].
static REASONS: [Interned; Verdict::ALL.len()] = [const { Interned::unmade() }; Verdict::ALL.len()];

/// The reason [`ALL_HELD`].
static TOO_MANY_CONCURRENT: Interned = Interned::unmade();

/// The reason [`SHARED_HELD`].
static SERVER_BUSY: Interned = Interned::unmade();

/// The reason [`ALL_WAIT`].
static TOO_MANY_WAITING: Interned = Interned::unmade();

/// The unit of permits; see draft-ietf-httpapi-ratelimit-headers-11.
static CONCURRENT_REQUESTS: Interned = Interned::unmade();

/// Makes the strings of the reasons and of the unit.
pub fn make_strings(starting: &Starting) {
    for verdict in Verdict::ALL {
        REASONS[verdict.number()].make(starting, verdict.reason());
    }
    TOO_MANY_CONCURRENT.make(starting, ALL_HELD);
    TOO_MANY_WAITING.make(starting, ALL_WAIT);
    SERVER_BUSY.make(starting, SHARED_HELD);
    CONCURRENT_REQUESTS.make(starting, "concurrent-requests");
}

struct Properties {
    allowed: bool,
    remaining: f64,
    capacity: f64,
    retry_after: f64,
    reset_after: f64,
    reason: Zval,
    fallback: bool,
    refused_by: Zval,
    unit: Zval,
}

impl Properties {
    fn of(limit: &Limit, decision: &Decision, refused_by: Zval) -> Self {
        let retry_after = decision.retry_after;
        Self {
            allowed: decision.allowed(),
            remaining: decision.remaining as f64,
            capacity: limit.capacity().to_float(),
            retry_after: retry_after.map_or(f64::INFINITY, |ticks| shown(limit, ticks)),
            reset_after: shown(limit, decision.reset_after),
            reason: REASONS[decision.verdict.number()].to_zval(),
            fallback: decision.fallback,
            refused_by,
            unit: Zval::null(),
        }
    }

    #[inline]
    fn of_permit(limit: u16) -> Self {
        Self {
            allowed: true,
            remaining: 0.0,
            capacity: limit.into(),
            retry_after: 0.0,
            reset_after: 0.0,
            reason: REASONS[Verdict::Granted.number()].to_zval(),
            fallback: false,
            refused_by: Zval::null(),
            unit: CONCURRENT_REQUESTS.to_zval(),
        }
    }

    /// Returns the values in the order of their slots.
    fn values(self) -> [Zval; PROPERTIES.len()] {
        [
            truth(self.allowed),
            value::of_float(self.remaining),
            value::of_float(self.capacity),
            value::of_float(self.retry_after),
            value::of_float(self.reset_after),
            self.reason,
            truth(self.fallback),
            self.refused_by,
            self.unit,
        ]
    }
}

fn truth(truth: bool) -> Zval {
    let mut value = Zval::new();
    value::set_bool(&mut value, truth);
    value
}

/// Returns the PHP object for a decision under `limit`.
pub fn to_object(limit: &Limit, decision: &Decision) -> Zval {
    above(limit, decision, 0, Zval::null())
}

/// Does the same as [`above`] for a caller that owns memory outside PHP's heap, which would leak if
/// PHP reached its memory limit.
pub fn to_object_beside_memory(
    limit: &Limit,
    decision: &Decision,
    floor: Ticks,
    refused_by: Zval,
) -> Zval {
    let properties = Properties::of(limit, decision, refused_by);
    let source = HeaderSource::Bucket(*limit, *decision, floor);
    instantiate_beside_memory(DecisionState(Some(source)), properties.values())
}

/// Returns the PHP object for a decision under `limit` on a call with a floor of `floor` ticks.
/// `refused_by` is the array key of the bucket that refused a call on several buckets, or null.
pub fn above(limit: &Limit, decision: &Decision, floor: Ticks, refused_by: Zval) -> Zval {
    let properties = Properties::of(limit, decision, refused_by);
    let source = HeaderSource::Bucket(*limit, *decision, floor);
    instantiate_with(DecisionState(Some(source)), properties.values())
}

/// Returns the PHP object for a granted permit out of `limit`. It states that no other permit is
/// free.
#[inline]
pub fn of_permit(limit: u16) -> Zval {
    instantiate_with(DecisionState(None), Properties::of_permit(limit).values())
}

/// Returns the PHP object for an answer out of `limit` permits: those that are left, or the reason
/// of the denial. The caller may own memory outside PHP's heap.
pub fn of_permits(limit: u16, free: Result<u16, Refusal>, refused_by: Zval) -> Zval {
    let properties = Properties {
        refused_by,
        ..Properties::of_permit(limit)
    };
    let decision = instantiate_beside_memory(DecisionState(None), properties.values());
    match free {
        Ok(free) => set_free_permits(&decision, free),
        Err(refusal) => deny_permit(&decision, refusal),
    }
    decision
}

/// Sets the number of other free permits on the object of [`of_permit`]. Allocates no memory.
pub fn set_free_permits(decision: &Zval, free: u16) {
    if let Some(object) = value::object(decision).and_then(Object::<DecisionState>::of) {
        object.set_property(1, value::of_float(free.into()));
    }
}

/// Notes on the object of [`of_permit`] that the failure policy decided. Allocates no memory.
pub fn set_fallback(decision: &Zval) {
    if let Some(object) = value::object(decision).and_then(Object::<DecisionState>::of) {
        object.set_property(6, truth(true));
    }
}

/// Makes the object of [`of_permit`] a denial. Allocates no memory.
pub fn deny_permit(decision: &Zval, refusal: Refusal) {
    let of_buckets = |denial| &REASONS[Verdict::Denied(denial).number()];
    let reason = match refusal {
        Refusal::TooMany => &TOO_MANY_CONCURRENT,
        Refusal::TooManyWaiting => &TOO_MANY_WAITING,
        Refusal::BelowFloor => of_buckets(Denial::BelowFloor),
        Refusal::Contended => of_buckets(Denial::Contended),
        Refusal::TableFull => of_buckets(Denial::TableFull),
        Refusal::Unavailable => of_buckets(Denial::Unavailable),
        Refusal::Interrupted => of_buckets(Denial::Interrupted),
    };
    if let Some(object) = value::object(decision).and_then(Object::<DecisionState>::of) {
        object.set_property(0, truth(false));
        object.set_property(3, value::of_float(PERMIT_RETRY));
        object.set_property(5, reason.to_zval());
    }
}

/// Notes on a denied permit that the client alone is not the cause.
pub fn set_busy(decision: &Zval) {
    if let Some(object) = value::object(decision).and_then(Object::<DecisionState>::of) {
        object.set_property(5, SERVER_BUSY.to_zval());
    }
}

/// Returns the PHP object for a decision of a lockout after `attempts`. `next` are the ticks until
/// its next attempt, or until its failures are forgotten. `attempt` is missing if the decision is
/// not that of an attempt.
pub fn of_lockout(
    attempts: u64,
    decision: &Decision,
    next: Ticks,
    attempt: Option<Attempt>,
) -> Zval {
    // States keep instants in units of about a microsecond, so a part of a microsecond is rounding.
    let seconds = |ticks: Ticks| seconds::from_ticks(ticks.next_multiple_of(TICKS_PER_MICROSECOND));
    let properties = Properties {
        allowed: decision.allowed(),
        remaining: decision.remaining as f64,
        capacity: attempts as f64,
        retry_after: decision.retry_after.map_or(f64::INFINITY, seconds),
        reset_after: seconds(decision.reset_after),
        reason: REASONS[decision.verdict.number()].to_zval(),
        fallback: decision.fallback,
        refused_by: Zval::null(),
        unit: Zval::null(),
    };
    instantiate_with(
        DecisionState(Some(HeaderSource::Lockout(next, Cell::new(attempt)))),
        properties.values(),
    )
}

/// Takes the attempt of the lockout with this key's hash from its decision. Returns `None` if the
/// decision is not that of such an attempt. Afterwards, the attempt has counted nothing.
pub fn take_attempt(object: &Object<DecisionState>, lockout: [u8; 16]) -> Option<Attempt> {
    let Some(HeaderSource::Lockout(_, attempt)) = &object.0 else {
        return None;
    };
    let taken = attempt.get().filter(|taken| taken.lockout == lockout)?;
    attempt.set(Some(Attempt {
        counted: None,
        ..taken
    }));
    Some(taken)
}

/// Converts a time of `ticks` to seconds. Subtracts the time that rounding the time per token has
/// added, but at most a microsecond, because a caller needs longer than that to call again. The
/// result is 0 only if `ticks` is 0.
fn shown(limit: &Limit, ticks: Ticks) -> f64 {
    if ticks == 0 {
        // This is the most frequent case: a grant has no wait.
        return 0.0;
    }
    let rounding = limit.rounding(ticks).min(TICKS_PER_MICROSECOND);
    seconds::from_ticks(ticks.saturating_sub(rounding).max(1))
}

/// Implements `__construct()`. Creates a decision from the arguments.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let allowed = call.bool(1)?;
    let remaining = call.optional(2, tokens_left)?.unwrap_or_default();
    let properties = Properties {
        allowed,
        remaining,
        // 0 is the default, because a real capacity is never 0.
        capacity: match call.optional(3, amount)?.unwrap_or_default() {
            0.0 => remaining.max(1.0),
            capacity => capacity,
        },
        retry_after: call.optional(4, amount)?.unwrap_or_default(),
        reset_after: call.optional(5, amount)?.unwrap_or_default(),
        reason: call
            .optional(6, Call::string)?
            .map_or_else(Zval::null, value::of_text),
        fallback: call.count() >= 7 && call.bool(7)?,
        refused_by: call.optional(8, Call::key_or_null)?.unwrap_or_default(),
        unit: unit(call)?,
    };
    if properties.remaining > properties.capacity {
        let message = "must be less than or equal to argument #3 ($capacity)";
        return Err(throw::argument_value(2, message));
    }
    let object = call.this::<DecisionState>();
    if value::kind(&object.copy_property(0)) != IS_NULL {
        let class = DecisionState::CLASS.name();
        let message = format!("Cannot modify readonly property {class}::$allowed");
        return Err(throw::error(&message));
    }
    let reason = match value::bytes(&properties.reason) {
        b"" if allowed => REASONS[Verdict::Granted.number()].to_zval(),
        b"" => REASONS[Verdict::Denied(Denial::Insufficient).number()].to_zval(),
        _ => properties.reason,
    };
    let properties = Properties {
        reason,
        ..properties
    };
    for (slot, value) in properties.values().into_iter().enumerate() {
        object.set_property(slot, value);
    }
    Ok(())
}

/// Returns argument `number`, the tokens that are left. Throws `ValueError` if it is not finite.
fn tokens_left(call: &mut Call<'_>, number: u32) -> Result<f64, Thrown> {
    let remaining = call.float(number)?;
    if !remaining.is_finite() {
        return Err(throw::argument_value(number, "must be finite"));
    }
    // Turns -0.0 into 0.0.
    Ok(remaining + 0.0)
}

/// Returns argument `number`, which may be infinite. Throws `ValueError` if it is negative or NAN.
fn amount(call: &mut Call<'_>, number: u32) -> Result<f64, Thrown> {
    let amount = call.float(number)?;
    if amount.is_nan() {
        return Err(throw::argument_value(number, "must not be NAN"));
    }
    if amount < 0.0 {
        let message = "must be greater than or equal to 0";
        return Err(throw::argument_value(number, message));
    }
    // Turns -0.0 into 0.0.
    Ok(amount + 0.0)
}

/// Returns argument 9, the unit, or null if it is null or was not passed.
fn unit(call: &mut Call<'_>) -> Result<Zval, Thrown> {
    if call.count() < 9 || value::kind(call.arg(9)) == IS_NULL {
        return Ok(Zval::null());
    }
    if quoted(call.string(9)?).is_none() {
        return Err(throw::argument_value(9, ONLY_ASCII));
    }
    Ok(call.arg(9).shallow_clone())
}

/// Implements `jsonSerialize(): array`. Returns the properties by name, with null instead of INF.
pub fn json_serialize(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let object = call.this::<DecisionState>();
    let mut table = Array::new();
    for (slot, name) in PROPERTIES.into_iter().enumerate() {
        let value = match object.copy_property(slot) {
            // JSON has no infinity.
            value if float(&value).is_infinite() => Zval::null(),
            value => value,
        };
        table.insert(name, value)?;
    }
    *result = table.into_zval();
    Ok(())
}

/// Returns the number in a property, or 0 if it holds something else.
fn float(value: &Zval) -> f64 {
    value::as_number(value).map_or(0.0, Number::to_float)
}

/// Implements `headers(string $policy = 'default', bool $legacy = false, ?string $partition =
/// null): array`.
pub fn headers(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let policy = call.optional(1, Call::string)?.unwrap_or(b"default");
    let legacy = call.count() >= 2 && call.bool(2)?;
    let mut policy = quoted(policy).ok_or_else(|| throw::argument_value(1, ONLY_ASCII))?;
    if call.count() >= 3 && value::kind(call.arg(3)) != IS_NULL {
        policy.push_str(&header::partition(call.string(3)?));
    }
    let fields = fields_of(call.this());
    let mut table = Array::new();
    for (name, value) in fields.lines(&policy, legacy).pairs() {
        table.insert(name, value)?;
    }
    *result = table.into_zval();
    Ok(())
}

/// Reports whether a decision has allowed its call.
pub fn allows(object: &Object<DecisionState>) -> bool {
    object.copy_property(0).bool().unwrap_or(false)
}

pub fn reason(object: &Object<DecisionState>) -> Zval {
    object.copy_property(5)
}

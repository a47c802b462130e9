//! `TokenBucket\Decision`: the result of one call.

use crate::{classes, http};
use ext_php_rs::ffi::IS_NULL;
use gcra::clock::{TICKS_PER_MICROSECOND, wall_clock};
use gcra::{Decision, Denial, Quota, Ticks, Verdict, seconds};
use zend::object::{instantiate_beside_memory, instantiate_with};
use zend::system::Starting;
use zend::{Array, Call, Class, Interned, Number, Object, State, Thrown, Zval, throw, value};

/// The message for a text that cannot be a string of a structured HTTP field.
const ONLY_ASCII: &str = "must contain only printable ASCII characters";

/// The greatest integer that a structured HTTP field can hold (RFC 9651).
const GREATEST_FIELD: u64 = 999_999_999_999_999;

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

/// The reasons of denials that do not depend on tokens; see [`Decision::is_beside_tokens`].
const BESIDE_TOKENS: [&[u8]; 4] = [
    b"contended",
    b"table_full",
    b"unavailable",
    ALL_HELD.as_bytes(),
];

/// The seconds after which it makes sense to ask for a permit again.
const PERMIT_RETRY: f64 = 1.0;

/// The origin of the object. `None` for a decision on permits, and for one that PHP code has made.
#[derive(Clone, Copy, Debug)]
pub struct DecisionState(Option<HeaderSource>);

/// The values that header fields need, in addition to the properties.
#[derive(Clone, Copy, Debug)]
enum HeaderSource {
    /// The quota, the decision and the ticks of the floor.
    Bucket(Quota, Decision, Ticks),
    /// A lockout: the ticks until its next attempt, or until its failures are forgotten.
    Lockout(Ticks),
}

impl State for DecisionState {
    const SLOTS: usize = PROPERTIES.len();

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

/// The reasons of all verdicts, in the order of [`Verdict::ALL`].
static REASONS: [Interned; Verdict::ALL.len()] = [const { Interned::unmade() }; Verdict::ALL.len()];

/// The reason [`ALL_HELD`].
static TOO_MANY_CONCURRENT: Interned = Interned::unmade();

/// The unit of permits; see draft-ietf-httpapi-ratelimit-headers-11.
static CONCURRENT_REQUESTS: Interned = Interned::unmade();

/// Makes the strings of the reasons and of the unit.
pub fn make_strings(starting: &Starting) {
    for verdict in Verdict::ALL {
        REASONS[verdict.number()].make(starting, verdict.reason());
    }
    TOO_MANY_CONCURRENT.make(starting, ALL_HELD);
    CONCURRENT_REQUESTS.make(starting, "concurrent-requests");
}

/// The values of the properties.
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
    fn of(quota: &Quota, decision: &Decision, refused_by: Zval) -> Self {
        let retry_after = decision.retry_after;
        Self {
            allowed: decision.allowed(),
            remaining: decision.remaining as f64,
            capacity: quota.capacity().to_float(),
            retry_after: retry_after.map_or(f64::INFINITY, |ticks| shown(quota, ticks)),
            reset_after: shown(quota, decision.reset_after),
            reason: REASONS[decision.verdict.number()].to_zval(),
            fallback: decision.fallback,
            refused_by,
            unit: Zval::null(),
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

/// Returns the PHP object for a decision under `quota`.
pub fn to_object(quota: &Quota, decision: &Decision) -> Zval {
    above(quota, decision, 0, Zval::null())
}

/// Does the same as [`above`] for a caller that owns memory of the process.
pub fn to_object_beside_memory(quota: &Quota, decision: &Decision, floor: Ticks) -> Zval {
    let properties = Properties::of(quota, decision, Zval::null());
    instantiate_beside_memory(
        DecisionState(Some(HeaderSource::Bucket(*quota, *decision, floor))),
        properties.values(),
    )
}

/// Returns the PHP object for a decision under `quota` on a call with a floor of that many ticks.
/// `refused_by` is the array key of the bucket that refused a call on several buckets, or null.
pub fn above(quota: &Quota, decision: &Decision, floor: Ticks, refused_by: Zval) -> Zval {
    let properties = Properties::of(quota, decision, refused_by);
    instantiate_with(
        DecisionState(Some(HeaderSource::Bucket(*quota, *decision, floor))),
        properties.values(),
    )
}

/// Returns the PHP object for a granted permit out of `limit`, without other free permits.
pub fn of_permit(limit: u16) -> Zval {
    let properties = Properties {
        allowed: true,
        remaining: 0.0,
        capacity: limit.into(),
        retry_after: 0.0,
        reset_after: 0.0,
        reason: REASONS[Verdict::Granted.number()].to_zval(),
        fallback: false,
        refused_by: Zval::null(),
        unit: CONCURRENT_REQUESTS.to_zval(),
    };
    instantiate_with(DecisionState(None), properties.values())
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

/// Makes the object of [`of_permit`] a denial. `None` means that all permits are held. Allocates no
/// memory.
pub fn deny_permit(decision: &Zval, denial: Option<Denial>) {
    let reason = denial.map_or(&TOO_MANY_CONCURRENT, |denial| {
        &REASONS[Verdict::Denied(denial).number()]
    });
    if let Some(object) = value::object(decision).and_then(Object::<DecisionState>::of) {
        object.set_property(0, truth(false));
        object.set_property(3, value::of_float(PERMIT_RETRY));
        object.set_property(5, reason.to_zval());
    }
}

/// Returns the PHP object for a decision of a lockout after `attempts`. `next` are the ticks until
/// its next attempt, or until its failures are forgotten.
pub fn of_lockout(attempts: u64, decision: &Decision, next: Ticks) -> Zval {
    // States keep instants in microseconds, so a part of one is rounding.
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
        DecisionState(Some(HeaderSource::Lockout(next))),
        properties.values(),
    )
}

/// Converts a time of `ticks` to seconds. Subtracts the time that rounding the time per token has
/// added, but at most a microsecond, because a caller needs longer than that to call again. The
/// result is 0 only if `ticks` is 0.
fn shown(quota: &Quota, ticks: Ticks) -> f64 {
    if ticks == 0 {
        // Most often: the wait of a grant.
        return 0.0;
    }
    let rounding = quota.rounding(ticks).min(TICKS_PER_MICROSECOND);
    seconds::from_ticks(ticks.saturating_sub(rounding).max(1))
}

/// Implements `__construct()`. Creates a decision from the arguments.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let allowed = call.bool(1)?;
    let remaining = tokens_left(call)?;
    let properties = Properties {
        allowed,
        remaining,
        // A real capacity is never 0.
        capacity: match amount(call, 3)? {
            0.0 => remaining.max(1.0),
            capacity => capacity,
        },
        retry_after: amount(call, 4)?,
        reset_after: amount(call, 5)?,
        reason: match call.count() {
            0..=5 => Zval::null(),
            _ => value::of_text(call.string(6)?),
        },
        fallback: call.count() >= 7 && call.bool(7)?,
        refused_by: match call.count() {
            0..=7 => Zval::null(),
            _ => call.key_or_null(8)?,
        },
        unit: unit(call)?,
    };
    if properties.remaining > properties.capacity {
        let message = "must be less than or equal to argument #3 ($capacity)";
        return Err(throw::argument_value(2, message));
    }
    let object = call.this::<DecisionState>();
    if value::kind(&object.copy_property(0)) != IS_NULL {
        let class = DecisionState::class().name();
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

/// Returns argument 2, the tokens that are left, or 0 if it was not passed. Throws `ValueError` if
/// it is not finite.
fn tokens_left(call: &mut Call<'_>) -> Result<f64, Thrown> {
    if call.count() < 2 {
        return Ok(0.0);
    }
    let remaining = call.float(2)?;
    if !remaining.is_finite() {
        return Err(throw::argument_value(2, "must be finite"));
    }
    // Turns -0.0 into 0.0.
    Ok(remaining + 0.0)
}

/// Returns argument `number`, which may be infinite, or 0 if it was not passed. Throws `ValueError`
/// if it is negative or NAN.
fn amount(call: &mut Call<'_>, number: u32) -> Result<f64, Thrown> {
    if call.count() < number {
        return Ok(0.0);
    }
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
    let policy: &[u8] = if call.count() >= 1 {
        call.string(1)?
    } else {
        b"default"
    };
    let legacy = call.count() >= 2 && call.bool(2)?;
    let mut policy = quoted(policy).ok_or_else(|| throw::argument_value(1, ONLY_ASCII))?;
    if call.count() >= 3 && value::kind(call.arg(3)) != IS_NULL {
        policy.push_str(&http::partition(call.string(3)?));
    }
    let fields = fields_of(call.this());
    let mut table = Array::new();
    for line in fields.lines(&policy, legacy).iter() {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        table.insert(name, value)?;
    }
    *result = table.into_zval();
    Ok(())
}

/// Reports whether a decision has allowed its call.
pub fn allows(object: &Object<DecisionState>) -> bool {
    object.copy_property(0).bool().unwrap_or(false)
}

/// Returns the reason of a decision.
pub fn reason(object: &Object<DecisionState>) -> Zval {
    object.copy_property(5)
}

/// Returns the numbers of the header fields of a decision.
#[inline]
pub fn fields_of(object: &Object<DecisionState>) -> Fields {
    match &**object {
        DecisionState(Some(HeaderSource::Bucket(quota, decision, 0))) => {
            Fields::of_decision(quota, decision)
        }
        DecisionState(Some(HeaderSource::Bucket(quota, decision, floor))) => {
            Fields::above(quota, decision, *floor)
        }
        DecisionState(Some(HeaderSource::Lockout(next))) => Fields::of_lockout(object, *next),
        DecisionState(None) => Fields::of_properties(object),
    }
}

/// Returns the header fields of a decision. `policy` is in quotes, without line breaks.
pub fn fields(quota: &Quota, decision: &Decision, policy: &str) -> Lines {
    Fields::of_decision(quota, decision).lines(policy, false)
}

/// Returns the text as a string of a structured field (RFC 9651), in quotes. Returns `None` if a
/// byte is not printable ASCII.
pub fn quoted(text: &[u8]) -> Option<String> {
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

/// The numbers of the header fields of draft-ietf-httpapi-ratelimit-headers-11: tokens, and whole
/// seconds. They are rounded so that a client that follows them is not denied.
pub struct Fields {
    /// The parameter q.
    capacity: u64,
    /// The parameter r.
    pub remaining: u64,
    /// The parameter w: the seconds in which the whole bucket refills, if they are known.
    window: Option<u64>,
    /// The parameter qu, in quotes, if the quota is not in requests or tokens.
    unit: Option<String>,
    /// The parameter t: the seconds in which the remaining tokens refill, or one token if none
    /// remains. `None` if they are not known, or if the tokens are not the reason of a denial.
    reset: Option<u64>,
    /// `Retry-After` (RFC 9110), for a denial that ends.
    retry_after: Option<u64>,
    /// The seconds until the bucket is full.
    full_after: u64,
}

impl Fields {
    fn of_decision(quota: &Quota, decision: &Decision) -> Self {
        let remaining = u64::try_from(decision.remaining).map_or(0, |it| it.min(GREATEST_FIELD));
        let reset = if quota.window().is_some() {
            decision.reset_after
        } else if remaining > 0 {
            quota.refill(remaining)
        } else {
            // The bucket is full after `reset_after`. It holds one token when only the refill of
            // the other tokens remains.
            let others = quota.span() - quota.refill(1);
            decision.reset_after.saturating_sub(others)
        };
        let retry_after = decision.retry_after.filter(|_| !decision.allowed());
        let retry_after = retry_after.map(|ticks| quota.whole_seconds(ticks));
        Self {
            capacity: quota.capacity().floor().min(GREATEST_FIELD),
            remaining,
            window: Some(match quota.window() {
                Some(seconds) => u64::from(seconds),
                None => quota.whole_seconds(quota.span()),
            }),
            unit: None,
            reset: Some(quota.whole_seconds(reset)),
            retry_after,
            full_after: quota.whole_seconds(decision.reset_after),
        }
        .beside_tokens(decision.is_beside_tokens())
    }

    /// Returns the numbers of a call with a floor of that many ticks. They leave out the tokens of
    /// the floor, which are not for this caller.
    #[cold]
    fn above(quota: &Quota, decision: &Decision, floor: Ticks) -> Self {
        let fields = Self::of_decision(quota, decision);
        let above = |ticks: Ticks| {
            quota
                .tokens(ticks.saturating_sub(floor))
                .min(GREATEST_FIELD)
        };
        let held = quota.span().saturating_sub(decision.reset_after);
        let remaining = fields.remaining.min(above(held));
        let others = (quota.span() - quota.refill(1)).saturating_sub(floor);
        let reset = match remaining {
            0 => decision.reset_after.saturating_sub(others),
            _ => quota.refill(remaining),
        };
        Self {
            capacity: above(quota.span()),
            remaining,
            reset: fields.reset.map(|_| quota.whole_seconds(reset)),
            ..fields
        }
    }

    /// Returns the numbers of a decision of a lockout, which has no window.
    fn of_lockout(object: &Object<DecisionState>, next: Ticks) -> Self {
        Self {
            window: None,
            reset: Some(whole_seconds(seconds::from_ticks(next))),
            ..Self::of_properties(object)
        }
        .beside_tokens(BESIDE_TOKENS.contains(&value::bytes(&object.copy_property(5))))
    }

    /// Returns the numbers of a decision that PHP code has made. The time per token follows from
    /// the time until the bucket is full. It is unknown for a full bucket.
    fn of_properties(object: &Object<DecisionState>) -> Self {
        let [remaining, capacity, retry_after, reset_after] =
            [1, 2, 3, 4].map(|slot| float(&object.copy_property(slot)));
        let token = reset_after / (capacity - remaining);
        let is_known = token.is_finite() && token > 0.0;
        let reset = if remaining >= 1.0 {
            remaining.floor() * token
        } else {
            reset_after - (capacity - 1.0).max(0.0) * token
        };
        let (reason, unit) = (object.copy_property(5), object.copy_property(8));
        let unit = value::bytes(&unit);
        let is_beside_tokens = BESIDE_TOKENS.contains(&value::bytes(&reason));
        let ends = !object.copy_property(0).bool().unwrap_or(false) && retry_after.is_finite();
        Self {
            capacity: whole(capacity.floor()),
            remaining: whole(remaining.floor()),
            window: is_known.then(|| whole_seconds(capacity * token)),
            unit: (!unit.is_empty()).then(|| quoted(unit)).flatten(),
            reset: is_known.then(|| whole_seconds(reset)),
            retry_after: ends.then(|| whole_seconds(retry_after)),
            full_after: whole_seconds(reset_after),
        }
        .beside_tokens(is_beside_tokens)
    }

    /// Leaves out the instants of tokens if a denial does not depend on tokens. They would ask the
    /// client to wait for much longer than necessary.
    fn beside_tokens(self, is_beside_tokens: bool) -> Self {
        match (is_beside_tokens, self.retry_after) {
            (true, Some(retry_after)) => Self {
                reset: None,
                full_after: retry_after.max(1),
                ..self
            },
            _ => self,
        }
    }

    /// Returns the value of `Retry-After`. It is at least t, and at least 1, because a wait of 0
    /// seconds would look like a grant.
    pub fn wait(&self) -> Option<u64> {
        let retry_after = self.retry_after?;
        Some(retry_after.max(self.reset.unwrap_or(0)).max(1))
    }

    /// Returns the lines of the fields.
    pub fn lines(&self, policy: &str, legacy: bool) -> Lines {
        let mut lines = Lines::new();
        lines.append("RateLimit-Policy: ", policy);
        lines.append_number(";q=", Some(self.capacity));
        lines.append_number(";w=", self.window);
        if let Some(unit) = &self.unit {
            lines.append(";qu=", unit);
        }
        lines.end();
        lines.append("RateLimit: ", policy);
        lines.append_number(";r=", Some(self.remaining));
        lines.append_number(";t=", self.reset);
        lines.end();
        if let Some(wait) = self.wait() {
            lines.append_number("Retry-After: ", Some(wait));
            lines.end();
        }
        if legacy {
            let full_at = wall_clock().as_secs().saturating_add(self.full_after);
            let numbers = [
                ("X-RateLimit-Limit: ", self.capacity),
                ("X-RateLimit-Remaining: ", self.remaining),
                ("X-RateLimit-Reset: ", full_at),
            ];
            for (name, number) in numbers {
                lines.append_number(name, Some(number));
                lines.end();
            }
        }
        lines
    }
}

/// The lines of header fields, without line breaks. Searching one text for its line breaks takes
/// longer.
pub struct Lines {
    text: String,
    /// The ends of the lines in the text.
    ends: [usize; Self::MOST],
    count: usize,
}

impl Lines {
    /// The most fields of a decision.
    const MOST: usize = 6;

    fn new() -> Self {
        Self {
            text: String::with_capacity(256),
            ends: [0; Self::MOST],
            count: 0,
        }
    }

    /// Appends two texts to the current line.
    fn append(&mut self, before: &str, text: &str) {
        self.text.push_str(before);
        self.text.push_str(text);
    }

    /// Appends a number and the text before it, if the number is known.
    fn append_number(&mut self, before: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.append(before, itoa::Buffer::new().format(number));
        }
    }

    /// Ends the current line.
    fn end(&mut self) {
        self.ends[self.count] = self.text.len();
        self.count += 1;
    }

    /// Returns the lines in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends[..self.count].iter().map(move |&end| {
            let line = &self.text[start..end];
            start = end;
            line
        })
    }
}

/// Returns seconds as a whole number, rounded up. Ignores a microsecond, because the reply takes
/// longer, and the rounding of doubles is smaller.
fn whole_seconds(seconds: f64) -> u64 {
    whole((seconds - 1e-6).ceil())
}

/// Returns a whole number for a field.
// Numbers outside the range are limited to it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    (number as u64).min(GREATEST_FIELD)
}

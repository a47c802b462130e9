//! HTTP fields of several decisions, and problem details (RFC 9457) of a denial.

use crate::decision::{self, DecisionState, Fields, Lines};
use ext_php_rs::ffi::{IS_LONG, IS_STRING};
use zend::{Array, Call, Object, Thrown, Zval, throw, value};

/// The registry of problem types, which draft-ietf-httpapi-ratelimit-headers-11 extends.
const TYPES: &str = "https://iana.org/assignments/http-problem-types#";

/// The reasons of denials because the service lacks capacity. The client has done nothing wrong.
const REDUCED: [&[u8]; 5] = [
    b"below_floor",
    b"unavailable",
    b"contended",
    b"table_full",
    b"server_busy",
];

/// A decision in the list, with its fields.
struct Listed {
    /// The key in quotes.
    policy: String,
    fields: Fields,
    allowed: bool,
}

/// Implements `headersOf(array $decisions, bool $legacy = false): array`.
pub fn headers_of(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let legacy = call.count() >= 2 && call.bool(2)?;
    let list = value::entries(call.array(1)?).map(|(key, element)| listed(&key, element));
    let list: Vec<_> = list.collect::<Result<_, _>>()?;
    // The legacy fields have no place for several limits.
    let tightest = list.iter().min_by_key(|it| it.fields.remaining);
    let tightest = tightest.ok_or_else(|| throw::argument_value(1, "must not be empty"))?;
    let lines = list.iter().map(|it| it.fields.lines(&it.policy, false));
    let lines: Vec<_> = lines.collect();
    let mut table = Array::new();
    for name in ["RateLimit-Policy", "RateLimit"] {
        let fields = lines.iter().flat_map(Lines::pairs);
        let values = fields.filter(|(other, _)| *other == name);
        let values: Vec<_> = values.map(|(_, value)| value).collect();
        table.insert(name, values.join(", "))?;
    }
    // The call succeeds only after the longest wait. A denial without a wait never ends.
    let denials = list.iter().filter(|it| !it.allowed);
    let waits: Option<Vec<_>> = denials.map(|it| it.fields.wait()).collect();
    if let Some(wait) = waits.and_then(|waits| waits.into_iter().max()) {
        table.insert("Retry-After", wait.to_string())?;
    }
    if legacy {
        let lines = tightest.fields.lines(&tightest.policy, true);
        for (name, value) in lines.pairs().filter(|(name, _)| name.starts_with("X-")) {
            table.insert(name, value)?;
        }
    }
    *result = table.into_zval();
    Ok(())
}

fn listed(key: &Zval, element: &Zval) -> Result<Listed, Thrown> {
    let decision = value::object(value::dereference(element));
    let decision = decision.and_then(Object::<DecisionState>::of);
    let decision = decision.ok_or_else(|| {
        throw::argument_type(1, "must contain only TokenBucket\\Decision objects")
    })?;
    let name = value::to_string(key).ok_or(Thrown)?;
    let policy = decision::quoted(value::bytes(&name));
    Ok(Listed {
        policy: policy.ok_or_else(|| {
            throw::argument_value(1, "must have keys of printable ASCII characters")
        })?,
        fields: decision::fields_of(decision),
        allowed: decision::allows(decision),
    })
}

/// Implements `problem(array $policies = []): array`.
pub fn problem(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let decision = call.this::<DecisionState>();
    if decision::allows(decision) {
        return Err(throw::logic("A granted decision is no problem"));
    }
    let reason = decision::reason(decision);
    let (name, title, status) = if REDUCED.contains(&value::bytes(&reason)) {
        (
            "temporary-reduced-capacity",
            "Request cannot be satisfied due to temporary server capacity constraints",
            503,
        )
    } else {
        (
            "quota-exceeded",
            "Request cannot be satisfied as assigned quota has been exceeded",
            429,
        )
    };
    let mut table = Array::new();
    table.insert("type", format!("{TYPES}{name}"))?;
    table.insert("title", title)?;
    table.insert("status", status)?;
    if call.count() >= 1 && !call.array(1)?.is_empty() {
        table.insert("violated-policies", names(call)?)?;
    }
    *result = table.into_zval();
    Ok(())
}

/// Returns the names of the first argument as a list of strings. Names may be keys of an array,
/// which PHP turns into integers.
fn names(call: &mut Call<'_>) -> Result<Zval, Thrown> {
    let names = value::entries(call.array(1)?).map(|(_, element)| {
        let name = value::dereference(element);
        let is_name = matches!(value::kind(name), IS_STRING | IS_LONG);
        is_name.then(|| value::to_string(name)).flatten()
    });
    let names: Option<Vec<_>> = names.collect();
    let names =
        names.ok_or_else(|| throw::argument_type(1, "must contain only strings and integers"))?;
    value::of_list(names).ok_or(Thrown)
}

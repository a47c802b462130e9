//! The counters of this host, with their names and meanings, for `status()`, `metrics()` and
//! `phpinfo()`.

use gcra::wall_clock;
use guard::{Measure, Rule};
use segment::{By, Day, Event, Host, Named, Rows, StoreKind, Totals};

/// The name of a metric and its label.
type Metric = (&'static str, Option<(&'static str, &'static str)>);

/// A counter of an event. To add an event to all reports, add a counter to a list below.
pub struct Counter {
    /// The name of the field in `status()`.
    pub field: &'static str,
    pub event: Event,
    /// The name of the metric without `tokenbucket_` and `_total`, and its label. Adjacent counters
    /// with the same name belong to one metric, and have the same meaning.
    pub metric: Metric,
    /// The meaning, which `phpinfo()` and `metrics()` print.
    pub help: &'static str,
}

const fn counter(field: &'static str, event: Event, metric: Metric, help: &'static str) -> Counter {
    Counter {
        field,
        event,
        metric,
        help,
    }
}

const fn fallbacks(policy: &'static str) -> Metric {
    ("remote_fallbacks", Some(("policy", policy)))
}

const FALLBACKS: &str = "Calls that a failure policy decided instead of the remote store";

#[rustfmt::skip]
pub const SHARED_MEMORY: [Counter; 11] = [
    counter("refunds", Event::Refund, ("refunds", None), "Refunds, also of attemptAll()"),
    counter("resets", Event::Reset, ("resets", None), "Buckets that reset() filled"),
    counter("inserted", Event::Inserted, ("slots_inserted", None), "Buckets that took a slot"),
    counter("reclaimed", Event::Reclaimed, ("slots_reclaimed", None), "Slots of full buckets that other buckets took"),
    counter("adopted", Event::Adopted, ("claims_adopted", None), "Claims of one process that another process finished"),
    counter("duplicates", Event::Duplicate, ("claims_duplicate", None), "Claims that gave way to another claim for the same bucket"),
    counter("stolen", Event::Stolen, ("claims_stolen", None), "Claims of killed or suspended processes that were taken over"),
    counter("conflicts", Event::Conflict, ("conflicts", None), "Retries after another process changed the bucket first"),
    counter("contended", Event::Contended, ("contended", None), "Calls denied after too many conflicts in a row"),
    counter("refused", Event::Refused, ("refused", None), "Calls denied because no slot was free"),
    counter("evicted", Event::Evicted, ("slots_evicted", None), "Buckets forgotten before they were full"),
];

/// The meaning of the counter of blocks, which each row has.
pub const BLOCKS: &str = "Clients that a limit of the guard blocked for a time";

#[rustfmt::skip]
pub const REMOTE: [Counter; 12] = [
    counter("asked", Event::Asked, ("remote_calls", None), "Calls sent to a remote store"),
    counter("cached", Event::Cached, ("remote_cached_denials", None), "Denials from the denial cache, without a call to the store"),
    counter("failed", Event::Failed, ("remote_failures", None), "Calls that a remote store failed"),
    counter("opened", Event::Opened, ("remote_breaker_openings", None), "Breakers that opened after failures in a row"),
    counter("local", Event::Fallback, fallbacks("local"), FALLBACKS),
    counter("allowed", Event::LetThrough, fallbacks("allow"), FALLBACKS),
    counter("denied", Event::TurnedAway, fallbacks("deny"), FALLBACKS),
    counter("thrown", Event::Thrown, fallbacks("throw"), FALLBACKS),
    counter("set_back", Event::SetBack, ("remote_clocks_set_back", None), "Calls that found that the clock of a store was set back"),
    counter("taken_ahead", Event::TakenAhead, ("remote_taken_ahead", None), "Calls whose tokens were taken from a remote store ahead"),
    counter("used_ahead", Event::UsedAhead, ("remote_used_ahead", None), "Grants by tokens taken ahead, without a call to the store"),
    counter("dropped_ahead", Event::DroppedAhead, ("remote_dropped_ahead", None), "Calls taken ahead that were given up"),
];

#[rustfmt::skip]
pub const PERMITS: [Counter; 3] = [
    counter("denied", Event::PermitDenied, ("permits_denied", None), "Permits denied because all of their identifier were held"),
    counter("taken_back", Event::PermitTakenBack, ("permits_taken_back", None), "Permits taken back because their process has died or their lease has ended"),
    counter("foreign", Event::PermitForeign, ("permits_foreign", None), "Releases of permits that the process did not hold any more"),
];

/// The number of grants or denials of a namespace by the store, the denial cache or the fallback.
pub struct Decided {
    /// The name of the field in `status()`.
    pub field: &'static str,
    pub result: &'static str,
    pub by: &'static str,
    pub count: u64,
}

/// Returns the rows that count the decisions of namespaces, sorted by store and name. `held` has
/// the permits of each row. A row that several namespaces share is returned only if it has counted
/// a decision or has permits.
pub fn rows(host: &Host, totals: &Totals, held: &Rows<usize>) -> Vec<Named> {
    let mut rows = host.slots().rows();
    let is_used = |row: &Named| {
        held[row.row] > 0 || decided(row, totals).iter().any(|decided| decided.count > 0)
    };
    rows.retain(|row| row.name.is_some() || is_used(row));
    rows.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    rows
}

/// The beginning of the names of rows of the guard. The limit follows.
pub const LIMIT_ROW: &str = "guard: ";
/// The same for limits of preflight requests.
pub const PREFLIGHT_ROW: &str = "guard: preflights: ";

/// Reports whether a row counts decisions of the guard.
pub fn is_of_guard(named: &Named) -> bool {
    named.is_reserved()
}

/// Reports whether the denied clients of a row are counted.
pub fn counts_clients(host: &Host, named: &Named) -> bool {
    is_of_guard(named) || (named.name.is_some() && host.slots().diagnostics().is_some())
}

/// Returns the different clients that a row of the guard has denied today and yesterday, in UTC.
pub fn denied_clients(host: &Host, named: &Named) -> [u64; 2] {
    let today = Day::of(wall_clock());
    [today, today.before()].map(|day| host.slots().denied_clients(named.row, day))
}

/// Returns the permits of each identifier of a limit of the guard. `None` if the limit is a rate,
/// or if its row's name was too short for the whole limit.
pub fn permits_limit(named: &Named) -> Option<u16> {
    let name = str::from_utf8(named.name.as_deref()?).ok()?;
    let mut rows = [PREFLIGHT_ROW, LIMIT_ROW].iter();
    let limit = rows.find_map(|row| name.strip_prefix(row))?;
    match Rule::parse(limit).ok()?.first()?.measure() {
        Measure::Concurrent(permits) if is_of_guard(named) => Some(*permits),
        _ => None,
    }
}

/// Returns the decisions of a row.
pub fn decided(named: &Named, totals: &Totals) -> [Decided; 5] {
    let of = |by| totals.decisions(named.row, by);
    let (here, [_, cached]) = (of(By::SharedMemory), of(By::DenialCache));
    let (store, fallback) = if named.kind == StoreKind::SharedMemory {
        (here, [0; 2])
    } else {
        // A remote store uses shared memory only as its fallback, so `here` counts decisions of the
        // fallback.
        let policy = of(By::Policy);
        let fallback = [0, 1].map(|index| here[index].wrapping_add(policy[index]));
        (of(By::Store), fallback)
    };
    [
        ("granted_by_store", "granted", "store", store[0]),
        ("denied_by_store", "denied", "store", store[1]),
        ("denied_by_denial_cache", "denied", "denial_cache", cached),
        ("granted_by_fallback", "granted", "fallback", fallback[0]),
        ("denied_by_fallback", "denied", "fallback", fallback[1]),
    ]
    .map(|(field, result, by, count)| Decided {
        field,
        result,
        by,
        count,
    })
}

pub const fn kind(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::SharedMemory => "shared_memory",
        StoreKind::Redis => "redis",
        StoreKind::Memcached => "memcached",
        StoreKind::Database => "database",
    }
}

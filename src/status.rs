//! `TokenBucket\status()`: the counters and the state of this host.

use crate::attached;
use crate::counters::{self, PERMITS, REMOTE, SHARED_MEMORY, decided, kind};
use crate::guard::in_force;
use gcra::{boot_clock, seconds};
use segment::{By, Host, Named, Rows, StoreKind, Totals};
use zend::{Array, Call, Thrown, Zval, value};

/// The most identifiers that `most_denied` lists.
const MOST_DENIED: usize = 20;

/// Implements `status(): array`. Returns the counters and the state of this host.
pub fn status(_call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = status_table()?.into_zval();
    Ok(())
}

fn status_table() -> Result<Array, Thrown> {
    let mut table = Array::new();
    table.insert("version", env!("CARGO_PKG_VERSION"))?;
    if let Some(host) = attached::host() {
        // All counters are read once, so that they agree with each other.
        let totals = host.slots().totals();
        let held = host.permits().held_by_row();
        table.insert("shared_memory", shared_memory(host, &totals)?.into_zval())?;
        table.insert("guard", guard()?.into_zval())?;
        table.insert("decisions", decisions(host, &totals, &held)?.into_zval())?;
        table.insert("most_denied", most_denied(host)?.into_zval())?;
        table.insert("permits", permits(host, &totals, &held)?.into_zval())?;
        table.insert("remote", remote(&totals)?.into_zval())?;
        table.insert("stores", stores(host)?.into_zval())?;
    }
    Ok(table)
}

fn shared_memory(host: &Host, totals: &Totals) -> Result<Array, Thrown> {
    let segment = host.segment();
    let (backing, path) = attached::backing(segment);
    let usage = host.usage();
    let mut table = Array::new();
    table.insert("backing", backing)?;
    table.insert("path", path)?;
    table.insert("size", count(segment.size() as u64))?;
    let evicts = host.slots().may_evict();
    table.insert("full", if evicts { "evict" } else { "refuse" })?;
    let slots = usage.live + usage.reclaimable + usage.pending + usage.empty;
    for (name, slots) in [
        ("slots", slots),
        ("live", usage.live),
        ("reclaimable", usage.reclaimable),
        ("pending", usage.pending),
        ("empty", usage.empty),
    ] {
        table.insert(name, count(slots as u64))?;
    }
    for (name, number) in memory_counters(totals) {
        table.insert(name, count(number))?;
    }
    table.insert("blocked", count(totals.all_blocks()))?;
    for (name, ticks) in [
        ("evicted_seconds", totals.evicted_ticks),
        ("evicted_seconds_max", totals.evicted_ticks_max),
        ("age", segment.age()),
    ] {
        table.insert(name, seconds::from_ticks(ticks))?;
    }
    Ok(table)
}

/// Returns the counters of the segment with their names.
fn memory_counters(totals: &Totals) -> impl Iterator<Item = (&'static str, u64)> {
    let decided = totals.all_decisions(By::SharedMemory);
    let events = SHARED_MEMORY.map(|it| (it.field, totals.get(it.event)));
    ["granted", "denied"].into_iter().zip(decided).chain(events)
}

fn guard() -> Result<Array, Thrown> {
    let reason = in_force::hindrance();
    let mut table = Array::new();
    table.insert("in_force", reason.is_none())?;
    let reason = reason.map(|reason| value::of_bytes(reason.as_bytes()));
    table.insert("reason", reason.unwrap_or_else(Zval::null))?;
    Ok(table)
}

fn decisions(host: &Host, totals: &Totals, held: &Rows<usize>) -> Result<Array, Thrown> {
    let mut list = Array::new();
    for named in counters::rows(host, totals, held) {
        let mut row = name_of(&named)?;
        for decided in decided(&named, totals) {
            row.insert(decided.field, count(decided.count))?;
        }
        if named.kind == StoreKind::SharedMemory {
            row.insert("permits_held", count(held[named.row] as u64))?;
        }
        if counters::is_of_guard(&named) {
            let limit = counters::permits_limit(&named).map(i64::from);
            row.insert("permits_limit", limit)?;
            row.insert("blocked", count(totals.blocks[named.row]))?;
        }
        if counters::counts_clients(host, &named) {
            let [today, yesterday] = counters::denied_clients(host, &named);
            row.insert("clients_denied_today", count(today))?;
            row.insert("clients_denied_yesterday", count(yesterday))?;
        }
        list.push(row)?;
    }
    Ok(list)
}

/// Returns an array with the store and the name of a namespace.
fn name_of(named: &Named) -> Result<Array, Thrown> {
    let mut row = Array::new();
    row.insert("store", kind(named.kind))?;
    let name = named.name.as_deref();
    row.insert("namespace", name.map_or_else(Zval::null, value::of_bytes))?;
    Ok(row)
}

fn most_denied(host: &Host) -> Result<Array, Thrown> {
    let mut list = Array::new();
    let diagnostics = host.slots().diagnostics();
    let most_denied = diagnostics.map(|all| all.most_denied(MOST_DENIED));
    let rows = host.slots().rows();
    for denied in most_denied.unwrap_or_default() {
        // A row may be unknown if another program has written to a named segment.
        let Some(named) = rows.iter().find(|named| named.row == denied.row) else {
            continue;
        };
        let mut row = name_of(named)?;
        row.insert("identifier", value::of_bytes(&denied.identifier))?;
        row.insert("denied", count(denied.denied))?;
        list.push(row)?;
    }
    Ok(list)
}

fn permits(host: &Host, totals: &Totals, held: &Rows<usize>) -> Result<Array, Thrown> {
    let mut table = Array::new();
    let held: usize = held.values().sum();
    table.insert("held", count(held as u64))?;
    for counter in PERMITS {
        table.insert(counter.field, count(totals.get(counter.event)))?;
    }
    let cause = host.permits().check().err();
    let cause = cause.map_or_else(Zval::null, |cause| {
        value::of_bytes(cause.to_string().as_bytes())
    });
    table.insert("unavailable", cause)?;
    Ok(table)
}

fn remote(totals: &Totals) -> Result<Array, Thrown> {
    let mut table = Array::new();
    for counter in REMOTE {
        table.insert(counter.field, count(totals.get(counter.event)))?;
    }
    Ok(table)
}

/// Returns the remote stores that this host has used, with the states of their breakers.
fn stores(host: &Host) -> Result<Array, Thrown> {
    let now = boot_clock();
    let mut list = Array::new();
    for state in host.breakers().states_in_use(now) {
        let mut row = Array::new();
        row.insert("name", value::of_bytes(state.name.as_bytes()))?;
        row.insert("timeout", seconds::from_ticks(state.timeout))?;
        let is_open = state.open_until.is_some();
        row.insert("breaker", if is_open { "open" } else { "closed" })?;
        row.insert("failures", i64::from(state.failures))?;
        row.insert("opened", count(state.openings))?;
        let pause = state
            .open_until
            .map_or(0, |until| until.saturating_since(now));
        row.insert("retry_after", seconds::from_ticks(pause))?;
        let (cause, age) = state.last.map_or_else(
            || (Zval::null(), 0),
            |(cause, at)| (value::of_bytes(cause.as_bytes()), now.saturating_since(at)),
        );
        row.insert("last_cause", cause)?;
        row.insert("last_cause_age", seconds::from_ticks(age))?;
        let mut causes = Array::new();
        for (name, failures) in state.causes.into_iter().filter(|it| it.1 != 0) {
            causes.insert(name, count(failures))?;
        }
        row.insert("causes", causes.into_zval())?;
        let durations = state.durations;
        row.insert("calls", count(durations.calls()))?;
        row.insert("seconds", seconds::from_ticks(durations.ticks))?;
        let p99 = durations.percentile(99).map(seconds::from_ticks);
        row.insert("p99", p99)?;
        list.push(row)?;
    }
    Ok(list)
}

/// Returns a count as PHP's `int`. Limits it to the greatest `int`.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

//! `phpinfo()`: the state and the counters of this host in words.

use crate::attached;
use crate::counters::{self, BLOCKS, Counter, PERMITS, REMOTE, SHARED_MEMORY, decided, kind};
use crate::guard::in_force;
use ext_php_rs::zend::ModuleEntry;
use gcra::{Timestamp, boot_clock, seconds};
use segment::memory::Backing;
use segment::{By, Host, Named, Rows, StoreKind, Totals};
use std::fmt::Display;
use stores::printable;
use stores::remote::breaker::BreakerState;
use zend::system;

type Row = (String, String);

/// Implements the module's part of `phpinfo()`.
pub extern "C" fn phpinfo(_module: *mut ModuleEntry) {
    let mut rows = vec![
        row("tokenbucket support", "enabled"),
        row("Version", env!("CARGO_PKG_VERSION")),
        row("Build", build()),
    ];
    if let Some(host) = attached::host() {
        let totals = host.slots().totals();
        memory(&mut rows, host);
        let [granted, denied] = totals.all_decisions(By::SharedMemory);
        rows.push(row("Calls granted by shared memory", granted));
        rows.push(row("Calls denied by shared memory", denied));
        rows.extend(SHARED_MEMORY.iter().map(|it| counted(it, &totals)));
        rows.push(row(BLOCKS, totals.all_blocks()));
        let held = host.permits().held_by_row();
        permits(&mut rows, host, &totals, &held);
        let guard = in_force::hindrance().map(|reason| format!("not in force: {reason}"));
        rows.push(row("Guard", guard.unwrap_or_else(|| "in force".to_owned())));
        for named in counters::rows(host, &totals, &held) {
            rows.push(row("Decisions", decisions(&named, &totals)));
        }
        let stores = host.breakers().states_in_use(boot_clock());
        if !stores.is_empty() {
            rows.extend(REMOTE.iter().map(|it| counted(it, &totals)));
        }
        let now = boot_clock();
        rows.extend(stores.iter().map(|state| row("Store", store(state, now))));
    }
    system::print_table(&rows);
    system::print_settings(env!("CARGO_PKG_NAME"));
}

/// Returns the commit, the compiler and the API of PHP's engine that the module was built with.
fn build() -> String {
    let api = ext_php_rs::ffi::ZEND_MODULE_API_NO;
    format!("{}, API {api}", env!("TOKENBUCKET_BUILD"))
}

fn row(name: impl Into<String>, value: impl Display) -> Row {
    (name.into(), printable(value.to_string()))
}

fn memory(rows: &mut Vec<Row>, host: &Host) {
    let segment = host.segment();
    let (backing, path) = attached::backing(segment);
    rows.push(row("Shared memory", format!("{backing} {path}").trim()));
    let sharers = match segment.backing() {
        Backing::Named(..) => "all processes that use this file",
        _ => "this process and its children, such as workers; other processes have other buckets",
    };
    rows.push(row("Shared by", sharers));
    rows.push(row("Size", format!("{} bytes", segment.size())));
    let age = seconds::from_ticks(segment.age());
    rows.push(row(
        "Created",
        format!("{age:.0} s ago, with all buckets full"),
    ));
    let usage = host.usage();
    let slots = usage.live + usage.reclaimable + usage.pending + usage.empty;
    let live = usage.live as f64 / slots as f64 * 100.0;
    let advice = if live > 50.0 {
        ": raise tokenbucket.shm_size"
    } else {
        ""
    };
    let text = format!(
        "{} live ({live:.1} %{advice}), {} full again, {} being claimed, {} empty",
        usage.live, usage.reclaimable, usage.pending, usage.empty
    );
    rows.push(row("Slots", text));
}

fn permits(rows: &mut Vec<Row>, host: &Host, totals: &Totals, held: &Rows<usize>) {
    let held: usize = held.values().sum();
    let held = match host.permits().check() {
        Ok(()) => held.to_string(),
        Err(cause) => format!("{held}; this process cannot hold permits: {cause}"),
    };
    rows.push(row("Permits held", held));
    rows.extend(PERMITS.iter().map(|it| counted(it, totals)));
}

fn counted(counter: &Counter, totals: &Totals) -> Row {
    let policy = counter
        .metric
        .1
        .map(|(name, value)| format!(" ({name} {value})"));
    let name = format!("{}{}", counter.help, policy.unwrap_or_default());
    row(name, totals.get(counter.event))
}

fn decisions(named: &Named, totals: &Totals) -> String {
    let counts = decided(named, totals);
    let is_remote = named.kind != StoreKind::SharedMemory;
    let counts = counts.iter().filter(|it| is_remote || it.by == "store");
    let counts = counts.map(|it| {
        let by = it.by.replace('_', " ");
        format!("{} {} by the {by}", it.count, it.result)
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let name = named.name.as_deref().map(String::from_utf8_lossy);
    let name = name.map_or_else(|| "other namespaces".into(), |it| format!("\"{it}\""));
    format!("{} {name}: {counts}", kind(named.kind))
}

fn store(state: &BreakerState, now: Timestamp) -> String {
    let in_ms = |ticks: u64| seconds::from_ticks(ticks) * 1e3;
    let breaker = match state.open_until {
        None => "up".to_owned(),
        Some(until) if until <= now => "down, the next call tries it".to_owned(),
        Some(until) => {
            let pause = in_ms(until.saturating_since(now));
            format!("down, tried again in {pause:.0} ms")
        }
    };
    let durations = state.durations;
    let calls = durations.calls();
    let mut parts = vec![breaker, format!("calls {calls}")];
    if let Some(mean) = durations.ticks.checked_div(calls) {
        parts.push(format!("mean {:.3} ms", in_ms(mean)));
    }
    if let Some(p99) = durations.percentile(99) {
        parts.push(format!("99 % within {} ms", in_ms(p99)));
    }
    let causes = state.causes.iter().filter(|it| it.1 > 0);
    let causes: Vec<_> = causes
        .map(|(cause, count)| format!("{cause} {count}"))
        .collect();
    if let Some((cause, at)) = &state.last {
        let age = seconds::from_ticks(now.saturating_since(*at));
        let causes = causes.join(", ");
        parts.push(format!(
            "failures: {causes}, the last one {age:.0} s ago: {cause}"
        ));
    }
    format!("{}: {}", state.name, parts.join(", "))
}

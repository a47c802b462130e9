//! `TokenBucket\metrics()`: the counters and the state of this host as a text for Prometheus.
//!
//! The text is `OpenMetrics` with one difference: the metadata of a counter has the name with
//! `_total`, so that readers of the older text format find it, too.

use crate::attached;
use crate::counters::{self, BLOCKS, Counter, PERMITS, REMOTE, SHARED_MEMORY, kind};
use crate::guard::in_force;
use gcra::{Timestamp, boot_clock, seconds};
use segment::cells::breaker::Breakers;
use segment::{Host, Named, Rows, StoreKind, Totals};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use stores::remote::durations::{Histogram, LABELS};
use zend::{Call, Thrown, Zval, value};

/// The most cache lines and used slots of the table that are read. If the table has more, the
/// numbers of slots are estimates. Their standard error is at most 0.4 % of the table.
const SAMPLE: usize = 32_768;

/// The namespace of rows that several namespaces share.
const OTHERS: &str = "(others)";

/// Implements `metrics(): string`.
pub fn metrics(_call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let mut text = Text::default();
    if let Some(host) = attached::host() {
        // All counters are read once, so that they agree with each other.
        let totals = host.slots().totals();
        let held = host.permits().held_by_row();
        let rows = counters::rows(host, &totals, &held);
        text.segment(host);
        text.decisions(&rows, &totals);
        text.counters(&SHARED_MEMORY, &totals);
        text.evicted(&totals);
        text.guard(host, &rows, &totals);
        text.permits(&rows, &held);
        text.counters(&PERMITS, &totals);
        text.counters(&REMOTE, &totals);
        text.stores(&stores(host.breakers(), boot_clock()));
    }
    text.0.push_str("# EOF\n");
    *result = value::of_bytes(text.0.as_bytes());
    Ok(())
}

/// The text, which grows by families of samples.
#[derive(Default)]
struct Text(String);

type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    /// Begins a family. `name` ends with the unit, if there is one.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP tokenbucket_{name} {help}."));
        self.line(format_args!("# TYPE tokenbucket_{name} {kind}"));
        for unit in ["seconds", "bytes"] {
            if name.ends_with(unit) {
                self.line(format_args!("# UNIT tokenbucket_{name} {unit}"));
            }
        }
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let labels = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect::<Vec<_>>()
            .join(",");
        if labels.is_empty() {
            self.line(format_args!("tokenbucket_{name} {value}"));
        } else {
            self.line(format_args!("tokenbucket_{name}{{{labels}}} {value}"));
        }
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        writeln!(self.0, "{line}").ok();
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    fn segment(&mut self, host: &Host) {
        let segment = host.segment();
        let full = if host.slots().may_evict() {
            "evict"
        } else {
            "refuse"
        };
        let labels = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("backing", attached::backing(segment).0),
            ("full", full),
        ];
        self.family("info", "gauge", "The extension and its shared memory");
        self.sample("info", &labels, 1);
        self.gauge("segment_bytes", "Size of the segment", segment.size());
        let age = seconds::from_ticks(segment.age());
        self.gauge("segment_age_seconds", "Time since the start", age);
        let usage = host.estimated_usage(SAMPLE);
        self.family(
            "slots",
            "gauge",
            "Slots by state, estimated in a large table",
        );
        for (state, slots) in [
            ("live", usage.live),
            ("reclaimable", usage.reclaimable),
            ("pending", usage.pending),
            ("empty", usage.empty),
        ] {
            self.sample("slots", &[("state", state)], slots);
        }
    }

    fn decisions(&mut self, rows: &[Named], totals: &Totals) {
        if !rows.is_empty() {
            self.family("decisions_total", "counter", "Calls granted or denied");
        }
        for row in rows {
            let namespace = namespace(row);
            for decided in counters::decided(row, totals) {
                // Shared memory has no denial cache and no fallback.
                if row.kind == StoreKind::SharedMemory && decided.by != "store" {
                    continue;
                }
                let labels = [
                    ("namespace", namespace.as_str()),
                    ("store", kind(row.kind)),
                    ("result", decided.result),
                    ("by", decided.by),
                ];
                self.sample("decisions_total", &labels, decided.count);
            }
        }
    }

    fn guard(&mut self, host: &Host, rows: &[Named], totals: &Totals) {
        if in_force::has_limits() {
            let reason = in_force::hindrance();
            let help = "1 if the limits of the guard apply to the requests of this server";
            self.family("guard_in_force", "gauge", help);
            let labels = [("reason", reason.as_deref().unwrap_or_default())];
            self.sample("guard_in_force", &labels, u8::from(reason.is_none()));
        }
        let rows = rows.iter().filter(|row| counters::is_of_guard(row));
        let clients = rows.clone().flat_map(|row| {
            let counts = counters::denied_clients(host, row);
            let of_day = move |(day, count)| (row, Some(("day", day)), count);
            ["today", "yesterday"].into_iter().zip(counts).map(of_day)
        });
        let help = "Different clients that a limit of the guard has denied, estimated";
        self.by_row("guard_denied_clients", "gauge", help, clients);
        let blocks = rows.clone().map(|row| (row, None, totals.blocks[row.row]));
        self.by_row("guard_blocks_total", "counter", BLOCKS, blocks);
        let limits = rows.filter_map(|row| Some((row, None, counters::permits_limit(row)?)));
        let help = "Permits of each identifier of a limit of the guard";
        self.by_row("guard_permits_limit", "gauge", help, limits);
    }

    fn permits(&mut self, rows: &[Named], held: &Rows<usize>) {
        let rows = rows.iter().filter(|row| {
            // A rate of the guard has no permits.
            let has_permits = !counters::is_of_guard(row) || counters::permits_limit(row).is_some();
            row.kind == StoreKind::SharedMemory && (has_permits || held[row.row] > 0)
        });
        let held = rows.map(|row| (row, None, held[row.row]));
        self.by_row(
            "permits_held",
            "gauge",
            "Permits that live processes hold",
            held,
        );
    }

    /// Writes a family. Each sample has the label of its row, and perhaps another one. Writes
    /// nothing without samples.
    fn by_row<'r>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl Iterator<Item = (&'r Named, Option<(&'r str, &'r str)>, impl Display)>,
    ) {
        for (index, (row, label, value)) in samples.enumerate() {
            if index == 0 {
                self.family(name, kind, help);
            }
            let namespace = namespace(row);
            let labels = [("namespace", namespace.as_str())].into_iter().chain(label);
            self.sample(name, &labels.collect::<Vec<_>>(), value);
        }
    }

    fn counters(&mut self, counters: &[Counter], totals: &Totals) {
        let mut last = "";
        for counter in counters {
            let (name, label) = counter.metric;
            let metric = format!("{name}_total");
            if name != last {
                self.family(&metric, "counter", counter.help);
            }
            last = name;
            self.sample(&metric, label.as_slice(), totals.get(counter.event));
        }
    }

    fn evicted(&mut self, totals: &Totals) {
        let name = "evicted_seconds_total";
        let help = "Time that evicted buckets needed until they were full";
        self.family(name, "counter", help);
        self.sample(name, &[], seconds::from_ticks(totals.evicted_ticks));
        let longest = seconds::from_ticks(totals.evicted_ticks_max);
        self.gauge("evicted_max_seconds", "The longest of these times", longest);
    }

    fn stores(&mut self, stores: &Stores) {
        if stores.is_empty() {
            return;
        }
        let in_use = |it: &(_, &Store)| it.1.breakers.iter().any(|it| it.1 > 0);
        self.breakers(&stores.iter().filter(in_use).collect::<Vec<_>>());
        let name = "store_breaker_openings_total";
        self.family(name, "counter", "Times that a breaker opened");
        for (server, store) in stores {
            self.sample(name, &[("server", server)], store.openings);
        }
        self.family("store_failures_total", "counter", "Failed calls by cause");
        for (server, store) in stores {
            for &(cause, count) in &store.causes {
                let labels = [("server", server.as_str()), ("cause", cause)];
                self.sample("store_failures_total", &labels, count);
            }
        }
        let help = "Time that calls to the store took, also failed calls";
        self.family("store_duration_seconds", "histogram", help);
        for (server, store) in stores {
            self.histogram("store_duration_seconds", server, &store.durations);
        }
    }

    /// Writes the states of breakers. `stores` are those with breakers in use.
    fn breakers(&mut self, stores: &[(&String, &Store)]) {
        if stores.is_empty() {
            return;
        }
        self.family("store_up", "gauge", "0 while a breaker is open");
        for (server, store) in stores {
            let is_up = store.breakers[1..].iter().all(|it| it.1 == 0);
            self.sample("store_up", &[("server", server)], u8::from(is_up));
        }
        let help = "Breakers by state, one for each credential and timeout";
        self.family("store_breakers", "gauge", help);
        for (server, store) in stores {
            for (state, count) in store.breakers {
                let labels = [("server", server.as_str()), ("state", state)];
                self.sample("store_breakers", &labels, count);
            }
        }
    }

    fn histogram(&mut self, name: &str, server: &str, histogram: &Histogram) {
        let bucket = format!("{name}_bucket");
        for (limit, calls) in LABELS.into_iter().zip(histogram.cumulative()) {
            self.sample(&bucket, &[("server", server), ("le", limit)], calls);
        }
        let labels = [("server", server)];
        self.sample(&format!("{name}_count"), &labels, histogram.calls());
        let sum = seconds::from_ticks(histogram.ticks);
        self.sample(&format!("{name}_sum"), &labels, sum);
    }
}

/// The remote stores by name.
type Stores = BTreeMap<String, Store>;

/// The sums of all cells of one store.
#[derive(Default)]
struct Store {
    breakers: [(&'static str, u32); 3],
    openings: u64,
    causes: Vec<(&'static str, u64)>,
    durations: Histogram,
}

/// Adds up the cells of each store. A store has a cell for each credential and timeout. Cells that
/// are not in use count in the counters only, so that these do not fall.
fn stores(breakers: Breakers<'_>, now: Timestamp) -> Stores {
    let mut stores = Stores::new();
    for state in breakers.states() {
        let store = stores
            .entry(name(state.name.as_bytes()))
            .or_insert_with(|| Store {
                breakers: [("closed", 0), ("open", 0), ("half_open", 0)],
                causes: state.causes.map(|(cause, _)| (cause, 0)).to_vec(),
                ..Store::default()
            });
        store.openings = store.openings.wrapping_add(state.openings);
        for (sum, (_, count)) in store.causes.iter_mut().zip(state.causes) {
            sum.1 = sum.1.wrapping_add(count);
        }
        store.durations.add(&state.durations);
    }
    for state in breakers.states_in_use(now) {
        let breaker = match state.open_until {
            None => 0,
            Some(until) if now < until => 1,
            Some(_) => 2,
        };
        if let Some(store) = stores.get_mut(&name(state.name.as_bytes())) {
            store.breakers[breaker].1 += 1;
        }
    }
    stores
}

/// Returns the name of a row as a label's value.
fn namespace(row: &Named) -> String {
    row.name.as_deref().map_or_else(|| OTHERS.to_owned(), name)
}

/// Returns bytes as a label's value: valid UTF-8 without control characters except line feeds.
/// Other bytes become `\x` and two digits. A backslash before an `x` is replaced in the same way,
/// so different bytes have different values.
fn name(bytes: &[u8]) -> String {
    let mut name = String::with_capacity(bytes.len());
    let escape = |name: &mut String, byte: u8| write!(name, "\\x{byte:02x}").ok();
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid().chars().peekable();
        while let Some(char) = rest.next() {
            let is_escape = char == '\\' && rest.peek() == Some(&'x');
            match u8::try_from(char) {
                Ok(byte) if is_escape || (byte.is_ascii_control() && byte != b'\n') => {
                    escape(&mut name, byte);
                }
                _ => name.push(char),
            }
        }
        for &byte in chunk.invalid() {
            escape(&mut name, byte);
        }
    }
    if name == OTHERS {
        name.replace_range(..1, "\\x28");
    }
    name
}

/// Escapes a label's value for the text.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

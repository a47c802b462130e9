//! Reads a log, which holds the calls on each bucket and the rules of the judgement.
//!
//! A log is a file, or a folder of files `*.log`. Lines that begin with a digit are log records
//! ([`crate::record`]). A line `caller` with a process id is followed by the records of one caller;
//! records before it are of a caller whose death is not noted. Lines that begin with `#` are
//! comments. A last line without a line feed is ignored. The other lines are rules, a word and
//! numbers:
//!
//! - `tick`, `skew`, `linger`, `wait`, `cached` and `ahead`: nanoseconds.
//! - `buckets`: a number.
//! - `evicted`: thousandths of a token.
//! - `bucket`: a bucket's number, and its capacity and rate in thousandths.
//! - `shared`: the numbers of buckets that are limits of one bucket.
//! - `host`: a process and the number of its host.
//! - `uncached`: the number of a bucket to which `cached` does not apply.
//! - `quota`: a quota's number, its limit in tokens, the greatest error of the instants that
//!   follow, and the instants at which windows start.
//! - `lockout`: a lockout's number, its attempts, its first block in nanoseconds, the factor in
//!   thousandths, its longest block and the unit of stored instants in nanoseconds.
//!
//! A call without an end has an unknown outcome. The call may have taken effect until its caller
//! died or continued. `linger` is added, because the request may still have been on its way. If no
//! death was noted, the end of the log replaces the death.

use crate::call::{Call, Kind, Nanos, Outcome, Quota};
use crate::lockouts::Lockout;
use crate::record::{Answer, Phase, Record};
use crate::rules::Rules;
use crate::windows::Windows;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The contents of a log.
#[derive(Clone, Debug)]
pub struct Log {
    /// The allowances, which apply to all buckets.
    pub rules: Rules,
    /// The quota and the calls of each bucket, including losses.
    pub buckets: BTreeMap<u32, (Quota, Vec<Call>)>,
    /// The lists of limits that share a bucket. Each limit is one of `buckets`.
    pub shared: Vec<Vec<u32>>,
    /// The buckets that do not use the denial cache.
    pub uncached: BTreeSet<u32>,
    /// The windows and the calls of each quota, including losses.
    pub quotas: BTreeMap<u32, (Windows, Vec<Call>)>,
    /// The hosts of callers, by process.
    pub hosts: HashMap<u32, u32>,
    /// The rules and the calls of each lockout, including losses.
    pub lockouts: BTreeMap<u32, (Lockout, Vec<Call>)>,
}

/// The process id of a caller, and its log records.
pub type Caller = (u32, Vec<Record>);

/// Reads the text of the rules and the log records of a log. Fails with a message with the file
/// that cannot be read, or with the invalid line.
pub fn read(path: &Path) -> Result<(String, Vec<Caller>), String> {
    let (mut rules, mut callers) = (String::new(), Vec::new());
    for file in files(path)? {
        let of_file = |error: String| format!("{}: {error}", file.display());
        let text = fs::read_to_string(&file).map_err(|error| of_file(error.to_string()))?;
        parse(&text, &mut rules, &mut callers).map_err(of_file)?;
    }
    Ok((rules, callers))
}

/// Adds the rules and the callers of the text of one file.
pub fn parse(text: &str, rules: &mut String, callers: &mut Vec<Caller>) -> Result<(), String> {
    let mut caller: Caller = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            break;
        };
        let invalid = || format!("invalid line: {line}");
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            caller.1.push(Record::parse(line).ok_or_else(invalid)?);
        } else if let Some(process) = line.strip_prefix("caller ") {
            let next = (process.parse().map_err(|_| invalid())?, Vec::new());
            callers.push(std::mem::replace(&mut caller, next));
        } else if !line.starts_with('#') {
            rules.extend([line, "\n"]);
        }
    }
    callers.push(caller);
    Ok(())
}

/// Returns the files of a log.
fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(|error| error.to_string())?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: Vec<_> = paths
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let is_log = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    Ok(paths.into_iter().filter(is_log).collect())
}

/// The instants of deaths by process, in ascending order.
type Deaths = BTreeMap<u32, Vec<Nanos>>;

impl Log {
    /// Returns a log with the rules of `text` and without calls. Fails with a message with the
    /// invalid line.
    pub fn from_rules(text: &str) -> Result<Self, String> {
        let mut log = Self {
            rules: Rules::EXACT,
            buckets: BTreeMap::new(),
            shared: vec![],
            uncached: BTreeSet::new(),
            quotas: BTreeMap::new(),
            hosts: HashMap::new(),
            lockouts: BTreeMap::new(),
        };
        let rules = &mut log.rules;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let word = words.next();
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let id = |number: u64| u32::try_from(number).map_err(|_| line.to_owned());
            match (word, numbers.as_slice()) {
                (None, _) => {}
                (Some("tick"), &[time]) => rules.tick = time,
                (Some("skew"), &[time]) => rules.skew = time,
                (Some("linger"), &[time]) => rules.linger = time,
                (Some("wait"), &[time]) => rules.wait = time,
                (Some("cached"), &[time]) => rules.cached = time,
                (Some("ahead"), &[time]) => rules.ahead = time,
                (Some("buckets"), &[count]) => {
                    rules.buckets = id(count)?;
                }
                (Some("evicted"), &[thousandths]) => {
                    rules.evicted = Quota::from_thousandths(thousandths, 0).capacity;
                }
                (Some("bucket"), &[bucket, capacity, rate]) => {
                    let quota = Quota::from_thousandths(capacity, rate);
                    log.buckets.insert(id(bucket)?, (quota, vec![]));
                }
                (Some("shared"), limits) => {
                    let limits = limits.iter().map(|&limit| id(limit));
                    log.shared.push(limits.collect::<Result<_, _>>()?);
                }
                (Some("host"), &[process, host]) => {
                    log.hosts.insert(id(process)?, id(host)?);
                }
                (Some("uncached"), &[bucket]) => {
                    log.uncached.insert(id(bucket)?);
                }
                (Some("quota"), &[quota, limit, error, ref starts @ ..]) => {
                    let windows = Windows::new(limit, error, starts);
                    log.quotas.insert(id(quota)?, (windows, vec![]));
                }
                (Some("lockout"), &[lockout, attempts, block, factor, longest, unit]) => {
                    let rules = Lockout {
                        attempts,
                        block,
                        factor,
                        longest,
                        unit,
                    };
                    log.lockouts.insert(id(lockout)?, (rules, vec![]));
                }
                _ => return Err(format!("invalid rule: {line}")),
            }
        }
        Ok(log)
    }

    /// Adds the log records of callers. Each element is a process id and the log records of that
    /// process. Fails with a message with the bucket that has no rule.
    pub fn add(&mut self, files: &[Caller]) -> Result<(), String> {
        let all = || files.iter().flat_map(|(_, records)| records);
        let last = all().map(|record| record.time).max().unwrap_or(0);
        let mut deaths = Deaths::new();
        for record in all().filter(|record| record.phase == Phase::Death) {
            deaths.entry(record.bucket).or_default().push(record.time);
        }
        for times in deaths.values_mut() {
            times.sort_unstable();
        }
        for (process, records) in files {
            let noted = deaths.get(process).map_or(&[][..], Vec::as_slice);
            let host = self.hosts.get(process).copied().unwrap_or(0);
            self.add_caller(host, records, noted, last)?;
        }
        Ok(())
    }

    fn add_caller(
        &mut self,
        host: u32,
        records: &[Record],
        deaths: &[Nanos],
        last: Nanos,
    ) -> Result<(), String> {
        let of = |phase| records.iter().filter(move |record| record.phase == phase);
        let ends: HashMap<u32, &Record> = of(Phase::End)
            .map(|record| (record.sequence, record))
            .collect();
        let cancels = || of(Phase::Start).filter(|record| record.kind == Kind::Cancel);
        let cancelled: HashSet<Nanos> = cancels().map(|record| record.wait).collect();
        // The starts of the cancelled reservations, by sequence.
        let mut reserved = HashMap::new();
        for (index, start) in records.iter().enumerate() {
            if start.phase != Phase::Start {
                continue;
            }
            let end = ends.get(&start.sequence).copied();
            // All log records before the call of a batch have the same time.
            let next = || records[index..].iter().find(|next| next.time > start.time);
            let latest = end.or_else(next).map_or_else(
                || {
                    let death = deaths.iter().find(|&&death| death >= start.time);
                    death.copied().unwrap_or(last)
                },
                |record| record.time,
            );
            let Some(mut call) = self.call(start, end, latest) else {
                continue;
            };
            call.host = host;
            let sequence = Nanos::from(start.sequence);
            if call.kind == Kind::Reserve && cancelled.contains(&sequence) {
                reserved.insert(sequence, call.start);
                call.outcome = Outcome::Cancelled;
            } else if call.kind == Kind::Cancel {
                let since = reserved
                    .get(&start.wait)
                    .ok_or("a cancel without a reservation")?;
                call.wait = call.start.saturating_sub(*since);
            }
            self.file(start.bucket, call)?;
        }
        Ok(())
    }

    fn call(&self, start: &Record, end: Option<&Record>, latest: Nanos) -> Option<Call> {
        let said = end.map_or(0, |end| end.wait);
        let outcome = match end.map_or(Answer::Error, |end| end.answer) {
            Answer::Done => Outcome::Done,
            Answer::Excused => Outcome::Excused,
            Answer::Undone => Outcome::Undone,
            Answer::None | Answer::Error => Outcome::Unknown,
            Answer::Unasked => return None,
            Answer::Denied => Outcome::Denied {
                retry_after: Some(said).filter(|&wait| wait != Nanos::MAX),
            },
        };
        let linger = if outcome == Outcome::Unknown {
            self.rules.linger
        } else {
            0
        };
        let wait = match (start.kind, outcome) {
            (Kind::Reserve, Outcome::Done) => said,
            (Kind::Reserve, Outcome::Denied { .. }) | (Kind::Drain | Kind::Stored, _) => start.wait,
            _ => 0,
        };
        let floor = if start.kind == Kind::Take {
            Quota::from_thousandths(start.wait, 0).capacity
        } else {
            0
        };
        Some(Call {
            host: 0,
            start: start.time,
            end: latest.max(start.time) + linger,
            kind: start.kind,
            cost: Quota::from_thousandths(u64::from(start.cost), 0).capacity,
            floor,
            outcome,
            wait,
        })
    }

    fn file(&mut self, bucket: u32, call: Call) -> Result<(), String> {
        if call.kind == Kind::Lost {
            let buckets = self.buckets.values_mut().map(|it| &mut it.1);
            let quotas = self.quotas.values_mut().map(|it| &mut it.1);
            let lockouts = self.lockouts.values_mut().map(|it| &mut it.1);
            for calls in buckets.chain(quotas).chain(lockouts) {
                calls.push(call);
            }
            return Ok(());
        }
        let calls = self.buckets.get_mut(&bucket).map(|it| &mut it.1);
        let calls = calls.or_else(|| self.quotas.get_mut(&bucket).map(|it| &mut it.1));
        let calls = calls.or_else(|| self.lockouts.get_mut(&bucket).map(|it| &mut it.1));
        calls
            .ok_or_else(|| format!("bucket {bucket} has no rule"))?
            .push(call);
        Ok(())
    }
}

//! Reads a folder of logs: what each bucket was asked, and how it is to be judged.
//!
//! `rules` holds lines of a word and numbers: `tick`, `skew`, `linger`, `wait`, `hint` in nanoseconds, `buckets`, `evicted` in
//! thousandths of a token, and for each bucket `bucket` with its number, capacity and rate in thousandths;
//! `unhinted` with a number excepts a bucket from `hint`. `*.log` hold records; a caller's file is named after its process, as `1234.1.log`, and what happened to callers and
//! stores is in files of the same kind.
//!
//! A call without an end has an unknown outcome. It may have been done until its caller was dead, or went on, and
//! `linger` later: what it had sent was still on its way. Where no death was noted, until the end of the log.

use crate::call::{Call, Kind, Nanos, Outcome};
use crate::record::{Answer, Phase, Record, SIZE};
use crate::rules::{Quota, Rules};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// All that is known.
#[derive(Clone, Debug)]
pub struct Log {
    /// What is allowed.
    pub rules: Rules,
    /// Of each bucket its quota and its calls, losses among them.
    pub buckets: BTreeMap<u32, (Quota, Vec<Call>)>,
    /// Of which buckets nobody remembers denials.
    pub unhinted: BTreeSet<u32>,
}

/// When processes were dead, in the order of time.
type Deaths = BTreeMap<u32, Vec<Nanos>>;

impl Log {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// Says what cannot be read, or makes no sense.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(folder.join("rules"))
            .map_err(|error| format!("{}: {error}", folder.join("rules").display()))?;
        let mut log = Self::from_rules(&text)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                files.push((process(&path), records(&path)?));
            }
        }
        log.add(&files)?;
        Ok(log)
    }

    /// A log without calls.
    ///
    /// # Errors
    ///
    /// Tells the line that makes no sense.
    pub fn from_rules(text: &str) -> Result<Self, String> {
        let mut rules = Rules::EXACT;
        let mut buckets = BTreeMap::new();
        let mut unhinted = BTreeSet::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let word = words.next();
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            match (word, numbers.as_slice()) {
                (None, _) => {}
                (Some("tick"), &[time]) => rules.tick = time,
                (Some("skew"), &[time]) => rules.skew = time,
                (Some("linger"), &[time]) => rules.linger = time,
                (Some("wait"), &[time]) => rules.wait = time,
                (Some("hint"), &[time]) => rules.hint = time,
                (Some("buckets"), &[count]) => {
                    rules.buckets = u32::try_from(count).map_err(|_| line.to_owned())?;
                }
                (Some("evicted"), &[thousandths]) => {
                    rules.evicted = Quota::from_thousandths(thousandths, 0).capacity;
                }
                (Some("bucket"), &[bucket, capacity, rate]) => {
                    let bucket = u32::try_from(bucket).map_err(|_| line.to_owned())?;
                    buckets.insert(bucket, (Quota::from_thousandths(capacity, rate), vec![]));
                }
                (Some("unhinted"), &[bucket]) => {
                    unhinted.insert(u32::try_from(bucket).map_err(|_| line.to_owned())?);
                }
                _ => return Err(format!("not a rule: {line}")),
            }
        }
        Ok(Self {
            rules,
            buckets,
            unhinted,
        })
    }

    /// Adds what callers wrote, each with its process.
    ///
    /// # Errors
    ///
    /// Tells a bucket that the rules do not know.
    pub fn add(&mut self, files: &[(u32, Vec<Record>)]) -> Result<(), String> {
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
            self.add_caller(records, noted, last)?;
        }
        Ok(())
    }

    fn add_caller(
        &mut self,
        records: &[Record],
        deaths: &[Nanos],
        last: Nanos,
    ) -> Result<(), String> {
        for (index, start) in records.iter().enumerate() {
            if start.phase != Phase::Start {
                continue;
            }
            let next = records.get(index + 1);
            let end =
                next.filter(|next| next.phase == Phase::End && next.sequence == start.sequence);
            let latest = end.or(next).map_or_else(
                || {
                    let death = deaths.iter().find(|&&death| death >= start.time);
                    death.copied().unwrap_or(last)
                },
                |record| record.time,
            );
            if let Some(call) = self.call(start, end, latest) {
                self.file(start.bucket, call)?;
            }
        }
        Ok(())
    }

    fn call(&self, start: &Record, end: Option<&Record>, latest: Nanos) -> Option<Call> {
        let outcome = match end.map_or(Answer::Error, |end| end.answer) {
            Answer::Done => Outcome::Done,
            Answer::Excused => Outcome::Excused,
            Answer::None | Answer::Error => Outcome::Unknown,
            Answer::Unasked => return None,
            Answer::Denied => Outcome::Denied {
                retry_after: end
                    .map(|end| end.retry_after)
                    .filter(|&wait| wait != Nanos::MAX),
            },
        };
        let linger = if outcome == Outcome::Unknown {
            self.rules.linger
        } else {
            0
        };
        Some(Call {
            start: start.time,
            end: latest.max(start.time) + linger,
            kind: start.kind,
            cost: Quota::from_thousandths(u64::from(start.cost), 0).capacity,
            outcome,
        })
    }

    fn file(&mut self, bucket: u32, call: Call) -> Result<(), String> {
        if call.kind == Kind::Lost {
            for (_, calls) in self.buckets.values_mut() {
                calls.push(call);
            }
            return Ok(());
        }
        let (_, calls) = self
            .buckets
            .get_mut(&bucket)
            .ok_or_else(|| format!("bucket {bucket} has no rule"))?;
        calls.push(call);
        Ok(())
    }
}

/// The process that a file is named after; 0 for none.
fn process(path: &Path) -> u32 {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.split('.').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn records(path: &Path) -> Result<Vec<Record>, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (chunks, rest) = bytes.as_chunks::<SIZE>();
    if !rest.is_empty() {
        return Err(format!("{}: half a record", path.display()));
    }
    let records = chunks.iter().enumerate().map(|(index, chunk)| {
        Record::parse(chunk).ok_or_else(|| format!("{}: not a record: {index}", path.display()))
    });
    records.collect()
}

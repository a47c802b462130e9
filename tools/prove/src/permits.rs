//! Judges a concurrency limit by the calls of its callers and by their deaths.
//!
//! A log record of the kind `Take` is a call that asks for a permit. Its tokens are the limit of
//! the caller. A record of the kind `Cancel` is the release of the permit that the call with the
//! given sequence was granted. The rules of the log are these lines:
//!
//! - `limit`: a key, and the greatest limit of its callers.
//! - `lease`: nanoseconds after which a permit ends by itself. It is 0 if permits end with their
//!   caller.
//! - `linger`: nanoseconds after a caller's death or error in which its call may still take effect.
//!
//! A permit is *certainly* held from the end of the call that was granted, until its release begins
//! or until just before its caller is killed. It is *possibly* held from the start of the call
//! until its release has ended or its caller was reaped. With a lease, it is certainly held for no
//! longer than the lease, and possibly until the lease has ended, unless its release succeeded. If
//! a caller died in a call or got an error, the call possibly took a permit. The rules are:
//!
//! 1. At every instant, the permits that are certainly held are at most the greatest limit.
//! 2. The call of a denial contains an instant at which as many permits as its limit are possibly
//!    held.
//! 3. If no permit was taken, released or freed by a death during a call, the call is denied only
//!    if as many permits as its limit were held. So a permit that a death or a release freed before
//!    the call can be taken.
//!
//! A denial that breaks rule 3 is not counted under rule 2. Denials for another reason, which the
//! limiter states, are only counted. If they are more than a thousandth of the calls, or if few
//! permits were granted, the log proves nothing.

use crate::call::{Kind, Nanos};
use crate::log::Caller;
use crate::record::{Answer, Phase, Record};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The fewest granted permits of a log that proves anything.
const LEAST_GRANTED: u64 = 500;

/// At most one in this many calls may be denied for another reason.
const MOST_EXCUSED: u64 = 1_000;

/// The greatest limit of each key, and the times of leases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The greatest limits by key.
    pub of: BTreeMap<u32, u32>,
    /// The time after which a permit ends by itself, or 0.
    pub lease: Nanos,
    /// The time after a death or an error in which a call may take effect.
    pub linger: Nanos,
}

impl Limits {
    /// Returns the limits in the text of `rules`, or `None` if the text is about buckets.
    pub fn from_rules(text: &str) -> Option<Self> {
        let mut limits = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let word = words.next();
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            match (word, numbers.as_slice()) {
                (Some("lease"), &[lease]) => limits.lease = lease,
                (Some("linger"), &[linger]) => limits.linger = linger,
                (Some("limit"), &[key, limit]) => {
                    let (key, limit) = (u32::try_from(key).ok()?, u32::try_from(limit).ok()?);
                    limits.of.insert(key, limit);
                }
                _ => return None,
            }
        }
        (!limits.of.is_empty()).then_some(limits)
    }
}

/// A span of time. Both instants belong to it. It is empty if it ends before it begins.
pub type Span = (Nanos, Nanos);

/// A call that was denied because all permits of its limit were held.
#[derive(Clone, Copy, Debug)]
pub struct Denial {
    pub during: Span,
    pub limit: u32,
}

/// The permits of one key.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The times in which a permit is certainly held.
    pub certain: Vec<Span>,
    /// The times in which a permit is possibly held.
    pub possible: Vec<Span>,
    /// The times in which the number of holders may have changed.
    pub changes: Vec<Span>,
    pub denials: Vec<Denial>,
}

/// The result of the judgement. Sums are over all keys.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The number of permits that were granted.
    pub granted: u64,
    /// The number of permits that a death has ended.
    pub died: u64,
    /// The number of calls that were denied because all permits were held.
    pub denied: u64,
    /// The number of calls that were denied for another reason.
    pub excused: u64,
    /// The number of calls of unknown outcome.
    pub unknown: u64,
    /// The most permits that were certainly held at one instant.
    pub most: u32,
    /// The number of instants at which rule 1 began to be broken, and of the denials that break the
    /// rules 2 and 3.
    pub faults: [u64; 3],
    /// The message for the first fault by each rule in each key.
    pub messages: Vec<String>,
}

/// The instants of a caller's deaths, and of the decisions to kill it.
#[derive(Clone, Debug, Default)]
struct Deaths {
    dooms: Vec<Nanos>,
    deaths: Vec<Nanos>,
}

impl Verdict {
    /// Judges the log records of callers. Fails with a message with the key that has no limit, or
    /// with the release of an unknown permit.
    pub fn of(files: &[Caller], limits: &Limits) -> Result<Self, String> {
        let mut verdict = Self::default();
        let mut histories: BTreeMap<u32, History> = BTreeMap::new();
        let all = || files.iter().flat_map(|(_, records)| records);
        let last = all().map(|record| record.time).max().unwrap_or(0);
        let mut ends: HashMap<u32, Deaths> = HashMap::new();
        for record in all() {
            let of = ends.entry(record.bucket);
            match record.phase {
                Phase::Doom => of.or_default().dooms.push(record.time),
                Phase::Death => of.or_default().deaths.push(record.time),
                _ => {}
            }
        }
        for (process, records) in files {
            let end = End::of(records, ends.get(process), last);
            verdict.add(&mut histories, records, &end, limits)?;
        }
        for (key, history) in &histories {
            verdict.judge(*key, history, limits.of[key]);
        }
        Ok(verdict)
    }

    /// Adds the calls of one caller.
    fn add(
        &mut self,
        histories: &mut BTreeMap<u32, History>,
        records: &[Record],
        end: &End,
        limits: &Limits,
    ) -> Result<(), String> {
        let of = |phase| records.iter().filter(move |record| record.phase == phase);
        let ends: HashMap<u32, &Record> = of(Phase::End)
            .map(|record| (record.sequence, record))
            .collect();
        let released = of(Phase::Start).filter(|record| record.kind == Kind::Cancel);
        let released: HashMap<Nanos, &Record> =
            released.map(|record| (record.wait, record)).collect();
        for start in of(Phase::Start).filter(|record| record.kind == Kind::Take) {
            if !limits.of.contains_key(&start.bucket) {
                return Err(format!("key {} has no limit", start.bucket));
            }
            let history = histories.entry(start.bucket).or_default();
            let answer = ends.get(&start.sequence);
            let during = (start.time, answer.map_or(end.until, |answer| answer.time));
            match answer.map_or(Answer::Error, |answer| answer.answer) {
                Answer::Done => {
                    self.granted += 1;
                    let release = released.get(&Nanos::from(start.sequence));
                    self.died += u64::from(release.is_none());
                    let begins = release.map_or(end.doomed, |release| release.time);
                    let released = release.and_then(|release| ends.get(&release.sequence));
                    let released = released.filter(|it| it.answer == Answer::Done);
                    let ended = match released {
                        Some(released) => released.time,
                        None if limits.lease == 0 => end.until,
                        None => during.1 + limits.lease,
                    };
                    let expires = match limits.lease {
                        0 => Nanos::MAX,
                        lease => start.time + lease,
                    };
                    let gone = (begins.min(expires), ended);
                    history.certain.push((during.1, gone.0));
                    history.possible.push((during.0, gone.1));
                    history.changes.extend([during, gone]);
                }
                Answer::Denied => {
                    self.denied += 1;
                    let limit = start.cost / 1_000;
                    history.denials.push(Denial { during, limit });
                }
                Answer::Error | Answer::None => {
                    self.unknown += 1;
                    let until = during.1 + limits.lease + limits.linger;
                    history.possible.push((during.0, until));
                    history.changes.push((during.0, until));
                }
                Answer::Unasked => {}
                Answer::Excused | Answer::Undone => self.excused += 1,
            }
        }
        Ok(())
    }

    /// Judges the history of a key by the three rules.
    pub fn judge(&mut self, key: u32, history: &History, limit: u32) {
        let certain = Counts::of(&history.certain);
        for &(start, _) in &history.certain {
            // A release may begin at the instant at which another call ends.
            let held = certain.beyond(start);
            self.most = self.most.max(held);
            if held > limit {
                let what = format!("{held} permits of a limit of {limit} are held at {start}");
                self.fault(1, key, &what);
            }
        }
        let possible = Counts::of(&history.possible);
        let changes = Counts::of(&history.changes);
        for denial in &history.denials {
            let (start, end) = denial.during;
            let held = possible.most(denial.during);
            if held >= denial.limit {
                continue;
            }
            let is_quiet = changes.most(denial.during) == 0;
            let what = format!(
                "denied with a limit of {} while at most {held} are held, between {start} and {end}",
                denial.limit
            );
            self.fault(if is_quiet { 3 } else { 2 }, key, &what);
        }
    }

    fn fault(&mut self, rule: usize, key: u32, what: &str) {
        self.faults[rule - 1] += 1;
        let start = format!("({rule}) key {key}: ");
        if !self.messages.iter().any(|it| it.starts_with(&start)) {
            self.messages.push(start + what);
        }
    }

    /// Reports whether the log proves anything.
    pub const fn is_evidence(&self) -> bool {
        let calls = self.granted + self.denied + self.excused;
        self.granted >= LEAST_GRANTED && self.excused * MOST_EXCUSED <= calls
    }

    /// Reports whether any rule was broken.
    pub fn is_convicted(&self) -> bool {
        self.faults.iter().any(|&count| count > 0)
    }
}

struct End {
    /// The last instant at which the caller certainly held its permits.
    doomed: Nanos,
    /// The last instant at which the caller may have held a permit.
    until: Nanos,
}

impl End {
    fn of(records: &[Record], ends: Option<&Deaths>, last: Nanos) -> Self {
        let first = records.first().map_or(0, |record| record.time);
        let latest = records.last().map_or(0, |record| record.time);
        // The process id may have belonged to an earlier caller.
        let after = |times: &[Nanos]| times.iter().copied().filter(|&it| it >= first).min();
        let died = ends.and_then(|ends| after(&ends.deaths));
        let doomed = ends.and_then(|ends| after(&ends.dooms));
        Self {
            doomed: doomed.unwrap_or(latest).max(latest),
            until: died.map_or(last, |died| died.max(latest)),
        }
    }
}

/// Counts the spans at an instant.
struct Counts {
    starts: Vec<Nanos>,
    ends: Vec<Nanos>,
}

impl Counts {
    fn of(spans: &[Span]) -> Self {
        let spans = spans.iter().filter(|span| span.0 <= span.1);
        let (mut starts, mut ends): (Vec<_>, Vec<_>) = spans.copied().unzip();
        starts.sort_unstable();
        ends.sort_unstable();
        Self { starts, ends }
    }

    /// Returns the number of spans that contain the instant.
    fn at(&self, instant: Nanos) -> u32 {
        let begun = self.starts.partition_point(|&start| start <= instant);
        let ended = self.ends.partition_point(|&end| end < instant);
        u32::try_from(begun - ended).unwrap_or(u32::MAX)
    }

    /// Returns the number of spans that begin at the instant or before it, and end after it.
    fn beyond(&self, instant: Nanos) -> u32 {
        let begun = self.starts.partition_point(|&start| start <= instant);
        let ended = self.ends.partition_point(|&end| end <= instant);
        u32::try_from(begun - ended).unwrap_or(u32::MAX)
    }

    /// Returns the most spans that contain one instant of `during`.
    fn most(&self, during: Span) -> u32 {
        let first = self.starts.partition_point(|&start| start <= during.0);
        let starts = self.starts[first..].iter();
        let inside = starts.take_while(|&&start| start <= during.1);
        let most = inside.map(|&start| self.at(start)).max();
        most.unwrap_or(0).max(self.at(during.0))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match (self.is_convicted(), self.is_evidence()) {
            (true, _) => "CONVICTED",
            (false, false) => "NO EVIDENCE",
            (false, true) => "holds",
        };
        let [over, false_denials, lost] = self.faults;
        write!(
            f,
            "{word}: {} permits granted, {} of them ended by a death, {} denied, {} excused, ",
            self.granted, self.died, self.denied, self.excused
        )?;
        write!(
            f,
            "{} unknown; at most {} held at once, {over} times too many; ",
            self.unknown, self.most
        )?;
        write!(
            f,
            "{false_denials} denials unexplained, {lost} of free permits"
        )
    }
}

//! The second judge finds the same faults as the judge, in logs of an exact limiter, and by rules
//! that it does not keep.

use crate::simulated::{QUOTA, history};
use prove::call::{Call, Kind, Nanos, Outcome, Tokens};
use prove::log::{self, Log};
use prove::verdict::Verdict;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

/// The histories of a log, each of a bucket and of a caller.
const HISTORIES: u64 = 60;

/// Returns the lines of the calls on a bucket. Returns `None` if several reservations may be the
/// one that a call cancels.
fn lines(bucket: u64, calls: &[Call]) -> Option<String> {
    let (mut text, mut reserved) = (format!("caller {bucket}\n"), Vec::new());
    for (number, call) in calls.iter().enumerate() {
        let thousandths = |tokens: Tokens| Nanos::try_from(tokens / 1_000_000_000).ok();
        let (kind, last) = match call.kind {
            Kind::Take => ("take", thousandths(call.floor)?),
            Kind::Refund => ("refund", 0),
            // A loss would be a call on the other buckets, too.
            Kind::Reset | Kind::Lost => ("reset", 0),
            Kind::Charge => ("charge", 0),
            Kind::Reserve => {
                reserved.push(number);
                ("reserve", call.wait)
            }
            Kind::Cancel => {
                let its = |number: &&usize| {
                    let it = &calls[**number];
                    let since = call.start.saturating_sub(it.start);
                    (it.outcome, since, it.cost) == (Outcome::Cancelled, call.wait, call.cost)
                };
                let mut found = reserved.iter().filter(its);
                let (number, None) = (found.next()?, found.next()) else {
                    return None;
                };
                ("cancel", *number as Nanos)
            }
            Kind::Drain => ("drain", call.wait),
            Kind::Stored => ("stored", call.wait),
        };
        let (answer, wait) = match call.outcome {
            Outcome::Done | Outcome::Cancelled => ("done", call.wait),
            Outcome::Denied { retry_after } => ("denied", retry_after.unwrap_or(0)),
            Outcome::Excused => ("excused", 0),
            Outcome::Undone => ("undone", 0),
            Outcome::Unknown => ("error", 0),
        };
        let (Call { start, end, .. }, tokens) = (call, thousandths(call.cost)?);
        writeln!(text, "{start} {kind} {number} {bucket} {tokens} {last}").ok()?;
        writeln!(text, "{end} {answer} {number} {wait}").ok()?;
    }
    Some(text)
}

/// Returns the faults by rule 1 that each judge finds in a log.
fn faults(text: &str) -> [Vec<String>; 2] {
    let (mut rules, mut callers) = (String::new(), Vec::new());
    let parsed = log::parse(text, &mut rules, &mut callers);
    let log = parsed.and_then(|()| {
        let mut log = Log::from_rules(&rules)?;
        log.add(&callers).map(|()| log)
    });
    let ours = Verdict::of(&log.unwrap_or_else(|error| panic!("{error}"))).faults;
    let file = std::env::temp_dir().join(format!("judges-{}.log", std::process::id()));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/second_judge.py");
    let said = fs::write(&file, text).and_then(|()| {
        let said = Command::new("python3").arg(script).arg(&file).output();
        fs::remove_file(&file).and(said)
    });
    let said = said.unwrap_or_else(|error| panic!("{error}"));
    let theirs = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(!theirs.is_empty(), "{said:?}");
    let theirs = theirs.lines().map(str::to_owned).collect();
    [ours, theirs].map(|mut faults: Vec<_>| {
        faults.retain(|fault| fault.starts_with("(1)"));
        faults.sort();
        faults
    })
}

#[test]
fn the_second_judge_agrees() {
    let rate = QUOTA.rate;
    for (capacity, rate, ahead, is_exact) in [
        (10_000, rate, 0, true),
        (2_500, rate / 4, 0, false),
        (2_500, rate / 4, 5, false),
    ] {
        let (mut text, mut judged) = (format!("tick 1\nwait 2\nahead {ahead}\n"), 0);
        for bucket in 1..=HISTORIES {
            if let Some(lines) = lines(bucket, &history(bucket)) {
                text.extend([format!("bucket {bucket} {capacity} {rate}\n"), lines]);
                judged += 1;
            }
        }
        let [ours, theirs] = faults(&text);
        assert_eq!(ours, theirs);
        let is_expected = ours.is_empty() == is_exact && (is_exact || ours.len() > 20);
        assert!(judged > 20 && is_expected, "{} of {judged}", ours.len());
    }
}

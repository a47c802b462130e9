//! Tests reading the log records of callers. Some of the callers died in a call.

use crate::permits;
use prove::call::{Call, Kind, Outcome, TOKEN};
use prove::log::{self, Log};
use prove::record::Record;

const RULES: &str = "tick 1\nlinger 100\nbucket 7 20000 400000\nbucket 8 5000 100000\nuncached 8\n";

fn record(time: u64, bucket: u32, what: &str, sequence: u32) -> Record {
    let wait = if what == "denied" { 55 } else { 0 };
    waiting(time, bucket, what, sequence, wait)
}

fn waiting(time: u64, bucket: u32, what: &str, sequence: u32, wait: u64) -> Record {
    permits::record(time, bucket, what, sequence, 2, wait)
}

fn read(files: &[(u32, Vec<Record>)]) -> Log {
    let mut log = Log::from_rules(RULES).unwrap_or_else(|error| panic!("{error}"));
    log.add(files).unwrap_or_else(|error| panic!("{error}"));
    log
}

fn calls(log: &Log, bucket: u32) -> &[Call] {
    &log.buckets[&bucket].1
}

#[test]
fn a_call_is_what_lies_between_its_two_records() {
    let log = read(&[(
        1,
        vec![
            record(10, 7, "take", 0),
            record(20, 7, "denied", 0),
            record(30, 7, "refund", 1),
            record(40, 7, "done", 1),
            record(50, 7, "take", 2),
            record(60, 7, "unsent", 2),
        ],
    )]);
    let denied = Call {
        host: 0,
        start: 10,
        end: 20,
        kind: Kind::Take,
        cost: 2 * TOKEN,
        floor: 0,
        outcome: Outcome::Denied {
            retry_after: Some(55),
        },
        wait: 0,
    };
    let refunded = Call {
        start: 30,
        end: 40,
        kind: Kind::Refund,
        outcome: Outcome::Done,
        ..denied
    };
    // The store was not contacted for the third call.
    assert_eq!(calls(&log, 7), [denied, refunded]);
    assert!(log.uncached.contains(&8) && !log.uncached.contains(&7));
}

#[test]
fn a_call_without_an_end_may_have_acted_until_its_caller_was_dead_and_a_while_longer() {
    let unfinished = |at| vec![record(at, 7, "take", 0)];
    let end = |log: &Log| calls(log, 7)[0].end;
    let later = vec![record(900, 8, "take", 0)];
    // The first death is the death of an earlier process with the same id.
    let deaths = vec![record(5, 3, "death", 0), record(60, 3, "death", 0)];
    let log = read(&[(3, unfinished(10)), (0, deaths), (4, later.clone())]);
    assert_eq!(end(&log), 160);
    assert_eq!(calls(&log, 7)[0].outcome, Outcome::Unknown);
    // Without a noted death, the call may have acted until the end of the log.
    assert_eq!(end(&read(&[(3, unfinished(10)), (4, later)])), 1_000);
    // The caller continued without noting the end, so the call was over at its next log record.
    let went_on = [unfinished(10), unfinished(30)].concat();
    assert_eq!(end(&read(&[(3, went_on)])), 130);
}

#[test]
fn an_error_may_have_acted() {
    let log = read(&[(1, vec![record(10, 7, "take", 0), record(20, 7, "error", 0)])]);
    assert_eq!(calls(&log, 7)[0].outcome, Outcome::Unknown);
    assert_eq!(calls(&log, 7)[0].end, 120);
}

#[test]
fn a_batch_is_a_call_on_each_of_its_buckets() {
    let starts = vec![record(10, 7, "take", 0), record(10, 8, "take", 1)];
    let ends = vec![record(20, 7, "undone", 0), record(20, 8, "denied", 1)];
    let log = read(&[(1, [starts.clone(), ends].concat())]);
    let outcome = |log: &Log, bucket| (calls(log, bucket)[0].outcome, calls(log, bucket)[0].end);
    assert_eq!(outcome(&log, 7), (Outcome::Undone, 20));
    let retry_after = Some(55);
    assert_eq!(outcome(&log, 8), (Outcome::Denied { retry_after }, 20));
    // A caller that died in the call may have acted on both buckets until its death.
    let death = vec![record(60, 1, "death", 0)];
    let log = read(&[(1, starts), (0, death)]);
    assert_eq!(outcome(&log, 7), (Outcome::Unknown, 160));
    assert_eq!(outcome(&log, 8), (Outcome::Unknown, 160));
}

#[test]
fn a_cancel_names_its_reservation() {
    let reserve = |sequence, time| {
        [
            waiting(time, 7, "reserve", sequence, 9),
            waiting(time + 1, 7, "done", sequence, 4),
        ]
    };
    let cancel = [waiting(30, 7, "cancel", 2, 1), waiting(40, 7, "done", 2, 0)];
    let log = read(&[(1, [reserve(0, 10), reserve(1, 20), cancel].concat())]);
    let [used, cancelled, cancel] = calls(&log, 7) else {
        panic!("{log:?}")
    };
    assert_eq!((used.outcome, used.wait), (Outcome::Done, 4));
    assert_eq!((cancelled.outcome, cancelled.wait), (Outcome::Cancelled, 4));
    assert_eq!((cancel.kind, cancel.wait), (Kind::Cancel, 10));
    let denied = [
        waiting(10, 7, "reserve", 0, 9),
        waiting(11, 7, "denied", 0, 44),
    ];
    let retry_after = Some(44);
    let denied = calls(&read(&[(1, denied.to_vec())]), 7)[0];
    assert_eq!(denied.outcome, Outcome::Denied { retry_after });
    assert_eq!(denied.wait, 9);
}

#[test]
fn a_loss_is_every_bucket_s() {
    let log = read(&[(0, vec![record(10, 0, "lost", 0), record(20, 0, "done", 0)])]);
    assert_eq!(calls(&log, 7).len(), 1);
    assert_eq!(calls(&log, 8).len(), 1);
}

#[test]
fn what_makes_no_sense_is_said() {
    assert!(Log::from_rules("bucket 1 2").is_err());
    assert!(Log::from_rules("tolerance 5").is_err());
    let mut log = Log::from_rules("").unwrap_or_else(|error| panic!("{error}"));
    let unknown = vec![record(10, 7, "take", 0)];
    assert!(log.add(&[(1, unknown)]).is_err());
    let mut log = Log::from_rules(RULES).unwrap_or_else(|error| panic!("{error}"));
    let cancel = vec![waiting(10, 7, "cancel", 1, 0)];
    assert!(log.add(&[(1, cancel)]).is_err());
}

#[test]
fn a_log_is_rules_and_the_records_of_callers() {
    let text = "# a log\ntick 1\n5 lost 0\n6 done 0\ncaller 3\n\
        10 take 0 7 2000 500\n20 denied 0 endless\n30 reserve 1 7 2000 9\n40 done 1 4\n\
        50 cancel 2 7 2000 1\ncaller 4\n60 doom 3\n61 death 3\nbucket 7 20000 400000\n70 take 0 7 1";
    let (mut rules, mut callers) = (String::new(), Vec::new());
    log::parse(text, &mut rules, &mut callers).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rules, "tick 1\nbucket 7 20000 400000\n");
    let processes: Vec<_> = callers
        .iter()
        .map(|(process, records)| (*process, records.len()))
        .collect();
    // The last record is not complete, so its call has not begun.
    assert_eq!(processes, [(0, 2), (3, 5), (4, 2)]);
    let mut log = Log::from_rules(&rules).unwrap_or_else(|error| panic!("{error}"));
    log.add(&callers).unwrap_or_else(|error| panic!("{error}"));
    let [_, denied, reserved, cancel] = calls(&log, 7) else {
        panic!("{log:?}")
    };
    assert_eq!(denied.outcome, Outcome::Denied { retry_after: None });
    assert_eq!((denied.cost, denied.floor), (2 * TOKEN, TOKEN / 2));
    assert_eq!((reserved.outcome, reserved.wait), (Outcome::Cancelled, 4));
    assert_eq!((cancel.outcome, cancel.end), (Outcome::Unknown, 61));
    for line in [
        "10 take 0",
        "10 take 0 7 1 2 3",
        "10 take x 7",
        "10 take 4294967296 7",
        "10 took 0 7",
        "10 done",
        "10 done 0 1 2",
        "10 death",
        "10",
        "10  take 0 7",
        "caller me",
    ] {
        let parsed = log::parse(&format!("{line}\n"), &mut rules, &mut callers);
        assert!(parsed.is_err(), "{line}");
    }
}

//! Tests reading the log records of callers. Some of the callers died in a call.

use crate::permits;
use prove::call::{Call, Kind, Outcome, TOKEN};
use prove::log::Log;
use prove::record::{Record, SIZE};

const START: u8 = 0;
const END: u8 = 1;
const DEATH: u8 = 2;
const RULES: &str = "tick 1\nlinger 100\nbucket 7 20000 400000\nbucket 8 5000 100000\nuncached 8\n";

fn record(time: u64, bucket: u32, phase: u8, kind: u8, answer: u8, sequence: u32) -> Record {
    let wait = if phase == END { 55 } else { 0 };
    waiting(time, bucket, [phase, kind, answer], sequence, wait)
}

fn waiting(time: u64, bucket: u32, what: [u8; 3], sequence: u32, wait: u64) -> Record {
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
            record(10, 7, START, 0, 0, 0),
            record(20, 7, END, 0, 2, 0),
            record(30, 7, START, 1, 0, 1),
            record(40, 7, END, 1, 1, 1),
            record(50, 7, START, 0, 0, 2),
            record(60, 7, END, 0, 5, 2),
        ],
    )]);
    let denied = Call {
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
    let unfinished = |at| vec![record(at, 7, START, 0, 0, 0)];
    let end = |log: &Log| calls(log, 7)[0].end;
    let later = vec![record(900, 8, START, 0, 0, 0)];
    // The first death is the death of an earlier process with the same id.
    let deaths = vec![record(5, 3, DEATH, 0, 0, 0), record(60, 3, DEATH, 0, 0, 0)];
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
    let log = read(&[(
        1,
        vec![record(10, 7, START, 0, 0, 0), record(20, 7, END, 0, 4, 0)],
    )]);
    assert_eq!(calls(&log, 7)[0].outcome, Outcome::Unknown);
    assert_eq!(calls(&log, 7)[0].end, 120);
}

#[test]
fn a_batch_is_a_call_on_each_of_its_buckets() {
    let starts = vec![record(10, 7, START, 0, 0, 0), record(10, 8, START, 0, 0, 1)];
    let ends = vec![record(20, 7, END, 0, 6, 0), record(20, 8, END, 0, 2, 1)];
    let log = read(&[(1, [starts.clone(), ends].concat())]);
    let outcome = |log: &Log, bucket| (calls(log, bucket)[0].outcome, calls(log, bucket)[0].end);
    assert_eq!(outcome(&log, 7), (Outcome::Undone, 20));
    let retry_after = Some(55);
    assert_eq!(outcome(&log, 8), (Outcome::Denied { retry_after }, 20));
    // A caller that died in the call may have acted on both buckets until its death.
    let death = vec![record(60, 1, DEATH, 0, 0, 0)];
    let log = read(&[(1, starts), (0, death)]);
    assert_eq!(outcome(&log, 7), (Outcome::Unknown, 160));
    assert_eq!(outcome(&log, 8), (Outcome::Unknown, 160));
}

#[test]
fn a_cancel_names_its_reservation() {
    let reserve = |sequence, time| {
        [
            waiting(time, 7, [START, 5, 0], sequence, 9),
            waiting(time + 1, 7, [END, 5, 1], sequence, 4),
        ]
    };
    let cancel = [
        waiting(30, 7, [START, 6, 0], 2, 1),
        waiting(40, 7, [END, 6, 1], 2, 0),
    ];
    let log = read(&[(1, [reserve(0, 10), reserve(1, 20), cancel].concat())]);
    let [used, cancelled, cancel] = calls(&log, 7) else {
        panic!("{log:?}")
    };
    assert_eq!((used.outcome, used.wait), (Outcome::Done, 4));
    assert_eq!((cancelled.outcome, cancelled.wait), (Outcome::Cancelled, 4));
    assert_eq!((cancel.kind, cancel.wait), (Kind::Cancel, 10));
    let denied = [
        waiting(10, 7, [START, 5, 0], 0, 9),
        waiting(11, 7, [END, 5, 2], 0, 44),
    ];
    let retry_after = Some(44);
    let denied = calls(&read(&[(1, denied.to_vec())]), 7)[0];
    assert_eq!(denied.outcome, Outcome::Denied { retry_after });
    assert_eq!(denied.wait, 9);
}

#[test]
fn a_loss_is_every_bucket_s() {
    let log = read(&[(
        0,
        vec![record(10, 0, START, 3, 0, 0), record(20, 0, END, 3, 1, 0)],
    )]);
    assert_eq!(calls(&log, 7).len(), 1);
    assert_eq!(calls(&log, 8).len(), 1);
}

#[test]
fn what_makes_no_sense_is_said() {
    assert!(Log::from_rules("bucket 1 2").is_err());
    assert!(Log::from_rules("tolerance 5").is_err());
    assert_eq!(Record::parse(&[9; SIZE]), None);
    let mut log = Log::from_rules("").unwrap_or_else(|error| panic!("{error}"));
    let unknown = vec![record(10, 7, START, 0, 0, 0)];
    assert!(log.add(&[(1, unknown)]).is_err());
    let mut log = Log::from_rules(RULES).unwrap_or_else(|error| panic!("{error}"));
    let cancel = vec![waiting(10, 7, [START, 6, 0], 1, 0)];
    assert!(log.add(&[(1, cancel)]).is_err());
}

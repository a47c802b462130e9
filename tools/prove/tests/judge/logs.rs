//! Tests reading the logs of callers. Some of the callers died in a call.

use prove::call::{Call, Kind, Outcome, TOKEN};
use prove::log::{self, Log};

const RULES: &str = "tick 1\nlinger 100\nbucket 7 20000 400000\nbucket 8 5000 100000\nuncached 8\n";

/// Reads a log of these lines and of the rules above.
fn read(lines: &str) -> Result<Log, String> {
    let (mut rules, mut callers) = (RULES.to_owned(), Vec::new());
    log::parse(lines, &mut rules, &mut callers)?;
    let mut log = Log::from_rules(&rules)?;
    log.add(&callers)?;
    Ok(log)
}

/// Returns the calls on a bucket in a log of these lines.
fn calls(lines: &str, bucket: u32) -> Vec<Call> {
    let log = read(lines).unwrap_or_else(|error| panic!("{error}"));
    log.buckets[&bucket].1.clone()
}

#[test]
fn a_call_is_what_lies_between_its_two_records() {
    let found = calls(
        "10 take 0 7 2000\n20 denied 0 55\n30 refund 1 7 2000\n40 done 1\n\
        50 take 2 7 2000\n60 unsent 2\n",
        7,
    );
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
    assert_eq!(found, [denied, refunded]);
}

#[test]
fn a_call_without_an_end_may_have_acted_until_its_caller_was_dead_and_a_while_longer() {
    let unfinished = "caller 3\n10 take 0 7 2000\n";
    let end = |others: &str| calls(&format!("{unfinished}{others}"), 7)[0].end;
    // The first death is the death of an earlier process with the same id.
    let deaths = "caller 0\n5 death 3\n60 death 3\n";
    let later = "caller 4\n900 take 0 8 2000\n";
    assert_eq!(end(&format!("{deaths}{later}")), 160);
    // Without a noted death, the call may have acted until the end of the log.
    assert_eq!(end(later), 1_000);
    // The caller continued without noting the end, so the call was over at its next log record.
    assert_eq!(end("30 take 1 7 2000\n"), 130);
    assert_eq!(calls(unfinished, 7)[0].outcome, Outcome::Unknown);
}

#[test]
fn an_error_may_have_acted() {
    let call = calls("10 take 0 7 2000\n20 error 0\n", 7)[0];
    assert_eq!((call.outcome, call.end), (Outcome::Unknown, 120));
}

#[test]
fn a_batch_is_a_call_on_each_of_its_buckets() {
    let outcomes = |others: &str| {
        let lines = format!("caller 1\n10 take 0 7 2000\n10 take 1 8 2000\n{others}");
        [7, 8].map(|bucket| {
            let call = calls(&lines, bucket)[0];
            (call.outcome, call.end)
        })
    };
    let retry_after = Some(55);
    let denied = Outcome::Denied { retry_after };
    let ended = outcomes("20 undone 0\n20 denied 1 55\n");
    assert_eq!(ended, [(Outcome::Undone, 20), (denied, 20)]);
    // A caller that died in the call may have acted on both buckets until its death.
    let died = outcomes("caller 0\n60 death 1\n");
    assert_eq!(died, [(Outcome::Unknown, 160); 2]);
}

#[test]
fn a_cancel_names_its_reservation() {
    let lines = "10 reserve 0 7 2000 9\n11 done 0 4\n20 reserve 1 7 2000 9\n21 done 1 4\n\
        30 cancel 2 7 2000 1\n40 done 2\n";
    let [used, cancelled, cancel] = calls(lines, 7)[..] else {
        panic!("not three calls")
    };
    assert_eq!((used.outcome, used.wait), (Outcome::Done, 4));
    assert_eq!((cancelled.outcome, cancelled.wait), (Outcome::Cancelled, 4));
    assert_eq!((cancel.kind, cancel.wait), (Kind::Cancel, 10));
    let denied = calls("10 reserve 0 7 2000 9\n11 denied 0 44\n", 7)[0];
    let retry_after = Some(44);
    assert_eq!(denied.outcome, Outcome::Denied { retry_after });
    assert_eq!(denied.wait, 9);
}

#[test]
fn a_loss_is_every_bucket_s() {
    for bucket in [7, 8] {
        assert_eq!(calls("10 lost 0\n20 done 0\n", bucket).len(), 1);
    }
}

#[test]
fn what_makes_no_sense_is_said() {
    assert!(Log::from_rules("bucket 1 2").is_err());
    assert!(Log::from_rules("tolerance 5").is_err());
    // There is no rule of this bucket, and no reservation of this cancel.
    assert!(read("10 take 0 9 2000\n").is_err());
    assert!(read("10 cancel 1 7 2000 0\n").is_err());
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
    let [_, denied, reserved, cancel] = log.buckets[&7].1[..] else {
        panic!("{log:?}")
    };
    assert_eq!(denied.outcome, Outcome::Denied { retry_after: None });
    assert_eq!((denied.cost, denied.floor), (2 * TOKEN, TOKEN / 2));
    assert_eq!((reserved.outcome, reserved.wait), (Outcome::Cancelled, 4));
    assert_eq!((cancel.outcome, cancel.end), (Outcome::Unknown, 61));
    let uncached = read("").map(|log| log.uncached.into_iter().collect());
    assert_eq!(uncached, Ok(vec![8]));
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
        assert!(read(&format!("{line}\n")).is_err(), "{line}");
    }
}

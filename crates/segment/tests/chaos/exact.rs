//! Takes tokens from one bucket that never becomes empty or full. Its state shows how many tokens
//! were taken, even if workers are killed.

use crate::board::Board;
use crate::churn::shared;
use crate::fate::Meant;
use crate::supervisor::{Supervisor, Treatment};
use gcra::quota::MAX_SPAN;
use gcra::{Put, Step, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use segment::host::Host;
use std::sync::atomic::Ordering::SeqCst;

/// The cost of one token, in ticks. The bucket holds more tokens than the test can take.
const TOKEN: Ticks = TICKS_PER_SECOND;
/// The cost of the first call, in ticks. It is so great that the bucket never becomes full, even if
/// workers sleep long.
const AHEAD: Ticks = 1_000_000 * TOKEN;

/// Returns the state of the bucket's one record.
fn state(store: &Host<Meant>) -> Timestamp {
    let words = store.slots().words();
    let mut records = words.iter().filter(|word| word.tag != 0);
    let record = records.next().expect("a record");
    assert!(!record.is_pending() && records.next().is_none());
    record.empty_at()
}

/// Takes single tokens, and gives every fourth token back if `refunding`. Returns an error if more
/// tokens are lost than workers were killed.
pub fn run(treatment: Treatment, refunding: bool) -> Result<String, String> {
    let store = shared::<Meant>(2, false);
    let key = store.slots().hasher().key(b"exact");
    let first = store.slots().take(key, &Step::new(AHEAD, MAX_SPAN), None);
    if !first.granted() || state(&store) != first.empty_at {
        return Err(format!("{first:?}"));
    }
    let board = Board::new();
    let end = boot_clock() + u64::try_from(treatment.time.as_nanos()).unwrap();
    let work = |lane: usize, _: u64| {
        let lane = &board.lanes[lane];
        while boot_clock() < end {
            let outcome = store.slots().take(key, &Step::new(TOKEN, MAX_SPAN), None);
            assert!(outcome.granted(), "{outcome:?}");
            let taken = lane.calls.fetch_add(1, SeqCst);
            if refunding && taken.is_multiple_of(4) {
                let (cost, span) = (TOKEN, MAX_SPAN);
                store.slots().put(key, &Put::refund(cost, span));
                lane.returned.fetch_add(1, SeqCst);
            }
        }
    };
    let tally = Supervisor::new(&board, treatment, &work).run(&mut || true)?;
    let recorded =
        i128::from(board.sum(|lane| &lane.calls)) - i128::from(board.sum(|lane| &lane.returned));
    let moved = i128::from(state(&store).signed_since(first.empty_at));
    let consumed = moved / i128::from(TOKEN);
    let lost = consumed - recorded;
    let kills = i128::from(tally.kills);
    let told = format!(
        "recorded {recorded}, consumed {consumed}, lost {lost}, {kills} kills, {} stops",
        tally.stops
    );
    // A worker that dies after a refund, before the refund is counted, makes `lost` smaller.
    let least = if refunding { -kills } else { 0 };
    if moved % i128::from(TOKEN) != 0 || !(least..=kills).contains(&lost) {
        return Err(told);
    }
    Ok(told)
}

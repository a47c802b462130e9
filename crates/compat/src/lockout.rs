//! Lockouts on remote stores. A record is "L", the instant at which the block ends, in nanoseconds,
//! ":" and the number of failures. So no script of buckets takes it for a bucket.

use crate::records::{self, Next, Records};
use gcra::{Denial, Outcome, Ticks, Timestamp};
use std::cell::Cell;
use stores::remote::{Cause, Visit, record};

/// The bits of a state that hold the number of failures; see [`gcra::lockout`].
const FAILURES: u64 = (1 << 10) - 1;

/// Passes the state of the record `name` and the instant to `decide`, and writes the state of the
/// outcome that `decide` returns. The record lives for `life` ticks after the instant in the state.
pub fn take<S: Records>(
    visit: &Visit<'_, S>,
    name: &[u8],
    decide: impl Fn(Timestamp, Timestamp) -> Outcome,
    life: Ticks,
) -> Result<Outcome, Cause> {
    let last = Cell::new(None);
    let step = |record: Option<&[u8]>, now| {
        let state = record.map_or(Some(Timestamp::ZERO), parse)?;
        let outcome = decide(state, now);
        last.set(Some(outcome));
        let next = (outcome.empty_at != state).then(|| Next {
            record: format(outcome.empty_at).into_bytes(),
            life: outcome.empty_at.saturating_add(life).saturating_since(now),
        });
        Some((outcome.granted(), next))
    };
    let granted = records::take(visit, name, step)?;
    let outcome = last.get().ok_or(Cause::Answer("no record was read"))?;
    if outcome.granted() == granted {
        return Ok(outcome);
    }
    Ok(Outcome::denied(
        Denial::Contended,
        Timestamp::ZERO,
        outcome.now,
    ))
}

fn format(Timestamp(state): Timestamp) -> String {
    format!("L{}:{}", state & !FAILURES, state & FAILURES)
}

fn parse(text: &[u8]) -> Option<Timestamp> {
    let mut numbers = text.strip_prefix(b"L")?.split(|&byte| byte == b':');
    let mut number = || record::digits(numbers.next()?);
    let (until, failures) = (number()?, number()?);
    let is_whole = until & FAILURES == 0 && failures <= FAILURES && numbers.next().is_none();
    // All instants are below 2^62.
    (is_whole && until < 1 << 62).then_some(Timestamp(until | failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_begins_with_a_letter_and_holds_the_state() {
        for state in [0, 1, 1023, 1024, 1_790_000_000_000_001_029] {
            let text = format(Timestamp(state));
            assert_eq!(parse(text.as_bytes()), Some(Timestamp(state)), "{text}");
        }
        for other in [
            "",
            "L",
            "L1024",
            "L1024:",
            "1024:1",
            "L1025:1",
            "L1024:1024",
            "L1024:1:1",
        ] {
            assert_eq!(parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(parse(b"L4611686018427387904:1"), None);
    }
}

//! The lines of a log that state an instant. A caller writes one before and one after each call.
//!
//! `docs/explanation/proof.md` describes the format. Numbers that are left out are 0.
//!
//! **Why the log survives `kill -9`.** Each line is one `write()` to a file opened for appending,
//! without a buffer in the process. After `write()` the bytes are in the kernel's page cache, which
//! survives the process. The kernel checks for fatal signals between pages. So of the last line of
//! a dead caller, a part may be missing, which includes the line feed. The first line of a call is
//! written before the call begins, so the log has every call that a dead caller may have made.

use crate::call::{Kind, Nanos};

/// The event that a log record states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The instant before a call.
    Start,
    /// The instant after a call. `sequence`, `answer` and `wait` are known.
    End,
    /// The death of a caller. `bucket` holds the caller's process id.
    Death,
    /// The instant before a caller is killed. `bucket` holds the caller's process id.
    Doom,
}

/// The result that a caller received, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The record is not that of the end of a call.
    None,
    /// The call succeeded. If it was a take, the take was granted.
    Done,
    /// Denied because the bucket lacked tokens.
    Denied,
    /// Denied for another reason that the limiter states.
    Excused,
    Error,
    /// An error that states that the store was not contacted.
    Unasked,
    /// Another bucket denied the batch.
    Undone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds on the clock that all callers share.
    pub time: Nanos,
    pub bucket: u32,
    /// The tokens of the call, in thousandths of a token.
    pub cost: u32,
    /// The event that the log record states.
    pub phase: Phase,
    pub kind: Kind,
    pub answer: Answer,
    /// The number of the call among the calls of its caller, from 0.
    pub sequence: u32,
    /// A wait in nanoseconds, the sequence of a cancelled reservation, or a floor.
    pub wait: Nanos,
}

impl Record {
    /// Parses a line. Returns `None` if it is invalid.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let time = words.next()?.parse().ok()?;
        let (phase, kind, answer) = event(words.next()?)?;
        let numbers: Option<Vec<_>> = words.map(number).collect();
        let mut record = Self {
            time,
            bucket: 0,
            cost: 0,
            phase,
            kind,
            answer,
            sequence: 0,
            wait: 0,
        };
        match (phase, kind, &numbers?[..]) {
            (Phase::Death | Phase::Doom, _, &[process]) => record.bucket = small(process)?,
            (Phase::End, _, &[call]) | (Phase::Start, Kind::Lost, &[call]) => {
                record.sequence = small(call)?;
            }
            (Phase::End, _, &[call, wait]) => {
                (record.sequence, record.wait) = (small(call)?, wait);
            }
            (Phase::Start, _, &[call, bucket, ref rest @ ..]) if rest.len() <= 2 => {
                let at = |index| rest.get(index).copied().unwrap_or(0);
                (record.sequence, record.bucket) = (small(call)?, small(bucket)?);
                (record.cost, record.wait) = (small(at(0))?, at(1));
            }
            _ => return None,
        }
        Some(record)
    }
}

/// Returns what a word states.
fn event(word: &str) -> Option<(Phase, Kind, Answer)> {
    let start = |kind| Some((Phase::Start, kind, Answer::None));
    let end = |answer| Some((Phase::End, Kind::Take, answer));
    match word {
        "take" => start(Kind::Take),
        "refund" => start(Kind::Refund),
        "reset" => start(Kind::Reset),
        "lost" => start(Kind::Lost),
        "charge" => start(Kind::Charge),
        "reserve" => start(Kind::Reserve),
        "cancel" => start(Kind::Cancel),
        "drain" => start(Kind::Drain),
        "stored" => start(Kind::Stored),
        "done" => end(Answer::Done),
        "denied" => end(Answer::Denied),
        "excused" => end(Answer::Excused),
        "error" => end(Answer::Error),
        "unsent" => end(Answer::Unasked),
        "undone" => end(Answer::Undone),
        "death" => Some((Phase::Death, Kind::Take, Answer::None)),
        "doom" => Some((Phase::Doom, Kind::Take, Answer::None)),
        _ => None,
    }
}

fn number(word: &str) -> Option<u64> {
    if word == "endless" {
        return Some(Nanos::MAX);
    }
    word.parse().ok()
}

fn small(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

//! The log records that a caller writes, one before and one after each call. Each log record has 32
//! bytes.
//!
//! Little-endian: time u64 · bucket u32 · tokens u32, in thousandths of a token · phase u8 · kind
//! u8 · outcome u8 · 0 u8 · sequence u32 · wait u64, in nanoseconds, with all bits set for an
//! endless wait.
//!
//! `wait` before a reservation is the longest wait that its caller accepts. After a granted
//! reservation, it is the delay until the tokens may be used. After a denial, it is the time to
//! retry. Before a cancel, it is the sequence of the reservation. Before a drain, it is the length
//! of the block, or 0 if there is no block. Before a take, it is the floor, in thousandths
//! of a token.
//!
//! A batch has a log record for each of its buckets, before and after the call. Those before the
//! call all have the same time.
//!
//! **Why the log survives `kill -9`.** Each log record is one `write()` to a file opened for
//! appending, without a buffer in the process. After `write()` the bytes are in the kernel's page
//! cache, which survives the process. 32 divides the page size, so a log record lies in one page.
//! The kernel checks for fatal signals only between pages. So a log record is either complete or
//! absent. The first log record is written before the call begins, so the log has every call that a
//! dead caller may have made.

use crate::call::{Kind, Nanos};

/// The size of a log record in bytes.
pub const SIZE: usize = 32;

/// The event that a log record states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The instant before a call.
    Start,
    /// The instant after a call.
    End,
    /// The death of a caller. `bucket` holds the caller's process id.
    Death,
    /// The instant before a caller is killed. `bucket` holds the caller's process id.
    Doom,
}

/// The result that a caller received, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The result is not known yet.
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
    /// Parses a log record. Returns `None` if the bytes are invalid.
    pub fn parse(bytes: &[u8; SIZE]) -> Option<Self> {
        let [first @ .., _, _, _, _, _, _, _, _] = bytes;
        Some(Self {
            time: u64::from_le_bytes(*first.first_chunk()?),
            bucket: u32_at(bytes, 8)?,
            cost: u32_at(bytes, 12)?,
            phase: phase(bytes[16])?,
            kind: kind(bytes[17])?,
            answer: answer(bytes[18])?,
            sequence: u32_at(bytes, 20)?,
            wait: u64::from_le_bytes(*bytes.last_chunk()?),
        })
    }
}

fn u32_at(bytes: &[u8; SIZE], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn phase(byte: u8) -> Option<Phase> {
    [Phase::Start, Phase::End, Phase::Death, Phase::Doom]
        .get(usize::from(byte))
        .copied()
}

fn kind(byte: u8) -> Option<Kind> {
    [
        Kind::Take,
        Kind::Refund,
        Kind::Reset,
        Kind::Lost,
        Kind::Charge,
        Kind::Reserve,
        Kind::Cancel,
        Kind::Drain,
    ]
    .get(usize::from(byte))
    .copied()
}

fn answer(byte: u8) -> Option<Answer> {
    [
        Answer::None,
        Answer::Done,
        Answer::Denied,
        Answer::Excused,
        Answer::Error,
        Answer::Unasked,
        Answer::Undone,
    ]
    .get(usize::from(byte))
    .copied()
}

//! What a caller writes: a record of 32 bytes before a call and one after it.
//!
//! Little-endian: time u64 · bucket u32 · cost u32, in thousandths of a token · phase u8 · kind u8 ·
//! outcome u8 · 0 u8 · sequence u32 · retry-after u64, in nanoseconds, all bits set for never.
//!
//! **Why it survives `kill -9`.** Each record is one `write()` to a file opened for appending, without a
//! buffer in the process. What `write()` took is in the kernel's page cache, which does not die with
//! the process (only with the machine). 32 divides the page size, so a record lies in one page; the
//! kernel looks for a deadly signal between pages, not within one: a record is there whole, or not at all. The record
//! before a call is there before the call begins, so whatever a dead caller may have done is known.

use crate::call::{Kind, Nanos};

/// Bytes of a record.
pub const SIZE: usize = 32;

/// Which moment a record notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before a call.
    Start,
    /// After it.
    End,
    /// A caller is dead; `bucket` is its process.
    Death,
}

/// What a caller was told, without what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Not yet known.
    None,
    /// Done; of a take: granted.
    Done,
    /// Denied for want of tokens.
    Denied,
    /// Denied for another reason that the limiter names.
    Excused,
    /// An error.
    Error,
    /// An error that says that nothing was asked of the store.
    Unasked,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, on the clock that all callers read.
    pub time: Nanos,
    /// Which bucket.
    pub bucket: u32,
    /// Thousandths of a token.
    pub cost: u32,
    /// Which moment.
    pub phase: Phase,
    /// What was asked for.
    pub kind: Kind,
    /// What was answered.
    pub answer: Answer,
    /// Of the caller's calls which.
    pub sequence: u32,
    /// How long to wait; all bits set for ever.
    pub retry_after: Nanos,
}

impl Record {
    /// `None` for bytes that are no record.
    #[must_use]
    pub fn parse(bytes: &[u8; SIZE]) -> Option<Self> {
        let [first @ .., _, _, _, _, _, _, _, _] = bytes;
        let retry_after = u64::from_le_bytes(*bytes.last_chunk()?);
        Some(Self {
            time: u64::from_le_bytes(*first.first_chunk()?),
            bucket: u32_at(bytes, 8)?,
            cost: u32_at(bytes, 12)?,
            phase: phase(bytes[16])?,
            kind: kind(bytes[17])?,
            answer: answer(bytes[18])?,
            sequence: u32_at(bytes, 20)?,
            retry_after,
        })
    }
}

fn u32_at(bytes: &[u8; SIZE], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn phase(byte: u8) -> Option<Phase> {
    [Phase::Start, Phase::End, Phase::Death]
        .get(usize::from(byte))
        .copied()
}

fn kind(byte: u8) -> Option<Kind> {
    [Kind::Take, Kind::Refund, Kind::Reset, Kind::Lost]
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
    ]
    .get(usize::from(byte))
    .copied()
}

//! Where things are in a segment.
//!
//! ```text
//! header                        one page
//! counters                      64 shards
//! breakers                      64 cells, one a remote store
//! lines                         64 bytes each: four slots of 16 bytes
//! hints                         64 bytes each: three hints of 16 bytes, one set for sixteen lines
//! diagnostics                   only when asked for
//! ```
//!
//! Everything is an atomic, so any bytes are a valid content: a segment that others can write is
//! never trusted with an index, a length or a pointer. Geometry comes from the settings of the
//! process that maps it, and is compared with the header once.

use crate::remote::breaker::Breakers;
use crate::remote::denial_cache::HintSet;
use crate::slots::counters::{SHARDS, Shard};
use crate::slots::diagnostics::Diagnostics;
use portable_atomic::AtomicU128;
use std::sync::atomic::AtomicU64;

/// `tokenbkt`, so that `xxd` shows it.
pub const MAGIC: u64 = u64::from_le_bytes(*b"tokenbkt");
/// Raised with every change of what a segment's bytes mean.
pub const VERSION: u64 = 2;
/// Slots in a line.
pub const SLOTS_PER_LINE: usize = 4;
/// The least table: a key needs two lines to choose from.
pub const MIN_LINES: usize = 2;
/// The greatest table, 256 GiB: line numbers have 32 bits.
pub const MAX_LINES: usize = 1 << 32;

/// The first page.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`], written last: a segment without it is not finished.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU64,
    /// [`Geometry::lines`].
    pub lines: AtomicU64,
    /// Bytes in all.
    pub size: AtomicU64,
    /// The hash secret.
    pub secret: [AtomicU64; 2],
    /// Which boot of which host, and which view of its clock, the instants belong to.
    pub clock_domain: [AtomicU64; 3],
    /// A random number that a re-executed master recognises its own segment by.
    pub nonce: AtomicU64,
    /// When the segment was made.
    pub created: AtomicU64,
}

/// A line of slots.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Line(pub [AtomicU128; SLOTS_PER_LINE]);

/// How large each part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// How many lines.
    pub lines: usize,
    /// Whether there is room for diagnostics.
    pub diagnostics: bool,
}

impl Geometry {
    /// As many lines as fit in `bytes`, at least [`MIN_LINES`].
    #[must_use]
    pub fn of_size(bytes: usize, diagnostics: bool) -> Self {
        Self {
            lines: (bytes / size_of::<Line>()).clamp(MIN_LINES, MAX_LINES),
            diagnostics,
        }
    }

    /// Where the counters begin.
    pub(crate) const SHARDS_AT: usize = size_of::<Header>();
    /// Where the breakers begin.
    pub(crate) const BREAKERS_AT: usize = Self::SHARDS_AT + SHARDS * size_of::<Shard>();
    /// Where the lines begin: on a page, for counters and breakers are a whole number of pages.
    pub(crate) const LINES_AT: usize = Self::BREAKERS_AT + size_of::<Breakers>();

    /// How many sets of hints: one for sixteen lines, within sense.
    pub(crate) fn hint_sets(self) -> usize {
        (self.lines / 16).clamp(16, 1 << 20)
    }

    /// Where the hints begin: lines and sets of hints are alike in size and alignment.
    pub(crate) fn hints_at(self) -> usize {
        Self::LINES_AT + self.lines * size_of::<Line>()
    }

    /// Where the diagnostics begin.
    pub(crate) fn diagnostics_at(self) -> usize {
        let end = self.hints_at() + self.hint_sets() * size_of::<HintSet>();
        end.next_multiple_of(align_of::<Diagnostics>())
    }

    /// Bytes in all, whole pages.
    #[must_use]
    pub fn size(self) -> usize {
        let diagnostics = if self.diagnostics {
            size_of::<Diagnostics>()
        } else {
            0
        };
        (self.diagnostics_at() + diagnostics).next_multiple_of(4096)
    }
}

const _: () =
    assert!(size_of::<HintSet>() == size_of::<Line>() && Geometry::LINES_AT.is_multiple_of(4096));

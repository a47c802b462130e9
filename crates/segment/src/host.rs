//! A host's shared memory: slots, counters, breaker cells and the denial cache on one mapping.
//!
//! ```text
//! header                        one page
//! counters                      64 shards
//! namespaces                    60 cells, one for each namespace
//! breakers                      64 cells, one for each remote store, credential and timeout. Each
//!                               also holds a histogram of the durations of calls
//! lines                         64 bytes each: four slots of 16 bytes
//! denial cache                  64 bytes for 16 lines: one set of three 16-byte entries
//! tokens taken ahead            64 bytes for 256 lines: one set of three 16-byte cells
//! clients                       60 cells, one for each namespace
//! rows of permits               a byte for each slot of the permits
//! permits                       a counter of processes, and 1/64 of the lines; at least 1,024
//! diagnostics                   only if the operator enables them
//! ```
//!
//! A segment consists of atomics only, so any bytes are valid content. Other processes may write to
//! a segment, so its code never trusts an index, length or pointer from there. Each process
//! computes the layout from the size of the segment, and compares it with the header once. The size
//! of a named segment is that of its file, so that processes with other settings can share the
//! segment.
#![allow(unsafe_code)]

use crate::cells::ahead::{self, CellSet};
use crate::cells::breaker::{Breaker, Breakers, CELLS};
use crate::cells::denial_cache::{DenialCache, EntrySet};
use crate::cells::resolve;
use crate::cells::slice::SliceCell;
use crate::memory::{Layout, Place, Region, Segment, SegmentError, Shareable};
use crate::permits::{self, Numbers, Permits, Process, RowOfPermit};
use crate::slots::SharedMemory;
use crate::slots::clients::Clients;
use crate::slots::counters::{Counters, SHARDS, Shard};
use crate::slots::diagnostics::Diagnostics;
use crate::slots::namespaces::{self, Namespaces};
use crate::slots::protocol::{Production, Variant};
use crate::slots::table::{Line, Usage};
use gcra::ahead::Terms;
use gcra::{KeyHasher, Timestamp};
use std::marker::PhantomData;

/// The layout version. Every change of the meaning of a segment's bytes raises this number.
pub const VERSION: u64 = 12;
/// The number of lines in a page. Segments that differ by a page of lines differ in size.
const PAGE_OF_LINES: usize = 64;
/// The greatest number of pages of lines (256 GiB). Line numbers have 32 bits.
const MAX_PAGES: usize = (1 << 32) / PAGE_OF_LINES;

// SAFETY: the type consists of atomics only, and any bytes are valid.
unsafe impl Shareable for Shard {}
// SAFETY: as above.
unsafe impl Shareable for namespaces::Cell {}
// SAFETY: as above.
unsafe impl Shareable for Breaker {}
// SAFETY: as above.
unsafe impl Shareable for Line {}
// SAFETY: as above.
unsafe impl Shareable for EntrySet {}
// SAFETY: as above.
unsafe impl Shareable for CellSet {}
// SAFETY: as above.
unsafe impl Shareable for Diagnostics {}
// SAFETY: as above.
unsafe impl Shareable for resolve::LookupCell {}
// SAFETY: as above.
unsafe impl Shareable for Numbers {}
// SAFETY: as above.
unsafe impl Shareable for Clients {}
// SAFETY: as above.
unsafe impl Shareable for RowOfPermit {}

/// The settings of a host's shared memory.
#[derive(Clone, Copy, Debug)]
pub struct HostSettings {
    /// The number of lines. [`lines`] computes it from a size in bytes.
    pub lines: usize,
    /// True if the segment has room for diagnostics.
    pub diagnostics: bool,
    /// True if a full table may evict a bucket that is not full. False if it denies new buckets.
    pub evict: bool,
}

/// Returns the number of lines that fit in `bytes`, in whole pages. At least one page.
pub fn lines(bytes: usize) -> usize {
    let pages = bytes / (PAGE_OF_LINES * size_of::<Line>());
    pages.clamp(1, MAX_PAGES) * PAGE_OF_LINES
}

/// Creates memory for the addresses of remote stores. Processes that are forked later share it. A
/// process without this memory keeps addresses for itself. Fails with the [`SegmentError`] if no
/// memory can be mapped.
pub fn share_addresses() -> Result<(), SegmentError> {
    let mut layout = Layout::new(VERSION, 0);
    let cells = layout.place(resolve::CELLS);
    resolve::share(Some(Segment::private(layout)?.region(&cells)));
    Ok(())
}

/// Releases the memory of [`share_addresses`] in this process.
pub fn release_addresses() {
    resolve::share(None);
}

/// The place of each part of the segment.
struct Places {
    shards: Place<Shard>,
    namespaces: Place<namespaces::Cell>,
    breakers: Place<Breaker>,
    lines: Place<Line>,
    denials: Place<EntrySet>,
    ahead: Place<CellSet>,
    permit_rows: Place<RowOfPermit>,
    numbers: Place<Numbers>,
    permits: Place<Line>,
    clients: Place<Clients>,
    diagnostics: Place<Diagnostics>,
    layout: Layout,
}

impl HostSettings {
    /// Returns the layout of a segment with these settings.
    pub fn layout(self) -> Layout {
        self.places().layout
    }

    /// Returns the layout of an existing segment of `size` bytes, with the other settings of
    /// `self`. Returns `None` if no segment has this size.
    pub fn layout_of(self, size: u64) -> Option<Layout> {
        self.of_size(size).map(Self::layout)
    }

    /// Returns the settings of a segment of `size` bytes.
    fn of_size(self, size: u64) -> Option<Self> {
        let of = |pages: usize| Self {
            lines: pages * PAGE_OF_LINES,
            ..self
        };
        let size_of = |settings: Self| settings.layout().size() as u64;
        if size_of(self) == size {
            return Some(self);
        }
        // The size grows with each page, so a binary search finds the number of pages.
        let (mut pages, mut end) = (1, MAX_PAGES);
        while pages < end {
            let middle = usize::midpoint(pages, end);
            if size_of(of(middle)) < size {
                pages = middle + 1;
            } else {
                end = middle;
            }
        }
        Some(of(pages)).filter(|&settings| size_of(settings) == size)
    }

    fn places(self) -> Places {
        let mut layout = Layout::new(VERSION, self.lines as u64);
        Places {
            shards: layout.place(SHARDS),
            namespaces: layout.place(namespaces::CELLS),
            breakers: layout.place(CELLS),
            lines: layout.place(self.lines),
            // Use one set for sixteen lines, within a lower and an upper limit.
            denials: layout.place((self.lines / 16).clamp(16, 1 << 20)),
            ahead: layout.place((self.lines / 256).clamp(16, 1 << 16)),
            clients: layout.place(namespaces::CELLS),
            permit_rows: layout.place(permits::slots(self.lines)),
            numbers: layout.place(1),
            permits: layout.place(permits::lines(self.lines)),
            diagnostics: layout.place(usize::from(self.diagnostics)),
            layout,
        }
    }
}

/// A host's shared memory. `V` is the variant of the protocol: [`Production`], except in tests that
/// break the protocol on purpose.
#[derive(Debug)]
pub struct Host<V: Variant = Production> {
    slots: SharedMemory<V>,
    breakers: Region<Breaker>,
    /// The breakers of stores that have no cell in the segment.
    own_breakers: Box<[Breaker]>,
    denials: Region<EntrySet>,
    ahead: Region<CellSet>,
    permit_rows: Region<RowOfPermit>,
    numbers: Region<Numbers>,
    permits: Region<Line>,
    /// This process as an owner of permits.
    process: Process,
    segment: Segment,
}

impl<V: Variant> Host<V> {
    /// Places all parts on the segment that `make` returns for the layout of these settings. If
    /// `make` returns an existing segment, the size of that segment determines the number of lines.
    ///
    /// ```
    /// # use segment::host::{Host, HostSettings, lines};
    /// # use segment::memory::{Segment, SegmentError};
    /// let settings = HostSettings { lines: lines(1 << 20), diagnostics: false, evict: true };
    /// let host: Host = Host::new(settings, Segment::private)?;
    /// # Ok::<(), SegmentError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of `make`. Returns [`SegmentError::Shape`] if no layout has the size of
    /// the segment.
    pub fn new(
        settings: HostSettings,
        make: impl FnOnce(Layout) -> Result<Segment, SegmentError>,
    ) -> Result<Self, SegmentError> {
        let segment = make(settings.layout())?;
        let settings = settings.of_size(segment.size() as u64);
        let settings = settings.ok_or(SegmentError::Shape)?;
        let places = settings.places();
        Ok(Self {
            slots: SharedMemory {
                lines: segment.region(&places.lines),
                counters: Counters::new(segment.region(&places.shards)),
                namespaces: Namespaces::new(segment.region(&places.namespaces)),
                clients: segment.region(&places.clients),
                diagnostics: segment.region(&places.diagnostics),
                hasher: KeyHasher::new(segment.secret()),
                evict: settings.evict,
                difference: segment.wall_difference(),
                variant: PhantomData,
            },
            breakers: segment.region(&places.breakers),
            own_breakers: (0..CELLS).map(|_| Breaker::default()).collect(),
            denials: segment.region(&places.denials),
            ahead: segment.region(&places.ahead),
            permit_rows: segment.region(&places.permit_rows),
            numbers: segment.region(&places.numbers),
            permits: segment.region(&places.permits),
            process: Process::default(),
            segment,
        })
    }

    /// Makes each thread of this process count for itself. Without this, all threads of a process
    /// share a shard of the counters, and lose counts if they call at the same time.
    pub const fn counting_by_thread(mut self) -> Self {
        self.slots.counters.count_by_thread();
        self
    }

    #[inline]
    pub const fn slots(&self) -> &SharedMemory<V> {
        &self.slots
    }

    /// Returns the store in shared memory, for a test that changes it.
    #[cfg(test)]
    pub(crate) const fn slots_mut(&mut self) -> &mut SharedMemory<V> {
        &mut self.slots
    }

    /// Returns the breakers of remote stores.
    pub fn breakers(&self) -> Breakers<'_> {
        Breakers::new(&self.breakers, &self.own_breakers)
    }

    /// Returns the cache of denials of remote stores.
    pub fn denial_cache(&self) -> DenialCache<'_> {
        DenialCache::new(&self.denials)
    }

    /// Returns the cell of the places that this host takes ahead in the bucket with this hash.
    pub fn place_cell(&self, hash: u128, terms: Terms) -> ahead::Cell<'_> {
        ahead::Cell::in_set(ahead::set_of(&self.ahead, hash), hash, terms)
    }

    /// Returns the cell of the slices that this host takes ahead of the bucket with this hash.
    #[inline]
    pub fn slice_cell(&self, hash: u128, terms: Terms) -> SliceCell<'_> {
        SliceCell::in_set(ahead::set_of(&self.ahead, hash), hash, terms)
    }

    /// Drops what was taken ahead of the bucket with this hash by requests that were sent up to
    /// `now`.
    pub fn clear_ahead(&self, hash: u128, now: Timestamp) {
        ahead::clear(&self.ahead, hash, now);
    }

    /// Returns the permits of concurrency limits.
    #[inline]
    pub fn permits(&self) -> Permits<'_> {
        self.permits_in()
    }

    /// Does the same as [`Host::permits`] for a variant of the protocol. Only for tests.
    #[doc(hidden)]
    #[inline]
    pub fn permits_in<W>(&self) -> Permits<'_, W> {
        Permits {
            lines: &self.permits,
            rows: &self.permit_rows,
            numbers: &self.numbers[0],
            process: &self.process,
            segment: &self.segment,
            counters: &self.slots.counters,
            variant: PhantomData,
        }
    }

    /// Returns the segment that holds all parts.
    pub const fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Returns the segment and drops everything else.
    pub fn into_segment(self) -> Segment {
        self.segment
    }

    /// Returns the number of slots in each state.
    pub fn usage(&self) -> Usage {
        self.estimated_usage(usize::MAX)
    }

    /// Returns the same as [`Host::usage`], but estimates it from at most `most` lines and used
    /// slots; see [`SharedMemory::usage`]. The result is exact if there are no more.
    pub fn estimated_usage(&self, most: usize) -> Usage {
        self.slots.usage(&self.segment, most)
    }
}

//! Computes the places of the values in a segment from their sizes and alignments.

use std::marker::PhantomData;

/// The size of a page in bytes. The header takes the first page. A segment is a whole number of
/// pages.
pub(super) const PAGE: usize = 4096;

/// The version, shape and size of a segment. The mapping needs no other information about the
/// contents.
///
/// Processes share a segment only if all three numbers are the same.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub(super) version: u64,
    pub(super) shape: u64,
    end: usize,
}

/// The place of a run of values in a segment.
#[derive(Debug)]
pub struct Place<T> {
    pub(super) at: usize,
    pub(super) count: usize,
    values: PhantomData<T>,
}

impl Layout {
    /// Returns a layout with only the header. `version` identifies the meaning of the bytes, and
    /// `shape` the number of values.
    pub const fn new(version: u64, shape: u64) -> Self {
        Self {
            version,
            shape,
            end: PAGE,
        }
    }

    /// Reserves the next aligned place for `count` values, and returns it.
    pub const fn place<T>(&mut self, count: usize) -> Place<T> {
        const { assert!(align_of::<T>() <= PAGE) }
        let at = self.end.next_multiple_of(align_of::<T>());
        self.end = at + count * size_of::<T>();
        Place {
            at,
            count,
            values: PhantomData,
        }
    }

    /// Returns the size of the segment in bytes, in whole pages.
    pub const fn size(&self) -> usize {
        self.end.next_multiple_of(PAGE)
    }
}

//! The namespaces whose decisions are counted separately.
//!
//! A namespace gets a row of counters when a storage first uses it, and keeps the row until the
//! segment is removed. The number of rows is limited. For each kind of store, the namespaces
//! without a row of their own share one row.
//!
//! A cell of the segment holds the name of a namespace. The number of its row follows from the
//! number of the cell, so no row is read from the segment. A cell is found by a hash of the kind
//! and the name, which is keyed with the segment's secret.

use super::counters::ROWS;
use crate::memory::Region;
use gcra::{KeyHasher, Row};
use std::borrow::Cow;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreKind {
    /// This host's shared memory.
    SharedMemory,
    /// Redis, or a compatible server.
    Redis,
    Memcached,
    Database,
}

impl StoreKind {
    const ALL: [Self; 4] = [
        Self::SharedMemory,
        Self::Redis,
        Self::Memcached,
        Self::Database,
    ];

    /// Returns the row of the namespaces of this kind that have no row of their own.
    const fn others(self) -> Row {
        Row(self as u32)
    }
}

/// The number of cells: all rows but one for each kind.
pub(crate) const CELLS: usize = ROWS - StoreKind::ALL.len();
/// The number of cells that only the extension's own rows use, such as those of the guard's limits.
/// So applications with many namespaces do not leave a limit without a name and counters.
const OWN: usize = 12;
/// The number of bytes of a name that are kept. A cell is three cache lines.
const NAME: usize = 176;
/// The prefix of the names of the extension's own rows in shared memory.
const RESERVED: &[u8] = b"guard";

/// The name of one namespace.
#[repr(C, align(16))]
#[derive(Debug, Default)]
pub struct Cell {
    /// The hash of the kind and the name; 0 while the cell is free.
    hash: AtomicU64,
    /// 0 until the name is written. Then 1 + the kind in the lowest byte, and the length of the
    /// name in the second byte.
    head: AtomicU64,
    name: [AtomicU64; NAME / 8],
}

#[derive(Debug)]
pub struct Namespaces {
    cells: Region<Cell>,
    /// The rows that this process has found in shared memory. The upper 56 bits are those of the
    /// tag of the namespace's hasher. The lower 8 bits are the row.
    found: [AtomicU64; ROWS],
}

/// A row of counters, for the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub row: Row,
    pub kind: StoreKind,
    /// The name. A name of more than 176 bytes has a hash of the whole name instead of its middle.
    /// `None` for all namespaces without a row of their own.
    pub name: Option<Vec<u8>>,
}

impl Named {
    /// Reports whether the extension itself decides in this row. No namespace of PHP code has such
    /// a row.
    pub fn is_reserved(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        self.kind == StoreKind::SharedMemory && name.starts_with(RESERVED)
    }
}

impl Namespaces {
    /// Wraps `cells`, of which there must be [`CELLS`].
    pub(crate) fn new(cells: Region<Cell>) -> Self {
        Self {
            cells,
            found: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Returns the row of a namespace in shared memory. `hasher` is the hasher of the namespace.
    /// `parts` are the parts of its name; see [`Namespaces::row`].
    #[inline]
    pub(super) fn row_of(&self, hasher: KeyHasher, root: KeyHasher, parts: [&[u8]; 2]) -> Row {
        const LOW: u64 = 0xff;
        // The tag is random, so its bits choose an entry well.
        let entry = &self.found[(hasher.tag() >> 8) as usize % ROWS];
        let found = entry.load(Relaxed);
        if found & !LOW == hasher.tag() & !LOW {
            // The cast keeps the row.
            return Row((found & LOW) as u32);
        }
        let row = self.row(root, StoreKind::SharedMemory, parts);
        entry.store(hasher.tag() & !LOW | u64::from(row.0), Relaxed);
        row
    }

    /// Returns the row of a namespace. Its name is the parts that are not empty, joined by `/`. In
    /// shared memory, a name that begins with a reserved word gets a slash in front of it, so that
    /// no namespace of PHP code is counted with the extension's own. `root` is the segment's
    /// hasher.
    #[cold]
    #[inline(never)]
    pub fn row(&self, root: KeyHasher, kind: StoreKind, parts: [&[u8]; 2]) -> Row {
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let mut name = parts.join(&b'/');
        if kind == StoreKind::SharedMemory && name.starts_with(RESERVED) {
            name.insert(0, b'/');
        }
        self.find(root, kind, &name)
    }

    /// Returns the row of decisions of the extension itself in shared memory. The name begins with
    /// a reserved word. `root` is the segment's hasher.
    pub(super) fn reserved(&self, root: KeyHasher, name: &[u8]) -> Row {
        debug_assert!(name.starts_with(RESERVED), "others could use this name");
        self.find(root, StoreKind::SharedMemory, name)
    }

    /// Reports whether a process has used the row of [`Namespaces::reserved`] with this name. Also
    /// true if all rows are in use, because the name may then be one of those without a row.
    pub(super) fn has_reserved(&self, root: KeyHasher, name: &[u8]) -> bool {
        let hash = hash(root, StoreKind::SharedMemory, &shortened(name));
        for index in probed(hash, CELLS) {
            match self.cells[index].hash.load(Relaxed) {
                0 => return false,
                owner if owner == hash => return true,
                _ => {}
            }
        }
        true
    }

    /// Reports whether the extension itself decides in this row; see [`Namespaces::reserved`].
    pub(super) fn is_reserved(&self, row: Row) -> bool {
        let cell = cell_of_row(row).and_then(|index| self.cells.get(index));
        let named = cell.and_then(|cell| cell.named(row));
        named.is_some_and(|named| named.is_reserved())
    }

    fn find(&self, root: KeyHasher, kind: StoreKind, name: &[u8]) -> Row {
        let is_own = kind == StoreKind::SharedMemory && name.starts_with(RESERVED);
        let cells = if is_own { CELLS } else { CELLS - OWN };
        let name = shortened(name);
        let hash = hash(root, kind, &name);
        for index in probed(hash, cells) {
            let cell = &self.cells[index];
            let owner = cell.hash.load(Relaxed);
            let claim = || cell.hash.compare_exchange(0, hash, Relaxed, Relaxed);
            let is_ours =
                owner == hash || (owner == 0 && claim().map_or_else(|it| it == hash, |_| true));
            if is_ours {
                cell.set_name(kind, &name);
                return row_of_cell(index);
            }
        }
        kind.others()
    }

    /// Returns all rows that may have counted a decision.
    pub fn list(&self) -> Vec<Named> {
        let others = StoreKind::ALL.map(|kind| Named {
            row: kind.others(),
            kind,
            name: None,
        });
        let named = self.cells.iter().enumerate();
        let named = named.filter_map(|(index, cell)| cell.named(row_of_cell(index)));
        others.into_iter().chain(named).collect()
    }
}

/// Returns the name as a row shows it. The middle of a long name is replaced by a hash, which
/// distinguishes names that begin and end with the same bytes. It is the same on all hosts.
fn shortened(name: &[u8]) -> Cow<'_, [u8]> {
    const DIGITS: usize = 8;
    /// The bytes that are kept at the end, where a limit of the guard has its name.
    const TAIL: usize = 40;
    if name.len() <= NAME {
        return Cow::Borrowed(name);
    }
    let hash = KeyHasher::new([0; 2]).key(name).hash & 0xffff_ffff;
    let middle = format!("~{hash:0DIGITS$x}~");
    let (head, tail) = (NAME - TAIL - middle.len(), name.len() - TAIL);
    Cow::Owned([&name[..head], middle.as_bytes(), &name[tail..]].concat())
}

/// Returns the hash by which the cell of a name is found. It is never 0.
// The cast keeps enough bits of a good hash.
#[allow(clippy::cast_possible_truncation)]
fn hash(root: KeyHasher, kind: StoreKind, name: &[u8]) -> u64 {
    let named = [&[kind as u8], name].concat();
    (root.key(&named).hash as u64).max(1)
}

/// Returns the indices of the cells in the order in which a hash uses them.
// The cast keeps enough bits of a good hash.
#[allow(clippy::cast_possible_truncation)]
fn probed(hash: u64, cells: usize) -> impl Iterator<Item = usize> {
    let first = hash as usize % cells;
    (first..cells).chain(0..first)
}

const fn row_of_cell(index: usize) -> Row {
    // The number of rows is less than 256.
    #[allow(clippy::cast_possible_truncation)]
    Row((index + StoreKind::ALL.len()) as u32)
}

/// Returns the index of the cell of a row, or `None` if several namespaces share the row.
pub(super) const fn cell_of_row(row: Row) -> Option<usize> {
    (row.0 as usize).checked_sub(StoreKind::ALL.len())
}

impl Cell {
    /// Writes the name, also if another process claimed the cell. That process may have been killed
    /// before it wrote the name.
    fn set_name(&self, kind: StoreKind, name: &[u8]) {
        let mut bytes = [0; NAME];
        bytes[..name.len()].copy_from_slice(name);
        for (word, chunk) in self.name.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_le_bytes(*chunk), Relaxed);
        }
        let head = 1 + kind as u64 + ((name.len() as u64) << 8);
        // Release: a process that reads the head can then read the name.
        self.head.store(head, Release);
    }

    /// Returns the name, or `None` if the cell is free or its name is not written yet.
    fn named(&self, row: Row) -> Option<Named> {
        let [kind, length, ..] = self.head.load(Acquire).to_le_bytes();
        let kind = *StoreKind::ALL.get(usize::from(kind).checked_sub(1)?)?;
        let words = self
            .name
            .iter()
            .map(|word| word.load(Relaxed).to_le_bytes());
        let bytes = words.flatten().take(usize::from(length)).collect();
        Some(Named {
            row,
            kind,
            name: Some(bytes),
        })
    }
}

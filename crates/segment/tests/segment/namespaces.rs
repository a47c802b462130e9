//! Tests the rows of counters, one for each namespace and kind of store.

use crate::{Folder, PRIVATE, SETTINGS, named, store};
use gcra::key::{KeyHasher, Row};
use gcra::{Step, TICKS_PER_SECOND};
use segment::host::{Host, HostSettings};
use segment::memory::Segment;
use segment::slots::counters::{By, ROWS};
use segment::slots::namespaces::{Cell, StoreKind};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

/// The number of rows that belong to one namespace each.
const NAMED: usize = ROWS - 4;
/// The number of these rows that namespaces may have. The others are for the guard's limits.
const OF_NAMESPACES: usize = NAMED - 12;

/// Returns a host whose table has room for a bucket of each namespace. If 180 buckets were spread
/// over 256 slots, the slots of one of them would often be full.
fn private() -> Host {
    let settings = HostSettings {
        lines: 1024,
        ..SETTINGS
    };
    Host::new(settings, Segment::memfd).unwrap()
}

fn row(hasher: KeyHasher) -> Row {
    hasher.key(b"").row
}

/// Makes one grant and two denials in a namespace.
fn decide(host: &Host, names: [&[u8]; 2]) {
    let hour = 3600 * TICKS_PER_SECOND;
    let key = host.slots().hasher_of(names).key(b"id");
    for granted in [true, false, false] {
        let outcome = host.slots().take(key, &Step::new(hour, hour), None);
        assert_eq!(outcome.granted(), granted);
    }
}

/// Returns the rows that have counted decisions in shared memory, in order of their names.
fn counted(host: &Host) -> Vec<(Option<Vec<u8>>, [u64; 2])> {
    let totals = host.slots().totals();
    let rows = host.slots().rows().into_iter();
    let rows = rows.map(|row| (row.name, totals.decisions(row.row, By::SharedMemory)));
    let mut counted: Vec<_> = rows.filter(|(_, counts)| *counts != [0, 0]).collect();
    counted.sort();
    counted
}

#[test]
fn the_kinds_of_stores_have_rows_of_their_own() {
    let host = private();
    let here = row(host.slots().hasher_of([b"", b"a"]));
    let kinds = [
        StoreKind::SharedMemory,
        StoreKind::Redis,
        StoreKind::Memcached,
        StoreKind::Database,
    ];
    let rows = kinds.map(|kind| host.slots().row(kind, [b"a", b""]));
    assert_eq!(rows[0], here, "the same name");
    for (index, row) in rows.iter().enumerate() {
        assert!(!rows[..index].contains(row));
    }
}

#[test]
fn the_number_of_rows_is_bounded() {
    let host = private();
    let names: Vec<_> = (0..3 * NAMED)
        .map(|number| format!("namespace {number}"))
        .collect();
    for name in &names {
        decide(&host, [name.as_bytes(), b""]);
    }
    assert_eq!(host.slots().rows().len(), ROWS - 12);
    let counted = counted(&host);
    assert_eq!(counted.len(), OF_NAMESPACES + 1);
    let without = (3 * NAMED - OF_NAMESPACES) as u64;
    let others = (None, [without, 2 * without]);
    assert_eq!(counted[0], others);
    let kept = names[..OF_NAMESPACES]
        .iter()
        .map(|name| Some(name.clone().into_bytes()));
    for name in kept {
        assert!(
            counted.contains(&(name, [1, 2])),
            "the first keep their rows"
        );
    }
    let redis = host.slots().row(StoreKind::Redis, [b"new", b""]);
    let memcached = host.slots().row(StoreKind::Memcached, [b"new", b""]);
    assert_ne!(redis, memcached, "each kind has a row for the others");
    let of_guard = row(host.slots().reserved_hasher(&[b"ip"], b"guard: ip 1/day"));
    let others = row(host.slots().hasher_of([b"new", b""]));
    assert_ne!(of_guard, others, "a limit of the guard has its own row");
    assert!(!host.slots().has_row(b"guard: ip 2/day"));
}

#[test]
fn long_names_are_cut_but_stay_apart() {
    let host = private();
    let name = [b'x'; 200];
    decide(&host, [&name, b"a"]);
    decide(&host, [&name, b"b"]);
    decide(&host, [&name[..176], b""]);
    let counted = counted(&host);
    assert_eq!(counted.len(), 3);
    for (name, counts) in counted {
        let name = name.unwrap();
        assert_eq!((name.len(), counts), (176, [1, 2]));
        assert!(name.starts_with(&[b'x'; 126]), "{name:?}");
        let end = &name[136..];
        assert!(end.iter().all(|byte| b"x/ab".contains(byte)), "{name:?}");
    }
    let other = private();
    decide(&other, [&name, b"b"]);
    let of_other = self::counted(&other);
    assert!(
        self::counted(&host).contains(&of_other[0]),
        "as on other hosts"
    );
}

#[test]
fn no_namespace_is_counted_with_the_extensions_own_decisions() {
    let host = private();
    let names: [&[u8]; 3] = [b"guard", b"", b"ip 1/day"];
    let own = host.slots().reserved_hasher(&names, b"guard: ip 1/day");
    let shop = host.slots().hasher_of([b"", b"guard: ip 1/day"]);
    let joined = host.slots().hasher_of([b"guard: ip 1", b"day"]);
    assert_ne!(row(own), row(shop));
    assert_eq!(row(joined), row(shop));
    let rows = host.slots().rows().into_iter();
    let mut shown: Vec<_> = rows.filter_map(|row| row.name).collect();
    shown.sort();
    assert_eq!(shown, [b"/guard: ip 1/day".as_slice(), b"guard: ip 1/day"]);
}

#[test]
fn a_row_of_the_extension_is_known_once_it_is_used() {
    let host = private();
    let long = [b"guard: ".as_slice(), &[b'x'; 200]].concat();
    for row in [b"guard: ip 1/day".as_slice(), &long] {
        assert!(!host.slots().has_row(row));
        let count = host.slots().rows().len();
        let _ = host.slots().reserved_hasher(&[b"guard", b"", b"x"], row);
        assert!(host.slots().has_row(row));
        assert_eq!(
            host.slots().rows().len(),
            count + 1,
            "a question makes no row"
        );
    }
    assert!(!host.slots().has_row(b"guard: ip 2/day"));
    for number in 0..NAMED {
        let row = format!("guard: {number}").into_bytes();
        let _ = host.slots().reserved_hasher(&[b"guard", b"", b"x"], &row);
    }
    assert!(
        host.slots().has_row(b"guard: ip 2/day"),
        "it may have no row"
    );
}

#[test]
fn processes_find_the_same_rows() {
    let folder = Folder::new();
    let [one, other] = [(); 2].map(|()| store(named(&folder.file(), PRIVATE).unwrap()));
    for number in 0..2 * NAMED {
        let name = format!("{number}").into_bytes();
        let hosts = if number % 2 == 0 {
            [&one, &other]
        } else {
            [&other, &one]
        };
        let rows = hosts.map(|host| row(host.slots().hasher_of([&name, b""])));
        assert_eq!(rows[0], rows[1], "{number}");
    }
    decide(&one, [b"0", b""]);
    assert_eq!(counted(&one), counted(&other));
}

/// Overwrites the cells of a named segment. Each cell gets `bytes`.
fn spoil(folder: &Folder, host: &Host, bytes: [u8; size_of::<Cell>()]) {
    let name = b"a name that is easy to find in the file".as_slice();
    let row = host.slots().row(StoreKind::Redis, [name, b""]).0 as usize;
    let file = std::fs::read(folder.file()).unwrap();
    let at = file.windows(name.len()).position(|window| window == name);
    // The name begins after two words of its cell.
    let first = at.unwrap() - 16 - (row - (ROWS - NAMED)) * size_of::<Cell>();
    let file = OpenOptions::new().write(true).open(folder.file()).unwrap();
    let cells = [bytes; NAMED].concat();
    file.write_all_at(&cells, first as u64).unwrap();
}

#[test]
fn a_segment_with_invalid_names_is_used_without_them() {
    let folder = Folder::new();
    let host = store(named(&folder.file(), PRIVATE).unwrap());
    let mut bytes = [0xff; size_of::<Cell>()];
    spoil(&folder, &host, bytes);
    assert_eq!(host.slots().rows().len(), ROWS - NAMED, "an unknown kind");
    decide(&host, [b"a", b""]);
    assert_eq!(counted(&host), [(None, [1, 2])], "no cell is free");
    // A valid kind, and a length of 255 bytes.
    bytes[8] = 1;
    let folder = Folder::new();
    let host = store(named(&folder.file(), PRIVATE).unwrap());
    spoil(&folder, &host, bytes);
    let names = host.slots().rows().into_iter().filter_map(|row| row.name);
    let lengths: Vec<_> = names.map(|name| name.len()).collect();
    assert_eq!(lengths, [176; NAMED]);
}

#[test]
fn a_name_that_a_killed_process_has_not_written_is_written_again() {
    let folder = Folder::new();
    let host = store(named(&folder.file(), PRIVATE).unwrap());
    let row = host
        .slots()
        .row(StoreKind::Database, [b"the table of limits", b""]);
    let bytes = std::fs::read(folder.file()).unwrap();
    let at = bytes
        .windows(19)
        .position(|window| window == b"the table of limits");
    let file = OpenOptions::new().write(true).open(folder.file()).unwrap();
    // Without the head and the name, only the hash is left.
    file.write_all_at(&[0; 8 + 64], at.unwrap() as u64 - 8)
        .unwrap();
    assert!(host.slots().rows().iter().all(|named| named.name.is_none()));
    let next = store(named(&folder.file(), PRIVATE).unwrap());
    assert_eq!(
        next.slots()
            .row(StoreKind::Database, [b"the table of limits", b""]),
        row
    );
    let rows = host.slots().rows();
    let found = rows.iter().find(|named| named.row == row).unwrap();
    assert_eq!(
        found.name.as_deref(),
        Some(b"the table of limits".as_slice())
    );
    assert_eq!(found.kind, StoreKind::Database);
}

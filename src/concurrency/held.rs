//! The permits that the requests of this thread hold.
//!
//! A permit ends with its request at the latest. PHP destroys no objects after a fatal error, so
//! this list owns the permits, and an object has only the place of its entry. The list is emptied
//! when a request ends. It is emptied again when the next request begins, because the end of a
//! request is skipped if another module fails in it. A session handler runs PHP code after the end
//! of a request. Permits of this code end with their objects.

use crate::storage::Permit;
use std::cell::RefCell;

/// The place of an entry. The default belongs to no entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    index: usize,
    /// Distinguishes the entry from earlier and later ones at its place. 0 stands for no entry.
    serial: u64,
}

#[derive(Debug, Default)]
struct Place {
    /// 0 if the place is vacant.
    serial: u64,
    permit: Option<Permit>,
}

/// The entries of a thread.
struct List {
    places: Vec<Place>,
    /// The indices of the vacant places.
    vacant: Vec<usize>,
    /// The serial number of the latest entry.
    latest: u64,
}

thread_local! {
    static LIST: RefCell<List> = const {
        RefCell::new(List {
            places: Vec::new(),
            vacant: Vec::new(),
            latest: 0,
        })
    };
}

impl List {
    fn place(&mut self, entry: Entry) -> Option<&mut Place> {
        let place = self.places.get_mut(entry.index);
        place.filter(|place| entry.serial != 0 && place.serial == entry.serial)
    }
}

/// Adds an entry without a permit.
pub fn reserve() -> Entry {
    LIST.with_borrow_mut(|list| {
        let index = list.vacant.pop().unwrap_or_else(|| {
            list.places.push(Place::default());
            list.places.len() - 1
        });
        list.latest += 1;
        list.places[index].serial = list.latest;
        Entry {
            index,
            serial: list.latest,
        }
    })
}

/// Puts a permit into an entry. Allocates no memory.
pub fn keep(entry: Entry, permit: Permit) {
    LIST.with_borrow_mut(|list| {
        if let Some(place) = list.place(entry) {
            place.permit = Some(permit);
        }
    });
}

/// Renews the permit of an entry. Returns false if the entry has no permit, or if this process does
/// not hold it any more.
pub fn renew(entry: Entry) -> bool {
    LIST.with_borrow_mut(|list| {
        let permit = list.place(entry).and_then(|place| place.permit.as_mut());
        permit.is_some_and(Permit::renew)
    })
}

/// Removes an entry and gives its permit back. Does nothing if the entry was removed before.
pub fn release(entry: Entry) {
    if entry.serial == 0 {
        return;
    }
    LIST.with_borrow_mut(|list| {
        let Some(place) = list.place(entry) else {
            return;
        };
        place.serial = 0;
        let permit = place.permit.take();
        list.vacant.push(entry.index);
        if let Some(permit) = permit {
            permit.release();
        }
    });
}

/// Removes all entries and gives their permits back.
pub fn release_all() {
    LIST.with_borrow_mut(|list| {
        list.vacant.clear();
        let permits = list.places.drain(..).filter_map(|place| place.permit);
        permits.for_each(Permit::release);
    });
}

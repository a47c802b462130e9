//! The permits that the requests of this thread hold.
//!
//! A permit ends with its request at the latest. PHP destroys no objects after a fatal error, so
//! this list owns the permits, and an object has only the place of its entry. The list is emptied
//! when a request ends. It is also emptied when the next request begins, because PHP does not call
//! this module at the end of a request if another module fails there first. A session handler runs
//! PHP code after the end of a request. Permits of this code end with their objects.

use crate::exceptions;
use crate::storage::{HeldPermit, OnServer};
use std::cell::{Cell, RefCell};
use std::mem;
use stores::remote::Answer;
use zend::Thrown;

/// The place of an entry. The default stands for no entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeldEntry {
    index: usize,
    /// Distinguishes the entry from earlier and later ones at its place. 0 stands for no entry.
    serial: u64,
}

/// A permit and the serial number of its entry.
#[derive(Debug)]
struct Held {
    serial: u64,
    permit: HeldPermit,
}

/// The entries of a thread.
struct List {
    places: Vec<Option<Held>>,
    /// The indices of the places without an entry.
    vacant: Vec<usize>,
    /// The serial number of the latest entry.
    latest: u64,
}

thread_local! {
    /// True if the list may have an entry. Reading it takes less time than reading the list.
    static IS_USED: Cell<bool> = const { Cell::new(false) };
    static LIST: RefCell<List> = const {
        RefCell::new(List {
            places: Vec::new(),
            vacant: Vec::new(),
            latest: 0,
        })
    };
}

impl List {
    fn place(&mut self, entry: HeldEntry) -> Option<&mut Option<Held>> {
        let place = self.places.get_mut(entry.index);
        place.filter(|place| place.as_ref().is_some_and(|it| it.serial == entry.serial))
    }

    /// Removes an entry and returns its permit.
    #[inline]
    fn remove(&mut self, entry: HeldEntry) -> Option<HeldPermit> {
        let held = self.place(entry)?.take();
        self.vacant.push(entry.index);
        held.map(|held| held.permit)
    }
}

/// Adds an entry for a permit. Allocates none of PHP's memory, so PHP's memory limit cannot end the
/// call here and lose the permit.
pub fn keep(permit: HeldPermit) -> HeldEntry {
    IS_USED.set(true);
    LIST.with_borrow_mut(|list| {
        list.latest += 1;
        let serial = list.latest;
        let held = Some(Held { serial, permit });
        let index = if let Some(index) = list.vacant.pop() {
            list.places[index] = held;
            index
        } else {
            list.places.push(held);
            list.places.len() - 1
        };
        HeldEntry { index, serial }
    })
}

/// Renews the permit of an entry. Returns false if the entry was removed, or if this process does
/// not hold the permit any more.
pub fn renew(entry: HeldEntry) -> Result<bool, Thrown> {
    let renewed = LIST.with_borrow_mut(|list| {
        let held = list.place(entry).and_then(Option::as_mut);
        held.map_or(Ok(Answer::sure(false)), |held| held.permit.renew())
    });
    exceptions::throw_or_report(renewed).map(|it| it.value)
}

/// Removes an entry and gives its permit back. Does nothing if the entry was removed before.
/// Returns a permit on a server instead of giving it back, because that may fail.
#[inline]
#[must_use]
pub fn release(entry: HeldEntry) -> Option<Box<OnServer>> {
    if entry.serial == 0 {
        return None;
    }
    let permit = LIST.with_borrow_mut(|list| list.remove(entry));
    permit.and_then(HeldPermit::release)
}

/// Makes one entry of the permits of several entries, so that they end together.
pub fn join(entries: impl Iterator<Item = HeldEntry>) -> HeldEntry {
    let permits = LIST.with_borrow_mut(|list| entries.filter_map(|it| list.remove(it)).collect());
    keep(HeldPermit::Several(permits))
}

/// Removes all entries and gives their permits back. Runs no PHP code.
pub fn release_all() {
    if !IS_USED.take() {
        return;
    }
    let places = LIST.with_borrow_mut(|list| {
        list.vacant.clear();
        mem::take(&mut list.places)
    });
    let held = places.into_iter().flatten();
    let on_servers = held.filter_map(|held| held.permit.release());
    on_servers.for_each(|permit| permit.release_quietly());
}

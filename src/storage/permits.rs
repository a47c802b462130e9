//! The permits of concurrency limits that a storage keeps.

use super::server_permits::{self, Server, ServerPermit, Told};
use crate::attached;
use gcra::{Denial, Key, Ticks};
use segment::permits::{self, Acquired};
use segment::slots::counters::Event;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use stores::remote::Failure;
use zend::Thrown;

/// The place in which a storage keeps permits.
#[derive(Debug)]
pub enum Permits {
    /// The segment. All processes that share it share the permits.
    Segment,
    /// The storage object, for its own process only.
    Object(Rc<Cells>),
    /// A Redis server. All hosts share the permits.
    Server(Rc<Server>),
}

/// A permit that was taken.
#[derive(Debug)]
pub enum Permit {
    /// A permit in the segment.
    Segment(permits::Permit),
    /// The cell of a key in an object.
    Object(Rc<Cells>, u128, u16),
    /// A permit on a server, in a box because the others are small.
    Server(Box<ServerPermit>),
}

/// A permit, and an estimate of the permits that are still free.
#[derive(Debug)]
pub struct Granted {
    pub permit: Permit,
    pub free: u16,
}

/// The reason why no permit was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All permits of the key were held at one instant of the call.
    TooMany,
    /// Other processes changed the permits in every try.
    Contended,
    /// The region has no room for another permit.
    TableFull,
    /// This process cannot hold permits; see `status()`. Or the failure policy of a server denies.
    Unavailable,
    /// A signal or the time limit ended the wait.
    Interrupted,
}

impl Refusal {
    /// Returns the reason as a bucket's denial states it, or `None` if all permits are held.
    pub const fn denial(self) -> Option<Denial> {
        match self {
            Self::TooMany => None,
            Self::Contended => Some(Denial::Contended),
            Self::TableFull => Some(Denial::TableFull),
            Self::Unavailable => Some(Denial::Unavailable),
            Self::Interrupted => Some(Denial::Interrupted),
        }
    }

    /// Returns true if a later try may succeed in this process.
    pub const fn may_end(self) -> bool {
        !matches!(self, Self::Unavailable)
    }
}

/// Takes a permit of `key` out of `limit` in the segment.
///
/// # Errors
/// Returns the reason if no permit was taken.
#[inline]
pub fn acquire_in_segment(key: Key<'_>, limit: u16) -> Result<Granted, Refusal> {
    let host = attached::host().ok_or(Refusal::Unavailable)?;
    let acquired = host.permits().acquire(key, limit);
    granted(acquired.map_err(|_| Refusal::Unavailable)?)
}

impl Permits {
    /// Takes a permit of `key` out of `limit`, or returns the reason why it takes none. The permit
    /// of a server ends after `lease` if it is not renewed.
    ///
    /// # Errors
    /// Throws the exception of a server that failed.
    pub fn acquire(
        &self,
        key: Key<'_>,
        limit: u16,
        lease: Ticks,
    ) -> Result<Told<Result<Granted, Refusal>>, Thrown> {
        Ok(Told::sure(match self {
            Self::Segment => acquire_in_segment(key, limit),
            Self::Object(cells) => cells.acquire(key.hash, limit).ok_or(Refusal::TooMany),
            Self::Server(server) => return server_permits::acquire(server, key, limit, lease),
        }))
    }

    /// Takes a permit if one is marked as free, without a search for permits of dead processes.
    /// Takes none on a server, because [`Self::acquire`] is the quickest way there.
    pub fn try_words(&self, key: Key<'_>, limit: u16) -> Option<Granted> {
        match self {
            Self::Segment => {
                let acquired = attached::host()?.permits().try_words(key, limit);
                granted(acquired.ok()??).ok()
            }
            Self::Object(cells) => cells.acquire(key.hash, limit),
            Self::Server(_) => None,
        }
    }

    /// Returns the number of held permits, of those that are numbered below `limit` in memory, or
    /// of all on a server. At most `limit`.
    ///
    /// # Errors
    /// Throws the exception of a server that failed, or of PHP's warning handler.
    pub fn held(&self, key: Key<'_>, limit: u16) -> Result<usize, Thrown> {
        Ok(match self {
            Self::Segment => attached::host().map_or(0, |host| host.permits().held(key, limit)),
            Self::Object(cells) => cells.held(key.hash, limit),
            Self::Server(server) => server_permits::held(server, key, limit)?.into(),
        })
    }

    /// Counts a call that took no permit.
    pub fn count(&self, refusal: Refusal) {
        let event = match refusal {
            Refusal::TooMany | Refusal::Interrupted => Event::PermitDenied,
            Refusal::Contended => Event::Contended,
            Refusal::TableFull => Event::Refused,
            Refusal::Unavailable => return,
        };
        if let (Self::Segment | Self::Server(_), Some(store)) = (self, attached::store()) {
            store.count(event);
        }
    }
}

fn granted(acquired: Acquired) -> Result<Granted, Refusal> {
    match acquired {
        Acquired::Granted { permit, free } => Ok(Granted {
            permit: Permit::Segment(permit),
            free,
        }),
        Acquired::Denied => Err(Refusal::TooMany),
        Acquired::Contended => Err(Refusal::Contended),
        Acquired::TableFull => Err(Refusal::TableFull),
    }
}

impl Permit {
    /// Gives the permit back, unless another process or no process holds it. Returns a permit on a
    /// server instead of giving it back, because that may fail.
    #[must_use]
    pub fn release(self) -> Option<Box<ServerPermit>> {
        match self {
            Self::Segment(permit) => {
                if let Some(host) = attached::host() {
                    host.permits().release(permit);
                }
            }
            Self::Object(cells, hash, cell) => cells.release(hash, cell),
            Self::Server(permit) => return Some(permit),
        }
        None
    }

    /// Makes sure that this process holds the permit, and returns false if it does not. On a
    /// server, the lease begins again.
    ///
    /// # Errors
    /// Returns the failure of a server whose failure policy throws.
    pub fn renew(&mut self) -> Result<Told<bool>, Failure> {
        Ok(Told::sure(match self {
            Self::Segment(permit) => {
                attached::host().is_some_and(|host| host.permits().renew(permit))
            }
            Self::Object(..) => true,
            Self::Server(permit) => return permit.renew(),
        }))
    }
}

/// The held cells of each key in an object. As in the segment, a key with the limit n has the cells
/// 0 to n - 1.
#[derive(Debug, Default)]
pub struct Cells(RefCell<HashMap<u128, BTreeSet<u16>>>);

impl Cells {
    fn acquire(self: &Rc<Self>, hash: u128, limit: u16) -> Option<Granted> {
        let mut keys = self.0.borrow_mut();
        let held = keys.entry(hash).or_default();
        let mut free = (0..limit).filter(|cell| !held.contains(cell));
        let cell = free.next()?;
        let free = free.fold(0, |count, _| count + 1);
        held.insert(cell);
        Some(Granted {
            permit: Permit::Object(Rc::clone(self), hash, cell),
            free,
        })
    }

    fn held(&self, hash: u128, limit: u16) -> usize {
        let keys = self.0.borrow();
        keys.get(&hash)
            .map_or(0, |held| held.range(..limit).count())
    }

    fn release(&self, hash: u128, cell: u16) {
        let mut keys = self.0.borrow_mut();
        if let Some(held) = keys.get_mut(&hash) {
            held.remove(&cell);
            if held.is_empty() {
                keys.remove(&hash);
            }
        }
    }
}

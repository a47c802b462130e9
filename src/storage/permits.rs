//! The permits of concurrency limits that a storage keeps.

use crate::{attached, exceptions};
use gcra::{Key, Ticks};
use segment::{Acquired, Event, Permit, Refusal};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use stores::remote::permits::ServerPermit;
use stores::remote::{Answer, Answered, Cause, Redis, Remote};
use zend::Thrown;

/// The place in which a storage keeps permits.
#[derive(Debug)]
pub enum PermitPlace {
    /// The segment. All processes that share it share the permits.
    Segment,
    /// The storage object, for its own process only.
    Object(Rc<ObjectPermits>),
    /// A Redis server. All hosts share the permits.
    Server(Rc<Remote<'static, Redis>>),
}

/// A permit that this thread holds. Those that are large are in boxes.
#[derive(Debug)]
pub enum HeldPermit {
    Host(Permit),
    Object(Box<InObject>),
    Server(Box<OnServer>),
    /// Permits of this host that end together.
    Several(Box<[HeldPermit]>),
}

/// The cell of a key in an object.
#[derive(Debug)]
pub struct InObject {
    cells: Rc<ObjectPermits>,
    hash: u128,
    cell: u16,
}

/// A permit that a server keeps, or that the failure policy has granted.
#[derive(Debug)]
pub struct OnServer {
    server: Rc<Remote<'static, Redis>>,
    permit: ServerPermit,
}

/// Takes a permit of `key` out of `limit` in the segment.
#[inline]
pub fn acquire_in_segment(key: Key<'_>, limit: u16) -> Result<Acquired<HeldPermit>, Refusal> {
    let host = attached::host().ok_or(Refusal::Unavailable)?;
    let acquired = host.permits().acquire(key, limit)?;
    Ok(acquired.map(HeldPermit::Host))
}

/// Takes one of the `most` places of callers that wait for a permit of `key` in the segment.
pub fn place_in_segment(key: Key<'_>, most: u16) -> Result<HeldPermit, Refusal> {
    let host = attached::host().ok_or(Refusal::Unavailable)?;
    let acquired = host.permits().acquire_place(key, most)?;
    Ok(HeldPermit::Host(acquired.permit))
}

impl PermitPlace {
    /// Takes a permit of `key` out of `limit`, or returns the reason why it takes none. The permit
    /// of a server ends after `lease` if it is not renewed.
    pub fn acquire(
        &self,
        key: Key<'_>,
        limit: u16,
        lease: Ticks,
    ) -> Answered<Result<Acquired<HeldPermit>, Refusal>> {
        Ok(match self {
            Self::Segment => Answer::sure(acquire_in_segment(key, limit)),
            Self::Object(cells) => {
                Answer::sure(cells.acquire(key.hash, limit).ok_or(Refusal::TooMany))
            }
            Self::Server(server) => {
                let held = |permit| {
                    let server = Rc::clone(server);
                    HeldPermit::Server(Box::new(OnServer { server, permit }))
                };
                let answer = server.acquire(key, limit, lease)?;
                answer.map(|acquired| acquired.map(|acquired| acquired.map(held)))
            }
        })
    }

    /// Takes a permit if one is marked as free, without a search for permits of dead processes.
    /// Takes none on a server, because [`Self::acquire`] is the quickest way there.
    pub fn try_words(&self, key: Key<'_>, limit: u16) -> Option<Acquired<HeldPermit>> {
        match self {
            Self::Segment => {
                let acquired = attached::host()?.permits().try_words(key, limit)?;
                Some(acquired.map(HeldPermit::Host))
            }
            Self::Object(cells) => cells.acquire(key.hash, limit),
            Self::Server(_) => None,
        }
    }

    /// Returns the number of held permits, of those that are numbered below `limit` in memory, or
    /// of all on a server. At most `limit`.
    pub fn held(&self, key: Key<'_>, limit: u16) -> Answered<usize> {
        Ok(Answer::sure(match self {
            Self::Segment => attached::host().map_or(0, |host| host.permits().held(key, limit)),
            Self::Object(cells) => cells.held(key.hash, limit),
            Self::Server(server) => return Ok(server.held(key, limit)?.map(usize::from)),
        }))
    }

    /// Counts a call that took no permit.
    pub fn count(&self, refusal: Refusal) {
        let event = match refusal {
            Refusal::TooMany
            | Refusal::BelowFloor
            | Refusal::TooManyWaiting
            | Refusal::Interrupted => Event::PermitDenied,
            Refusal::Contended => Event::Contended,
            Refusal::TableFull => Event::Refused,
            Refusal::Unavailable => return,
        };
        if let (Self::Segment | Self::Server(_), Some(store)) = (self, attached::store()) {
            store.count(event);
        }
    }
}

impl HeldPermit {
    /// Gives the permit back, unless another process or no process holds it. Returns a permit on a
    /// server instead of giving it back, because that may fail.
    pub fn release(self) -> Option<Box<OnServer>> {
        match self {
            Self::Host(permit) => {
                if let Some(host) = attached::host() {
                    host.permits().release(permit);
                }
            }
            Self::Object(it) => it.cells.release(it.hash, it.cell),
            Self::Server(permit) => return Some(permit),
            Self::Several(permits) => {
                // Each of them returns nothing, because none is on a server.
                permits
                    .into_iter()
                    .for_each(|permit| drop(permit.release()));
            }
        }
        None
    }

    /// Makes sure that this process holds the permit, and returns false if it does not. On a
    /// server, the lease begins again.
    pub fn renew(&mut self) -> Answered<bool> {
        Ok(Answer::sure(match self {
            Self::Host(permit) => attached::host().is_some_and(|host| host.permits().renew(permit)),
            Self::Object(..) => true,
            Self::Server(it) => return it.server.renew(&mut it.permit),
            Self::Several(permits) => {
                for permit in permits {
                    let renewed = permit.renew()?;
                    if !renewed.value {
                        return Ok(renewed);
                    }
                }
                true
            }
        }))
    }
}

impl OnServer {
    /// Gives the permit back.
    pub fn release(self) -> Result<(), Thrown> {
        let answer = self.server.release(self.permit);
        exceptions::throw_or_report(answer).map(drop)
    }

    /// Gives the permit back where PHP code cannot run. Writes failures to PHP's log.
    pub fn release_quietly(self) {
        let failure = match self.server.release(self.permit) {
            Ok(answer) => answer.warning,
            // Failures because of an open breaker are not logged, because there may be many of
            // them. The breaker limits the number of all others.
            Err(failure) => {
                let is_logged = !matches!(failure.cause, Cause::Waiting);
                is_logged.then(|| Box::new(failure))
            }
        };
        if let Some(failure) = failure {
            let message = format!("{failure}; a permit may be held until its lease ends");
            exceptions::report_in_log(&message);
        }
    }
}

/// The held cells of each key in an object. As in the segment, a key with the limit n has the cells
/// 0 to n - 1.
#[derive(Debug, Default)]
pub struct ObjectPermits(RefCell<HashMap<u128, BTreeSet<u16>>>);

impl ObjectPermits {
    fn acquire(self: &Rc<Self>, hash: u128, limit: u16) -> Option<Acquired<HeldPermit>> {
        let mut keys = self.0.borrow_mut();
        let held = keys.entry(hash).or_default();
        let mut free = (0..limit).filter(|cell| !held.contains(cell));
        let cell = free.next()?;
        let free = free.fold(0, |count, _| count + 1);
        held.insert(cell);
        Some(Acquired {
            permit: HeldPermit::Object(Box::new(InObject {
                cells: Rc::clone(self),
                hash,
                cell,
            })),
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

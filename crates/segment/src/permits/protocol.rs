//! The protocol that takes and gives back permits. It runs on any memory that implements [`Cells`].
//!
//! The permits of a key K with the limit n are the cells (K, 0) to (K, n - 1). Four consecutive
//! cells are a group, and share the few slots in which each of them may be. A cell that is in no
//! slot is free. Each slot is one word: it is EMPTY, has a cell that is FREE or HELD, or is CLAIMED
//! for a cell.
//!
//! ```text
//! from                to              by                                              where
//! FREE(c)             HELD(c)         a caller that acquires                          `try_words`
//! HELD(c), dead       HELD(c)         the same                                        `take_over`
//! HELD(c), dead       FREE(c)         the same, if it holds another cell now          `take_over`
//! EMPTY               CLAIMED(c)      the same, if c is in no slot                    `claim`
//! FREE(d)             CLAIMED(c)      the same                                        `claim`
//! HELD(d), dead       CLAIMED(c)      the same, if no slot is free                    `claim`
//! CLAIMED(d), dead    CLAIMED(c)      the same                                        `claim`
//! CLAIMED(c)          EMPTY           any caller that must give way                   `validate`
//! CLAIMED(c)          HELD(c)         any caller that acquires                        `claim`
//! HELD(c), own        FREE(c)         the holder                                      `release`
//! HELD(c), own        HELD(c), own    the holder, with another ticket                 `renew`
//! ```
//!
//! "Dead" means that the kernel reports no lock of the owner. An owner locks its number before its
//! first swap and never gives the lock back. So a dead owner stays dead. No clock decides.
//!
//! Invariant: a cell is FREE or HELD in at most one slot. The argument is that of
//! [`crate::slots::protocol`]: a claim is visible before its claimant reads the other slots. So
//! holders never exceed the greatest limit in use.
//!
//! Invariant: a denial is true. The first read found all cells held, and the second read found the
//! same words. The tickets make sure that these are the same holds. In between, the kernel was
//! asked about each owner, and all of them were alive. So all permits were held by live owners at
//! the instant of the first question.
//!
//! A process that is killed at any point leaves each word as before its change or as after it. Its
//! holds and claims then belong to a dead owner. A live process leaves no claim behind.

use super::cells::{Owners, Try, load, swap};
use super::claim::claim;
use super::sight::{Sight, glance, look, read, replace};
use super::word::{self, Tag};
use crate::slots::counters::Event;
use crate::slots::protocol::AtomicWord;
use crate::slots::word::Word;

pub use super::cells::{Cells, GROUP, Group, Permit};
pub use super::points::{PermitPoint, PermitVariant};

/// A permit that a call has acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired<P = Permit> {
    pub permit: P,
    /// An estimate of the permits that are left: the number of other free cells that one pass saw.
    pub free: u16,
}

impl<P> Acquired<P> {
    /// Replaces the permit by what `convert` makes of it.
    pub fn map<Q>(self, convert: impl FnOnce(P) -> Q) -> Acquired<Q> {
        Acquired {
            permit: convert(self.permit),
            free: self.free,
        }
    }
}

/// The reason why no permit was acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All permits were held by live owners at one instant of the call.
    TooMany,
    /// A permit may have been free, but not so many others as the call leaves.
    BelowFloor,
    /// All places of callers that wait for a permit were held by live owners at one instant.
    TooManyWaiting,
    /// Other processes changed the cells in every round.
    Contended,
    /// A cell was free, but live owners of other keys hold all of its slots.
    TableFull,
    /// This process cannot hold permits; see [`super::Permits::check`]. Or the failure policy of a
    /// server denies.
    Unavailable,
    /// A signal or the time limit ended the wait.
    Interrupted,
}

/// Takes one of `limit` permits. `limit` must be at least 1. Takes cells of dead processes if
/// necessary.
#[inline]
pub fn acquire<C: Cells>(cells: &C, limit: u16) -> Result<Acquired, Refusal> {
    // Nearly every call that finds a free cell succeeds at the first try.
    try_words(cells, limit).map_or_else(|| acquire_again(cells, limit), Ok)
}

/// Takes one of `limit` permits if one pass sees that `leave` others stay free. `leave` must be
/// less than `limit`.
///
/// Such a call takes only one of the first `limit - leave` cells. So the permits of calls that
/// leave as many never exceed that number, whatever others do between the pass and the take.
pub fn acquire_leaving<C: Cells>(cells: &C, limit: u16, leave: u16) -> Result<Acquired, Refusal> {
    let most = limit - leave;
    for tries in 0..C::Variant::PATIENCE {
        let seen = read(cells, limit);
        let held = alive(cells, &seen);
        if held < usize::from(most) {
            let limit = if C::Variant::LOWEST_CELLS {
                most
            } else {
                limit
            };
            return acquire(cells, limit).map_err(|refusal| match refusal {
                Refusal::TooMany => Refusal::BelowFloor,
                other => other,
            });
        }
        // Equal reads mean that all of these were held at the instant of the first question.
        if read(cells, limit) == seen {
            let is_full = held == usize::from(limit);
            return Err(if is_full {
                Refusal::TooMany
            } else {
                Refusal::BelowFloor
            });
        }
        cells.pause(tries);
    }
    Err(Refusal::Contended)
}

/// Takes a permit if one pass sees a free cell. Looks only at words, and does not ask the kernel.
/// Returns `None` if it takes no permit.
#[inline]
pub fn try_words<C: Cells>(cells: &C, limit: u16) -> Option<Acquired> {
    let seen = glance(cells, limit);
    let taken = match seen.free {
        Some(sight) => take(cells, sight),
        None if seen.held < limit => claim_unborn(cells, limit)?,
        None => return None,
    };
    match taken {
        Try::Taken(permit) => Some(Acquired {
            permit,
            free: (limit - 1).saturating_sub(seen.held),
        }),
        _ => None,
    }
}

/// Claims a slot for a cell that is in no slot. Returns `None` if there is no such cell.
#[cold]
#[inline(never)]
fn claim_unborn<C: Cells>(cells: &C, limit: u16) -> Option<Try> {
    let mut unborn = None;
    look(cells, limit, |sight| {
        if sight.is_unborn() {
            unborn = unborn.or(Some(sight.cell));
        }
    });
    Some(claim(cells, unborn?, None))
}

#[cold]
#[inline(never)]
fn acquire_again<C: Cells>(cells: &C, limit: u16) -> Result<Acquired, Refusal> {
    let mut seen = read(cells, limit);
    for tries in 0..C::Variant::PATIENCE {
        match attempt(cells, &seen) {
            Try::Taken(permit) => {
                let free = seen.iter().filter(|sight| sight.is_free()).count();
                // There are at most `limit` cells.
                let free = u16::try_from(free).unwrap_or(limit).saturating_sub(1);
                return Ok(Acquired { permit, free });
            }
            Try::NoSlot => return Err(Refusal::TableFull),
            Try::Lost => {
                cells.pause(tries);
                seen = read(cells, limit);
            }
            Try::AllHeld => {
                C::Variant::reached(PermitPoint::AllAsked);
                if !C::Variant::READ_TWICE {
                    return Err(Refusal::TooMany);
                }
                let again = read(cells, limit);
                if again == seen {
                    return Err(Refusal::TooMany);
                }
                seen = again;
            }
        }
    }
    Err(Refusal::Contended)
}

/// Tries all cells that were seen: first the free ones, then those of dead owners.
fn attempt<C: Cells>(cells: &C, seen: &[Sight]) -> Try {
    let mut owners = Owners::new(cells);
    let mut result = Try::AllHeld;
    let free = seen.iter().filter(|sight| sight.is_free());
    let (unborn, free): (Vec<&Sight>, Vec<_>) = free.partition(|sight| sight.is_unborn());
    for sight in free.into_iter().chain(unborn) {
        let tried = if sight.is_unborn() {
            claim(cells, sight.cell, Some(&mut owners))
        } else {
            take(cells, *sight)
        };
        match tried {
            Try::Taken(_) => return tried,
            Try::NoSlot if matches!(result, Try::Lost) => {}
            _ => result = tried,
        }
    }
    take_over(cells, seen, &mut owners, result)
}

/// Takes a cell that is free in its slot.
#[inline]
fn take<C: Cells>(cells: &C, sight: Sight) -> Try {
    C::Variant::reached(PermitPoint::FreeSeen);
    let tag = Tag::new(cells.fingerprint(), sight.cell);
    replace(cells, &sight, tag.held(cells.owner(), cells.ticket()))
}

/// Takes the first cell that a dead process holds, and frees all other such cells. Returns
/// `otherwise` if it finds no such cell.
fn take_over<C: Cells>(
    cells: &C,
    seen: &[Sight],
    owners: &mut Owners<'_, C>,
    otherwise: Try,
) -> Try {
    let mut result = otherwise;
    for sight in seen.iter().filter(|sight| !sight.is_free()) {
        if !owners.is_dead(word::owner(sight.word)) {
            continue;
        }
        C::Variant::reached(PermitPoint::DeadFound);
        if matches!(result, Try::Taken(_)) {
            let group = cells.group(sight.group());
            if swap(group.slot(sight.index), sight.word, word::freed(sight.word)) {
                cells.count(Event::PermitTakenBack);
            }
            continue;
        }
        let tag = Tag::new(cells.fingerprint(), sight.cell);
        result = replace(cells, sight, tag.held(cells.owner(), cells.ticket()));
        if matches!(result, Try::Taken(_)) {
            cells.count(Event::PermitTakenBack);
        }
    }
    result
}

/// Frees the cell of a permit. Returns `false` if the slot does not hold this permit.
pub fn release<V: PermitVariant>(slot: impl AtomicWord + Copy, permit: Word) -> bool {
    V::reached(PermitPoint::Releasing);
    let found = if V::CHECK_OWNER { permit } else { load(slot) };
    let is_mine = swap(slot, found, word::freed(found));
    V::reached(PermitPoint::Released);
    is_mine
}

pub fn holds(slot: impl AtomicWord, permit: Word) -> bool {
    load(slot) == permit
}

/// Writes another ticket into the word of a permit, and returns the new word. Returns `None` if the
/// slot does not hold this permit.
///
/// The caller has just made sure of its lock. If the lock was lost for a while, another process may
/// have found the owner dead, and be about to take over the cell. Its swap then fails, because the
/// word has changed.
pub fn renew(slot: impl AtomicWord, permit: Word, ticket: u64) -> Option<Word> {
    let renewed = word::renewed(permit, ticket);
    swap(slot, permit, renewed).then_some(renewed)
}

/// Returns the number of cells below `limit` that live owners hold.
pub fn held<C: Cells>(cells: &C, limit: u16) -> usize {
    alive(cells, &read(cells, limit))
}

/// Returns the number of these cells that live owners hold.
fn alive<C: Cells>(cells: &C, seen: &[Sight]) -> usize {
    let mut owners = Owners::new(cells);
    let held = seen.iter().filter(|sight| !sight.is_free());
    held.filter(|sight| !owners.is_dead(word::owner(sight.word)))
        .count()
}

//! The protocol that takes and gives back permits. It runs on any memory that implements [`Cells`].
//!
//! The permits of a key K with the limit n are the cells (K, 0) to (K, n - 1). Four consecutive
//! cells are a group, and share the few slots in which each of them may be. A cell that is in no
//! slot is free. Each slot is one word:
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
//! Invariant: a denial is true. All cells were held when they were read first, and hold the same
//! words when they are read again. The tickets make sure that these are the same holds. Each owner
//! was asked for in between and was alive. So all permits were held by live owners at the instant
//! at which the first owner was asked for.
//!
//! A process that is killed at any point leaves each word as before its change or as after it. What
//! it has held or claimed belongs to a dead owner. A live process leaves no claim behind.

use super::survey::{Survey, survey};
use super::word::{self, Owner, Tag};
use crate::slots::counters::Event;
use crate::slots::protocol::AtomicWord;
use crate::slots::word::{Fingerprint, Word};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, SeqCst};

/// The number of cells of a group.
pub const GROUP: u16 = 4;

/// The cells of one key, and the process that calls.
pub trait Cells {
    /// The variant of the protocol that runs on these cells.
    type Variant: Variant;

    /// Returns the fingerprint of the key.
    fn fingerprint(&self) -> Fingerprint;
    /// Returns the slots in which the cells of this group may be.
    fn group(&self, number: u16) -> impl Group;
    /// Returns the number of the process that calls.
    fn owner(&self) -> Owner;
    /// Returns a number that the process has not used for a word of late.
    fn ticket(&self) -> u64;
    /// Asks the kernel whether another process is alive.
    fn is_alive(&self, owner: Owner) -> bool;
    /// Counts an event.
    fn count(&self, event: Event);
    /// Executes a memory fence.
    fn fence(&self, order: Ordering);
    /// Waits between two tries. `tries` is the number of earlier tries of this call.
    fn pause(&self, tries: u32);
}

/// The slots in which the cells of one group may be: two lines.
#[allow(clippy::len_without_is_empty)]
pub trait Group {
    /// Returns the number of slots. The lower half is one line, and the upper half is another.
    fn len(&self) -> usize;
    /// Returns the slot with this index.
    fn slot(&self, index: usize) -> impl AtomicWord;
    /// Returns the number of this slot among all slots.
    fn place(&self, index: usize) -> usize;
}

/// A variant of the protocol: [`Production`], or one for tests that breaks a rule on purpose or
/// kills the process at a marked point.
pub trait Variant {
    /// `false` breaks the protocol on purpose: a claim becomes HELD without a check of the other
    /// slots.
    const VALIDATE: bool = true;
    /// `false` breaks the protocol on purpose: a denial reads the cells only once.
    const READ_TWICE: bool = true;
    /// `false` breaks the protocol on purpose: a release frees the cell, whoever holds it.
    const CHECK_OWNER: bool = true;
    /// The number of rounds after which a call is denied as contended.
    const PATIENCE: u32 = 200;

    /// Runs at each marked point. Does nothing, except in tests that kill the process there.
    #[inline]
    fn reached(_: Point) {}
}

/// The protocol with all its rules.
#[derive(Clone, Copy, Debug)]
pub struct Production;

impl Variant for Production {
    #[cfg(feature = "deaths")]
    fn reached(point: Point) {
        crate::slots::deaths::reached_in_permits(point);
    }
}

/// The marked points of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The process has drawn its number, but not locked it.
    Drawn,
    /// The process has locked its number, and has written no cell.
    Locked,
    /// The cells of one group were read, and others of the key were not.
    GroupRead,
    /// A free cell was seen, but not taken.
    FreeSeen,
    /// A slot for a cell is chosen, but not claimed.
    SlotChosen,
    /// A slot is claimed, but not validated.
    SlotClaimed,
    /// The claim is the only one of its cell, but does not hold it.
    SlotValidated,
    /// A cell of a dead process was found, but not taken over.
    DeadFound,
    /// A permit is taken, but not returned.
    Taken,
    /// All cells were held by live owners, and were not read again yet.
    AllAsked,
    /// A release was called, but nothing is written.
    Releasing,
    /// A permit is given back.
    Released,
}

impl Point {
    /// Every marked point.
    pub const ALL: [Self; 12] = [
        Self::Drawn,
        Self::Locked,
        Self::GroupRead,
        Self::FreeSeen,
        Self::SlotChosen,
        Self::SlotClaimed,
        Self::SlotValidated,
        Self::DeadFound,
        Self::Taken,
        Self::AllAsked,
        Self::Releasing,
        Self::Released,
    ];
}

/// A permit that a process holds. A copy in a forked child is inert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// The number of its slot among all slots.
    pub place: usize,
    /// The word that the process has written there.
    pub word: Word,
}

/// The result of a call that acquires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The permit was granted. `free` is the number of other free cells that one pass saw.
    Granted {
        /// The permit.
        permit: Permit,
        /// An estimate of the free permits.
        free: u16,
    },
    /// All permits were held by live owners at one instant of the call.
    Denied,
    /// Other processes changed the cells in every round.
    Contended,
    /// A cell was free, but live owners of other keys hold all of its slots.
    TableFull,
}

/// What a read has seen of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    cell: u16,
    /// The slot of the group in which the word was.
    index: usize,
    /// [`Word::EMPTY`] if no slot holds the cell or is claimed for it.
    word: Word,
}

impl Sight {
    /// Reports whether the cell is in no slot, or only claimed.
    fn is_unborn(&self) -> bool {
        self.word == Word::EMPTY || word::is_claimed(self.word)
    }

    fn is_free(&self) -> bool {
        self.is_unborn() || word::is_free(self.word)
    }

    const fn group(&self) -> u16 {
        self.cell / GROUP
    }
}

/// The result of one try.
enum Try {
    Taken(Permit),
    /// Another process won a race.
    Lost,
    /// A cell is free, but no slot for it.
    NoSlot,
    /// Live owners hold all cells.
    AllHeld,
}

pub(super) fn load(slot: impl AtomicWord) -> Word {
    // Acquire: orders this read before all later reads and before the questions to the kernel.
    slot.load(Acquire)
}

fn swap(slot: impl AtomicWord, old: Word, new: Word) -> bool {
    // AcqRel: a hold is visible after all that the process did before, above all its lock. What it
    // does with the permit comes after the swap, and before the swap that releases it.
    slot.swap(old, new, AcqRel, Acquire)
}

/// Takes a permit out of `limit`, which is at least 1. Takes cells of dead processes if necessary.
#[inline]
pub fn acquire<C: Cells>(cells: &C, limit: u16) -> Acquired {
    // Nearly every call that finds a free cell succeeds at the first try.
    try_words(cells, limit).unwrap_or_else(|| acquire_again(cells, limit))
}

/// Takes a permit if one pass sees a free cell. Only reads words, and asks for no owners. Returns
/// `None` if it takes no permit.
#[inline]
pub fn try_words<C: Cells>(cells: &C, limit: u16) -> Option<Acquired> {
    let (mut free, mut best) = (0, None::<Sight>);
    look(cells, limit, |sight| {
        if sight.is_free() {
            free += 1;
            // A free cell that is in a slot takes only one swap.
            if best.is_none_or(|best| best.is_unborn() && !sight.is_unborn()) {
                best = Some(sight);
            }
        }
    });
    let taken = match best? {
        sight if sight.is_unborn() => claim(cells, sight.cell, None),
        sight => take(cells, sight),
    };
    match taken {
        Try::Taken(permit) => Some(Acquired::Granted {
            permit,
            free: free - 1,
        }),
        _ => None,
    }
}

#[cold]
#[inline(never)]
fn acquire_again<C: Cells>(cells: &C, limit: u16) -> Acquired {
    let mut seen = read(cells, limit);
    for tries in 0..C::Variant::PATIENCE {
        match attempt(cells, &seen) {
            Try::Taken(permit) => {
                let free = seen.iter().filter(|sight| sight.is_free()).count();
                // There are at most `limit` cells.
                let free = u16::try_from(free).unwrap_or(limit).saturating_sub(1);
                return Acquired::Granted { permit, free };
            }
            Try::NoSlot => return Acquired::TableFull,
            Try::Lost => {
                cells.pause(tries);
                seen = read(cells, limit);
            }
            Try::AllHeld => {
                C::Variant::reached(Point::AllAsked);
                if !C::Variant::READ_TWICE {
                    return Acquired::Denied;
                }
                let again = read(cells, limit);
                if again == seen {
                    return Acquired::Denied;
                }
                seen = again;
            }
        }
    }
    Acquired::Contended
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
    C::Variant::reached(Point::FreeSeen);
    let tag = Tag::new(cells.fingerprint(), sight.cell);
    replace(cells, &sight, tag.held(cells.owner(), cells.ticket()))
}

/// Replaces the word that was seen by a hold of this process.
#[inline]
fn replace<C: Cells>(cells: &C, sight: &Sight, held: Word) -> Try {
    let group = cells.group(sight.group());
    if !swap(group.slot(sight.index), sight.word, held) {
        return Try::Lost;
    }
    C::Variant::reached(Point::Taken);
    Try::Taken(Permit {
        place: group.place(sight.index),
        word: held,
    })
}

/// Takes the first cell that a dead process holds, and frees all other such cells. Returns
/// `otherwise` if there is none.
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
        C::Variant::reached(Point::DeadFound);
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

/// Claims a slot for a cell that is in no slot, and then holds the cell. Asks for owners only if
/// `owners` is given and no slot is free.
#[cold]
#[inline(never)]
fn claim<C: Cells>(cells: &C, cell: u16, owners: Option<&mut Owners<'_, C>>) -> Try {
    let tag = Tag::new(cells.fingerprint(), cell);
    let group = cells.group(cell / GROUP);
    let Some(Survey { found, best }) = survey(&group, tag) else {
        return Try::Lost;
    };
    let dead = || {
        let owners = owners?;
        let mut found = found.iter();
        found.find_map(|&slot| owners.is_dead(word::owner(slot.1)).then_some(slot))
    };
    let Some((index, old)) = best.or_else(dead) else {
        return Try::NoSlot;
    };
    let claim = if tag.names(old) {
        old
    } else {
        let claim = tag.claimed(cells.owner(), cells.ticket());
        C::Variant::reached(Point::SlotChosen);
        if !swap(group.slot(index), old, claim) {
            return Try::Lost;
        }
        if old != Word::EMPTY && !word::is_claimed(old) && !word::is_free(old) {
            cells.count(Event::PermitTakenBack);
        }
        C::Variant::reached(Point::SlotClaimed);
        claim
    };
    // Orders the claim before the reads of the other slots. On x86-64 the swap already does that.
    cells.fence(SeqCst);
    if C::Variant::VALIDATE && !validate(&group, tag, (index, claim)) {
        return Try::Lost;
    }
    C::Variant::reached(Point::SlotValidated);
    let sight = Sight {
        cell,
        index,
        word: claim,
    };
    replace(cells, &sight, tag.held(cells.owner(), cells.ticket()))
}

/// Makes sure that the cell is in no other slot. If another slot holds the cell, or a lower slot is
/// claimed for it, empties the claim and returns `false`. Empties a claim in a higher slot.
fn validate(group: &impl Group, tag: Tag, (mine, claim): (usize, Word)) -> bool {
    for index in (0..group.len()).filter(|&index| index != mine) {
        let word = load(group.slot(index));
        if !tag.names(word) {
            continue;
        }
        let is_above = word::is_claimed(word) && index > mine;
        // If another process has changed the slot meanwhile, reads it again.
        let is_gone =
            || swap(group.slot(index), word, Word::EMPTY) || !tag.names(load(group.slot(index)));
        if !is_above || !is_gone() {
            swap(group.slot(mine), claim, Word::EMPTY);
            return false;
        }
    }
    true
}

/// Frees the cell of a permit. Returns `false` if the slot does not hold this permit.
pub fn release<V: Variant>(slot: impl AtomicWord + Copy, permit: Word) -> bool {
    V::reached(Point::Releasing);
    let found = if V::CHECK_OWNER { permit } else { load(slot) };
    let is_mine = swap(slot, found, word::freed(found));
    V::reached(Point::Released);
    is_mine
}

/// Reports whether the slot holds this permit.
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
    let seen = read(cells, limit);
    let mut owners = Owners::new(cells);
    let held = seen.iter().filter(|sight| !sight.is_free());
    held.filter(|sight| !owners.is_dead(word::owner(sight.word)))
        .count()
}

/// The owners that were asked for in one round.
struct Owners<'c, C> {
    cells: &'c C,
    dead: BTreeMap<Owner, bool>,
}

impl<'c, C: Cells> Owners<'c, C> {
    const fn new(cells: &'c C) -> Self {
        Self {
            cells,
            dead: BTreeMap::new(),
        }
    }

    /// Reports whether a process is dead. Asks the kernel once for each process.
    fn is_dead(&mut self, owner: Owner) -> bool {
        // The kernel does not report the locks of the process that asks.
        owner != self.cells.owner()
            && *self
                .dead
                .entry(owner)
                .or_insert_with(|| !self.cells.is_alive(owner))
    }
}

/// Reads all cells.
fn read<C: Cells>(cells: &C, limit: u16) -> Vec<Sight> {
    let mut seen = Vec::with_capacity(usize::from(limit));
    look(cells, limit, |sight| seen.push(sight));
    seen
}

/// Calls `visit` with each cell below `limit`. The first cell depends on the process, so that
/// processes do not compete for one cell.
#[inline]
// The remainder is below `limit`.
#[allow(clippy::cast_possible_truncation)]
fn look<C: Cells>(cells: &C, limit: u16, mut visit: impl FnMut(Sight)) {
    let start = (cells.owner().number() % u64::from(limit)) as u16;
    let groups = limit.div_ceil(GROUP);
    for number in (start / GROUP..groups).chain(0..start / GROUP) {
        let sights = sights(cells, number);
        C::Variant::reached(Point::GroupRead);
        for turn in start..start + GROUP {
            let sight = sights[usize::from(turn % GROUP)];
            if sight.cell < limit {
                visit(sight);
            }
        }
    }
}

/// Reads the cells of one group.
#[inline]
fn sights<C: Cells>(cells: &C, number: u16) -> [Sight; GROUP as usize] {
    let mut sights = [0, 1, 2, 3].map(|cell| Sight {
        cell: number * GROUP + cell,
        index: 0,
        word: Word::EMPTY,
    });
    let group = cells.group(number);
    for index in 0..group.len() {
        let word = load(group.slot(index));
        let cell = word::cell(word);
        // Another group of the key may use the same line.
        if !word.is_of(cells.fingerprint()) || cell / GROUP != number {
            continue;
        }
        let sight = &mut sights[usize::from(cell % GROUP)];
        // A cell and a claim for it may be in two slots. Then the claimant will give way.
        if sight.word == Word::EMPTY || (sight.is_unborn() && !word::is_claimed(word)) {
            (sight.index, sight.word) = (index, word);
        }
    }
    sights
}

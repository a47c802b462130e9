//! The cells of permits, the processes that hold them, and a judge, made of loom atomics.
//!
//! Each caller is a process with a number. The kernel's locks are atomics, one for each number.
//! Every access to a lock sees the latest value, because the kernel accesses them under a lock.
//!
//! The judge is no loom atomic. It knows the word of each slot at each instant, because loom
//! switches threads only at accesses to loom atomics. So it also knows whether all permits were
//! held by live processes during a call. A load of weak memory may return an old word, and then no
//! instant explains a denial. So scenarios with denials use [`Reads::Latest`], as on processors
//! whose loads return the latest value. Scenarios of the fence use [`Reads::Weak`].

use crate::gates::{Gated, Threads};
use crate::judge::{DEAD, Judge, K, held, pack, process, unpack};
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use segment::permits::protocol::{
    self, Acquired, Cells, Group, Permit, PermitPoint, PermitVariant, Refusal,
};
use segment::permits::word::{self, Owner};
use segment::slots::counters::{Event, Shard, Totals};
use segment::slots::protocol::AtomicWord;
use segment::slots::word::{Fingerprint, Word};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Arc, Mutex};

/// The values that loads return.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Latest,
    Weak,
}

/// The guards of the protocol. A control test sets one of them to `false`.
pub trait Guards: 'static {
    const VALIDATE: bool = true;
    const READ_TWICE: bool = true;
    const CHECK_OWNER: bool = true;
    const FENCE: bool = true;
    const LOWEST_CELLS: bool = true;
    /// `false`: a renewal keeps the ticket.
    const NEW_TICKET: bool = true;
}

/// The protocol with all guards.
pub struct Meant;
impl Guards for Meant {}

/// The variant of the protocol with the guards of `G`.
pub struct Guarded<G>(PhantomData<G>);
impl<G: Guards> PermitVariant for Guarded<G> {
    const VALIDATE: bool = G::VALIDATE;
    const READ_TWICE: bool = G::READ_TWICE;
    const CHECK_OWNER: bool = G::CHECK_OWNER;
    const LOWEST_CELLS: bool = G::LOWEST_CELLS;
    /// Three threads never need this many rounds. So `Contended` means a livelock.
    const PATIENCE: u32 = 24;
    fn reached(_: PermitPoint) {}
}

/// The memory that the threads share.
pub struct Memory {
    slots: Vec<Gated>,
    /// The lock of each number: 1 while its process is alive.
    locks: Vec<Gated>,
    reads: Reads,
    threads: Threads,
    judge: Mutex<Judge>,
    shard: Shard,
}

impl Memory {
    /// Creates a memory in which process 1 is dead and all others are alive. `limit` is the limit
    /// of [`K`].
    pub fn new(slots: &[Word], limit: u16, reads: Reads) -> Arc<Self> {
        let alive = std::array::from_fn(|number| number as u64 > DEAD);
        let holders = slots.iter().filter(|word| word.is_of(K));
        let holders = holders.map(|word| word::owner(*word).number());
        Arc::new(Self {
            slots: slots.iter().map(|word| Gated::new(pack(*word))).collect(),
            locks: alive.iter().map(|&it| Gated::new(u64::from(it))).collect(),
            reads,
            threads: Threads::default(),
            judge: Mutex::new(Judge {
                words: slots.to_vec(),
                alive,
                holders: holders.filter(|&number| number > DEAD).collect(),
                limit: usize::from(limit),
                now: 1,
                full_until: 0,
            }),
            shard: Shard::default(),
        })
    }

    pub fn caller(self: &Arc<Self>, key: Fingerprint, number: u64) -> Caller<Meant> {
        self.guarded(key, number)
    }

    pub fn guarded<G: Guards>(self: &Arc<Self>, key: Fingerprint, number: u64) -> Caller<G> {
        Caller {
            memory: Arc::clone(self),
            key,
            owner: process(number),
            ticket: Cell::new(1),
            life: Cell::new(u32::MAX),
            guards: PhantomData,
        }
    }

    fn set_lock(&self, owner: Owner, is_locked: bool) {
        let number = usize::try_from(owner.number()).unwrap();
        self.locks[number].write(|lock| lock.swap(u64::from(is_locked), AcqRel));
        let mut judge = self.judge.lock().unwrap();
        judge.change(|judge| judge.alive[number] = is_locked);
    }

    fn is_locked(&self, owner: Owner) -> bool {
        let number = usize::try_from(owner.number()).unwrap();
        self.locks[number].read(self.threads.current(), |lock| lock.fetch_add(0, AcqRel)) != 0
    }

    /// Returns how often `event` was counted.
    pub fn counted(&self, event: Event) -> u64 {
        Totals::of(std::slice::from_ref(&self.shard)).get(event)
    }

    /// Asserts that process 5 can take all free permits of K.
    pub fn assert_usable(self: &Arc<Self>) {
        let caller = self.caller(K, 5);
        let (held, limit) = {
            let judge = self.judge.lock().unwrap();
            (judge.holders.len(), judge.limit)
        };
        for _ in held..limit {
            assert!(caller.acquire().is_some(), "a permit is lost");
        }
        assert_eq!(caller.acquire(), None);
        let limit_of_caller = u16::try_from(limit).unwrap();
        assert_eq!(protocol::held(&caller, limit_of_caller), limit);
    }
}

/// A caller of one key in one process.
pub struct Caller<G: Guards> {
    memory: Arc<Memory>,
    key: Fingerprint,
    owner: Owner,
    ticket: Cell<u64>,
    /// The number of writes before the process is killed.
    life: Cell<u32>,
    guards: PhantomData<G>,
}

/// The panic payload of a process that is killed.
struct Killed;

impl<G: Guards> Caller<G> {
    /// Makes the process die when it tries to write more than `life` times.
    pub fn mortal(self, life: u32) -> Self {
        self.life.set(life);
        self
    }

    /// Makes the process begin with this ticket.
    pub fn first_ticket(self, ticket: u64) -> Self {
        self.ticket.set(ticket);
        self
    }

    /// Makes the process lock its number.
    pub fn start(&self) {
        self.memory.set_lock(self.owner, true);
    }

    /// Takes a permit under the limit of the memory. Returns `None` for a denial, or if the process
    /// is killed. Asserts the bounds.
    pub fn acquire(&self) -> Option<Permit> {
        let acquired = self.acquired(self.limit())?;
        acquired.ok().map(|acquired| acquired.permit)
    }

    /// Does the same as [`Caller::acquire`], and leaves `leave` permits to others.
    pub fn acquire_leaving(&self, leave: u16) -> Option<Permit> {
        let acquire = || protocol::acquire_leaving(self, self.limit(), leave);
        let acquired = self.judged(acquire)?;
        acquired.ok().map(|acquired| acquired.permit)
    }

    fn limit(&self) -> u16 {
        u16::try_from(self.memory.judge.lock().unwrap().limit).unwrap()
    }

    /// Does the same as [`Caller::acquire`], under the limit `limit`.
    pub fn acquired(&self, limit: u16) -> Option<Result<Acquired, Refusal>> {
        self.judged(|| protocol::acquire(self, limit))
    }

    fn judged(
        &self,
        acquire: impl FnOnce() -> Result<Acquired, Refusal>,
    ) -> Option<Result<Acquired, Refusal>> {
        let begin = self.memory.judge.lock().unwrap().now;
        let called = catch_unwind(AssertUnwindSafe(acquire));
        let acquired = match called {
            Ok(acquired) => acquired,
            Err(reason) if reason.is::<Killed>() => {
                self.die();
                return None;
            }
            Err(reason) => resume_unwind(reason),
        };
        let mut judge = self.memory.judge.lock().unwrap();
        match acquired {
            Ok(_) if self.key == K => {
                judge.holders.push(self.owner.number());
                let holders = &judge.holders;
                assert!(holders.len() <= judge.limit, "too many hold: {holders:?}");
            }
            Err(Refusal::TooMany) if self.key == K => {
                let was_full = judge.is_full() || judge.full_until > begin;
                assert!(was_full, "a false denial");
            }
            Err(Refusal::Contended) => panic!("a livelock"),
            _ => {}
        }
        Some(acquired)
    }

    fn no_longer_holds(&self) {
        let mut judge = self.memory.judge.lock().unwrap();
        let number = self.owner.number();
        let held = judge.holders.iter().position(|&holder| holder == number);
        if let Some(held) = held {
            judge.holders.remove(held);
        }
    }

    /// Gives a permit back.
    pub fn release(&self, permit: Permit) -> bool {
        if self.key == K {
            self.no_longer_holds();
        }
        protocol::release::<Guarded<G>>(self.access(permit.place), permit.word)
    }

    /// Gives back the permit that the process holds from the start, in the slot `place`.
    pub fn release_first(&self, place: usize, cell: u16) -> bool {
        let word = held(self.key, cell, self.owner.number());
        self.release(Permit { place, word })
    }

    /// Ends the process.
    pub fn die(&self) {
        self.no_longer_holds();
        self.memory.set_lock(self.owner, false);
    }

    /// Locks the number of the process again, and renews the permit.
    pub fn renew(&self, permit: Permit) -> bool {
        self.memory.set_lock(self.owner, true);
        let slot = self.access(permit.place);
        let is_held = if G::NEW_TICKET {
            protocol::renew(slot, permit.word, self.ticket()).is_some()
        } else {
            protocol::holds(slot, permit.word)
        };
        if is_held {
            let mut judge = self.memory.judge.lock().unwrap();
            judge.holders.push(self.owner.number());
            let holders = &judge.holders;
            assert!(holders.len() <= judge.limit, "too many hold: {holders:?}");
        }
        is_held
    }

    fn access(&self, index: usize) -> Access<'_, G> {
        Access {
            index,
            caller: self,
        }
    }
}

impl<G: Guards> Cells for Caller<G> {
    type Variant = Guarded<G>;

    fn fingerprint(&self) -> Fingerprint {
        self.key
    }

    fn group(&self, number: u16) -> impl Group {
        assert_eq!(number, 0, "the model has one group");
        Slots(self)
    }

    fn owner(&self) -> Owner {
        self.owner
    }

    fn ticket(&self) -> u64 {
        self.ticket.replace(self.ticket.get() + 1)
    }

    fn is_alive(&self, owner: Owner) -> bool {
        self.memory.is_locked(owner)
    }

    fn count(&self, event: Event) {
        self.memory.shard.count(event);
    }

    fn fence(&self, order: Ordering) {
        if G::FENCE {
            fence(order);
        }
    }

    fn pause(&self, _: u32) {
        loom::thread::yield_now();
    }
}

struct Slots<'c, G: Guards>(&'c Caller<G>);

impl<G: Guards> Group for Slots<'_, G> {
    fn len(&self) -> usize {
        self.0.memory.slots.len()
    }

    fn slot(&self, index: usize) -> impl AtomicWord {
        self.0.access(index)
    }

    fn place(&self, index: usize) -> usize {
        index
    }
}

/// A caller's access to a slot.
struct Access<'c, G: Guards> {
    index: usize,
    caller: &'c Caller<G>,
}

impl<G: Guards> Clone for Access<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Guards> Copy for Access<'_, G> {}

impl<G: Guards> AtomicWord for Access<'_, G> {
    fn load(self, order: Ordering) -> Word {
        let memory = &self.caller.memory;
        assert_eq!(order, Acquire);
        let read = |slot: &AtomicU64| match memory.reads {
            Reads::Latest => slot.fetch_add(0, AcqRel),
            Reads::Weak => slot.load(order),
        };
        unpack(memory.slots[self.index].read(memory.threads.current(), read))
    }

    fn swap(self, old: Word, new: Word, done: Ordering, failed: Ordering) -> bool {
        match self.caller.life.get() {
            0 => resume_unwind(Box::new(Killed)),
            u32::MAX => {}
            life => self.caller.life.set(life - 1),
        }
        let memory = &self.caller.memory;
        let (old, new) = (pack(old), pack(new));
        let swap = |slot: &AtomicU64| slot.compare_exchange(old, new, done, failed).is_ok();
        let is_done = memory.slots[self.index].write(swap);
        if is_done {
            let mut judge = memory.judge.lock().unwrap();
            judge.change(|judge| judge.words[self.index] = unpack(new));
        }
        is_done
    }
}

//! `TokenBucketStorageSharedMemory`: buckets that all workers of this host share.

use super::contract::{key_of, take_sum};
use super::proposals::Proposals;
use super::{Clock, Decide, Location, PermitPlace, Reported, Storage, Swap, arguments};
use crate::{attached, classes, ini};
use gcra::{
    Batched, Denial, Grouped, Key, KeyHasher, Outcome, Put, Step, Taken, Ticks, Timestamp,
    boot_clock, empty_at,
};
use std::cell::{OnceCell, RefCell};
use stores::remote::{Answer, TimeLeft};
use zend::{Call, Class, Object, State, Thrown, Zval, value};

/// The state of an object: the hasher of its identifiers. The buckets are in the segment.
#[derive(Debug, Default)]
pub struct SharedMemoryStorage {
    /// Empty until the constructor runs.
    hasher: OnceCell<KeyHasher>,
    proposals: Proposals,
}

impl State for SharedMemoryStorage {
    const SLOTS: usize = 1;
    const CLASS: &'static Class = &classes::TOKEN_BUCKET_STORAGE_SHARED_MEMORY;
}

impl Storage for Object<SharedMemoryStorage> {
    fn hasher(&self) -> KeyHasher {
        self.hasher.get().copied().unwrap_or_else(|| hasher(b""))
    }

    fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    fn location(&self) -> Location {
        Location::Segment
    }

    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Reported<Outcome> {
        let outcome = match attached::store() {
            Some(store) => store.run(key, step, first),
            None => take(key, step, first),
        };
        Ok(Answer::sure(outcome))
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Reported<bool> {
        if let Some(store) = attached::store() {
            store.put(key, put);
        }
        Ok(Answer::sure(true))
    }

    fn swap(&self, swap: &Swap<'_>) -> Reported<Outcome> {
        let key = key_of(self.hasher(), swap.kind, swap.identifier);
        Ok(Answer::sure(swap_here(key, swap.life, swap.decide)))
    }

    fn raise(&self, key: Key<'_>, age: i64, span: Ticks) -> Reported<Outcome> {
        let state = |now| empty_at(now, age);
        let raised = attached::store().map(|store| store.raise(key, span, state));
        Ok(Answer::sure(raised.unwrap_or_else(unattached)))
    }

    fn contains(&self, key: Key<'_>) -> Reported<bool> {
        let store = attached::store();
        Ok(Answer::sure(store.is_some_and(|it| it.contains(key))))
    }

    fn joins(&self, _mine: Key<'_>, other: &dyn Storage, _its: Key<'_>) -> bool {
        other.is_direct()
    }

    fn take_all(
        &self,
        tickets: Grouped<'_, '_>,
        storages: &[&dyn Storage],
        _left: TimeLeft,
    ) -> Reported<Batched> {
        match attached::store() {
            Some(store) => Ok(Answer::sure(store.take_all(tickets))),
            None => take_sum(tickets, storages, TimeLeft::ALL),
        }
    }

    fn refused(
        &self,
        tickets: Grouped<'_, '_>,
        _storages: &[&dyn Storage],
    ) -> Reported<Option<Taken>> {
        let store = attached::store();
        let refused = store.and_then(|store| store.refused(tickets));
        Ok(Answer::sure(refused))
    }

    fn permits(&self) -> Option<PermitPlace> {
        Some(PermitPlace::Segment)
    }

    fn can_be_held(&self) -> bool {
        self.hasher.get().is_some()
    }
}

impl Clock for Object<SharedMemoryStorage> {}

/// The hasher of a namespace.
struct Hashed {
    /// The value of `tokenbucket.namespace`, followed by the argument of the constructor.
    namespace: Vec<u8>,
    /// The length of the setting's value.
    outer: usize,
    /// The hasher of the segment. PHP may start again in this process, with another segment.
    root: KeyHasher,
    hasher: KeyHasher,
}

thread_local! {
    /// The latest namespace, because most requests of a worker use the same one.
    static LATEST: RefCell<Option<Hashed>> = const { RefCell::new(None) };
}

/// Returns the hasher for a namespace of the constructor, inside the namespace of
/// `tokenbucket.namespace`.
fn hasher(inner: &[u8]) -> KeyHasher {
    let Some(store) = attached::store() else {
        return KeyHasher::new([0; 2]);
    };
    ini::namespace(|outer| {
        if outer.is_empty() && inner.is_empty() {
            return store.hasher_of([b"", b""]);
        }
        LATEST.with_borrow_mut(|latest| {
            let root = store.hasher();
            let is_same =
                |it: &&Hashed| it.namespace.split_at(it.outer) == (outer, inner) && it.root == root;
            if let Some(same) = latest.as_ref().filter(is_same) {
                return same.hasher;
            }
            let hasher = store.hasher_of([outer, inner]);
            *latest = Some(Hashed {
                namespace: [outer, inner].concat(),
                outer: outer.len(),
                root,
                hasher,
            });
            hasher
        })
    })
}

/// Runs one step, as [`Storage::take`] does. This is inlined and runs no PHP code.
#[inline(always)]
pub fn take(key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
    match attached::store() {
        Some(store) => store.take(key, step, first),
        None => unattached(),
    }
}

/// Replaces the state of a record in this host's shared memory; see [`Swap`].
pub fn swap_here(key: Key<'_>, life: Ticks, decide: Decide<'_>) -> Outcome {
    let swapped = attached::store().map(|store| store.update(key, life, decide));
    swapped.unwrap_or_else(unattached)
}

/// Returns the denial of every call while the segment is missing, which is only before the module
/// has started and after it has shut down.
fn unattached() -> Outcome {
    Outcome::denied(Denial::TableFull, Timestamp::ZERO, boot_clock())
}

/// Runs one step on a bucket in [`Location::Segment`], and returns true if it was
/// granted. This is the fastest path, which is inlined and runs no PHP code.
#[inline(always)]
pub fn grants(key: Key<'_>, step: &Step) -> bool {
    take(key, step, None).granted()
}

/// Runs one step for a caller without a storage, as on a new `TokenBucketStorageSharedMemory`.
pub fn take_here(identifier: &[u8], step: &Step) -> Outcome {
    take(hasher(b"").key(identifier), step, None)
}

/// Implements `__construct(string $namespace = '')`. Throws `Error` if the object has already been
/// constructed.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let namespace = match call.optional(1, Call::string)? {
        Some(_) => call.arg(1).shallow_clone(),
        None => value::of_text(b""),
    };
    let this = call.this::<SharedMemoryStorage>();
    let set = this.hasher.set(hasher(value::bytes(&namespace)));
    set.map_err(|_| arguments::constructed_already::<SharedMemoryStorage>())?;
    this.set_property(0, namespace);
    Ok(())
}

const _: () = assert!(size_of::<Object<SharedMemoryStorage>>() < 256);

//! The undoing of the takes of a call on several buckets.

use crate::storage::Storage;
use gcra::{Key, Put};
use std::any::Any;
use zend::{Thrown, throw};

/// The takes of one call, in order.
#[derive(Default)]
pub struct Undo<'a>(Vec<Take<'a>>);

struct Take<'a> {
    storage: &'a dyn Storage,
    key: Key<'a>,
    put: Put,
    fallback: bool,
}

impl<'a> Undo<'a> {
    /// Adds a take that `put` undoes. `fallback` is true if the failure policy granted it.
    pub fn add(&mut self, storage: &'a dyn Storage, key: Key<'a>, put: Put, fallback: bool) {
        self.0.push(Take {
            storage,
            key,
            put,
            fallback,
        });
    }

    /// Undoes all takes, the last one first. The takes on remote storages of one class are undone
    /// together.
    ///
    /// # Errors
    /// Returns the exception of a storage that failed. The other takes are still undone.
    pub fn run(mut self) -> Result<(), Thrown> {
        let mut result = Ok(());
        while let Some(last) = self.0.pop() {
            // While an exception is pending, no method of PDO can be called.
            let undone = throw::aside(|| {
                if last.fallback || !last.storage.is_remote() {
                    return last.storage.undo(last.key, &last.put, last.fallback);
                }
                let class = (last.storage as &dyn Any).type_id();
                let joins = |other: &Take<'_>| {
                    !other.fallback && (other.storage as &dyn Any).type_id() == class
                };
                let (mine, others) = self.0.drain(..).partition(joins);
                self.0 = others;
                let mine: Vec<_> = mine;
                let all = std::iter::once(&last).chain(mine.iter().rev());
                let (buckets, puts): (Vec<_>, Vec<_>) =
                    all.map(|take| ((take.storage, take.key), take.put)).unzip();
                last.storage.undo_each(&buckets, &puts)
            });
            result = result.and(undone);
        }
        result
    }
}

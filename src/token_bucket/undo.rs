//! The undoing of the takes of a call on several buckets.

use crate::storage::Undo;
use stores::remote::{Stopwatch, TimeLeft};
use zend::{Thrown, throw};

/// Undoes all takes, the last one first. The takes on servers of one kind are undone together.
/// Waits for all servers for at most the longest timeout. Returns the exception of a storage that
/// failed. The other takes are still undone.
pub fn undo_all(mut takes: Vec<Undo<'_>>) -> Result<(), Thrown> {
    let mut result = Ok(());
    let longest = takes.iter().map(|it| it.storage.timeout()).max();
    let start = Stopwatch::start();
    while let Some(last) = takes.pop() {
        let joins = |other: &Undo<'_>| {
            let is_of_stores = !last.fallback && !other.fallback;
            is_of_stores && last.storage.is_asked_with(other.storage)
        };
        let (mut mine, others): (Vec<_>, Vec<_>) = takes.into_iter().partition(joins);
        takes = others;
        mine.push(last);
        mine.reverse();
        let asks = |other: &Undo<'_>| other.storage.is_remote() && !other.fallback;
        let left = TimeLeft::since(&start, longest.unwrap_or(0));
        let left = if takes.iter().any(asks) {
            left.half()
        } else {
            left
        };
        // While an exception is pending, no method of PDO can be called.
        result = result.and(throw::aside(|| last.storage.put_each(&mine, left)));
    }
    result
}

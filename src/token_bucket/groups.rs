//! The groups of a call on several buckets: those whose tokens are taken at the same time, and
//! those that are checked at the same time.

use crate::storage::Storage;
use gcra::Key;
use std::any::Any;

/// Operations that take their tokens at the same time. Each one is the indexes of the steps of
/// which a storage takes all or none at once, in order. A group of several operations is on remote
/// storages of one class, and each operation is on one bucket.
pub type Group = Vec<Vec<usize>>;

/// Combines the buckets whose storages take from them in one operation, in order, and these
/// operations into groups. Shared memory is the last group, see [`gcra::batch`].
pub fn groups(storages: &[&dyn Storage], keys: &[Key<'_>], buckets: Vec<Vec<usize>>) -> Vec<Group> {
    // The indexes of an operation, and true if they are on one bucket.
    let mut operations: Vec<(Vec<usize>, bool)> = Vec::new();
    let joins = |a: usize, b: usize| storages[a].joins(keys[a], storages[b], keys[b]);
    for bucket in buckets {
        match operations
            .iter_mut()
            .find(|(mine, _)| joins(mine[0], bucket[0]))
        {
            Some((mine, is_one)) => {
                mine.extend(bucket);
                *is_one = false;
            }
            None => operations.push((bucket, true)),
        }
    }
    let mut groups: Vec<(Group, bool)> = Vec::new();
    for (mut mine, is_one) in operations {
        mine.sort_unstable();
        let is_of_class = |(group, is_open): &&mut (Group, bool)| {
            *is_open && is_one && have_one_class(storages[group[0][0]], storages[mine[0]])
        };
        match groups.iter_mut().find(is_of_class) {
            Some((group, _)) => group.push(mine),
            None => groups.push((vec![mine], is_one)),
        }
    }
    let mut groups: Vec<_> = groups.into_iter().map(|(group, _)| group).collect();
    groups.sort_by_key(|group| storages[group[0][0]].is_direct());
    groups
}

/// Returns the indexes of the steps to check, by the storages that check them at the same time. The
/// last group is first, because it is the fastest.
pub fn checks(storages: &[&dyn Storage], groups: &[Group]) -> Vec<Vec<usize>> {
    let mut checks: Vec<Vec<usize>> = Vec::new();
    for (place, group) in groups.iter().enumerate().rev() {
        let joins =
            |mine: &&mut Vec<usize>| have_one_class(storages[mine[0]], storages[group[0][0]]);
        let indexes = group.iter().flatten().copied();
        match checks.iter_mut().find(joins) {
            Some(mine) => mine.extend(indexes),
            // If the first operation denies, there is nothing to give back.
            None if place == 0 && group.len() == 1 => {}
            None => checks.push(indexes.collect()),
        }
    }
    checks
}

/// Reports whether both storages are remote and of one class.
fn have_one_class(a: &dyn Storage, b: &dyn Storage) -> bool {
    a.is_remote() && (a as &dyn Any).type_id() == (b as &dyn Any).type_id()
}

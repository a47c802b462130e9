//! The groups of a call on several buckets: those whose tokens are taken at the same time, and
//! those that are checked at the same time.

use crate::storage::Storage;
use gcra::{Few, Grouped, Ticket};

/// Tickets whose tokens a storage takes at once, all or none.
#[derive(Clone, Copy)]
pub struct Operation<'a, 'k> {
    /// The storage of the first ticket. It joins the storages of the others.
    pub storage: &'k dyn Storage,
    pub tickets: Grouped<'a, 'k>,
}

/// Operations that take their tokens at the same time. If there are several, they are on remote
/// storages of one class, and each of their buckets is decided on its own.
pub type OperationGroup<'a, 'k> = Few<Operation<'a, 'k>, 1>;

impl Operation<'_, '_> {
    /// Reports whether the storages of both operations can be asked at the same time.
    fn is_asked_with(&self, other: &Self) -> bool {
        self.storage.is_asked_with(other.storage)
    }

    pub fn is_on_one_bucket(&self) -> bool {
        self.tickets.buckets().nth(1).is_none()
    }
}

/// Combines the tickets that one operation can take, and combines these operations into groups.
/// Both stay in order, except that shared memory is the last group; see [`gcra::batch`].
/// `storages[ticket.index]` is the storage of a ticket. Each operation is on one bucket if they are
/// taken `apart`.
pub fn groups<'a, 'k>(
    mut tickets: &'a mut [Ticket<'k>],
    storages: &[&'k dyn Storage],
    apart: bool,
) -> Few<OperationGroup<'a, 'k>> {
    let mut groups: Few<OperationGroup<'_, '_>> = Few::new();
    while let Some(&first) = tickets.first() {
        let end = gather(tickets, |ticket| joins(storages, &first, ticket, apart));
        let (mine, rest) = tickets.split_at_mut(end);
        let operation = Operation {
            storage: storages[first.index],
            tickets: Grouped::new(mine),
        };
        let is_of_class = |group: &&mut OperationGroup<'_, '_>| operation.is_asked_with(&group[0]);
        match groups.iter_mut().find(is_of_class) {
            Some(group) => group.push(operation),
            None => groups.push(Few::from_iter([operation])),
        }
        tickets = rest;
    }
    groups.sort_by_key(|group| group[0].storage.is_direct());
    groups
}

/// Reports whether one operation can take the tokens of both tickets. If they are taken `apart`, it
/// can only if they are on one bucket.
fn joins(storages: &[&dyn Storage], first: &Ticket<'_>, other: &Ticket<'_>, apart: bool) -> bool {
    let (storage, its) = (storages[first.index], storages[other.index]);
    let has_same_key = first.key.hash == other.key.hash;
    let is_apart = apart && storage.is_remote() && !has_same_key;
    !is_apart && (storage.joins(first.key, its, other.key) || has_same_key && storage.is_same(its))
}

/// Returns the operations to check, grouped by the storages that check them at the same time. The
/// last group of `groups` is checked first, because it may be shared memory, which is the fastest.
pub fn checks<'a, 'k>(groups: &[OperationGroup<'a, 'k>]) -> Few<OperationGroup<'a, 'k>> {
    let mut checks: Few<OperationGroup<'_, '_>> = Few::new();
    for (place, group) in groups.iter().enumerate().rev() {
        let joins = |mine: &&mut OperationGroup<'_, '_>| mine[0].is_asked_with(&group[0]);
        match checks.iter_mut().find(joins) {
            Some(mine) => mine.extend_from_slice(group),
            // The tokens of this operation are taken first. If it denies, there is nothing to give
            // back, so it needs no check.
            None if place == 0 && group.len() == 1 => {}
            None => checks.push(group.clone()),
        }
    }
    checks
}

/// Moves the tickets that `joins` accepts, and the first ticket, to the front. Returns their
/// number. All tickets stay in order.
fn gather(tickets: &mut [Ticket<'_>], joins: impl Fn(&Ticket<'_>) -> bool) -> usize {
    let mut end = 1;
    for at in 1..tickets.len() {
        if joins(&tickets[at]) {
            tickets[end..=at].rotate_right(1);
            end += 1;
        }
    }
    end
}

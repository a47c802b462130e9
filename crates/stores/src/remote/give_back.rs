//! Give-backs on several buckets. Those on one server share a pipeline.

use super::call::Failed;
use super::time_left::TimeLeft;
use super::transport::BucketChange;
use super::turns::{by_server, leaving};
use super::{Answer, Cause, Failure, Pipelined, Remote, Visit};
use gcra::{Key, Put, Refund, Timestamp, boot_clock};

/// A change that is sent to its server.
struct PendingChange<'a, 'h, T> {
    index: usize,
    store: &'a Remote<'h, T>,
    name: Vec<u8>,
    put: &'a Put,
    seen: Option<i64>,
}

impl<T: Pipelined> Remote<'_, T> {
    /// Undoes takes that these stores granted, each with its [`gcra::batch::Taken::give_back`]. All
    /// of them together end with the time `left`. If a server fails, passes the result of
    /// the failure policy to `failed` with the index of one of that server's changes. The tokens
    /// are then refilled with time; see [`Remote::put`]. Fails if a store fails and its policy is
    /// [`super::OnFailure::Throw`]. The give-backs of other servers are still made.
    pub fn give_back_each(
        buckets: &[(&Self, Key<'_>)],
        puts: &[Put],
        left: TimeLeft,
        mut failed: impl FnMut(usize, Answer<()>),
    ) -> Result<(), Failure> {
        let start = boot_clock();
        let clear = || {
            for (store, key) in buckets {
                store.host.denial_cache().clear(key.hash, boot_clock());
            }
        };
        let requests = buckets.iter().zip(puts).enumerate();
        let requests = requests.map(|(index, (&(store, key), put))| {
            let name = store.transport.name(key.identifier);
            let seen = match put {
                Put::Refund(Refund { span, .. }) => store
                    .find(key, *span, start)
                    .and_then(|entry| store.seen(&entry, *span, start)),
                _ => None,
            };
            PendingChange {
                index,
                store,
                name,
                put,
                seen,
            }
        });
        let requests: Vec<_> = requests.collect();
        // As in `Remote::put`, entries are cleared before the changes and after them.
        clear();
        let mut result = Ok(());
        let servers = requests.iter().map(|it| (it, it.store, &it.name));
        let mut pipelines = by_server(servers).into_iter();
        while let Some((_, pipeline)) = pipelines.next() {
            let &PendingChange { index, store, .. } = pipeline[0];
            // Hashing long identifiers has taken time, which is no part of the timeout.
            let deadline = start + left.of(store.settings.timeout);
            let deadline = leaving(pipelines.len() > 0, deadline);
            if let Err((peer, cause)) = run(&pipeline, deadline) {
                let answer = store.fall_back(&peer, cause, |_, _| ());
                result = result.and(answer.map(|answer| failed(index, answer)));
            }
        }
        clear();
        result
    }
}

/// Runs the changes of one pipeline. Returns the first failure.
fn run<'h, T: Pipelined>(
    pipeline: &[&PendingChange<'_, 'h, T>],
    deadline: Timestamp,
) -> Result<(), Failed<'h>> {
    let first = pipeline[0];
    let changes = pipeline.iter().map(|it| BucketChange {
        name: &it.name,
        put: it.put,
        seen: it.seen,
    });
    let changes: Vec<_> = changes.collect();
    let now = boot_clock();
    let store = first.store;
    let found = store.find_server(&first.name);
    let (route, peer) = store.locate(&first.name, found, now, deadline)?;
    let (mut moved, mut refused) = (Vec::new(), None);
    let put = |visit: &Visit<'_, T>| {
        T::put_each(visit, &changes, &mut |index, cause| match cause {
            Cause::Redirected { .. } => moved.push(index),
            cause => drop(refused.get_or_insert(cause)),
        })
    };
    store.call(route, peer.clone(), now, deadline, put)?;
    let mut failed = refused.map(|cause| (peer, cause));
    let mut moved = moved.into_iter();
    while let Some(index) = moved.next() {
        let BucketChange { name, put, seen } = changes[index];
        let change = |visit: &Visit<'_, T>| T::put(visit, name, put, seen);
        let until = leaving(moved.len() > 0, deadline);
        if let Err(it) = store.visit(name, boot_clock(), until, change) {
            failed.get_or_insert(it);
        }
    }
    failed.map_or(Ok(()), Err)
}

//! Give-backs on several buckets. Those on one server share a pipeline.

use super::pipeline::MOST;
use super::{Answer, Cause, Failed, Failure, Remote, Server, Transport};
use gcra::clock::{Timestamp, boot_clock};
use gcra::key::Key;
use gcra::store::Put;
use std::sync::Arc;

/// A change of one bucket: its name in the store, the change, and [`super::Ask::seen`].
pub type Change<'a> = (&'a [u8], &'a Put, Option<i64>);

/// A change that is sent to its server.
struct Request<'a, 'h, T> {
    /// The index of the change.
    index: usize,
    store: &'a Remote<'h, T>,
    name: Vec<u8>,
    put: &'a Put,
    seen: Option<i64>,
}

impl<T: Transport> Remote<'_, T> {
    /// Undoes takes that these stores granted, each with its [`gcra::batch::Taken::give_back`].
    /// All of them together have one timeout, which starts now. Passes the result of each server
    /// that failed to `failed` with the index of one of its changes. The tokens are then refilled
    /// with time; see [`Remote::put`].
    ///
    /// # Errors
    /// Fails if a store fails and its policy is [`super::OnFailure::Throw`]. The give-backs of
    /// other servers are still made.
    pub fn give_back_each(
        buckets: &[(&Self, Key<'_>)],
        puts: &[Put],
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
            let entry = store.find(key, start);
            let name = store.transport.name(key.identifier);
            let seen = match put {
                Put::Refund { span, .. } => {
                    entry.and_then(|entry| store.seen(&entry, *span, start))
                }
                _ => None,
            };
            Request {
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
        for pipeline in pipelines(&requests) {
            let &Request { index, store, .. } = pipeline[0];
            // Hashing long identifiers has taken time, which is no part of the timeout.
            if let Err((server, cause)) = run(&pipeline, start + store.settings.timeout) {
                let answer = store.fall_back(&server, cause, |_, _| ());
                result = result.and(answer.map(|answer| failed(index, answer)));
            }
        }
        clear();
        result
    }
}

/// Groups the changes by their servers, in order.
fn pipelines<'r, 'a, 'h, T: Transport>(
    requests: &'r [Request<'a, 'h, T>],
) -> Vec<Vec<&'r Request<'a, 'h, T>>> {
    let mut pipelines: Vec<(Arc<Server>, Vec<&Request<'a, 'h, T>>)> = Vec::new();
    for request in requests {
        let server = request.store.transport.server(&request.name);
        let server = server.unwrap_or_else(|fleet| fleet);
        let joins = |(other, mine): &&mut (Arc<Server>, Vec<&Request<'a, 'h, T>>)| {
            let first = mine[0].store;
            mine.len() < MOST
                && server == *other
                && request.store.settings.timeout == first.settings.timeout
                && first.transport.pipelines(&request.store.transport)
        };
        match pipelines.iter_mut().find(joins) {
            Some((_, mine)) => mine.push(request),
            None => pipelines.push((server, vec![request])),
        }
    }
    pipelines.into_iter().map(|(_, mine)| mine).collect()
}

/// Runs the changes of one pipeline. Returns the first failure.
fn run<T: Transport>(pipeline: &[&Request<'_, '_, T>], deadline: Timestamp) -> Result<(), Failed> {
    let first = pipeline[0];
    let changes = pipeline
        .iter()
        .map(|it| (it.name.as_slice(), it.put, it.seen));
    let changes: Vec<_> = changes.collect();
    let now = boot_clock();
    let server = first.store.server(&first.name, now, deadline)?;
    let (mut moved, mut refused) = (Vec::new(), None);
    let put = |transport: &T, _: &Arc<Server>| {
        transport.put_each(&changes, deadline, &mut |index, cause| match cause {
            Cause::Redirected { .. } => moved.push(index),
            cause => drop(refused.get_or_insert(cause)),
        })
    };
    first.store.call_counted(&server, now, deadline, put)?;
    for index in moved {
        let (name, put, seen) = changes[index];
        let change = |transport: &T, _: &Arc<Server>| transport.put(name, put, seen, deadline);
        let now = boot_clock();
        let server = first.store.server(name, now, deadline)?;
        first.store.call_counted(&server, now, deadline, change)?;
    }
    refused.map_or(Ok(()), |cause| Err((server, cause)))
}

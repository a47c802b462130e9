//! Remote storages as limiters use them that let pass when their store gives no answer.

use super::Storage;
use super::remote::{RemoteStorage, StorageClass, tell};
use crate::zend::{Object, Thrown};
use std::cell::Cell;
use tokenbucket_core::remote::redis::Redis;
use tokenbucket_core::remote::{Answer, Ask, Cause, OnFailure, Transport};
use tokenbucket_core::{Step, Ticks};

impl<T: StorageClass> Object<RemoteStorage<T>> {
    /// The way to the store.
    ///
    /// # Errors
    /// `Error` when no constructor has run.
    pub fn transport(&self) -> Result<&T, Thrown> {
        Ok(self.parts()?.0.transport())
    }

    /// [`Object::ask`], but `None` when the store gave no answer and the policy is no denial. A record that
    /// is none is an answer: the policy decides then, as everywhere.
    ///
    /// # Errors
    /// As [`Object::ask`].
    pub fn ask_openly<R>(
        &self,
        name: impl FnOnce(&T) -> Vec<u8>,
        ask: impl FnOnce(&T, Ticks) -> Result<R, Cause>,
        stand_in: impl FnOnce(OnFailure) -> R,
    ) -> Result<Option<R>, Thrown> {
        let (remote, host) = self.parts()?;
        let name = name(remote.transport());
        let is_foreign = Cell::new(false);
        let answer = remote.ask(
            host,
            &name,
            |transport, deadline| {
                let answer = ask(transport, deadline);
                is_foreign.set(matches!(answer, Err(Cause::Record)));
                answer.map(Some)
            },
            |policy| match policy {
                OnFailure::Local | OnFailure::Allow if !is_foreign.get() => None,
                policy => Some(stand_in(policy)),
            },
        );
        drop(name);
        match answer {
            Ok(Answer { value: None, .. }) => Ok(None),
            answer => tell(remote, answer, || None),
        }
    }
}

/// Takes one step; `None` where the store gave no answer and its policy is no denial.
///
/// # Errors
/// As [`Storage::take`].
pub fn take_openly(
    storage: &dyn Storage,
    identifier: &[u8],
    step: &Step,
) -> Result<Option<bool>, Thrown> {
    let key = storage.key(identifier);
    let Some(redis) = super::remote::<Redis>(storage) else {
        return Ok(Some(storage.take(key, step, None)?.granted()));
    };
    redis.ask_openly(
        |transport| transport.name(identifier),
        |transport, deadline| {
            let ask = Ask {
                name: transport.name(identifier),
                step: *step,
                first: None,
                seen: None,
            };
            Ok(transport.take(&ask, deadline)?.outcome.granted())
        },
        |policy| redis.stand_in(policy, identifier, step),
    )
}

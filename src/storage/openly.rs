//! Remote storages as limiters use them that let pass when their store gives no answer.

use super::remote::{Storage, StorageClass, tell};
use crate::zend::Thrown;
use std::cell::Cell;
use tokenbucket_core::remote::{Answer, Ask, Cause, OnFailure};
use tokenbucket_core::{Key, Step, Ticks};

impl<T: StorageClass> Storage<T> {
    /// The way to the store.
    ///
    /// # Errors
    /// `Error` when no constructor has run.
    pub fn transport(&self) -> Result<&T, Thrown> {
        Ok(self.parts()?.0.transport())
    }

    /// [`Storage::ask`], but `None` when the store gave no answer and the policy is no denial. A record that
    /// is none is an answer: the policy decides then, as everywhere.
    ///
    /// # Errors
    /// As [`Storage::ask`].
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

    /// Takes one step; see [`super::Native::take_openly`].
    pub fn take_openly(&self, key: Key<'_>, step: &Step) -> Result<Option<bool>, Thrown> {
        self.ask_openly(
            |transport| transport.name(key.identifier),
            |transport, deadline| {
                let ask = Ask {
                    name: transport.name(key.identifier),
                    step: *step,
                    first: None,
                    seen: None,
                };
                Ok(transport.take(&ask, deadline)?.outcome.granted())
            },
            |policy| self.stand_in(policy, key.identifier, step),
        )
    }
}

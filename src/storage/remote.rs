//! What the storages on remote stores have in common: their state, their calls, their warnings.

use super::arguments;
use super::contract::{Storage, downcast};
use super::proposals::Proposals;
use crate::zend::object::instantiate;
use crate::zend::{Class, Object, State, Thrown, Zval, throw, value};
use crate::{exceptions, segment};
use std::cell::OnceCell;
use std::fmt::Debug;
use tokenbucket_core::remote::failure::Failure;
use tokenbucket_core::remote::{
    Answer, Batched, Blame, Cause, OnFailure, Remote, Settings, Transport,
};
use tokenbucket_core::{Grain, Key, KeyHasher, Outcome, Put, Step, Ticks};

/// A transport that has a class of its own.
pub trait StorageClass: Transport + Debug + Sized + 'static {
    /// Returns the class.
    fn class() -> &'static Class;
}

/// Returns the storage as one on a remote store of a known kind: for a limiter that keeps records of
/// its own there.
pub fn remote<T: StorageClass>(storage: &dyn Storage) -> Option<&Object<RemoteStorage<T>>> {
    downcast(storage)
}

/// The state of an object of such a class.
#[derive(Debug)]
pub struct RemoteStorage<T> {
    /// Set by the constructor.
    made: OnceCell<Made<T>>,
    proposals: Proposals,
}

#[derive(Debug)]
struct Made<T> {
    remote: Remote<'static, T>,
    hasher: KeyHasher,
}

impl<T: StorageClass> State for RemoteStorage<T> {
    const SLOTS: usize = 2;

    fn class() -> &'static Class {
        T::class()
    }

    fn born() -> Self {
        Self {
            made: OnceCell::new(),
            proposals: Proposals::default(),
        }
    }
}

impl<T: StorageClass> Storage for Object<RemoteStorage<T>> {
    fn hasher(&self) -> KeyHasher {
        let made = self.made.get();
        made.map_or(KeyHasher::new([0; 2]), |made| made.hasher)
    }

    fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    fn take_or_fall_back(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<(Outcome, bool), Thrown> {
        self.with(|remote| remote.take(key, step, first).map(Answer::with_origin))
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Thrown> {
        self.with(|remote| remote.put(key, put))
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Thrown> {
        self.with(|remote| remote.contains(key))
    }

    fn take_all(
        &self,
        buckets: &[(&dyn Storage, Key<'_>)],
        steps: &[Step],
    ) -> Result<Option<Batched>, Thrown> {
        let mut remotes = Vec::with_capacity(buckets.len());
        for &(storage, key) in buckets {
            let Some(storage) = downcast::<Self>(storage) else {
                return Ok(None);
            };
            remotes.push((storage.store()?, key));
        }
        let remote = self.store()?;
        let answer = remote.take_all(&remotes, steps).transpose();
        answer
            .map(|answer| tell(remote, answer, || None))
            .transpose()
    }

    fn grain(&self) -> Grain {
        Grain::Microsecond
    }
}

impl<T: StorageClass> RemoteStorage<T> {
    /// What a constructor makes of its arguments. Dumps show `server`, which holds no password, and `prefix`.
    ///
    /// # Errors
    /// `Error` when a constructor has run before.
    pub fn construct(
        this: &Object<Self>,
        transport: T,
        settings: Settings,
        server: &str,
        prefix: &[u8],
    ) -> Result<(), Thrown> {
        let remote = Remote::new(transport, settings, segment::host().ok_or(Thrown)?);
        let hasher = remote.hasher();
        let set = this.made.set(Made { remote, hasher });
        set.map_err(|_| arguments::constructed_already::<Self>())?;
        this.set_property(0, value::of_bytes(server.as_bytes()));
        this.set_property(1, value::of_bytes(prefix));
        Ok(())
    }

    /// A new object of the class; the arguments are those of [`RemoteStorage::construct`].
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn create(
        transport: T,
        settings: Settings,
        server: &str,
        prefix: &[u8],
    ) -> Result<Zval, Thrown> {
        instantiate(Self::born(), |this| {
            Self::construct(this, transport, settings, server, prefix)
        })
    }

    /// Returns the store.
    ///
    /// # Errors
    /// `Error` if no constructor has run.
    pub fn store(&self) -> Result<&Remote<'static, T>, Thrown> {
        let made = self.made.get();
        let made = made.ok_or_else(arguments::not_constructed::<Self>)?;
        Ok(&made.remote)
    }

    fn with<R>(
        &self,
        call: impl FnOnce(&Remote<T>) -> Result<Answer<R>, Failure>,
    ) -> Result<R, Thrown> {
        let remote = self.store()?;
        tell(remote, call(remote), || None)
    }
}

impl<T: StorageClass> Object<RemoteStorage<T>> {
    /// Runs an operation other than a step, under the store's breaker and policy; see
    /// [`Remote::ask`].
    ///
    /// # Errors
    /// As [`Storage::take`].
    pub fn ask<R>(
        &self,
        name: impl FnOnce(&T) -> Vec<u8>,
        ask: impl FnOnce(&T, Ticks) -> Result<R, Cause>,
        stand_in: impl FnOnce(OnFailure) -> R,
    ) -> Result<R, Thrown> {
        let remote = self.store()?;
        let name = name(remote.transport());
        let answer = remote.ask(&name, ask, |policy, _| stand_in(policy));
        drop(name);
        tell(remote, answer, || None)
    }

    /// Asks for the verdict of a limiter that keeps a record of its own on this store. If the store fails,
    /// its policy decides about `step` on the bucket whose identifier is all of `bucket`.
    ///
    /// # Errors
    /// As [`Storage::take`].
    pub fn decide(
        &self,
        name: impl FnOnce(&T) -> Vec<u8>,
        ask: impl FnOnce(&T, Ticks) -> Result<bool, Cause>,
        bucket: &[&[u8]],
        step: &Step,
    ) -> Result<bool, Thrown> {
        self.ask(name, ask, |policy| {
            self.stand_in(policy, &bucket.concat(), step)
        })
    }

    /// Tells whether the failure policy, instead of the store, grants a step.
    pub fn stand_in(&self, policy: OnFailure, identifier: &[u8], step: &Step) -> bool {
        let key = self.key(identifier);
        segment::host().is_some_and(|host| policy.answer(host, key, step, None).granted())
    }
}

/// Throws what failed, or warns of it. `previous` is what made it fail, if that was an exception.
///
/// # Errors
/// As it says.
pub fn tell<T: Transport, R>(
    remote: &Remote<T>,
    answer: Result<Answer<R>, Failure>,
    previous: impl FnOnce() -> Option<Zval>,
) -> Result<R, Thrown> {
    let answer = answer.map_err(|failure| exceptions::storage_failed(&failure, previous()))?;
    let Some(failure) = answer.warning else {
        return Ok(answer.value);
    };
    let meanwhile = match remote.on_failure() {
        OnFailure::Local => "using shared memory of this host",
        OnFailure::Allow => "allowing all calls",
        OnFailure::Deny | OnFailure::Throw => "denying all calls",
    };
    let is_store = failure.cause.blame() == Blame::Store;
    let until = if is_store { " until it recovers" } else { "" };
    let message = format!("{failure}; {meanwhile}{until}");
    drop(failure);
    throw::warning(message)?;
    Ok(answer.value)
}

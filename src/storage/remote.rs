//! What the classes of remote storages have in common: their state, their calls, their warnings.

use super::proposals::Proposals;
use super::{Native, interface};
use crate::zend::object::instantiate;
use crate::zend::{Class, Object, State, Thrown, Zval, throw, value};
use crate::{exceptions, segment};
use std::cell::OnceCell;
use tokenbucket_core::clock::BootClock;
use tokenbucket_core::host::Host;
use tokenbucket_core::remote::failure::Failure;
use tokenbucket_core::remote::{Answer, Cause, OnFailure, Remote, Settings, Transport};
use tokenbucket_core::{Clock, Denial, Key, KeyHasher, Outcome, Put, Step, Ticks, Verdict};

/// A transport that has a class.
pub trait StorageClass: Transport + Sized + 'static {
    /// The class.
    fn class() -> &'static Class;
    /// A storage of it, as buckets see it.
    fn native(object: &Object<Storage<Self>>) -> Native<'_>;
}

/// What an object of such a class keeps.
#[derive(Debug)]
pub struct Storage<T> {
    /// Set by the constructor.
    made: OnceCell<Made<T>>,
    proposals: Proposals,
}

#[derive(Debug)]
struct Made<T> {
    remote: Remote<T>,
    hasher: KeyHasher,
}

impl<T: StorageClass> State for Storage<T> {
    fn class() -> &'static Class {
        T::class()
    }

    fn born() -> Self {
        Self {
            made: OnceCell::new(),
            proposals: Proposals::default(),
        }
    }

    fn cloned(&self) -> Option<Self> {
        None
    }
}

impl<T: StorageClass> interface::Storage for Storage<T> {
    fn native(object: &Object<Self>) -> Native<'_> {
        T::native(object)
    }
}

impl<T: StorageClass> Storage<T> {
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
        if this.made.get().is_some() {
            let class = T::class().name();
            return Err(throw::error(&format!(
                "{} is constructed already",
                class.to_string_lossy()
            )));
        }
        this.set_property(0, value::of_bytes(server.as_bytes()));
        this.set_property(1, value::of_bytes(prefix));
        let remote = Remote::new(transport, settings);
        let hasher = segment::host().map_or(KeyHasher::new([0; 2]), |host| remote.hasher(host));
        // Checked above.
        this.made.set(Made { remote, hasher }).ok();
        Ok(())
    }

    /// A new object of the class; the arguments are those of [`Storage::construct`].
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn create(
        transport: T,
        settings: Settings,
        server: &str,
        prefix: &[u8],
    ) -> Result<Zval, Thrown> {
        let created = instantiate(Self::born()).ok_or(Thrown)?;
        let this = value::object(&created).and_then(Object::<Self>::of_exact);
        Self::construct(this.ok_or(Thrown)?, transport, settings, server, prefix)?;
        Ok(created)
    }

    pub fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        let hasher = self.made.get().map(|made| made.hasher);
        hasher.unwrap_or(KeyHasher::new([0; 2])).key(identifier)
    }

    pub fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    /// The store and this host's memory.
    pub(super) fn parts(&self) -> Result<(&Remote<T>, &'static Host), Thrown> {
        let made = self.made.get().ok_or_else(|| {
            let class = T::class().name();
            throw::error(&format!(
                "The {} object has not been constructed",
                class.to_string_lossy()
            ))
        })?;
        let host = segment::host().ok_or(Thrown)?;
        Ok((&made.remote, host))
    }

    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Result<Outcome, Thrown> {
        let (remote, host) = self.parts()?;
        tell(remote, remote.take(host, key, step, first), || None)
    }

    pub fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Thrown> {
        let (remote, host) = self.parts()?;
        tell(remote, remote.put(host, key, put), || None)
    }

    pub fn contains(&self, key: Key<'_>) -> Result<bool, Thrown> {
        let (remote, host) = self.parts()?;
        tell(remote, remote.contains(host, key), || None)
    }

    /// Does with the store what no step is, under its breaker and policy; see [`Remote::ask`].
    ///
    /// # Errors
    /// As [`Native::take`].
    pub fn ask<R>(
        &self,
        name: impl FnOnce(&T) -> Vec<u8>,
        ask: impl FnOnce(&T, Ticks) -> Result<R, Cause>,
        stand_in: impl FnOnce(OnFailure) -> R,
    ) -> Result<R, Thrown> {
        let (remote, host) = self.parts()?;
        let name = name(remote.transport());
        tell(remote, remote.ask(host, &name, ask, stand_in), || None)
    }

    /// Whether the policy, instead of the store, grants a step on the bucket that stands in.
    pub fn stand_in(&self, policy: OnFailure, identifier: &[u8], step: &Step) -> bool {
        let key = self.key(identifier);
        segment::host().is_some_and(|host| policy.answer(host, key, step, None).granted())
    }

    /// Takes all steps on buckets of these storages or none, in one operation, if that can be.
    pub fn take_all(
        buckets: &[(&Self, Key<'_>)],
        steps: &[Step],
    ) -> Result<Option<super::Batched>, Thrown> {
        let parts = buckets.iter().map(|(storage, key)| {
            let (remote, _) = storage.parts()?;
            Ok((remote, *key))
        });
        let parts = parts.collect::<Result<Vec<_>, Thrown>>()?;
        let (Some((remote, _)), Some(host)) = (parts.first(), segment::host()) else {
            return Ok(None);
        };
        match remote.take_all(host, &parts, steps) {
            Ok(None) => Ok(None),
            Ok(Some(answer)) => tell(remote, Ok(answer), || None).map(Some),
            Err(failure) => tell(remote, Err(failure), || None),
        }
    }
}

/// The present instant of this host's clock, on which first states are proposed.
pub fn now() -> Ticks {
    BootClock.now()
}

/// More than the capacity: never asked, for it is never granted.
pub fn exceeds_capacity() -> Outcome {
    let now = now();
    Outcome {
        verdict: Verdict::Denied(Denial::ExceedsCapacity),
        now,
        empty_at: now,
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
    match answer {
        Ok(Answer {
            value,
            warning: None,
        }) => Ok(value),
        Ok(Answer {
            value,
            warning: Some(failure),
        }) => {
            let meanwhile = match remote.on_failure() {
                OnFailure::Local => "buckets of this host decide",
                OnFailure::Allow => "all calls are allowed",
                OnFailure::Deny | OnFailure::Throw => "all calls are denied",
            };
            let until = if failure.cause.is_of_store() {
                " until it is back"
            } else {
                ""
            };
            let message = format!("{failure}; {meanwhile}{until}");
            drop(failure);
            throw::warning(message)?;
            Ok(value)
        }
        Err(failure) => Err(exceptions::storage_failed(&failure, previous())),
    }
}

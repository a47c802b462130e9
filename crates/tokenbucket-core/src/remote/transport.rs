//! A way to a store: what every kind of server must be able to do, and nothing of hints, breakers or policies.

use super::Cause;
use crate::clock::Ticks;
use crate::key::KeyHasher;
use crate::step::{Denial, Outcome, Step, Verdict};
use crate::store::Put;

/// A server, as breakers and messages know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Tells servers apart.
    pub id: u64,
    /// May be shown: holds no password.
    pub name: String,
}

impl Server {
    /// The server that `identity` names in full.
    #[must_use]
    pub fn new(identity: &[u8], name: String) -> Self {
        // The low half of a hash is a hash.
        #[allow(clippy::cast_possible_truncation)]
        let id = KeyHasher::new([0; 2]).key(identity).hash as u64;
        Self { id, name }
    }
}

/// A step, as a transport is asked for it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What the store calls the bucket.
    pub name: Vec<u8>,
    /// All spans are whole microseconds.
    pub step: Step,
    /// How long ago a bucket without a record was empty, if the caller proposes that.
    pub first: Option<i64>,
    /// How long ago the bucket was empty at least, as this host saw before, in case the record was lost.
    pub seen: Option<i64>,
}

/// The answer of a store, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub outcome: Outcome,
    /// Whether the bucket had no record.
    pub absent: bool,
    /// Whether the record was lost, and what the caller saw before was taken for it.
    pub healed: bool,
}

impl Reply {
    /// Returns the reply of a record that is there.
    #[must_use]
    pub const fn new(granted: bool, now: Ticks, empty_at: Ticks) -> Self {
        let verdict = if granted {
            Verdict::Granted
        } else {
            Verdict::Denied(Denial::Insufficient)
        };
        let outcome = Outcome {
            verdict,
            now,
            empty_at,
        };
        Self {
            outcome,
            absent: false,
            healed: false,
        }
    }
}

/// A way to a store. Nothing here looks at hints, breakers or policies.
pub trait Transport {
    /// Tells stores apart: endpoints, user, database, prefix.
    fn identity(&self) -> Vec<u8>;

    /// What the store calls a bucket.
    fn name(&self, identifier: &[u8]) -> Vec<u8>;

    /// The server that keeps what is called `name`.
    fn server(&self, name: &[u8]) -> &Server;

    /// Takes one step before `deadline`.
    ///
    /// # Errors
    /// When the store cannot tell, or did not in time.
    fn take(&self, ask: &Ask, deadline: Ticks) -> Result<Reply, Cause>;

    /// Changes a bucket before `deadline`. `seen` as in [`Ask`].
    ///
    /// # Errors
    /// When the store cannot do it, or did not in time.
    fn put(&self, name: &[u8], put: &Put, seen: Option<i64>, deadline: Ticks) -> Result<(), Cause>;

    /// Whether one operation can take steps on buckets of both.
    fn joins(&self, _other: &Self) -> bool {
        false
    }

    /// Takes all steps or none, in one operation. Called only if the transports of all buckets join.
    /// Unless all were granted, each outcome is a denial with the state that was found.
    ///
    /// # Errors
    /// As [`Transport::take`].
    fn take_all(&self, _asks: &[Ask], _deadline: Ticks) -> Result<Vec<Reply>, Cause> {
        Err(Cause::Answer("one bucket at a time"))
    }
}

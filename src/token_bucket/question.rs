//! A question to a bucket: derived once for a call, then passed down.

use super::bucket::{Bucket, STORAGE, with_latest_plan, with_plan};
use super::overrides;
use super::plan::Overrides;
use crate::exceptions;
use crate::storage::{self, First, Storage};
use crate::zend::{Held, Number, Object, Thrown, Zval, throw, value};
use tokenbucket_core::{Decision, Denial, Key, Outcome, Quota, Step};

/// A number of tokens asked of a bucket.
#[derive(Debug)]
pub struct Question<'a> {
    pub bucket: &'a Object<Bucket>,
    pub number: Number,
    pub quota: Quota,
    pub step: Step,
    pub overrides: Overrides,
    pub home: Home,
    identifier: Zval,
    hash: u128,
}

/// The storage of a bucket, held because PHP code that runs meanwhile may give the bucket another.
#[derive(Debug)]
pub enum Home {
    /// A storage of the extension: it takes steps.
    Native(Held<dyn Storage>),
    /// An object of userland: it decides by itself.
    Userland(Zval),
}

impl<'a> Question<'a> {
    /// Derives the question for `number` tokens, which are argument number `argument`.
    ///
    /// # Errors
    /// `ValueError` or `TypeError` for a number or a property that makes no question.
    pub fn of(bucket: &'a Object<Bucket>, number: Number, argument: u32) -> Result<Self, Thrown> {
        with_plan(bucket, |_| ())?;
        Self::of_latest_plan(bucket, number, argument)
    }

    /// Derives the question from the plan that [`with_plan`] has just made current.
    ///
    /// # Errors
    /// As [`Question::of`].
    pub fn of_latest_plan(
        bucket: &'a Object<Bucket>,
        number: Number,
        argument: u32,
    ) -> Result<Self, Thrown> {
        let (identifier, hash, quota, overrides, step) = with_latest_plan(bucket, |plan| {
            let identifier = plan.identifier().shallow_clone();
            let step = plan.step(number);
            (
                identifier,
                plan.key().hash,
                plan.quota,
                plan.overrides,
                step,
            )
        })?;
        let object = bucket.copy_property(STORAGE);
        let home = match storage::held(&object) {
            Some(storage) => Home::Native(storage),
            None => Home::Userland(object),
        };
        let mut question = Self {
            bucket,
            number,
            quota,
            step: step.map_err(|error| exceptions::bad_amount(argument, error))?,
            overrides,
            home,
            identifier,
            hash,
        };
        if let Home::Native(storage) = &question.home
            && overrides.tokens_to_seconds
            && !question.step.exceeds_capacity()
        {
            question.step = overrides::step(bucket, number, storage.grain())?;
        }
        Ok(question)
    }

    /// Returns the bucket's name.
    pub fn key(&self) -> Key<'_> {
        Key {
            identifier: value::bytes(&self.identifier),
            hash: self.hash,
        }
    }

    /// Returns the storage for `method`, which userland storages do not have.
    ///
    /// # Errors
    /// `LogicException` over a userland storage.
    pub fn native(&self, method: &str) -> Result<&dyn Storage, Thrown> {
        match &self.home {
            Home::Native(storage) => Ok(&**storage),
            Home::Userland(_) => Err(throw::logic(&format!(
                "TokenBucket::{method}() needs one of the extension's own storages"
            ))),
        }
    }

    /// Takes the tokens from `storage`; an overriding `_bootstrap()` says how a bucket without a
    /// record starts. May run PHP code.
    ///
    /// # Errors
    /// As [`Storage::take`], or what `_bootstrap()` threw; nothing is written then.
    pub fn take(&self, storage: &dyn Storage) -> Result<Outcome, Thrown> {
        let first = if self.overrides.bootstrap {
            storage::first_state(storage, self.key(), &self.step, || {
                overrides::bootstrap(self.bucket, &self.number.to_zval()).map(|()| true)
            })?
        } else {
            First::At(None)
        };
        match first {
            First::At(first) => storage.take(self.key(), &self.step, first),
            First::Refused => Ok(Outcome::denied(Denial::Insufficient, 0, storage.now())),
        }
    }

    /// Returns the answer in words.
    pub fn decision(&self, outcome: &Outcome) -> Decision {
        Decision::new(&self.quota, &self.step, outcome)
    }
}

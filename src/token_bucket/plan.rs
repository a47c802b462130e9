//! The plan: the values that are derived from a bucket's properties. A plan is kept until a
//! property changes.
//!
//! A subclass may change a property at any time. So each call compares the identities of the
//! properties with those that the plan was made from. Four comparisons are cheaper than a division,
//! a hash and a conversion.

use crate::storage::{self, Clock, Storage};
use crate::tokens;
use ext_php_rs::ffi::{IS_DOUBLE, IS_LONG, IS_STRING};
use gcra::{AmountError, Grain, Key, Limit, LimitError, Row, Step};
use std::cell::RefCell;
use std::mem;
use zend::{Class, Identity, Number, Obj, Thrown, Zval, hooks, invoke, throw, value};

// The slots of the properties, in the order of their declaration.
pub const STORAGE: usize = 0;
pub const IDENTIFIER: usize = 1;
pub const CAPACITY: usize = 2;
pub const RATE: usize = 3;

/// The names of the properties by slot.
pub const NAMES: [&str; RATE + 1] = [
    "_storage",
    "_identifier",
    "_bucket_capacity",
    "_tokens_per_second",
];

/// The values of the four properties by slot, from the arguments or from the object.
pub type Source<'a> = [&'a Zval; RATE + 1];

/// A plan and the properties that it was made from.
#[derive(Debug)]
pub struct Memo {
    made_from: [Identity; 4],
    /// The storage, if [`Storage::can_be_held`]. Null for other storages, for which each call
    /// derives a new plan.
    held: Zval,
    pub plan: Plan,
}

/// The values derived from the four properties.
#[derive(Debug)]
pub struct Plan {
    /// The identifier as a string. While the plan holds the string, no other string can have its
    /// address and so its identity.
    identifier: Zval,
    /// The hash in two halves, because the engine aligns objects to 8 bytes only.
    hash: [u64; 2],
    row: Row,
    pub limit: Limit,
    pub overrides: Overrides,
    /// True if `consume()` needs only one step in shared memory and no PHP code.
    pub is_direct: bool,
}

/// The methods and properties that a subclass overrides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub bootstrap: bool,
    pub tokens_to_seconds: bool,
    /// True if a property has a hook. Then each call reads the properties anew.
    pub hooks: bool,
}

impl Overrides {
    /// Returns the methods and properties that the object's class overrides. The object is of
    /// `class` or of a subclass.
    pub fn of(object: Obj<'_>, class: &Class) -> Self {
        let is_exact = class.is_of(object);
        let overrides = |method| !is_exact && invoke::overrides(object, method, class);
        Self {
            bootstrap: overrides("_bootstrap"),
            tokens_to_seconds: overrides("_tokens_to_seconds"),
            hooks: !is_exact && NAMES.iter().any(|name| hooks::has_hook(object, name)),
        }
    }
}

/// Returns true if later calls can compare the properties by identity. That is valid for numbers,
/// and for strings and objects that the plan holds.
fn has_identity(source: &Source<'_>) -> bool {
    let is_number = |slot: usize| matches!(value::kind(source[slot]), IS_LONG | IS_DOUBLE);
    let identifier = matches!(value::kind(source[IDENTIFIER]), IS_STRING | IS_LONG);
    identifier && is_number(CAPACITY) && is_number(RATE)
}

/// Returns the object in the storage property. Throws `Error` if no constructor has set a storage.
pub fn storage_of(storage: &Zval) -> Result<Obj<'_>, Thrown> {
    value::object(storage).ok_or_else(|| {
        throw::error(
            "The TokenBucket object has not been correctly initialized by calling \
             parent::__construct() in its constructor",
        )
    })
}

impl Default for Memo {
    /// Returns the plan of an object whose constructor has not run. It is never current.
    #[inline]
    fn default() -> Self {
        Self {
            made_from: [Identity::NONE; 4],
            held: Zval::new(),
            plan: Plan {
                identifier: Zval::new(),
                hash: [0; 2],
                row: Row(0),
                limit: Limit::ONE_A_SECOND,
                overrides: Overrides::default(),
                is_direct: false,
            },
        }
    }
}

impl Memo {
    /// Returns true if the properties are still those that the plan was made from.
    #[inline]
    pub fn is_current(&self, is: impl Fn(usize, Identity) -> bool) -> bool {
        let mut pairs = self.made_from.iter().enumerate();
        pairs.all(|(slot, &identity)| is(slot, identity))
    }

    /// Derives a plan from `source`, whose identifier as a string is `identifier`. `quota` returns
    /// the quota for a storage that counts in the given grain. Puts the plan into `place`. Runs no
    /// PHP code. Releasing the values that the old plan held may run PHP code, so they are
    /// returned, and the caller releases them. Throws `ValueError` for an invalid capacity or rate,
    /// and `Error` for a missing storage. Then the old plan stays.
    #[inline]
    pub fn derive(
        place: &RefCell<Self>,
        overrides: Overrides,
        source: &Source<'_>,
        identifier: &Zval,
        limit: impl FnOnce(Grain) -> Result<Limit, Thrown>,
    ) -> Result<Option<[Zval; 2]>, Thrown> {
        let storage = storage::of(storage_of(source[STORAGE])?);
        let grain = storage.map_or(Grain::Nanosecond, Clock::grain);
        let limit = limit(grain)?;
        let key = storage.map(|it| it.key(value::bytes(identifier)));
        let (hash, row) = key.map_or((0, Row(0)), |key| (key.hash, key.row));
        let can_be_held = storage.is_some_and(Storage::can_be_held);
        // Writes each field into the object. Moving a whole plan takes longer than deriving it.
        let memo = &mut *place.borrow_mut();
        memo.made_from = if can_be_held && !overrides.hooks && has_identity(source) {
            source.map(Identity::of)
        } else {
            [Identity::NONE; 4]
        };
        let plan = &mut memo.plan;
        let is_made = value::kind(&plan.identifier) == IS_STRING;
        let old = is_made.then(|| [mem::take(&mut memo.held), mem::take(&mut plan.identifier)]);
        if can_be_held {
            value::overwrite(&mut memo.held, source[STORAGE].shallow_clone());
        }
        value::overwrite(&mut plan.identifier, identifier.shallow_clone());
        // Each cast keeps 64 bits of the hash on purpose.
        #[allow(clippy::cast_possible_truncation)]
        {
            plan.hash = [hash as u64, (hash >> 64) as u64];
        }
        plan.row = row;
        plan.limit = limit;
        plan.overrides = overrides;
        let can_be_direct = overrides == Overrides::default() && limit.window().is_none();
        plan.is_direct = storage.is_some_and(<dyn Storage>::is_direct) && can_be_direct;
        Ok(old)
    }

    /// Returns the storage that the memo holds, or null.
    pub const fn storage(&self) -> &Zval {
        &self.held
    }
}

impl Plan {
    /// Returns a copy that holds the same identifier.
    pub fn copy(&self) -> Self {
        Self {
            identifier: self.identifier.shallow_clone(),
            ..*self
        }
    }

    /// Returns the step that takes a number of tokens. Fails if `number` is not a valid amount.
    #[inline(always)]
    pub fn step(&self, number: Number) -> Result<Step, AmountError> {
        if let Number::Int(int) = number
            && let Ok(whole) = u64::try_from(int)
        {
            return Ok(self.limit.step_whole(whole));
        }
        tokens::amount(number).map(|tokens| self.limit.step(tokens))
    }

    pub fn identifier(&self) -> Zval {
        self.identifier.shallow_clone()
    }

    /// Returns the bucket's key in its storage.
    #[inline]
    pub fn key(&self) -> Key<'_> {
        Key {
            identifier: value::bytes(&self.identifier),
            hash: u128::from(self.hash[0]) | u128::from(self.hash[1]) << 64,
            row: self.row,
        }
    }
}

/// A quota and the numbers that it was made from.
struct Latest {
    numbers: [Number; 2],
    grain: Grain,
    limit: Limit,
}

thread_local! {
    /// The latest quota, because most requests of a worker use the same one.
    static LATEST: RefCell<Latest> = const {
        RefCell::new(Latest {
            numbers: [Number::Int(1); 2],
            grain: Grain::Nanosecond,
            limit: Limit::ONE_A_SECOND,
        })
    };
}

/// Returns the quota of `number` tokens in each window. `shortest` is the length of the shortest
/// window in seconds.
pub fn counting(number: Number, shortest: u32) -> Result<Limit, LimitError> {
    match number {
        Number::Int(number) => Limit::counting(u64::try_from(number).unwrap_or(0), shortest),
        Number::Float(_) => Err(LimitError::NoCapacity),
    }
}

/// Returns the quota of a capacity and a rate.
pub fn limit(numbers: [Number; 2], grain: Grain) -> Result<Limit, LimitError> {
    LATEST.with_borrow_mut(|latest| {
        if (latest.numbers, latest.grain) != (numbers, grain) {
            let capacity = tokens::amount(numbers[0]).map_err(LimitError::Capacity)?;
            let rate = tokens::amount(numbers[1]).map_err(LimitError::Rate)?;
            latest.limit = Limit::new(capacity, rate, grain)?;
            latest.numbers = numbers;
            latest.grain = grain;
        }
        Ok(latest.limit)
    })
}

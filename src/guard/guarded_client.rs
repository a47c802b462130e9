//! `TokenBucket\GuardedClient`: the bucket of a client of the guard, for operators.
//!
//! PHP code can name these buckets only through this class. So its constructor checks that the
//! caller is an [`Operator`].

use super::operator::Operator;
use super::rules::{self, RuleBuckets};
use crate::{attached, classes, decision, exceptions, ini, storage, tokens};
use gcra::{Decision, Key, KeyHasher, Limit, Outcome, Put, Step, TICKS_PER_SECOND};
use guard::{Measure, Origin, Unnamed};
use segment::SharedMemory;
use std::cell::OnceCell;
use stores::printable;
use zend::{Call, Class, Object, State, Thrown, Zval, throw, value};

// The slots of the properties, in the order of their declaration.
const LIMIT: usize = 0;
const CLIENT: usize = 1;
const IDENTIFIER: usize = 2;

/// The bucket, and the operator that acts on it.
#[derive(Clone, Copy, Debug)]
struct Known {
    operator: Operator,
    limit: Limit,
    hasher: KeyHasher,
    origin: Option<Origin>,
}

/// The state of an object. Empty until the constructor has succeeded.
#[derive(Debug, Default)]
pub struct GuardedClient(OnceCell<Known>);

impl State for GuardedClient {
    const SLOTS: usize = IDENTIFIER + 1;
    const CLASS: &'static Class = &classes::GUARDED_CLIENT;
}

pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let host = attached::host().ok_or_else(detached)?;
    let text = call.string(1)?;
    call.array(2)?;
    // This check comes first, so that other code learns nothing from the errors below.
    let operator = Operator::of(host, call, 3)?;
    let rule = rules::named(host.slots(), text)
        .map_err(|message| throw::argument_value(1, &printable(message)))?;
    let Measure::Rate { limit, .. } = *rule.measure() else {
        let message = "must not have \"concurrent\", because its permits end with their requests";
        return Err(throw::argument_value(1, message));
    };
    let (identifier, origin) = bucket(call, &rule)?;
    let known = Known {
        operator,
        limit,
        hasher: rule.hasher(),
        origin,
    };
    let this = call.this::<GuardedClient>();
    if this.0.set(known).is_err() {
        let class = GuardedClient::CLASS.name();
        let message = format!("Cannot modify readonly property {class}::$limit");
        return Err(throw::error(&message));
    }
    let shown = origin.map(|origin| value::of_bytes(origin.to_string().as_bytes()));
    this.set_property(LIMIT, value::of_bytes(rule.name().as_bytes()));
    this.set_property(CLIENT, shown.unwrap_or_else(Zval::null));
    this.set_property(IDENTIFIER, value::of_bytes(&identifier));
    Ok(())
}

/// Returns the identifier of the bucket that argument 2 names, and its client or network.
fn bucket(call: &mut Call<'_>, rule: &RuleBuckets) -> Result<(Vec<u8>, Option<Origin>), Thrown> {
    let mut values = Vec::new();
    for (_, value) in call.array(2)? {
        let value = value::dereference(value).zend_str();
        let value = value.ok_or_else(|| throw::argument_type(2, "must contain only strings"))?;
        values.push(value.as_bytes());
    }
    rule.named(&values).map_err(|unnamed| {
        let message = match unnamed {
            Unnamed::Count(0) => "must be empty, because all clients share the bucket".to_owned(),
            Unnamed::Count(keys) => {
                format!("must have a value for each key of the limit in its order, {keys} in all")
            }
            Unnamed::Address => {
                "must have an address such as 192.0.2.1 or 2001:db8::1 for the key \"ip\""
                    .to_owned()
            }
            Unnamed::Network => {
                "must have a network such as 192.0.2.0/24 or 2001:db8:1::/48, or an address in it, for the key \"net\""
                    .to_owned()
            }
        };
        throw::argument_value(2, &message)
    })
}

/// Implements `peek(): TokenBucket\Decision`.
pub fn peek(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = Named::of(call.this())?.seen();
    Ok(())
}

/// Implements `reset(): void`.
pub fn reset(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let named = Named::of(call.this())?;
    let span = named.known.limit.span();
    named.store.put(named.key(), &Put::Reset { span });
    named.record("reset", "");
    Ok(())
}

/// Implements `block(float $seconds): TokenBucket\Decision`.
pub fn block(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let ticks = tokens::span(call.float(1)?, 1)?;
    let named = Named::of(call.this())?;
    named.refuse_exempt()?;
    let outcome = named.store.block_now(named.key(), &named.step(), ticks);
    if !outcome.granted() {
        *result = named.object(&named.step(), &outcome);
        return Ok(());
    }
    let seconds = ticks.div_ceil(TICKS_PER_SECOND);
    named.record("blocked", &format!(" for {seconds} s"));
    *result = named.seen();
    Ok(())
}

fn detached() -> Thrown {
    throw::error("The extension has no shared memory")
}

/// The bucket of an object, in shared memory.
struct Named {
    store: &'static SharedMemory,
    known: Known,
    identifier: Zval,
    limit: Zval,
}

impl Named {
    fn of(this: &Object<GuardedClient>) -> Result<Self, Thrown> {
        let unmade = storage::not_constructed::<GuardedClient>;
        Ok(Self {
            store: attached::store().ok_or_else(detached)?,
            known: this.0.get().copied().ok_or_else(unmade)?,
            identifier: this.copy_property(IDENTIFIER),
            limit: this.copy_property(LIMIT),
        })
    }

    fn key(&self) -> Key<'_> {
        self.known.hasher.key(value::bytes(&self.identifier))
    }

    fn step(&self) -> Step {
        self.known.limit.step_whole(1)
    }

    /// Returns the decision on a request of the client now.
    fn seen(&self) -> Zval {
        let step = self.step().dry();
        self.object(&step, &self.store.take(self.key(), &step, None))
    }

    fn object(&self, step: &Step, outcome: &Outcome) -> Zval {
        let limit = &self.known.limit;
        decision::to_object(limit, &Decision::new(limit, step, outcome))
    }

    /// Fails if the settings of this process list the client as a trusted proxy or as an allowed
    /// client. A block of a proxy would deny all clients behind it, and no limit counts an allowed
    /// client.
    fn refuse_exempt(&self) -> Result<(), Thrown> {
        let Some(origin) = self.known.origin else {
            return Ok(());
        };
        for (setting, name) in [
            (
                &ini::GUARD_TRUSTED_PROXIES,
                "tokenbucket.guard_trusted_proxies",
            ),
            (&ini::GUARD_ALLOW, "tokenbucket.guard_allow"),
        ] {
            let networks = rules::networks(self.store, setting);
            if networks.is_some_and(|it| origin.shares_an_address_with(&it)) {
                let message = format!("{name} has this client, so it is not blocked");
                return Err(exceptions::access_denied(&message));
            }
        }
        Ok(())
    }

    /// Records a change; see [`Operator::record`].
    fn record(&self, verb: &str, time: &str) {
        let whom = self
            .known
            .origin
            .map_or("a bucket".to_owned(), |origin| origin.to_string());
        let limit = String::from_utf8_lossy(value::bytes(&self.limit));
        let deed = format!("{verb} {whom}{time} of \"{limit}\"");
        self.known.operator.record(self.store, &deed);
    }
}

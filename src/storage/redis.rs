//! `TokenBucketStorageRedis`: buckets that hosts share, on Redis or a server compatible with it.

use super::remote::{RemoteStorage, StorageClass};
use super::{PermitPlace, Servers, arguments};
use crate::classes;
use segment::StoreKind;
use std::rc::Rc;
use stores::printable;
use stores::remote::redis::dsn::Dsn;
use stores::remote::redis::{Cmd, ServerReplies, Value};
use stores::remote::{Redis, Remote};
use zend::{Array, Call, Class, Number, Thrown, Zval, throw, value};

pub use super::redis_client::from_client;

impl StorageClass for Redis {
    const KIND: StoreKind = StoreKind::Redis;
    const CLASS: &'static Class = &classes::TOKEN_BUCKET_STORAGE_REDIS;

    fn servers<'a>(remote: &'a Remote<'static, Self>) -> Servers<'a> {
        Servers::Redis(remote)
    }

    fn permits(remote: &Rc<Remote<'static, Self>>) -> Option<PermitPlace> {
        Some(PermitPlace::Server(Rc::clone(remote)))
    }
}

/// The state of an object of the class.
pub type RedisStorage = RemoteStorage<Redis>;

/// The number of the argument `$takeAhead` of the constructor.
const TAKE_AHEAD: u32 = 7;

/// Implements `__construct(…)`. Throws `TypeError` or `ValueError` for an invalid argument.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let text = std::str::from_utf8(call.string(1)?)
        .map_err(|_| throw::argument_value(1, "must be valid UTF-8"))?;
    let unfit = |error| throw::argument_value(1, &format!("must {error}"));
    let dsn = Dsn::parse(text).map_err(unfit)?;
    let take_ahead = Dsn::take_ahead(text).map_err(unfit)?;
    let (prefix, settings) = arguments::remote(call)?;
    let settings = match call.count() {
        // The argument is stronger than the DSN, even if it is 0.
        TAKE_AHEAD.. => settings,
        _ => arguments::by_default(settings, take_ahead),
    };
    let server = dsn.public_name();
    let redis = Redis::new(dsn, prefix);
    RedisStorage::construct(call.this(), redis, settings, &server, prefix)
}

/// Implements `sendCommands(…)`. Throws `TypeError` or `ValueError` for an invalid argument.
pub fn send_commands(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let commands = value::entries(call.array(1)?);
    let commands = commands.map(|(_, words)| command(words));
    let commands: Vec<_> = commands.collect::<Result<_, _>>()?;
    if commands.is_empty() {
        return Err(throw::argument_value(1, "must not be empty"));
    }
    let timeout = arguments::timeout(call, 2)?;
    let address = call.string_or_null(3)?;
    let invalid = |error: &str| throw::argument_value(3, &format!("must {error}"));
    let address = address.map(std::str::from_utf8).transpose();
    let address = address.map_err(|_| invalid("be valid UTF-8"))?;
    let redis = call.this::<RedisStorage>().store()?.transport();
    let replies = redis.send_commands(address, &commands, timeout);
    let replies = replies.map_err(|error| invalid(&error.to_string()))?;
    let mut table = Array::new().into_zval();
    for server in &replies {
        let replies = match &server.replies {
            Ok(values) => list(server, values)?,
            Err(cause) => value::of_bytes(printable(cause.to_string()).as_bytes()),
        };
        value::insert(&mut table, server.server().as_bytes(), replies);
    }
    *result = table;
    Ok(())
}

/// Converts the words of a command.
fn command(words: &Zval) -> Result<Cmd, Thrown> {
    let words = value::elements(words);
    if words.is_empty() || !words.iter().all(|word| word.is_string()) {
        return Err(throw::argument_type(
            1,
            "must contain only lists of strings",
        ));
    }
    let mut command = Cmd::new();
    for word in words {
        command.arg(value::bytes(word));
    }
    Ok(command)
}

fn list(server: &ServerReplies, values: &[Value]) -> Result<Zval, Thrown> {
    let elements = values.iter().map(|value| element(server, value));
    let elements = elements.collect::<Result<Vec<_>, _>>()?;
    value::of_list(elements).ok_or(Thrown)
}

/// Converts a reply, or a part of one. An error becomes an array with the element `error`.
fn element(server: &ServerReplies, reply: &Value) -> Result<Zval, Thrown> {
    Ok(match reply {
        Value::Int(number) => Number::Int(*number).to_zval(),
        Value::BulkString(bytes) => value::of_bytes(bytes),
        Value::SimpleString(text) => value::of_bytes(text.as_bytes()),
        Value::Okay => value::of_bytes(b"OK"),
        Value::Array(values) => list(server, values)?,
        Value::ServerError(error) => {
            let mut refusal = Array::new();
            refusal.insert("error", printable(server.refused(error).to_string()))?;
            refusal.into_zval()
        }
        // The other kinds belong to a version of the protocol that the extension does not ask for.
        _ => Zval::null(),
    })
}

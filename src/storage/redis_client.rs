//! `TokenBucketStorageRedis::fromClient()`: makes the storage on the server that a client is
//! connected to.
//!
//! The settings are read through the client's methods, but the storage opens its own connection.
//! The client's own prefix (`Redis::OPT_PREFIX`) comes before every key, as in the keys that the
//! client writes. The client's serializer and compression do not apply, because the records are not
//! PHP values.

use super::arguments::{self, DEFAULT_PREFIX, DEFAULTS, Wanted};
use super::remote::RemoteStorage;
use gcra::boot_clock;
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Cause, Redis, Transport};
use zend::{Call, Obj, Thrown, Zval, invoke, throw, value};

/// The methods that this file calls. An object that has all these methods counts as a client.
const METHODS: [&str; 6] = [
    "isconnected",
    "gethost",
    "getport",
    "getauth",
    "getdbnum",
    "getoption",
];

/// The methods of a client of a cluster that this file calls.
const CLUSTER_METHODS: [&str; 2] = ["_masters", "getoption"];

/// Methods by which a client of several independent servers is recognised.
const ARRAY_METHODS: [&str; 2] = ["_hosts", "_target"];

/// `Redis::OPT_PREFIX`, which `RedisCluster::OPT_PREFIX` equals.
const OPT_PREFIX: i64 = 2;

/// A function that throws the exception for an unusable client. Its argument is the message, which
/// begins with "must" and shows no password.
pub type Unfit<'a> = &'a dyn Fn(&str) -> Thrown;

/// Returns true if the object has the methods of a Redis client.
pub fn is_client(object: Obj<'_>) -> bool {
    invoke::has_methods(object, &METHODS)
}

/// Returns a new storage on the client's server, with default settings.
pub fn storage_of(client: Obj<'_>, unfit: Unfit<'_>) -> Result<Zval, Thrown> {
    make(client, (DEFAULT_PREFIX, DEFAULTS), unfit)
}

/// Implements `fromClient(object $redis, …): static`. Throws `TypeError` or `ValueError` for an
/// unusable client.
pub fn from_client(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let held = call.arg(1).shallow_clone();
    let is_cluster = |object| invoke::has_methods(object, &CLUSTER_METHODS);
    let client = value::object(&held).filter(|&object| is_client(object) || is_cluster(object));
    let client = client.ok_or_else(|| {
        let is_array =
            value::object(&held).is_some_and(|it| invoke::has_methods(it, &ARRAY_METHODS));
        throw::argument_type(
            1,
            if is_array {
                "must be a client of type Redis or RedisCluster. A RedisArray places keys in other \
                 ways, so use a DSN that begins with redis+ring://"
            } else {
                "must be a client of type Redis or RedisCluster"
            },
        )
    })?;
    let wanted = arguments::remote(call)?;
    let unfit = |why: &str| throw::argument_value(1, why);
    *result = if is_cluster(client) {
        make_cluster(client, wanted, &unfit)?
    } else {
        make(client, wanted, &unfit)?
    };
    Ok(())
}

/// Makes the storage on the cluster of a `RedisCluster`. Such a client does not report whether it
/// has a password. To find out, the process asks the cluster for its slots, unless it knows them
/// already.
fn make_cluster(client: Obj<'_>, wanted: Wanted<'_>, unfit: Unfit<'_>) -> Result<Zval, Thrown> {
    let masters = invoke::method(client, "_masters", &mut [])?;
    let mut seeds = Vec::new();
    for master in value::elements(&masters) {
        let [host, port] = value::elements(master)[..] else {
            return Err(unfit("must list its servers"));
        };
        let host = text(host, "a host", unfit)?;
        let port = port.long().and_then(|port| u16::try_from(port).ok());
        seeds.push((host, port.unwrap_or_default()));
    }
    let mut option = [value::Number::Int(OPT_PREFIX).to_zval()];
    let root = invoke::method(client, "getoption", &mut option)?;
    let dsn = Dsn::of_cluster(&seeds).map_err(|error| unfit(&format!("must {error}")))?;
    let (prefix, settings) = wanted;
    let server = dsn.public_name();
    let redis = Redis::under(value::bytes(&root), dsn, prefix);
    if redis.route(b"").is_err()
        && let Err(Cause::Refused(text)) = redis.locate(b"", boot_clock() + settings.timeout)
        && text.starts_with("NOAUTH")
    {
        return Err(unfit(
            "must have no password, or be replaced by a DSN with the password",
        ));
    }
    let prefix = [value::bytes(&root), prefix].concat();
    RemoteStorage::create(redis, settings, &server, &prefix)
}

fn make(client: Obj<'_>, wanted: Wanted<'_>, unfit: Unfit<'_>) -> Result<Zval, Thrown> {
    let ask = |method, arguments: &mut [Zval]| invoke::method(client, method, arguments);
    let is_connected = ask("isconnected", &mut [])?;
    if !value::is_truthy(&is_connected) {
        return Err(unfit("must be connected"));
    }
    let host = ask("gethost", &mut [])?;
    let host = text(&host, "a host", unfit)?;
    let port = ask("getport", &mut [])?.long().unwrap_or_default();
    let database = ask("getdbnum", &mut [])?.long();
    let database = database.and_then(|number| u32::try_from(number).ok());
    let database = database.ok_or_else(|| unfit("must have a database"))?;
    let auth = ask("getauth", &mut [])?;
    let (user, password) = credentials(&auth, unfit)?;
    let mut option = [value::Number::Int(OPT_PREFIX).to_zval()];
    let root = ask("getoption", &mut option)?;
    // For a socket the client reports the port -1. Here 0 means no port.
    let port = u16::try_from(port).unwrap_or_default();
    let dsn = Dsn::of_client(&host, port, database, user, password);
    let dsn = dsn.map_err(|error| unfit(&format!("must {error}")))?;
    let (prefix, settings) = wanted;
    let server = dsn.public_name();
    let redis = Redis::under(value::bytes(&root), dsn, prefix);
    let prefix = [value::bytes(&root), prefix].concat();
    RemoteStorage::create(redis, settings, &server, &prefix)
}

/// Reads the result of `getAuth()`: nothing, a password, or a list of a user and a password.
fn credentials(auth: &Zval, unfit: Unfit<'_>) -> Result<(Option<String>, Option<String>), Thrown> {
    let elements = value::elements(auth);
    let (user, password) = match elements.as_slice() {
        [user, password] => (Some(*user), Some(*password)),
        [password] => (None, Some(*password)),
        _ => (None, auth.is_string().then_some(auth)),
    };
    let read = |value: Option<&Zval>| {
        let read = value.map(|value| text(value, "a user and a password", unfit));
        read.transpose()
    };
    Ok((read(user)?, read(password)?))
}

fn text(value: &Zval, what: &str, unfit: Unfit<'_>) -> Result<String, Thrown> {
    let text = value.is_string().then(|| value::bytes(value).to_vec());
    text.and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| unfit(&format!("must have {what} of valid UTF-8")))
}

//! Asks whether one script finds the records of all its keys.
//!
//! A proxy of several servers (twemproxy, Codis, predixy, Envoy) runs a script on the server of its
//! first key, where the script misses the records of its other keys. Buckets are then taken one by
//! one, as in a cluster. So the keys of a server count as scattered, unless the DSN states that
//! they are on one server, or the server answers these commands as a Redis does:
//!
//! - `HELLO`, which twemproxy and predixy refuse, and to which Envoy replies no id of the
//!   connection. Redis allows it to every user.
//! - `TIME`, which twemproxy, predixy and Codis refuse.
//! - A script that returns the address of a function, which differs between servers, for keys with
//!   random names. It finds most other proxies, too, but proves nothing by itself.
//!
//! A thread asks at its first call on several keys.

use super::Redis;
use super::node::code;
use crate::remote::{Cause, Transport, Visit};
use gcra::{KeyHasher, boot_clock};
use redis::{Cmd, ServerError, Value, cmd};
use std::cell::RefCell;

/// A script that runs on each of several keys.
const SERVER: &str = "return tostring(redis.call)";
const KEYS: usize = 16;
/// The most servers of a thread. The first one is forgotten, and then asked again.
const MOST: usize = 32;

thread_local! {
    /// The servers that were asked, and whether a script finds all its keys there.
    static ASKED: RefCell<Vec<(u64, bool)>> = const { RefCell::new(Vec::new()) };
}

fn known(server: u64) -> Option<bool> {
    ASKED.with_borrow(|all| all.iter().find(|it| it.0 == server).map(|it| it.1))
}

fn learn(server: u64, is_one: bool) {
    ASKED.with_borrow_mut(|all| {
        if all.len() == MOST {
            all.remove(0);
        }
        all.push((server, is_one));
    });
}

impl Redis {
    /// Returns true if one script finds the records of all keys, and `None` if the server must be
    /// asked. Meaningless for a cluster.
    pub(super) fn is_one_server(&self) -> Option<bool> {
        let topology = &self.topology;
        topology.dsn.one_server.or_else(|| known(topology.whole.id))
    }
}

impl Visit<'_, Redis> {
    /// Reports whether one script finds the records of all keys. Asks the server at the first call
    /// of a thread, which takes a round trip. Meaningless for a cluster.
    pub fn is_one_server(&self) -> Result<bool, Cause> {
        if let Some(is_one) = self.store.is_one_server() {
            return Ok(is_one);
        }
        let is_one = self.ask_whether_one()?;
        learn(self.store.topology.whole.id, is_one);
        Ok(is_one)
    }

    fn ask_whether_one(&self) -> Result<bool, Cause> {
        let node = &self.route.node;
        let questions = self.questions();
        let replies = match node.send(&questions, self.deadline) {
            // The connection may have been idle for too long.
            Err(Cause::Broken(_)) => node.send(&questions, self.deadline),
            replies => replies,
        };
        match replies {
            Ok(replies) => match &replies[..] {
                [_, _, Value::ServerError(error), ..] if is_passing(error) => {
                    Err(node.refused(error))
                }
                replies => Ok(is_one_server(replies)),
            },
            // Some proxies close the connection after a command that they do not know.
            Err(Cause::Broken(_)) => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    fn questions(&self) -> Vec<Cmd> {
        let mut hello = cmd("HELLO");
        hello.arg(2);
        let chance = boot_clock().0 ^ u64::from(std::process::id()) << 32;
        let on_key = |number: usize| {
            // With some hashes, neighbouring names would have one server.
            let hash = KeyHasher::new([chance; 2]).key(&number.to_ne_bytes()).hash;
            let name = self.store.name(format!("{hash:x}").as_bytes());
            let mut eval = cmd("EVAL");
            eval.arg(SERVER).arg(1).arg(name);
            eval
        };
        let keys = (0..KEYS).map(on_key);
        [hello, cmd("TIME")].into_iter().chain(keys).collect()
    }
}

/// Reports whether the server cannot run scripts at the moment.
fn is_passing(error: &ServerError) -> bool {
    matches!(error.code(), "BUSY" | "LOADING" | "MASTERDOWN" | "OOM")
}

/// Reports whether these are the replies of a Redis.
fn is_one_server(replies: &[Value]) -> bool {
    let [Value::Array(hello), time, servers @ ..] = replies else {
        return false;
    };
    // A Redis numbers its connections from 1. Envoy replies 0, or no number.
    let is_id = |field: &[Value]| matches!(field, [Value::BulkString(name), Value::Int(1..)] if name == b"id");
    let has_id = hello.chunks_exact(2).any(is_id);
    let tells_time = matches!(time, Value::Array(_)) || code(time) == "NOPERM";
    let is_first = |server: &Value| matches!(server, Value::BulkString(_)) && *server == servers[0];
    has_id && tells_time && servers.len() == KEYS && servers.iter().all(is_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_on_one_server_only_if_it_answers_as_a_redis() {
        let list = || Value::Array(vec![Value::Int(1)]);
        let hello = |id| Value::Array(vec![Value::BulkString(b"id".to_vec()), id]);
        let hello_of_redis = || hello(Value::Int(7));
        let error =
            |text: &str| redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
        let server = |name: &str| Value::BulkString(name.as_bytes().to_vec());
        let other = |place: usize| server(if place == 7 { "b" } else { "a" });
        let is_one = |hello, time, servers: fn(usize) -> usize| {
            let servers = (0..KEYS).map(|place| other(servers(place)));
            is_one_server(&[hello, time].into_iter().chain(servers).collect::<Vec<_>>())
        };
        assert!(is_one(hello_of_redis(), list(), |_| 0));
        let denied = "NOPERM this user has no permissions to run the 'time' command";
        assert!(
            is_one(hello_of_redis(), error(denied), |_| 0),
            "a user without +time"
        );
        assert!(!is_one(hello(Value::Int(0)), list(), |_| 0), "Envoy 1.40");
        assert!(!is_one(hello(Value::Nil), list(), |_| 0), "Envoy 1.37");
        assert!(
            !is_one(error("ERR unknown command"), list(), |_| 0),
            "predixy"
        );
        assert!(
            !is_one(hello_of_redis(), error("ERR not allowed"), |_| 0),
            "Codis"
        );
        assert!(
            !is_one(hello_of_redis(), list(), |place| place),
            "several servers"
        );
        assert!(!is_one_server(&[]));
    }

    #[test]
    fn a_thread_remembers_the_last_servers() {
        (0..=MOST as u64).for_each(|server| learn(server, server % 2 == 0));
        assert_eq!([0, 1, 2].map(known), [None, Some(false), Some(true)]);
    }
}

//! The simulated servers: Redis, whose scripts Lua itself runs.

use crate::buckets::{Known, known};
use crate::history::Change;
use crate::keys::{Keys, Value, bucket, is_bucket, number};
use crate::lua::Scripts;
use crate::plan::Plan;
use crate::world::{MICRO, WALL, World};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Lua checks one of so many results of [`crate::buckets`].
const CHECKED: u64 = 64;

pub struct Server {
    pub keys: Rc<RefCell<Keys>>,
    scripts: Scripts,
    /// The hashes of the scripts that it knows, and those that need no Lua.
    pub known: BTreeMap<Vec<u8>, Option<Known>>,
    pub refuses: bool,
    pub stopped_until: u64,
    /// The error of each command, while it cannot execute any.
    pub refusal: Option<&'static str>,
    /// The clock is ahead of the true one by this many microseconds.
    pub clock: i64,
    /// The keys as the replica has them, from the beginning of a failover.
    pub replica: Option<Keys>,
    /// The scripts that need no Lua so far.
    runs: u64,
}

impl Server {
    pub fn new(plan: &Plan) -> Self {
        let keys = Rc::new(RefCell::new(Keys::new(plan)));
        Self {
            scripts: Scripts::new(Rc::clone(&keys)),
            keys,
            known: BTreeMap::new(),
            refuses: false,
            stopped_until: 0,
            refusal: None,
            clock: 0,
            replica: None,
            runs: 0,
        }
    }

    /// Returns the server's time in microseconds.
    fn time(&self, now: u64) -> i64 {
        ((WALL + now) / MICRO).cast_signed() + self.clock
    }

    /// Returns the state of a bucket at an instant of the true clock.
    pub fn state(&self, bucket: usize, at: u64) -> Change {
        let (mut keys, clock) = (self.keys.borrow_mut(), self.clock * 1000);
        keys.now = self.time(at);
        let state = keys.state(bucket).cast_unsigned() * 1000;
        Change { at, state, clock }
    }

    /// Learns a script, and returns its hash.
    fn learn(&mut self, text: &[u8]) -> Vec<u8> {
        let hash = sha1_smol::Sha1::from(text)
            .digest()
            .to_string()
            .into_bytes();
        if !self.known.contains_key(&hash) {
            let sent = String::from_utf8_lossy(text);
            let text = planted_in(&sent);
            self.scripts.load(&hash, &text);
            let known = known(&text).filter(|_| text == sent);
            self.known.insert(hash.clone(), known);
        }
        hash
    }

    /// Runs a script on keys, and returns its reply.
    fn run(&mut self, hash: &[u8], keys: &[&[u8]], arguments: &[&[u8]]) -> Vec<u8> {
        let Some(known) = self.known[hash] else {
            return self.scripts.run(hash, keys, arguments);
        };
        self.runs += 1;
        let before = self.runs.is_multiple_of(CHECKED);
        let before = before.then(|| self.keys.borrow().clone());
        let reply = self.keys.borrow_mut().run(known, keys, arguments);
        let Some(reply) = reply else {
            return self.scripts.run(hash, keys, arguments);
        };
        if let Some(before) = before {
            let after = self.keys.replace(before);
            let by_lua = self.scripts.run(hash, keys, arguments);
            let by_lua = (&by_lua, &*self.keys.borrow());
            assert_eq!(
                (&reply, &after),
                by_lua,
                "Lua decides as Rust does: {known:?}"
            );
        }
        reply
    }
}

/// Returns the words of the first command in these bytes, and the bytes behind it.
fn command(bytes: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    fn line(bytes: &[u8]) -> Option<(usize, &[u8])> {
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        Some((number(&bytes[1..end - 1]) as usize, &bytes[end + 1..]))
    }
    let (count, mut rest) = line(bytes)?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, text) = line(rest)?;
        words.push(text.get(..length)?);
        rest = text.get(length + 2..)?;
    }
    Some((words, rest))
}

/// Faults of scripts: their numbers in planted.txt, what the script says, and what it says instead.
const PLANTED: [(u32, &str, &str); 14] = [
    (33, "if state < full then", "if false then"),
    (35, "free, taken = ARGV[2] + 0", "free, taken = 2 * ARGV[2]"),
    (36, "local state = start + extra", "local state = start"),
    (
        38,
        "free = math.min(math.max(free - later, 0), ARGV[6] + 0)",
        "",
    ),
    (
        39,
        "math.max(empty_at - cost, full(span))",
        "math.max(empty_at - cost, now - span)",
    ),
    (40, "if ahead[KEYS[1]] then", "if false then"),
    (41, "take_ahead(KEYS[1], extra, span)", ""),
    (42, "take_ahead(KEYS[1], cost, span)", ""),
    (
        43,
        "{ periods < 1 and older or newer, periods < 1 and newer or 0, least or kept }",
        "nil",
    ),
    (
        45,
        "done = call('ZREM', key, permit)",
        "done = call('ZSCORE', key, permit) and 1 or 0",
    ),
    (
        46,
        "call('ZREMRANGEBYSCORE', key, '-inf', text(now))",
        "local _",
    ),
    (
        47,
        "verb == 'renew' and call('ZSCORE', key, permit)",
        "verb == 'renew'",
    ),
    (
        50,
        "now >= start and now < finish",
        "now + 500000 >= start and now + 500000 < finish",
    ),
    (51, "record == (ARGV[3] or false)", "true"),
];

/// Returns a script with the fault that is planted in it.
fn planted_in(text: &str) -> String {
    let planted = PLANTED.iter().find(|it| crate::planted(it.0));
    planted.map_or_else(|| text.to_owned(), |(_, from, to)| text.replace(from, to))
}

impl World {
    /// Executes the commands that have arrived on a connection, and returns the replies.
    pub fn serve(&mut self, server: usize, connection: usize) -> Vec<u8> {
        let mut received = std::mem::take(&mut self.connections[connection].received);
        let (mut reply, mut rest) = (Vec::new(), &received[..]);
        while let Some((words, after)) = command(rest) {
            match self.execute(server, connection, &words) {
                Ok(text) if reply.is_empty() => reply = text,
                Ok(text) => reply.extend(text),
                Err(error) => reply.extend(format!("-{error}\r\n").bytes()),
            }
            rest = after;
        }
        let executed = received.len() - rest.len();
        received.drain(..executed);
        self.connections[connection].received = received;
        reply
    }

    /// Executes a command, and returns its reply or error.
    fn execute(&mut self, server: usize, place: usize, words: &[&[u8]]) -> Result<Vec<u8>, String> {
        let asking = std::mem::take(&mut self.connections[place].asking);
        let server = self.behind(server, words);
        let it = &mut self.servers[server];
        if let Some(refusal) = it.refusal {
            return Err(refusal.into());
        }
        let (hash, words) = match words {
            [b"ASKING"] => {
                self.connections[place].asking = true;
                return Ok(b"+OK\r\n".to_vec());
            }
            [b"CLUSTER", b"SLOTS"] => return Ok(self.slots().into_bytes()),
            // A client asks so whether it is the only server.
            [b"HELLO" | b"TIME", ..] if self.plan.is_proxied => {
                return Err("ERR unsupported command".into());
            }
            [b"HELLO", ..] => return Ok(b"*2\r\n$2\r\nid\r\n:1\r\n".to_vec()),
            [b"TIME"] => return Ok(b"*1\r\n:1\r\n".to_vec()),
            [b"EVAL", b"return tostring(redis.call)", ..] => {
                return Ok(format!("$1\r\n{server}\r\n").into_bytes());
            }
            [b"ZREM", key, ..] => return self.remove(server, key, words),
            [b"EVALSHA", hash, ..] if !it.known.contains_key(*hash) => {
                return Err("NOSCRIPT No matching script. Please use EVAL.".into());
            }
            [b"EVALSHA", hash, rest @ ..] => (Cow::Borrowed(*hash), rest),
            [b"EVAL", text, rest @ ..] => (Cow::Owned(it.learn(text)), rest),
            _ => panic!("a command: {}", String::from_utf8_lossy(words[0])),
        };
        let (keys, arguments) = words[1..].split_at(number(words[0]) as usize);
        if let Some(elsewhere) = self.elsewhere(server, asking, keys[0]) {
            return Err(elsewhere);
        }
        let reply = self.script(server, place, (&hash, keys, arguments));
        if crate::planted(37) && self.chance.one_in(200) {
            self.script(server, place, (&hash, keys, arguments));
        }
        Ok(reply)
    }

    /// Removes permits whose holders may not know that they have them.
    fn remove(&self, server: usize, key: &[u8], words: &[&[u8]]) -> Result<Vec<u8>, String> {
        if let Some(elsewhere) = self.elsewhere(server, false, key) {
            return Err(elsewhere);
        }
        let mut keys = self.servers[server].keys.borrow_mut();
        keys.now = self.servers[server].time(self.now);
        let Value::Number(count) = keys.command(words) else {
            unreachable!("ZREM counts");
        };
        Ok(format!(":{count}\r\n").into_bytes())
    }

    /// Runs a script, and notes what it changed.
    fn script(
        &mut self,
        server: usize,
        place: usize,
        (hash, keys, arguments): (&[u8], &[&[u8]], &[&[u8]]),
    ) -> Vec<u8> {
        let host = self.connections[place].worker % self.plan.hosts;
        let is_late = self.connections[place].is_closed;
        let it = &mut self.servers[server];
        let late = if crate::planted(32) {
            host as i64 * 50_000
        } else {
            0
        };
        let now = it.time(self.now) + late;
        it.keys.borrow_mut().now = now;
        if !is_bucket(keys[0]) {
            let reply = it.run(hash, keys, arguments);
            self.mix(reply.len() as u64);
            return reply;
        }
        let kept = crate::planted(30).then(|| it.keys.borrow().clone());
        let changes = it.keys.borrow().changes;
        let mut befores = [0; 4];
        for (before, key) in befores.iter_mut().zip(keys) {
            *before = it.keys.borrow_mut().state(bucket(key));
        }
        let reply = it.run(hash, keys, arguments);
        if it.keys.borrow().changes != changes {
            self.written(server, is_late, (keys, arguments), befores);
            if let Some(kept) = kept.filter(|_| self.chance.one_in(100)) {
                *self.servers[server].keys.borrow_mut() = kept;
            }
        }
        self.mix(reply.len() as u64);
        reply
    }

    /// Notes what a script has written. `befores` are the states before.
    fn written(
        &mut self,
        server: usize,
        is_late: bool,
        (keys, arguments): (&[&[u8]], &[&[u8]]),
        befores: [i64; 4],
    ) {
        let is_take = arguments[0][0].is_ascii_digit();
        let is_batch = arguments.len() == 4 * keys.len();
        for (index, key) in keys.iter().enumerate() {
            let (bucket, at) = (bucket(key), self.now);
            let change = self.servers[server].state(bucket, at);
            let (now, state) = (
                self.servers[server].time(at),
                (change.state / 1000).cast_signed(),
            );
            let token = self.plan.limits[bucket].token;
            self.history.changed(bucket, change);
            let span = number(arguments[if is_batch { 4 * index + 1 } else { 1 }]);
            let taken = (state - befores[index].max(now - span)).max(0) as u64 * 1000;
            if is_late && befores[index] == 0 {
                // A request that is executed after its deadline may restore a state that is too
                // late. The bucket holds fewer tokens then, and no more.
                let left = (now - state).max(0) as u64 * 1000 / token;
                self.history.restored(bucket, at, left);
            }
            if is_take && taken > 0 {
                let debt = arguments.get(5).filter(|_| !is_batch);
                let debt = debt.map_or(0, |it| number(it)).max(0) as u64 * 1000;
                let keeps = 2 * self.plan.take_ahead + debt;
                self.history.stored(bucket, at, (taken, token), keeps);
            }
        }
    }
}

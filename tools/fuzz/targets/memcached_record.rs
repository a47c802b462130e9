//! Runs the client against a memcached server that holds random values as records, locks and
//! counters.
//!
//! If a value is not a valid bucket or counter, the call must fail, and the value must stay
//! unchanged. Otherwise the decision must follow the rules of the throttle at an instant of the
//! call. Any record that is written must be a valid bucket.
#![no_main]

use compat::Wait;
use compat::minutes::{self, Counters, Life};
use compat::throttle::{self, SerializedBucket, Throttle};
use gcra::{TICKS_PER_SECOND, boot_clock};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use stores::remote::memcached::Memcached;
use stores::remote::memcached::servers::parse_servers;
use stores::remote::{Cause, Visit};

/// An item: flags, value and version.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    flags: u32,
    value: Vec<u8>,
    cas: u64,
}

static ITEMS: LazyLock<Mutex<HashMap<Vec<u8>, Item>>> = LazyLock::new(Mutex::default);

/// The number of accepted connections that the server has not yet read to their end.
static SERVED: AtomicUsize = AtomicUsize::new(0);

static SOCKET: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("tokenbucket-fuzz-{}.sock", std::process::id()));
    std::fs::remove_file(&path).ok();
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            SERVED.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(|| {
                serve(stream.expect("a connection"));
                SERVED.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    path
});

static MEMCACHED: LazyLock<Memcached> = LazyLock::new(|| {
    let servers = parse_servers([format!("unix://{}", SOCKET.display())]).expect("a server");
    Memcached::new(&servers, b"")
});

/// Replies to requests until the client closes the connection.
fn serve(mut stream: UnixStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut replies = Vec::new();
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
            return;
        }
        let words: Vec<_> = line.trim_ascii_end().split(|&byte| byte == b' ').collect();
        let mut value = Vec::new();
        if words[0] == b"ms" {
            let length: usize = text(words[2]).parse().expect("a length");
            value.resize(length + 2, 0);
            if reader.read_exact(&mut value).is_err() {
                return;
            }
            value.truncate(length);
        }
        replies.extend(match words[0] {
            b"mn" => b"MN\r\n".to_vec(),
            _ => answer(&words, value),
        });
        // The replies to requests that arrive in one write are sent in one write.
        if reader.buffer().is_empty() && stream.write_all(&std::mem::take(&mut replies)).is_err() {
            return;
        }
    }
}

fn text(word: &[u8]) -> &str {
    std::str::from_utf8(word).expect("text")
}

fn answer(words: &[&[u8]], value: Vec<u8>) -> Vec<u8> {
    let flags = &words[if words[0] == b"ms" { 3 } else { 2 }..];
    let argument = |letter: u8| {
        let flag = flags.iter().find(|flag| flag.first() == Some(&letter));
        flag.map(|flag| text(&flag[1..]))
    };
    let mut items = ITEMS.lock().expect("no poison");
    let key = words[1].to_vec();
    let found = items.get(&key).cloned();
    let next = items.values().map(|item| item.cas).max().unwrap_or(0) + 1;
    let is_changed = match (argument(b'C'), &found) {
        (Some(cas), Some(item)) => cas != item.cas.to_string(),
        _ => false,
    };
    let opaque = argument(b'O').expect("a number");
    let tell = |item: &Item, value: &[u8]| {
        let told = flags.iter().filter_map(|flag| match flag.first()? {
            b'f' => Some(format!(" f{}", item.flags)),
            b'c' => Some(format!(" c{}", item.cas)),
            b't' => Some(" t-1".to_owned()),
            _ => None,
        });
        let told: String = told.collect();
        let head = format!("VA {}{told} O{opaque}\r\n", value.len());
        [head.as_bytes(), value, b"\r\n"].concat()
    };
    let code = |code: &str| format!("{code} O{opaque}\r\n").into_bytes();
    match (words[0], found) {
        (b"mg", None) => b"EN\r\n".to_vec(),
        (b"mg", Some(item)) => tell(&item, &item.value),
        (b"ms", Some(_)) if argument(b'M').is_some() => code("NS"),
        (b"ms", None) if argument(b'C').is_some() => code("NF"),
        (b"ms" | b"md", Some(_)) if is_changed => code("EX"),
        (b"ms", _) => {
            let flags = argument(b'F').map_or(0, |flags| flags.parse().expect("flags"));
            items.insert(
                key,
                Item {
                    flags,
                    value,
                    cas: next,
                },
            );
            code("HD")
        }
        (b"md", None) => code("NF"),
        (b"md", Some(_)) => {
            items.remove(&key);
            code("HD")
        }
        (b"ma", found) => {
            let step = argument(b'D')
                .unwrap_or("1")
                .parse::<u64>()
                .expect("a step");
            let number = match (&found, argument(b'J')) {
                (Some(item), _) => minutes::parse(&item.value).map(|n| n.wrapping_add(step)),
                (None, Some(first)) => first.parse().ok(),
                (None, None) => return code("NF"),
            };
            let Some(number) = number else {
                let refusal = "cannot increment or decrement non-numeric value";
                return format!("CLIENT_ERROR {refusal}\r\n").into_bytes();
            };
            let item = Item {
                flags: found.map_or(0, |item| item.flags),
                value: number.to_string().into_bytes(),
                cas: next,
            };
            let reply = tell(&item, &item.value);
            items.insert(key, item);
            reply
        }
        (command, _) => panic!("{}", text(command)),
    }
}

#[derive(Arbitrary, Debug)]
enum Value {
    Bytes(Vec<u8>),
    Number(u64),
    /// The record of a throttle: the tokens, and the age of the record in milliseconds.
    Shaped(f64, i32),
    Serialized(String, String),
}

#[derive(Arbitrary, Debug)]
struct Input {
    record: Option<(bool, u32, Value)>,
    lock: Option<Value>,
    limit: f64,
    window: u32,
    counters: Vec<Option<Value>>,
    counts: bool,
}

impl Value {
    fn bytes(&self, now: i64) -> Vec<u8> {
        let shaped = |tokens: &str, filled: &str| {
            format!("a:2:{{s:6:\"tokens\";{tokens};s:6:\"filled\";{filled};}}").into_bytes()
        };
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Number(number) => number.to_string().into_bytes(),
            Self::Shaped(tokens, ago) => shaped(
                &format!("d:{tokens}"),
                &format!("d:{}", now - i64::from(*ago)),
            ),
            Self::Serialized(tokens, filled) => shaped(tokens, filled),
        }
    }
}

fn milliseconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("after 1970").as_millis() as i64
}

fn visit() -> Visit<'static, Memcached> {
    // If another client holds the lock, the call waits until its deadline. So that deadline is
    // short.
    let items = ITEMS.lock().expect("no poison");
    let lock = items.get(LOCK).and_then(|item| minutes::parse(&item.value));
    let is_theirs = lock.is_some_and(|lock| lock % 1_000 != 0);
    let deadline = boot_clock() + TICKS_PER_SECOND / if is_theirs { 250 } else { 50 };
    Visit::to(&*MEMCACHED, RECORD, deadline).expect("a server")
}

/// Reports whether a call failed because of a timeout or the connection. Such a call cannot be
/// checked. When this function returns, the server has executed all requests of the call.
fn is_late<T>(asked: &Result<T, Cause>) -> bool {
    let is_late = matches!(
        asked,
        Err(Cause::Timeout | Cause::Connect(_) | Cause::Broken(_))
    );
    if is_late {
        // The server accepts this connection after all earlier connections, which the client has
        // closed.
        let mut last = UnixStream::connect(&*SOCKET).expect("a connection");
        last.write_all(b"mn\r\n").expect("a request");
        last.read_exact(&mut [0; 4]).expect("a reply");
        while SERVED.load(Ordering::SeqCst) > 1 {
            std::thread::yield_now();
        }
    }
    is_late
}

const RECORD: &[u8] = b"record";
const LOCK: &[u8] = b"record_lock";

/// Makes one call and checks its result. Returns `false` if the call cannot be checked.
fn throttles(throttle: &Throttle) -> bool {
    let before = ITEMS.lock().expect("no poison").clone();
    let begun = milliseconds();
    let asked = throttle::take(&visit(), RECORD, throttle).map(Wait::admits);
    let ended = milliseconds();
    if is_late(&asked) {
        return false;
    }
    let after = ITEMS.lock().expect("no poison").clone();

    let record = before.get(RECORD);
    let bucket =
        record.map(|item| SerializedBucket::parse(&item.value).filter(|_| item.flags == 1));
    let lock = before.get(LOCK).map(|item| minutes::parse(&item.value));
    let is_readable = lock != Some(None);
    if bucket == Some(None) || !is_readable {
        assert!(matches!(asked, Err(Cause::Record)), "{asked:?}");
        assert_eq!(after.get(RECORD), record, "what is foreign stays");
        return true;
    }
    let found = bucket.flatten();
    let written = after.get(RECORD);
    if written != record {
        let item = written.expect("nothing is deleted");
        let bucket = SerializedBucket::parse(&item.value).expect("a bucket");
        assert_eq!((item.flags, bucket.print().as_bytes()), (1, &*item.value));
    }
    let granted = asked.unwrap_or_else(|cause| panic!("{cause}"));
    let stands = written.map(|item| SerializedBucket::parse(&item.value).expect("a bucket"));
    // The decision must be right for some instant during the call, or the call was denied at its
    // deadline.
    let is_right = (begun..=ended).any(|now| {
        let (verdict, bucket) = throttle.take(found, now);
        (verdict, Some(bucket)) == (granted, stands)
    });
    assert!(
        is_right || (!granted && written == record),
        "{found:?} {stands:?} {granted}"
    );
    // If another client held the lock before the call, the lock must still exist.
    let theirs = lock.flatten().unwrap_or(0) % 1_000;
    let left = after.get(LOCK);
    let left = left
        .and_then(|item| minutes::parse(&item.value))
        .unwrap_or(0);
    assert!(theirs == 0 || left > 0);
    true
}

fn count(keys: &[Vec<u8>], counts: bool) {
    let before = ITEMS.lock().expect("no poison").clone();
    let life = counts.then(|| Life::new(5, 120));
    let counted = Memcached::count(&visit(), keys, life);
    let after = ITEMS.lock().expect("no poison").clone();
    let value = |key: &Vec<u8>| {
        before
            .get(key)
            .map_or(Some(0), |item| minutes::parse(&item.value))
    };
    let up = |place: usize, value: u64| value.wrapping_add(u64::from(counts && place == 0));
    let values = keys
        .iter()
        .enumerate()
        .map(|(place, key)| value(key).map(|value| up(place, value)));
    let expected: Option<Vec<u64>> = values.collect();
    if is_late(&counted) {
        return;
    }
    match (&counted, &expected) {
        (Ok(counted), Some(expected)) => assert_eq!(counted, expected),
        (Err(Cause::Record), None) => {}
        _ => panic!("{counted:?} of {expected:?}"),
    }
    let first = keys.first().map_or(&[][..], |key| key.as_slice());
    for (key, item) in &before {
        let is_counted = counts && key == first && minutes::parse(&item.value).is_some();
        assert!(
            is_counted || after.get(key) == Some(item),
            "only the first is counted"
        );
    }
}

fuzz_target!(|input: Input| {
    let now = milliseconds();
    let mut items = HashMap::new();
    let item = |value: &Value, flags| Item {
        flags,
        value: value.bytes(now),
        cas: 7,
    };
    if let Some((is_serialized, flags, value)) = &input.record {
        let flags = if *is_serialized { 1 } else { *flags };
        items.insert(RECORD.to_vec(), item(value, flags));
    }
    if let Some(value) = &input.lock {
        items.insert(LOCK.to_vec(), item(value, 0));
    }
    let keys: Vec<_> = (0..input.counters.len().min(8))
        .map(|n| format!("c{n}").into_bytes())
        .collect();
    for (key, counter) in keys.iter().zip(&input.counters) {
        if let Some(value) = counter {
            items.insert(key.clone(), item(value, 768));
        }
    }
    *ITEMS.lock().expect("no poison") = items;
    if let Some(limits) = Throttle::new(input.limit, i64::from(input.window))
        && !(0..3).all(|_| throttles(&limits))
    {
        return;
    }
    count(&keys, input.counts);
});

//! Runs the client against a Redis server whose replies are random bytes.
#![no_main]

include!("server.inc.rs");

use compat::json_bucket;
use compat::leaky_bucket::{self, Family, Limits};
use compat::minutes::{Life, MinuteCounters};
use gcra::{Grain, Limit, Tokens};
use libfuzzer_sys::fuzz_target;
use redis::Value;
use stores::remote::redis::Redis;
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Cause, Wanted};

static REDIS: LazyLock<Redis> = LazyLock::new(|| {
    let dsn = format!("unix://{}?password=geheim-geheim", SOCKET.display());
    Redis::new(Dsn::parse(&dsn).expect("a DSN"), b"prefix:")
});

/// Returns the reply to the script, which follows the reply to AUTH. Returns `None` if a reply is
/// invalid or AUTH has failed.
fn script_reply(mut bytes: &[u8]) -> Option<Value> {
    let mut parser = redis::Parser::new();
    let mut next = || parser.parse_value(&mut bytes).ok();
    match (next()?, next()?) {
        (Value::ServerError(_), _) => None,
        (_, Value::ServerError(error)) if error.code() == "NOSCRIPT" => next(),
        (_, reply) => Some(reply),
    }
}

/// Calls the limiters that have their own records. Each grant, count and list in a result must come
/// from a reply of the expected form.
fn other_records(answer: &[u8], told: impl Fn(Cause) + Copy) {
    let reply = script_reply(answer);
    let visit = || visit(&*REDIS, TICKS_PER_SECOND);
    let numbers: Option<Vec<i64>> = match &reply {
        Some(Value::Array(list)) => {
            let number = |value: &Value| match *value {
                Value::Int(number) => Some(number),
                _ => None,
            };
            list.iter().map(number).collect()
        }
        _ => None,
    };
    let quota = Limit::within(Tokens::ONE, 60 * TICKS_PER_SECOND, Grain::Microsecond);
    let family = Family {
        action: None,
        limits: Limits {
            period: NonZero::new(30).expect("not 0"),
            limit: 6,
        },
    };
    match json_bucket::take(&visit(), b"json", &quota.expect("a quota")) {
        Ok(wait) => {
            assert!(
                matches!(reply, Some(Value::Int(number @ 0..)) if wait.admits() == (number == 0))
            );
        }
        Err(cause) => told(cause),
    }
    match leaky_bucket::request(&visit(), &family, 3, b"client-action") {
        Ok(request) => {
            let numbers = numbers.as_deref().expect("numbers");
            assert_eq!((numbers.len(), numbers[0]), (2, request.hits));
            assert_eq!(request.wait.admits(), numbers[1] == 0);
        }
        Err(cause) => told(cause),
    }
    match Redis::count(&visit(), &[b"minute".to_vec()], Some(Life::new(5, 120))) {
        Ok(counts) => {
            let counts: Vec<_> = counts.into_iter().map(u64::cast_signed).collect();
            assert_eq!(Some(counts), numbers);
        }
        Err(cause) => told(cause),
    }
    match leaky_bucket::locked(&visit(), 10) {
        Ok(rows) => {
            let Some(Value::Array(reply)) = &reply else {
                panic!("a list from none");
            };
            assert_eq!(2 * rows.len(), reply.len());
        }
        Err(cause) => told(cause),
    }
}

fuzz_target!(|answer: &[u8]| {
    // The first time, the random bytes follow a valid reply to AUTH. The second time, the random
    // bytes replace that reply.
    for head in [b"+OK\r\n".as_slice(), b""] {
        *ANSWER.lock().expect("no poison") = [head, answer].concat();
        let told = |cause: Cause| {
            assert!(!cause.to_string().contains("geheim-geheim"));
        };
        let visit = || visit(&*REDIS, TICKS_PER_SECOND);
        let [plain, ..] = requests();
        let (extra, life) = (4_000_000, 1_000_000);
        let slice = StepRequest {
            wanted: Wanted::Slice {
                estimate: 0,
                extra,
                life,
            },
            ..plain
        };
        for request in requests().into_iter().chain([slice]) {
            match Redis::take(&visit(), &request) {
                Ok(reply) => {
                    check(&request.step, &reply.outcome);
                    assert!(request.wanted == Wanted::Call || reply.extra <= extra);
                }
                Err(cause) => told(cause),
            }
        }
        Redis::take_all(&visit(), &requests()).map_err(told).ok();
        for put in &PUTS {
            Redis::put(&visit(), b"name", put, Some(3))
                .map_err(told)
                .ok();
        }
        other_records(&[head, answer].concat(), told);
    }
});

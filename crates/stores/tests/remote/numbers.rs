//! Tests that a script passes a number to a command only if Redis cannot write this number with an
//! exponent.

use testkit::Redis;

const RECORD: &str = include_str!("../../src/remote/redis/record.lua");
const CLOCK: &str = include_str!("../../src/remote/redis/clock.lua");
const BUCKET: &str = include_str!("../../src/remote/redis/bucket.lua");
const STEP: &str = include_str!("../../src/remote/redis/step.lua");
const TAKE: &str = include_str!("../../src/remote/redis/take.lua");
const TAKE_ALL: &str = include_str!("../../src/remote/redis/take_all.lua");
const PUT: &str = include_str!("../../src/remote/redis/put.lua");

const PERMITS: &str = include_str!("../../src/remote/redis/permits.lua");

/// Runs a script on the key "bucket". Its reply must be whole numbers.
fn run(redis: &Redis, parts: &[&str], arguments: &[&str]) {
    let reply = redis.run_strictly(&parts.concat(), "bucket", arguments);
    let is_number = |line: &str| line.parse::<u64>().is_ok();
    assert!(reply.lines().all(is_number), "{reply}");
}

#[test]
fn no_script_passes_a_number_that_may_be_written_with_an_exponent() {
    // Numbers up to 2^40 that end with 1 are never written with an exponent. With this span, a
    // key's lifetime in milliseconds ends with 1 only if the script sees to that.
    const HOUR: &str = "3600005000";
    let redis = Redis::start(&[]);
    let take = [CLOCK, TAKE, RECORD, BUCKET, STEP];
    let put = [RECORD, CLOCK, BUCKET, PUT];
    // The first call makes the record, and the second one changes it.
    run(&redis, &take, &["1000", HOUR, ""]);
    run(&redis, &take, &["1000", HOUR, ""]);
    // A debt.
    run(&redis, &take, &["1000", "1", "", "1", "0", "9000000"]);
    run(
        &redis,
        &put,
        &["refund", "1000", HOUR, "", "4503599627370496"],
    );
    run(&redis, &put, &["reset", HOUR]);
    run(&redis, &put, &["bootstrap", HOUR, HOUR]);
    run(
        &redis,
        &[RECORD, CLOCK, BUCKET, TAKE_ALL],
        &["1000", HOUR, "", "0"],
    );
    // A key without an expiry is written by another command of the script.
    redis.cli(&["PERSIST", "bucket"]);
    run(&redis, &take, &["1000", HOUR, ""]);
    redis.cli(&["DEL", "bucket"]);
    // The script must pass leases and their ends as text, because these numbers need not end with
    // 1.
    for arguments in [
        ["acquire", "a:100000000", "9"],
        ["renew", "a:100000000", ""],
        ["acquire", "b:10000000000", "9"],
        ["acquire", "c:1", "9"],
        ["held", "", ""],
        ["release", "a:100000000", ""],
    ] {
        run(&redis, &[CLOCK, PERMITS], &arguments);
    }
    // The clock was set back.
    redis.cli(&["ZADD", "bucket", "XX", "4000000000000000", "b:10000000000"]);
    run(&redis, &[CLOCK, PERMITS], &["acquire", "d:1", "9"]);
}

#[test]
#[should_panic(expected = "the number 10")]
fn a_number_that_may_be_written_with_an_exponent_is_noticed() {
    let script = "return redis.call('SET', KEYS[1], 10)";
    run(&Redis::start(&[]), &[script], &[]);
}

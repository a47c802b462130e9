//! What the class declares: constants, properties, methods and their parameters.

use super::bucket::{Bucket, CLASS};
use super::{attempt, attempt_all, consume, overrides, refund, wait};
use crate::zend::class::{Constant, Declaration, Property};
use crate::zend::declare::{
    END, Entry, Info, Table, Type, entry, handlers, optional, required, returns,
};
use ext_php_rs::ffi::{ZEND_ACC_PRIVATE, ZEND_ACC_PROTECTED, ZEND_ACC_PUBLIC, ZEND_ACC_STATIC};

static CONSTRUCT: Table<[Info; 5]> = Table([
    returns(4, Type::NONE),
    required(c"storage", Type::class(c"TokenBucketStorage")),
    required(c"identifier", Type::NONE),
    required(c"bucket_capacity", Type::NONE),
    required(c"tokens_per_second", Type::NONE),
]);
static COMPARE: Table<[Info; 3]> = Table([
    returns(2, Type::NONE),
    required(c"m1", Type::NONE),
    required(c"m2", Type::NONE),
]);
static CONSUME: Table<[Info; 2]> = Table([
    returns(0, Type::NONE),
    optional(c"token_count", Type::NONE, c"1"),
]);
const DECISION: Type = Type::class(c"TokenBucket\\Decision");
static ATTEMPT: Table<[Info; 2]> = Table([
    returns(0, DECISION),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static WAIT: Table<[Info; 3]> = Table([
    returns(1, DECISION),
    required(c"timeout", Type::FLOAT),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static REFUND: Table<[Info; 2]> = Table([
    returns(0, Type::VOID),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static RESET: Table<[Info; 1]> = Table([returns(0, Type::VOID)]);
static ATTEMPT_ALL: Table<[Info; 3]> = Table([
    returns(1, DECISION),
    required(c"buckets", Type::ARRAY),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static BOOTSTRAP: Table<[Info; 2]> = Table([
    returns(1, Type::NONE),
    required(c"initialTokens", Type::NONE),
]);
static TO_SECONDS: Table<[Info; 2]> =
    Table([returns(1, Type::NONE), required(c"tokens", Type::NONE)]);
static TO_TOKENS: Table<[Info; 2]> =
    Table([returns(1, Type::NONE), required(c"seconds", Type::NONE)]);

handlers! {
    construct_handler => consume::construct;
    compare_handler => overrides::compare_microtimes;
    consume_handler => consume::consume;
    attempt_handler => attempt::attempt;
    peek_handler => attempt::peek;
    wait_handler => wait::wait;
    refund_handler => refund::refund;
    reset_handler => refund::reset;
    attempt_all_handler => attempt_all::attempt_all;
    bootstrap_handler => overrides::protected_bootstrap;
    to_seconds_handler => overrides::tokens_to_seconds;
    to_tokens_handler => overrides::seconds_to_tokens;
}

const PUBLIC: u32 = ZEND_ACC_PUBLIC;
const PUBLIC_STATIC: u32 = ZEND_ACC_PUBLIC | ZEND_ACC_STATIC;

static METHODS: Table<[Entry; 13]> = Table([
    entry(
        c"compare_microtimes",
        compare_handler,
        &COMPARE.0,
        PUBLIC_STATIC,
    ),
    entry(c"__construct", construct_handler, &CONSTRUCT.0, PUBLIC),
    entry(c"consume", consume_handler, &CONSUME.0, PUBLIC),
    entry(c"attempt", attempt_handler, &ATTEMPT.0, PUBLIC),
    entry(c"peek", peek_handler, &ATTEMPT.0, PUBLIC),
    entry(c"wait", wait_handler, &WAIT.0, PUBLIC),
    entry(c"refund", refund_handler, &REFUND.0, PUBLIC),
    entry(c"reset", reset_handler, &RESET.0, PUBLIC),
    entry(
        c"attemptAll",
        attempt_all_handler,
        &ATTEMPT_ALL.0,
        PUBLIC_STATIC,
    ),
    entry(
        c"_bootstrap",
        bootstrap_handler,
        &BOOTSTRAP.0,
        ZEND_ACC_PROTECTED,
    ),
    entry(
        c"_tokens_to_seconds",
        to_seconds_handler,
        &TO_SECONDS.0,
        ZEND_ACC_PROTECTED,
    ),
    entry(
        c"_seconds_to_tokens",
        to_tokens_handler,
        &TO_TOKENS.0,
        ZEND_ACC_PROTECTED,
    ),
    END,
]);

pub fn register() {
    let declaration = Declaration {
        name: c"TokenBucket",
        flags: 0,
        methods: &METHODS,
        constants: &[
            Constant::Float(c"MILLISECOND", 0.001),
            Constant::Int(c"SECOND", 1),
            Constant::Int(c"MINUTE", 60),
            Constant::Int(c"HOUR", 3_600),
            Constant::Int(c"DAY", 86_400),
            Constant::Int(c"WEEK", 604_800),
            Constant::Float(c"MICROTIME_DELTA", overrides::MICROTIME_DELTA),
        ],
        properties: &[
            Property::Untyped(c"_storage", ZEND_ACC_PRIVATE),
            Property::Untyped(c"_identifier", ZEND_ACC_PROTECTED),
            Property::Untyped(c"_bucket_capacity", ZEND_ACC_PROTECTED),
            Property::Untyped(c"_tokens_per_second", ZEND_ACC_PROTECTED),
        ],
        cloneable: true,
    };
    CLASS.register::<Bucket, _>(&declaration, &[]);
}

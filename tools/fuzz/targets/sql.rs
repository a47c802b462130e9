//! Tests random identifiers, table names and numbers from a database.
//!
//! Checks that two identifiers never share a row, under any collation of the column, and that a
//! table name does not change the rest of a statement. Also checks that a reply is accepted only
//! for its own call.
#![no_main]

use gcra::Timestamp;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use stores::sql::{Dialect, Query, Table, reply, stored};

/// Returns the form of a name that a column compares if it ignores case and trailing white space.
fn folded(name: &[u8]) -> Vec<u8> {
    name.trim_ascii_end().to_ascii_lowercase()
}

fn names(first: &[u8], second: &[u8]) {
    for identifier in [first, second] {
        let name = stored(identifier);
        assert!(name.len() <= 255 && name.iter().all(|byte| (b' '..=b'~').contains(byte)));
        assert_eq!(folded(&name), &*name);
        // A stored name that equals its identifier is stored unchanged again. A stored hash would
        // be hashed again.
        assert_eq!(*name == *identifier, *stored(&name) == *name);
    }
    assert_eq!(
        first == second,
        folded(&stored(first)) == folded(&stored(second))
    );
}

/// Returns the text of a statement with `<table>` and `<name>` instead of the names.
fn bare(query: Query, dialect: Dialect, name: &str, spans: bool) -> String {
    let table = Table::parse(name.as_bytes(), dialect).expect("a name");
    assert_eq!(table.shown(), name);
    let statement = query.statement(&table, spans);
    assert_eq!(statement.text.matches('?').count(), statement.binds.len());
    let quoted = table.quoted();
    let mut text = statement.text.replace(&format!("'{quoted}'"), "<name>");
    text = text.replace(&quoted, "<table>");
    for part in name.split('.') {
        text = text.replace(&format!("'{part}'"), "<name>");
    }
    text
}

fn table(name: &[u8]) {
    for dialect in Dialect::ALL {
        if Table::parse(name, dialect).is_err() {
            continue;
        }
        let name = std::str::from_utf8(name).expect("a name is text");
        let plain = if name.contains('.') {
            "plain.table"
        } else {
            "table"
        };
        for query in Query::ALL {
            for spans in [false, true] {
                assert_eq!(
                    bare(query, dialect, name, spans),
                    bare(query, dialect, plain, spans)
                );
            }
        }
    }
}

fn answers(number: i64, age: i64, cost: i64, call: u64, other: u64) {
    let tag = reply::tag(call);
    if let Some(answer) = reply::answer(number, tag) {
        let bits = i64::from(answer.absent) * 2 + i64::from(answer.granted);
        assert_eq!(tag + 4 * answer.age + bits, number);
        assert_eq!(
            call % 32 == other % 32,
            reply::answer(number, reply::tag(other)).is_some()
        );
        // Smaller numbers could be the ids of rows in other tables.
        assert!(number >= 1 << 62);
    }
    // Limits the age to less than 2^53 microseconds, negative or positive.
    let (age, cost) = (age % (1 << 53), cost.rem_euclid((1 << 50) + 1));
    for bits in 0..4 {
        let answer = reply::answer(tag + 4 * age + bits, tag).expect("an answer");
        assert_eq!(
            (answer.age, answer.absent, answer.granted),
            (age, bits & 2 != 0, bits & 1 != 0)
        );
    }
    assert_eq!(tag + 4 * age >= reply::least(tag, cost), age >= cost);
    let absent = reply::answer(reply::absent(tag), tag).expect("an answer");
    assert!(absent.absent && absent.granted);

    let _ = reply::is_foreign(number, age);
    let instant = reply::instant(number);
    // Converting microseconds to an instant and back loses nothing. An age is rounded down to whole
    // microseconds.
    assert!(instant == Timestamp::MAX || reply::micros(instant.0) == number.max(0));
    let micros = reply::micros_ago(number);
    assert!(
        micros
            .checked_mul(1_000)
            .is_none_or(|ago| ago <= number && number - ago < 1_000)
    );
}

#[derive(Arbitrary, Debug)]
struct Input {
    identifiers: (Vec<u8>, Vec<u8>),
    table: Vec<u8>,
    number: i64,
    age: i64,
    cost: i64,
    call: u64,
    other: u64,
}

fuzz_target!(|input: Input| {
    names(&input.identifiers.0, &input.identifiers.1);
    table(&input.table);
    answers(input.number, input.age, input.cost, input.call, input.other);
});

//! The results of statements.
//!
//! `MySQL` replies with one number, which combines a bucket's age and flags:
//!
//! ```text
//! bit 62    always set, so that an id of another table is hardly ever mistaken for a reply
//! 57 - 61   the number of the call, so that the reply to another call is not accepted
//! 0 - 56    4 * (age + 2^54), + 3 for a bucket that had no record, otherwise + 1 for a grant,
//!           + 2 for a record of shorter spans
//! ```
//!
//! The reply to a plain step has no + 1 for a grant. The step was granted if the age is at least
//! its cost. A bucket that was full was empty in 1970. The age is the server's clock minus the
//! state before the step, in microseconds.

use super::Table;
use gcra::{TICKS_PER_MICROSECOND, Ticks, Timestamp};

const MARK: i64 = 1 << 62;
const ZERO: i64 = 4 << 54;

/// The greatest distance of a bucket's state from the clock, in microseconds. Spans and debts are
/// at most 2^60 ns, so a state beyond this distance does not come from a bucket.
const FARTHEST: i64 = 1 << 51;

/// Returns the mark of call number `call`, to which the reply adds the age and the flags.
pub const fn tag(call: u64) -> i64 {
    MARK + ((call % 32) << 57).cast_signed() + ZERO
}

/// Returns the reply for a bucket that had no record. Its step was granted.
pub const fn absent(tag: i64) -> i64 {
    tag + 3
}

/// Returns the least reply to a plain step that was granted. Costs are at most 2^50 microseconds.
pub const fn least(tag: i64, cost: i64) -> i64 {
    tag + 4 * cost
}

/// Returns the least reply for a bucket that was full.
pub const fn full(tag: i64) -> i64 {
    tag + 2 * FARTHEST
}

/// Returns the statement that sets the last insert id of a `MySQL` connection to `id`, which is not
/// 0. The statement inserts no row. It is an `INSERT`, because only a statement that may insert
/// reports the id to the client.
pub fn restore(table: &Table, id: u64) -> String {
    let table = table.quoted();
    format!(
        "INSERT INTO {table} (identifier, microtime) SELECT '', 0 FROM DUAL WHERE LAST_INSERT_ID({id}) = 0"
    )
}

/// Returns the statement of `MySQL` that lists the columns with `AUTO_INCREMENT`. It also finds
/// those of a temporary table.
pub fn numbering(table: &Table) -> String {
    let table = table.quoted();
    format!("SHOW COLUMNS FROM {table} WHERE Extra LIKE '%auto_increment%'")
}

/// A decoded reply of `MySQL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MysqlReply {
    /// The microseconds since the bucket was empty; negative if it is in debt.
    pub age: i64,
    /// True if the bucket had no record.
    pub absent: bool,
    /// True if the reply has the flag of a grant. The reply to a plain step on a record never has
    /// this flag.
    pub granted: bool,
    /// True if only steps of shorter spans took from the bucket since it was last full.
    pub shorter: bool,
}

/// The reply for a bucket that had no record.
pub const CREATED: MysqlReply = MysqlReply {
    age: 0,
    absent: true,
    granted: true,
    shorter: false,
};

/// Decodes a reply. Returns `None` if `number` is not the reply to the call with the mark `tag`.
pub fn answer(number: i64, tag: i64) -> Option<MysqlReply> {
    let low = number.checked_sub(tag)?;
    (-ZERO..ZERO).contains(&low).then_some(MysqlReply {
        age: low >> 2,
        absent: low & 3 == 3,
        granted: low & 1 != 0,
        shorter: low & 3 == 2,
    })
}

/// Reports whether a row with this `state` is not one of our buckets, because it has no value or a
/// value in another unit.
pub const fn is_foreign(state: i64, now: i64) -> bool {
    state.saturating_sub(now) > FARTHEST
}

/// Converts microseconds since the epoch to an instant. An instant before the epoch becomes
/// [`Timestamp::ZERO`], the state of a full bucket.
pub fn instant(micros: i64) -> Timestamp {
    let micros = u64::try_from(micros).unwrap_or(0);
    Timestamp(micros.saturating_mul(TICKS_PER_MICROSECOND))
}

/// Converts ticks to microseconds. The ticks must be below 2^62 and a whole number of microseconds.
pub const fn micros(ticks: Ticks) -> i64 {
    (ticks / TICKS_PER_MICROSECOND).cast_signed()
}

/// Converts an age from ticks to microseconds. Rounds down, because a bucket that was empty later
/// holds less.
pub const fn micros_ago(age: i64) -> i64 {
    age.div_euclid(TICKS_PER_MICROSECOND.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_apart() {
        for call in [0, 1, 31, 32, 77] {
            let tag = tag(call);
            assert!(tag > 0);
            for age in [0, 1, -1, 9_000_000_000_000_000, -9_000_000_000_000_000] {
                let number = tag + 4 * age + 1;
                let found = answer(number, tag).unwrap();
                assert_eq!((found.age, found.absent, found.granted), (age, false, true));
            }
            let first = answer(absent(tag), tag).unwrap();
            assert!(first.absent && first.granted);
            let shorter = answer(tag - 4 + 2, tag).unwrap();
            assert!(shorter.shorter && !shorter.absent && !shorter.granted);
            assert_eq!(shorter.age, -1);
        }
    }

    #[test]
    fn ids_of_others_are_no_answers() {
        for number in [0, 1, 17, i64::MAX, -1, i64::MIN] {
            assert_eq!(answer(number, tag(3)), None);
        }
        assert_eq!(answer(tag(4) + 1, tag(3)), None);
    }

    #[test]
    fn rows_of_others_are_told_by_their_distance() {
        let now = 1_790_000_000_000_000;
        assert!(is_foreign(9_000_000_000_000_000, now));
        assert!(!is_foreign(now + (1 << 50), now));
        assert!(!is_foreign(-5, now));
    }
}

//! The records of lockouts in a table.
//!
//! A state is an instant and eleven bits; see [`gcra::lockout`]. A double keeps 53 bits. So a
//! record keeps instants in units of 2^20 ticks, which is about a millisecond:
//!
//! ```text
//! record = instant / 2^20 * 2^11 + bits
//! ```
//!
//! From 1971 on, a record is greater than the number of any bucket, which is in seconds.

use gcra::{Ticks, Timestamp};

/// The unit of the instants, in ticks.
pub const UNIT: Ticks = 1 << 20;

/// The number of bits of a state that are no part of its instant.
const BITS: u32 = 11;

/// A number that no bucket reaches, and that records have exceeded since 1971.
const LEAST: i64 = 1 << 45;

/// The record of a state whose instant is a multiple of [`UNIT`] below 2^62. It is below 2^53.
pub const fn record(Timestamp(state): Timestamp) -> i64 {
    let bits = state & ((1 << BITS) - 1);
    ((state / UNIT) << BITS | bits).cast_signed()
}

/// Returns the state of a record; 0 is a missing one. Returns `None` if the row holds no lockout.
pub const fn state(record: i64) -> Option<Timestamp> {
    match record {
        0 => Some(Timestamp::ZERO),
        LEAST..0x20_0000_0000_0000 => {
            let (instant, bits) = (record >> BITS, record & ((1 << BITS) - 1));
            Some(Timestamp(
                (instant.cast_unsigned() * UNIT) | bits.cast_unsigned(),
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_double_keeps_each_record_until_the_last_instant() {
        for instant in [1_790_000_000_000_000_000, (1 << 62) - 1, 1 << 57] {
            for bits in [0, 1, 1023, 1024, 2047] {
                let at = Timestamp(Timestamp(instant).floor(UNIT).0 | bits);
                let record = record(at);
                assert_eq!(state(record), Some(at));
                let double = record as f64;
                assert_eq!(format!("{double:.0}"), record.to_string());
                assert!(double > 1e12, "no bucket has it");
            }
        }
        assert_eq!(state(record(Timestamp::ZERO)), Some(Timestamp::ZERO));
        for other in [-1, 1, 1_790_000_000, -1_790_000_000, 9_007_199_254_740_992] {
            assert_eq!(state(other), None, "{other}");
        }
    }
}

//! `MySQL` and `MariaDB`. The answer travels in `LAST_INSERT_ID(expr)`, which is right whatever the
//! connection counts as an affected row; [`super::reply`] takes it apart.
//!
//! Only single quotes stand for strings, and no operator is used that some `sql_mode` takes for another: `%`
//! is none in ORACLE, `||` is or joins.

/// Returns what a word of a text means for this database alone.
pub fn word(word: &str, _full: bool) -> Option<&'static str> {
    Some(match word {
        // The server's clock without a time zone, the same all through a statement.
        "now" => "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
        // The clock as it is now, also after waiting for a lock. `SYSDATE` knows only the session's time
        // zone, so it is compared with `NOW`. If that zone's clock goes back meanwhile, the distance
        // is too long: less is given back.
        "late" => "(:now + ABS(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))))",
        "state" | "bare" => {
            "CAST(LEAST(GREATEST(ROUND(COALESCE(microtime, 9e9) * 1e6), -9e15), 9e15) AS SIGNED)"
        }
        "drained" => "(:now - MOD(:now, :tick))",
        _ => return None,
    })
}

/// Short, for it is parsed each time where prepares are emulated: the verdict is left to the reader, who knows
/// the cost. The row's own value may be named in the one assignment only, for a column reads as it was assigned.
pub const TAKE: &str = "INSERT INTO :table (identifier, microtime) VALUES (:name, \
     IF(LAST_INSERT_ID(:absent), :now - :slack, 0) / 1e6) \
     ON DUPLICATE KEY UPDATE microtime = IF(LAST_INSERT_ID(:tag + 4 * (:now - :state)) >= :least, \
     GREATEST(:now - :slack, :state + :cost) / 1e6, microtime)";

pub const STEP: &str = "INSERT INTO :table (identifier, microtime) VALUES (:name, \
     IF(LAST_INSERT_ID(:absent), GREATEST(:drained - :slack, :now - :age), 0) / 1e6) \
     ON DUPLICATE KEY UPDATE microtime = IF(LAST_INSERT_ID(\
     :tag + 4 * (:now - :state) + (:state <= :drained - :cost)) & 1, \
     GREATEST(:drained - :slack, IF(:state = 0, :now - :age, :state + :cost)) / 1e6, \
     IF(:debt = 0, microtime, GREATEST(:state, LEAST(:state + :cost, :now + :debt)) / 1e6))";

pub const START: &str = "INSERT INTO :table (identifier, microtime) VALUES (:name, (:now - :age) / 1e6) \
     ON DUPLICATE KEY UPDATE microtime = IF(:state = 0, (:now - :age) / 1e6, microtime)";

pub const FIND: &str = "SELECT COUNT(*) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = COALESCE(:schema, DATABASE()) AND TABLE_NAME = :relation";

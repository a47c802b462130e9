//! The statements for `MySQL` and `MariaDB`. They return the reply in `LAST_INSERT_ID(expr)`, which
//! does not depend on how the connection counts affected rows. [`super::reply`] decodes the reply.
//!
//! Only single quotes enclose strings. Operators whose meaning depends on `sql_mode` are avoided.
//! For example, `%` is not an operator in ORACLE mode, and `||` means OR or concatenation.
//!
//! Numbers are returned as binary strings. `MariaDB` converts digits to the session's
//! `character_set_results`, and a client reads digits in UTF-32 as 0.

/// Returns the text of a template's word in this dialect, if it differs from the common text.
pub fn word(word: &str, _full: bool) -> Option<&'static str> {
    Some(match word {
        // The server's clock is independent of the time zone and constant during a statement.
        "now" => "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
        // This reads the clock at this moment, even after waiting for a lock. `SYSDATE` is only
        // available in the session's time zone, so its distance from `NOW` is added. If that zone's
        // clock goes back meanwhile, the distance is too long, and less is given back.
        "late" => "(:now + ABS(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))))",
        "state" => "{IF(microtime > 0 AND microtime * 1e6 + span <= :now, 0, }:bare{)}",
        "bare" => "CAST(LEAST(ABS(ROUND(COALESCE(microtime, 9e9) * 1e6)), 9e15) AS SIGNED)",
        // The last insert id is the reply already.
        "longest" => "IF(LAST_INSERT_ID() < :full, GREATEST(COALESCE(span, :year), :life), :life)",
        "record" => "CAST(LEAST(ROUND(COALESCE(microtime, -1)), 9e15) AS SIGNED)",
        "drained" => "(:now - MOD(:now, :tick))",
        _ => return None,
    })
}

/// Runs a plain step. The text is short, because the server parses it for each call if prepared
/// statements are emulated. The reply contains no verdict, because its reader can compare the age
/// with the cost. `span` is assigned from the reply, because this assignment reads the row's new
/// values, or its old values in the mode `SIMULTANEOUS_ASSIGNMENT`.
pub const TAKE: &str = "INSERT INTO :table (identifier, microtime{, span}) VALUES (:name, \
     IF(LAST_INSERT_ID(:absent), :now - :slack, 0) / 1e6{, :life}) \
     ON DUPLICATE KEY UPDATE microtime = IF(LAST_INSERT_ID(:tag + 4 * (:now - :state){ + 2 * :short}) >= :least, \
     GREATEST(:now - :slack, :state + :cost) / 1e6, microtime)\
     {, span = IF(LAST_INSERT_ID() < :least, span, :longest)}";

pub const STEP: &str = "INSERT INTO :table (identifier, microtime{, span}) VALUES (:name, \
     IF(LAST_INSERT_ID(:absent), GREATEST(:drained - :slack, :now - :age), 0) / 1e6{, :life}) \
     ON DUPLICATE KEY UPDATE microtime = IF(LAST_INSERT_ID(\
     :tag + 4 * (:now - :state) + IF(:state <= :drained + :wait - :cost, 1, 0{ + 2 * :short})) & 1, \
     GREATEST(:drained - :slack, IF(:state = 0, :now - :age, :state + :cost)) / 1e6, \
     IF(:debt = 0, microtime, GREATEST(:state, LEAST(:state + :cost, :now + :debt)) / 1e6))\
     {, span = IF(LAST_INSERT_ID() & 1 OR :debt > 0, :longest, span)}";

/// Runs a step on a bucket that becomes full at the start of each window. The reply has the same
/// form as the reply to [`STEP`]. If the server's clock is in none of the windows, a bucket without
/// a row gets the row of a full bucket, because the statement must reply.
pub const COUNT: &str = "INSERT INTO :table (identifier, microtime) VALUES (:name, \
     IF(LAST_INSERT_ID(:absent - IF(:inside, 0, 1)) & 1, :start + :cost, 0) / :divisor) \
     ON DUPLICATE KEY UPDATE microtime = IF(LAST_INSERT_ID(\
     :tag + 4 * (:now - :state) + :fits) & 1, \
     (GREATEST(:start, :state) + :cost) / :divisor, microtime)";

pub const START: &str = "INSERT INTO :table (identifier, microtime{, span}) VALUES (:name, (:now - :age) / 1e6{, :life}) \
     ON DUPLICATE KEY UPDATE microtime = IF({LAST_INSERT_ID(:tag + (}:state = 0{)) & 1}, (:now - :age) / 1e6, microtime)\
     {, span = IF(LAST_INSERT_ID() & 1, :life, span)}";

/// Changes nothing if the row does not hold a bucket.
pub const RAISE: &str = "INSERT INTO :table (identifier, microtime{, span}) VALUES (:name, (:now - :age) / :divisor{, :life}) \
     ON DUPLICATE KEY UPDATE microtime = IF({LAST_INSERT_ID(:tag + (:state = 0)) AND }:state < 9000000000000000, \
     GREATEST(:state, :now - :age) / :divisor, microtime)\
     {, span = IF(LAST_INSERT_ID() & 1, :life, GREATEST(COALESCE(span, :year), :life))}";

/// The limit overrides `sql_select_limit` of the session.
pub const LOOK: &str = "SELECT CAST(:now AS BINARY), CAST(COALESCE((SELECT 2 * :state{ + :short} FROM :table \
     WHERE identifier = :name), 0) AS BINARY) LIMIT 1";

pub const LOOK_LOCKED: &str = "SELECT CAST(:now AS BINARY), CAST(COALESCE((SELECT 2 * :state{ + :short} FROM :table \
     WHERE identifier = :name LOCK IN SHARE MODE), 0) AS BINARY) LIMIT 1";

pub const RECORD: &str = "SELECT CAST(:now AS BINARY), CAST(COALESCE((SELECT :record FROM :table \
     WHERE identifier = :name), 0) AS BINARY) LIMIT 1";

pub const HOLD: &str = "INSERT INTO :table (identifier, microtime) VALUES (:name, 0) \
     ON DUPLICATE KEY UPDATE microtime = microtime";

pub const HELD: &str = "SELECT CAST(:now AS BINARY), CAST(:record AS BINARY) FROM :table \
     WHERE identifier = :name LIMIT 1 FOR UPDATE";

/// The reply has the same form as the reply to [`STEP`].
pub const SWAP: &str = "INSERT INTO :table (identifier, microtime) VALUES (:name, \
     IF(LAST_INSERT_ID(:absent), :new, 0)) \
     ON DUPLICATE KEY UPDATE microtime = \
     IF(LAST_INSERT_ID(:tag + IF(microtime = :seen, 1, 0)) & 1, :new, microtime)";

pub const FIND: &str = "SELECT CAST(COUNT(*) AS BINARY) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = COALESCE(:schema, DATABASE()) AND TABLE_NAME = :relation LIMIT 1";

/// Compares the collation's name with those that are known to distinguish printable ASCII without
/// upper-case letters. Collations of languages may have equal letters, or letters that are equal to
/// several others. Some character sets lack ASCII characters. The aggregate returns one row without
/// reading any.
///
/// Adds 2 if the table has no unique index of the column alone. Then each call would insert a row.
/// An index of the first characters would merge names. Views and temporary tables are not checked.
///
/// Adds 4 for each column that would round or cut numbers off.
pub const COLUMNS: &str = "SELECT CAST(2 * (SELECT COUNT(*) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = COALESCE(:schema, DATABASE()) AND TABLE_NAME = :relation AND TABLE_TYPE = 'BASE TABLE' \
     AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS \
     WHERE TABLE_SCHEMA = COALESCE(:schema, DATABASE()) AND TABLE_NAME = :relation AND NON_UNIQUE = 0 \
     GROUP BY INDEX_NAME HAVING COUNT(*) = 1 AND MAX(COLUMN_NAME) = 'identifier' \
     AND COALESCE(MAX(SUB_PART), 255) >= 255)) \
     + 4 * (SELECT COUNT(*) FROM information_schema.COLUMNS \
     WHERE TABLE_SCHEMA = COALESCE(:schema, DATABASE()) AND TABLE_NAME = :relation \
     AND ((COLUMN_NAME = 'microtime' AND COLUMN_TYPE <> 'double') OR (COLUMN_NAME = 'span' AND DATA_TYPE <> 'bigint'))) \
     + (COLLATION(MAX(identifier)) NOT RLIKE \
     '^binary$|^(utf8(mb[34])*|utf16(le)*|utf32|ucs2|latin1|ascii)_((nopad_)*bin|general_((mysql500|nopad)_)*c[is]\
     |unicode_(520_)*(nopad_)*ci|0900_(bin|a[is]_c[is])|uca1400_(nopad_)*a[is]_c[is]|(swedish|german[12])_(nopad_)*ci)$') AS BINARY), \
     CAST((SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE(:schema, DATABASE()) \
     AND TABLE_NAME = :relation AND COLUMN_NAME = 'span') AS BINARY) FROM :table WHERE 1 = 0 LIMIT 1";

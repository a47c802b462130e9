//! The statements for `SQLite`. They use this host's clock, because the database is a file on this
//! host. They call no function but `julianday`, because an application may define its own function
//! of the name of each.

/// Returns the text of a template's word in this dialect, if it differs from the common text.
pub fn word(word: &str, full: bool) -> Option<&'static str> {
    Some(match (word, full) {
        ("now", _) => ":clock",
        // This reads the clock at this moment, even after waiting for a lock, rounded up to
        // milliseconds. `:clock` was read earlier.
        ("late", _) => {
            ":greater(:clock, (CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER) + 1) * 1000:both)"
        }
        ("state", _) => {
            "{CASE WHEN +microtime > 0 AND +span < 9e15 AND :bare + span <= :now THEN 0 ELSE }:bare{ END}"
        }
        // Columns have no types in SQLite. A text would count as 0, which is a full bucket. Texts
        // sort after numbers.
        ("bare", _) => {
            "CASE WHEN +microtime > -9e9 AND +microtime < 9e9 \
             THEN CAST(CASE WHEN microtime < 0 THEN -microtime ELSE microtime END * 1e6 + 0.5 AS INTEGER) \
             ELSE 9000000000000000 END"
        }
        ("record", _) => {
            "CASE WHEN +microtime >= 0 AND +microtime < 9.1e15 THEN CAST(microtime AS INTEGER) ELSE -1 END"
        }
        ("lesser", _) => {
            "(SELECT CASE WHEN column1 < column2 THEN column1 ELSE column2 END FROM (VALUES "
        }
        ("greater", _) => {
            "(SELECT CASE WHEN column1 > column2 THEN column1 ELSE column2 END FROM (VALUES "
        }
        ("both", _) => "))",
        ("granted", false) => "1",
        // A charged denial leaves the bucket in debt. Without debts, only a grant returns a row.
        ("granted", true) => "(:state <= :drained OR :debt = 0)",
        _ => return None,
    })
}

/// Runs a step. Returns no row for a denial that is not charged.
pub const TAKE: &str = "INSERT INTO :table AS s (identifier, microtime{, span}) VALUES (:name, (:first) / :divisor{, :life}) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = (:next) / :divisor{, span = :longest} WHERE :fits \
     RETURNING :clock, :state, :granted";

/// Returns a row even if the bucket has no row, because the caller needs the clock, too.
pub const LOOK: &str = "SELECT :now, k FROM (SELECT 2 * (:state) AS k, 0 AS place FROM :table WHERE identifier = :name \
     UNION ALL SELECT 0, 1) ORDER BY place LIMIT 1";

/// Does the same as [`LOOK`] for a record that is not a bucket's.
pub const RECORD: &str = "SELECT :now, k FROM (SELECT :record AS k, 0 AS place FROM :table WHERE identifier = :name \
     UNION ALL SELECT 0, 1) ORDER BY place LIMIT 1";

/// Looks for a unique index of the column whose collation was defined by the application. The join
/// fails if the table is missing.
pub const COLUMNS: &str = "SELECT EXISTS (SELECT 1 FROM pragma_index_list(:relation, :schema) AS i, \
     pragma_index_xinfo(i.name, :schema) AS x WHERE i.[unique] AND x.name = 'identifier' \
     AND x.coll COLLATE NOCASE NOT IN ('BINARY', 'NOCASE', 'RTRIM')), \
     EXISTS (SELECT 1 FROM pragma_table_info(:relation, :schema) WHERE name = 'span') \
     FROM (SELECT 1) LEFT JOIN (SELECT 1 FROM :table LIMIT 0) ON 1";

//! The statements for `SQLite`. They use this host's clock, because the database is a file on this
//! host.

/// Returns the text of a template's word in this dialect, if it differs from the common text.
pub fn word(word: &str, full: bool) -> Option<&'static str> {
    Some(match (word, full) {
        ("now", _) => ":clock",
        // This reads the clock at this moment, even after waiting for a lock, rounded up to
        // milliseconds. `:clock` was read earlier.
        ("late", _) => {
            "max(:clock, (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + 1) * 1000)"
        }
        // Columns have no types in SQLite. A text would count as 0, which is a full bucket.
        ("state" | "bare", _) => {
            "CAST(min(abs(round(CASE WHEN typeof(microtime) IN ('real', 'integer') THEN microtime ELSE 9e9 END \
             * 1e6)), 9e15) AS INTEGER)"
        }
        ("lesser", _) => "min",
        ("greater", _) => "max",
        ("granted", false) => "1",
        // A charged denial leaves the bucket in debt. Without debts, only a grant returns a row.
        ("granted", true) => "(:state <= :drained OR :debt = 0)",
        _ => return None,
    })
}

/// Runs a step. Returns no row for a denial that is not charged.
pub const TAKE: &str = "INSERT INTO :table AS s (identifier, microtime) VALUES (:name, (:first) / :divisor) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = (:next) / :divisor WHERE :fits \
     RETURNING :clock, :state, :granted";

/// Counts the unique indexes of the column whose collation was defined by the application.
pub const FOLDS: &str = "SELECT count(*) FROM pragma_index_list(:relation, :schema) AS i, \
     pragma_index_xinfo(i.name, :schema) AS x \
     WHERE i.[unique] AND x.name = 'identifier' AND upper(x.coll) NOT IN ('BINARY', 'NOCASE', 'RTRIM')";

//! `SQLite`. The clock is this host's, because the database is a file on it.

/// Returns what a word of a text means for this database alone.
pub fn word(word: &str, full: bool) -> Option<&'static str> {
    Some(match (word, full) {
        ("now", _) => ":clock",
        // The clock as it is now, also after waiting for a lock: its milliseconds, rounded up. `:clock`
        // was read before.
        ("late", _) => {
            "max(:clock, (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + 1) * 1000)"
        }
        // Columns have no types here: a text would count as 0, which is a full bucket.
        ("state" | "bare", _) => {
            "CAST(max(min(round(CASE WHEN typeof(microtime) IN ('real', 'integer') THEN microtime ELSE 9e9 END \
             * 1e6), 9e15), -9e15) AS INTEGER)"
        }
        ("lesser", _) => "min",
        ("greater", _) => "max",
        ("granted", false) => "1",
        // A charged denial is in debt; without debts, only a grant returns a row.
        ("granted", true) => "(:state <= :drained OR :debt = 0)",
        _ => return None,
    })
}

/// Returns no row for a denial.
pub const TAKE: &str = "INSERT INTO :table AS s (identifier, microtime) VALUES (:name, (:first) / 1e6) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = (:next) / 1e6 WHERE :fits \
     RETURNING :clock, :state, :granted";

//! `SQLite`. The clock is this host's: the database is a file of it.

/// Words that texts for this database may use.
pub fn words(word: &str, full: bool) -> Option<&'static str> {
    Some(match (word, full) {
        ("now", _) | ("drained", false) => ":clock",
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
        ("drained", true) => "(:clock - :clock % :tick)",
        ("lesser", _) => "min",
        ("greater", _) => "max",
        ("fits", false) => ":state <= :drained - :cost",
        ("fits", true) => "(:state <= :drained - :cost OR :debt > 0)",
        ("next", false) => "max(:now - :slack, :state + :cost)",
        ("next", true) => {
            "CASE WHEN :state <= :drained - :cost THEN \
             max(:drained - :slack, CASE WHEN :state = 0 THEN :now - :age ELSE :state + :cost END) \
             ELSE max(:state, min(:state + :cost, :now + :debt)) END"
        }
        ("first", false) => ":now - :slack",
        ("first", true) => "max(:drained - :slack, :now - :age)",
        ("granted", false) => "1",
        // What was charged is in debt; without debts, only what was granted returns.
        ("granted", true) => "(:state <= :drained OR :debt = 0)",
        ("foreign", _) => "9000000000000000",
        ("double", _) => "double precision",
        _ => return None,
    })
}

/// No row for a denial.
pub const TAKE: &str = "INSERT INTO :table AS s (identifier, microtime) VALUES (:name, (:first) / 1e6) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = (:next) / 1e6 WHERE :fits \
     RETURNING :clock, :state, :granted";

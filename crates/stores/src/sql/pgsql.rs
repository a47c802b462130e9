//! The statements for `PostgreSQL`. A step reads the row before it writes, so that a denial writes
//! nothing, not even to the write-ahead log.

/// Returns the text of a template's word in this dialect, if it differs from the common text.
pub fn word(word: &str, full: bool) -> Option<&'static str> {
    Some(match (word, full) {
        ("now", _) => {
            "CAST(EXTRACT(EPOCH FROM pg_catalog.statement_timestamp()) * CAST(1000000 AS numeric) AS bigint)"
        }
        // Typed like the other operand, so that no operator of the application fits better.
        ("million" | "divisor", _) => "CAST(1000000 AS double precision)",
        // This reads the clock at this moment, even after waiting for a lock.
        ("late", _) => {
            "CAST(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * CAST(1000000 AS numeric) AS bigint)"
        }
        ("state", _) => {
            "{CASE WHEN s.microtime > 0 AND :row + s.span <= :now THEN 0 ELSE }:row{ END}"
        }
        ("row", _) => {
            "CAST(LEAST(pg_catalog.abs(pg_catalog.round(COALESCE(s.microtime, 9e9) * :million)), 9e15) AS bigint)"
        }
        ("kept", _) => "s.span",
        ("target", _) => ":table AS s",
        ("bare", _) => {
            "CAST(LEAST(pg_catalog.abs(pg_catalog.round(COALESCE(microtime, 9e9) * :million)), 9e15) AS bigint)"
        }
        ("ended", _) => {
            "microtime * CAST(0.512 AS double precision) < CAST(:now - :span AS double precision)"
        }
        ("record", _) => "CAST(LEAST(pg_catalog.round(COALESCE(microtime, -1)), 9e15) AS bigint)",
        ("granted", false) => "(SELECT pg_catalog.count(*) FROM put)",
        // A charged denial leaves the bucket in debt. Without debts, only grants write a row.
        ("granted", true) => {
            "(SELECT pg_catalog.count(*) FROM put WHERE k <= :drained OR :debt = 0)"
        }
        _ => return None,
    })
}

pub const TAKE: &str = "WITH seen AS (SELECT :state AS k, :fits AS fits{, :short AS short} FROM :table AS s WHERE identifier = :name), \
     put AS (INSERT INTO :table AS s (identifier, microtime{, span}) \
     SELECT :name, (:first) / :divisor{, :life} WHERE NOT EXISTS (SELECT 1 FROM seen WHERE NOT fits) :gate \
     ON CONFLICT (identifier) DO UPDATE SET microtime = (:next) / :divisor{, span = :longest} WHERE :fits RETURNING :state AS k) \
     SELECT :now, COALESCE((SELECT k FROM put), (SELECT k FROM seen), 0), :granted, \
     (SELECT pg_catalog.count(*) FROM put) + (SELECT pg_catalog.count(*) FROM seen WHERE NOT fits)\
     { + (SELECT pg_catalog.count(*) FROM seen WHERE NOT fits AND short = 1)}";

pub const LOOK: &str = "SELECT :now, COALESCE((SELECT 2 * :state{ + :short} FROM :table AS s WHERE identifier = :name), 0)";

pub const FIND: &str =
    "SELECT CASE WHEN pg_catalog.to_regclass(:relation) IS NULL THEN 0 ELSE 1 END";

/// Counts the column if its collation is not deterministic. Releases before 12 have neither such
/// collations nor a column that marks them. The detour by JSON lets the statement run there, too.
///
/// Adds 4 if the column `microtime` would round instants.
pub const COLUMNS: &str = "SELECT (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS a \
     JOIN pg_catalog.pg_collation AS c ON c.oid = a.attcollation \
     WHERE a.attrelid = CAST(:relation AS pg_catalog.regclass) AND a.attname = 'identifier' \
     AND pg_catalog.to_jsonb(c) ->> 'collisdeterministic' = 'false') \
     + 4 * (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS a \
     JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
     WHERE a.attrelid = CAST(:relation AS pg_catalog.regclass) AND a.attname = 'microtime' \
     AND COALESCE(NULLIF(t.typbasetype, CAST(0 AS oid)), t.oid) <> CAST('pg_catalog.float8' AS pg_catalog.regtype)), \
     (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS a \
     WHERE a.attrelid = CAST(:relation AS pg_catalog.regclass) AND a.attname = 'span')";

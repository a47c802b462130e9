//! The name of a table.
//!
//! Invariant: the name contains no character that ends a quotation in any dialect.

use super::Dialect;

/// The name of a table, with or without its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    name: String,
    /// The dialect of the database that contains the table.
    pub(super) dialect: Dialect,
}

/// The rule that a name breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A part is empty, or there are more than two parts.
    #[error("must be the name of a table, or of a schema and a table with a dot between")]
    Parts,
    /// A part is longer than the database's limit, a number of characters.
    #[error("must not be longer than {0} characters")]
    Length(usize),
    /// The name contains a character that is not allowed.
    #[error("must contain only letters, digits, \"_\", \"$\", \"-\" and one dot")]
    Character,
}

impl Table {
    /// Parses the name of a table. Fails with the [`TableError`] of the rule that `name` breaks.
    pub fn parse(name: &[u8], dialect: Dialect) -> Result<Self, TableError> {
        let allowed = |char: char| char.is_ascii_alphanumeric() || "_$-.".contains(char);
        let name = std::str::from_utf8(name).ok();
        let name = name.filter(|name| name.chars().all(allowed));
        let name = name.ok_or(TableError::Character)?;
        if name.matches('.').count() > 1 {
            return Err(TableError::Parts);
        }
        // PostgreSQL truncates longer names, so two tables could become one table.
        let longest = if dialect == Dialect::PgSql { 63 } else { 64 };
        for part in name.split('.') {
            if part.is_empty() {
                return Err(TableError::Parts);
            }
            if part.len() > longest {
                return Err(TableError::Length(longest));
            }
        }
        let name = name.to_owned();
        Ok(Self { name, dialect })
    }

    /// Returns the name as it is written in a statement.
    pub fn quoted(&self) -> String {
        let quote = if self.dialect == Dialect::MySql {
            '`'
        } else {
            '"'
        };
        let name = self.name.replace('.', &format!("{quote}.{quote}"));
        format!("{quote}{name}{quote}")
    }

    /// Reports whether the name means the same table in all sessions. If it has no schema, the
    /// session decides, for example by `search_path` or `USE`, or by a temporary table. On
    /// `SQLite`, every schema but `main` is a file that the connection has attached, or its
    /// temporary tables. On `PostgreSQL`, `pg_temp` stands for the temporary tables of the session.
    pub fn is_same_in_all_sessions(&self) -> bool {
        let schema = self.name.split_once('.').map(|(schema, _)| schema);
        schema.is_some_and(|schema| match self.dialect {
            Dialect::MySql => true,
            Dialect::PgSql => !schema.starts_with("pg_temp"),
            Dialect::Sqlite => schema.eq_ignore_ascii_case("main"),
        })
    }

    /// Returns the name for display.
    pub fn shown(&self) -> &str {
        &self.name
    }

    pub(super) fn schema_literal(&self) -> String {
        let schema = self.name.split_once('.');
        schema.map_or_else(|| "NULL".to_owned(), |(schema, _)| format!("'{schema}'"))
    }

    /// Returns the name as a string literal: the whole quoted name for `PostgreSQL`, otherwise the
    /// name without the schema.
    pub(super) fn name_literal(&self) -> String {
        if self.dialect == Dialect::PgSql {
            return format!("'{}'", self.quoted());
        }
        let name = self.name.split_once('.');
        format!("'{}'", name.map_or(&*self.name, |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let parse = |name: &[u8]| Table::parse(name, Dialect::MySql);
        let good = parse(b"app-1.limits_$9").unwrap();
        assert_eq!(good.shown(), "app-1.limits_$9");
        for name in [&b""[..], b".", b"a.", b".a", b"a.b.c"] {
            assert_eq!(parse(name), Err(TableError::Parts));
        }
        for name in [
            "a b", "a`b", "a\"b", "a'b", "a;b", "a\0", "\u{e4}", "a?", "a:b",
        ] {
            assert_eq!(parse(name.as_bytes()), Err(TableError::Character));
        }
        assert_eq!(parse(&[b'a'; 65]), Err(TableError::Length(64)));
        assert!(parse(&[b'a'; 64]).is_ok());
        let long = Table::parse(&[b'a'; 64], Dialect::PgSql);
        assert_eq!(long, Err(TableError::Length(63)));
    }

    #[test]
    fn names_of_sessions_are_recognised() {
        let same = |name: &str, dialect| {
            let table = Table::parse(name.as_bytes(), dialect).unwrap();
            table.is_same_in_all_sessions()
        };
        for dialect in Dialect::ALL {
            assert!(!same("t", dialect) && same("main.t", dialect));
        }
        assert!(same("Main.t", Dialect::Sqlite));
        assert!(!same("aux.t", Dialect::Sqlite) && !same("temp.t", Dialect::Sqlite));
        assert!(!same("pg_temp.t", Dialect::PgSql) && !same("pg_temp_3.t", Dialect::PgSql));
        assert!(same("temp.t", Dialect::PgSql) && same("pg_temp.t", Dialect::MySql));
    }

    #[test]
    fn names_are_quoted_as_the_database_does() {
        let quoted = |dialect| Table::parse(b"a.b", dialect).unwrap().quoted();
        assert_eq!(quoted(Dialect::MySql), "`a`.`b`");
        assert_eq!(quoted(Dialect::PgSql), "\"a\".\"b\"");
    }
}

//! The name of a table.
//!
//! Invariant: it holds nothing that ends a quotation in any dialect.

use super::Dialect;

/// A table's name, perhaps behind its schema's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    name: String,
    /// The kind of database that it is in.
    pub(super) dialect: Dialect,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Nothing between dots, or nothing at all.
    #[error("must be the name of a table, or of a schema and a table with a dot between")]
    Parts,
    /// Longer than the database keeps.
    #[error("must not be longer than {0} characters")]
    Length(usize),
    /// Another character.
    #[error("must contain only letters, digits, \"_\", \"$\", \"-\" and one dot")]
    Character,
}

impl Table {
    /// The table that is called `name`.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn parse(name: &[u8], dialect: Dialect) -> Result<Self, TableError> {
        let allowed = |char: char| char.is_ascii_alphanumeric() || "_$-.".contains(char);
        let name = std::str::from_utf8(name).ok();
        let name = name.filter(|name| name.chars().all(allowed));
        let name = name.ok_or(TableError::Character)?;
        if name.matches('.').count() > 1 {
            return Err(TableError::Parts);
        }
        // PostgreSQL cuts longer names, so that two tables would be one.
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

    /// As it stands in a statement.
    #[must_use]
    pub fn quoted(&self) -> String {
        let quote = if self.dialect == Dialect::MySql {
            '`'
        } else {
            '"'
        };
        let name = self.name.replace('.', &format!("{quote}.{quote}"));
        format!("{quote}{name}{quote}")
    }

    /// As it may be shown.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.name
    }

    pub(super) fn schema_literal(&self) -> String {
        let schema = self.name.split_once('.');
        schema.map_or_else(|| "NULL".to_owned(), |(schema, _)| format!("'{schema}'"))
    }

    /// `PostgreSQL` takes the whole name as it is quoted.
    pub(super) fn name_literal(&self) -> String {
        if self.dialect == Dialect::PgSql {
            return format!("'{}'", self.quoted());
        }
        let name = self.name.split_once('.');
        format!("'{}'", name.map_or(&*self.name, |(_, name)| name))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
    fn names_are_quoted_as_the_database_does() {
        let quoted = |dialect| Table::parse(b"a.b", dialect).unwrap().quoted();
        assert_eq!(quoted(Dialect::MySql), "`a`.`b`");
        assert_eq!(quoted(Dialect::PgSql), "\"a\".\"b\"");
    }
}

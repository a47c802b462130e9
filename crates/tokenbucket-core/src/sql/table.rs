//! The name of a table.
//!
//! Invariant: it holds nothing that ends a quotation in any dialect.

use super::Dialect;

/// A table's name, perhaps behind its schema's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    schema: Option<String>,
    name: String,
    dialect: Dialect,
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
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$-.".contains(byte);
        if !name.iter().all(allowed) {
            return Err(TableError::Character);
        }
        let name = std::str::from_utf8(name).map_err(|_| TableError::Character)?;
        let parts: Vec<&str> = name.split('.').collect();
        let (schema, name) = match parts[..] {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            _ => return Err(TableError::Parts),
        };
        // PostgreSQL cuts longer names, so that two tables would be one.
        let longest = if dialect == Dialect::PgSql { 63 } else { 64 };
        for part in schema.iter().chain([&name]) {
            if part.is_empty() {
                return Err(TableError::Parts);
            }
            if part.len() > longest {
                return Err(TableError::Length(longest));
            }
        }
        Ok(Self {
            schema: schema.map(str::to_owned),
            name: name.to_owned(),
            dialect,
        })
    }

    /// As it stands in a statement.
    #[must_use]
    pub fn quoted(&self, dialect: Dialect) -> String {
        let quote = if dialect == Dialect::MySql { '`' } else { '"' };
        let quoted = |part: &str| format!("{quote}{part}{quote}");
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(&self.name)),
            None => quoted(&self.name),
        }
    }

    /// As it may be shown.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }

    pub(super) fn schema_literal(&self) -> String {
        let schema = self.schema.as_ref();
        schema.map_or_else(|| "NULL".to_owned(), |schema| format!("'{schema}'"))
    }

    /// `PostgreSQL` takes the whole name as it is quoted.
    pub(super) fn name_literal(&self) -> String {
        if self.dialect == Dialect::PgSql {
            format!("'{}'", self.quoted(Dialect::PgSql))
        } else {
            format!("'{}'", self.name)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let parse = |name: &[u8]| Table::parse(name, Dialect::MySql);
        assert_eq!(
            parse(b"app-1.limits_$9").unwrap().shown(),
            "app-1.limits_$9"
        );
        for name in [&b""[..], b".", b"a.", b".a", b"a.b.c"] {
            assert_eq!(parse(name), Err(TableError::Parts));
        }
        for name in [
            &b"a b"[..],
            b"a`b",
            b"a\"b",
            b"a'b",
            b"a;b",
            b"a\0",
            b"\xc3\xa4",
            b"a?",
            b"a:b",
        ] {
            assert_eq!(parse(name), Err(TableError::Character));
        }
        assert_eq!(parse(&[b'a'; 65]), Err(TableError::Length(64)));
        assert!(parse(&[b'a'; 64]).is_ok());
        let long = Table::parse(&[b'a'; 64], Dialect::PgSql);
        assert_eq!(long, Err(TableError::Length(63)));
    }

    #[test]
    fn names_are_quoted_as_the_database_does() {
        let table = Table::parse(b"a.b", Dialect::MySql).unwrap();
        assert_eq!(table.quoted(Dialect::MySql), "`a`.`b`");
        assert_eq!(table.quoted(Dialect::PgSql), "\"a\".\"b\"");
    }
}

//! Texts with words in them: `:word` is a placeholder for a value, or stands for a longer text.

use super::Dialect;

/// What a placeholder stands for. Spans, ages and instants are whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// The bucket's name.
    Name,
    /// What is taken or given back.
    Cost,
    /// The span that refills the bucket. A bucket that has been full for so long is stale.
    Burst,
    /// The span less the cost.
    Slack,
    /// How long ago a bucket without a record was empty.
    Age,
    /// The state after the take that is undone.
    Taken,
    /// The drain tick.
    Tick,
    /// The greatest debt.
    Debt,
    /// The present instant on this host's clock.
    Clock,
    /// What marks a reply; see [`super::reply`].
    Tag,
    /// The reply for a bucket without a record.
    Absent,
    /// The least reply that is a grant.
    Least,
    /// The last name seen, or the next one to delete.
    Key,
}

impl Bind {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "name" => Self::Name,
            "cost" => Self::Cost,
            "burst" => Self::Burst,
            "slack" => Self::Slack,
            "age" => Self::Age,
            "taken" => Self::Taken,
            "tick" => Self::Tick,
            "debt" => Self::Debt,
            "clock" => Self::Clock,
            "tag" => Self::Tag,
            "absent" => Self::Absent,
            "least" => Self::Least,
            "key" => Self::Key,
            _ => return None,
        })
    }

    /// `PostgreSQL` must be told the types of what it has no column to guess from.
    const fn placeholder(self, dialect: Dialect) -> &'static str {
        match (dialect, self) {
            (Dialect::PgSql, Self::Name | Self::Key) => "CAST(? AS varchar)",
            (Dialect::PgSql, _) => "CAST(? AS bigint)",
            (Dialect::MySql | Dialect::Sqlite, _) => "?",
        }
    }
}

/// A statement with positional placeholders, each of which stands once for one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// As it is prepared.
    pub text: String,
    /// The values, in the order of their placeholders.
    pub binds: Vec<Bind>,
}

/// Fills a text: `meaning` is asked for each word first.
pub fn fill(text: &str, dialect: Dialect, meaning: &dyn Fn(&str) -> Option<String>) -> Statement {
    let mut statement = Statement::default();
    statement.append(text, dialect, meaning);
    statement
}

impl Statement {
    fn append(&mut self, text: &str, dialect: Dialect, meaning: &dyn Fn(&str) -> Option<String>) {
        let mut parts = text.split(':');
        self.text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_lowercase());
            let (word, rest) = part.split_at(end.unwrap_or(part.len()));
            if let Some(longer) = meaning(word) {
                self.append(&longer, dialect, meaning);
            } else if let Some(bind) = Bind::of(word) {
                self.text.push_str(bind.placeholder(dialect));
                self.binds.push(bind);
            } else {
                self.text.push(':');
                self.text.push_str(word);
            }
            self.text.push_str(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filled_in_and_the_rest_are_placeholders() {
        let meaning = |word: &str| (word == "now").then(|| "(:clock + 1)".to_owned());
        let statement = fill("x = :name, :now - :age", Dialect::Sqlite, &meaning);
        assert_eq!(statement.text, "x = ?, (? + 1) - ?");
        assert_eq!(statement.binds, [Bind::Name, Bind::Clock, Bind::Age]);
        let typed = fill(":name :cost", Dialect::PgSql, &|_| None);
        assert_eq!(typed.text, "CAST(? AS varchar) CAST(? AS bigint)");
    }
}

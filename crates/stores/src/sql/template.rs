//! Templates of statements: `:word` is a placeholder for a value, or an abbreviation of a longer
//! text.

use super::Dialect;

/// The value of a placeholder. All times are in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// The bucket's name.
    Name,
    /// The cost that is taken or given back.
    Cost,
    /// The most that is given back to a bucket in debt if other calls took tokens after the take
    /// that is undone.
    InDebt,
    /// The span: the time in which an empty bucket becomes full. In a purge, a row is stale if its
    /// bucket was empty longer ago than this. The row of a quota stays for a year at least.
    Span,
    /// The time in which a bucket that is empty after the step or change becomes full.
    Life,
    /// The span minus the cost. If the cost is 0, a time that is longer than any span.
    Slack,
    /// The time since a bucket without a record was empty.
    Age,
    /// The state after the take that is undone.
    Taken,
    /// The drain tick.
    Tick,
    /// The greatest debt that a denied call causes.
    Debt,
    /// The longest wait of a grant, which is the greatest debt that the grant may leave. Negative
    /// for a floor.
    Wait,
    /// The current instant on this host's clock.
    Clock,
    /// The mark of a reply; see [`super::reply`].
    Tag,
    /// The reply for a bucket without a record.
    Absent,
    /// The least reply that is a grant.
    Least,
    /// The least reply for a bucket that was full.
    Full,
    /// The starts of four windows.
    Start(usize),
    /// The latest instant at which a window is chosen.
    Latest,
    /// The record that a swap replaces, or 0.
    Seen,
    /// The record that a swap writes.
    Next,
    /// The last name that was returned, or the next name to delete.
    Key,
}

impl Bind {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "name" => Self::Name,
            "cost" => Self::Cost,
            "indebt" => Self::InDebt,
            "span" => Self::Span,
            "life" => Self::Life,
            "slack" => Self::Slack,
            "age" => Self::Age,
            "taken" => Self::Taken,
            "tick" => Self::Tick,
            "debt" => Self::Debt,
            "wait" => Self::Wait,
            "clock" => Self::Clock,
            "tag" => Self::Tag,
            "absent" => Self::Absent,
            "least" => Self::Least,
            "full" => Self::Full,
            "wa" => Self::Start(0),
            "wb" => Self::Start(1),
            "wc" => Self::Start(2),
            "wd" => Self::Start(3),
            "latest" => Self::Latest,
            "seen" => Self::Seen,
            "new" => Self::Next,
            "key" => Self::Key,
            _ => return None,
        })
    }

    /// Returns the text of the placeholder. `PostgreSQL` needs an explicit type if there is no
    /// column from which it could infer the type.
    const fn placeholder(self, dialect: Dialect) -> &'static str {
        match (dialect, self) {
            (Dialect::PgSql, Self::Name | Self::Key) => "CAST(? AS varchar)",
            (Dialect::PgSql, _) => "CAST(? AS bigint)",
            (Dialect::MySql | Dialect::Sqlite, _) => "?",
        }
    }
}

/// A statement with positional placeholders, one for each value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    pub text: String,
    /// The values, in the order of their placeholders.
    pub binds: Vec<Bind>,
}

/// Fills a template. `meaning` returns the longer text of an abbreviation, and `None` for other
/// words. Text in braces is about the column `span`, and is left out unless `spans` is true.
pub fn fill(
    text: &str,
    dialect: Dialect,
    spans: bool,
    meaning: &dyn Fn(&str) -> Option<String>,
) -> Statement {
    let chosen = |text: &str| {
        let parts = text.split(['{', '}']).enumerate();
        let parts = parts.filter(|(place, _)| spans || place % 2 == 0);
        parts.map(|(_, part)| part).collect::<String>()
    };
    let mut statement = Statement::default();
    statement.append(&chosen(text), dialect, &|word| {
        meaning(word).map(|text| chosen(&text))
    });
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
        let statement = fill("x = :name, :now - :age", Dialect::Sqlite, false, &meaning);
        assert_eq!(statement.text, "x = ?, (? + 1) - ?");
        assert_eq!(statement.binds, [Bind::Name, Bind::Clock, Bind::Age]);
        let typed = fill(":name :cost", Dialect::PgSql, false, &|_| None);
        assert_eq!(typed.text, "CAST(? AS varchar) CAST(? AS bigint)");
        let braces = |spans| {
            fill("a{, :b}", Dialect::Sqlite, spans, &|word| {
                (word == "b").then(|| "{:life}".to_owned())
            })
        };
        assert_eq!(
            (braces(false).text, braces(false).binds),
            ("a".into(), vec![])
        );
        assert_eq!(
            (braces(true).text, braces(true).binds),
            ("a, ?".into(), vec![Bind::Life])
        );
    }
}

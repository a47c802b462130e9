//! The limits of the settings with the hashers of their buckets. A text is parsed once.

use crate::counters::{LIMIT_ROW, PREFLIGHT_ROW};
use crate::{ini, log};
use gcra::{Grain, Key, KeyHasher, Limit, TICKS_PER_SECOND, Tokens};
use guard::{Networks, Rule};
use segment::SharedMemory;
use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;
use std::thread::LocalKey;
use stores::printable;

/// The most texts of a setting whose values are kept. A server with more texts parses some again.
const MOST_TEXTS: usize = 64;

/// A setting of the operator that has limits.
struct Setting {
    /// Separates its buckets from those of other settings.
    kind: &'static [u8],
    /// Begins the names of its rows.
    row: &'static str,
}

const LIMITS: Setting = Setting {
    kind: b"limit",
    row: LIMIT_ROW,
};
const PREFLIGHTS: Setting = Setting {
    kind: b"preflight",
    row: PREFLIGHT_ROW,
};

/// The row that counts the limits of all applications.
const APPLICATIONS: &str = "guard_local";

/// A limit, and the hashers of its buckets.
pub struct RuleBuckets {
    rule: Rule,
    /// The key of the limit in `TokenBucket\guard_decisions()`.
    shown: Rc<str>,
    hasher: KeyHasher,
    observed: KeyHasher,
    /// False if an application has set the limit.
    pub is_of_operator: bool,
}

impl Deref for RuleBuckets {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}

/// The parsed values of a setting, each with its text.
type Known<T> = RefCell<Vec<(Vec<u8>, Rc<T>)>>;

thread_local! {
    static RULES: Known<Vec<RuleBuckets>> = RefCell::default();
    static NETWORKS: Known<Networks> = RefCell::default();
}

impl RuleBuckets {
    /// Returns the key of its decision for PHP code: the name of the limit, or otherwise its text.
    pub fn shown(&self) -> Rc<str> {
        Rc::clone(&self.shown)
    }

    /// Returns the hasher of its buckets in the mode "enforce".
    pub const fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    pub fn key<'k>(&self, identifier: &'k [u8]) -> Key<'k> {
        self.hasher.key(identifier)
    }

    /// Returns the key of the bucket with this identifier in the mode "observe".
    pub fn observed_key<'k>(&self, identifier: &'k [u8]) -> Key<'k> {
        self.observed.key(identifier)
    }

    /// Returns the rule of a limit. `names` are the parts of the setting's namespace.
    fn new(store: &SharedMemory, rule: Rule, names: &[&[u8]], row: &str) -> Self {
        let names = [names, &[rule.name_of_buckets().as_bytes()]].concat();
        let observed = [&[b"observe".as_slice()], names.as_slice()].concat();
        let is_of_operator = row != APPLICATIONS;
        let shown = rule.given_name().unwrap_or(rule.name());
        Self {
            shown: if is_of_operator {
                shown.into()
            } else {
                format!("{APPLICATIONS}: {shown}").into()
            },
            hasher: hasher(store, &names, row),
            observed: hasher(store, &observed, row),
            is_of_operator,
            rule,
        }
    }
}

impl Setting {
    fn row_of(&self, rule: &Rule) -> String {
        format!("{}{}", self.row, rule.name())
    }

    fn rule(&self, store: &SharedMemory, rule: Rule) -> RuleBuckets {
        let row = self.row_of(&rule);
        RuleBuckets::new(store, rule, &[self.kind], &row)
    }
}

/// Forgets all rules, because their hashers belong to a segment.
pub fn forget() {
    RULES.with_borrow_mut(Vec::clear);
}

/// Returns the networks of a setting, or `None` if it is empty.
pub fn networks(store: &SharedMemory, setting: &ini::Parsed<Networks>) -> Option<Rc<Networks>> {
    setting.text(|text| known(&NETWORKS, text, || valid(store, setting)))
}

/// Returns the rules of the operator. Their buckets do not depend on settings that an application
/// can change.
pub fn operators(store: &SharedMemory) -> Option<Rc<Vec<RuleBuckets>>> {
    ini::GUARD.text(|text| known(&RULES, text, || of(store, &ini::GUARD, &LIMITS)))
}

/// Returns the rules of preflight requests, or `None` if the other rules count these requests. An
/// invalid setting has no rules, so the other rules count the requests in this case, too.
pub fn preflights(store: &SharedMemory) -> Option<Rc<Vec<RuleBuckets>>> {
    let setting = &ini::GUARD_PREFLIGHTS;
    let rules = setting.text(|text| {
        if text.is_empty() {
            return None;
        }
        let known_as = [b"preflights", text].concat();
        known(&RULES, &known_as, || of(store, setting, &PREFLIGHTS))
    });
    rules.filter(|rules| !rules.is_empty())
}

fn of(store: &SharedMemory, ini: &ini::Parsed<Vec<Rule>>, setting: &Setting) -> Vec<RuleBuckets> {
    let rules = valid(store, ini).into_iter();
    rules.map(|rule| setting.rule(store, rule)).collect()
}

/// Returns the rule of a limit that an operator names by its text, or by its row in `status()`. The
/// settings of this process may lack the limit. Fails with a message if the text is not one limit,
/// or if no process has used this limit.
pub fn named(store: &SharedMemory, text: &[u8]) -> Result<RuleBuckets, String> {
    let text = String::from_utf8_lossy(text);
    let of_row = |setting: &Setting| text.strip_prefix(setting.row);
    let (setting, text) = of_row(&PREFLIGHTS).map_or_else(
        || (&LIMITS, of_row(&LIMITS).unwrap_or(&text)),
        |text| (&PREFLIGHTS, text),
    );
    let rules = Rule::parse(text).map_err(|error| ini::expected(text, error))?;
    let [rule] = <[Rule; 1]>::try_from(rules).map_err(|_| "must be one limit".to_owned())?;
    if !store.has_row(setting.row_of(&rule).as_bytes()) {
        let row = setting.row_of(&rule);
        return Err(format!(
            "must be a limit that the guard has used, \"{row}\" given"
        ));
    }
    Ok(setting.rule(store, rule))
}

/// Returns the rules that the application adds. `tokenbucket.namespace` separates their buckets.
pub fn applications(store: &SharedMemory) -> Option<Rc<Vec<RuleBuckets>>> {
    ini::GUARD_LOCAL.text(|text| {
        if text.is_empty() {
            return None;
        }
        ini::namespace(|namespace| {
            // The length keeps ("a", "bc") and ("ab", "c") apart.
            let length = namespace.len().to_le_bytes();
            let known_as = [b"local", &length[..], namespace, text].concat();
            known(&RULES, &known_as, || {
                let rule = |rule: Rule| {
                    RuleBuckets::new(store, rule, &[b"local", namespace], APPLICATIONS)
                };
                valid(store, &ini::GUARD_LOCAL)
                    .into_iter()
                    .map(rule)
                    .collect()
            })
        })
    })
}

/// Returns the value of a text, or `None` for an empty text. Makes the value if it is not kept.
fn known<T>(
    values: &'static LocalKey<Known<T>>,
    text: &[u8],
    make: impl FnOnce() -> T,
) -> Option<Rc<T>> {
    if text.is_empty() {
        return None;
    }
    let kept = values.with_borrow(|values| {
        let kept = values.iter().find(|(of, _)| of == text);
        kept.map(|(_, value)| Rc::clone(value))
    });
    if kept.is_some() {
        return kept;
    }
    let value = Rc::new(make());
    values.with_borrow_mut(|values| {
        if values.len() >= MOST_TEXTS {
            values.clear();
        }
        values.push((text.to_vec(), Rc::clone(&value)));
    });
    Some(value)
}

/// Returns the value of a setting. If it is invalid, logs the error and returns the default.
pub fn valid<T: Default>(store: &SharedMemory, setting: &ini::Parsed<T>) -> T {
    setting.value().unwrap_or_else(|error| {
        log(store, &error, &error);
        T::default()
    })
}

/// Returns the hasher of buckets that no namespace of an application contains. The decisions are
/// counted in a row with the name `row`.
pub fn hasher(store: &SharedMemory, names: &[&[u8]], row: &str) -> KeyHasher {
    let guard: [&[u8]; 2] = [b"guard", b""];
    store.reserved_hasher(&[&guard, names].concat(), row.as_bytes())
}

/// Logs a message, unless one about the same `subject` was logged on this host in the last minute.
pub fn log(store: &SharedMemory, subject: &str, message: &str) {
    let Ok(limit) = Limit::within(Tokens::ONE, 60 * TICKS_PER_SECOND, Grain::Nanosecond) else {
        return;
    };
    let hasher = hasher(store, &[b"log lines"], "guard: log lines");
    let key = hasher.key(subject.as_bytes());
    if store.take(key, &limit.step_whole(1), None).granted() {
        // The message may quote a setting of an application, which may contain any bytes.
        log::write(&printable(message));
    }
}

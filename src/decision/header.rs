//! The header fields of a decision.

use super::{ALL_HELD, ALL_WAIT, DecisionState, HeaderSource, SHARED_HELD, float};
use gcra::{Decision, Limit, Ticks, seconds, wall_clock};
use zend::{Object, value};

/// The greatest integer that a structured HTTP field can hold (RFC 9651).
const GREATEST_FIELD: u64 = 999_999_999_999_999;

/// The reasons of denials that do not depend on tokens; see [`Decision::is_beside_tokens`].
const BESIDE_TOKENS: [&[u8]; 6] = [
    b"contended",
    b"table_full",
    b"unavailable",
    ALL_HELD.as_bytes(),
    ALL_WAIT.as_bytes(),
    SHARED_HELD.as_bytes(),
];

/// Returns the numbers of the header fields of a decision.
#[inline]
pub fn fields_of(object: &Object<DecisionState>) -> Fields {
    match &**object {
        DecisionState(Some(HeaderSource::Bucket(limit, decision, 0))) => {
            Fields::of_decision(limit, decision)
        }
        DecisionState(Some(HeaderSource::Bucket(limit, decision, floor))) => {
            Fields::above(limit, decision, *floor)
        }
        DecisionState(Some(HeaderSource::Lockout(next, _))) => Fields::of_lockout(object, *next),
        DecisionState(None) => Fields::of_properties(object),
    }
}

/// Returns the header fields of a decision on a call with a floor of `floor` ticks. `policy` is in
/// quotes, without line breaks.
pub fn fields(limit: &Limit, decision: &Decision, floor: Ticks, policy: &str) -> Lines {
    let fields = match floor {
        0 => Fields::of_decision(limit, decision),
        _ => Fields::above(limit, decision, floor),
    };
    fields.lines(policy, false)
}

/// Returns the text as a string of a structured field (RFC 9651), in quotes. Returns `None` if a
/// byte is not printable ASCII.
pub fn quoted(text: &[u8]) -> Option<String> {
    let mut quoted = String::from('"');
    for &byte in text {
        if !(0x20..=0x7e).contains(&byte) {
            return None;
        }
        if matches!(byte, b'"' | b'\\') {
            quoted.push('\\');
        }
        quoted.push(char::from(byte));
    }
    quoted.push('"');
    Some(quoted)
}

/// Returns the parameter pk of the fields: the bytes that select the client's part of a limit.
pub fn partition(key: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from(";pk=:");
    for bytes in key.chunks(3) {
        let at = |place: usize| u32::from(bytes.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(char::from(if place > bytes.len() { b'=' } else { digit }));
        }
    }
    text.push(':');
    text
}

/// The numbers of the header fields of draft-ietf-httpapi-ratelimit-headers-11: tokens, and whole
/// seconds. They are rounded so that a client that follows them is not denied.
pub struct Fields {
    /// The parameter q.
    capacity: u64,
    /// The parameter r.
    pub remaining: u64,
    /// The parameter w: the seconds in which the whole bucket refills, if they are known. At least
    /// 1.
    window: Option<u64>,
    /// The parameter qu, in quotes, if the limit is not in requests or tokens.
    unit: Option<String>,
    /// The parameter t: the seconds in which the remaining tokens refill, or one token if none
    /// remains. `None` if they are not known, or if the tokens are not the reason of a denial.
    reset: Option<u64>,
    /// `Retry-After` (RFC 9110), for a denial that ends.
    retry_after: Option<u64>,
    /// The seconds until the bucket is full.
    full_after: u64,
}

impl Fields {
    fn of_decision(limit: &Limit, decision: &Decision) -> Self {
        let remaining = u64::try_from(decision.remaining).map_or(0, |it| it.min(GREATEST_FIELD));
        let reset = if limit.window().is_some() {
            decision.reset_after
        } else if remaining > 0 {
            limit.refill(remaining)
        } else {
            // The bucket is full after `reset_after`. It holds one token when only the refill of
            // the other tokens remains.
            let others = limit.span() - limit.refill(1);
            decision.reset_after.saturating_sub(others)
        };
        let retry_after = decision.retry_after.filter(|_| !decision.allowed());
        let retry_after = retry_after.map(|ticks| limit.whole_seconds(ticks));
        Self {
            capacity: limit.capacity().floor().min(GREATEST_FIELD),
            remaining,
            window: Some(match limit.window() {
                Some(seconds) => u64::from(seconds),
                None => limit.whole_seconds(limit.span()).max(1),
            }),
            unit: None,
            reset: Some(limit.whole_seconds(reset)),
            retry_after,
            full_after: limit.whole_seconds(decision.reset_after),
        }
        .beside_tokens(decision.is_beside_tokens())
    }

    /// Returns the numbers of a call with a floor of `floor` ticks. They leave out the tokens of
    /// the floor, which are not for this caller.
    #[cold]
    fn above(limit: &Limit, decision: &Decision, floor: Ticks) -> Self {
        let fields = Self::of_decision(limit, decision);
        let above = |ticks: Ticks| {
            limit
                .tokens(ticks.saturating_sub(floor))
                .min(GREATEST_FIELD)
        };
        let held = limit.span().saturating_sub(decision.reset_after);
        let remaining = fields.remaining.min(above(held));
        let others = (limit.span() - limit.refill(1)).saturating_sub(floor);
        let reset = match remaining {
            0 => decision.reset_after.saturating_sub(others),
            _ => limit.refill(remaining),
        };
        Self {
            capacity: above(limit.span()),
            remaining,
            reset: fields.reset.map(|_| limit.whole_seconds(reset)),
            ..fields
        }
    }

    /// Returns the numbers of a decision of a lockout, which has no window.
    fn of_lockout(object: &Object<DecisionState>, next: Ticks) -> Self {
        Self {
            window: None,
            reset: Some(whole_seconds(seconds::from_ticks(next))),
            ..Self::of_properties(object)
        }
        .beside_tokens(BESIDE_TOKENS.contains(&value::bytes(&object.copy_property(5))))
    }

    /// Returns the numbers of a decision that PHP code has made. The time per token follows from
    /// the time until the bucket is full. It is unknown for a full bucket.
    fn of_properties(object: &Object<DecisionState>) -> Self {
        let [remaining, capacity, retry_after, reset_after] =
            [1, 2, 3, 4].map(|slot| float(&object.copy_property(slot)));
        let token = reset_after / (capacity - remaining);
        let is_known = token.is_finite() && token > 0.0;
        let reset = if remaining >= 1.0 {
            remaining.floor() * token
        } else {
            reset_after - (capacity - 1.0).max(0.0) * token
        };
        let (reason, unit) = (object.copy_property(5), object.copy_property(8));
        let unit = value::bytes(&unit);
        let is_beside_tokens = BESIDE_TOKENS.contains(&value::bytes(&reason));
        let ends = !object.copy_property(0).bool().unwrap_or(false) && retry_after.is_finite();
        Self {
            capacity: whole(capacity.floor()),
            remaining: whole(remaining.floor()),
            window: is_known.then(|| whole_seconds(capacity * token).max(1)),
            unit: (!unit.is_empty()).then(|| quoted(unit)).flatten(),
            reset: is_known.then(|| whole_seconds(reset)),
            retry_after: ends.then(|| whole_seconds(retry_after)),
            full_after: whole_seconds(reset_after),
        }
        .beside_tokens(is_beside_tokens)
    }

    /// Leaves out the times until tokens are refilled if a denial does not depend on tokens. These
    /// times would make the client wait for much longer than necessary.
    fn beside_tokens(self, is_beside_tokens: bool) -> Self {
        match (is_beside_tokens, self.retry_after) {
            (true, Some(retry_after)) => Self {
                reset: None,
                full_after: retry_after.max(1),
                ..self
            },
            _ => self,
        }
    }

    /// Returns the value of `Retry-After`. It is at least t, and at least 1, because a wait of 0
    /// seconds would look like a grant.
    pub fn wait(&self) -> Option<u64> {
        let retry_after = self.retry_after?;
        Some(retry_after.max(self.reset.unwrap_or(0)).max(1))
    }

    pub fn lines(&self, policy: &str, legacy: bool) -> Lines {
        let mut lines = Lines::new();
        lines.begin("RateLimit-Policy");
        lines.text.push_str(policy);
        lines.append_number(";q=", Some(self.capacity));
        lines.append_number(";w=", self.window);
        if let Some(unit) = &self.unit {
            lines.append(";qu=", unit);
        }
        lines.end();
        lines.begin("RateLimit");
        lines.text.push_str(policy);
        lines.append_number(";r=", Some(self.remaining));
        lines.append_number(";t=", self.reset);
        lines.end();
        if let Some(wait) = self.wait() {
            lines.begin("Retry-After");
            lines.append_number("", Some(wait));
            lines.end();
        }
        if legacy {
            let full_at = wall_clock().as_secs().saturating_add(self.full_after);
            let numbers = [
                ("X-RateLimit-Limit", self.capacity),
                ("X-RateLimit-Remaining", self.remaining),
                ("X-RateLimit-Reset", full_at),
            ];
            for (name, number) in numbers {
                lines.begin(name);
                lines.append_number("", Some(number));
                lines.end();
            }
        }
        lines
    }
}

/// The lines of header fields in one text, without line breaks. The ends of names and lines are
/// kept, because searching the text for them would take longer.
pub struct Lines {
    text: String,
    ends: [Ends; Self::MOST],
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct Ends {
    name: usize,
    line: usize,
}

impl Lines {
    /// The most fields of a decision.
    const MOST: usize = 6;
    /// The text between a name and its value.
    const COLON: &str = ": ";

    fn new() -> Self {
        Self {
            text: String::with_capacity(256),
            ends: [Ends::default(); Self::MOST],
            count: 0,
        }
    }

    fn begin(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends[self.count].name = self.text.len();
        self.text.push_str(Self::COLON);
    }

    /// Appends two texts to the current line.
    fn append(&mut self, before: &str, text: &str) {
        self.text.push_str(before);
        self.text.push_str(text);
    }

    /// Appends a number and the text before it, if the number is known.
    fn append_number(&mut self, before: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.append(before, itoa::Buffer::new().format(number));
        }
    }

    /// Ends the current line.
    fn end(&mut self) {
        self.ends[self.count].line = self.text.len();
        self.count += 1;
    }

    /// Returns the lines in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends[..self.count].iter().map(move |ends| {
            let line = &self.text[start..ends.line];
            start = ends.line;
            line
        })
    }

    /// Returns the names and values of the lines in their order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends[..self.count].iter().map(move |ends| {
            let name = &self.text[start..ends.name];
            start = ends.line;
            (name, &self.text[ends.name + Self::COLON.len()..ends.line])
        })
    }
}

/// Returns seconds as a whole number, rounded up. Ignores a part of up to three microseconds,
/// because the reply takes longer to arrive. The errors of doubles and the units of lockouts are
/// smaller.
fn whole_seconds(seconds: f64) -> u64 {
    whole((seconds - 3e-6).ceil())
}

/// Returns a whole number for a field.
// Numbers outside the range are limited to it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    (number as u64).min(GREATEST_FIELD)
}

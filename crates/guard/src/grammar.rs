//! The grammar of a limit: `[ON] [unless cookie NAME[,NAME...]] [agent TEXT[,TEXT...]]
//! KEY[+KEY...]`, then either `COUNT/UNIT [burst COUNT] [block COUNT UNIT]` or `concurrent COUNT`,
//! and then `[leave COUNT ON]... [name NAME]`. `ON` is `on [METHOD[,METHOD...]] PATH[,PATH...]`.

use super::SyntaxError;
use super::claims::{AgentText, Claims, CookieName};
use super::condition::{Condition, Pattern};
use super::leave::Leave;
use super::rule::{Measure, Part, Rule};
use super::scanner::Scanner;
use gcra::{Grain, Limit, TICKS_PER_SECOND, Ticks, Tokens};
use std::ffi::CString;

const UNITS: [(&str, Ticks); 4] = [
    ("second", TICKS_PER_SECOND),
    ("minute", 60 * TICKS_PER_SECOND),
    ("hour", 3_600 * TICKS_PER_SECOND),
    ("day", 86_400 * TICKS_PER_SECOND),
];

/// The greatest count and the greatest burst.
const GREATEST: i64 = 1_000_000_000;
/// The greatest number of permits, which is the same in shared memory.
const MOST_PERMITS: i64 = 1024;
/// The most bytes of the name of a limit. The row of a long limit keeps more bytes at its end.
const MOST_OF_NAME: usize = 32;

const SPACE: &str = "a space and a whole number";
const NUMBER: &str = "a whole number from 1 to 1000000000";
/// The parts that may follow others.
const END: &str = "\";\" or the end";
const LEAVE: &str = "\"leave\", \"name\", \";\" or the end";
const BLOCK: &str = "\"block\", \"leave\", \"name\", \";\" or the end";
const BURST: &str = "\"burst\", \"block\", \"leave\", \"name\", \";\" or the end";
const COUNT: &str = "a whole number from 1 to 1000000000, or \"concurrent\"";

impl Rule {
    /// Parses a list of limits, which `;` separates. A limit is `KEY[+KEY...] COUNT/UNIT`,
    /// optionally followed by `burst COUNT`. The burst is the capacity. Without it, the capacity is
    /// the count. `block COUNT UNIT` may follow, if a key is `ip`. Then a client that lacks tokens
    /// is blocked for this time. `KEY[+KEY...] concurrent COUNT` limits the requests that run at
    /// once. Before the keys there may be conditions: `on PATH[,PATH...]` or `on METHOD[,METHOD...]
    /// PATH[,PATH...]`, then `unless cookie NAME[,NAME...]`, then `agent TEXT[,TEXT...]`. At the
    /// end there may be `leave COUNT on ...`, also several times, and then `name NAME`. Fails with
    /// the position of the first error. Two limits with the same buckets or the same name are an
    /// error, too.
    pub fn parse(text: &str) -> Result<Vec<Self>, SyntaxError> {
        let mut rules: Vec<Self> = Vec::new();
        let mut start = 0;
        for item in text.split(';') {
            let mut scanner = Scanner::new(item, start);
            start += item.len() + 1;
            if scanner.is_at_end() {
                continue;
            }
            let rule = rule(&mut scanner, &rules)?;
            rules.push(rule);
        }
        Ok(rules)
    }
}

/// Reads a limit. `others` are the limits before it in the setting.
fn rule(scanner: &mut Scanner<'_>, others: &[Rule]) -> Result<Rule, SyntaxError> {
    let begin = scanner.at;
    let condition = if scanner.skip_word("on") {
        let condition = condition(scanner)?;
        scanner.blanks("a space and a key")?;
        Some(condition)
    } else {
        None
    };
    let claims = claims(scanner)?;
    let (parts, keys) = parts(scanner)?;
    scanner.blanks(SPACE)?;
    let (measure, number, mut next) = if scanner.skip_word("concurrent") {
        concurrent(scanner)?
    } else {
        rate(scanner, parts.contains(&Part::Ip))?
    };
    let on = condition
        .as_ref()
        .map_or(String::new(), |it| format!("{it} "));
    let mut name = format!("{on}{claims}{keys} {number}");
    let length = name.len();
    if others.iter().any(|it| it.name_of_buckets() == name) {
        return Err(SyntaxError::new(begin, "another limit"));
    }
    let leaves = leaves(scanner, &measure)?;
    name.extend(leaves.iter().map(ToString::to_string));
    if !leaves.is_empty() {
        next = LEAVE;
    }
    let given = given_name(scanner, others)?;
    if let Some(given) = &given {
        name.extend([" name ", given.as_str()]);
        next = END;
    }
    if !scanner.is_at_end() {
        return Err(scanner.before("", next));
    }
    Ok(Rule {
        condition,
        claims,
        parts,
        measure,
        leaves,
        name,
        length,
        given,
    })
}

/// A measure, its canonical form, and what may follow it.
type Measured = (Measure, String, &'static str);

/// Reads the number of permits after `concurrent`.
fn concurrent(scanner: &mut Scanner<'_>) -> Result<Measured, SyntaxError> {
    scanner.blanks(SPACE)?;
    let count = scanner.number(MOST_PERMITS, "a whole number from 1 to 1024")?;
    // The number is in range.
    let permits = u16::try_from(count).unwrap_or(u16::MAX);
    let name = format!("concurrent {permits}");
    Ok((Measure::Concurrent(permits), name, LEAVE))
}

/// Reads a rate, a burst and a block. `is_of_client` is true if the address of the client is a key.
fn rate(scanner: &mut Scanner<'_>, is_of_client: bool) -> Result<Measured, SyntaxError> {
    let count = scanner.number(GREATEST, COUNT)?;
    scanner.expect("/", "\"/\" and a unit")?;
    let (unit, span) = unit(scanner)?;
    let begin = scanner.at;
    let has_burst = scanner.skip_next("burst");
    let capacity = if has_burst {
        scanner.blanks(SPACE)?;
        scanner.number(GREATEST, NUMBER)?
    } else {
        count
    };
    let limit = limit(capacity, count, span);
    let too_long = SyntaxError::new(begin, "a burst that refills within 36 years");
    let limit = limit.ok_or(too_long)?;
    let name = format!("{count}/{unit} burst {capacity}");
    if !scanner.skip_next("block") {
        let next = if has_burst { BLOCK } else { BURST };
        return Ok((Measure::Rate { limit, block: None }, name, next));
    }
    if !is_of_client {
        let expected = "\"ip\" among the keys of a limit with \"block\"";
        return Err(scanner.before("block", expected));
    }
    let (pause, text) = pause(scanner)?;
    let block = Some(pause);
    Ok((
        Measure::Rate { limit, block },
        format!("{name} block {text}"),
        LEAVE,
    ))
}

/// Reads what some requests leave to others.
fn leaves(scanner: &mut Scanner<'_>, measure: &Measure) -> Result<Vec<Leave>, SyntaxError> {
    const ON: &str = "a space, \"on\" and a path";
    let (most, number) = match *measure {
        Measure::Rate { limit, .. } => (
            limit.capacity().floor().cast_signed(),
            "a whole number from 1 that is less than the burst",
        ),
        Measure::Concurrent(permits) => (
            permits.into(),
            "a whole number from 1 that is less than the number of permits",
        ),
    };
    let mut leaves = Vec::new();
    while scanner.skip_next("leave") {
        scanner.blanks(SPACE)?;
        let count = scanner.number(most - 1, number)?.cast_unsigned();
        scanner.blanks(ON)?;
        if !scanner.skip_word("on") {
            return Err(scanner.before("", ON));
        }
        let condition = condition(scanner)?;
        leaves.push(Leave { count, condition });
    }
    leaves.sort_unstable();
    leaves.dedup();
    Ok(leaves)
}

/// Reads the name of a limit, which no other limit has.
fn given_name(scanner: &mut Scanner<'_>, others: &[Rule]) -> Result<Option<String>, SyntaxError> {
    const EXPECTED: &str = "a space and a name of letters, digits, \"-\" and \"_\"";
    if !scanner.skip_next("name") {
        return Ok(None);
    }
    scanner.blanks(EXPECTED)?;
    let name = scanner.word();
    let error = if name.is_empty() {
        EXPECTED
    } else if name.len() > MOST_OF_NAME {
        "a name of at most 32 bytes"
    } else if others.iter().any(|it| it.given_name() == Some(name)) {
        "another name, because two limits of a setting cannot share one"
    } else {
        return Ok(Some(name.to_owned()));
    };
    Err(scanner.before(name, error))
}

/// Reads the count and the unit after `block`. Returns the ticks and the canonical form.
fn pause(scanner: &mut Scanner<'_>) -> Result<(Ticks, String), SyntaxError> {
    scanner.blanks(SPACE)?;
    let begin = scanner.at;
    let count = scanner.number(GREATEST, NUMBER)?;
    scanner.blanks("a space and a unit such as minutes")?;
    let word = scanner.word();
    let singular = word.strip_suffix(['s', 'S']).unwrap_or(word);
    let (unit, ticks) =
        named(singular).ok_or_else(|| scanner.before(word, "second, minute, hour or day"))?;
    // A count is at most 10^9 and a day less than 10^14 ticks, so the product fits.
    let pause = count.unsigned_abs() * ticks;
    if pause > 86_400 * TICKS_PER_SECOND {
        return Err(SyntaxError::new(begin, "at most one day"));
    }
    let plural = if count == 1 { "" } else { "s" };
    Ok((pause, format!("{count} {unit}{plural}")))
}

/// Reads the condition after `on`.
fn condition(scanner: &mut Scanner<'_>) -> Result<Condition, SyntaxError> {
    const EXPECTED: &str = "a space, and a path or methods such as GET,POST";
    scanner.blanks(EXPECTED)?;
    let mut methods = Vec::new();
    if !scanner.starts_with("/") {
        methods = self::methods(scanner)?;
        scanner.blanks("a space and a path such as /login")?;
    }
    let paths = list(scanner, Pattern::parse)?;
    Ok(Condition { methods, paths })
}

fn methods(scanner: &mut Scanner<'_>) -> Result<Vec<String>, SyntaxError> {
    let mut methods = Vec::new();
    loop {
        let word = scanner.word();
        // Methods are compared exactly, and the methods that servers know have no small letters.
        if word.is_empty() || word.bytes().any(|byte| byte.is_ascii_lowercase()) {
            return Err(scanner.before(word, "a method such as POST, or a path such as /login"));
        }
        methods.push(word.to_owned());
        if !scanner.skip(",") {
            methods.sort_unstable();
            methods.dedup();
            return Ok(methods);
        }
    }
}

/// Reads the conditions after `unless cookie` and after `agent`.
fn claims(scanner: &mut Scanner<'_>) -> Result<Claims, SyntaxError> {
    const COOKIE: &str = "a space, \"cookie\" and the name of a cookie";
    let mut claims = Claims::default();
    if scanner.skip_word("unless") {
        scanner.blanks(COOKIE)?;
        if !scanner.skip_word("cookie") {
            return Err(scanner.before("", COOKIE));
        }
        scanner.blanks("a space and the name of a cookie")?;
        claims.cookies = list(scanner, CookieName::parse)?;
        scanner.blanks("a space and a key")?;
    }
    if scanner.skip_word("agent") {
        scanner.blanks("a space and a part of a User-Agent")?;
        claims.agents = list(scanner, AgentText::parse)?;
        scanner.blanks("a space and a key")?;
    }
    Ok(claims)
}

/// Reads elements with commas between them. Returns them sorted, and each only once.
fn list<T: Ord>(
    scanner: &mut Scanner<'_>,
    parse: fn(&str) -> Result<T, SyntaxError>,
) -> Result<Vec<T>, SyntaxError> {
    let mut list = Vec::new();
    loop {
        let begin = scanner.at;
        list.push(parse(scanner.listed()).map_err(|error| error.after(begin))?);
        if !scanner.skip(",") {
            break;
        }
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

/// Reads the keys. Returns their canonical form, too.
fn parts(scanner: &mut Scanner<'_>) -> Result<(Vec<Part>, String), SyntaxError> {
    let (mut parts, mut keys) = (Vec::new(), String::new());
    loop {
        let begin = scanner.at;
        let (part, key) = part(scanner)?;
        // The address of a client is in only one network.
        let is_in = |others: [Part; 2]| {
            others.contains(&part) && parts.iter().any(|it| others.contains(it))
        };
        if parts.contains(&part)
            || is_in([Part::Ip, Part::Net])
            || (part == Part::All && !parts.is_empty())
        {
            return Err(SyntaxError::new(begin, "another key"));
        }
        let is_all = part == Part::All;
        parts.push(part);
        keys += &key;
        // "all" is the only key of its limit.
        if is_all || !scanner.skip("+") {
            return Ok((parts, keys));
        }
        keys.push('+');
    }
}

/// Reads a key. Returns its canonical form, too.
fn part(scanner: &mut Scanner<'_>) -> Result<(Part, String), SyntaxError> {
    const EXPECTED: &str = "a key: ip, net, host, path, header:Name or all";
    let word = scanner.word();
    let lower = word.to_ascii_lowercase();
    let part = match lower.as_str() {
        "ip" => Part::Ip,
        "net" => Part::Net,
        "host" => Part::Host,
        "path" => Part::Path,
        "all" => Part::All,
        "header" => {
            scanner.expect(":", "\":\" and the name of a header")?;
            let name = scanner.word().to_ascii_lowercase().replace('_', "-");
            let variable = variable(&name).filter(|_| !name.is_empty());
            let variable = variable.ok_or_else(|| scanner.before("", "the name of a header"))?;
            return Ok((Part::Header(variable), format!("header:{name}")));
        }
        _ => return Err(scanner.before(word, EXPECTED)),
    };
    Ok((part, lower))
}

fn unit(scanner: &mut Scanner<'_>) -> Result<(&'static str, Ticks), SyntaxError> {
    let word = scanner.word();
    named(word).ok_or_else(|| scanner.before(word, "second, minute, hour or day"))
}

fn named(word: &str) -> Option<(&'static str, Ticks)> {
    let mut units = UNITS.into_iter();
    units.find(|unit| word.eq_ignore_ascii_case(unit.0))
}

/// Returns the variable of a header, as CGI names it.
fn variable(header: &str) -> Option<CString> {
    let name = header.to_ascii_uppercase().replace('-', "_");
    let name = match name.as_str() {
        "CONTENT_TYPE" | "CONTENT_LENGTH" => name,
        _ => format!("HTTP_{name}"),
    };
    CString::new(name).ok()
}

/// Returns the quota of at most `capacity` tokens, with `count` tokens in each span.
fn limit(capacity: i64, count: i64, span: Ticks) -> Option<Limit> {
    let [capacity, count] = [capacity, count].map(Tokens::from_int);
    Limit::refilling(capacity.ok()?, count.ok()?, span, Grain::Nanosecond).ok()
}

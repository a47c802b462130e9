//! `TokenBucket\LogReplay`: access logs, replayed through the guard's rules, for the command
//! `tokenbucket advise`.

use crate::{classes, ini, storage};
use gcra::Ticks;
use guard::{Measure, Networks, Rule, SyntaxError};
use replay::{Counted, Demand, Failure, Format, Question, Replay, Settings};
use std::cell::{RefCell, RefMut};
use stores::printable;
use zend::{Array, Call, Class, State, Thrown, Zval, throw, value};

/// The state of an object. Empty until the constructor has succeeded.
#[derive(Debug, Default)]
pub struct LogReplay {
    replay: RefCell<Option<Replay>>,
    demand: RefCell<Demand>,
}

impl State for LogReplay {
    const OWNS_MEMORY: bool = true;
    const CLASS: &'static Class = &classes::LOG_REPLAY;
}

pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    const PARTS: &str = "must be a text, a name, a text and so on, with a text between two names";
    let logs = usize::try_from(call.int(1)?)
        .ok()
        .filter(|logs| (1..=10_000).contains(logs));
    let logs = logs.ok_or_else(|| throw::argument_value(1, "must be from 1 to 10000"))?;
    let format = Format::new(&strings(call, 2)?);
    let format = format.ok_or_else(|| throw::argument_value(2, PARTS))?;
    let rules = parsed(3, call.string(3)?, Rule::parse)?;
    let enforces = call.bool(4)?;
    let trusted = parsed(5, call.string(5)?, Networks::parse)?;
    let allowed = parsed(6, call.string(6)?, Networks::parse)?;
    let strangers = one(7, call.string(7)?)?;
    let groups = strings(call, 8)?;
    if groups.len() > 32 {
        return Err(throw::argument_value(8, "must have at most 32 groups"));
    }
    let groups = groups.into_iter().map(|limit| one(8, limit));
    let settings = Settings {
        format,
        rules,
        enforces,
        trusted,
        allowed,
        strangers,
        groups: groups.collect::<Result<_, _>>()?,
        skipped: strings(call, 9)?.into_iter().map(<[u8]>::to_vec).collect(),
        lists_all: call.bool(10)?,
    };
    let replay = Replay::new(logs, settings).map_err(|(limit, lacks)| {
        let message = format!(
            "has the limit \"{limit}\", which needs {}, but the format of the log lacks it",
            lacks.join(" and ")
        );
        throw::argument_value(3, &printable(&message))
    })?;
    call.this::<LogReplay>().replay.replace(Some(replay));
    Ok(())
}

/// Returns the strings of argument `number`, a list.
fn strings<'a>(call: &mut Call<'a>, number: u32) -> Result<Vec<&'a [u8]>, Thrown> {
    let mut strings = Vec::new();
    for (_, element) in value::entries(call.array(number)?) {
        let text = element
            .zend_str()
            .ok_or_else(|| throw::argument_type(number, "must contain only strings"))?;
        strings.push(text.as_bytes());
    }
    Ok(strings)
}

/// Parses argument `number`, a setting of the guard.
fn parsed<T>(
    number: u32,
    text: &[u8],
    parse: fn(&str) -> Result<T, SyntaxError>,
) -> Result<T, Thrown> {
    let text = String::from_utf8_lossy(text);
    parse(&text)
        .map_err(|error| throw::argument_value(number, &printable(ini::expected(&text, error))))
}

/// Parses argument `number`, one limit of the guard.
fn one(number: u32, text: &[u8]) -> Result<Rule, Thrown> {
    let rules = <[Rule; 1]>::try_from(parsed(number, text, Rule::parse)?);
    let [rule] = rules.map_err(|_| throw::argument_value(number, "must be one limit"))?;
    Ok(rule)
}

fn replay<'a>(call: &Call<'a>) -> Result<RefMut<'a, Replay>, Thrown> {
    let replay = RefMut::filter_map(call.this::<LogReplay>().replay.borrow_mut(), Option::as_mut);
    replay.map_err(|_| storage::not_constructed::<LogReplay>())
}

/// Implements `next(): ?int`.
pub fn next(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = replay(call)?
        .next()
        .map_or_else(Zval::null, |log| number(log as u64));
    Ok(())
}

/// Implements `read(int $log, string $bytes, bool $isOver): string`.
pub fn read(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (log, bytes, is_over) = (call.int(1)?, call.string(2)?, call.bool(3)?);
    // There is no log with a negative number, and none with the greatest.
    let listed = replay(call)?.read(usize::try_from(log).unwrap_or(usize::MAX), bytes, is_over);
    *result = value::of_bytes(&listed);
    Ok(())
}

/// Implements `text(string $kind, int $number): string`.
pub fn text(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (kind, number) = (
        call.string(1)?,
        usize::try_from(call.int(2)?).unwrap_or(usize::MAX),
    );
    let replay = replay(call)?;
    let names = match kind {
        b"client" => &replay.clients,
        b"net" => &replay.nets,
        b"path" => &replay.paths,
        b"agent" => &replay.agents,
        _ => {
            let message = "must be \"client\", \"net\", \"path\" or \"agent\"";
            return Err(throw::argument_value(1, message));
        }
    };
    *result = value::of_bytes(names.text(number));
    Ok(())
}

/// Implements `summary(): array`.
pub fn summary(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let replay = replay(call)?;
    let counts = replay.counts;
    let mut table = Array::new();
    for (name, count) in [
        ("lines", counts.lines),
        ("requests", counts.requests),
        ("skipped", counts.skipped),
        ("exempt", counts.exempt),
        ("malformed", counts.malformed),
        ("late", counts.late),
    ] {
        table.insert(name, number(count))?;
    }
    table.insert("first", gcra::seconds::from_ticks(counts.first))?;
    table.insert("last", gcra::seconds::from_ticks(counts.last))?;
    let mut groups = Array::new();
    for (group, requests) in &replay.group_requests {
        groups.insert(&group.to_string(), number(*requests))?;
    }
    table.insert("groups", groups.into_zval())?;
    let mut failures = Array::new();
    for ((_, name), (count, examples)) in Failure::ALL.into_iter().zip(&replay.failures) {
        let mut failure = Array::new();
        failure.insert("count", number(*count))?;
        failure.insert(
            "examples",
            list(examples.iter().map(|it| value::of_bytes(it))),
        )?;
        failures.insert(name, failure.into_zval())?;
    }
    table.insert("failures", failures.into_zval())?;
    table.insert("limits", limits(&replay)?.into_zval())?;
    *result = table.into_zval();
    Ok(())
}

fn limits(replay: &Replay) -> Result<Array, Thrown> {
    let mut limits = Array::new();
    for limit in &replay.limits {
        let mut row = Array::new();
        row.insert("limit", value::of_bytes(limit.rule.name().as_bytes()))?;
        row.insert("has_path", limit.rule.has_path())?;
        row.insert("requests", number(limit.requests))?;
        row.insert("clients", number(limit.clients.len() as u64))?;
        row.insert("uncertain", number(limit.uncertain))?;
        limits.push(row)?;
    }
    Ok(limits)
}

/// Implements `ask(array $questions): void`.
pub fn ask(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    const FORM: &str = "must contain only texts \"GROUP KEY\" and \"GROUP LIMIT\"";
    let mut questions = Vec::new();
    for text in strings(call, 1)? {
        let question = question(&String::from_utf8_lossy(text));
        questions.push(question.ok_or_else(|| throw::argument_value(1, FORM))?);
    }
    call.this::<LogReplay>()
        .demand
        .replace(Demand::new(questions));
    Ok(())
}

/// Returns the question that a text such as `* ip` or `3 net 10/second burst 20` means.
fn question(text: &str) -> Option<Question> {
    let (group, key) = text.split_once(' ')?;
    let group = match group {
        "*" => None,
        number => Some(1u32.checked_shl(number.parse().ok()?)?),
    };
    let counted = match key.split(' ').next()? {
        "ip" => Counted::Ip,
        "net" => Counted::Net,
        "all" => Counted::All,
        _ => return None,
    };
    let limit = match key
        .contains(' ')
        .then(|| Rule::parse(key))
        .transpose()
        .ok()?
    {
        None => None,
        Some(rules) => match *rules.first()?.measure() {
            Measure::Rate { limit, .. } => Some(limit),
            Measure::Concurrent(_) => return None,
        },
    };
    Some(Question {
        group,
        counted,
        limit,
    })
}

/// Implements `weigh(string $requests): void`.
pub fn weigh(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let requests = call.string(1)?;
    call.this::<LogReplay>().demand.borrow_mut().read(requests);
    Ok(())
}

/// Implements `answer(int $question): array`.
pub fn answer(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let index = usize::try_from(call.int(1)?).unwrap_or(usize::MAX);
    let mut demand = call.this::<LogReplay>().demand.borrow_mut();
    let found = demand
        .found(index)
        .ok_or_else(|| throw::argument_value(1, "must be the index of a question"))?;
    let packed = |numbers: &Vec<u32>| {
        let bytes: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        value::of_bytes(&bytes)
    };
    let mut table = Array::new();
    table.insert("requests", number(found.requests))?;
    table.insert("most", list(found.most.iter().map(packed)))?;
    table.insert("bursts", packed(&found.bursts))?;
    table.insert("denied_requests", number(found.denied_requests))?;
    table.insert("denied_clients", number(found.denied_clients))?;
    let denied = found.most_denied.iter();
    let denied = denied.flat_map(|&(client, denied)| [client, denied]);
    table.insert("most_denied", packed(&denied.collect()))?;
    let mut hours = Array::new();
    for (hour, count) in &found.denied_by_hour {
        hours.insert(&hour.to_string(), number(*count))?;
    }
    table.insert("denied_by_hour", hours.into_zval())?;
    *result = table.into_zval();
    Ok(())
}

fn list(elements: impl Iterator<Item = Zval>) -> Zval {
    value::of_list(elements).unwrap_or_else(Zval::null)
}

/// Returns a count as PHP's integer. No count reaches 2^63.
fn number(count: Ticks) -> Zval {
    let mut number = Zval::new();
    number.set_long(count.cast_signed());
    number
}

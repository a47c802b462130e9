//! Runs steps and other changes as statements, and reads the numbers that they return.

use super::database::{Database, number};
use super::session;
use super::state::PdoStorage;
use super::statement::{LONG_AGO, Values};
use crate::storage::{Reported, arguments};
use crate::{attached, exceptions};
use gcra::{Denial, Grain, Outcome, Put, Refill, Step, Ticks, Verdict, Windows, clock};
use std::sync::Arc;
use stores::remote::{
    Answered, Cause, Remote, Reply, Server, Settings, StateKind, StepRequest, Transport, Visit,
};
use stores::sql::reply::{self, MysqlReply, micros, micros_ago};
use stores::sql::{Dialect, Query, stored};
use zend::{Kept, Object, Thrown, Zval, throw};

/// The most attempts at a step that loses each race.
const TRIES: u32 = 100;

/// The most repeats of a step that was denied with a wait no longer than the call itself.
const LATE: u32 = 8;

/// Converts microseconds to ticks.
fn ticks(micros: i64) -> Ticks {
    micros.unsigned_abs() * Grain::Microsecond.ticks()
}

/// Returns this host's monotonic clock in microseconds.
fn boot_clock() -> i64 {
    micros(clock::boot_clock().0)
}

/// Runs `call` on the connection of a storage and handles a failure by the failure policy. Throws
/// `TokenBucket\StorageException` for a failure if the policy throws, or the exception of PHP code.
/// Other policies report the failure by `tokenbucket.failure_report`.
pub fn with<R>(
    object: &Object<PdoStorage>,
    call: impl FnOnce(&Remote<Database<'_>>) -> Answered<R>,
) -> Reported<R> {
    let made = object.made.get();
    let made = made.ok_or_else(arguments::not_constructed::<PdoStorage>)?;
    let host = attached::host().ok_or(Thrown)?;
    let database = Database::open(object, made)?;
    // On SQLite, PDO does not report a transaction that the caller began by a statement such as
    // `BEGIN`.
    let tells = made.dialect != Dialect::Sqlite;
    let denial_cache = made.is_one_table() && tells && !database.in_transaction.get();
    let settings = Settings {
        // The denial cache is not used inside a transaction, because the transaction may be rolled
        // back. Its changes are also invisible to other connections.
        denial_cache_max_age: made.settings.denial_cache_max_age.filter(|_| denial_cache),
        ..made.settings
    };
    let remote = Remote::new(database, settings, host);
    let answer = call(&remote);
    if throw::is_pending() {
        return Err(Thrown);
    }
    let caught = || remote.transport().caught().map(Kept::into_zval);
    let answer = answer.map_err(|failure| exceptions::store_failed_by(&failure, caught()));
    exceptions::report_failure(answer?)
}

impl Transport for Database<'_> {
    type Route = Arc<Server>;

    fn identity(&self) -> Vec<u8> {
        self.made.identity.clone()
    }

    fn name(&self, identifier: &[u8]) -> Vec<u8> {
        stored(identifier).into_owned()
    }

    fn route(&self, _name: &[u8]) -> Result<Arc<Server>, Arc<Server>> {
        Ok(Arc::clone(&self.made.server))
    }

    fn server(route: &Arc<Server>) -> &Arc<Server> {
        route
    }

    /// Runs a step. A statement reads the clock before it waits for a lock. So by the end of the
    /// call, the tokens that a denial lacked may have been refilled. Then the step is repeated, up
    /// to `LATE` times.
    fn take(visit: &Visit<'_, Self>, request: &StepRequest) -> Result<Reply, Cause> {
        let mut tries = 0;
        loop {
            let began = clock::boot_clock();
            let reply = visit.store.decide(request)?;
            let outcome = reply.outcome;
            if request.step.is_outside(&outcome) {
                return Ok(reply);
            }
            let step = request.step.at(outcome.now);
            let wait = step.retry_after(outcome.empty_at, outcome.now);
            let is_late = outcome.verdict == Verdict::Denied(Denial::Insufficient)
                && request.step.max_debt == 0
                && wait <= clock::boot_clock() - began;
            if !is_late || tries == LATE {
                return Ok(reply);
            }
            tries += 1;
        }
    }

    fn put(
        visit: &Visit<'_, Self>,
        name: &[u8],
        put: &Put,
        _seen: Option<i64>,
    ) -> Result<(), Cause> {
        let store = visit.store;
        let (query, values) = store.change(name, put)?;
        let Put::Uncount {
            windows,
            is_undo: false,
            ..
        } = *put
        else {
            return store.query(query, &values, |_| {
                if store.made.dialect == Dialect::MySql && values.tag != 0 {
                    store.last_reply(values.tag)?;
                }
                Ok(())
            });
        };
        let changed = store.query(query, &values, |rows| store.changed_rows(rows))?;
        if changed == 0 {
            // The statement does not tell whether the server's clock is in none of the windows.
            let now = reply::instant(store.look(Query::Look, name)?.0);
            if !windows.contain(now) {
                return Err(Cause::Clock(now));
            }
        }
        Ok(())
    }
}

impl Database<'_> {
    /// Returns the statement of a change, and its values. A give-back may need a look first.
    fn change<'n>(&self, name: &'n [u8], put: &Put) -> Result<(Query, Values<'n>), Cause> {
        let mut values = Values::of(name);
        let query = match *put {
            Put::Refund(refund) => {
                values.cost = micros(refund.cost);
                values.in_debt = micros(refund.in_debt);
                values.span = micros(refund.span);
                if refund.taken == Put::VOUCHED {
                    Query::Refund
                } else {
                    values.taken = self.on_server_clock(name, micros(refund.taken.0))?;
                    Query::GiveBack
                }
            }
            Put::Uncount {
                cost,
                windows,
                is_undo,
            } => {
                values.cost = micros(cost);
                values.starts = windows.starts().map(|it| micros(it.0));
                values.latest = if is_undo { values.starts[1] } else { i64::MAX };
                Query::Uncount
            }
            Put::Advance { until } => {
                values.taken = micros(until.0);
                Query::Advance
            }
            Put::Reset { .. } => Query::Reset,
            Put::Bootstrap { age, span } | Put::Raise { age, span } => {
                (values.age, values.life) = (micros_ago(age), micros(span));
                values.tag = reply::tag(0);
                match put {
                    Put::Raise { .. } => Query::Raise,
                    _ => Query::Start,
                }
            }
        };
        Ok((query, values))
    }

    /// Converts the state after a plain step to the clock that `GiveBack` reads, in microseconds.
    ///
    /// `MySQL` returns an age. [`Database::take_mysql`] subtracts the age from this host's clock,
    /// which it reads before the statement. So `taken` is not later than the true state. This
    /// method reads this host's clock after the server's, so its result is not later, either. The
    /// difference is at most the duration of both statements. If the bucket's state is later than
    /// the result by no more than that, it is the state after the step, or other calls have since
    /// taken only the tokens that are added in that duration.
    fn on_server_clock(&self, name: &[u8], taken: i64) -> Result<i64, Cause> {
        if self.made.dialect != Dialect::MySql {
            return Ok(taken);
        }
        let began = boot_clock();
        let (there, state) = self.look(Query::Look, name)?;
        let now = boot_clock();
        let took = self.object.time_of_take(taken).unwrap_or(now - began);
        let taken = taken.saturating_add(there).saturating_sub(now);
        let is_near = (0..=took + now - began).contains(&state.saturating_sub(taken));
        Ok(if is_near { state } else { taken })
    }

    /// Decides a step that changes nothing.
    fn peek(&self, request: &StepRequest) -> Result<Reply, Cause> {
        let step = &request.step;
        let life = micros(step.lifetime());
        let (now, state, shorter) = self.look_for(Query::Look, &request.name, life)?;
        let (now, empty_at) = (reply::instant(now), reply::instant(state));
        let outside = Outcome::denied(Denial::Insufficient, empty_at, now);
        Ok(Reply {
            outcome: if step.is_outside(&outside) {
                outside
            } else {
                step.at(now).decide(empty_at, now)
            },
            extra: 0,
            found: match (state, shorter) {
                (0, _) => StateKind::Nothing,
                (_, true) => StateKind::Shorter,
                (_, false) => StateKind::Record,
            },
        })
    }

    fn decide(&self, request: &StepRequest) -> Result<Reply, Cause> {
        let step = &request.step;
        if step.dry || (step.cost == 0 && request.first.is_none()) {
            return self.peek(request);
        }
        let tick = micros(step.refill.tick().max(Grain::Microsecond.ticks()));
        let is_plain = step.is_plain() && step.max_wait == 0 && request.first.is_none();
        let windows = match step.refill {
            Refill::Windows(windows) => Some(windows),
            _ => None,
        };
        let query = match windows {
            Some(_) => Query::Count,
            None if is_plain => Query::Take,
            None => Query::Step,
        };
        // Without a proposal the bucket starts full.
        let first = request.first.map_or(LONG_AGO, micros_ago);
        // If denials are charged, the statement recognises a charged denial by a state in the
        // future. So a first state must lie at least a drain tick in the past.
        let least = if step.max_debt == 0 { first } else { tick };
        let values = Values {
            cost: micros(step.cost),
            span: micros(step.span),
            life: micros(step.lifetime()),
            age: first.max(least),
            tick,
            debt: micros(step.max_debt),
            wait: micros_ago(step.max_wait),
            starts: windows.map_or([0; 4], |it| it.starts().map(|it| micros(it.0))),
            latest: i64::MAX,
            ..Values::of(&request.name)
        };
        match self.made.dialect {
            Dialect::MySql => self.take_mysql(query, values, windows),
            Dialect::PgSql => self.take_pgsql(query, &values, step),
            Dialect::Sqlite => self.take_sqlite(query, &values),
        }
    }

    /// Returns the store's clock and the bucket's state on that clock, in microseconds.
    fn look(&self, query: Query, name: &[u8]) -> Result<(i64, i64), Cause> {
        let (now, state, _) = self.look_for(query, name, 0)?;
        Ok((now, state))
    }

    /// Returns the same, and whether only steps of spans below `life` took from the bucket since it
    /// was last full.
    fn look_for(&self, query: Query, name: &[u8], life: i64) -> Result<(i64, i64, bool), Cause> {
        let values = Values {
            life,
            ..Values::of(name)
        };
        let numbers = self.query(query, &values, |it| self.numbers(it))?;
        let [now, state] = numbers.ok_or(Cause::Caller("no row"))?;
        Ok((now, known(state >> 1, now)?, state & 1 != 0))
    }

    fn take_mysql(
        &self,
        query: Query,
        values: Values<'_>,
        windows: Option<Windows>,
    ) -> Result<Reply, Cause> {
        let tag = self.next_tag();
        // This clock is monotonic and is read before the statement. `on_server_clock` relies on
        // these two properties.
        let now = boot_clock();
        let answer = self.query(query, &Values { tag, ..values }, |it| self.answer(tag, it))?;
        let is_numbered = answer.is_none();
        let answer = answer.unwrap_or(reply::CREATED);
        let granted = answer.granted || (query == Query::Take && answer.age >= values.cost);
        if let Some(windows) = windows {
            return self.counted(&values, granted, is_numbered, windows, now);
        }
        if values.tick != 1 {
            return Ok(answered(granted, self.look_after(values.name)?));
        }
        let slack = values.slack();
        // A state of 0 means that the bucket was empty in 1970, which is longer ago than any span.
        let age = if answer.absent || answer.age >= LONG_AGO / 2 {
            values.age.min(slack)
        } else if granted {
            (answer.age - values.cost).min(slack)
        } else {
            charged(&values, answer.age)
        };
        known(-answer.age, 0)?;
        let state = now.saturating_sub(age);
        let took = boot_clock() - now;
        self.object.note_take(state, took, granted && state > now);
        let mut reply = answered(granted, (now, state));
        if answer.shorter && !granted {
            reply.found = StateKind::Shorter;
        }
        Ok(reply)
    }

    /// Returns the reply of a quota. Its statement was sent at `began`, on the clock of
    /// [`boot_clock`].
    fn counted(
        &self,
        values: &Values<'_>,
        granted: bool,
        is_numbered: bool,
        windows: Windows,
        began: i64,
    ) -> Result<Reply, Cause> {
        let mut reply = answered(granted, self.look_after(values.name)?);
        let outcome = &mut reply.outcome;
        let earliest = outcome.now.saturating_sub(ticks(boot_clock() - began));
        // If the clock was outside of the windows, the row is new, too, but nothing was taken.
        if is_numbered && !(windows.contain(earliest) && windows.contain(outcome.now)) {
            outcome.verdict = Verdict::Denied(Denial::Insufficient);
        }
        // The window may have ended since the statement. Then the decision describes that window.
        // If the state is of a later window, an undo must not change that one.
        let window = windows.at(earliest);
        if outcome.granted() && window != windows.at(outcome.now) {
            if outcome.empty_at > window.end() {
                outcome.empty_at = window.end();
            } else {
                outcome.now = window.within(outcome.now);
            }
        }
        Ok(reply)
    }

    /// Looks at a bucket after its step. With drain ticks or windows, a wait ends at an instant of
    /// the server's clock, for which the last insert id has no room. In a transaction, the step has
    /// locked the row, also if it was denied.
    fn look_after(&self, name: &[u8]) -> Result<(i64, i64), Cause> {
        let is_locked = self.in_transaction.get();
        let query = if is_locked {
            Query::LookLocked
        } else {
            Query::Look
        };
        self.look(query, name)
    }

    /// Returns the mark of the next call on `MySQL`.
    pub fn next_tag(&self) -> i64 {
        let call = self.object.calls.get();
        self.object.calls.set(call.wrapping_add(1));
        reply::tag(call)
    }

    /// Returns the reply that the last insert id on `MySQL` holds. Notes that the id is not one of
    /// the caller. Returns `None` if the id is not a reply.
    fn last_reply(&self, tag: i64) -> Result<Option<MysqlReply>, Cause> {
        let id = self.call(&self.db, "lastinsertid", &mut [])?;
        let id = number(&id);
        let answer = id.and_then(|id| reply::answer(id, tag));
        if answer.is_some() {
            session::note_reply(id);
        }
        Ok(answer)
    }

    /// Reads the reply to `statement`, the last one on `MySQL`. If the table has a trigger for each
    /// row, the server does not send the reply with the statement, but SQL's `LAST_INSERT_ID()` has
    /// it. Returns `None` if the reply is lost because the new row of a bucket without a record got
    /// a number by `AUTO_INCREMENT`.
    pub fn answer(&self, tag: i64, statement: &Zval) -> Result<Option<MysqlReply>, Cause> {
        if let Some(answer) = self.last_reply(tag)? {
            return Ok(Some(answer));
        }
        let select = self.prepare("SELECT CAST(LAST_INSERT_ID() AS BINARY) LIMIT 1")?;
        self.call(&select, "execute", &mut [])?;
        let [id] = self.numbers(&select)?.unwrap_or_default();
        if let Some(answer) = reply::answer(id, tag) {
            return Ok(Some(answer));
        }
        if self.changed_rows(statement)? == 1 && self.numbers_rows()? {
            return Ok(None);
        }
        Err(Cause::Caller("the last insert id is not of this statement"))
    }

    /// Reports whether the table has a column with `AUTO_INCREMENT`.
    fn numbers_rows(&self) -> Result<bool, Cause> {
        let statement = self.prepare(&reply::numbering(&self.made.table))?;
        self.call(&statement, "execute", &mut [])?;
        let numbers = self.row(&statement)?.is_some();
        self.call(&statement, "closecursor", &mut [])?;
        Ok(numbers)
    }

    fn take_pgsql(&self, query: Query, values: &Values<'_>, step: &Step) -> Result<Reply, Cause> {
        let mut found = (0, 0);
        for _ in 0..TRIES {
            let numbers = self.query(query, values, |it| self.changed(it))?;
            let [now, state, granted, told] = numbers.ok_or(Cause::Caller("no row"))?;
            found = (now, state);
            let mut reply = answered(granted != 0, found);
            if told == 2 {
                reply.found = StateKind::Shorter;
            }
            if told != 0 || step.is_outside(&reply.outcome) {
                known(state, now)?;
                return Ok(reply);
            }
            // The row changed between the read and the write, because another call was granted
            // tokens.
        }
        let mut contended = answered(false, found);
        contended.outcome.verdict = Verdict::Denied(Denial::Contended);
        Ok(contended)
    }

    fn take_sqlite(&self, query: Query, values: &Values<'_>) -> Result<Reply, Cause> {
        match self.query(query, values, |it| self.changed(it))? {
            Some([now, state, granted]) => Ok(answered(granted != 0, (now, state))),
            None => Ok(answered(false, self.look(Query::Look, values.name)?)),
        }
    }
}

/// Returns the age of a bucket's state after a charged denial, in microseconds. `age` is the age
/// before the denial.
fn charged(values: &Values<'_>, age: i64) -> i64 {
    if values.debt == 0 {
        return age;
    }
    age.min((age - values.cost).max(-values.debt))
}

/// Checks that the row holds a bucket's record. Returns its state. Fails with [`Cause::Record`] if
/// the row does not hold a bucket's record.
fn known(state: i64, now: i64) -> Result<i64, Cause> {
    if reply::is_foreign(state, now) {
        Err(Cause::Record)
    } else {
        Ok(state)
    }
}

/// Returns the reply to a step from the clock and the state after the step.
fn answered(granted: bool, (now, state): (i64, i64)) -> Reply {
    Reply::new(granted, reply::instant(now), reply::instant(state))
}

//! Tests the stages of a call on a transport that replies as a test says.

use super::*;
use crate::remote::breaker::Passage;
use crate::remote::cached::entry_of;
use crate::remote::denial_cache::CacheEntry;
use crate::remote::race::Task;
use crate::remote::time_left::TimeLeft;
use crate::remote::transport::BucketChange;
use gcra::{
    Denial, EPOCH, Refill, Row, TICKS_PER_SECOND, Ticket, Ticks, Timestamp, Verdict, boot_clock,
};
use rustix::event::PollFd;
use segment::memory::Segment;
use segment::{Host, host};
use std::cell::{Cell, RefCell};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The unit of the instants in the denial cache.
const UNIT: Ticks = 1 << 14;
const NOW: Timestamp = Timestamp(EPOCH.0 + (1 << 50));
const TWO: NonZero<Ticks> = NonZero::new(2).expect("it is not 0");
const MILLISECOND: Ticks = TICKS_PER_SECOND / 1000;

const ID: &[u8] = b"id";
/// An identifier whose name takes longer to compute than the timeout of the tests that use it.
const SLOW: &[u8] = b"slow";
const SLOW_NAME: Ticks = 300 * MILLISECOND;

const SETTINGS: Settings = Settings {
    timeout: TICKS_PER_SECOND,
    on_failure: OnFailure::Throw,
    denial_cache_max_age: Some(1024 * UNIT),
    take_ahead: 0,
};

type Asked<'t> = dyn FnMut(Timestamp) -> Result<Reply, Cause> + 't;

/// A transport that calls `asked` with the deadline of each request.
struct Scripted<'t> {
    server: Arc<Server>,
    /// True until the transport has located its server.
    is_lost: Cell<bool>,
    /// The bound from which the last request restores a lost record.
    seen: Cell<Option<i64>>,
    /// The instants at which the names of records were known.
    named_at: RefCell<Vec<Timestamp>>,
    /// The number of lookups of a record's server. A waiting call makes one each time that it reads
    /// the bucket's entry.
    looks: Cell<u64>,
    asked: RefCell<Box<Asked<'t>>>,
}

impl Transport for Scripted<'_> {
    type Route = Arc<Server>;

    fn identity(&self) -> Vec<u8> {
        b"scripted".to_vec()
    }

    fn name(&self, identifier: &[u8]) -> Vec<u8> {
        if identifier == SLOW {
            sleep(Duration::from_nanos(SLOW_NAME));
        }
        self.named_at.borrow_mut().push(boot_clock());
        identifier.to_vec()
    }

    fn route(&self, _: &[u8]) -> Result<Arc<Server>, Arc<Server>> {
        self.looks.set(self.looks.get() + 1);
        let server = Arc::clone(&self.server);
        if self.is_lost.get() {
            Err(server)
        } else {
            Ok(server)
        }
    }

    fn server(route: &Arc<Server>) -> &Arc<Server> {
        route
    }

    fn locate(&self, _: &[u8], deadline: Timestamp) -> Result<Option<Arc<Server>>, Cause> {
        self.is_lost.set(false);
        (self.asked.borrow_mut())(deadline).map(|_| Some(Arc::clone(&self.server)))
    }

    fn take(visit: &Visit<'_, Self>, request: &StepRequest) -> Result<Reply, Cause> {
        visit.store.seen.set(request.seen);
        (visit.store.asked.borrow_mut())(visit.deadline)
    }

    fn put(visit: &Visit<'_, Self>, _: &[u8], _: &Put, seen: Option<i64>) -> Result<(), Cause> {
        visit.store.seen.set(seen);
        (visit.store.asked.borrow_mut())(visit.deadline).map(|_| ())
    }

    fn joins(&self, _: &[u8], _: &Self, _: &[u8]) -> bool {
        true
    }
}

impl Pipelined for Scripted<'_> {
    type Flight<'a> = Replied;

    fn pipelines(&self, _: &Self) -> bool {
        false
    }

    fn looks_up(_: &Self::Route) -> bool {
        false
    }

    fn launch(visit: &Visit<'_, Self>, requests: &[&StepRequest]) -> Result<Replied, Cause> {
        let replies = requests.iter().map(|request| Self::take(visit, request));
        Ok(Replied(Some((replies.enumerate().collect(), Ok(())))))
    }

    fn put_each(
        visit: &Visit<'_, Self>,
        changes: &[BucketChange<'_>],
        _: &mut dyn FnMut(usize, Cause),
    ) -> Result<(), Cause> {
        let mut changes = changes.iter();
        changes.try_for_each(|it| Self::put(visit, it.name, it.put, it.seen))
    }
}

struct Replied(Option<Flown>);

impl Task for Replied {
    type Output = Flown;

    fn waits_for(&self) -> Option<PollFd<'_>> {
        None
    }

    fn advance(&mut self) -> Result<Option<Flown>, Cause> {
        Ok(self.0.take())
    }
}

fn host() -> Host {
    let settings = host::HostSettings {
        lines: host::lines(1 << 16),
        diagnostics: false,
        evict: false,
    };
    Host::new(settings, Segment::private).expect("memory")
}

fn remote<'t>(
    host: &'t Host,
    settings: Settings,
    asked: impl FnMut(Timestamp) -> Result<Reply, Cause> + 't,
) -> Remote<'t, Scripted<'t>> {
    let transport = Scripted {
        server: Arc::new(Server::new(b"scripted", "scripted".to_owned())),
        is_lost: Cell::new(false),
        seen: Cell::new(None),
        named_at: RefCell::default(),
        looks: Cell::new(0),
        asked: RefCell::new(Box::new(asked)),
    };
    Remote::new(transport, settings, host)
}

fn silent(_: Timestamp) -> Result<Reply, Cause> {
    panic!("the store was contacted")
}

fn key() -> Key<'static> {
    Key {
        identifier: ID,
        hash: 77,
        row: Row::default(),
    }
}

const fn ticket(key: Key<'_>, step: Step) -> Ticket<'_> {
    let index = 0;
    Ticket { index, key, step }
}

/// Returns the cached denial of a step at `NOW`, or `None` if the store must be contacted. The
/// entry of the bucket is `age` ticks old.
fn cached(bound: Timestamp, age: Ticks, step: &Step) -> Option<Outcome> {
    let host = host();
    // An age is rounded up by a unit.
    let sent = NOW + UNIT - age;
    host.denial_cache()
        .record(entry_of(key(), step.lifetime()), bound, 0, sent);
    let remote = remote(&host, SETTINGS, silent);
    remote.prepare(key(), step, NOW).err()
}

#[test]
fn a_cached_denial_leaves_a_thousandth_of_its_age_for_the_drift_of_clocks() {
    // At this age, the store's clock may be one unit ahead.
    let age = 1024 * UNIT;
    let bound = NOW - 10 * UNIT;
    let granted = Step::new(11 * UNIT, 100 * UNIT);
    assert_eq!(cached(bound, age, &granted), None);
    let denied = Step::new(11 * UNIT + 1, 100 * UNIT);
    // The error of an entry is at least two units.
    let latest = NOW - 10 * UNIT + 2 * UNIT + UNIT;
    let expected = Outcome::denied(Denial::Insufficient, latest, NOW);
    assert_eq!(cached(bound, age, &denied), Some(expected));
}

#[test]
fn the_error_of_a_cached_denial_adds_no_debt() {
    let step = Step::new(50 * UNIT, 100 * UNIT);
    let latest = |bound| cached(bound, UNIT, &step).map(|outcome| outcome.empty_at);
    // The entry is one unit old. The store's clock may be 16 ticks ahead.
    assert_eq!(latest(NOW - UNIT), Some(NOW));
    assert_eq!(latest(NOW + UNIT), Some(NOW + 3 * UNIT + 16));
}

#[test]
fn a_cached_denial_states_the_whole_debt_while_it_ends() {
    let step = Step::new(50 * UNIT, 100 * UNIT);
    let latest = |bound| cached(bound, 4 * UNIT, &step).map(|outcome| outcome.empty_at);
    // The request was sent three units ago, when the debt was one or two units long. The error is
    // two units, and the store's clock may be 64 ticks ahead.
    assert_eq!(latest(NOW - UNIT), Some(NOW + UNIT + 64));
    assert_eq!(latest(NOW - 2 * UNIT), Some(NOW + 64));
}

#[test]
fn only_plain_steps_are_denied_from_fresh_entries() {
    let step = Step::new(50 * UNIT, 100 * UNIT);
    let is_cached = |age, step: &Step| cached(NOW, age, step).is_some();
    assert!(is_cached(1024 * UNIT, &step));
    assert!(!is_cached(1025 * UNIT, &step));
    assert!(!is_cached(UNIT, &step.dry()));
    assert!(!is_cached(
        UNIT,
        &Step {
            refill: Refill::Ticks(TWO),
            ..step
        }
    ));
    assert!(!is_cached(
        UNIT,
        &Step {
            max_debt: 1,
            ..step
        }
    ));
}

#[test]
fn a_lost_record_is_restored_unless_it_is_full_at_the_deadline() {
    let host = host();
    let sent = NOW - 1023 * UNIT;
    let settings = Settings {
        timeout: 7,
        ..SETTINGS
    };
    let remote = remote(&host, settings, silent);
    // The timeout is 7 ticks, and the store's clock may be one unit ahead.
    let age = 11 * UNIT + 7;
    for (span, seen) in [(age, None), (age + 1, Some(age.cast_signed()))] {
        let step = Step::new(0, span);
        host.denial_cache()
            .record(entry_of(key(), span), NOW - 10 * UNIT, 0, sent);
        let mut prepared = remote.prepare(key(), &step, NOW).expect("it costs nothing");
        remote.set_seen(&mut prepared, NOW);
        assert_eq!(prepared.request.seen, seen);
    }
}

/// A call that waited for another worker.
struct Waited {
    /// The instants at which the record's name was known.
    named_at: Vec<Timestamp>,
    /// The instant at which the store was asked first, and its deadline.
    asked_at: Timestamp,
    deadline: Timestamp,
    looks: u64,
}

/// Calls while another worker of the host holds the lease. The bucket may hold `tokens` tokens.
/// `is_lost` is true if the transport must locate its server first.
fn waits(identifier: &'static [u8], tokens: u64, timeout: Ticks, is_lost: bool) -> Waited {
    let host = host();
    let settings = Settings {
        timeout,
        denial_cache_max_age: Some(TICKS_PER_SECOND),
        ..SETTINGS
    };
    let unit = TICKS_PER_SECOND;
    let now = boot_clock();
    let cache = host.denial_cache();
    let hash = entry_of(key(), 10 * unit);
    cache.record(hash, now - tokens * unit, 0, now);
    assert!(cache.lease(key().hash, now, 60 * TICKS_PER_SECOND));
    sleep(Duration::from_millis(1));
    let mut asked = None;
    let remote = remote(&host, settings, |deadline| {
        let now = boot_clock();
        asked.get_or_insert((now, deadline));
        Ok(Reply::new(true, now, now))
    });
    remote.transport().is_lost.set(is_lost);
    let key = Key {
        identifier,
        ..key()
    };
    let answer = remote.take(key, &Step::new(unit, 10 * unit), None);
    assert!(
        answer.is_ok_and(|answer| answer.value.granted()),
        "no false denial"
    );
    let named_at = remote.transport().named_at.take();
    let looks = remote.transport().looks.get();
    drop(remote);
    let (asked_at, deadline) = asked.expect("the store was asked");
    Waited {
        named_at,
        asked_at,
        deadline,
        looks,
    }
}

#[test]
fn a_call_for_the_last_token_waits_for_another_worker() {
    // The other worker never replies, so the call asks after an eighth of the timeout.
    let timeout = 200 * MILLISECOND;
    // The wait is part of the timeout, also if the server must be located. Hashing the identifier
    // is not, and it happens once.
    for (identifier, is_lost) in [(ID, false), (ID, true), (SLOW, false)] {
        let call = waits(identifier, 1, timeout, is_lost);
        let [named_at] = call.named_at[..] else {
            panic!("{:?}", call.named_at)
        };
        assert!(call.asked_at >= named_at + timeout / 8);
        assert!(call.deadline >= named_at + timeout);
        assert!(call.deadline <= call.asked_at + timeout - timeout / 8);
        // A pause between two looks takes 50 µs or more. The request itself looks once or twice.
        let most = timeout / 8 / 50_000 + 3;
        assert!((2..=most).contains(&call.looks), "{} looks", call.looks);
    }
    // With two tokens, both workers may succeed.
    let call = waits(ID, 2, 3600 * TICKS_PER_SECOND, false);
    assert_eq!(call.looks, 1, "it does not wait");
}

/// Records a reply to a request that was sent a second ago, and returns the bucket's entry. The
/// store's bucket was empty `empty` ticks before the reply.
fn learned(
    verdict: Verdict,
    empty: i64,
    known: Option<&CacheEntry>,
    step: &Step,
    settings: Settings,
) -> Option<(CacheEntry, Timestamp)> {
    let host = host();
    let mut reply = Reply::new(true, NOW, NOW.saturating_add_signed(-empty));
    reply.outcome.verdict = verdict;
    if known.is_some_and(|known| known.age == 0) {
        reply.found = StateKind::Restored;
    }
    let sent = boot_clock() - TICKS_PER_SECOND;
    remote(&host, settings, silent).learn(key(), step, &reply, known, sent);
    let hash = entry_of(key(), step.lifetime());
    let entry = host.denial_cache().find(hash, boot_clock())?;
    Some((entry, sent))
}

#[test]
fn denials_and_debts_are_cached() {
    let denied = |denial| Verdict::Denied(denial);
    let step = Step::new(1, TICKS_PER_SECOND);
    let known = CacheEntry {
        bound: Timestamp::ZERO,
        error: 0,
        age: 1,
    };
    let off = Settings {
        denial_cache_max_age: None,
        ..SETTINGS
    };
    let ticking = Step {
        refill: Refill::Ticks(TWO),
        ..step
    };
    for (verdict, empty, known, step, settings, is_cached) in [
        (denied(Denial::Insufficient), 5, None, step, SETTINGS, true),
        (denied(Denial::Insufficient), 5, None, step, off, false),
        (
            denied(Denial::Insufficient),
            5,
            None,
            ticking,
            SETTINGS,
            false,
        ),
        (
            denied(Denial::ExceedsCapacity),
            5,
            None,
            step,
            SETTINGS,
            false,
        ),
        (Verdict::Granted, 5, None, step, SETTINGS, false),
        (Verdict::Granted, 0, None, step, SETTINGS, false),
        (Verdict::Granted, -1, None, step, SETTINGS, true),
        (Verdict::Granted, 5, Some(&known), step, SETTINGS, true),
    ] {
        let entry = learned(verdict, empty, known, &step, settings);
        assert_eq!(entry.is_some(), is_cached, "{verdict:?} {empty} {step:?}");
    }
}

#[test]
fn an_entry_is_a_lower_bound_on_this_hosts_clock() {
    let insufficient = Verdict::Denied(Denial::Insufficient);
    let step = Step::new(1, TICKS_PER_SECOND);
    for empty in [3 * TICKS_PER_SECOND, 0] {
        let learned = learned(insufficient, empty.cast_signed(), None, &step, SETTINGS);
        let (entry, sent) = learned.expect("it is cached");
        let bound = sent - empty;
        // The call took a second, and the test itself has taken some time.
        let took = boot_clock() - sent;
        assert!(entry.bound <= bound && bound < entry.bound + 2 * took);
        // The server read its clock at some instant of the second that the call took.
        assert!(entry.bound + entry.error >= bound + TICKS_PER_SECOND);
        assert!(entry.error < 5 * took);
    }
}

#[test]
fn a_restored_record_does_not_wear_off() {
    let insufficient = Verdict::Denied(Denial::Insufficient);
    let step = Step::new(1, TICKS_PER_SECOND);
    // If the age is 0, `learned` makes a reply that says that the record was restored.
    for (age, stays) in [(0, true), (1, false)] {
        let known = CacheEntry {
            bound: boot_clock(),
            error: 60 * TICKS_PER_SECOND,
            age,
        };
        let empty = 9 * TICKS_PER_SECOND.cast_signed();
        let learned = learned(insufficient, empty, Some(&known), &step, SETTINGS);
        let (entry, _) = learned.expect("it is cached");
        let latest = entry.bound + entry.error;
        assert_eq!(latest >= known.bound + known.error, stays);
        let earliest = known.bound - 80 * TICKS_PER_SECOND;
        assert!(entry.bound >= earliest);
    }
}

/// Returns true if the bucket has an entry that readers use.
fn is_cached(host: &Host) -> bool {
    // An entry is used only if its request was sent in a later time unit than the last clearing of
    // its set.
    sleep(Duration::from_millis(1));
    let hash = entry_of(key(), 10);
    host.denial_cache().find(hash, boot_clock()).is_some()
}

fn cache(host: &Host) {
    sleep(Duration::from_millis(1));
    let now = boot_clock();
    host.denial_cache().record(entry_of(key(), 10), now, 0, now);
}

#[test]
fn refunds_and_resets_clear_the_denial_cache_before_and_after_the_call() {
    for (put, clears) in [
        (Put::refund(1, 10), true),
        (Put::Reset { span: 10 }, true),
        (
            Put::Bootstrap {
                age: 1,
                span: gcra::store::UNKNOWN_SPAN,
            },
            false,
        ),
    ] {
        let host = host();
        cache(&host);
        let remote = remote(&host, SETTINGS, |_| {
            assert_ne!(is_cached(&host), clears, "{put:?}");
            // Meanwhile another worker records the old state.
            cache(&host);
            Ok(Reply::new(true, Timestamp::ZERO, Timestamp::ZERO))
        });
        assert!(remote.put(key(), &put).is_ok());
        assert_ne!(is_cached(&host), clears, "{put:?}");
    }
}

/// Opens the breaker with three failures, and waits until a call may probe the store. The probe
/// fails with `cause`. Returns the host and the ticks until the next probe.
fn probed(timeout: Ticks, cause: fn() -> Cause) -> (Host, Option<Ticks>) {
    let host = host();
    let settings = Settings {
        timeout,
        ..SETTINGS
    };
    let open_until = || host.breakers().states()[0].open_until;
    let step = Step::new(1, 10);
    let failing = remote(&host, settings, |_| Err(Cause::Timeout));
    for _ in 0..3 {
        assert!(failing.take(key(), &step, None).is_err());
    }
    let until = open_until().expect("it is open");
    sleep(Duration::from_nanos(until.saturating_since(boot_clock())));
    let probing = remote(&host, settings, |deadline| {
        let lease = open_until().expect("leased");
        let two_timeouts = deadline + timeout..=boot_clock() + 2 * timeout;
        assert!(two_timeouts.contains(&lease), "from the start of the call");
        Err(cause())
    });
    let before = boot_clock();
    assert!(probing.take(key(), &step, None).is_err());
    let next = open_until().map(|until| until.saturating_since(before));
    drop((failing, probing));
    (host, next)
}

#[test]
fn a_failed_probe_reports_who_failed() {
    let long = 3600 * TICKS_PER_SECOND;
    // The store failed, so the pause doubles. A random part of at most a half is cut off.
    let (host, next) = probed(long, || Cause::Timeout);
    assert!(next.is_some_and(|next| (100 * MILLISECOND..long).contains(&next)));
    assert_eq!(host.slots().totals().get(Event::Failed), 4);
    assert_eq!(host.slots().totals().get(Event::Opened), 1);
    // The store replied, so the breaker is closed.
    let (host, next) = probed(long, || Cause::Record);
    assert_eq!(next, None);
    assert_eq!(host.slots().totals().get(Event::Failed), 3);
    // The caller failed, so another caller probes soon.
    let (host, next) = probed(long, || Cause::Thrown);
    assert!(next.is_some_and(|next| (100 * MILLISECOND..long).contains(&next)));
    assert_eq!(host.slots().totals().get(Event::Failed), 3);
}

#[test]
fn a_failure_is_not_reported_to_a_store_that_has_taken_over_the_breaker() {
    let host = host();
    let asked = |_| {
        // Each of these stores fails, so each keeps a cell. The last one takes over the cell of the
        // store that is called, because that cell is idle.
        for store in 1..=64 {
            let other = host.breakers().of(store, SETTINGS.timeout, "other");
            for _ in 0..3 {
                other.failed(Passage::Closed, boot_clock(), 0);
            }
        }
        Err(Cause::Timeout)
    };
    assert!(
        remote(&host, SETTINGS, asked)
            .take(key(), &Step::new(1, 10), None)
            .is_err()
    );
    let states = host.breakers().states();
    let others = states.iter().filter(|it| it.name == "other");
    assert_eq!(others.map(|it| it.failures).collect::<Vec<_>>(), [3; 64]);
}

#[test]
fn a_call_ends_at_its_deadline() {
    let host = host();
    let settings = Settings {
        timeout: 3600 * TICKS_PER_SECOND,
        ..SETTINGS
    };
    let start = boot_clock();
    let remote = remote(&host, settings, |deadline| {
        let timeouts = start + settings.timeout..=boot_clock() + settings.timeout;
        assert!(timeouts.contains(&deadline));
        Ok(Reply::new(true, Timestamp::ZERO, Timestamp::ZERO))
    });
    assert!(remote.take(key(), &Step::new(1, 10), None).is_ok());
    assert!(remote.contains(key()).is_ok());
    assert_eq!(host.slots().totals().get(Event::Asked), 2);
}

#[test]
fn naming_a_record_is_no_part_of_the_timeout() {
    let host = host();
    let settings = Settings {
        timeout: 200 * MILLISECOND,
        ..SETTINGS
    };
    let bound = boot_clock() - TICKS_PER_SECOND;
    let hash = entry_of(key(), 3600 * TICKS_PER_SECOND);
    let record = || host.denial_cache().record(hash, bound, 0, bound);
    let last = Cell::new(Timestamp::ZERO);
    let remote = remote(&host, settings, |deadline| {
        last.set(deadline);
        Ok(Reply::new(true, Timestamp::ZERO, Timestamp::ZERO))
    });
    // The request may arrive at its deadline. A lost record is then restored from the entry.
    let is_covered = || {
        let named_at = remote.transport().named_at.take();
        assert!(
            named_at
                .iter()
                .all(|&at| last.get() >= at + settings.timeout)
        );
        assert!(!named_at.is_empty());
        let seen = remote.transport().seen.take().expect("there is an entry");
        seen >= last.get().signed_since(bound)
    };
    let key = Key {
        identifier: SLOW,
        ..key()
    };
    let span = 3600 * TICKS_PER_SECOND;
    let step = Step::new(1, span);
    record();
    assert!(remote.take(key, &step, None).is_ok());
    assert!(is_covered());
    record();
    assert!(Remote::take_each(&[(&remote, ticket(key, step))], None, |_, _| {}).is_ok());
    assert!(is_covered());
    record();
    let refund = Put::refund(1, span);
    assert!(remote.put(key, &refund).is_ok());
    assert!(is_covered());
}

/// Sending takes longer than the timeout, as with a slow lookup of a host name.
#[test]
fn each_step_has_a_result_if_sending_it_takes_the_whole_timeout() {
    let host = host();
    let settings = Settings {
        timeout: MILLISECOND,
        ..SETTINGS
    };
    let remote = remote(&host, settings, |deadline| {
        sleep(Duration::from_nanos(
            deadline.saturating_since(boot_clock()) + 1,
        ));
        Ok(Reply::new(true, Timestamp::ZERO, Timestamp::ZERO))
    });
    let mut decided = Vec::new();
    let steps = [(&remote, ticket(key(), Step::new(1, 10)))];
    let result = Remote::take_each(&steps, None, |index, answer| {
        decided.push((index, answer.fallback));
    });
    assert!(result.is_ok());
    assert_eq!(decided, [(0, false)]);
}

/// Returns true if the fallback of a store that fails grants a step. The bucket's last known state
/// is a debt of 1000 s. `first` is the first call of the outage.
fn forgets_a_debt(
    had_an_outage: bool,
    first: impl Fn(&Remote<'_, Scripted<'_>>, &Step) -> bool,
) -> bool {
    let host = host();
    let settings = Settings {
        timeout: TICKS_PER_SECOND,
        on_failure: OnFailure::Local,
        // Only an entry of age 0 may be returned as a cached denial, and this one is older.
        denial_cache_max_age: Some(0),
        take_ahead: 0,
    };
    let step = Step::new(TICKS_PER_SECOND, 10 * TICKS_PER_SECOND);
    if had_an_outage {
        assert!(host.slots().take(key(), &step, None).granted());
    }
    let now = boot_clock();
    let bound = now + 1000 * TICKS_PER_SECOND;
    host.denial_cache()
        .record(entry_of(key(), step.lifetime()), bound, 0, now);
    sleep(Duration::from_millis(1));
    let remote = remote(&host, settings, |_| Err(Cause::Timeout));
    let granted = first(&remote, &step);
    granted || host.slots().take(key(), &step, None).granted()
}

#[test]
fn the_fallback_starts_from_the_last_known_state() {
    for had_an_outage in [false, true] {
        assert!(!forgets_a_debt(had_an_outage, |remote, step| {
            let answer = remote.take(key(), step, None).expect("it does not throw");
            answer.value.granted()
        }));
        assert!(!forgets_a_debt(had_an_outage, |remote, step| {
            let reserved = Step {
                max_wait: 60 * TICKS_PER_SECOND.cast_signed(),
                ..*step
            };
            let answer = remote.take(key(), &reserved, None);
            answer.expect("it does not throw").value.granted()
        }));
        assert!(!forgets_a_debt(had_an_outage, |remote, step| {
            let mut granted = false;
            let decided = |_, answer: Answer<Outcome>| granted = answer.value.granted();
            assert!(Remote::take_each(&[(remote, ticket(key(), *step))], None, decided).is_ok());
            granted
        }));
        assert!(!forgets_a_debt(had_an_outage, |remote, step| {
            let batched = remote.take_all(&[(remote, ticket(key(), *step))], TimeLeft::ALL);
            let answer = batched.expect("it does not throw").expect("it joins");
            answer.value.is_ok()
        }));
        assert!(!forgets_a_debt(had_an_outage, |remote, step| {
            let refund = Put::refund(step.cost, step.span);
            assert!(remote.put(key(), &refund).is_ok());
            false
        }));
    }
}

#[test]
fn after_a_reset_the_fallback_starts_full() {
    assert!(forgets_a_debt(true, |remote, step| {
        let span = step.span;
        assert!(remote.put(key(), &Put::Reset { span }).is_ok());
        let answer = remote.take(key(), step, None).expect("it does not throw");
        answer.value.granted()
    }));
}

#[test]
fn a_store_is_not_asked_after_the_deadline() {
    let host = host();
    let remote = remote(&host, SETTINGS, silent);
    let failed = remote.visit(b"name", NOW, NOW, |_| Ok(())).unwrap_err();
    assert!(matches!(failed, (_, Cause::OutOfTime)));
}

#[test]
fn a_bucket_is_said_to_exist_if_nobody_knows() {
    let failing = |on_failure| {
        let host = host();
        let settings = Settings {
            on_failure,
            ..SETTINGS
        };
        let remote = remote(&host, settings, |_| Err(Cause::Timeout));
        let contains = || remote.contains(key()).expect("it does not throw").value;
        let before = contains();
        host.slots().put(
            key(),
            &Put::Bootstrap {
                age: 0,
                span: gcra::store::UNKNOWN_SPAN,
            },
        );
        (before, contains())
    };
    assert_eq!(failing(OnFailure::Local), (false, true));
    assert_eq!(failing(OnFailure::Allow), (true, true));
    assert_eq!(failing(OnFailure::Deny), (true, true));
    for found in [StateKind::Record, StateKind::Nothing] {
        let host = host();
        let remote = remote(&host, SETTINGS, |_| {
            Ok(Reply {
                found,
                ..Reply::new(true, Timestamp::ZERO, Timestamp::ZERO)
            })
        });
        let answer = remote.contains(key()).expect("it replies");
        assert_eq!(answer.value, found == StateKind::Record);
        assert!(!answer.fallback);
    }
}

//! Tests permits with callers that race, are late or die. Two limiters that are wrong on purpose
//! must fail the same tests.

use crate::permits::{Limiter, pass};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::SeqCst};
use std::thread::scope;
use stores::remote::permits::ServerPermit;
use testkit::Redis;

const LIMIT: u16 = 3;
/// The permits that each thread takes.
const GRANTS: u32 = 100;

/// A limiter of one name on one server.
trait Subject {
    type Held;
    fn acquire(&self) -> Option<Self::Held>;
    fn release(&self, held: Self::Held);
    /// Lets the time of a lease pass.
    fn pass(&self);
}

/// The limiter of this crate.
struct Leased<'r>(&'r Redis, Limiter, u16);

impl Subject for Leased<'_> {
    type Held = ServerPermit;

    fn acquire(&self) -> Option<ServerPermit> {
        self.1.acquire("id", self.2)
    }

    fn release(&self, held: ServerPermit) {
        self.1.release(held);
    }

    fn pass(&self) {
        pass(self.0, "id", 3_600_000_000_000);
    }
}

/// A counter that is incremented and decremented. It does not know who holds a permit.
struct Counter<'r>(&'r Redis, i64);

impl Subject for Counter<'_> {
    type Held = ();

    fn acquire(&self) -> Option<()> {
        let count: i64 = self.0.cli(&["INCR", "count"]).parse().unwrap();
        if count > self.1 {
            self.0.cli(&["DECR", "count"]);
            return None;
        }
        Some(())
    }

    fn release(&self, (): ()) {
        self.0.cli(&["DECR", "count"]);
    }

    fn pass(&self) {}
}

/// Leases that are given back without a look at their owner.
struct Careless<'r>(Leased<'r>);

impl Subject for Careless<'_> {
    type Held = ();

    fn acquire(&self) -> Option<()> {
        self.0.acquire().map(drop)
    }

    fn release(&self, (): ()) {
        let set = crate::permits::set("id");
        self.0.0.cli(&["ZPOPMIN", &set]);
    }

    fn pass(&self) {
        self.0.pass();
    }
}

/// Reports whether permits of dead holders are free when their leases have ended.
fn outlives_its_holders(subject: &impl Subject, limit: u16) -> bool {
    for _ in 0..2 * limit {
        // The holder dies.
        drop(subject.acquire());
        subject.pass();
    }
    subject.acquire().is_some()
}

/// Reports whether a holder whose lease has ended ends no permit but its own. The limit is 1.
fn spares_the_next_holder(subject: &impl Subject) -> bool {
    let late = subject.acquire().unwrap();
    subject.pass();
    let _next = subject.acquire().unwrap();
    subject.release(late);
    subject.acquire().is_none()
}

#[test]
fn a_permit_outlives_neither_its_holder_nor_its_lease() {
    let redis = Redis::start(&[]);
    let leased = |limit| Leased(&redis, Limiter::of(&redis), limit);
    assert!(outlives_its_holders(&leased(LIMIT), LIMIT));
    redis.cli(&["FLUSHALL"]);
    assert!(spares_the_next_holder(&leased(1)));
}

#[test]
fn a_counter_is_stuck_after_deaths() {
    let redis = Redis::start(&[]);
    assert!(!outlives_its_holders(&Counter(&redis, LIMIT.into()), LIMIT));
}

#[test]
fn a_release_without_an_owner_ends_the_permit_of_another_holder() {
    let redis = Redis::start(&[]);
    let careless = Careless(Leased(&redis, Limiter::of(&redis), 1));
    assert!(!spares_the_next_holder(&careless));
}

#[test]
fn eight_threads_never_hold_more_permits_than_the_limit() {
    let redis = Redis::start(&[]);
    let (inside, tries) = (AtomicU16::new(0), AtomicU32::new(0));
    let work = |number: u32| {
        let (limiter, mut granted) = (Limiter::of(&redis), 0);
        while granted < GRANTS {
            tries.fetch_add(1, SeqCst);
            let Some(permit) = limiter.acquire("id", LIMIT) else {
                continue;
            };
            granted += 1;
            assert!(inside.fetch_add(1, SeqCst) < LIMIT);
            if number == 0 && granted == GRANTS / 2 {
                // The thread keeps this permit, as a holder that died would. So all threads share
                // one permit less.
                continue;
            }
            inside.fetch_sub(1, SeqCst);
            limiter.release(permit);
        }
    };
    scope(|threads| {
        for number in 0..8 {
            threads.spawn(move || work(number));
        }
    });
    let limiter = Limiter::of(&redis);
    assert!(tries.load(SeqCst) > 8 * GRANTS, "the threads did race");
    assert_eq!((limiter.held("id"), inside.load(SeqCst)), (1, 1));
    pass(&redis, "id", 3_600_000_000_000);
    let permits = (0..LIMIT).filter_map(|_| limiter.acquire("id", LIMIT));
    assert_eq!(permits.count(), usize::from(LIMIT));
    assert!(limiter.acquire("id", LIMIT).is_none());
}

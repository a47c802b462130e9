//! Tests permits with callers that race. One of them dies.

use crate::permits::{Limiter, pass};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::SeqCst};
use std::thread::scope;
use testkit::Redis;

const LIMIT: u16 = 3;
/// The permits that each thread takes.
const GRANTS: u32 = 100;

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

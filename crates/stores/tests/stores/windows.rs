//! Tests buckets that become full at the start of each window.

use crate::homes::{self, Home};
use crate::{HOUR, MICROSECOND};
use gcra::batch::{Grouped, Ticket};
use gcra::clock::TICKS_PER_SECOND;
use gcra::{Key, Outcome, Put, Refill, Step, Ticks, Timestamp, Windows};

/// The tokens of a window, each of which costs a microsecond.
const LIMIT: u64 = 5;
const SECONDS: u32 = 3600;

/// Returns a step for `n` tokens in one of these windows.
fn take(n: u64, windows: Windows) -> Step {
    Step {
        refill: Refill::Windows(windows),
        ..Step::new(n * MICROSECOND, LIMIT * MICROSECOND)
    }
}

/// Returns the current instant of the store's clock, as a Unix time, in whole microseconds.
fn now(home: &Home, key: Key<'_>) -> Timestamp {
    let start = Timestamp(1 << 60);
    let lengths = [SECONDS; 3];
    // A grant would state an instant of its window.
    let step = take(LIMIT + 1, Windows::new(start, lengths)).dry();
    home.take(key, &step, None).now.floor(MICROSECOND)
}

/// Returns windows of an hour, of which the current one began half an hour ago.
fn windows(home: &Home, key: Key<'_>) -> Windows {
    Windows::new(now(home, key) - HOUR / 2, [SECONDS; 3])
}

/// Returns the next windows, as a host sends them whose clock is ahead.
fn next(windows: Windows) -> Windows {
    let start = windows.end();
    Windows { start, ..windows }
}

fn take_all(home: &Home, key: Key<'_>, steps: &[Step]) -> Option<Result<Outcome, Outcome>> {
    let tickets = steps.iter().enumerate();
    let mut tickets: Vec<_> = tickets
        .map(|(index, &step)| Ticket { index, key, step })
        .collect();
    let batched = home.take_all(Grouped::new(&mut tickets))?;
    Some(match batched {
        Ok(taken) => Ok(taken[taken.len() - 1].outcome),
        Err(taken) => Err(taken.outcome),
    })
}

#[test]
fn every_window_is_the_steps_own() {
    homes::each(|home| {
        let key = home.key(b"history");
        let first = windows(home, key);
        let mut state = Timestamp::ZERO;
        let mut seed = 7u64;
        let mut below = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % most
        };
        // A store with a clock chooses this window, whatever the host sends.
        let chosen = |windows: Windows, now: Timestamp| {
            if home.has_clock {
                windows.at(now)
            } else {
                windows
            }
        };
        for call in 0..600 {
            // Hosts whose clocks are behind or ahead send other windows.
            let start = first.start + HOUR;
            let mine = match below(8) {
                0 => Windows { start, ..first },
                1 => Windows {
                    start: first.start - HOUR,
                    ..first
                },
                _ => first,
            };
            if below(6) == 0 {
                let is_undo = below(2) == 0;
                let cost = below(4) * MICROSECOND;
                home.put(
                    key,
                    &Put::Uncount {
                        cost,
                        windows: mine,
                        is_undo,
                    },
                );
                let its = if is_undo {
                    mine
                } else {
                    chosen(mine, now(home, key))
                };
                if state != Timestamp::ZERO {
                    state = its.refunded(state, cost);
                }
                continue;
            }
            if below(50) == 0 {
                home.put(key, &Put::Reset { span: HOUR });
                state = Timestamp::ZERO;
                continue;
            }
            let max_wait = [0, 0, 0, HOUR / 4][usize::try_from(below(4)).unwrap()];
            let step = Step {
                max_wait: max_wait.cast_signed(),
                dry: below(4) == 0,
                ..take(below(LIMIT + 1), mine)
            };
            let outcome = home.take(key, &step, None);
            let its = chosen(mine, outcome.now);
            if outcome.empty_at == Timestamp::ZERO && state <= its.start {
                // The store has forgotten a window that has ended.
                state = Timestamp::ZERO;
            }
            let mut expected = step;
            expected.refill = Refill::Windows(its);
            let decided = expected.decide(state, outcome.now);
            assert_eq!(outcome, decided, "call {call}: {expected:?} {state:?}");
            state = outcome.empty_at;
        }
    });
}

#[test]
fn a_clock_that_is_ahead_opens_the_next_window_only_without_a_clock_of_the_store() {
    homes::each(|home| {
        let key = home.key(b"ahead");
        let mine = windows(home, key);
        assert!(home.take(key, &take(LIMIT, mine), None).granted());
        let ahead = home.take(key, &take(LIMIT, next(mine)), None);
        assert_eq!(ahead.granted(), !home.has_clock);
        assert!(!home.take(key, &take(1, mine), None).granted());
    });
}

#[test]
fn a_block_lasts_until_its_window_ends() {
    homes::each(|home| {
        let key = home.key(b"block");
        let mine = windows(home, key);
        assert!(home.take(key, &take(1, mine), None).granted());
        for _ in 0..2 {
            home.put(key, &Put::Advance { until: mine.end() });
            home.put(key, &Put::Advance { until: mine.start });
        }
        let denied = home.take(key, &take(1, mine), None);
        assert!(!denied.granted());
        assert_eq!(denied.empty_at, mine.end());
        assert!(!home.take(key, &take(0, mine), None).granted());
        if !home.has_clock {
            assert!(home.take(key, &take(LIMIT, next(mine)), None).granted());
        }
        home.put(key, &Put::Reset { span: HOUR });
        assert!(home.take(key, &take(LIMIT, mine), None).granted());
    });
}

#[test]
fn a_batch_takes_from_windows_and_from_other_buckets() {
    homes::each(|home| {
        let key = home.key(b"batch");
        let mine = windows(home, key);
        let steps = [take(2, mine), take(2, mine)];
        let Some(taken) = take_all(home, key, &steps) else {
            return;
        };
        let state = mine.start + 4 * MICROSECOND;
        assert_eq!(taken.unwrap().empty_at, state);
        let denied = take_all(home, key, &steps).unwrap().unwrap_err();
        assert_eq!(denied.empty_at, state);
        let other = home.key(b"other");
        let mut tickets = [
            Ticket {
                index: 0,
                key: other,
                step: crate::take(1),
            },
            Ticket {
                index: 1,
                key,
                step: take(1, mine),
            },
        ];
        assert!(home.take_all(Grouped::new(&mut tickets)).unwrap().is_ok());
        let denied = home.take_all(Grouped::new(&mut tickets)).unwrap();
        assert_eq!(denied.unwrap_err().index, 1);
        assert!(
            home.take(other, &crate::take(crate::CAPACITY - 1), None)
                .granted()
        );
    });
}

#[test]
fn denials_do_not_lengthen_the_life_of_a_window() {
    homes::each(|home| {
        let key = home.key(b"life");
        // A window of two seconds, of which a part is over.
        let start = now(home, key).floor(TICKS_PER_SECOND);
        let mine = Windows::new(start, [2; 3]);
        assert!(home.take(key, &take(LIMIT, mine), None).granted());
        let length: Ticks = 2 * TICKS_PER_SECOND;
        let mut current = mine;
        // Calls until the next window, each with the window of its own clock.
        while current.start == mine.start {
            let outcome = home.take(key, &take(1, current), None);
            assert_eq!(outcome.granted(), outcome.empty_at > mine.end());
            home.pass(20 * crate::MILLISECOND);
            let now = now(home, key);
            while current.end() <= now {
                current.start += length;
            }
        }
        assert!(home.take(key, &take(1, current), None).granted());
    });
}

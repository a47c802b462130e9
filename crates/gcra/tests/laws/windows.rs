//! The tokens of windows, compared with a naive count, and with the limit in each window.
//!
//! The windows have different lengths, as days and months have. Several hosts call, whose clocks
//! differ. Each call has the window of its host, or that of the store's clock. The model keeps the
//! number of the latest window in which tokens were taken, and the tokens that were taken in it.

use crate::{drawn, tried};
use gcra::clock::{EPOCH, TICKS_PER_MICROSECOND};
use gcra::{Denial, Limit, Put, Refill, Step, TICKS_PER_SECOND, Ticks, Timestamp, Tokens, Verdict};
use proptest::prelude::*;

/// The length of the shortest window in seconds. So a window grants at most three million tokens.
const SHORTEST: u32 = 3;
/// The number of windows in a calendar.
const COUNT: usize = 44;

/// The starts of windows, in ticks.
#[derive(Clone, Debug)]
struct Calendar(Vec<Timestamp>);

impl Calendar {
    fn new(lengths: &[u32]) -> Self {
        let mut starts = vec![EPOCH];
        for &length in lengths {
            starts.push(starts[starts.len() - 1] + Ticks::from(length) * TICKS_PER_SECOND);
        }
        Self(starts)
    }

    /// Returns the number of the window that contains `now`, limited so that the calendar has the
    /// windows around it.
    fn window(&self, now: Timestamp) -> usize {
        let number = self.0.partition_point(|&start| start <= now) - 1;
        number.clamp(1, self.0.len() - 4)
    }

    fn windows(&self, number: usize) -> gcra::Windows {
        let length = |at: usize| {
            let ticks = self.0[at + 1] - self.0[at];
            u32::try_from(ticks / TICKS_PER_SECOND).unwrap()
        };
        let lengths = [length(number - 1), length(number), length(number + 1)];
        gcra::Windows::new(self.0[number], lengths)
    }

    /// Returns an instant in the middle part of the calendar. `part` is a fraction of the length of
    /// this middle part.
    fn instant(&self, part: f64) -> Timestamp {
        let (first, last) = (self.0[3], self.0[self.0.len() - 5]);
        // The product is not negative and at most the length, so the cast only drops its fraction.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let ticks = ((last - first) as f64 * part) as Ticks;
        first + ticks
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Take(u64),
    Peek(u64),
    /// Takes tokens that may exceed the limit.
    Charge(u64),
    Refund(u64),
    /// Undoes an earlier grant, which the number selects.
    Undo(usize),
}

/// A call: the time since the previous one in microseconds, its act, its limit, and the number of
/// microseconds by which the clock of its host is ahead.
type Call = (u64, Act, u64, i64);

fn acts() -> impl Strategy<Value = Act> {
    let amount = || prop_oneof![4 => 0..4u64, 1 => 0..1_000_000u64];
    prop_oneof![
        6 => amount().prop_map(Act::Take),
        1 => amount().prop_map(Act::Peek),
        2 => amount().prop_map(Act::Charge),
        2 => amount().prop_map(Act::Refund),
        2 => (0..4usize).prop_map(Act::Undo),
    ]
}

fn histories() -> impl Strategy<Value = (Vec<u32>, f64, Vec<Call>)> {
    let limit = prop_oneof![5 => 1..8u64, 1 => Just(3_000_000u64), 1 => Just(2_999_999u64)];
    let gap = prop_oneof![2 => Just(0u64), 2 => 0..1_000u64, 2 => 0..2_000_000u64];
    let ahead = prop_oneof![4 => Just(0i64), 1 => -5_000_000..5_000_000i64, 1 => -3..4i64];
    let lengths = prop::collection::vec(SHORTEST..=5, COUNT);
    let calls = prop::collection::vec((gap, acts(), limit, ahead), 1..40);
    (lengths, 0.0..0.1, calls)
}

/// The number of the latest window in which tokens were taken, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    window: usize,
    used: u64,
}

impl Counted {
    /// Returns the tokens that were taken in `window`, or `None` if a later window has begun. If
    /// all tokens of the next window were given back, the state is the end of `window`, as if a
    /// token had been taken from `window` for each of its microseconds.
    fn used_in(self, window: usize, calendar: &Calendar) -> Option<u64> {
        if self.window <= window {
            return Some(if self.window == window { self.used } else { 0 });
        }
        let length = calendar.0[window + 1] - calendar.0[window];
        let is_next = self.window == window + 1 && self.used == 0;
        is_next.then_some(length / TICKS_PER_MICROSECOND)
    }

    /// Gives tokens back to `window`. Returns how many.
    fn give_back(&mut self, window: usize, tokens: u64, calendar: &Calendar) -> u64 {
        let used = self.used_in(window, calendar).unwrap_or(0);
        let back = used.min(tokens);
        if back > 0 {
            let used = used - back;
            *self = Self { window, used };
        }
        back
    }
}

/// The arithmetic of windows, or a wrong one in a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Exact,
    /// A late refund or undo is made in the window in which it arrives.
    LateRefund,
    /// Windows have a fixed length, such as a day of 86,400 seconds.
    FixedLength,
    /// A window begins at its first call.
    FirstHit,
}

/// The findings about a history: the greatest number of tokens by which the grants in a window
/// exceeded the limit, and the number of calls that were denied although tokens were left.
#[derive(Debug, Default, PartialEq, Eq)]
struct Judged {
    excess: i64,
    false_denials: usize,
}

fn step(quota: &Limit, tokens: u64, windows: gcra::Windows) -> Step {
    Step {
        refill: Refill::Windows(windows),
        ..quota.step(Tokens::from_int(tokens.cast_signed()).unwrap())
    }
}

/// Runs a history. Compares every verdict and state with the model if `way` is exact. Judges the
/// grants of each window.
// The calls of a history share the state of the bucket and of its model.
#[allow(clippy::too_many_lines)]
fn run((lengths, from, calls): &(Vec<u32>, f64, Vec<Call>), way: Way, own_clock: bool) -> Judged {
    let calendar = Calendar::new(lengths);
    let fixed = Calendar::new(&[SHORTEST + 1; COUNT]);
    let mut now = calendar.instant(*from);
    let (mut empty_at, mut model) = (Timestamp::ZERO, Counted { window: 0, used: 0 });
    let mut grants: Vec<(usize, usize, u64, Step, Timestamp)> = Vec::new();
    let (mut judged, mut limits) = (Judged::default(), [0u64; COUNT]);
    let mut taken_in = [0i64; COUNT];
    let mut first_hit: Option<gcra::Windows> = None;
    for (number, &(gap, act, limit, ahead)) in calls.iter().enumerate() {
        now += gap * TICKS_PER_MICROSECOND;
        let ahead = ahead * TICKS_PER_MICROSECOND.cast_signed();
        let host = now.saturating_add_signed(ahead);
        // A store with a clock chooses the window from those that the host sends.
        let windows = calendar.windows(calendar.window(host));
        let windows = if own_clock { windows.at(now) } else { windows };
        let true_window = calendar.window(windows.start);
        let windows = match way {
            Way::FixedLength => fixed.windows(fixed.window(now)),
            Way::FirstHit => {
                let lengths = [SHORTEST; 3];
                let is_over = first_hit.is_none_or(|it| it.end() <= now);
                *first_hit.insert(if is_over {
                    gcra::Windows::new(now, lengths)
                } else {
                    first_hit.unwrap()
                })
            }
            _ => windows,
        };
        let quota = Limit::counting(limit, SHORTEST).unwrap();
        limits[true_window] = limits[true_window].max(limit);
        let used = model.used_in(true_window, &calendar);
        match act {
            Act::Take(tokens) | Act::Peek(tokens) => {
                let is_dry = matches!(act, Act::Peek(_));
                let step = step(&quota, tokens, windows);
                let step = Step {
                    dry: is_dry,
                    ..step
                };
                let outcome = step.decide(empty_at, now);
                let fits = tokens <= limit && used.is_some_and(|used| used + tokens <= limit);
                if way == Way::Exact {
                    assert_eq!(outcome.granted(), fits, "{act:?} {model:?} {limit}");
                    let exceeds = Verdict::Denied(Denial::ExceedsCapacity);
                    assert_eq!(outcome.verdict == exceeds, tokens > limit);
                    let left = quota.tokens(step.available(outcome.empty_at, now));
                    let more = if outcome.granted() && !is_dry {
                        tokens
                    } else {
                        0
                    };
                    let used = used.map_or(limit, |used| used + more);
                    assert_eq!(left, limit.saturating_sub(used));
                }
                judged.false_denials += usize::from(fits && !outcome.granted());
                empty_at = outcome.empty_at;
                if outcome.granted() && !is_dry && tokens > 0 {
                    let before = used.unwrap_or(0);
                    model = Counted {
                        window: true_window,
                        used: before + tokens,
                    };
                    taken_in[true_window] += tokens.cast_signed();
                    grants.push((number, true_window, tokens, step, empty_at));
                }
            }
            Act::Charge(tokens) => {
                let cost = quota
                    .price(Tokens::from_int(tokens.cast_signed()).unwrap())
                    .unwrap();
                let shortest = Ticks::from(SHORTEST) * TICKS_PER_SECOND;
                let max_wait = shortest - quota.span();
                let step = Step {
                    cost,
                    max_wait: max_wait.cast_signed(),
                    ..step(&quota, 0, windows)
                };
                let outcome = step.decide(empty_at, now);
                let most = u64::from(SHORTEST) * 1_000_000;
                let fits = used.is_some_and(|used| used + tokens <= most);
                if way == Way::Exact {
                    assert_eq!(outcome.granted(), fits, "{act:?} {model:?} {limit}");
                    let owed = quota.tokens_owed(step.debt(outcome.empty_at, now));
                    let more = if fits { tokens } else { 0 };
                    // A state that equals the end of the window may belong to the next window.
                    let length = windows.end() - windows.start;
                    let used = used.map_or(0, |used| used + more);
                    let is_next = used * TICKS_PER_MICROSECOND == length;
                    assert_eq!(
                        owed,
                        if is_next {
                            0
                        } else {
                            used.saturating_sub(limit)
                        }
                    );
                }
                empty_at = outcome.empty_at;
                if outcome.granted() && tokens > 0 {
                    model = Counted {
                        window: true_window,
                        used: used.unwrap_or(0) + tokens,
                    };
                    // A charge is not bounded by the limit, so the judge does not count it. A
                    // charge leaves fewer tokens for other calls.
                    limits[true_window] = limits[true_window].max(limit);
                }
            }
            Act::Refund(tokens) => {
                let cost = quota.refund(Tokens::from_int(tokens.cast_signed()).unwrap());
                empty_at = windows.refunded(empty_at, cost);
                let back = model.give_back(true_window, tokens, &calendar);
                taken_in[true_window] -= back.cast_signed();
            }
            Act::Undo(which) => {
                if grants.is_empty() {
                    continue;
                }
                let (_, window, tokens, step, taken) = grants.swap_remove(which % grants.len());
                let Put::Uncount {
                    cost, windows: its, ..
                } = Put::undo(&step, taken)
                else {
                    panic!("not a window")
                };
                if way == Way::Exact {
                    assert_eq!(its.start, calendar.0[window]);
                }
                let its = if way == Way::LateRefund { windows } else { its };
                empty_at = its.refunded(empty_at, cost);
                model.give_back(window, tokens, &calendar);
                taken_in[window] -= tokens.cast_signed();
            }
        }
        if way == Way::Exact && model.used > 0 {
            let state = calendar.0[model.window] + model.used * TICKS_PER_MICROSECOND;
            assert_eq!(empty_at, state, "{act:?} {model:?}");
        }
        let excess = taken_in[true_window] - limits[true_window].cast_signed();
        judged.excess = judged.excess.max(excess);
    }
    judged
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn windows_equal_the_naive_count(history in histories()) {
        let judged = run(&history, Way::Exact, false);
        prop_assert_eq!(judged, Judged::default());
    }

    #[test]
    fn windows_on_the_clock_of_the_store_equal_the_naive_count(history in histories()) {
        let judged = run(&history, Way::Exact, true);
        prop_assert_eq!(judged, Judged::default());
    }

    #[test]
    fn a_retry_is_granted_when_it_may_be_and_not_before(
        history in histories(),
        used in 0..9u64,
        tokens in 1..9u64,
        part in 0..1_000_000u64,
    ) {
        let calendar = Calendar::new(&history.0);
        let quota = Limit::counting(8, SHORTEST).unwrap();
        let now = calendar.0[4] + part * TICKS_PER_MICROSECOND;
        let empty_at = calendar.0[4] + used * TICKS_PER_MICROSECOND;
        let step_at = |now| step(&quota, tokens, calendar.windows(calendar.window(now)));
        let mine = step_at(now);
        let outcome = mine.decide(empty_at, now);
        prop_assert_eq!(outcome.granted(), used + tokens <= 8);
        let retry_at = now + mine.retry_after(empty_at, now);
        prop_assert!(step_at(retry_at).decide(empty_at, retry_at).granted());
        if outcome.granted() {
            prop_assert_eq!(retry_at, now);
        } else {
            prop_assert_eq!(retry_at, calendar.0[5]);
            prop_assert!(!step_at(retry_at - 1).decide(empty_at, retry_at - 1).granted());
        }
        prop_assert_eq!(now + mine.reset_after(empty_at, now), calendar.0[5]);
        prop_assert!(empty_at + mine.lifetime() >= calendar.0[5]);
    }

    #[test]
    fn another_clock_finds_its_window(history in histories(), ahead in -4_000_000..4_000_000i64) {
        let calendar = Calendar::new(&history.0);
        let now = calendar.instant(0.5);
        let other = now.saturating_add_signed(ahead * 1000);
        let (mine, its) = (calendar.window(now), calendar.window(other));
        if mine.abs_diff(its) <= 1 {
            let found = calendar.windows(mine).at(other);
            prop_assert_eq!((found.start, found.end()), (calendar.0[its], calendar.0[its + 1]));
        }
    }
}

/// Returns the greatest excess and the number of false denials over many random histories.
fn worst_of_many(way: Way) -> Judged {
    let mut worst = Judged::default();
    for (lengths, from, mut calls) in drawn(histories(), 3_000) {
        for (_, act, limit, ahead) in &mut calls {
            (*limit, *ahead) = (5, 0);
            if let Act::Charge(tokens) = *act {
                *act = Act::Take(tokens);
            }
        }
        let judged = run(&(lengths, from, calls), way, true);
        worst.excess = worst.excess.max(judged.excess);
        worst.false_denials += judged.false_denials;
    }
    worst
}

/// Runs the controls, each of which the judge must reject.
#[test]
fn wrong_windows_are_found() {
    assert!(worst_of_many(Way::LateRefund).excess > 0);
    for way in [Way::FixedLength, Way::FirstHit] {
        let worst = worst_of_many(way);
        assert!(
            worst.excess > 0 && worst.false_denials > 0,
            "{way:?} {worst:?}"
        );
    }
    assert_eq!(worst_of_many(Way::Exact), Judged::default());
}

#[test]
fn a_limit_is_at_most_the_microseconds_of_the_shortest_window() {
    use gcra::LimitError;
    assert_eq!(Limit::counting(0, 60), Err(LimitError::NoCapacity));
    assert_eq!(
        Limit::counting(60_000_001, 60),
        Err(LimitError::SpanTooLong)
    );
    let most = Limit::counting(60_000_000, 60).unwrap();
    assert_eq!(
        (most.span(), most.window()),
        (60 * TICKS_PER_SECOND, Some(60))
    );
    let half = Tokens::from_float(0.5).unwrap();
    assert_eq!(
        most.cost(half),
        Some(TICKS_PER_MICROSECOND),
        "a part costs a token"
    );
    assert_eq!(most.refund(half), 0, "and gives nothing back");
}

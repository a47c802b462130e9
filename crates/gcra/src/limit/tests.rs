use super::*;
use crate::grain::LEAST_UNNAMED;

fn limit(capacity: f64, rate: f64) -> Result<Limit, LimitError> {
    limit_in(capacity, rate, Grain::Nanosecond)
}

fn limit_in(capacity: f64, rate: f64, grain: Grain) -> Result<Limit, LimitError> {
    let tokens = |amount| Tokens::from_float(amount).unwrap();
    Limit::new(tokens(capacity), tokens(rate), grain)
}

#[test]
fn the_worked_example_holds() {
    let limit = limit(10.0, 3.0).unwrap();
    assert_eq!(limit.cost(Tokens::ONE), Some(333_333_334));
    assert_eq!(limit.span(), 3_333_333_340);
    assert_eq!(limit.tokens(limit.span()), 10);
    assert_eq!(limit.tokens(333_333_333), 0);
    assert_eq!(
        [limit, limit.in_window(60)].map(|it| it.window()),
        [None, Some(60)]
    );
}

#[test]
fn coarse_limits_are_whole_microseconds() {
    for (capacity, rate) in [(10.0, 3.0), (1e6, 1e7), (2.5, 1e12), (1e12, 1e15)] {
        let tokens = |n| Tokens::from_float(n).unwrap();
        let limit = limit_in(capacity, rate, Grain::Microsecond).unwrap();
        assert_eq!(limit.span() % 1_000, 0);
        for n in [1u64, 2, 3, 9, 10, 999_999] {
            let Some(cost) = limit.cost_whole(n) else {
                continue;
            };
            assert_eq!(cost % 1_000, 0, "{capacity} {rate} {n}");
            assert_eq!(limit.cost(tokens(n as f64)), Some(cost));
            assert!(limit.tokens(cost) >= n && limit.tokens(cost - 1) < n.max(limit.tokens(cost)));
            // The rate is never faster than requested, and less than 0.1 % slower.
            let exact = n as f64 / rate * 1e9;
            assert!(cost as f64 >= exact && (cost as f64) < exact * 1.001 + 1_000.0);
        }
    }
}

#[test]
fn a_span_holds_its_tokens() {
    let within = |tokens: i64, span, grain| {
        Limit::within(Tokens::from_int(tokens).unwrap(), span, grain).unwrap()
    };
    let minute = 60 * TICKS_PER_SECOND;
    let limit = within(30, minute, Grain::Microsecond);
    assert_eq!(limit.cost_whole(1), Some(2_000_000_000));
    assert_eq!(limit.span(), minute);
    let limit = within(7, minute, Grain::Nanosecond);
    assert_eq!(limit.cost_whole(1), Some(8_571_428_572));
    assert_eq!(limit.span(), 60_000_000_004);
    let limit = within(5_000_000, TICKS_PER_SECOND, Grain::Microsecond);
    assert_eq!(limit.cost_whole(5), Some(1_000));
    assert_eq!(limit.span(), TICKS_PER_SECOND);
    let none = Limit::within(Tokens::ONE, 0, Grain::Nanosecond);
    assert_eq!(none, Err(LimitError::RateTooHigh));
}

#[test]
fn a_rate_means_the_whole_grains_that_it_is_nearest_to() {
    // A sixth is not a double. 10.0 / 60.0 is a little less.
    let sixth = limit(10.0, 10.0 / 60.0).unwrap();
    assert_eq!(sixth.cost_whole(1), Some(6_000_000_000));
    assert_eq!(sixth.rounding(sixth.span()), 0);
    // The rate of three tokens a second is exact, but the cost of a token is not a whole number
    // of nanoseconds.
    let third = limit(3.0, 3.0).unwrap();
    assert_eq!(third.cost_whole(1), Some(333_333_334));
    assert_eq!(third.rounding(third.span()), 4);
    // The next double after a sixth is used as it is.
    let above = limit(10.0, (1f64 / 6.0).next_up()).unwrap();
    let below = limit(10.0, (1f64 / 6.0).next_down()).unwrap();
    assert_eq!(above.cost_whole(1), Some(6_000_000_000));
    assert_eq!(below.cost_whole(1), Some(6_000_000_001));
    // The first rate is ten tokens in three microseconds. The second one is a token in 7.5
    // microseconds, in a remote store.
    assert_eq!(limit(10.0, 1e7 / 3.0).unwrap().span(), 3_000);
    let coarse = limit_in(1000.0, 1e6 / 7.5, Grain::Microsecond).unwrap();
    assert_eq!(coarse.span(), 7_500_000);
}

#[test]
fn a_fake_clock_rounds_down() {
    let fake = |capacity, rate| limit_in(capacity, rate, Grain::FakeNanosecond).unwrap();
    assert_eq!(fake(3.0, 3.0).cost_whole(1), Some(333_333_333));
    assert_eq!(fake(3.0, 3.0).span(), 999_999_999);
    assert_eq!(fake(3.0, 3.0).whole_seconds(999_999_999), 1);
    assert_eq!(fake(3.0, 3.0).whole_seconds(1_000_000_001), 2);
    assert_eq!(fake(10.0, 10.0 / 60.0).span(), 60_000_000_000);
    // At a rate of a token in 30 days, neighbouring doubles differ by more than a nanosecond
    // per token.
    for n in 1..=1000 {
        let limit = fake(f64::from(n), f64::from(n) / 2_592_000.0);
        assert!(limit.span() <= 2_592_000_000_000_000, "{n} in 30 days");
    }
}

#[test]
fn a_full_bucket_on_a_fake_clock_grants_all_its_fractions() {
    for capacity in [1u32, 2, 5, 10, 100] {
        for (parts, period) in [
            (2u32, 60.0),
            (3, 60.0),
            (7, 3600.0),
            (10, 86400.0),
            (100, 1.0),
        ] {
            let cost = Tokens::from_float(1.0 / f64::from(parts)).unwrap();
            let rate = f64::from(capacity) / period;
            let limit = limit_in(f64::from(capacity), rate, Grain::FakeNanosecond).unwrap();
            let calls = limit.span() / limit.cost(cost).unwrap();
            assert_eq!(
                calls,
                u64::from(capacity * parts),
                "{capacity} {parts} {period}"
            );
            assert_eq!(limit.refund(cost), limit.cost(cost).unwrap());
            assert_eq!(limit.cost(limit.capacity()), Some(limit.span()));
        }
    }
    let limit = limit_in(1.0, 1e6, Grain::FakeNanosecond).unwrap();
    let least = Tokens::from_float(1e-9).unwrap();
    assert_eq!(limit.cost(least), Some(1), "no token is free");
    assert_eq!(limit.cost(Tokens::ZERO), Some(0));
}

#[test]
fn whole_seconds_ignore_only_what_rounding_has_added() {
    // Two million tokens at a thousand a second take exactly 2000 seconds.
    let long = limit_in(2e6, 1e3, Grain::Microsecond).unwrap();
    assert_eq!(long.whole_seconds(long.span()), 2000);
    let minute = limit_in(7.0, 7.0 / 60.0, Grain::Microsecond).unwrap();
    assert_eq!(minute.span(), 60_000_003_000);
    assert_eq!(minute.whole_seconds(minute.span()), 60);
    assert_eq!(minute.whole_seconds(60_000_010_000), 61);
}

#[test]
fn senseless_limits_are_refused() {
    assert_eq!(limit(0.0, 1.0), Err(LimitError::NoCapacity));
    assert_eq!(limit(1.0, 0.0), Err(LimitError::NoRate));
    assert_eq!(limit(1.0, 2e15), Err(LimitError::RateTooHigh));
    assert_eq!(limit(1.0, 1e-300), Err(LimitError::SpanTooLong));
    assert_eq!(limit(1e300, 1e15), Err(LimitError::SpanTooLong));
    assert_eq!(limit(1e10, 1.0), Err(LimitError::SpanTooLong));
}

#[test]
fn a_fraction_above_the_capacity_has_no_cost() {
    let limit = limit(1.000_05, 1e6).unwrap();
    assert!(limit.cost(Tokens::from_float(1.000_09).unwrap()).is_none());
    assert!(limit.cost(Tokens::from_float(1.000_05).unwrap()).is_some());
}

#[test]
fn a_price_may_exceed_the_capacity() {
    let tokens = |amount| Tokens::from_float(amount).unwrap();
    let limit = limit_in(10.0, 1e7, Grain::Microsecond).unwrap();
    assert_eq!(limit.price(tokens(25.0)), Some(3_000));
    let year = limit_in(1.0, 1.0, Grain::Microsecond).unwrap();
    let most = MAX_SPAN / TICKS_PER_SECOND;
    assert_eq!(
        year.price(tokens(most as f64)),
        Some(most * TICKS_PER_SECOND)
    );
    assert_eq!(year.price(tokens(most as f64 + 1.0)), None);
    let exact = Limit::within(Tokens::ONE, MAX_SPAN, Grain::Nanosecond).unwrap();
    assert_eq!(exact.price(Tokens::ONE), Some(MAX_SPAN));
}

#[test]
fn a_step_above_the_capacity_costs_a_grain_more_than_it() {
    for grain in [Grain::Nanosecond, Grain::Microsecond] {
        let limit = limit_in(2.0, 1.0, grain).unwrap();
        let too_much = limit.span() + grain.ticks();
        assert_eq!(limit.step_whole(3), Step::new(too_much, limit.span()));
    }
}

#[test]
fn tokens_owed_are_rounded_up() {
    let limit = limit(10.0, 1e7).unwrap();
    let owed = [(0, 0), (1, 1), (100, 1), (101, 2), (1_000, 10)];
    assert_eq!(owed.map(|(debt, _)| (debt, limit.tokens_owed(debt))), owed);
}

#[test]
fn a_refill_takes_at_most_the_span() {
    let limit = limit(10.0, 2.0).unwrap();
    assert_eq!(limit.refill(3), 3 * TICKS_PER_SECOND / 2);
    assert_eq!(limit.refill(11), limit.span());
}

#[test]
fn a_rate_identifies_no_unit_from_2_51_on() {
    let rounding = |unit: u64| {
        let limit = limit(1.0, 1e9 / unit as f64).unwrap();
        limit.rounding(limit.span())
    };
    assert_eq!(rounding(LEAST_UNNAMED - 1), 0);
    assert_eq!(rounding(LEAST_UNNAMED), 2);
}

#[test]
fn refunds_of_parts_return_no_more_than_was_taken() {
    let limit = limit(1000.0, 4e9).unwrap();
    let taken = limit.cost(Tokens::from_int(1000).unwrap()).unwrap();
    assert!(1000 * limit.refund(Tokens::ONE) <= taken);
    assert_eq!(limit.refund(Tokens::from_int(1000).unwrap()), taken);
    assert_eq!(limit.refund(Tokens::from_float(1e300).unwrap()), MAX_SPAN);
    // A store in microseconds gives back whole microseconds.
    let coarse = limit_in(1000.0, 1e4, Grain::Microsecond).unwrap();
    assert_eq!(coarse.refund(Tokens::from_int(5).unwrap()), 500_000);
    let most = coarse.refund(Tokens::from_float(1e300).unwrap());
    assert_eq!(most, MAX_SPAN / 1_000 * 1_000);
}

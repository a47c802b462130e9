//! Hosts that keep parts of a bucket for later never exceed its bound, whatever the latencies, the
//! rates of their clocks and the rounding. Each control breaks one rule, and must exceed it.

use crate::hosts::{Hosts, Rule, Want, Way};
use gcra::ahead::Terms;
use gcra::clock::{TICKS_PER_MICROSECOND as US, Ticks};

const MS: Ticks = 1000 * US;
const SPAN: usize = 0;
const OTHER: usize = 1;

/// A generator of random numbers, as in `SplitMix64`. A history is a seed, because a strategy of
/// proptest for so many histories takes minutes.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    fn of(&mut self, choices: &[Ticks]) -> Ticks {
        let index = self.below(choices.len() as u64);
        choices[usize::try_from(index).unwrap()]
    }
}

/// Runs a random history by these rules.
fn run(seed: u64, rule: Rule, spans: &[Ticks]) -> Hosts {
    let mut numbers = Numbers(seed);
    let ahead = numbers.of(&[500, 1000, 2000, 4000]) * US;
    let count = 1 + numbers.below(3);
    let clocks: Vec<_> = (0..count)
        .map(|_| {
            (
                numbers.below(1_000_000_000),
                numbers.below(3).cast_signed() - 1,
            )
        })
        .collect();
    let mut hosts = Hosts::new(rule, spans, ahead, clocks);
    for _ in 0..5 + numbers.below(55) {
        pass(&mut hosts, &mut numbers, spans);
        let host = usize::try_from(numbers.below(count)).unwrap();
        let span = usize::try_from(numbers.below(spans.len() as u64)).unwrap();
        let cost = numbers.of(&[100 * US, 130 * US, 777 * US, spans[span] / 3 / US * US]);
        match numbers.below(17) {
            0..=2 => hosts.use_place(host, span),
            3..=6 => hosts.ask(host, cost, span, ahead, way(&mut numbers)),
            10 | 11 => while hosts.use_slice(host, cost, span) && numbers.below(30) > 0 {},
            12 | 13 => {
                let terms = Terms {
                    cost,
                    span: spans[span],
                    take_ahead: ahead,
                };
                let want = Want {
                    extra: numbers.of(&[1, 3, 10, 1000]) * cost,
                    parts: numbers.of(&[1, 4]),
                };
                hosts.take_slice(host, &terms, span, want, way(&mut numbers));
            }
            7 => hosts.take_all(span),
            // A give-back under one limit may give tokens to calls under a smaller one.
            14 if spans.len() == 1 => hosts.hold(numbers.of(&[cost, spans[span] / 2]), span),
            15 => hosts.give_back(),
            16 if spans.len() == 1 && numbers.below(8) == 0 => hosts.reset(span),
            _ => while hosts.take(cost, span) && numbers.below(60) > 0 {},
        }
    }
    hosts
}

/// Returns how long a request takes. One reply in ten is lost.
fn way(numbers: &mut Numbers) -> Way {
    let there = numbers.of(&[0, 10, 300, 1500]) * US + numbers.below(US);
    let back = numbers.of(&[0, 10, 300, 1500]) * US;
    let back = (numbers.below(10) > 0).then_some(back);
    Way { there, back }
}

/// Lets time pass, often to an instant at which a part becomes usable, or too old.
fn pass(hosts: &mut Hosts, numbers: &mut Numbers, spans: &[Ticks]) {
    let gap = match numbers.below(8) {
        0..=2 => 0,
        3 => numbers.below(50),
        4 => numbers.below(500),
        5 | 6 => numbers.below(3000),
        _ => numbers.below(2 * spans[0] / US),
    };
    let mut time = hosts.time() + gap * US + numbers.below(US);
    let next = hosts.marks.iter().filter(|&&mark| mark > time).min();
    if let Some(mark) = next.filter(|_| numbers.below(10) < 4) {
        time = time.max((mark + 20 * US).saturating_sub(numbers.of(&[0, 1, 20, 22, 37, 60]) * US));
    }
    hosts.advance(time);
}

/// Returns the spans of the callers of a history.
fn spans(seed: u64) -> Vec<Ticks> {
    match seed % 4 {
        0 => vec![2 * MS],
        1 => vec![5 * MS],
        2 => vec![20 * MS],
        _ => vec![20 * MS, 3 * MS],
    }
}

#[test]
fn no_window_grants_more_with_parts_taken_ahead() {
    let (mut grants, mut at_the_bound) = (0, 0);
    for seed in 0..40_000 {
        let hosts = run(seed, Rule::Exact, &spans(seed));
        let excess = hosts.excess().unwrap_or(-1);
        assert!(excess <= 0, "history {seed}: {excess} ticks over");
        at_the_bound += u64::from(excess == 0);
        grants += hosts.grants.len();
    }
    assert!(
        at_the_bound > 1000,
        "only {at_the_bound} histories use all tokens"
    );
    assert!(grants > 400_000, "only {grants} grants");
}

#[test]
fn random_histories_convict_broken_rules() {
    for rule in [Rule::BeforeDue, Rule::NoEnd] {
        let over = (0..2000).filter(|&seed| run(seed, rule, &spans(seed)).excess() > Some(0));
        assert!(over.count() > 20, "{rule:?}");
    }
}

/// A host takes all tokens at 0 and asks for a call of 50 ms. It uses the call later, and takes all
/// tokens that are there.
struct Fixed {
    /// The 1024ths that the host's clock gains.
    drift: i64,
    /// The microseconds of the request, those of the reply, and the instant of the use.
    times: [Ticks; 3],
    /// The span of the caller that uses the place.
    span: usize,
}

impl Fixed {
    /// Returns the ticks by which a window exceeds its bound.
    fn excess(&self, rule: Rule) -> i64 {
        let [there, back, used] = self.times.map(|time| time * US);
        let mut hosts = Hosts::new(
            rule,
            &[500 * MS, 100 * MS],
            1000 * MS,
            [(12_345, self.drift)],
        );
        hosts.take_all(SPAN);
        let back = Some(back);
        hosts.ask(0, 50 * MS, SPAN, 1000 * MS, Way { there, back });
        hosts.advance(used);
        hosts.use_place(0, self.span);
        hosts.take_all(self.span);
        hosts.excess().unwrap()
    }
}

#[test]
fn fixed_histories_convict_each_broken_rule() {
    for (rule, drift, times, span, excess) in [
        (Rule::BeforeDue, 0, [0, 10_000, 20_000], SPAN, 30_000),
        (Rule::DueFromRequest, 0, [30_000, 0, 30_100], SPAN, 19_900),
        (Rule::NoEnd, 0, [0, 10_000, 800_000], SPAN, 50_000),
        (Rule::EndFromReply, 0, [0, 100_000, 590_000], SPAN, 50_000),
        (Rule::NoDrift, -1, [0, 10_000, 500_200], SPAN, 200),
        (Rule::NoDrift, 1, [0, 0, 49_960], SPAN, 40),
        (Rule::SharedCell, 0, [0, 10_000, 300_000], OTHER, 50_000),
    ] {
        let fixed = Fixed { drift, times, span };
        assert_eq!(fixed.excess(rule), (excess * US).cast_signed(), "{rule:?}");
        assert!(fixed.excess(Rule::Exact) <= 0, "{rule:?}");
    }
}

/// At 0 a host takes a call of 0.1 ms and a slice from a full bucket. Later it uses the slice, and
/// takes all tokens that are there.
struct FixedSlice {
    span: Ticks,
    ahead: Ticks,
    /// The 1024ths that the host's clock gains.
    drift: i64,
    /// The microseconds of the slice, those of the reply, and the instant of the use.
    times: [Ticks; 3],
    /// The span of the caller that uses the slice.
    user: usize,
}

impl FixedSlice {
    /// Returns the ticks by which a window exceeds its bound.
    fn excess(&self, rule: Rule) -> i64 {
        let [extra, back, used] = self.times.map(|time| time * US);
        let mut hosts = Hosts::new(
            rule,
            &[self.span, 3 * MS],
            self.ahead,
            [(12_345, self.drift)],
        );
        let terms = Terms {
            cost: 100 * US,
            span: self.span,
            take_ahead: self.ahead,
        };
        let way = Way {
            there: 0,
            back: Some(back),
        };
        hosts.take_slice(0, &terms, SPAN, Want { extra, parts: 1 }, way);
        hosts.advance(used);
        while hosts.use_slice(0, 100 * US, self.user) {}
        hosts.take_all(self.user);
        hosts.excess().unwrap()
    }
}

#[test]
fn fixed_histories_convict_each_broken_rule_of_slices() {
    let short = FixedSlice {
        span: 80 * MS,
        ahead: 10 * MS,
        drift: 0,
        times: [5000, 100, 9000],
        user: SPAN,
    };
    let long = FixedSlice {
        span: 8000 * MS,
        ahead: 1000 * MS,
        drift: -1,
        times: [500_000, 100, 1_000_960],
        user: SPAN,
    };
    let at = |times| FixedSlice { times, ..short };
    for (rule, fixed, excess) in [
        (Rule::ShortRecord, at([5000, 100, 9000]), 5000),
        (Rule::Lease, at([5000, 100, 4000]), 3900),
        (Rule::EndFromReply, at([5000, 4000, 13_000]), 3000),
        (Rule::NoDrift, long, 960),
        (
            Rule::SharedCell,
            FixedSlice {
                user: OTHER,
                ..short
            },
            5000,
        ),
    ] {
        assert_eq!(fixed.excess(rule), (excess * US).cast_signed(), "{rule:?}");
        assert!(fixed.excess(Rule::Exact) <= 0, "{rule:?}");
    }
}

/// Half of the bucket is taken by a call that is undone while two hosts keep places that are due.
fn excess_of_give_back(rule: Rule) -> i64 {
    let mut hosts = Hosts::new(rule, &[500 * MS], 1000 * MS, [(12_345, 0); 2]);
    hosts.take_all(SPAN);
    hosts.advance(250 * MS);
    hosts.hold(250 * MS, SPAN);
    let back = Some(0);
    for host in 0..2 {
        hosts.ask(host, 50 * MS, SPAN, 1000 * MS, Way { there: 0, back });
    }
    hosts.advance(400 * MS);
    hosts.give_back();
    hosts.advance(600 * MS);
    hosts.take_all(SPAN);
    (0..2).for_each(|host| hosts.use_place(host, SPAN));
    assert!(hosts.grants.len() >= 4, "the places are used");
    hosts.excess().unwrap()
}

/// A bucket is filled while a host keeps a slice of 5 ms.
fn excess_of_reset(rule: Rule) -> i64 {
    let mut hosts = Hosts::new(rule, &[80 * MS], 10 * MS, [(12_345, 0)]);
    let terms = Terms {
        cost: 100 * US,
        span: 80 * MS,
        take_ahead: 10 * MS,
    };
    let (extra, back) = (5 * MS, Some(0));
    hosts.take_slice(
        0,
        &terms,
        SPAN,
        Want { extra, parts: 1 },
        Way { there: 0, back },
    );
    hosts.advance(MS);
    hosts.reset(SPAN);
    hosts.take_all(SPAN);
    while hosts.use_slice(0, 100 * US, SPAN) {}
    assert!(hosts.grants.len() > 40, "the slice is used");
    hosts.excess().unwrap()
}

#[test]
fn fixed_histories_convict_give_backs_of_what_hosts_keep() {
    for (excess, over) in [
        (excess_of_give_back as fn(Rule) -> i64, 100 * MS),
        (excess_of_reset, 5 * MS),
    ] {
        assert_eq!(excess(Rule::BlindGiveBack), over.cast_signed());
        assert!(excess(Rule::Exact) <= 0);
    }
}

//! Chaos tests: processes share one table while they are killed and stopped at any instruction.
//!
//! Eight workers share a table that is so small that slots are claimed for other keys all the time.
//! A supervisor kills workers with SIGKILL and stops them with SIGSTOP, at any instruction. The
//! workers also kill and stop themselves at every marked point of the protocol. They write their
//! grants into a journal in shared memory, which the test then replays. No bucket may grant more
//! than it held, no key may have two records, and no worker may hang. Two control runs break the
//! protocol on purpose. The test must detect the violation in each of these runs.
//!
//! The test forks, so its process must have only one thread. So the test has its own `main` instead
//! of the test harness. The test takes ten seconds. `TOKENBUCKET_CHAOS_SECONDS=n` sets another
//! time. Arguments select the runs whose names contain one of the arguments. For nextest, all runs
//! are one test.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod board;
mod churn;
mod dice;
mod fate;
#[path = "../forked/mod.rs"]
mod forked;
mod replay;
mod supervisor;

use churn::{Churn, GREAT, Limit, SINGLE, SMALL};
use fate::{Meant, Mood, Once, Unvalidated};
use segment::slots::protocol::{Point, Variant};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use supervisor::Treatment;

const SECONDS: f64 = 7.0;
/// The time limit for the detection of a control's violation. After this time, the control has
/// failed.
const CONTROL: Duration = Duration::from_secs(300);
/// The name of the test that nextest runs.
const ALL: &str = "chaos";
const ONE: &[Limit] = &[SMALL];
const TWO: &[Limit] = &[SMALL, GREAT];

type Deaths = [u64; Point::ALL.len()];

struct Chaos {
    unit: Duration,
    filters: Vec<String>,
    deaths: Deaths,
    failures: u32,
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--list") {
        // There are no ignored tests.
        if std::env::args().all(|word| word != "--ignored") {
            println!("{ALL}: test");
        }
        return ExitCode::SUCCESS;
    }
    testkit::take_places(usize::MAX);
    let seconds = std::env::var("TOKENBUCKET_CHAOS_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(SECONDS);
    let arguments = std::env::args().skip(1);
    let mut chaos = Chaos {
        // The runs below take 7 units of time together.
        unit: Duration::from_secs_f64(seconds / 7.0),
        filters: arguments
            .filter(|word| !word.starts_with('-') && word != ALL)
            .collect(),
        deaths: Deaths::default(),
        failures: 0,
    };
    chaos.churns();
    chaos.control::<Unvalidated>("control: no validation", Mood::Restless, &[SMALL]);
    chaos.control::<Once>(
        "control: the clock is not read again",
        Mood::Sleepy,
        &[SINGLE],
    );
    chaos.every_step_saw_a_death();
    if chaos.failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Chaos {
    fn is_wanted(&self, name: &str) -> bool {
        let mut filters = self.filters.iter();
        self.filters.is_empty() || filters.any(|filter| name.contains(filter))
    }

    fn tell(&mut self, name: &str, result: Result<String, String>) {
        match result {
            Ok(told) => println!("PASS {name}: {told}"),
            Err(told) => {
                self.failures += 1;
                println!("FAIL {name}: {told}");
            }
        }
    }

    fn treatment(&self, mood: Mood, outside: bool) -> Treatment {
        let time = self.unit;
        Treatment {
            mood,
            outside,
            time,
        }
    }

    fn churns(&mut self) {
        const EMPTIED: &[Limit] = &[SINGLE];
        type Run = (&'static str, usize, u64, bool, &'static [Limit], Mood, u32);
        const RUNS: [Run; 6] = [
            ("2 lines, 24 keys", 2, 24, false, ONE, Mood::Deadly, 1),
            ("8 lines, 4096 keys", 8, 4096, false, ONE, Mood::Deadly, 1),
            ("long stalls", 2, 24, false, EMPTIED, Mood::Sleepy, 1),
            ("two capacities", 4, 32, false, TWO, Mood::Deadly, 2),
            ("evict, no deaths", 2, 24, true, ONE, Mood::Restless, 1),
            ("evict, two capacities", 2, 24, true, TWO, Mood::Deadly, 1),
        ];
        for (name, lines, keys, evict, limits, mood, units) in RUNS {
            let mut treatment = self.treatment(mood, mood == Mood::Deadly);
            treatment.time *= units;
            let churn = Churn {
                lines,
                keys,
                evict,
                limits,
                treatment,
            };
            self.churn(name, &churn);
        }
    }

    fn churn(&mut self, name: &str, churn: &Churn) {
        if !self.is_wanted(name) {
            return;
        }
        let result = churn.run::<Meant>().and_then(|outcome| {
            for (sum, deaths) in self.deaths.iter_mut().zip(outcome.deaths) {
                *sum += deaths;
            }
            let judged = outcome.judge(churn);
            judged
                .map(|()| outcome.to_string())
                .map_err(|why| format!("{why}; {outcome}"))
        });
        self.tell(name, result);
    }

    /// Runs a broken protocol, which must be caught in time.
    fn control<V: Variant>(&mut self, name: &str, mood: Mood, limits: &'static [Limit]) {
        if !self.is_wanted(name) {
            return;
        }
        let begin = Instant::now();
        let time = Duration::from_millis(500);
        let churn = Churn {
            lines: 2,
            keys: 24,
            evict: false,
            limits,
            treatment: Treatment {
                time,
                ..self.treatment(mood, false)
            },
        };
        let mut result = Err("not caught".to_owned());
        while result.is_err() && begin.elapsed() < CONTROL {
            match churn.run::<V>() {
                Ok(outcome) if outcome.is_violated() => {
                    let after = begin.elapsed().as_secs_f64();
                    result = Ok(format!("caught after {after:.1} s; {outcome}"));
                }
                Ok(_) => {}
                Err(why) => return self.tell(name, Err(why)),
            }
        }
        self.tell(name, result);
    }

    fn every_step_saw_a_death(&mut self) {
        if !self.filters.is_empty() {
            return;
        }
        // By chance, or on a slow machine, no worker may have died at some of the marked points
        // yet.
        let begin = Instant::now();
        while self.deaths.contains(&0) && self.failures == 0 && begin.elapsed() < CONTROL {
            for (name, evict, limits) in [("more", false, ONE), ("more, evict", true, TWO)] {
                let churn = Churn {
                    lines: 4,
                    keys: 32,
                    evict,
                    limits,
                    treatment: self.treatment(Mood::Deadly, true),
                };
                self.churn(name, &churn);
            }
        }
        let deaths = Point::ALL.iter().zip(self.deaths);
        let told: Vec<_> = deaths.map(|(point, n)| format!("{point:?} {n}")).collect();
        let told = told.join(", ");
        if self.deaths.contains(&0) && self.failures == 0 {
            testkit::inconclusive(format_args!("no death at some step: {told}"));
        }
        self.tell("deaths at each step", Ok(told));
    }
}

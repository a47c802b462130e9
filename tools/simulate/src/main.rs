//! Simulates a fleet of hosts and its servers in one thread, and judges every call.
//!
//! A seed is a history. `scripts/simulate` explains the arguments, and
//! docs/explanation/simulation.md the world.

mod batches;
mod buckets;
mod chance;
mod cluster;
mod history;
mod judge;
mod keys;
mod lockouts;
mod lua;
mod network;
mod outages;
mod permits;
mod plan;
mod quotas;
mod reserve;
mod rules;
mod server;
mod sets;
mod shrink;
mod system;
mod table;
mod threads;
mod tide;
mod work;
mod worker;
mod world;

use judge::Judged;
use plan::{PARTS, Plan};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use world::World;

/// Reports whether a fault is planted. The controls build a copy of the tree with all of them.
#[cfg(feature = "planted")]
fn planted(number: u32) -> bool {
    gcra::planted(number)
}
#[cfg(not(feature = "planted"))]
const fn planted(_number: u32) -> bool {
    false
}
#[cfg(feature = "planted")]
fn plant(number: u32) {
    gcra::PLANTED.store(number, std::sync::atomic::Ordering::Relaxed);
}
#[cfg(not(feature = "planted"))]
const fn plant(_number: u32) {}

/// The most histories whose faults are printed.
const MOST: u32 = 10;
/// The seeds that must find each planted fault.
const SEEDS: u64 = 200;

#[derive(Default)]
struct Arguments {
    numbers: Vec<u64>,
    seed: Option<u64>,
    calls: u64,
    minutes: u64,
    hosts: Option<usize>,
    workers: Option<usize>,
    /// The milliseconds that hosts take ahead.
    ahead: Option<u64>,
    without: Vec<String>,
    controls: bool,
    /// This process runs each so many-th seed or control, from this one on.
    part: u64,
    parts: u64,
}

impl Arguments {
    fn read(words: impl Iterator<Item = String>) -> Self {
        let (calls, parts) = (20_000, 1);
        let mut all = Self {
            calls,
            parts,
            ..Self::default()
        };
        let mut words = words;
        while let Some(word) = words.next() {
            if let Ok(number) = word.parse() {
                all.numbers.push(number);
            } else if word == "--planted" {
                all.controls = true;
            } else {
                let value = words.next().unwrap_or_default();
                all.set(&word, &value);
            }
        }
        all
    }

    fn set(&mut self, word: &str, value: &str) {
        let number = value.parse::<u64>();
        match (word, number) {
            ("--seed", Ok(number)) => self.seed = Some(number),
            ("--calls", Ok(number)) => self.calls = number,
            ("--minutes", Ok(number)) => self.minutes = number,
            ("--hosts", Ok(number)) => self.hosts = Some(number as usize),
            ("--workers", Ok(number)) => self.workers = Some(number as usize),
            ("--ahead", Ok(number)) => self.ahead = Some(number),
            ("--plant", Ok(number)) => plant(number as u32),
            ("--part", Ok(number)) => self.part = number,
            ("--parts", Ok(number)) => self.parts = number,
            ("--without", _) => self.without.push(value.into()),
            _ => panic!("{word} {value} is no argument"),
        }
    }

    fn plan(&self, seed: u64) -> Plan {
        let mut plan = Plan::new(seed, self.calls);
        plan.hosts = self.hosts.unwrap_or(plan.hosts);
        plan.workers = self.workers.unwrap_or(plan.workers);
        plan.take_ahead = self.ahead.map_or(plan.take_ahead, |it| it * world::MILLI);
        for name in &self.without {
            let part = PARTS.iter().find(|it| format!("{it:?}") == *name);
            plan = plan.without(*part.unwrap_or_else(|| panic!("{name} is no part")));
        }
        plan
    }
}

/// Runs and judges the history of a plan.
fn run(plan: &Plan) -> Judged {
    judge::judge(World::run(plan, false).0, plan)
}

/// Prints the history of one seed.
fn tell(plan: &Plan) -> bool {
    let (history, digest) = World::run(plan, true);
    table::print(&history, plan);
    let judged = judge::judge(history, plan);
    println!("digest {digest:016x}; {}", judged.verdict);
    for fault in &judged.faults {
        println!("   {fault}");
    }
    judged.faults.is_empty()
}

/// Runs the seeds, and prints what is wrong with each.
fn run_seeds(arguments: &Arguments) -> bool {
    let number = |place, usual| arguments.numbers.get(place).copied().unwrap_or(usual);
    let (count, first) = match arguments.minutes {
        0 => (number(0, SEEDS), number(1, 1)),
        _ => (u64::MAX, number(0, 1)),
    };
    let length = Duration::from_secs(60 * arguments.minutes);
    let (began, mut calls, mut convicted, mut slack, mut seeds) = (Instant::now(), 0, 0, 0, 0);
    let (mut granted, mut messages) = (0, 0);
    for seed in (first + arguments.part..).step_by(arguments.parts as usize) {
        if seed - first >= count || (arguments.minutes > 0 && began.elapsed() >= length) {
            break;
        }
        let plan = arguments.plan(seed);
        let judged = run(&plan);
        seeds += 1;
        calls += plan.calls;
        granted += judged.verdict.granted;
        messages += judged.messages;
        slack += u32::from(judged.is_slack);
        convicted += u32::from(!judged.faults.is_empty());
        if !judged.faults.is_empty() && convicted <= MOST {
            shrink::print(&plan, &judged);
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{seeds} seeds from {first}: {calls} calls, {granted} granted, {messages} messages; {convicted} convicted, {slack} too slack; {seconds:.1} s, {:.0} judged calls a second",
        calls as f64 / seconds
    );
    // A slack history proves little. The others must prove something.
    convicted == 0 && 2 * slack <= seeds
}

/// Runs the histories that once broke a rule.
fn run_known() -> bool {
    let lines = include_str!("../seeds.txt").lines();
    let mut hold = true;
    for line in lines.filter(|it| it.starts_with("--")) {
        let words = line.split('#').next().unwrap_or_default();
        let arguments = Arguments::read(words.split_whitespace().map(String::from));
        let judged = run(&arguments.plan(arguments.seed.unwrap_or(0)));
        if let Some(fault) = judged.faults.first() {
            println!("{line}\n   {fault}");
            hold = false;
        }
    }
    hold
}

/// Runs each planted fault until a seed convicts it.
fn run_controls(arguments: &Arguments) -> bool {
    let mut all_found = true;
    let lines = include_str!("../planted.txt").lines();
    for line in lines.filter_map(|it| it.strip_prefix("@ ")) {
        let (number, what) = line.split_once(' ').unwrap_or_default();
        let number: u32 = number.parse().unwrap_or(0);
        // A fault of several lines has the number 0 on all but the first one.
        let is_wanted = arguments.numbers.is_empty() || arguments.numbers.contains(&number.into());
        let is_mine = u64::from(number) % arguments.parts == arguments.part;
        if number == 0 || !is_wanted || !is_mine {
            continue;
        }
        plant(number);
        let found = (1..=SEEDS)
            .find_map(|seed| Some((seed, run(&arguments.plan(seed)).faults.into_iter().next()?)));
        all_found &= found.is_some();
        let found = found.map_or("not found".into(), |(seed, fault)| {
            format!("seed {seed}: {fault}")
        });
        println!("{number:>3} {what}\n    {found}");
    }
    all_found
}

fn main() -> ExitCode {
    let arguments = Arguments::read(std::env::args().skip(1));
    let passed = match arguments.seed {
        Some(seed) => tell(&arguments.plan(seed)),
        None if arguments.controls => run_controls(&arguments),
        None => (arguments.part > 0 || run_known()) & run_seeds(&arguments),
    };
    ExitCode::from(u8::from(!passed))
}

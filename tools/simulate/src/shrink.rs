//! Makes a plan whose history breaks a rule smaller, and prints it as a line of seeds.txt.

use crate::judge::Judged;
use crate::plan::{PARTS, Plan};
use crate::run;

/// The most histories that are run to make one plan smaller.
const MOST: usize = 60;

/// Returns the rule that a fault names, such as "(2)".
fn rule(fault: &str) -> &str {
    fault.split_inclusive(')').next().unwrap_or(fault)
}

/// Returns smaller plans, those that leave most out first.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let with = |change: fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        plan
    };
    let mut plans = vec![
        with(|it| it.calls /= 2),
        with(|it| it.calls = it.calls * 7 / 8),
        with(|it| it.hosts /= 2),
        with(|it| it.hosts -= 1),
        with(|it| it.workers /= 2),
        with(|it| it.workers -= 1),
    ];
    plans.extend(PARTS.iter().map(|&part| plan.clone().without(part)));
    plans.retain(|it| it.calls > 0 && it.hosts > 0 && it.workers > 0 && it != plan);
    plans
}

/// Returns the smallest plan that was found whose history breaks the same rule.
fn shrunk(mut plan: Plan, broken: &str) -> Plan {
    let mut left = MOST;
    loop {
        let mut candidates = smaller(&plan).into_iter().take(left);
        let breaks = |it: &Plan| {
            left = left.saturating_sub(1);
            let judged = run(it);
            judged.faults.iter().any(|fault| rule(fault) == broken)
        };
        let Some(smaller) = candidates.find(breaks) else {
            return plan;
        };
        plan = smaller;
    }
}

/// Prints the faults of a history, and the smallest one that breaks the same rule.
pub fn print(plan: &Plan, judged: &Judged) {
    println!("seed {}: {}", plan.seed, judged.verdict);
    for fault in judged.faults.iter().take(4) {
        println!("   {fault}");
    }
    let plan = shrunk(plan.clone(), rule(&judged.faults[0]));
    println!("   scripts/simulate {}", plan.arguments());
    println!("   The same words are a line of tools/simulate/seeds.txt, which each run repeats.");
}

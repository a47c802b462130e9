//! Applies all rules to all buckets of a log and reports how strong the evidence is.
//!
//! If the allowances are large, a log that breaks no rule is weak evidence. So a log with more
//! slack than [`MOST_SLACK`] proves nothing. Slack is the sum of the allowances for ticks, clocks
//! and evictions, which widen every window. Lost state is limited together with slack, although it
//! only widens the windows around a known instant. Refunds and resets do not count, because callers
//! requested them.
//!
//! The limit is a part of the tokens that the quotas alone allow, and a loss counts as one capacity
//! of each bucket. So the plan and the length of a trial decide whether it can prove anything, and
//! the speed of the machine does not. On a busy machine, callers make fewer refunds and resets,
//! which raise the bound. Their calls take longer, so that a loss may have cancelled more debts. A
//! loss is printed with these debts, which callers took themselves.

use crate::bound::{self, Worst};
use crate::call::{Call, Kind, Outcome, Quota, TOKEN, Tokens};
use crate::gifts::gifts;
use crate::log::Log;
use crate::rules::{Broken, Rules};
use crate::{ahead, denials, drains, lockouts, shared, waits, windows};
use std::collections::BTreeSet;
use std::fmt;

/// The most slack, in hundredths of the tokens that the quotas alone allow.
pub const MOST_SLACK: Tokens = 1;

/// The result of the judgement. Sums are over all buckets.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The number of granted takes and reservations that were not cancelled.
    pub granted: u64,
    /// The number of takes denied because the bucket lacked tokens.
    pub denied: u64,
    /// The number of takes denied for another reason, which the limiter states and counts.
    pub excused: u64,
    /// The number of calls of unknown outcome.
    pub unknown: u64,
    /// The number of charges that succeeded.
    pub charged: u64,
    /// The number of granted reservations that were cancelled.
    pub cancelled: u64,
    /// The number of takes from a bucket of a batch that another bucket denied.
    pub undone: u64,
    /// The number of refunds and resets that succeeded.
    pub gifts: u64,
    /// The number of blocks and drains that succeeded.
    pub drained: u64,
    /// The tokens that the quotas, refunds, resets and losses allowed.
    pub bound: Tokens,
    /// The tokens that the allowances added.
    pub slack: Tokens,
    /// The part of the bound that losses of state allowed, with the debts that they cancelled.
    pub lost: Tokens,
    /// The number of windows above their bound, and the sum of the worst excess of each bucket.
    pub over: (u64, Tokens),
    /// The excess of the worst window of all. Negative if that window is below its bound.
    pub nearest: Option<Tokens>,
    /// The number of denials that no history explains.
    pub unexplained: u64,
    /// The number of denials that contradict an earlier denial's wait, and the number of denials
    /// that were compared with such a wait.
    pub contradicted: (u64, u64),
    /// The calls of quotas and of lockouts that were granted and denied.
    pub others: [[u64; 2]; 2],
    /// The number of faults of quotas, of lockouts, and of limits that share a bucket.
    pub broken: u64,
    /// The messages for the first fault by each rule in each bucket.
    pub faults: Vec<String>,
    /// The part of the bound that the quotas alone allowed.
    quotas: Tokens,
    /// One capacity of the bucket for each loss of state.
    emptied: Tokens,
    evicted: Tokens,
}

impl Verdict {
    /// Judges all buckets, quotas and lockouts of a log.
    pub fn of(log: &Log) -> Self {
        let mut verdict = Self {
            evicted: log.rules.evicted,
            slack: log.rules.evicted,
            ..Self::default()
        };
        for (bucket, (quota, calls)) in &log.buckets {
            let mut rules = log.rules;
            if log.uncached.contains(bucket) {
                rules.cached = 0;
            }
            let (stored, calls): (Vec<_>, Vec<_>) =
                calls.iter().partition(|call| call.kind == Kind::Stored);
            verdict.count(&calls, quota, &rules);
            if log.shared.iter().flatten().any(|shared| shared == bucket) {
                // Grants of the other limits explain denials, too.
                verdict.over("1", *bucket, "", &bound::judge(&calls, quota, &rules));
            } else {
                verdict.judge(*bucket, &calls, quota, &rules);
                verdict.judge_denials(*bucket, &calls, &stored, quota, &rules);
            }
        }
        for limits in &log.shared {
            let limits = limits.iter().filter_map(|limit| log.buckets.get(limit));
            let limits: Vec<_> = limits.map(|(quota, calls)| (*quota, &calls[..])).collect();
            verdict.broken("limits", "limits", &shared::judge(&limits, &log.rules));
        }
        if log.rules.buckets == 1 {
            for (quota, (windows, calls)) in &log.quotas {
                let broken = windows::judge(calls, windows, &log.rules);
                verdict.other(0, &format!("quota {quota}"), calls, &broken);
            }
            for (lockout, (limits, calls)) in &log.lockouts {
                let broken = lockouts::judge(calls, limits, &log.rules);
                verdict.other(1, &format!("lockout {lockout}"), calls, &broken);
            }
        }
        verdict
    }

    /// Adds the calls and the faults of a quota (0) or of a lockout (1).
    fn other(&mut self, kind: usize, name: &str, calls: &[Call], broken: &[Broken]) {
        let [granted, denied] = &mut self.others[kind];
        *granted += calls.iter().filter(|call| call.is_granted()).count() as u64;
        *denied += calls.iter().filter(|call| call.is_denied()).count() as u64;
        self.broken(["quotas", "lockouts"][kind], name, broken);
    }

    /// Adds the faults by the rules of this kind.
    fn broken(&mut self, kind: &str, name: &str, broken: &[Broken]) {
        for (number, Broken { count, first }) in (1..).zip(broken) {
            self.broken += count;
            if *count > 0 {
                let fault = format!("({kind} {number}) {name}: {first}; {count} in all");
                self.faults.push(fault);
            }
        }
    }

    /// Reports whether any rule was broken.
    pub fn is_convicted(&self) -> bool {
        self.is_over() || self.unexplained + self.contradicted.0 + self.broken > 0
    }

    /// Reports whether the allowances were too large for the judgement to prove anything.
    pub fn is_slack(&self) -> bool {
        (self.slack + self.emptied) * 100 > self.quotas * MOST_SLACK
    }

    fn is_over(&self) -> bool {
        self.over.1 > self.evicted
    }

    fn count(&mut self, calls: &[Call], quota: &Quota, rules: &Rules) {
        let whole = quota.times(rules.buckets);
        let before = self.granted + self.charged;
        for (call, gift) in calls.iter().zip(gifts(calls, &whole, rules)) {
            let amount = gift.map_or(0, |gift| gift.amount);
            self.bound += amount;
            match (call.kind, call.outcome) {
                (Kind::Lost, _) => {
                    self.lost += amount - whole.refill(rules.wait);
                    self.emptied += whole.capacity;
                }
                (_, Outcome::Unknown) => self.unknown += 1,
                (Kind::Cancel, _) => {}
                (Kind::Drain, _) => self.drained += 1,
                (Kind::Refund | Kind::Reset, _) => self.gifts += 1,
                (Kind::Charge, Outcome::Done) => self.charged += 1,
                (_, Outcome::Done) => self.granted += 1,
                (_, Outcome::Denied { .. }) => self.denied += 1,
                (_, Outcome::Excused) => self.excused += 1,
                (_, Outcome::Undone) => self.undone += 1,
                (_, Outcome::Cancelled) => self.cancelled += 1,
            }
        }
        let first = calls.iter().map(|call| call.start).min().unwrap_or(0);
        let last = calls.iter().map(|call| call.end).max().unwrap_or(0);
        let takes = self.granted + self.charged - before;
        let quota = whole.capacity + whole.refill(last - first);
        self.quotas += quota;
        self.bound += quota;
        self.slack += Tokens::from(takes) * whole.refill(rules.tick);
        self.slack += whole.refill(rules.tick + rules.skew);
    }

    fn judge(&mut self, bucket: u32, calls: &[Call], quota: &Quota, rules: &Rules) {
        self.over("1", bucket, "", &bound::judge(calls, quota, rules));
        let floors: BTreeSet<_> = calls.iter().map(|call| call.floor).collect();
        for floor in floors.into_iter().filter(|&floor| floor > 0) {
            let worst = bound::judge_above(calls, quota, rules, floor);
            self.over("5", bucket, " above the floor", &worst);
        }
        if rules.buckets > 1 {
            return;
        }
        let what = " after a block or a drain";
        self.over("4", bucket, what, &drains::judge(calls, quota, rules));
        if rules.ahead > 0 {
            let hosts: BTreeSet<_> = calls.iter().map(|call| call.host).collect();
            for host in hosts.into_iter().filter(|&host| host > 0) {
                let what = format!(" on host {host} after its block or drain");
                let worst = drains::judge_on_host(calls, quota, rules, host);
                self.over("4", bucket, &what, &worst);
            }
        }
    }

    fn judge_denials(
        &mut self,
        bucket: u32,
        calls: &[Call],
        stored: &[Call],
        quota: &Quota,
        rules: &Rules,
    ) {
        let seen;
        let (calls, quota, rules) = match (rules.ahead, stored) {
            (0, _) => (calls, quota, rules),
            (_, []) => return,
            _ => {
                seen = ahead::of_store(calls, stored, quota, rules);
                (&seen.0[..], &seen.1, &seen.2)
            }
        };
        if rules.buckets > 1 {
            return;
        }
        let unexplained = denials::judge(calls, quota, rules);
        self.unexplained += unexplained.violations;
        if let Some((call, spare)) = unexplained.first {
            let what = "denied although the bucket held enough";
            self.fault("2", bucket, what, &call, spare);
        }
        let contradicted = waits::judge(calls, quota, rules);
        self.contradicted.0 += contradicted.violations;
        self.contradicted.1 += contradicted.judged;
        if let Some((call, spare)) = contradicted.first {
            let what = "denied although the wait of an earlier denial was over";
            self.fault("3", bucket, what, &call, spare);
        }
    }

    fn over(&mut self, rule: &str, bucket: u32, what: &str, worst: &Worst) {
        let Some(window) = worst.window else { return };
        self.nearest = self.nearest.max(Some(window.excess));
        self.over.0 += worst.violations;
        self.over.1 += window.excess.max(0);
        if let Some(first) = worst.first {
            self.faults.push(format!(
                "({rule}) bucket {bucket}: {} tokens too many{what} in the worst window, which ends at {}; {} windows, the first at {}",
                tokens(window.excess),
                window.end,
                worst.violations,
                first.end,
            ));
        }
    }

    fn fault(&mut self, rule: &str, bucket: u32, what: &str, call: &Call, spare: Tokens) {
        self.faults.push(format!(
            "({rule}) bucket {bucket}: {} tokens {what}, with {} to spare, between {} and {}",
            tokens(call.cost),
            tokens(spare),
            call.start,
            call.end,
        ));
    }
}

#[expect(clippy::cast_precision_loss, reason = "only shown")]
fn tokens(amount: Tokens) -> String {
    format!("{:.3}", amount as f64 / TOKEN as f64)
}

#[expect(clippy::cast_precision_loss, reason = "only shown")]
fn percent(part: Tokens, whole: Tokens) -> String {
    format!("{:.2} %", 100.0 * part as f64 / whole.max(1) as f64)
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match (self.is_convicted(), self.is_slack()) {
            (true, _) => "CONVICTED",
            (false, true) => "TOO SLACK",
            (false, false) => "holds",
        };
        write!(
            f,
            "{word}: {} granted, {} denied, {} charged, {} cancelled, {} undone, {} drained, ",
            self.granted, self.denied, self.charged, self.cancelled, self.undone, self.drained
        )?;
        write!(
            f,
            "{} excused, {} unknown, {} given back; ",
            self.excused, self.unknown, self.gifts
        )?;
        write!(
            f,
            "{} windows over{}, {} denials unexplained, {} of {} contradicted; ",
            self.over.0,
            if self.over.0 > 0 && !self.is_over() {
                " because of evictions"
            } else {
                ""
            },
            self.unexplained,
            self.contradicted.0,
            self.contradicted.1
        )?;
        if let Some(nearest) = self.nearest.filter(|&nearest| nearest <= 0) {
            write!(
                f,
                "worst window {} tokens below its bound; ",
                tokens(-nearest)
            )?;
        }
        write!(
            f,
            "slack {} and lost state {} of the bound",
            percent(self.slack, self.bound),
            percent(self.lost, self.bound)
        )?;
        for (name, [granted, denied]) in ["quotas", "lockouts"].iter().zip(self.others) {
            if granted + denied > 0 {
                write!(f, "; {name}: {granted} granted, {denied} denied")?;
            }
        }
        Ok(())
    }
}

//! The calls on several buckets: `attemptEach()`, and `attemptAll()` on one server or on several.

use crate::work::{Take, Work, pick};
use crate::world::{World, here};
use gcra::batch::{Batch, take_all};
use gcra::{Batched, Denial, Few, Outcome, Taken, Ticket, Verdict, boot_clock};
use prove::call::{Kind, Outcome as Seen};
use stores::remote::{Answer, Failure, Redis, Remote, TimeLeft};

/// The denial of a batch that its caller repeats bucket by bucket.
const CONTENDED: Verdict = Verdict::Denied(Denial::Contended);

type Client<'w> = &'w Remote<'static, Redis>;

/// A batch on several servers, as `attemptAll()` of PHP makes it: checks all buckets, takes from
/// each on its own, and undoes its takes if one is denied.
struct Apart<'w> {
    work: &'w Work,
    takes: &'w [Take],
    /// The ticks that the call has waited.
    spent: u64,
    /// For each bucket, whether the failure policy has decided, and whether its tokens were taken.
    fallback: Vec<bool>,
    taken: Vec<bool>,
}

impl Apart<'_> {
    /// Asks all servers at once. Adds the takes to `taken`, and returns the first one that is
    /// denied.
    fn ask(&mut self, is_dry: bool, taken: &mut Few<Taken>) -> Result<Option<Taken>, Failure> {
        let mut tickets = self.work.tickets(self.takes);
        for (_, ticket) in tickets.iter_mut().filter(|_| is_dry) {
            ticket.step = ticket.step.dry();
        }
        let left = TimeLeft::rest(here().plan.timeout.saturating_sub(self.spent));
        let left = if is_dry { left.half() } else { left };
        let (start, mut refused) = (boot_clock(), None);
        let result = Remote::take_each(&tickets, Some(left), |index, answer| {
            self.fallback[index] = answer.fallback;
            let one = Taken::new(index, tickets[index].1.step, answer.value);
            if !one.outcome.granted() {
                refused.get_or_insert(one);
            } else if !is_dry {
                self.taken[index] = true;
                taken.push(one);
            }
        });
        self.spent += boot_clock() - start;
        result.map(|()| refused)
    }
}

impl Batch for Apart<'_> {
    type Error = Failure;

    fn groups(&self) -> usize {
        1
    }

    fn refused(&mut self) -> Result<Option<Taken>, Failure> {
        self.ask(true, &mut Few::new())
    }

    fn take(&mut self, _group: usize, taken: &mut Few<Taken>) -> Result<Option<Taken>, Failure> {
        self.ask(false, taken)
    }

    fn give_back(&mut self, taken: &[Taken]) -> Result<(), Failure> {
        let sure = taken.iter().filter(|it| !self.fallback[it.index]);
        let undone = sure.map(|it| {
            let bucket = self.takes[it.index].bucket;
            let place = (self.work.client(bucket), self.work.key(bucket));
            (place, it.give_back())
        });
        let (places, puts): (Vec<_>, Vec<_>) = undone.unzip();
        let mut has_failed = false;
        let left = TimeLeft::ALL;
        let result = Remote::give_back_each(&places, &puts, left, |_, _| has_failed = true);
        if has_failed {
            self.fallback.fill(true);
        }
        result
    }
}

impl Work {
    /// Begins a call for tokens of several buckets. Returns its takes.
    fn several(&self) -> Vec<Take> {
        let World { chance, plan, .. } = here();
        let mut takes: Vec<_> = (0..self.limits.len()).map(Take::one).collect();
        while takes.len() > 1 && chance.one_in(3) {
            takes.remove(pick(chance, takes.len()));
        }
        if plan.tide.is_some() {
            takes[0].tokens += chance.below(self.limits[takes[0].bucket].capacity / 2);
        }
        self.begin(takes.iter().map(|it| (it.bucket, Kind::Take, it.tokens)));
        takes
    }

    fn tickets(&self, takes: &[Take]) -> Vec<(Client<'_>, Ticket<'static>)> {
        let ticket = |(index, take): (usize, &Take)| {
            let (key, step) = (self.key(take.bucket), self.step(*take));
            (self.client(take.bucket), Ticket { index, key, step })
        };
        takes.iter().enumerate().map(ticket).collect()
    }

    pub fn each(&self) {
        let takes = self.several();
        let mut answers: Vec<Option<Answer<Outcome>>> = takes.iter().map(|_| None).collect();
        let result = Remote::take_each(&self.tickets(&takes), None, |index, answer| {
            answers[index] = Some(answer);
        });
        if result.is_ok() && answers.iter().any(Option::is_none) {
            let fault = "(each) a step got no result, and no failure was reported";
            here().history.faults.push(fault.into());
        }
        for (take, answer) in takes.iter().zip(answers) {
            match answer {
                Some(answer) => self.taken(*take, &self.step(*take), &Ok(answer)),
                None => _ = self.end(take.bucket, |_| ()),
            }
        }
    }

    pub fn all(&self) {
        let takes = self.several();
        let first = self.client(takes[0].bucket);
        let start = boot_clock();
        let answer = first.take_all(&self.tickets(&takes), TimeLeft::ALL);
        let spent = boot_clock() - start;
        let batched = match answer {
            // The buckets are on several servers, or may be.
            Ok(None) => return self.apart(&takes, spent),
            Ok(Some(it)) if matches!(&it.value, Err(it) if it.outcome.verdict == CONTENDED) => {
                return self.apart(&takes, spent);
            }
            Ok(Some(it)) if !it.fallback => Ok(it.value),
            _ => Err(Seen::Unknown),
        };
        let fallback = vec![false; takes.len()];
        self.batched(&takes, batched, &fallback, &fallback);
    }

    /// Does the same bucket by bucket, in the time that is left.
    fn apart(&self, takes: &[Take], spent: u64) {
        let (fallback, taken) = (vec![false; takes.len()], vec![false; takes.len()]);
        let mut batch = Apart {
            work: self,
            takes,
            spent,
            fallback,
            taken,
        };
        let batched = take_all(&mut batch).map_err(|_| Seen::Unknown);
        if matches!(batched, Ok(Ok(_))) {
            batch.taken.fill(false);
        }
        self.batched(takes, batched, &batch.fallback, &batch.taken);
    }

    /// Ends the calls of a batch. `fallback` are those that the failure policy has decided, and
    /// `taken` those that were undone if the batch was denied.
    fn batched(
        &self,
        takes: &[Take],
        batched: Result<Batched, Seen>,
        fallback: &[bool],
        undone: &[bool],
    ) {
        for (index, take) in takes.iter().enumerate() {
            let is_mine = |it: &&Taken| it.index == index;
            let taken = match &batched {
                _ if fallback[index] => Err(Seen::Unknown),
                Ok(Ok(taken)) => taken.iter().find(is_mine).ok_or(Seen::Unknown),
                Ok(Err(_)) if undone[index] => Err(Seen::Undone),
                Ok(Err(refused)) => Some(refused).filter(is_mine).ok_or(Seen::Excused),
                Err(seen) => Err(*seen),
            };
            match taken {
                // The undo has a time of its own.
                Ok(it) if undone.contains(&true) => {
                    let wait = it.step.retry_after(it.outcome.empty_at, it.outcome.now);
                    let retry_after = Some(wait);
                    self.end(take.bucket, |call| {
                        call.outcome = Seen::Denied { retry_after }
                    });
                }
                Ok(it) => self.taken(*take, &self.step(*take), &Ok(Answer::sure(it.outcome))),
                Err(seen) => {
                    let mut record = self.end(take.bucket, |call| call.outcome = seen);
                    if undone[index] && seen == Seen::Unknown {
                        // It was taken, and perhaps given back.
                        record.call.kind = Kind::Refund;
                        here().history.add(record);
                    }
                }
            }
        }
    }
}

//! The calls on several buckets: `attemptEach()`, and `attemptAll()` on one server.

use crate::work::{Take, Work, pick};
use crate::world::{World, here};
use gcra::{Denial, Outcome, Taken, Ticket, Verdict};
use prove::call::{Kind, Outcome as Seen};
use stores::remote::{Answer, Redis, Remote, TimeLeft};

/// The denial of a batch that its caller repeats bucket by bucket.
const CONTENDED: Verdict = Verdict::Denied(Denial::Contended);

type Client<'w> = &'w Remote<'static, Redis>;

impl Work {
    /// Begins a call for one token of several buckets. Returns its takes.
    fn several(&self) -> Vec<Take> {
        let World { chance, .. } = here();
        let mut takes: Vec<_> = (0..self.limits.len()).map(Take::one).collect();
        while takes.len() > 1 && chance.one_in(3) {
            takes.remove(pick(chance, takes.len()));
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
        let answer = first.take_all(&self.tickets(&takes), TimeLeft::ALL);
        let batched = match answer {
            // The buckets are on several servers, or may be.
            Ok(None) => Err(Seen::Excused),
            Ok(Some(it)) if matches!(&it.value, Err(it) if it.outcome.verdict == CONTENDED) => {
                Err(Seen::Excused)
            }
            Ok(Some(it)) if !it.fallback => Ok(it.value),
            _ => Err(Seen::Unknown),
        };
        for (index, take) in takes.iter().enumerate() {
            let is_mine = |it: &&Taken| it.index == index;
            let taken = match &batched {
                Ok(Ok(taken)) => taken.iter().find(is_mine).ok_or(Seen::Unknown),
                Ok(Err(refused)) => Some(refused).filter(is_mine).ok_or(Seen::Excused),
                Err(seen) => Err(*seen),
            };
            match taken {
                Ok(it) => self.taken(*take, &self.step(*take), &Ok(Answer::sure(it.outcome))),
                Err(seen) => _ = self.end(take.bucket, |call| call.outcome = seen),
            }
        }
    }
}

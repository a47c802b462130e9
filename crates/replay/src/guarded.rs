//! Limits that decide on the requests of a log, as the guard decides on those of a server.

use super::line::{Format, Line};
use gcra::{Denial, Few, Step, Ticks, Timestamp, Verdict};
use guard::{Client, Measure, Rule, Target, step_leaving};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// A request that waits for its turn in the order of time.
#[derive(Debug)]
pub struct Request {
    /// The instant at which it began.
    pub at: Timestamp,
    /// The ticks by which the guard may have seen it later, or earlier.
    pub late: Ticks,
    pub early: Ticks,
    pub took: Ticks,
    pub log: u32,
    pub line: u32,
    pub client: u32,
    pub net: u32,
    /// The number of the path. If no limit decides, a bit for each group that counts the request,
    /// or the number of the first segment.
    pub path: u32,
    pub agent: u32,
    pub has_cookie: bool,
    /// False for an invalid address and for a trusted proxy, which a limit never blocks.
    pub is_one_client: bool,
    /// The limits that count it.
    pub buckets: Few<Place>,
}

/// A bucket of a limit, and the tokens or permits that the request leaves in it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub limit: u16,
    pub bucket: u32,
    pub left: u32,
}

/// The decision of a limit on a request.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub limit: u16,
    pub is_denied: bool,
    /// The ticks by which the request would have had to come later, or earlier, for the other
    /// decision. It is the wait of a denied client.
    pub border: Ticks,
    /// True if the instant of the request is not known well enough to be sure of the decision.
    pub is_uncertain: bool,
}

impl Row {
    /// Appends the instant, the border, the log, the line, the numbers of the client, the path and
    /// the agent, the limit, and the flags denied (1), uncertain (2) and with a cookie (4).
    pub fn append_to(self, listed: &mut Vec<u8>, request: &Request) {
        listed.extend(request.at.0.to_le_bytes());
        listed.extend(self.border.to_le_bytes());
        for number in [
            request.log,
            request.line,
            request.client,
            request.path,
            request.agent,
        ] {
            listed.extend(number.to_le_bytes());
        }
        let flags = u16::from(self.is_denied)
            | u16::from(self.is_uncertain) << 1
            | u16::from(request.has_cookie) << 2;
        listed.extend(self.limit.to_le_bytes());
        listed.extend(flags.to_le_bytes());
    }
}

/// A limit with its buckets.
#[derive(Debug)]
pub struct Limit {
    pub rule: Rule,
    numbers: HashMap<Vec<u8>, u32>,
    buckets: Vec<Bucket>,
    pub requests: u64,
    pub clients: HashSet<u32>,
    pub uncertain: u64,
}

#[derive(Debug)]
struct Bucket {
    empty_at: Timestamp,
    /// True from a block to the next grant.
    is_blocked: bool,
    /// The ticks by which `empty_at` may be later in truth, because the guard may have seen the
    /// first request after the bucket was full so much later.
    lateness: Ticks,
    /// The ends of the requests that hold permits, and the end that made the last one free.
    ends: BinaryHeap<Reverse<Timestamp>>,
    freed: Timestamp,
}

/// The decision of a limit now, and the state of the bucket afterwards.
struct Answer {
    is_granted: bool,
    border: Ticks,
    /// The ticks by which the instants are unknown on which the answer depends.
    unknown: Ticks,
    state: Timestamp,
    is_blocked: bool,
    lateness: Ticks,
}

impl Limit {
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            numbers: HashMap::new(),
            buckets: Vec::new(),
            requests: 0,
            clients: HashSet::new(),
            uncertain: 0,
        }
    }

    /// Returns the names of the variables that the limit needs and the log lacks.
    pub fn lacks(&self, format: &Format) -> Vec<String> {
        let mut needed = self.rule.variables();
        if let Measure::Concurrent(_) = self.rule.measure() {
            needed.push("DURATION".into());
        }
        needed.retain(|name| !format.has(name));
        needed
    }

    /// Returns the bucket that counts a request, if the limit counts it. `index` is the number of
    /// this limit.
    pub fn place(
        &mut self,
        index: u16,
        line: &Line<'_>,
        target: &Target<'_, Line<'_>>,
        client: Client,
    ) -> Option<Place> {
        if !self.rule.counts(target) {
            return None;
        }
        let identifier = self.rule.identifier(line, client);
        let next = u32::try_from(self.buckets.len()).unwrap_or_default();
        let bucket = *self.numbers.entry(identifier).or_insert(next);
        if bucket == next {
            self.buckets.push(Bucket::FULL);
        }
        Some(Place {
            limit: index,
            bucket,
            left: u32::try_from(self.rule.left_by(target)).unwrap_or(u32::MAX),
        })
    }

    fn ask(&mut self, place: Place, request: &Request) -> Answer {
        let bucket = &mut self.buckets[place.bucket as usize];
        match *self.rule.measure() {
            Measure::Rate { limit, block } => {
                let step = step_leaving(&limit, place.left.into());
                let block = block.filter(|_| request.is_one_client && !bucket.is_blocked);
                bucket.take(&step, block, request)
            }
            Measure::Concurrent(limit) => {
                let most = usize::from(limit).saturating_sub(place.left as usize);
                bucket.acquire(most, request)
            }
        }
    }

    /// Changes the bucket as the answer says.
    fn settle(&mut self, place: Place, answer: &Answer) {
        let bucket = &mut self.buckets[place.bucket as usize];
        match self.rule.measure() {
            Measure::Rate { .. } => {
                bucket.empty_at = answer.state;
                bucket.is_blocked = answer.is_blocked;
                bucket.lateness = answer.lateness;
            }
            Measure::Concurrent(_) if answer.is_granted => bucket.ends.push(Reverse(answer.state)),
            Measure::Concurrent(_) => {}
        }
    }
}

impl Bucket {
    const FULL: Self = Self {
        empty_at: Timestamp::ZERO,
        is_blocked: false,
        lateness: 0,
        ends: BinaryHeap::new(),
        freed: Timestamp::ZERO,
    };

    fn take(&self, step: &Step, block: Option<Ticks>, request: &Request) -> Answer {
        let now = request.at;
        let outcome = step.decide(self.empty_at, now);
        let is_full = self.empty_at.saturating_add(step.span) <= now;
        let lateness = if is_full { request.late } else { self.lateness };
        if outcome.granted() {
            return Answer {
                is_granted: true,
                border: now
                    .saturating_sub(step.floor())
                    .saturating_since(self.empty_at.saturating_add(step.cost)),
                unknown: request.early + lateness,
                state: outcome.empty_at,
                is_blocked: false,
                lateness,
            };
        }
        // A request that only leaves tokens to others is not blocked.
        let lacks_tokens = step.reason(&outcome) == Verdict::Denied(Denial::Insufficient);
        let block = block.filter(|_| lacks_tokens);
        // As the guard blocks: for a time, but not for less than until the next token.
        let end = block.map(|pause| now.saturating_add(pause).saturating_sub(step.cost));
        Answer {
            is_granted: false,
            border: step.retry_after(self.empty_at, now),
            unknown: request.early + request.late,
            state: outcome.empty_at.max(end.unwrap_or(Timestamp::ZERO)),
            is_blocked: self.is_blocked || block.is_some(),
            lateness: if block.is_some() {
                request.late
            } else {
                lateness
            },
        }
    }

    fn acquire(&mut self, limit: usize, request: &Request) -> Answer {
        let now = request.at;
        while let Some(&Reverse(end)) = self.ends.peek().filter(|end| end.0 <= now) {
            if self.ends.len() == limit {
                self.freed = end;
            }
            self.ends.pop();
        }
        let is_granted = self.ends.len() < limit;
        let border = match self.ends.peek() {
            Some(&Reverse(end)) if !is_granted => end.saturating_since(now),
            _ => now.saturating_since(self.freed),
        };
        Answer {
            is_granted,
            border,
            unknown: request.early + request.late,
            state: now.saturating_add(request.took),
            is_blocked: false,
            lateness: 0,
        }
    }
}

/// Decides as the mode "observe" does: each limit alone.
pub fn observe(limits: &mut [Limit], request: &Request, mut report: impl FnMut(Row)) {
    for &place in &request.buckets {
        let limit = &mut limits[usize::from(place.limit)];
        let answer = limit.ask(place, request);
        limit.settle(place, &answer);
        report(limit.row(place.limit, &answer));
    }
}

/// Decides as the mode "enforce" does: a request takes from all limits or from none. The guard asks
/// the rates first, and then the limits of concurrent requests.
pub fn enforce(limits: &mut [Limit], request: &Request, mut report: impl FnMut(Row)) {
    let mut answers = Few::<(Place, Answer)>::new();
    for is_rate in [true, false] {
        for &place in &request.buckets {
            let limit = &mut limits[usize::from(place.limit)];
            if matches!(limit.rule.measure(), Measure::Rate { .. }) == is_rate {
                answers.push((place, limit.ask(place, request)));
            }
        }
    }
    let first = answers.iter().find(|(_, answer)| !answer.is_granted);
    if let Some(&(place, ref denied)) = first {
        limits[usize::from(place.limit)].settle(place, denied);
        // The request would have had to come after the waits of all limits that deny it.
        let denials = answers.iter().map(|(_, answer)| answer);
        let denials = denials.filter(|answer| !answer.is_granted);
        let longest = denials.max_by_key(|it| it.border).unwrap_or(denied);
        report(limits[usize::from(place.limit)].row(place.limit, longest));
        return;
    }
    for &(place, ref answer) in &answers {
        limits[usize::from(place.limit)].settle(place, answer);
    }
    let nearest = answers
        .iter()
        .min_by_key(|(_, it)| it.border.saturating_sub(it.unknown));
    if let Some(&(place, ref answer)) = nearest {
        report(limits[usize::from(place.limit)].row(place.limit, answer));
    }
}

impl Limit {
    fn row(&mut self, limit: u16, answer: &Answer) -> Row {
        let is_uncertain = answer.border <= answer.unknown;
        self.uncertain += u64::from(is_uncertain);
        Row {
            limit,
            is_denied: !answer.is_granted,
            border: answer.border,
            is_uncertain,
        }
    }
}

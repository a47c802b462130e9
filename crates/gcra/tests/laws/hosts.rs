//! A model of hosts that take ahead of one bucket on a server. Each host has a clock of its own,
//! and requests and replies take time.
//!
//! The real time is the server's clock, which shows whole microseconds. A [`Rule`] other than
//! [`Rule::Exact`] is wrong on purpose.

use gcra::ahead::{Place, Terms};
use gcra::clock::{EPOCH, TICKS_PER_MICROSECOND, Ticks, Timestamp};
use gcra::slice::{Extra, Slice};
use gcra::{Patience, Put, Step};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Exact,
    /// A place is used before it is due.
    BeforeDue,
    /// A wait begins before the request, and not after the reply.
    DueFromRequest,
    /// A place has no end.
    NoEnd,
    /// An end is counted from the reply, and not from before the request.
    EndFromReply,
    /// The clocks are said to have the same rate.
    NoDrift,
    /// Callers of all spans use one cell.
    SharedCell,
    /// The record of a slice lives for the span without the life of the slice.
    ShortRecord,
    /// A slice is a lease: it may be as old as the span when it is taken.
    Lease,
    /// A give-back does not know what hosts have taken ahead.
    BlindGiveBack,
}

/// The ticks that hosts have taken ahead of a bucket in this period and in the one before. They
/// include all that may still be used, because nothing is kept for longer than a period.
#[derive(Clone, Copy, Debug)]
struct TakenAhead {
    length: Ticks,
    period: u64,
    older: Ticks,
    newer: Ticks,
}

impl TakenAhead {
    /// Returns the same at `now`.
    fn at(self, now: Timestamp) -> Self {
        let period = now.0 / self.length;
        let (older, newer) = match period - self.period {
            0 => (self.older, self.newer),
            1 => (self.newer, 0),
            _ => (0, 0),
        };
        Self {
            period,
            older,
            newer,
            ..self
        }
    }

    fn add(&mut self, now: Timestamp, cost: Ticks) {
        *self = self.at(now);
        self.newer += cost;
    }

    /// Returns the earliest state to which a give-back at `now` may move a bucket of this span.
    fn full(self, now: Timestamp, span: Ticks) -> Timestamp {
        let Self { older, newer, .. } = self.at(now);
        let kept = older + newer;
        now - span + if kept > 0 { self.length + kept } else { 0 }
    }
}

/// The place that a host keeps, and the numbers of its reply, which the controls need.
#[derive(Clone, Copy, Debug)]
struct Held {
    place: Place,
    terms: Terms,
    sent: Timestamp,
    received: Timestamp,
    wait: Ticks,
}

impl Held {
    fn usable(&self, rule: Rule, now: Timestamp) -> bool {
        let Self {
            place,
            terms,
            sent,
            received,
            wait,
        } = self;
        let (due, end) = (place.due(), place.end(terms));
        match rule {
            Rule::BeforeDue => (*received..end).contains(&now),
            Rule::DueFromRequest => (due - (*received - *sent)..end).contains(&now),
            Rule::NoEnd => due <= now,
            Rule::EndFromReply => (due..end + (*received - *sent)).contains(&now),
            Rule::NoDrift => {
                let life = (wait + terms.span - terms.cost).min(2 * terms.take_ahead);
                (*received + *wait..*sent + life).contains(&now)
            }
            _ => place.wait(terms, now) == Some(0),
        }
    }
}

/// The slice that a host keeps.
#[derive(Clone, Copy, Debug)]
struct HeldSlice {
    slice: Slice,
    terms: Terms,
    /// The ticks by which a control uses it too long.
    excess: Ticks,
}

/// A host. Its clock shows `offset` at the start, and gains `drift` 1024ths.
#[derive(Debug)]
struct Host {
    offset: Ticks,
    drift: i64,
    cells: Vec<Option<Held>>,
    slices: Vec<Option<HeldSlice>>,
}

/// A reply on its way.
#[derive(Debug)]
struct Reply {
    arrives: Ticks,
    host: usize,
    cell: usize,
    terms: Terms,
    sent: Timestamp,
    part: Part,
}

/// The part that a reply brings.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A place, and the wait for it.
    Place(Ticks),
    /// The tokens of a slice.
    Slice(Ticks),
}

/// A grant: its instant on the server's clock, and the cost and the span of its caller.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub at: Timestamp,
    pub cost: Ticks,
    pub span: Ticks,
}

/// The hosts and their server.
#[derive(Debug)]
pub struct Hosts {
    rule: Rule,
    spans: Vec<Ticks>,
    /// The real time since the start.
    time: Ticks,
    empty_at: Timestamp,
    /// The greatest span of the calls since the bucket was full.
    span: Ticks,
    ahead: TakenAhead,
    /// A take that will be undone: the cost, the span, and the state after the take.
    undone: Option<(Ticks, Ticks, Timestamp)>,
    members: Vec<Host>,
    replies: Vec<Reply>,
    pub grants: Vec<Grant>,
    /// Times at which a part becomes usable, or too old.
    pub marks: Vec<Ticks>,
}

impl Hosts {
    /// The callers of the bucket have these spans, and take ahead for `ahead` at most. Each host
    /// has an offset and a drift.
    pub fn new(
        rule: Rule,
        spans: &[Ticks],
        ahead: Ticks,
        hosts: impl IntoIterator<Item = (Ticks, i64)>,
    ) -> Self {
        let host = |(offset, drift)| Host {
            offset,
            drift,
            cells: vec![None; spans.len()],
            slices: vec![None; spans.len()],
        };
        Self {
            rule,
            spans: spans.to_vec(),
            time: 0,
            empty_at: Timestamp::ZERO,
            span: 0,
            ahead: TakenAhead {
                length: 2 * ahead,
                period: 0,
                older: 0,
                newer: 0,
            },
            undone: None,
            members: hosts.into_iter().map(host).collect(),
            replies: Vec::new(),
            grants: Vec::new(),
            marks: Vec::new(),
        }
    }

    pub fn time(&self) -> Ticks {
        self.time
    }

    /// Moves the time forward to `time`, and delivers the replies that arrive until then.
    pub fn advance(&mut self, time: Ticks) {
        self.time = self.time.max(time);
        let (arrived, flying) = std::mem::take(&mut self.replies)
            .into_iter()
            .partition(|reply: &Reply| reply.arrives <= self.time);
        self.replies = flying;
        for reply in arrived {
            self.deliver(&reply);
        }
    }

    fn deliver(&mut self, reply: &Reply) {
        let &Reply {
            arrives,
            host,
            cell,
            terms,
            sent,
            part,
        } = reply;
        let received = self.clock(host, arrives);
        let wait = match part {
            Part::Place(wait) => wait,
            Part::Slice(ticks) => return self.keep_slice(reply, received, ticks),
        };
        if let Some(place) = Place::granted(&terms, sent, received, wait) {
            let held = Held {
                place,
                terms,
                sent,
                received,
                wait,
            };
            self.members[host].cells[cell] = Some(held);
        }
    }

    fn keep_slice(&mut self, reply: &Reply, received: Timestamp, ticks: Ticks) {
        let &Reply { terms, sent, .. } = reply;
        let cell = &mut self.members[reply.host].slices[reply.cell];
        let extra = Extra {
            ticks,
            sent,
            received,
            estimate: 0,
        };
        let slice = Slice::replied(cell.map(|held| held.slice), &terms, &extra);
        let excess = match self.rule {
            Rule::EndFromReply => received - sent,
            Rule::NoDrift => terms.life().div_ceil(1024) + TICKS_PER_MICROSECOND,
            _ => 0,
        };
        *cell = Some(HeldSlice {
            slice,
            terms,
            excess,
        });
    }

    fn clock(&self, host: usize, time: Ticks) -> Timestamp {
        let Host { offset, drift, .. } = self.members[host];
        EPOCH + offset + time * 1024u64.saturating_add_signed(drift) / 1024
    }

    fn server_clock(&self) -> Timestamp {
        (EPOCH + self.time).floor(TICKS_PER_MICROSECOND)
    }

    fn record(&self) -> Timestamp {
        if self.server_clock() < self.empty_at + self.span {
            self.empty_at
        } else {
            Timestamp::ZERO
        }
    }

    fn write(&mut self, empty_at: Timestamp, span: Ticks) {
        let is_new = self.record() == Timestamp::ZERO;
        self.span = if is_new { span } else { self.span.max(span) };
        self.empty_at = empty_at;
    }

    fn grant(&mut self, cost: Ticks, span: Ticks) {
        let at = self.server_clock();
        self.grants.push(Grant { at, cost, span });
    }

    /// Takes `cost` at once, if the server grants it.
    pub fn take(&mut self, cost: Ticks, span: usize) -> bool {
        let span = self.spans[span];
        let outcome = Step::new(cost, span).decide(self.record(), self.server_clock());
        if outcome.granted() {
            self.write(outcome.empty_at, span);
            self.grant(cost, span);
        }
        outcome.granted()
    }

    /// Takes `cost` at once, for a call that will be undone. There is one such call at a time.
    pub fn hold(&mut self, cost: Ticks, span: usize) {
        if self.undone.is_some() {
            return;
        }
        let span = self.spans[span];
        let outcome = Step::new(cost, span).decide(self.record(), self.server_clock());
        if outcome.granted() {
            self.write(outcome.empty_at, span);
            self.undone = Some((cost, span, outcome.empty_at));
        }
    }

    /// Undoes the take of such a call.
    pub fn give_back(&mut self) {
        let (Some((cost, span, taken)), now) = (self.undone.take(), self.server_clock()) else {
            return;
        };
        let found = self.record();
        let worth = Put::worth((cost, cost), span, taken, found, now);
        let full = match self.rule {
            Rule::BlindGiveBack => now - span,
            _ => self.ahead.full(now, span),
        };
        if found != Timestamp::ZERO {
            self.write(found.min(found.saturating_sub(worth).max(full)), span);
        }
    }

    /// Fills the bucket, but for what hosts have taken ahead. What was granted before does not
    /// count any more.
    pub fn reset(&mut self, span: usize) {
        let (now, span) = (self.server_clock(), self.spans[span]);
        let full = match self.rule {
            Rule::BlindGiveBack => now - span,
            _ => self.ahead.full(now, span),
        };
        self.empty_at = self.record().min(full);
        self.undone = None;
        self.grants.clear();
    }

    /// Takes all that the bucket holds.
    pub fn take_all(&mut self, span: usize) {
        let full = self.server_clock() - self.spans[span];
        let held = self
            .server_clock()
            .saturating_since(self.record().max(full));
        if held > 0 {
            self.take(held, span);
        }
    }

    /// Asks for a place. The request takes `there`, and the reply `back`, or is lost. Uses the call
    /// at once if its tokens are there.
    pub fn ask(&mut self, host: usize, cost: Ticks, span: usize, ahead: Ticks, way: Way) {
        let sent = self.clock(host, self.time);
        let terms = Terms {
            cost,
            span: self.spans[span],
            take_ahead: ahead,
        };
        if !terms.allow_places() {
            return;
        }
        self.advance(self.time + way.there);
        let step = Step::new(cost, terms.span).with(Patience::Wait(ahead));
        let now = self.server_clock();
        let outcome = step.decide(self.record(), now);
        if !outcome.granted() {
            return;
        }
        self.write(outcome.empty_at, terms.span);
        let wait = outcome.empty_at.saturating_since(now);
        if wait == 0 {
            return self.grant(cost, terms.span);
        }
        self.ahead.add(now, cost);
        let due = self.time + wait;
        self.marks.extend([due, due + (terms.span - cost)]);
        if let Some(back) = way.back {
            let arrives = self.time + back;
            self.replies.push(Reply {
                arrives,
                host,
                cell: self.cell(span),
                terms,
                sent,
                part: Part::Place(wait),
            });
        }
    }

    /// Takes the cost at once, and a slice.
    pub fn take_slice(&mut self, host: usize, terms: &Terms, span: usize, want: Want, way: Way) {
        let (sent, cost) = (self.clock(host, self.time), terms.cost);
        self.advance(self.time + way.there);
        let now = self.server_clock();
        let own = Step::new(cost, terms.span).decide(self.record(), now);
        if !own.granted() {
            return;
        }
        self.grant(cost, terms.span);
        let life = match self.rule {
            Rule::Lease => 0,
            _ => terms.life(),
        };
        let start = own.empty_at.max(now - terms.span + life);
        let extra = (now.saturating_since(start) / want.parts).min(want.extra);
        let extra = extra - extra % cost;
        let record = match self.rule {
            Rule::ShortRecord => terms.span - life,
            _ => terms.span,
        };
        if extra == 0 {
            return self.write(own.empty_at, terms.span);
        }
        self.write(start + extra, record);
        self.ahead.add(now, extra);
        let old = self.time + (terms.span - (now - start));
        self.marks
            .extend([self.time + terms.life(), old, old + extra]);
        if let Some(back) = way.back {
            self.replies.push(Reply {
                arrives: self.time + back,
                host,
                cell: self.cell(span),
                terms: *terms,
                sent,
                part: Part::Slice(extra),
            });
        }
    }

    /// Uses the slice that the host keeps for callers of this span. Returns false if it cannot.
    pub fn use_slice(&mut self, host: usize, cost: Ticks, span: usize) -> bool {
        let index = self.cell(span);
        let now = self.clock(host, self.time);
        let Some(held) = &mut self.members[host].slices[index] else {
            return false;
        };
        let terms = Terms { cost, ..held.terms };
        // A slice that is used too long is used as if by an earlier call.
        let end = held.slice.end(&terms);
        let as_if = if now < end {
            now
        } else {
            now.saturating_sub(held.excess)
        };
        let Some(rest) = Slice::used(held.slice.word(0), &terms, as_if) else {
            return false;
        };
        held.slice = Slice::read(rest).unwrap();
        self.grant(cost, self.spans[span]);
        true
    }

    fn cell(&self, span: usize) -> usize {
        match self.rule {
            Rule::SharedCell => 0,
            _ => span,
        }
    }

    /// Uses the place that the host keeps for callers of this span, if it has one.
    pub fn use_place(&mut self, host: usize, span: usize) {
        let cell = self.cell(span);
        let now = self.clock(host, self.time);
        let held = self.members[host].cells[cell].filter(|held| held.usable(self.rule, now));
        if let Some(held) = held {
            self.members[host].cells[cell] = None;
            self.grant(held.terms.cost, self.spans[span]);
        }
    }

    /// Returns the ticks by which the worst window grants more than its bound. At most 0 if none
    /// does, and `None` without grants. Each span has a bound, and all callers together have that
    /// of the greatest span.
    pub fn excess(&self) -> Option<i64> {
        let each = self.spans.iter().map(|&span| self.excess_of(span, span));
        let greatest = self.spans.iter().copied().max().unwrap_or(0);
        each.chain([self.excess_of(greatest, 0)]).max().flatten()
    }

    /// Does the same for callers of spans from `least` on.
    fn excess_of(&self, span: Ticks, least: Ticks) -> Option<i64> {
        let is_own = |grant: &&Grant| least == 0 || grant.span == least;
        let (mut sum, mut start, mut worst) = (0, i64::MIN, None);
        for grant in self.grants.iter().filter(is_own) {
            let at = grant.at.signed_since(EPOCH);
            // The worst window that ends here begins where this difference was greatest.
            start = start.max(at - sum);
            sum += grant.cost.cast_signed();
            worst = worst.max(Some(sum - at + start - span.cast_signed()));
        }
        worst
    }
}

/// How long a request takes, and its reply. `back` is `None` if the reply is lost.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub there: Ticks,
    pub back: Option<Ticks>,
}

/// The slice that a host asks for: up to `extra` ticks, and up to one of `parts` of what is there.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    pub extra: Ticks,
    pub parts: u64,
}

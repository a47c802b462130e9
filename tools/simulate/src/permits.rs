//! Permits of concurrency limits: the calls, and the times in which each permit is held.
//!
//! A permit is *certainly* held from the return of the call that was granted, until its release
//! begins, its worker is killed, or its lease has ended by the server's clock. It is *possibly*
//! held from the beginning of the call until its release has ended, or its lease has. A loss of
//! state ends the certainty, and may bring back a permit that was released just before.

use crate::history::History;
use crate::work::Work;
use crate::world::{MICRO, SECOND, World, here};
use prove::call::Kind;
use prove::permits::{Denial, Span, Verdict};
use segment::Refusal;
use stores::remote::Answered;
use stores::remote::permits::ServerPermit;

/// The bucket of a running call that asks for a permit.
pub const PERMIT: usize = usize::MAX;
/// The identifier of a permit, and its place among those of the identifier.
pub type Place = (usize, usize);

/// The end of a permit whose call runs.
const UNKNOWN: u64 = u64::MAX / 2;
/// The time by which a server's clock is rounded.
const ROUNDING: u64 = 2 * MICRO;

/// A permit that a call has taken, or may have taken.
#[derive(Clone, Copy)]
pub struct Held {
    lease: u64,
    certain: Span,
    possible: Span,
    /// The last instant at which its lease may end.
    ends: u64,
}

impl Held {
    /// The last call of the permit may have taken effect until `end`.
    fn may_begin(&mut self, end: u64) {
        self.ends = end + self.lease + ROUNDING;
        self.possible.1 = self.ends;
    }

    /// Its worker is killed.
    pub fn dies(&mut self, now: u64, linger: u64) {
        self.certain.1 = self.certain.1.min(now);
        if self.possible.1 >= UNKNOWN {
            self.may_begin(now + linger);
        }
    }
}

/// The permits of one identifier.
#[derive(Clone, Default)]
pub struct Permits {
    held: Vec<Held>,
    denials: Vec<Denial>,
    lost_at: u64,
}

impl Permits {
    /// A call begins or extends a lease of a permit at an instant of `during`.
    fn begins(&mut self, place: usize, during: Span) {
        let (start, end) = during;
        let held = &mut self.held[place];
        held.may_begin(end);
        if self.lost_at >= start {
            held.possible.1 += SECOND;
            return;
        }
        let until = start + held.lease - ROUNDING;
        if held.certain.1 >= start {
            held.certain.1 = until;
            return;
        }
        // A loss or a late call left it open whether the permit was held. Now it is.
        let before = Held {
            possible: (1, 0),
            ..*held
        };
        held.certain = (end, until);
        self.held.push(before);
    }

    /// A server may have lost its writes since an instant, or its clock has stepped by up to a
    /// second. Then a lease that has just ended may go on.
    pub fn lost(&mut self, since: u64, now: u64) {
        self.lost_at = now;
        for held in self
            .held
            .iter_mut()
            .filter(|it| it.possible.1 + SECOND >= since)
        {
            held.certain.1 = held.certain.1.min(now);
            held.possible.1 = held.possible.1.max(held.ends) + SECOND;
        }
    }

    /// Returns what breaks a rule of [`prove::permits`].
    pub fn judge(&self, key: u32, limit: u32) -> impl Iterator<Item = String> {
        let history = prove::permits::History {
            certain: self.held.iter().map(|it| it.certain).collect(),
            possible: self.held.iter().map(|it| it.possible).collect(),
            changes: Vec::new(),
            denials: self.denials.clone(),
        };
        let mut verdict = Verdict::default();
        verdict.judge(key, &history, limit);
        let messages = verdict.messages.into_iter();
        messages.map(|message| format!("(permits) {message}"))
    }
}

impl History {
    pub fn permit(&mut self, (bucket, place): Place) -> &mut Held {
        &mut self.permits[bucket].held[place]
    }

    /// Notes the answer of a server to a call that renews a permit.
    fn renewed(&mut self, place: Place, is_done: bool, during: Span) {
        if is_done {
            return self.permits[place.0].begins(place.1, during);
        }
        let held = self.permit(place);
        held.possible.1 = during.1;
        let end = held.certain.1;
        if end > during.1 {
            let fault = format!("(permits) {place:?} was not renewed in {during:?} before {end}");
            self.faults.push(fault);
        }
    }
}

impl Work {
    /// Takes a permit, works, renews it now and then, and releases it.
    pub fn permit(&self, bucket: usize) {
        let world = here();
        let most = world.plan.permits;
        let fewer = 1 + world.chance.below(most);
        let limit = world.chance.of(&[most, most, most, fewer]);
        let lease = world.plan.lease / world.chance.of(&[1, 1, 2]) / MICRO * MICRO;
        let held = &mut world.history.permits[bucket].held;
        let place = (bucket, held.len());
        held.push(Held {
            lease,
            certain: (1, 0),
            possible: (world.now, UNKNOWN),
            ends: UNKNOWN,
        });
        let (client, key) = (self.client(bucket), self.key(bucket));
        let acquire = || client.acquire(key, limit as u16, lease);
        let (answer, during) = self.ask(place, "acquire", acquire);
        let permits = &mut here().history.permits[bucket];
        let sure = matches!(&answer, Ok(answer) if !answer.fallback);
        match answer.map(|it| it.value) {
            Ok(Ok(acquired)) if sure => {
                permits.begins(place.1, during);
                self.hold(place, acquired.permit);
            }
            Ok(Err(Refusal::TooMany)) if sure => {
                permits.held[place.1].possible = (1, 0);
                let limit = limit as u32;
                permits.denials.push(Denial { during, limit });
            }
            Ok(Ok(acquired)) => _ = client.release(acquired.permit),
            _ => {}
        }
        let worker = here().current();
        worker.permit = None;
        worker.running.clear();
    }

    /// Holds a permit for some time, and releases it.
    fn hold(&self, place: Place, mut permit: ServerPermit) {
        let (client, lease) = (self.client(place.0), here().history.permit(place).lease);
        loop {
            let World { chance, now, .. } = here();
            let longest = chance.of(&[lease / 8, lease / 2, lease / 2, 3 * lease / 2]);
            World::wait(*now + chance.below(longest));
            if here().chance.one_in(2) {
                break;
            }
            here().history.permit(place).possible.1 = UNKNOWN;
            let (answer, during) = self.ask(place, "renew", || client.renew(&mut permit));
            let Ok(answer) = answer else { break };
            if !answer.fallback {
                here().history.renewed(place, answer.value, during);
            }
            if !answer.value {
                break;
            }
        }
        let now = here().now;
        let held = here().history.permit(place);
        held.certain.1 = held.certain.1.min(now);
        let (answer, (start, end)) = self.ask(place, "release", || client.release(permit));
        // A replica that takes over meanwhile may still have the permit.
        let is_lost = here().history.permits[place.0].lost_at >= start;
        if matches!(answer, Ok(answer) if !answer.fallback) && !is_lost {
            let held = here().history.permit(place);
            held.possible.1 = held.possible.1.min(end);
        }
    }

    /// Makes one call. Returns its answer, and the instants of its beginning and its end.
    fn ask<R>(
        &self,
        place: Place,
        verb: &str,
        call: impl FnOnce() -> Answered<R>,
    ) -> (Answered<R>, Span) {
        self.begin_other(PERMIT, Kind::Take, 1);
        let world = here();
        let (start, linger) = (world.now, world.plan.linger());
        world.current().permit = Some(place);
        let answer = call();
        self.judge(place.0, &answer);
        let world = here();
        let (end, index) = (world.now, world.index());
        let what = match &answer {
            Ok(answer) if !answer.fallback => "answered",
            _ => "failed",
        };
        world.history.note(end, index, || {
            format!("b{} {verb} permit {}: {what}", place.0, place.1)
        });
        world.mix(end);
        let held = world.history.permit(place);
        if held.possible.1 >= UNKNOWN {
            held.may_begin(end + linger);
        }
        (answer, (start, end))
    }
}

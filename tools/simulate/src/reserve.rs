//! Reservations, which are used or cancelled.

use crate::plan::Limit;
use crate::work::{Take, Work};
use crate::world::{MICRO, MILLI, SECOND, World, here};
use gcra::{Outcome, Put, Step};
use prove::call::{Kind, Outcome as Seen};
use stores::remote::Answered;

impl Work {
    /// Reserves tokens, and later uses them or gives them back.
    pub fn reserve(&self, bucket: usize) {
        let World { chance, plan, .. } = here();
        let Limit { capacity, token } = self.limits[bucket];
        let (most, longest) = match plan.tide {
            None => (capacity.min(8), 2 * SECOND),
            Some(_) => (capacity, 2 * capacity.min(16) * token),
        };
        let tokens = 1 + chance.below(most);
        let wait = (1 + chance.below(longest) / MICRO) * MICRO;
        let step = self.step(Take {
            tokens,
            wait,
            ..Take::one(bucket)
        });
        self.begin([(bucket, Kind::Reserve, tokens)]);
        let (remote, key) = (self.client(bucket), self.key(bucket));
        let answer = remote.take(key, &step, None);
        self.judge(bucket, &answer);
        let granted = match answer {
            Ok(answer) if !answer.fallback && answer.value.granted() => answer.value,
            _ => return self.unreserved(bucket, step, &answer),
        };
        let world = here();
        world.history.used += step.cost;
        let (delay, taken_at) = (step.debt(granted.empty_at, granted.now), world.now);
        let start = world.current().running[0].call.start;
        let longest = match world.plan.tide {
            None => world.chance.of(&[20, 20, 1000]) * MILLI,
            Some(tide) => tide.length / 2,
        };
        let holds = world.chance.below(delay + longest);
        let cancels = world
            .chance
            .one_in(world.plan.tide.map_or(2, |it| it.cancelled));
        World::wait(taken_at + if cancels { holds } else { 0 });
        self.end(bucket, |call| {
            (call.end, call.wait) = (taken_at, delay);
            call.outcome = if cancels { Seen::Cancelled } else { Seen::Done };
        });
        if cancels {
            self.begin([(bucket, Kind::Cancel, tokens)]);
            let world = here();
            world.current().running[0].call.wait = world.now - start;
            let put = Put::cancel(step.cost, step.span, granted.empty_at);
            let answer = remote.put(key, &put);
            self.changed(bucket, &answer);
        }
    }

    /// Ends a reservation that was not granted.
    fn unreserved(&self, bucket: usize, step: Step, answer: &Answered<Outcome>) {
        self.end(bucket, |call| {
            call.wait = step.max_wait.cast_unsigned();
            call.outcome = match answer {
                Ok(it) if !it.fallback => {
                    // A reservation promises what a take of its tokens does.
                    let plain = Step::new(step.cost, step.span);
                    let wait = plain.retry_after(it.value.empty_at, it.value.now);
                    Seen::Denied {
                        retry_after: Some(wait),
                    }
                }
                _ => Seen::Unknown,
            };
        });
    }
}

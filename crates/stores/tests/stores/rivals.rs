//! Tests batches in shared memory while other callers change the slots of their buckets. A test
//! runs the calls of a rival at a marked point of the protocol.

use crate::homes::settings;
use crate::{CAPACITY, HOUR, take};
use gcra::batch::{Batched, Grouped, Ticket};
use gcra::{Denial, Key, Step, Ticks, Verdict};
use segment::host::{Host, HostSettings};
use segment::memory::Segment;
use segment::slots::counters::Event;
use segment::slots::protocol::{Point, Variant};
use segment::slots::word::Word;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

type Rival = Box<dyn FnMut(Point) -> bool>;

thread_local! {
    /// Runs at each marked point, until it returns `true`.
    static RIVAL: RefCell<Option<Rival>> = RefCell::default();
}

#[derive(Debug)]
struct Raced;

impl Variant for Raced {
    fn reached(point: Point) {
        // The rival's own calls reach points, too.
        if let Some(mut rival) = RIVAL.take()
            && !rival(point)
        {
            RIVAL.set(Some(rival));
        }
    }
}

/// The hosts of all scenes. They stay reachable, so that a leak detector does not report them.
static HOSTS: Mutex<Vec<&Host<Raced>>> = Mutex::new(Vec::new());

struct Scene(&'static Host<Raced>);

impl Scene {
    fn new() -> Self {
        Self::with(settings())
    }

    fn with(settings: HostSettings) -> Self {
        let host = Host::new(settings, Segment::private).unwrap();
        let host = Box::leak(Box::new(host));
        HOSTS.lock().unwrap().push(host);
        Self(host)
    }

    fn key<'a>(&self, name: &'a str) -> Key<'a> {
        self.0.slots().hasher().key(name.as_bytes())
    }

    fn take(&self, name: &str, step: &Step) -> Verdict {
        self.0.slots().take(self.key(name), step, None).verdict
    }

    fn left(&self, name: &str) -> u64 {
        let outcome = self.0.slots().take(self.key(name), &take(0).dry(), None);
        take(0).available(outcome.empty_at, outcome.now) / HOUR
    }

    fn count(&self, event: Event) -> u64 {
        self.0.slots().totals().get(event)
    }

    fn take_all(&self, buckets: &[(&str, u64)]) -> Batched {
        let tickets = &mut self.tickets(buckets);
        self.0.slots().take_all(Grouped::new(tickets))
    }

    fn refused(&self, buckets: &[(&str, u64)]) -> Option<usize> {
        let tickets = &mut self.tickets(buckets);
        Some(self.0.slots().refused(Grouped::new(tickets))?.index)
    }

    fn tickets<'a>(&self, buckets: &[(&'a str, u64)]) -> Vec<Ticket<'a>> {
        let ticket = |(index, &(name, tokens)): (usize, &(&'a str, u64))| Ticket {
            index,
            key: self.key(name),
            step: take(tokens),
        };
        buckets.iter().enumerate().map(ticket).collect()
    }

    /// Takes `tokens` from the bucket `name` when a call next reaches `at`.
    fn rival(&self, at: Point, name: &'static str, tokens: u64) {
        let scene = Self(self.0);
        RIVAL.set(Some(Box::new(move |point| {
            point == at && scene.take(name, &take(tokens)) == Verdict::Granted
        })));
    }

    /// Returns the words of all slots that are not empty.
    fn words(&self) -> Vec<Word> {
        let words = self.0.slots().words().into_iter();
        words.filter(|&word| word != Word::EMPTY).collect()
    }
}

fn denial(batched: Batched) -> (usize, Verdict) {
    let taken = batched.expect_err("denied");
    (taken.index, taken.outcome.verdict)
}

const INSUFFICIENT: Verdict = Verdict::Denied(Denial::Insufficient);

#[test]
fn a_check_takes_nothing() {
    let scene = Scene::new();
    assert!(scene.take_all(&[("a", 1), ("b", CAPACITY)]).is_ok());
    let before = scene.words();
    assert_eq!(scene.refused(&[("a", 1), ("b", 1)]), Some(1));
    assert_eq!(scene.refused(&[("a", 1), ("b", 0)]), None);
    assert_eq!(scene.words(), before);
}

#[test]
fn a_slot_that_changed_is_decided_again() {
    let scene = Scene::new();
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
    scene.rival(Point::Decided, "a", 1);
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
    assert_eq!(
        (scene.left("a"), scene.left("b")),
        (CAPACITY - 3, CAPACITY - 2)
    );
}

#[test]
fn a_slot_that_changed_before_the_first_swap_is_noticed_before() {
    let scene = Scene::new();
    assert!(scene.take_all(&[("a", 2), ("b", 1)]).is_ok());
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
    assert_eq!(scene.count(Event::Conflict), 0, "undisturbed");
    let rival = Scene(scene.0);
    RIVAL.set(Some(Box::new(move |point| {
        assert_ne!(point, Point::Granted, "nothing is written");
        if point == Point::Loaded && rival.left("b") > 0 {
            assert_eq!(rival.take("b", &take(CAPACITY - 2)), Verdict::Granted);
        }
        false
    })));
    let denied = scene.take_all(&[("a", 1), ("b", 1)]);
    RIVAL.take();
    assert_eq!(denial(denied), (1, INSUFFICIENT));
    assert_eq!(scene.count(Event::Conflict), 1);
    assert_eq!(scene.left("a"), CAPACITY - 3);
}

#[test]
fn a_slot_that_always_changes_delays_a_batch_only_a_little() {
    let scene = Scene::new();
    let large = Step::new(1, 100 * CAPACITY * HOUR);
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
    let rival = Scene(scene.0);
    RIVAL.set(Some(Box::new(move |point| {
        if point == Point::Loaded {
            rival.take("b", &large);
        }
        false
    })));
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
    RIVAL.take();
    // Conflicts in four checks and in one swap.
    assert_eq!(scene.count(Event::Conflict), 5);
    assert_eq!(scene.left("a"), CAPACITY - 2);
}

#[test]
fn the_scarcest_bucket_comes_first() {
    let scene = Scene::new();
    assert!(scene.take_all(&[("a", 1), ("b", CAPACITY - 1)]).is_ok());
    let before = scene.words()[..].to_vec();
    scene.rival(Point::Decided, "b", 1);
    let denied = scene.take_all(&[("a", 1), ("b", 1)]);
    assert_eq!(denial(denied), (1, INSUFFICIENT));
    let changed = scene
        .words()
        .into_iter()
        .filter(|word| !before.contains(word));
    assert_eq!(changed.count(), 1, "the rival's");
    assert_eq!(scene.left("a"), CAPACITY - 1);
    assert_eq!(scene.count(Event::Refund), 0);
}

#[test]
fn an_untouched_record_is_restored_exactly() {
    let scene = Scene::new();
    // The bucket is full for the batch, but has lost tokens for a larger quota.
    let large = Step::new(HOUR, 100 * CAPACITY * HOUR);
    assert_eq!(scene.take("a", &large), Verdict::Granted);
    assert_eq!(scene.take("b", &take(1)), Verdict::Granted);
    let before = scene.words();
    scene.rival(Point::Granted, "b", CAPACITY - 1);
    let denied = scene.take_all(&[("b", 1), ("a", CAPACITY)]);
    assert_eq!(denial(denied), (0, INSUFFICIENT));
    let words = scene.words();
    assert_eq!(words.len(), 2);
    assert!(
        words.iter().filter(|word| before.contains(word)).count() == 1,
        "{before:?} {words:?}"
    );
}

#[test]
fn a_record_that_the_batch_made_is_deleted() {
    let scene = Scene::new();
    assert_eq!(scene.take("b", &take(1)), Verdict::Granted);
    scene.rival(Point::Living, "b", CAPACITY - 1);
    let denied = scene.take_all(&[("b", 1), ("a", CAPACITY)]);
    assert_eq!(denial(denied), (0, INSUFFICIENT));
    assert_eq!(scene.words().len(), 1, "the record of b");
}

#[test]
fn a_record_that_another_call_changed_gets_the_tokens_back() {
    let scene = Scene::new();
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
    let rival = Scene(scene.0);
    RIVAL.set(Some(Box::new(move |point| {
        let now = point == Point::Granted;
        if now {
            assert_eq!(rival.take("a", &take(1)), Verdict::Granted);
            assert_eq!(rival.take("b", &take(CAPACITY - 1)), Verdict::Granted);
        }
        now
    })));
    let denied = scene.take_all(&[("b", 1), ("a", 3), ("a", 0)]);
    assert_eq!(denial(denied), (0, INSUFFICIENT));
    assert_eq!(scene.left("a"), CAPACITY - 2);
}

#[test]
fn a_bucket_without_a_slot_undoes_the_batch() {
    let scene = Scene::with(HostSettings {
        lines: 64,
        ..settings()
    });
    let names: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
    let verdicts = names.iter().map(|name| scene.take(name, &take(1)));
    let full = verdicts
        .collect::<Vec<_>>()
        .into_iter()
        .position(|it| it == Verdict::Denied(Denial::TableFull));
    let before = scene.words();
    let denied = scene.take_all(&[(&names[full.unwrap()], 1), (&names[0], 2)]);
    assert_eq!(denial(denied), (0, Verdict::Denied(Denial::TableFull)));
    assert_eq!(scene.words(), before);
}

#[test]
fn a_caller_that_dies_loses_its_own_tokens_only() {
    let scene = Scene::new();
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
    for _ in 0..2 {
        RIVAL.set(Some(Box::new(|point| {
            point == Point::Granted && resume_unwind(Box::new("killed"))
        })));
        let call = AssertUnwindSafe(|| scene.take_all(&[("a", 1), ("b", 1)]));
        assert!(catch_unwind(call).is_err());
    }
    let left: Ticks = scene.left("a") + scene.left("b");
    assert_eq!(left, 2 * CAPACITY - 4);
    assert!(scene.take_all(&[("a", 1), ("b", 1)]).is_ok());
}

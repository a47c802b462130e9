//! The places and slices that a host takes ahead: calls use, keep, count and drop them at once.

use crate::explore::{holds, is_violated};
use crate::gates::Gated;
use gcra::ahead::{Place, Terms};
use gcra::clock::{EPOCH, TICKS_PER_SECOND, Ticks, Timestamp};
use gcra::slice::Extra;
use loom::sync::atomic::{AtomicBool, AtomicU64};
use loom::thread::spawn;
use segment::cells::ahead::{CELLS, Cell, Kept, Set};
use segment::cells::slice::SliceCell;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex};

const MS: Ticks = TICKS_PER_SECOND / 1000;
const TERMS: Terms = Terms {
    cost: 50 * MS,
    span: 500 * MS,
    take_ahead: 200 * MS,
};
/// Buckets of one set.
const K: u128 = 11;
const X: u128 = 12;
const Y: u128 = 13;
const Z: u128 = 14;
/// A place of these tests is due before this instant, in milliseconds.
const DUE: u64 = 30;

fn at(milliseconds: u64) -> Timestamp {
    EPOCH + TICKS_PER_SECOND + milliseconds * MS
}

/// A place whose request was sent at this millisecond. It is due 21 milliseconds later. It has no
/// denials, so that its word changes with the next one.
fn place(sent: u64) -> Place {
    let place = Place::granted(&TERMS, at(sent), at(sent + 1), 20 * MS);
    place.unwrap().forgotten()
}

/// The guards of the cells. A control sets one of them to `false`.
trait Guards: 'static {
    /// `false`: a change overwrites whatever the cell holds.
    const SWAP: bool = true;
    /// `false`: a reader ignores the stamp.
    const COMPARE: bool = true;
}

struct Meant;
impl Guards for Meant {}

struct Overwrites;
impl Guards for Overwrites {
    const SWAP: bool = false;
}

struct IgnoresStamp;
impl Guards for IgnoresStamp {
    const COMPARE: bool = false;
}

/// A set whose cells hold the indexes of their words in `words`, because loom has no larger
/// atomics.
struct Shared {
    cleared_at: Gated,
    cells: [Gated; CELLS],
    words: Mutex<Vec<u128>>,
}

/// A thread's view of the set.
struct View<G> {
    set: Arc<Shared>,
    thread: usize,
    guards: PhantomData<G>,
}

impl<G: Guards> View<G> {
    fn cell(&self, bucket: u128) -> Cell<'_, Self> {
        Cell::in_set(self, bucket, TERMS)
    }

    fn keep(&self, bucket: u128, sent: u64) -> bool {
        self.cell(bucket).keep(place(sent), at(sent + 1)) != Kept::Dropped
    }

    fn slices(&self) -> SliceCell<'_, Self> {
        SliceCell::in_set(self, K, TERMS)
    }

    /// Keeps a slice of so many calls, whose request was sent at this millisecond.
    fn keep_slice(&self, calls: u64, sent: u64) {
        self.slices().keep(&Extra {
            ticks: calls * TERMS.cost,
            sent: at(sent),
            received: at(sent + 1),
            estimate: 31,
        });
    }

    /// Returns 1 if a call uses the slice.
    fn uses_slice(&self) -> u32 {
        u32::from(self.slices().claim(at(DUE)).is_some())
    }

    /// Returns 1 if a call uses the place of `K`.
    fn uses_place(&self) -> u32 {
        self.uses(K, DUE)
    }

    /// Returns 1 if a call at this millisecond uses the place.
    fn uses(&self, bucket: u128, now: u64) -> u32 {
        u32::from(self.cell(bucket).claim(at(now)) == Some(0))
    }

    fn clear(&self, now: u64) {
        Set::clear(self, at(now), AcqRel);
    }
}

impl<G: Guards> Set for View<G> {
    fn cleared_at(&self, order: Ordering) -> Timestamp {
        let load = |stamp: &AtomicU64| stamp.load(order);
        let stamp = self.set.cleared_at.read(self.thread, load);
        Timestamp(if G::COMPARE { stamp } else { 0 })
    }

    fn clear(&self, now: Timestamp, order: Ordering) {
        let raise = |stamp: &AtomicU64| stamp.fetch_max(now.0, order);
        self.set.cleared_at.write(raise);
    }

    fn load(&self, index: usize, order: Ordering) -> u128 {
        let word = self.set.cells[index].read(self.thread, |cell| cell.load(order));
        self.set.words.lock().unwrap()[usize::try_from(word).unwrap()]
    }

    fn swap(&self, index: usize, old: u128, new: u128, done: Ordering, failed: Ordering) -> bool {
        let number = |word| {
            let mut words = self.set.words.lock().unwrap();
            let known = words.iter().position(|&other| other == word);
            known.unwrap_or_else(|| {
                words.push(word);
                words.len() - 1
            }) as u64
        };
        let (old, new) = (number(old), number(new));
        self.set.cells[index].write(|cell| {
            if G::SWAP {
                cell.compare_exchange(old, new, done, failed).is_ok()
            } else {
                cell.swap(new, done);
                true
            }
        })
    }
}

/// Returns the views of the spawning thread and of two spawned ones. The buckets have places, whose
/// requests were sent one millisecond after another.
fn views<G: Guards>(buckets: &[u128]) -> [View<G>; 3] {
    let set = Arc::new(Shared {
        cleared_at: Gated::new(0),
        cells: std::array::from_fn(|_| Gated::new(0)),
        words: Mutex::new(vec![0]),
    });
    let views = std::array::from_fn(|thread| View {
        set: Arc::clone(&set),
        thread,
        guards: PhantomData,
    });
    for (&bucket, sent) in buckets.iter().zip(0..) {
        let first: &View<G> = &views[0];
        assert!(first.keep(bucket, sent));
    }
    views
}

/// Returns views with a slice of so many calls.
fn slice_views<G: Guards>(calls: u64) -> [View<G>; 3] {
    let views = views::<G>(&[]);
    views[0].keep_slice(calls, 0);
    views
}

/// Uses a place or a slice, and returns 1 if that is possible.
type Uses<G> = fn(&View<G>) -> u32;

/// Uses what holds this many calls, in two threads and later in one.
fn two_uses<G: Guards>([here, one, other]: [View<G>; 3], calls: u32, uses: Uses<G>) {
    let one = spawn(move || uses(&one));
    let other = spawn(move || uses(&other));
    let used = one.join().unwrap() + other.join().unwrap();
    let rest: u32 = (0..calls).map(|_| uses(&here)).sum();
    assert_eq!(used + rest, calls, "not used once");
}

#[test]
fn a_place_is_used_once() {
    holds("two uses", 3, || {
        two_uses(views::<Meant>(&[K]), 1, View::uses_place);
    });
    is_violated("control: two uses overwrite", 3, "not used once", || {
        two_uses(views::<Overwrites>(&[K]), 1, View::uses_place);
    });
}

#[test]
fn each_call_of_a_slice_is_used_once() {
    holds("two uses of a slice", 3, || {
        two_uses(slice_views::<Meant>(3), 3, View::uses_slice);
    });
    is_violated("control: a use overwrites", 3, "not used once", || {
        two_uses(slice_views::<Overwrites>(3), 3, View::uses_slice);
    });
}

fn a_use_and_a_denial<G: Guards>() {
    let [here, user, denied] = views::<G>(&[K]);
    let user = spawn(move || user.uses(K, DUE));
    // This call read its clock before the place was due.
    let denied = spawn(move || assert!(!denied.cell(K).deny(at(5))));
    let used = user.join().unwrap();
    denied.join().unwrap();
    assert_eq!(used + here.uses(K, DUE), 1, "not used once");
}

#[test]
fn a_denial_brings_no_used_place_back() {
    holds("a use, a denial", 3, a_use_and_a_denial::<Meant>);
    let scenario = a_use_and_a_denial::<Overwrites>;
    is_violated("control: a denial overwrites", 3, "not used once", scenario);
}

fn a_use_and_a_take_over<G: Guards>() {
    let [here, user, keeper] = views::<G>(&[K, Y, Z]);
    let user = spawn(move || user.uses(K, DUE));
    let keeper = spawn(move || keeper.keep(X, 9));
    assert!(user.join().unwrap() + here.uses(K, DUE) <= 1, "used twice");
    assert!(keeper.join().unwrap());
    assert_eq!(here.uses(X, DUE + 9), 1, "the new place is lost");
}

#[test]
fn another_bucket_takes_a_cell_over() {
    holds("a use, a take-over", 3, a_use_and_a_take_over::<Meant>);
    let scenario = a_use_and_a_take_over::<Overwrites>;
    is_violated("control: a take-over is overwritten", 3, "lost", scenario);
}

/// Uses a place or a slice, and drops it.
fn a_use_and_a_drop<G: Guards>([here, user, dropper]: [View<G>; 3], uses: Uses<G>) {
    let done = Arc::new(AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    let dropper = spawn(move || {
        dropper.clear(25);
        done.store(true, Release);
    });
    let user = spawn(move || {
        let was_dropped = is_done.load(Acquire);
        let used = uses(&user);
        assert!(!was_dropped || used == 0, "used after the drop");
    });
    user.join().unwrap();
    dropper.join().unwrap();
    assert_eq!(uses(&here), 0, "used after the drop");
}

#[test]
fn a_dropped_place_is_not_used() {
    holds("a use, a drop", 3, || {
        a_use_and_a_drop(views::<Meant>(&[K]), View::uses_place);
    });
    is_violated("control: no stamp", 3, "used after the drop", || {
        a_use_and_a_drop(views::<IgnoresStamp>(&[K]), View::uses_place);
    });
}

#[test]
fn a_dropped_slice_is_not_used() {
    holds("a use of a slice, a drop", 3, || {
        a_use_and_a_drop(slice_views::<Meant>(2), View::uses_slice);
    });
    let name = "control: no stamp of slices";
    is_violated(name, 3, "used after the drop", || {
        a_use_and_a_drop(slice_views::<IgnoresStamp>(2), View::uses_slice);
    });
}

fn a_late_reply<G: Guards>() {
    let [here, dropper, _] = views::<G>(&[]);
    let keeper = View::<Meant> {
        set: Arc::clone(&here.set),
        thread: 2,
        guards: PhantomData,
    };
    let keeper = spawn(move || keeper.keep(K, 0));
    let dropper = spawn(move || {
        dropper.clear(10);
        assert_eq!(dropper.uses(K, DUE), 0, "used after the drop");
    });
    dropper.join().unwrap();
    keeper.join().unwrap();
    assert_eq!(here.uses(K, DUE), 0, "used after the drop");
}

#[test]
fn a_place_whose_reply_comes_after_a_drop_is_not_used() {
    holds("a reply, a drop", 3, a_late_reply::<Meant>);
    // The keeper compares the stamp, but it may be written right afterwards.
    let scenario = a_late_reply::<IgnoresStamp>;
    is_violated(
        "control: only the keeper compares",
        3,
        "used after the drop",
        scenario,
    );
}

#[test]
fn each_kept_place_is_used_once() {
    holds("two replies", 3, || {
        let [here, one, other] = views::<Meant>(&[]);
        let one = spawn(move || one.keep(K, 0));
        let other = spawn(move || {
            other.cell(K).deny(at(1));
            other.keep(K, 2)
        });
        let kept = u32::from(one.join().unwrap()) + u32::from(other.join().unwrap());
        assert!(kept >= 1, "both places are lost");
        let used = here.uses(K, DUE) + here.uses(K, DUE);
        assert_eq!(used, kept);
    });
}

fn a_use_and_a_join<G: Guards>() {
    let [here, user, keeper] = slice_views::<G>(2);
    let user = spawn(move || user.uses_slice());
    let keeper = spawn(move || {
        keeper.slices().ask(at(2));
        keeper.keep_slice(2, 2);
    });
    let used = user.join().unwrap();
    keeper.join().unwrap();
    let rest: u32 = (0..4).map(|_| here.uses_slice()).sum();
    assert_eq!(used + rest, 4, "not used once");
}

#[test]
fn slices_join_while_they_are_used() {
    holds("a use, a join", 3, a_use_and_a_join::<Meant>);
    let scenario = a_use_and_a_join::<Overwrites>;
    is_violated("control: a join overwrites", 3, "not used once", scenario);
}

/// The stamp is later than the first request and earlier than the second one.
fn a_late_slice<G: Guards>() {
    let [here, dropper, _] = views::<G>(&[]);
    let keeper = View::<Meant> {
        set: Arc::clone(&here.set),
        thread: 2,
        guards: PhantomData,
    };
    let keeper = spawn(move || {
        keeper.keep_slice(2, 0);
        keeper.keep_slice(2, 4);
    });
    dropper.clear(3);
    keeper.join().unwrap();
    let used: u32 = (0..4).map(|_| here.uses_slice()).sum();
    assert!(used <= 2, "used after the drop");
}

#[test]
fn a_slice_whose_reply_comes_after_a_drop_is_not_used() {
    holds("a reply of a slice, a drop", 3, a_late_slice::<Meant>);
    let scenario = a_late_slice::<IgnoresStamp>;
    is_violated(
        "control: only the keeper of slices compares",
        3,
        "used after the drop",
        scenario,
    );
}

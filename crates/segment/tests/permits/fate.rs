//! The fate of a worker at the marked points: it yields, sleeps, stops itself or kills itself.
//!
//! The protocol calls `reached` without a receiver. So the sheet, the dice and the life of a worker
//! are static variables, which are set right after the fork.

use crate::forked::{self, roll};
use crate::sheet::Sheet;
use rustix::process::{Signal, getpid, kill_process};
use segment::permits::protocol::{Point, Variant};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

static SHEET: AtomicPtr<Sheet> = AtomicPtr::new(null_mut());
static LIFE: AtomicU64 = AtomicU64::new(0);
static IS_MORTAL: AtomicBool = AtomicBool::new(false);

/// Makes this process a worker. A mortal worker kills itself at some marked point.
pub fn enter(sheet: &'static Sheet, life: u64, is_mortal: bool, seed: u64) {
    SHEET.store(std::ptr::from_ref(sheet).cast_mut(), Relaxed);
    LIFE.store(life, Relaxed);
    IS_MORTAL.store(is_mortal, Relaxed);
    forked::seed(seed);
}

fn befall(point: Point) {
    // SAFETY: the pointer is null, or it comes from the `&'static Sheet` given to `enter`.
    let Some(sheet) = (unsafe { SHEET.load(Relaxed).as_ref() }) else {
        return;
    };
    let one_in = match point {
        Point::GroupRead | Point::FreeSeen | Point::Taken | Point::Releasing | Point::Released => {
            32
        }
        // These points are rare, so something happens each time.
        Point::DeadFound | Point::AllAsked => 1,
        _ => 8,
    };
    if !roll().is_multiple_of(one_in) {
        return;
    }
    match roll() % 256 {
        0..160 => std::thread::yield_now(),
        160..200 => std::thread::sleep(Duration::from_micros(20 + roll() % 300)),
        200..212 if IS_MORTAL.load(Relaxed) => {
            sheet.deaths[point as usize].fetch_add(1, SeqCst);
            sheet.ends(LIFE.load(Relaxed));
            kill_process(getpid(), Signal::KILL).expect("a process may signal itself");
        }
        _ => (0..roll() % 256).for_each(|_| std::hint::spin_loop()),
    }
}

/// The protocol with all its rules.
#[derive(Debug)]
pub struct Meant;
impl Variant for Meant {
    fn reached(point: Point) {
        befall(point);
    }
}

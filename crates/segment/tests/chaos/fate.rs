//! The fate of a worker at the marked points: the worker yields, sleeps, stops itself or kills
//! itself.
//!
//! The protocol calls `reached` without a receiver. So a worker's mood, dice and lane are static
//! variables, which are set right after the fork.

use crate::board::Sheet;
use crate::dice::{self, roll};
use rustix::process::{Signal, getpid, kill_process};
use segment::slots::protocol::{Point, Variant};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The behaviour of a worker at the marked points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Nothing happens.
    Calm,
    /// The worker yields and sleeps.
    Restless,
    /// The worker also stops and kills itself.
    Deadly,
    /// The worker sometimes sleeps between its clock reading and its claim.
    Sleepy,
}

static MOOD: AtomicU8 = AtomicU8::new(Mood::Calm as u8);
static SHEET: AtomicPtr<Sheet> = AtomicPtr::new(null_mut());
static LANE: AtomicUsize = AtomicUsize::new(0);

/// Makes this process the worker of `lane`.
pub fn enter(sheet: &'static Sheet, lane: usize, mood: Mood, seed: u64) {
    SHEET.store(std::ptr::from_ref(sheet).cast_mut(), Relaxed);
    LANE.store(lane, Relaxed);
    MOOD.store(mood as u8, Relaxed);
    dice::seed(seed);
}

fn sheet() -> Option<&'static Sheet> {
    // SAFETY: the pointer is null, or it comes from the `&'static Sheet` given to `enter`.
    unsafe { SHEET.load(Relaxed).as_ref() }
}

fn befall(point: Point) {
    let Some(sheet) = sheet() else { return };
    if matches!(point, Point::Granted | Point::Living) {
        sheet.lanes[LANE.load(Relaxed)]
            .written
            .fetch_add(1, Relaxed);
    }
    let mood = MOOD.load(Relaxed);
    if mood == Mood::Calm as u8 {
        return;
    }
    let rolled = roll();
    if mood == Mood::Sleepy as u8 {
        if point == Point::Chosen && rolled.is_multiple_of(4) {
            std::thread::sleep(Duration::from_micros(50 + (rolled >> 8) % 800));
        }
        return;
    }
    // Claims are rare, so something happens more often at their points.
    let common = matches!(point, Point::Loaded | Point::Decided | Point::Granted);
    if !rolled.is_multiple_of(if common { 64 } else { 4 }) {
        return;
    }
    match (rolled >> 6) % 256 {
        0..150 => std::thread::yield_now(),
        150..200 => std::thread::sleep(Duration::from_micros(20 + (rolled >> 14) % 300)),
        200..204 if mood == Mood::Deadly as u8 => end(Signal::STOP),
        204..212 if mood == Mood::Deadly as u8 => {
            sheet.dies(point);
            end(Signal::KILL);
        }
        _ => (0..(rolled >> 14) % 256).for_each(|_| std::hint::spin_loop()),
    }
}

fn end(signal: Signal) {
    kill_process(getpid(), signal).expect("a process may signal itself");
}

/// The protocol with all its rules. Workers yield, sleep, stop or die at its marked points.
#[derive(Debug)]
pub struct Meant;
impl Variant for Meant {
    fn reached(point: Point) {
        befall(point);
    }
}

/// The variant of a control run, in which a claim becomes a record without a check of the other
/// slots.
#[derive(Debug)]
pub struct Unvalidated;
impl Variant for Unvalidated {
    const VALIDATE: bool = false;
    fn reached(point: Point) {
        befall(point);
    }
}

/// The variant of a control run, which does not read the clock again after a claim.
#[derive(Debug)]
pub struct Once;
impl Variant for Once {
    const REREAD_CLOCK: bool = false;
    fn reached(point: Point) {
        befall(point);
    }
}

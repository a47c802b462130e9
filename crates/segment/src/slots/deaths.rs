//! Kills processes at the marked points of the protocol, for `scripts/prove`. Production builds do
//! not contain this module.

use gcra::boot_clock;
use rustix::process::{Signal, getpid, kill_process};
use std::fmt::Debug;
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The value n of `TOKENBUCKET_DEATHS=n`: on average, a process dies at one of n marked points.
/// Without the variable, processes do not die.
static ONE_IN: LazyLock<Option<u64>> = LazyLock::new(|| {
    let one_in = std::env::var("TOKENBUCKET_DEATHS").ok()?;
    one_in.parse().ok().filter(|&one_in| one_in > 0)
});

/// Processes reach about this many marked points on live records for each marked point of a claim.
const CLAIMS_ARE_RARER: u64 = 16;

/// Kills the process with SIGKILL at a marked point, with a probability that depends on how often
/// processes reach such a point.
pub fn reached(point: &dyn Debug, is_common: bool) {
    let Some(one_in) = *ONE_IN else { return };
    let one_in = if is_common {
        one_in
    } else {
        one_in.div_ceil(CLAIMS_ARE_RARER)
    };
    if roll().is_multiple_of(one_in) {
        // `scripts/prove` counts these lines. Each line is written in one piece, because other
        // processes may be dying too.
        let last_words = format!("died at: {point:?}\n");
        std::io::stderr().write_all(last_words.as_bytes()).ok();
        // A process may signal itself, so this does not fail.
        kill_process(getpid(), Signal::KILL).ok();
    }
}

/// Returns a random number from a xorshift generator. The process id and the time are the seed. The
/// number need not be secret.
fn roll() -> u64 {
    static DICE: AtomicU64 = AtomicU64::new(0);
    let mut dice = match DICE.load(Relaxed) {
        0 => boot_clock().0 ^ u64::from(std::process::id()) << 40 | 1,
        dice => dice,
    };
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    DICE.store(dice, Relaxed);
    // The low bits of a xorshift generator are its least random bits.
    dice >> 8
}

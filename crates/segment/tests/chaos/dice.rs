//! Random numbers, which need not be secret.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Random numbers from a xorshift generator, which need not be secret.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The state of the dice of this process.
static DICE: AtomicU64 = AtomicU64::new(1);

/// Sets the seed of [`roll`] in this process.
pub fn seed(seed: u64) {
    DICE.store(seed | 1, Relaxed);
}

/// Returns the next random number of this process.
pub fn roll() -> u64 {
    let mut dice = Dice(DICE.load(Relaxed));
    let rolled = dice.roll();
    DICE.store(dice.0, Relaxed);
    // The low bits of a xorshift generator are less random than its high bits.
    rolled >> 8
}

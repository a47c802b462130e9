//! The judge of permits, and the words of its scenarios.

use segment::permits::word::{self, Owner, Tag};
use segment::slots::word::{Fingerprint, Word};

/// The key of most scenarios. [`X`] is another key.
pub const K: Fingerprint = Fingerprint::new(7);
pub const X: Fingerprint = Fingerprint::new(9);

pub const PROCESSES: usize = 6;

pub fn process(number: u64) -> Owner {
    Owner::new(number).unwrap()
}

/// Returns the word of a cell that a process holds from the start of a scenario.
pub fn held(key: Fingerprint, cell: u16, number: u64) -> Word {
    Tag::new(key, cell).held(process(number), 0)
}

/// The number of processes that are dead at the start of each scenario.
pub const DEAD: u64 = 1;

/// The state at this instant.
pub struct Judge {
    pub words: Vec<Word>,
    pub alive: [bool; PROCESSES],
    /// The holders of K: from the return of their call to the beginning of their release.
    pub holders: Vec<u64>,
    pub limit: usize,
    /// The number of changes so far.
    pub now: u64,
    /// The last change before which live processes held all permits of K.
    pub full_until: u64,
}

impl Judge {
    pub fn is_full(&self) -> bool {
        let held = self.words.iter().filter(|word| {
            let owner = usize::try_from(word::owner(**word).number()).unwrap();
            word.is_of(K)
                && !word::is_claimed(**word)
                && !word::is_free(**word)
                && self.alive[owner]
        });
        held.count() >= self.limit
    }

    pub fn change(&mut self, change: impl FnOnce(&mut Self)) {
        self.now += 1;
        if self.is_full() {
            self.full_until = self.now;
        }
        change(self);
    }
}

/// Packs a word into 64 bits: `fingerprint: 4 | cell: 4 | claimed: 1 | owner and ticket: 55`.
pub fn pack(word: Word) -> u64 {
    let (key, cell) = (word.tag >> 16, word.tag & 0xffff);
    let (claimed, rest) = (word.state >> 63, word.state & ((1 << 55) - 1));
    let packed = key << 60 | cell << 56 | claimed << 55 | rest;
    assert_eq!(unpack(packed), word, "too much for 64 bits");
    packed
}

pub fn unpack(packed: u64) -> Word {
    Word {
        tag: (packed >> 60) << 16 | (packed >> 56) & 0xf,
        state: (packed >> 55 & 1) << 63 | packed & ((1 << 55) - 1),
    }
}

//! Two trees over positions 0..n, each with O(log n) operations.

use crate::call::Tokens;

/// Less than any amount, far from overflow.
const NOTHING: Tokens = Tokens::MIN / 4;

/// Sets values; tells the greatest of a range.
#[derive(Debug)]
pub struct Maxima {
    leaves: usize,
    nodes: Vec<Tokens>,
}

impl Maxima {
    /// Of `length` positions, all without a value.
    #[must_use]
    pub fn new(length: usize) -> Self {
        let leaves = length.next_power_of_two();
        Self {
            leaves,
            nodes: vec![NOTHING; 2 * leaves],
        }
    }

    /// Gives a position a value, in place of the one that it has.
    pub fn set(&mut self, position: usize, value: Tokens) {
        let mut node = self.leaves + position;
        self.nodes[node] = value;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }

    /// The greatest value of positions `from..to`; `None` when none has one.
    #[must_use]
    pub fn greatest(&self, from: usize, to: usize) -> Option<Tokens> {
        let (mut low, mut high) = (self.leaves + from, self.leaves + to.max(from));
        let mut greatest = NOTHING;
        while low < high {
            if low % 2 == 1 {
                greatest = greatest.max(self.nodes[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                greatest = greatest.max(self.nodes[high]);
            }
            low /= 2;
            high /= 2;
        }
        (greatest > NOTHING).then_some(greatest)
    }
}

/// Adds to all positions up to one; tells the greatest of them.
#[derive(Debug)]
pub struct Prefixes {
    leaves: usize,
    /// What was added to all positions below a node, and not to its ancestors.
    added: Vec<Tokens>,
    /// The greatest position below a node, with what was added to it and to nodes below.
    greatest: Vec<Tokens>,
}

impl Prefixes {
    /// Of these values.
    #[must_use]
    pub fn new(values: &[Tokens]) -> Self {
        let leaves = values.len().next_power_of_two();
        let mut greatest = vec![NOTHING; 2 * leaves];
        greatest[leaves..leaves + values.len()].copy_from_slice(values);
        for node in (1..leaves).rev() {
            greatest[node] = greatest[2 * node].max(greatest[2 * node + 1]);
        }
        Self {
            leaves,
            added: vec![0; 2 * leaves],
            greatest,
        }
    }

    /// Adds to positions `0..=last`, and tells the greatest value of these.
    pub fn add(&mut self, last: usize, amount: Tokens) -> Tokens {
        // From the leaf up: left neighbours lie wholly in the range, and so do their values.
        let mut node = self.leaves + last;
        self.greatest[node] += amount;
        let mut greatest = self.greatest[node];
        while node > 1 {
            if node % 2 == 1 {
                self.added[node - 1] += amount;
                self.greatest[node - 1] += amount;
                greatest = greatest.max(self.greatest[node - 1]);
            }
            node /= 2;
            greatest += self.added[node];
            self.greatest[node] =
                self.greatest[2 * node].max(self.greatest[2 * node + 1]) + self.added[node];
        }
        greatest
    }
}

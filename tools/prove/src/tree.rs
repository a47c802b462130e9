//! Two trees over positions 0..n, each with O(log n) operations.

use crate::call::Tokens;

/// A value below any amount and far from overflow.
const NOTHING: Tokens = Tokens::MIN / 4;

/// A tree of values by position. It sets single values and returns the greatest value of a range.
#[derive(Debug)]
pub struct Maxima {
    leaves: usize,
    nodes: Vec<Tokens>,
}

impl Maxima {
    /// Creates a tree of `length` positions without values.
    pub fn new(length: usize) -> Self {
        let leaves = length.next_power_of_two();
        Self {
            leaves,
            nodes: vec![NOTHING; 2 * leaves],
        }
    }

    /// Sets the value of a position and replaces an earlier value.
    pub fn set(&mut self, position: usize, value: Tokens) {
        let mut node = self.leaves + position;
        self.nodes[node] = value;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }

    /// Returns the greatest value of positions `from..to`. Returns `None` if all of these positions
    /// lack a value.
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

/// A tree of values by position. It adds an amount to all positions up to a given position and
/// returns their greatest value.
#[derive(Debug)]
pub struct Prefixes {
    leaves: usize,
    /// For each node, the amount added to all positions below it, without the amounts added to its
    /// ancestors.
    added: Vec<Tokens>,
    /// For each node, the greatest value below it, with the amounts added to the node and to nodes
    /// below it.
    greatest: Vec<Tokens>,
}

impl Prefixes {
    /// Creates a tree with these values.
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

    /// Adds `amount` to positions `0..=last` and returns their greatest value.
    pub fn add(&mut self, last: usize, amount: Tokens) -> Tokens {
        // On the way up from the leaf, the left neighbour of each right child lies wholly in the
        // range.
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

//! Consistent hashing as in the PHP library Flexihash with its defaults.
//!
//! Each target has 64 points on a ring, `crc32(target . i)`. A resource belongs to the first target
//! whose point is strictly greater than `crc32(resource)`. If every point is less or equal, the
//! resource belongs to the first target on the ring. If two targets have the same point, the target
//! that was added last owns the point.

use std::collections::BTreeMap;

/// The number of points of a target.
const REPLICAS: usize = 64;

/// The ring of some targets.
#[derive(Clone, Debug)]
pub struct FlexiHash {
    /// The points in ascending order, each with the number of its target.
    points: Vec<(u32, usize)>,
}

impl FlexiHash {
    /// Returns the ring of `targets` in the order in which they were added.
    pub fn new<T: AsRef<[u8]>>(targets: impl IntoIterator<Item = T>) -> Self {
        let mut points = BTreeMap::new();
        for (number, target) in targets.into_iter().enumerate() {
            for replica in 0..REPLICAS {
                let point = [target.as_ref(), replica.to_string().as_bytes()].concat();
                points.insert(crc32fast::hash(&point), number);
            }
        }
        let points = points.into_iter().collect();
        Self { points }
    }

    /// Returns the index of the target that `resource` belongs to, in the order of
    /// [`FlexiHash::new`].
    /// Returns `None` if the ring is empty.
    pub fn lookup(&self, resource: &[u8]) -> Option<usize> {
        let place = crc32fast::hash(resource);
        let next = self.points.partition_point(|&(point, _)| point <= place);
        let (_, number) = self.points.get(next).or(self.points.first())?;
        Some(*number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_placed_as_flexihash_does() {
        let ring = FlexiHash::new((1..=10).map(|number| format!("set{number:02}")));
        for (resource, number) in [
            ("A-search", 5),
            ("1.2.3.4-search", 3),
            ("127.0.0.1-login", 6),
        ] {
            assert_eq!(ring.lookup(resource.as_bytes()), Some(number - 1));
        }
    }

    #[test]
    fn whoever_hits_a_point_belongs_to_the_next_one() {
        // The hash of "a0" is the first point of "a".
        let ring = FlexiHash::new(["a", "b"]);
        let at = crc32fast::hash(b"a0");
        let place = ring.points.iter().position(|&(point, _)| point == at);
        let next = place.and_then(|place| ring.points.get(place + 1));
        let expected = next.or(ring.points.first()).map(|&(_, number)| number);
        assert_eq!(ring.lookup(b"a0"), expected);
    }

    #[test]
    fn few_targets_are_no_special_case() {
        assert_eq!(FlexiHash::new([] as [&str; 0]).lookup(b"x"), None);
        let one = FlexiHash::new(["only"]);
        assert!((0..100).all(|n: u32| one.lookup(&n.to_ne_bytes()) == Some(0)));
        // The points of both targets are the same, so the last target owns them.
        assert_eq!(FlexiHash::new(["same", "same"]).lookup(b"x"), Some(1));
    }
}

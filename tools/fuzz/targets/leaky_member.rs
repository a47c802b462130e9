//! Tests random clients and actions of the leaky bucket, and random targets of a ring.
//!
//! Checks that two pairs of client and action never have the same member, that two families of sets
//! never share a key, and that a naive ring assigns every resource to the same target.
#![no_main]

use compat::leaky_bucket::flexihash::FlexiHash;
use compat::leaky_bucket::{LOCKED, SETS, keys, member, set_of};
use compat::minutes;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;

/// Computes CRC-32, one bit at a time.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = !0u32;
    for &byte in bytes {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
        }
    }
    !sum
}

/// Returns the index of a resource's target. This is the target with the least point beyond the
/// resource's own point. If no point is beyond, it is the target with the least point of all. If
/// several targets have the same point, the last target is returned.
fn place(targets: &[Vec<u8>], resource: &[u8]) -> Option<usize> {
    let own = crc32(resource);
    let points = targets.iter().enumerate().flat_map(|(number, target)| {
        (0..64).map(move |i| (crc32(&[target, i.to_string().as_bytes()].concat()), number))
    });
    let nearest = |(point, number): (u32, usize)| (point <= own, point, usize::MAX - number);
    points
        .min_by_key(|&point| nearest(point))
        .map(|(_, number)| number)
}

/// Splits a member into its client and its action.
fn apart(member: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let dash = member
        .iter()
        .rposition(|&byte| byte == b'-')
        .expect("a dash");
    let (client, mut rest) = (&member[..dash], &member[dash + 1..]);
    let mut action = Vec::new();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte == b'%' {
            let (code, behind) = rest.split_at(2);
            rest = behind;
            action.push(if code == b"2D" { b'-' } else { b'%' });
            assert!(code == b"2D" || code == b"25");
        } else {
            action.push(byte);
        }
    }
    (client.to_vec(), action)
}

#[derive(Arbitrary, Debug)]
struct Input {
    client: Vec<u8>,
    action: Vec<u8>,
    other: Vec<u8>,
    targets: Vec<Vec<u8>>,
    counter: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let Input {
        client,
        action,
        other,
        mut targets,
        counter,
    } = input;
    let member = member(&client, &action);
    assert_eq!(apart(&member), (client, action.clone()));
    // Every member contains a dash, unlike the member in which the script keeps its own count.
    assert!(member.contains(&b'-'));

    let set = set_of(&member);
    let sets: Vec<_> = (1..=10)
        .map(|n| format!("set{n:02}").into_bytes())
        .collect();
    assert_eq!(sets.len(), SETS);
    assert_eq!(Some(set), place(&sets, &member));

    let mut families = vec![None, Some(action.as_slice())];
    if other != action {
        families.push(Some(&other));
    }
    let mut seen = HashSet::from([LOCKED.to_vec()]);
    for family in families {
        for key in (0..SETS).flat_map(|set| keys(family, set)) {
            assert!(seen.insert(key), "two families share a key");
        }
    }

    targets.truncate(8);
    assert_eq!(
        FlexiHash::new(&targets).lookup(&member),
        place(&targets, &member)
    );

    // A counter is digits, optionally followed by white space.
    let end = counter.iter().rposition(|byte| !byte.is_ascii_whitespace());
    let digits = &counter[..end.map_or(0, |end| end + 1)];
    let is_counter = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let value = digits.iter().try_fold(0u64, |sum, byte| {
        sum.checked_mul(10)?
            .checked_add(u64::from(byte.wrapping_sub(b'0')))
    });
    assert_eq!(minutes::parse(&counter), value.filter(|_| is_counter));
});

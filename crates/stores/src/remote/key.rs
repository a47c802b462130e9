//! The keys of records in memcached and Redis.
//!
//! memcached accepts keys of 1 to 250 bytes without spaces and control characters. An identifier
//! has any bytes and any length, and often comes from outside. The prefix and the identifier
//! together are the name. A name that memcached accepts is used unchanged, so that an operator can
//! `get` it. Any other name is hashed, and the readable head of the name precedes the hash. Bytes
//! from 0x80 on are also used unchanged, because memcached accepts them. In the text protocol,
//! ext-memcached does not accept such bytes.
//!
//! Redis accepts any bytes up to 512 MB. A name of at most 250 bytes is used unchanged. A longer
//! name is hashed, because sending megabytes could take longer than the timeout.
//!
//! Invariant: the key is valid for any identifier, and different names have different keys. If two
//! names are both hashed, SHA-256 keeps their keys apart. If only one name is hashed, the
//! [`MARKER`] keeps the keys apart, because a name with the marker at the same place is hashed,
//! too.
//!
//! A lockout and the permits of a concurrency limit have the key of the bucket with the same
//! identifier, and a suffix. A name with such a suffix is hashed, so no bucket has their keys.
//!
//! The prefix is joined without a separator, as in every memcached client. So `a` + `bc` and `ab` +
//! `c` are the same key. To keep two prefixes apart, end each prefix with the same delimiter.

use crate::digest::{DIGITS, digits};

/// The longest key that memcached accepts, in bytes. Keys in Redis are not longer either.
const MAX_KEY: usize = 250;

/// The bytes between the readable head and the hash.
const MARKER: &[u8] = b"~sha256:";

/// The most bytes of prefix and identifier that stay readable before a hash.
const MAX_HEAD: usize = MAX_KEY - MARKER.len() - DIGITS;

/// A kind of record other than a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The permits of a concurrency limit.
    Permits,
    Lockout,
    /// The cancelled attempts of a lockout.
    Cancels,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Permits, Self::Lockout, Self::Cancels];

    /// Returns the end of the keys of these records.
    pub(crate) const fn suffix(self) -> &'static [u8] {
        match self {
            Self::Permits => b"~permits",
            Self::Lockout => b"~lockout",
            Self::Cancels => b"~cancels",
        }
    }
}

/// Returns the key of the item that keeps the bucket `identifier` under `prefix`.
///
/// Worked example: `login:` and `10.0.0.1` make `login:10.0.0.1`. `login:` and `Ann Lee` make
/// `login:Ann_Lee~sha256:` and the 64 digits of the hash of `login:Ann Lee`.
pub fn item_key(prefix: &[u8], identifier: &[u8]) -> Vec<u8> {
    let name = [prefix, identifier].concat();
    if is_plain(&name) { name } else { hashed(&name) }
}

/// Returns the key of the record of this kind that belongs to the bucket `identifier` under
/// `prefix`. memcached and Redis accept it.
pub fn kind_key(kind: Kind, prefix: &[u8], identifier: &[u8]) -> Vec<u8> {
    let (name, suffix) = ([prefix, identifier].concat(), kind.suffix());
    let mut key = if is_plain(&name) && name.len() + suffix.len() <= MAX_KEY {
        name
    } else {
        hashed_after(&name, MAX_HEAD - suffix.len())
    };
    key.extend_from_slice(suffix);
    key
}

/// Returns the key in Redis of the bucket `identifier` under `prefix`.
pub fn redis_key(prefix: &[u8], identifier: &[u8]) -> Vec<u8> {
    let name = [prefix, identifier].concat();
    if name.len() <= MAX_KEY && !is_reserved(&name) {
        name
    } else {
        hashed(&name)
    }
}

/// Returns the key of an item that ext-memcache calls `name`. Bytes that ext-memcache cannot send
/// become underscores. ext-memcache truncates a long name, so different names may get the same key.
/// Here, a name is hashed instead if it is empty or leaves less than `room` bytes for a suffix.
pub fn shared_key(name: &[u8], room: usize) -> Vec<u8> {
    if name.is_empty() || name.len() + room > MAX_KEY {
        return hashed(name);
    }
    let sent = name
        .iter()
        .map(|&byte| if byte > b' ' { byte } else { b'_' });
    sent.collect()
}

/// Reports whether `name` is a valid key that no other record's key can equal.
fn is_plain(name: &[u8]) -> bool {
    (1..=MAX_KEY).contains(&name.len())
        && name.iter().all(|&byte| is_allowed(byte))
        && !is_reserved(name)
}

/// Reports whether `name` could be the key of a hashed name or of one of these [kinds](Kind).
fn is_reserved(name: &[u8]) -> bool {
    let mut kinds = Kind::ALL.into_iter();
    is_marked(name) || kinds.any(|kind| name.ends_with(kind.suffix()))
}

/// Reports whether `name` has the marker at the place where a hashed key has it.
fn is_marked(name: &[u8]) -> bool {
    name.len()
        .checked_sub(DIGITS)
        .is_some_and(|head| name[..head].ends_with(MARKER))
}

const fn is_allowed(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

fn hashed(name: &[u8]) -> Vec<u8> {
    hashed_after(name, MAX_HEAD)
}

/// Returns the hashed key of a name, after at most `most` readable bytes.
fn hashed_after(name: &[u8], most: usize) -> Vec<u8> {
    let head = name.iter().take(most);
    let mut key: Vec<u8> = head
        .map(|&byte| if is_allowed(byte) { byte } else { b'_' })
        .collect();
    key.extend_from_slice(MARKER);
    key.extend_from_slice(&digits(name));
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_valid(key: &[u8]) -> bool {
        (1..=250).contains(&key.len()) && !key.iter().any(|&byte| byte <= 0x20 || byte == 0x7f)
    }

    #[test]
    fn shared_keys_are_those_of_ext_memcache_until_it_would_cut_them() {
        assert_eq!(shared_key(b"rate10.0.0.1010203", 0), b"rate10.0.0.1010203");
        assert_eq!(shared_key(b"a b\nc\x00\x7f", 0), b"a_b_c_\x7f");
        assert_eq!(shared_key(&[b'x'; 245], 5), [b'x'; 245]);
        let cut = shared_key(&[b'x'; 246], 5);
        assert!(is_valid(&cut) && cut.ends_with(&hashed(&[b'x'; 246])[MAX_HEAD..]));
        assert!(is_valid(&shared_key(b"", 0)));
    }

    #[test]
    fn what_memcached_takes_stays_as_it_is() {
        for identifier in [
            b"10.0.0.1".as_slice(),
            b"user/42?a=b#~:_",
            "Zoë".as_bytes(),
            b"\x80\xff",
            b"~sha256:",
            b"~sha256:0123",
        ] {
            let key = item_key(b"login:", identifier);
            assert_eq!(key, [b"login:", identifier].concat());
        }
        assert_eq!(item_key(b"p", b""), b"p");
        assert_eq!(item_key(b"", b"i"), b"i");
    }

    #[test]
    fn a_hashed_key_is_readable_and_never_changes() {
        // printf 'login:Ann Lee' | sha256sum
        let hash = "7cf07f375cb69a42a13762fbf58485b63d5c8264a31c995920126222120e1598";
        assert_eq!(
            item_key(b"login:", b"Ann Lee"),
            format!("login:Ann_Lee~sha256:{hash}").into_bytes()
        );
        let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(
            item_key(b"", b""),
            format!("~sha256:{hash}").into_bytes(),
            "memcached takes no empty key"
        );
    }

    #[test]
    fn the_limit_is_250_bytes_of_prefix_and_identifier() {
        let identifier = [b'x'; 251];
        assert_eq!(item_key(b"", &identifier[..250]), &identifier[..250]);
        assert_eq!(item_key(b"ab", &identifier[..248]).len(), 250);
        assert!(item_key(b"ab", &identifier[..248]).ends_with(b"xx"));
        for key in [
            item_key(b"", &identifier),
            item_key(b"ab", &identifier[..249]),
        ] {
            assert_eq!(key.len(), 250);
            assert!(is_marked(&key));
        }
    }

    #[test]
    fn redis_gets_any_bytes_unchanged_up_to_the_limit() {
        let odd = b"Ann Lee\r\n\0\x7f".as_slice();
        assert_eq!(redis_key(b"p:", odd), [b"p:", odd].concat());
        assert_eq!(redis_key(b"", b""), b"");
        assert_eq!(redis_key(b"ab", &[b' '; 248]).len(), 250);
        let long = redis_key(b"ab", &[b'x'; 249]);
        assert_eq!(long, item_key(b"ab", &[b'x'; 249]));
        assert_ne!(redis_key(b"", &long), long);
    }

    #[test]
    fn no_identifier_ends_the_line_or_the_word() {
        for identifier in [
            b"x\r\nflush_all\r\n".as_slice(),
            b"x\nflush_all",
            b"x 0 0 1\r\n1\r\n",
            b"x\0y",
            b"\t",
            b"\x7f",
            b" ",
        ] {
            for prefix in [b"".as_slice(), b"p:", b"p q:"] {
                assert!(is_valid(&item_key(prefix, identifier)));
            }
        }
        for byte in 0..=u8::MAX {
            assert!(is_valid(&item_key(b"", &[byte])));
        }
    }

    #[test]
    fn a_hashed_key_cannot_be_asked_for_by_its_name() {
        let key = item_key(b"login:", b"Ann Lee");
        let again = item_key(b"", &key);
        assert_ne!(again, key);
        assert_ne!(item_key(b"", &again), again);
        assert_ne!(item_key(&key[..20], &key[20..]), key);
    }

    /// Generates names that are often valid, often invalid, and often equal to a hashed key.
    fn name() -> impl Strategy<Value = Vec<u8>> {
        let any = prop::collection::vec(any::<u8>(), 0..300);
        let short =
            prop::collection::vec(prop::sample::select(b"ab_ ~\n\x00\x7f".as_slice()), 0..4);
        let long = (245..255usize).prop_map(|length| vec![b'x'; length]);
        let twin = short.clone().prop_map(|name| hashed(&name));
        let other = (short.clone(), prop::sample::select(Kind::ALL.as_slice()))
            .prop_map(|(name, kind)| kind_key(kind, b"", &name));
        prop_oneof![any, short, long, twin, other]
    }

    proptest! {
        #[test]
        fn every_key_is_valid(prefix in name(), identifier in name()) {
            prop_assert!(is_valid(&item_key(&prefix, &identifier)));
        }

        #[test]
        fn different_names_have_different_keys(one in name(), two in name()) {
            prop_assert_eq!(item_key(b"", &one) == item_key(b"", &two), one == two);
            prop_assert_eq!(redis_key(b"", &one) == redis_key(b"", &two), one == two);
        }

        #[test]
        fn no_bucket_has_the_key_of_another_kind(one in name(), two in name()) {
            let keys = |name: &[u8]| Kind::ALL.map(|kind| kind_key(kind, b"", name));
            let [permits, lockout, cancels] = keys(&one);
            prop_assert!(permits != lockout && lockout != cancels && cancels != permits);
            for key in [permits, lockout, cancels] {
                prop_assert!(is_valid(&key));
                prop_assert!(key != item_key(b"", &two) && key != redis_key(b"", &two));
                prop_assert_eq!(keys(&two).contains(&key), one == two);
            }
        }

        #[test]
        fn the_prefix_is_the_beginning(name in name(), at in any::<prop::sample::Index>()) {
            let (prefix, identifier) = name.split_at(at.index(name.len() + 1));
            prop_assert_eq!(item_key(prefix, identifier), item_key(b"", &name));
        }
    }
}

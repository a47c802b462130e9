//! What an item is called in memcached.
//!
//! memcached takes 1 to 250 bytes, none of them a space or a control character. An identifier is any
//! bytes of any length, and often a stranger's: what memcached takes is used as it is, so that an
//! operator can `get` it; what it does not take is hashed behind a readable head. Bytes from 0x80 on
//! are used as they are, too: memcached takes them, though ext-memcached does not ask for them.
//!
//! Invariant: the key is valid, whatever the identifier, and no two concatenations of prefix and
//! identifier have the same key. Of two that are hashed, SHA-256 keeps the keys apart; of one that is
//! hashed and one that is not, the [`MARKER`] does: what carries it where a hash would have it is
//! hashed itself.
//!
//! The prefix is joined as every memcached client joins it, without a separator: `a` + `bc` and
//! `ab` + `c` are one key. Whoever needs two prefixes apart ends both in the same delimiter.

use crate::digest::{DIGITS, digits};

/// The most bytes memcached takes as a key.
const MAX_KEY: usize = 250;

/// Stands between the readable head and the hash.
const MARKER: &[u8] = b"~sha256:";

/// How much of prefix and identifier stays readable before a hash.
const MAX_HEAD: usize = MAX_KEY - MARKER.len() - DIGITS;

/// The key of `identifier` among the items whose keys begin with `prefix`.
///
/// Worked example: `login:` and `10.0.0.1` make `login:10.0.0.1`; `login:` and `Ann Lee` make
/// `login:Ann_Lee~sha256:` and the 64 digits of the hash of `login:Ann Lee`.
#[must_use]
pub fn item_key(prefix: &[u8], identifier: &[u8]) -> Vec<u8> {
    let name = [prefix, identifier].concat();
    if is_plain(&name) { name } else { hashed(&name) }
}

/// The key of an item that ext-memcache calls `name`: what it cannot send becomes an underscore. It cuts what is
/// longer than memcached takes, so that different names meet; such a name, or one that leaves no
/// `room` for what is appended to make another key, is hashed here instead.
#[must_use]
pub fn shared_key(name: &[u8], room: usize) -> Vec<u8> {
    if name.is_empty() || name.len() + room > MAX_KEY {
        return hashed(name);
    }
    let sent = name
        .iter()
        .map(|&byte| if byte > b' ' { byte } else { b'_' });
    sent.collect()
}

/// Whether `name` is a valid key that no hashed one can equal.
fn is_plain(name: &[u8]) -> bool {
    (1..=MAX_KEY).contains(&name.len())
        && name.iter().all(|&byte| is_allowed(byte))
        && !is_marked(name)
}

/// Whether `name` has the marker where a hashed key has it.
fn is_marked(name: &[u8]) -> bool {
    name.len()
        .checked_sub(DIGITS)
        .is_some_and(|head| name[..head].ends_with(MARKER))
}

const fn is_allowed(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

fn hashed(name: &[u8]) -> Vec<u8> {
    let head = name.iter().take(MAX_HEAD);
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

    /// Bytes that are often valid, often not, and often a key themselves.
    fn name() -> impl Strategy<Value = Vec<u8>> {
        let any = prop::collection::vec(any::<u8>(), 0..300);
        let short =
            prop::collection::vec(prop::sample::select(b"ab_ ~\n\x00\x7f".as_slice()), 0..4);
        let long = (245..255usize).prop_map(|length| vec![b'x'; length]);
        let twin = short.clone().prop_map(|name| hashed(&name));
        prop_oneof![any, short, long, twin]
    }

    proptest! {
        #[test]
        fn every_key_is_valid(prefix in name(), identifier in name()) {
            prop_assert!(is_valid(&item_key(&prefix, &identifier)));
        }

        #[test]
        fn different_names_have_different_keys(one in name(), two in name()) {
            prop_assert_eq!(item_key(b"", &one) == item_key(b"", &two), one == two);
        }

        #[test]
        fn the_prefix_is_the_beginning(name in name(), at in any::<prop::sample::Index>()) {
            let (prefix, identifier) = name.split_at(at.index(name.len() + 1));
            prop_assert_eq!(item_key(prefix, identifier), item_key(b"", &name));
        }
    }
}

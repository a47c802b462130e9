//! A leaky bucket in sorted sets on Redis: hits by client and action, spread over ten sets.
//!
//! A set `setNN` holds the hits of each client and action that have not leaked yet. `setNN:control`
//! holds the same members with the score -1, which a clean-up adds to the hits. The set `locked`
//! counts the denials of each member.
//!
//! Invariant: each member belongs to one client and one action. A "-" in an action's name is
//! escaped, so the last "-" of a member separates the client from the action.

pub mod flexihash;
mod redis;

pub use self::redis::{Family, Limits, Requested, cleanup, locked, request};
use flexihash::FlexiHash;
use once_cell::race::OnceBox;

/// The number of sets over which members are spread.
pub const SETS: usize = 10;

/// The key of the set that counts denials.
pub const LOCKED: &[u8] = b"locked";

static RING: OnceBox<FlexiHash> = OnceBox::new();

fn name(set: usize) -> String {
    format!("set{:02}", set + 1)
}

/// Returns the member of a client's action: `client-action`.
pub fn member(client: &[u8], action: &[u8]) -> Vec<u8> {
    let mut member = [client, b"-"].concat();
    for &byte in action {
        match byte {
            b'-' => member.extend(b"%2D"),
            b'%' => member.extend(b"%25"),
            byte => member.push(byte),
        }
    }
    member
}

/// Returns the number of the set, from 0, that holds a member.
pub fn set_of(member: &[u8]) -> usize {
    let ring = RING.get_or_init(|| Box::new(FlexiHash::new((0..SETS).map(name))));
    // The default is never used, because the ring is not empty.
    ring.lookup(member).unwrap_or_default()
}

/// Returns the keys of a set and its control: `set05`, or `action:set05` for an action with its own
/// limits.
pub fn keys(action: Option<&[u8]>, set: usize) -> [Vec<u8>; 2] {
    let mut key = action.map_or_else(Vec::new, |action| [action, b":"].concat());
    key.extend(name(set).as_bytes());
    let control = [&key, b":control".as_slice()].concat();
    [key, control]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_members_are_as_they_were() {
        assert_eq!(member(b"1.2.3.4", b"search"), b"1.2.3.4-search");
        assert_eq!(set_of(b"1.2.3.4-search"), 2);
        let dashed = member(b"0f-a1-77", b"search");
        assert_eq!(dashed, b"0f-a1-77-search", "a client may hold dashes");
    }

    #[test]
    fn no_two_pairs_share_a_member() {
        let texts = [
            "", "a", "-", "%", "a-b", "b-c", "%2D", "a%2Db", "%252D", "c",
        ];
        let mut seen = std::collections::HashMap::new();
        for client in texts {
            for action in texts {
                let member = member(client.as_bytes(), action.as_bytes());
                assert!(member.contains(&b'-'));
                let other = seen.insert(member, (client, action));
                assert_eq!(other, None, "{client} {action}");
            }
        }
    }

    #[test]
    fn sets_have_their_controls() {
        assert_eq!(keys(None, 0), [&b"set01"[..], b"set01:control"]);
        let login = keys(Some(b"login"), 9);
        assert_eq!(login, [&b"login:set10"[..], b"login:set10:control"]);
    }
}

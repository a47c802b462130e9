//! Tests which rule refuses a text, and that no error shows a password.

use super::*;
use crate::remote::endpoint::EndpointError;

/// A sample password, which the texts contain in the right place or in a wrong place.
const PLANTED: &str = "hunter2";

/// The name of each rule, and texts that break it.
const BROKEN: &[&str] = &[
    "Scheme||hunter2|redis:hunter2|redis:/hunter2|hunter2://h|tls://hunter2@h|unix:/hunter2",
    "Scheme| redis://hunter2|://hunter2|http://u:hunter2@h|unix+cluster://hunter2",
    "Scheme|redis+sentinels://hunter2",
    "Character|redis://:hunter2\0@h|redis://:hunter2\n@h|redis://:hunter2@h\n",
    "Character|redis://:hunter2%00@h|redis://u%0a:hunter2@h|unix:///hunter2%00",
    "Character|unix:///s?password=hunter2%7f|redis://hunter2\u{85}",
    "Escape|redis://:hunter2%@h|redis://:hunter2%4@h|redis://:%zzhunter2@h|redis://%%41:hunter2@h",
    "Escape|unix:///hunter2%|unix:///s?password=hunter2%g0|redis://:hunter2%\u{e4}@h",
    "Escape|redis://:%+1hunter2@h",
    "Encoding|redis://:hunter2%ff@h|redis://%C3:hunter2@h|unix:///hunter2%ff",
    "Fragment|redis://h#hunter2|rediss://:hunter2@h#insecure|redis://:hun#ter2@h",
    "Fragment|unix:///s#hunter2|redis://h/0?#hunter2",
    "Endpoint(NoHost)|redis://|redis:///1|redis://:hunter2@|redis://:hunter2@/1",
    "Endpoint(NoHost)|redis://:hunter2@:6379|redis://:hunter2/x@h|rediss://",
    "Endpoint(NoHost)|redis+cluster://:hunter2@a,,b|redis+cluster://a,",
    "Endpoint(NoHost)|redis+sentinel://:hunter2@/p",
    "Endpoint(Host)|redis://:hunter2@h x|redis://:hunter2@::1|redis://[hunter2]|redis://[::1",
    "Endpoint(Host)|redis://hunter2%41|redis://\u{e4}hunter2|redis://a,hunter2",
    "Endpoint(Port)|redis://h:hunter2|redis://h:0|redis://h:65536|redis://u:hunter2@h:",
    "Endpoint(Port)|redis://[::1]hunter2|redis://h:+1",
    "Database|redis://h/hunter2|redis://h/-1|redis://h/+1|redis://h/1/|redis://h//",
    "Database|redis://h/2147483648|redis://h/99999999999999999999|redis://u:12/hunter2@h",
    "Database|unix:///s?db=hunter2|unix:///s?db=|unix:///s?db=2147483648|redis://h/%31",
    "Database|redis+sentinel://h/p/hunter2|redis+sentinel://h/p/0/",
    "ClusterDatabase|redis+cluster://h/1|redis+cluster://h/hunter2",
    "DuplicateServer|redis+ring://:hunter2@h,H:6379|redis+ring://h:1,i,h:1",
    "Weights|redis+ring://h?weights=hunter2|redis+ring://h,i?weights=1|redis+ring://h?weights=0",
    "HashTags|redis+cluster://h?hash_tags=hunter2|redis+cluster://h?hash_tags=",
    "OneServer|redis://h?one_server=hunter2|unix:///s?one_server=",
    "Primary|redis+sentinel://hunter2|redis+sentinel://h/|redis+sentinel://h//0",
    "Primary|redis+sentinel://h/hunter2%41|redis+sentinel://h/hunter2,b",
    "SocketPath|unix://|unix:///|unix://hunter2|unix://hunter2/s|unix://:hunter2@/s",
    "SocketPath|unix:///hunter2/|unix:///hunter2%2f|unix://?password=hunter2|redis+unix://s",
    "SocketPathTooLong|unix:///hunter2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "UserWithoutPassword|redis://hunter2@h|unix:///s?user=hunter2|redis+cluster://hunter2@h",
    "UserWithoutPassword|redis+sentinel://h/p?sentinel_user=hunter2",
    "EmptyCredentials|redis://@h|redis://:@h|unix:///s?user=|unix:///s?password=",
    "EmptyCredentials|unix:///s?user=&password=",
    "UnknownOption|redis://h?hunter2|redis://:hun?ter2@h|redis://h?=hunter2|redis://h?&",
    "UnknownOption|rediss://h?verify=hunter2|unix:///s?db=1&|unix:///s?DB=1",
    "MisplacedOption|redis://h?password=hunter2|redis://h?cafile=/hunter2|redis://h?db=1",
    "MisplacedOption|rediss://h?db=1|unix:///s?cafile=/hunter2|unix:///s?servername=hunter2",
    "MisplacedOption|redis://h?user|redis+cluster://h?cafile=/hunter2",
    "MisplacedOption|redis+cluster://h?sentinel_password=hunter2|redis+sentinel://h/p?hash_tags=1",
    "MisplacedOption|redis://h?hash_tags=1|redis+cluster://h?one_server=1",
    "DuplicateOption|unix:///s?db=1&db=1|unix:///s?password=hunter2&password=hunter2",
    "DuplicateOption|rediss://h?servername=hunter2&servername=h",
    "NoValue|unix:///s?db|unix:///s?password&user=hunter2",
    "Identity|rediss://h?certfile=/hunter2|rediss://h?keyfile=/hunter2",
    "Identity|rediss://h?certfile=/hunter2&keyfile=hunter2|rediss://h?certfile=&keyfile=/hunter2",
    "CaFile|rediss://h?cafile=hunter2|rediss://h?cafile=|rediss://h?cafile=./hunter2",
    "ServerName|rediss://h?servername=|rediss://h?servername=hunter2%20",
    "ServerName|rediss://h?servername=%5B::1%5D|rediss://hunter2-",
];

/// Yields the texts, each with the name of the rule that refuses it.
fn broken() -> impl Iterator<Item = (&'static str, &'static str)> {
    BROKEN.iter().flat_map(|row| {
        let (rule, texts) = row.split_once('|').unwrap();
        texts.split('|').map(move |text| (rule, text))
    })
}

#[test]
fn broken_addresses_are_refused_by_their_rule() {
    for (rule, text) in broken() {
        let error = Dsn::parse(text).unwrap_err();
        assert_eq!(format!("{error:?}"), rule, "{text:?}");
    }
}

/// A PHP client object may report these settings, although it cannot connect with them.
#[test]
fn clients_are_refused_by_the_same_rules() {
    for (host, database, error) in [
        ("h", MAX_DATABASE + 1, DsnError::Database),
        ("/s/", 0, DsnError::SocketPath),
        ("/s\0", 0, DsnError::Character),
        ("h\n", 0, DsnError::Character),
        ("udp://h", 0, DsnError::Scheme),
        ("", 0, DsnError::Endpoint(EndpointError::NoHost)),
    ] {
        let read = |database| Dsn::of_client(host, 1, database, None, None);
        assert_eq!(read(database), Err(error), "{host:?}");
    }
    assert!(Dsn::of_client("/s", 0, MAX_DATABASE, None, None).is_ok());
}

#[test]
fn no_error_shows_the_password() {
    let mut planted = 0;
    for (_, text) in broken() {
        let error = Dsn::parse(text).unwrap_err();
        let shown = format!("{error} {error:?}");
        // Check the halves, too, because some texts are cut at a "#" or a "?".
        for part in [PLANTED, "hun", "ter2"] {
            assert!(!shown.contains(part), "{text:?}: {shown}");
        }
        planted += usize::from(text.contains(PLANTED));
    }
    assert!(planted > 60);
}

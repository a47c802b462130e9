//! Tests which rule refuses a text, and that no error shows a password.

use super::*;
use crate::remote::endpoint::EndpointError;

/// A sample password, which the texts contain in the right place or in a wrong place.
const PLANTED: &str = "hunter2";

/// Each rule, with texts that break it.
const BROKEN: &[(DsnError, &[&str])] = &[
    (
        DsnError::Scheme,
        &[
            "",
            "hunter2",
            "redis:hunter2",
            "redis:/hunter2",
            "hunter2://h",
            "tls://hunter2@h",
            "unix:/hunter2",
            " redis://hunter2",
            "://hunter2",
            "http://u:hunter2@h",
            "unix+cluster://hunter2",
            "redis+sentinels://hunter2",
        ],
    ),
    (
        DsnError::Character,
        &[
            "redis://:hunter2\0@h",
            "redis://:hunter2\n@h",
            "redis://:hunter2@h\n",
            "redis://:hunter2%00@h",
            "redis://u%0a:hunter2@h",
            "unix:///hunter2%00",
            "unix:///s?password=hunter2%7f",
            "redis://hunter2\u{85}",
        ],
    ),
    (
        DsnError::Escape,
        &[
            "redis://:hunter2%@h",
            "redis://:hunter2%4@h",
            "redis://:%zzhunter2@h",
            "redis://%%41:hunter2@h",
            "unix:///hunter2%",
            "unix:///s?password=hunter2%g0",
            "redis://:hunter2%\u{e4}@h",
            "redis://:%+1hunter2@h",
        ],
    ),
    (
        DsnError::Encoding,
        &[
            "redis://:hunter2%ff@h",
            "redis://%C3:hunter2@h",
            "unix:///hunter2%ff",
        ],
    ),
    (
        DsnError::Fragment,
        &[
            "redis://h#hunter2",
            "rediss://:hunter2@h#insecure",
            "redis://:hun#ter2@h",
            "unix:///s#hunter2",
            "redis://h/0?#hunter2",
        ],
    ),
    (
        DsnError::Endpoint(EndpointError::NoHost),
        &[
            "redis://",
            "redis:///1",
            "redis://:hunter2@",
            "redis://:hunter2@/1",
            "redis://:hunter2@:6379",
            "redis://:hunter2/x@h",
            "rediss://",
            "redis+cluster://:hunter2@a,,b",
            "redis+cluster://a,",
            "redis+sentinel://:hunter2@/p",
        ],
    ),
    (
        DsnError::Endpoint(EndpointError::Host),
        &[
            "redis://:hunter2@h x",
            "redis://:hunter2@::1",
            "redis://[hunter2]",
            "redis://[::1",
            "redis://hunter2%41",
            "redis://\u{e4}hunter2",
            "redis://a,hunter2",
        ],
    ),
    (
        DsnError::Endpoint(EndpointError::Port),
        &[
            "redis://h:hunter2",
            "redis://h:0",
            "redis://h:65536",
            "redis://u:hunter2@h:",
            "redis://[::1]hunter2",
            "redis://h:+1",
        ],
    ),
    (
        DsnError::Database,
        &[
            "redis://h/hunter2",
            "redis://h/-1",
            "redis://h/+1",
            "redis://h/1/",
            "redis://h//",
            "redis://h/2147483648",
            "redis://h/99999999999999999999",
            "redis://u:12/hunter2@h",
            "unix:///s?db=hunter2",
            "unix:///s?db=",
            "unix:///s?db=2147483648",
            "redis://h/%31",
            "redis+sentinel://h/p/hunter2",
            "redis+sentinel://h/p/0/",
        ],
    ),
    (
        DsnError::ClusterDatabase,
        &["redis+cluster://h/1", "redis+cluster://h/hunter2"],
    ),
    (
        DsnError::HashTags,
        &[
            "redis+cluster://h?hash_tags=hunter2",
            "redis+cluster://h?hash_tags=",
        ],
    ),
    (
        DsnError::Primary,
        &[
            "redis+sentinel://hunter2",
            "redis+sentinel://h/",
            "redis+sentinel://h//0",
            "redis+sentinel://h/hunter2%41",
            "redis+sentinel://h/hunter2,b",
        ],
    ),
    (
        DsnError::SocketPath,
        &[
            "unix://",
            "unix:///",
            "unix://hunter2",
            "unix://hunter2/s",
            "unix://:hunter2@/s",
            "unix:///hunter2/",
            "unix:///hunter2%2f",
            "unix://?password=hunter2",
            "redis+unix://s",
        ],
    ),
    (
        DsnError::SocketPathTooLong,
        &[
            "unix:///hunter2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ],
    ),
    (
        DsnError::UserWithoutPassword,
        &[
            "redis://hunter2@h",
            "unix:///s?user=hunter2",
            "redis+cluster://hunter2@h",
            "redis+sentinel://h/p?sentinel_user=hunter2",
        ],
    ),
    (
        DsnError::EmptyCredentials,
        &[
            "redis://@h",
            "redis://:@h",
            "unix:///s?user=",
            "unix:///s?password=",
            "unix:///s?user=&password=",
        ],
    ),
    (
        DsnError::UnknownOption,
        &[
            "redis://h?hunter2",
            "redis://:hun?ter2@h",
            "redis://h?=hunter2",
            "redis://h?&",
            "rediss://h?verify=hunter2",
            "unix:///s?db=1&",
            "unix:///s?DB=1",
        ],
    ),
    (
        DsnError::MisplacedOption,
        &[
            "redis://h?password=hunter2",
            "redis://h?cafile=/hunter2",
            "redis://h?db=1",
            "rediss://h?db=1",
            "unix:///s?cafile=/hunter2",
            "unix:///s?servername=hunter2",
            "redis://h?user",
            "redis+cluster://h?cafile=/hunter2",
            "redis+cluster://h?sentinel_password=hunter2",
            "redis+sentinel://h/p?hash_tags=1",
            "redis://h?hash_tags=1",
        ],
    ),
    (
        DsnError::DuplicateOption,
        &[
            "unix:///s?db=1&db=1",
            "unix:///s?password=hunter2&password=hunter2",
            "rediss://h?servername=hunter2&servername=h",
        ],
    ),
    (
        DsnError::NoValue,
        &["unix:///s?db", "unix:///s?password&user=hunter2"],
    ),
    (
        DsnError::Identity,
        &[
            "rediss://h?certfile=/hunter2",
            "rediss://h?keyfile=/hunter2",
            "rediss://h?certfile=/hunter2&keyfile=hunter2",
            "rediss://h?certfile=&keyfile=/hunter2",
        ],
    ),
    (
        DsnError::CaFile,
        &[
            "rediss://h?cafile=hunter2",
            "rediss://h?cafile=",
            "rediss://h?cafile=./hunter2",
        ],
    ),
    (
        DsnError::ServerName,
        &[
            "rediss://h?servername=",
            "rediss://h?servername=hunter2%20",
            "rediss://h?servername=%5B::1%5D",
            "rediss://hunter2-",
        ],
    ),
];

#[test]
fn broken_addresses_are_refused_by_their_rule() {
    for (error, texts) in BROKEN {
        for text in *texts {
            assert_eq!(Dsn::parse(text), Err(*error), "{text:?}");
        }
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
    for text in BROKEN.iter().flat_map(|(_, texts)| *texts) {
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

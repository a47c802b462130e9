//! Tests which addresses are accepted, and that parsing reverses encoding.

mod refusals;

use super::*;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;

fn tcp(host: &str, port: u16) -> Dsn {
    let host = host.to_owned();
    Dsn {
        endpoint: Endpoint::Tcp { host, port },
        user: None,
        password: None,
        database: 0,
        tls: None,
        one_server: None,
        fleet: None,
    }
}

fn parse(text: &str) -> Dsn {
    Dsn::parse(text).unwrap()
}

fn credentials_of(text: &str) -> (Option<String>, Option<String>) {
    let dsn = parse(text);
    let password = dsn.password.map(|password| password.expose().to_owned());
    (dsn.user, password)
}

fn some(user: &str, password: &str) -> (Option<String>, Option<String>) {
    let user = Some(user.to_owned()).filter(|user| !user.is_empty());
    (user, Some(password.to_owned()))
}

#[test]
fn hosts_ports_and_databases_are_read() {
    assert_eq!(parse("redis://localhost"), tcp("localhost", 6379));
    assert_eq!(parse("REDIS://localhost/?"), tcp("localhost", 6379));
    assert_eq!(parse("redis://[::1]:7000/"), tcp("::1", 7000));
    let database = 2_147_483_647;
    let expected = Dsn {
        database,
        ..tcp("10.0.0.1", 1)
    };
    assert_eq!(parse("redis://10.0.0.1:1/2147483647"), expected);
}

#[test]
fn credentials_are_decoded() {
    for (userinfo, expected) in [
        (":pw", some("", "pw")),
        ("me:pw", some("me", "pw")),
        ("me:", some("me", "")),
        ("me:p:w@x", some("me", "p:w@x")),
        ("m%3Ae:p%40%3a%2f%3F%23%25", some("m:e", "p@:/?#%")),
        (":a+b%2B%20c", some("", "a+b+ c")),
        (":p%C3%A4ss", some("", "p\u{e4}ss")),
        (":p\u{e4}ss", some("", "p\u{e4}ss")),
    ] {
        let found = credentials_of(&format!("redis://{userinfo}@h:1/0"));
        assert_eq!(found, expected, "{userinfo}");
    }
    assert_eq!(credentials_of("redis://h"), (None, None));
    let found = credentials_of("unix:///s?password=a%26b=+&user=me");
    assert_eq!(found, some("me", "a&b=+"));
    assert_eq!(credentials_of("unix:///s?user=&password=p"), some("", "p"));
}

#[test]
fn sockets_are_read() {
    for scheme in ["unix", "redis+unix"] {
        let dsn = parse(&format!("{scheme}:///run/a%20b.sock?db=3"));
        let path = "/run/a b.sock".into();
        assert_eq!(dsn.endpoint, Endpoint::Unix { path });
        assert_eq!(dsn.database, 3);
    }
    assert!(Dsn::parse(&format!("unix:///{}", "x".repeat(106))).is_ok());
}

#[test]
fn tls_is_for_the_host_unless_told_otherwise() {
    let tls = |text| parse(text).tls.unwrap();
    for (text, server_name, ca_file) in [
        ("rediss://cache.example:6380", "cache.example", None),
        ("rediss://[::1]", "::1", None),
        ("rediss://1.2.3.4?servername=a.b", "a.b", None),
        (
            "rediss://h?cafile=/etc/c++/a%20b.pem",
            "h",
            Some("/etc/c++/a b.pem"),
        ),
    ] {
        let expected = Tls {
            ca_file: ca_file.map(PathBuf::from),
            identity: None,
            server_name: server_name.to_owned(),
        };
        assert_eq!(tls(text), expected, "{text}");
    }
}

#[test]
fn public_names_show_where_and_not_who() {
    for (text, expected) in [
        ("redis://u:hunter2@H", "redis://h:6379/0"),
        ("redis://:hunter2@[::1]:1/4", "redis://[::1]:1/4"),
        (
            "rediss://hunter2:@h:6380/2?servername=x",
            "rediss://h:6380/2",
        ),
        (
            "unix:///a%3F?user=u&password=hunter2&db=1",
            "unix:///a%3F?db=1",
        ),
        (
            "redis+cluster://hunter2:x@H,i:1/0?hash_tags=1",
            "redis+cluster://h:6379,i:1",
        ),
        (
            "redis+ring://u:hunter2@H,i:1/3?weights=1,1",
            "redis+ring://h:6379,i:1/3",
        ),
        (
            "rediss+ring://:hunter2@h,i?weights=2,1",
            "rediss+ring://h:6379,i:6379/0?weights=2,1",
        ),
        (
            "rediss+sentinel://u:hunter2@h/p?sentinel_password=hunter2",
            "rediss+sentinel://h:26379/p/0",
        ),
    ] {
        let dsn = parse(text);
        assert_eq!(dsn.public_name(), expected);
        assert_eq!(parse(expected).endpoint, dsn.endpoint);
    }
    assert!(!format!("{:#?}", parse("redis://u:hunter2@h")).contains("hunter2"));
}

#[test]
fn fleets_are_read() {
    let fleet = |text| *parse(text).fleet.unwrap();
    let cluster = fleet("redis+cluster://me:pw@A:1,[::1]/?hash_tags=1");
    assert_eq!(cluster.kind, FleetKind::Cluster { hash_tags: true });
    assert_eq!(
        cluster.seeds,
        [
            parse("redis://me:pw@a:1"),
            parse("redis://me:pw@[::1]:6379")
        ]
    );
    let text = "rediss+sentinel://:pw@s1,s2:3/my.primary/4?sentinel_password=x&cafile=/c";
    let sentinels = fleet(text);
    let primary = "my.primary".to_owned();
    assert_eq!(sentinels.kind, FleetKind::Sentinel { primary });
    let expected = ["s1:26379", "s2:3"].map(|host| parse(&format!("rediss://:x@{host}?cafile=/c")));
    assert_eq!(sentinels.seeds, expected);
    let dsn = parse(text);
    assert_eq!(dsn.database, 4);
    let node = dsn.at(
        Endpoint::parse_authority("n:5", 1).unwrap(),
        sentinels.server_name.as_ref(),
    );
    assert_eq!(node, parse("rediss://:pw@n:5/4?cafile=/c"));
    let named = fleet("rediss+cluster://h,i?servername=all.example");
    for seed in named.seeds {
        assert_eq!(seed.tls.unwrap().server_name, "all.example");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = Dsn::parse(&text);
    }

    #[test]
    fn any_text_of_the_right_letters_is_read_or_refused(
        text in "(redis|rediss|unix|redis\\+cluster|redis\\+ring|rediss\\+sentinel)://[a-b1,:@/?#%&=\\[\\].+\u{e4}]{0,30}"
    ) {
        if let Ok(dsn) = Dsn::parse(&text) {
            prop_assert_eq!(parse(&dsn.public_name()).endpoint, dsn.endpoint);
        }
    }

    #[test]
    fn an_encoded_address_parses_back(
        user in "\\PC{0,12}",
        password in "\\PC{1,12}",
        path in "(/[^\\pC/]{1,8}){1,3}",
        host in "[a-z0-9][a-z0-9._-]{0,20}",
        port in 1..=u16::MAX,
        database in 0..=MAX_DATABASE,
    ) {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let credentials = (Some(user.clone()).filter(|user| !user.is_empty()), Some(Secret::new(&*password)));
        let (user, password) = (encode(&user), encode(&password));

        let dsn = parse(&format!("redis://{user}:{password}@{host}:{port}/{database}"));
        prop_assert_eq!(&dsn.endpoint, &Endpoint::Tcp { host, port });
        prop_assert_eq!((&dsn.user, &dsn.password), (&credentials.0, &credentials.1));
        prop_assert_eq!(dsn.database, database);

        let encoded = format!("/{}", encode(&path[1..]));
        let dsn = parse(&format!("unix://{encoded}?db={database}&user={user}&password={password}"));
        prop_assert_eq!(&dsn.endpoint, &Endpoint::Unix { path: path.into() });
        prop_assert_eq!((&dsn.user, &dsn.password), (&credentials.0, &credentials.1));
        prop_assert_eq!(dsn.database, database);
    }
}

#[test]
fn each_address_may_say_how_far_its_users_take_ahead() {
    let plain = Dsn::parse("redis+cluster://h?hash_tags=1").unwrap();
    let text = "redis+cluster://h?hash_tags=1&take_ahead=0.25";
    assert_eq!(
        Dsn::parse(text).unwrap(),
        plain,
        "it is no part of the address"
    );
    for (query, ticks) in [
        ("", Ok(0)),
        ("?take_ahead=0.25", Ok(gcra::TICKS_PER_SECOND / 4)),
        ("?take_ahead=1", Ok(gcra::TICKS_PER_SECOND)),
        ("?take_ahead=1.001", Err(DsnError::TakeAhead)),
        ("?take_ahead=-1", Err(DsnError::TakeAhead)),
        ("?take_ahead=nan", Err(DsnError::TakeAhead)),
        ("?take_ahead=fast", Err(DsnError::TakeAhead)),
        ("?take_ahead", Err(DsnError::NoValue)),
    ] {
        for scheme in [
            "redis://h",
            "rediss://h",
            "unix:///s",
            "redis+sentinel://h/p",
        ] {
            assert_eq!(
                Dsn::take_ahead(&format!("{scheme}{query}")),
                ticks,
                "{query}"
            );
        }
    }
}

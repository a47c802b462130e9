//! Tests the guard's rules on random requests and settings. A client must not be able to choose the
//! bucket that counts it.
#![allow(clippy::unwrap_used)]

use guard::{Client, GuardedRequest, Networks, Rule, Target};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The variables of a request by name.
struct Variables<'a>(Vec<(&'static CStr, &'a [u8])>);

impl GuardedRequest for Variables<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        let variable = self.0.iter().find(|variable| variable.0 == name);
        variable.map(|variable| variable.1)
    }

    fn script(&self) -> &[u8] {
        self.variable(c"SCRIPT_FILENAME").unwrap_or_default()
    }
}

fn client(peer: &[u8], forwarded: &[u8], trusted: &str) -> Client {
    let variables = vec![(c"REMOTE_ADDR", peer), (c"HTTP_X_FORWARDED_FOR", forwarded)];
    Client::of(&Variables(variables), &Networks::parse(trusted).unwrap())
}

/// Returns the identifier of the bucket of `limit` for a request with these variables.
fn identifier(limit: &str, variables: Vec<(&'static CStr, &[u8])>) -> Vec<u8> {
    let request = Variables(variables);
    let limits = Rule::parse(limit).unwrap();
    limits[0].identifier(&request, Client::of(&request, &Networks::default()))
}

fn by_text(address: &str) -> Vec<u8> {
    identifier("ip 1/second", vec![(c"REMOTE_ADDR", address.as_bytes())])
}

fn by_ip(address: impl Into<IpAddr>) -> Vec<u8> {
    by_text(&address.into().to_string())
}

fn known(address: &str) -> Client {
    Client::Known(address.parse().unwrap())
}

/// Returns the configuration of a law, tried `cases` times from a fixed seed.
fn tried(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x67_7561_7264),
        ..ProptestConfig::default()
    }
}

/// Addresses that no test trusts.
fn strangers() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 3]>().prop_map(|[b, c, d]| Ipv4Addr::new(203, b, c, d).into()),
        any::<u64>()
            .prop_map(|low| Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(low)).into()),
    ]
}

/// Text that a client may send as a header, often with parts of a valid header.
fn headers() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        any::<Vec<u8>>(),
        Just(b",".to_vec()),
        Just(b" 10.0.0.1 ".to_vec()),
        Just(b"203.0.113.1:80".to_vec()),
        Just(b"[2001:db8::1]".to_vec()),
        Just(b"unknown".to_vec()),
    ];
    vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(tried(2000))]

    #[test]
    fn a_client_behind_proxies_is_found_whatever_it_sends(
        sent in headers(),
        stranger in strangers(),
        proxies in vec(any::<[u8; 3]>(), 0..4),
    ) {
        // Each proxy appends the address of its peer.
        let mut header = sent;
        let mut peer = stranger.to_string();
        for [b, c, d] in proxies {
            if !header.is_empty() {
                header.push(b',');
            }
            header.extend(peer.as_bytes());
            peer = Ipv4Addr::new(10, b, c, d).to_string();
        }
        let found = client(peer.as_bytes(), &header, "10.0.0.0/8");
        prop_assert_eq!(found, Client::Known(stranger));
        for trusted in ["10.0.0.0/8", ""] {
            prop_assert_eq!(client(stranger.to_string().as_bytes(), &header, trusted), found);
        }
    }

    #[test]
    fn any_header_from_a_proxy_names_the_proxy_or_an_address_in_the_header(sent in headers()) {
        let Client::Known(found) = client(b"10.0.0.1", &sent, "10.0.0.0/8") else {
            panic!("the peer is valid");
        };
        let parts = sent.split(|&byte| byte == b',').map(String::from_utf8_lossy);
        let mut named = parts.map(|part| part.trim_matches([' ', '\t', '[', ']']).to_owned());
        prop_assert!(found == Ipv4Addr::new(10, 0, 0, 1)
            || named.any(|part| part.starts_with(&found.to_string()) || part.parse::<IpAddr>().is_ok_and(|it| it.to_canonical() == found)));
    }

    #[test]
    fn ipv6_clients_are_counted_by_their_first_64_bits(bits in any::<u128>(), low in any::<u64>(), flip in 64u32..128) {
        // Leaves out mapped addresses, which are IPv4 addresses.
        let bits = bits | 1 << 127;
        let neighbour = bits >> 64 << 64 | u128::from(low);
        prop_assert_eq!(by_ip(Ipv6Addr::from_bits(bits)), by_ip(Ipv6Addr::from_bits(neighbour)));
        let other = (bits ^ 1 << flip) | 1 << 126;
        let mine = bits | 1 << 126;
        prop_assert_eq!(by_ip(Ipv6Addr::from_bits(mine)) == by_ip(Ipv6Addr::from_bits(other)), mine == other);
    }

    #[test]
    fn mapped_addresses_are_ipv4_addresses(a in any::<u32>(), b in any::<u32>()) {
        let (a, b) = (Ipv4Addr::from_bits(a), Ipv4Addr::from_bits(b));
        prop_assert_eq!(by_ip(a), by_ip(a.to_ipv6_mapped()));
        prop_assert_eq!(by_ip(a) == by_ip(b), a == b);
    }

    #[test]
    fn combinations_of_values_have_different_identifiers(
        one in ["[ab ]{0,3}", "[ab ]{0,3}", "[ab ]{0,3}"],
        other in ["[ab ]{0,3}", "[ab ]{0,3}", "[ab ]{0,3}"],
    ) {
        let identifier = |[a, b, c]: &[String; 3]| identifier("header:A+header:B+header:Content-Type 1/second", vec![
            (c"HTTP_A", a.as_bytes()), (c"HTTP_B", b.as_bytes()), (c"CONTENT_TYPE", c.as_bytes()),
        ]);
        prop_assert_eq!(identifier(&one) == identifier(&other), one == other);
    }

    #[test]
    fn a_path_has_one_identifier_however_it_is_spelled(
        segments in vec("[a-z]{1,3}", 0..4),
        spelling in vec((0u8..8, any::<u8>()), 4),
        query in "(\\?[a-z/.%]{0,5})?",
    ) {
        // A request for a folder runs the script /index.php.
        let plain = if segments.is_empty() { "/index.php".to_owned() } else { format!("/{}", segments.join("/")) };
        let mut spelled = String::new();
        for (segment, (way, which)) in segments.iter().zip(spelling) {
            let before = ["/", "//", "/./", "/x/../", "/%2e/", "%2F", "/x/%2E./", "/"][usize::from(way)];
            let at = usize::from(which) % segment.len();
            let escaped = format!("{}%{:02x}{}", &segment[..at], segment.as_bytes()[at], &segment[at + 1..]);
            // parse_url() reads a host after two slashes at the beginning.
            spelled += if spelled.is_empty() && before == "//" { "/" } else { before };
            spelled += if which > 127 { &escaped } else { segment };
        }
        spelled += if segments.is_empty() { "/" } else { "" };
        spelled += &query;
        let variables = vec![(c"REQUEST_URI", spelled.as_bytes()), (c"SCRIPT_NAME", b"/index.php")];
        prop_assert_eq!(identifier("path 1/second", variables.clone()), plain.as_bytes(), "{}", spelled);
        for condition in [plain.clone(), format!("{plain}*"), "/*".to_owned()] {
            let limits = Rule::parse(&format!("on {condition} ip 1/second")).unwrap();
            prop_assert!(limits[0].counts(&Target::of(&Variables(variables.clone()))), "{} {}", condition, spelled);
            // The spelling exempts nothing. The cookie alone does.
            for (cookie, is_counted) in [("b=1", true), ("a=1", false)] {
                let mut variables = variables.clone();
                variables.push((c"HTTP_COOKIE", cookie.as_bytes()));
                let limits = Rule::parse(&format!("on {condition} unless cookie a ip 1/second")).unwrap();
                let counts = limits[0].counts(&Target::of(&Variables(variables)));
                prop_assert_eq!(counts, is_counted, "{} {}", condition, spelled);
            }
        }
    }

    #[test]
    fn a_cookie_of_the_setting_exempts_wherever_the_client_sends_it(
        name in "[!-~é]{1,6}", value in "(=[ -~]{0,4})?", before in "[a-c=; .,\\[\\]\"]{0,12}", after in "[a-c=; .,\\[\\]\"]{0,12}",
    ) {
        let name = name.replace(['*', '[', '=', ',', ';', '%', '"'], "d");
        let value = value.replace(';', "");
        let without = format!("{before};{after}");
        let with = format!("{before}; {name}{value};{after}");
        let counts = |condition: &str, cookies: &str| {
            let limits = Rule::parse(&format!("unless cookie {condition} all 1/day")).unwrap();
            limits[0].counts(&Target::of(&Variables(vec![(c"HTTP_COOKIE", cookies.as_bytes())])))
        };
        for condition in [name.clone(), format!("{name}*"), format!("zz,{name}")] {
            prop_assert!(!counts(&condition, &with), "{} {}", condition, with);
        }
        for condition in ["d", "d*", "cd"] {
            prop_assert!(counts(condition, &without), "{} {}", condition, without);
        }
    }

    #[test]
    fn an_agent_is_counted_if_it_contains_the_text_in_any_case(
        text in "[a-cA-C( é]{1,3}", agent in proptest::option::of("[a-cA-C( é]{0,12}"),
    ) {
        let limits = Rule::parse(&format!("agent {} all 1/day", text.replace(' ', "%20"))).unwrap();
        let variables = agent.iter().map(|agent| (c"HTTP_USER_AGENT", agent.as_bytes()));
        let counts = limits[0].counts(&Target::of(&Variables(variables.collect())));
        let lower = |text: &str| text.to_ascii_lowercase();
        prop_assert_eq!(counts, agent.is_some_and(|agent| lower(&agent).contains(&lower(&text))));
    }

    #[test]
    fn a_network_is_the_first_24_or_48_bits(v4 in any::<u32>(), v6 in any::<u128>(), flip in 0u32..128) {
        let by_net = |address: IpAddr| {
            let address = address.to_string();
            identifier("net 1/second", vec![(c"REMOTE_ADDR", address.as_bytes())])
        };
        // Neither a mapped address nor one of NAT64.
        let v6 = v6 >> 3 | 1 << 125;
        let of = |bits| by_net(Ipv6Addr::from_bits(bits).into());
        prop_assert_eq!(of(v6) == of(v6 ^ 1 << (127 - flip)), flip >= 48);
        let of = |bits| by_net(Ipv4Addr::from_bits(bits).into());
        prop_assert_eq!(of(v4) == of(v4 ^ 1 << (31 - flip % 32)), flip % 32 >= 24);
        prop_assert_eq!(of(v4), by_net(Ipv4Addr::from_bits(v4).to_ipv6_mapped().into()));
    }

    #[test]
    fn any_bytes_are_a_request(
        address in headers(), uri in any::<Vec<u8>>(), script in any::<Vec<u8>>(), name in any::<Vec<u8>>(),
    ) {
        let made = identifier("ip+path+host+header:Host 1/second", vec![
            (c"REMOTE_ADDR", &address), (c"REQUEST_URI", &uri), (c"SCRIPT_NAME", &script),
            (c"SERVER_NAME", &name), (c"HTTP_HOST", &name),
        ]);
        prop_assert!(made.len() <= uri.len() + script.len() + 2 * name.len() + 100);
    }

    #[test]
    fn a_limit_is_equal_to_its_canonical_form(
        is_net in any::<bool>(),
        keys in prop::sample::subsequence(vec!["ip", "host", "path", "Header:A-b", "HEADER:C"], 1..=5).prop_shuffle(),
        count in 1u64..2000,
        unit in prop::sample::select(vec!["second", "Minute", "hour", "DAY"]),
        burst in proptest::option::of(1u64..2000),
        blanks in prop::sample::select(vec![" ", "\t", "   "]),
        condition in "(on ((GET|POST)(,(GET|PUT)){0,2} )?/[a-z%.é/]{0,6}\\*?(,/[ab%2C/]{0,6}\\*?){0,2} )?",
        cookies in "(unless cookie [a-z%.é\"]{1,6}\\*?(,[ab]{1,2}\\*?){0,3} )?",
        agents in "(agent [a-zA-Z(%.é=]{1,6}(,[aAbB]{1,2}){0,3} )?",
        end in "( leave 1[0-9]? on (GET )?/[ab%2C]{0,4}\\*?(,/[ab]){0,2}){0,2}( name [a-zA-Z0-9_-]{1,32})?",
    ) {
        let keys = keys.join("+").replace("ip", if is_net { "net" } else { "ip" });
        let burst = burst.map_or(String::new(), |burst| format!("{blanks}burst{blanks}{burst}"));
        let count = if end.is_empty() { count } else { count + 20 };
        let burst = if end.is_empty() { burst } else { String::new() };
        let text = format!("{blanks}{condition}{cookies}{agents}{keys}{blanks}{count}/{unit}{burst}{end}{blanks}");
        let limits = Rule::parse(&text).unwrap();
        prop_assert_eq!(limits.len(), 1);
        prop_assert_eq!(&Rule::parse(limits[0].name()).unwrap(), &limits);
    }

    #[test]
    fn errors_are_inside_the_text(text in "(on )?((unless )?(cookie )?|agent )[ipath+;/ 0-9secondburst:é,.*?POST%\\[]{0,40}( leave 1 on /)?( name a)?|\\PC{0,20}") {
        if let Err(error) = Rule::parse(&text) {
            prop_assert!(text.is_char_boundary(error.at), "{:?}", error);
        }
        if let Err(error) = Networks::parse(&text) {
            prop_assert!(text.is_char_boundary(error.at), "{:?}", error);
        }
    }

    #[test]
    fn a_network_contains_what_equals_it_in_every_bit_of_its_prefix(
        network in any::<u32>(), flip in 0u32..32, prefix in 0u32..=32,
    ) {
        let list = Networks::parse(&format!("{}/{prefix}", Ipv4Addr::from_bits(network))).unwrap();
        let other = Ipv4Addr::from_bits(network ^ 1 << (31 - flip));
        prop_assert_eq!(list.contains(other.into()), flip >= prefix);
        let wide = Networks::parse(&format!("{}/{}", Ipv4Addr::from_bits(network).to_ipv6_mapped(), prefix + 96)).unwrap();
        prop_assert_eq!(wide, list);
    }
}

#[test]
fn the_walk_stops_at_the_first_address_that_no_proxy_has_vouched_for() {
    for (forwarded, expected) in [
        ("", "10.0.0.1"),
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.7, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("198.51.100.7,203.0.113.9 ,\t10.0.0.2", "203.0.113.9"),
        // If all addresses are trusted, the first one is the client.
        ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
        // Malformed text ends the walk at the proxy that passed it on.
        ("203.0.113.9, unknown, 10.0.0.2", "10.0.0.2"),
        // Empty elements do not end it.
        ("203.0.113.9, ,10.0.0.2", "203.0.113.9"),
        (",203.0.113.9,\t", "203.0.113.9"),
        (" , ", "10.0.0.1"),
        ("203.0.113.9 10.0.0.2", "10.0.0.1"),
        ("\"203.0.113.9\"", "10.0.0.1"),
        ("for=203.0.113.9", "10.0.0.1"),
        ("010.0.0.2", "10.0.0.1"),
        ("10.2", "10.0.0.1"),
        ("fe80::1%eth0", "10.0.0.1"),
        ("[203.0.113.9]", "10.0.0.1"),
        ("203.0.113.9:", "10.0.0.1"),
        ("203.0.113.9:99999", "10.0.0.1"),
        // Some proxies add ports and brackets.
        ("203.0.113.9:1234", "203.0.113.9"),
        ("[2001:DB8::9]:1234, [::ffff:10.0.0.2]", "2001:db8::9"),
        ("203.0.113.9, ::ffff:10.0.0.2", "203.0.113.9"),
        ("::FFFF:203.0.113.9", "203.0.113.9"),
    ] {
        let found = client(b"10.0.0.1", forwarded.as_bytes(), "10.0.0.0/8");
        assert_eq!(found, known(expected), "{forwarded}");
    }
}

#[test]
fn a_peer_without_an_address_is_local_and_invalid_peers_share_a_bucket() {
    assert_eq!(client(b"", b"203.0.113.9", "10.0.0.0/8"), Client::Local);
    assert_eq!(
        client(b"unix:", b"203.0.113.9", "10.0.0.0/8"),
        Client::Local
    );
    assert_eq!(client(b"fe80::1%eth0", b"", ""), known("fe80::1"));
    assert_eq!(client(b"::ffff:10.0.0.1", b"::1", "10.0.0.1"), known("::1"));
    for peer in [
        " ",
        "%",
        "x",
        "unix:x",
        "203.0.113.9, 10.0.0.1",
        "1.2.3",
        "\0",
        "\u{ff}",
    ] {
        assert_eq!(
            client(peer.as_bytes(), b"203.0.113.9", "0.0.0.0/0"),
            Client::Malformed,
            "{peer}"
        );
        assert_eq!(by_text(peer), b"malformed");
    }
}

#[test]
fn a_client_of_nat64_is_its_ipv4_address_but_no_proxy() {
    assert_eq!(by_text("64:ff9b::8.8.8.8"), by_text("8.8.8.8"));
    assert_ne!(by_text("64:ff9b::8.8.8.8"), by_text("64:ff9b::8.8.4.4"));
    // No translator makes an address with a private IPv4 address. So it counts as an IPv6 address,
    // and all such addresses of the prefix's /64 are one client.
    assert_eq!(by_text("64:ff9b::10.0.0.5"), b"64:ff9b::/64");
    let inner = "64:ff9b::10.0.0.5";
    assert_eq!(
        client(inner.as_bytes(), b"203.0.113.9", "10.0.0.0/8"),
        known(inner)
    );
    let global = "64:ff9b::8.8.8.8";
    assert_eq!(
        client(global.as_bytes(), b"203.0.113.9", "8.0.0.0/8"),
        known(global)
    );
}

#[test]
fn identifiers_begin_with_readable_values() {
    let variables = || -> Vec<(&CStr, &[u8])> {
        vec![
            (c"REMOTE_ADDR", b"2001:db8:1:2:3::4"),
            (c"SERVER_NAME", b"Example.ORG."),
            (c"REQUEST_URI", b"/a?b"),
            (c"HTTP_X_API_KEY", b"K"),
        ]
    };
    for (keys, expected) in [
        ("ip", "2001:db8:1:2::/64"),
        ("host", "example.org"),
        ("path", "/a"),
        ("header:X-API-Key", "K"),
        ("header:Absent", ""),
        (
            "ip+host+path+header:x_api_key",
            "2001:db8:1:2::/64 example.org /a K",
        ),
    ] {
        let made = identifier(&format!("{keys} 1/second"), variables());
        assert!(made.starts_with(expected.as_bytes()), "{keys}: {made:?}");
        let parts = keys.split('+').count();
        assert_eq!(
            made.len(),
            expected.len() + if parts > 1 { 8 * parts } else { 0 }
        );
    }
}

/// The name chooses the buckets of a limit. If it changed, an upgrade would fill all of them.
#[test]
fn a_limit_without_a_condition_has_the_name_that_it_always_had() {
    let text = "ip 100/minute burst 20; IP+Path 10/SECOND ;host 5/hour;path+header:X_Api-Key 7/Day \
        burst 70; ip+host+path+header:a+header:Content-Type 1000000000/day burst 1";
    let limits = Rule::parse(text).unwrap();
    let names: Vec<_> = limits.iter().map(Rule::name).collect();
    assert_eq!(
        names,
        [
            "ip 100/minute burst 20",
            "ip+path 10/second burst 10",
            "host 5/hour burst 5",
            "path+header:x-api-key 7/day burst 70",
            "ip+host+path+header:a+header:content-type 1000000000/day burst 1",
        ]
    );
}

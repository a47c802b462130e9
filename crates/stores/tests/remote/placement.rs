//! Tests the names of the items in memcached, and the choice of the servers that hold the items.

use crate::caller::{CAPACITY, Caller, PLAIN, take};
use stores::remote::Cause;
use testkit::Memcached;

#[test]
fn an_identifier_is_never_a_command() {
    let memcached = Memcached::start_tcp(&[]);
    let caller = Caller::memcached(&format!("127.0.0.1:{}", memcached.port()), PLAIN);
    assert!(caller.grants("canary", &take(CAPACITY)));
    let before = memcached.stats();
    let identifiers: [&[u8]; 8] = [
        b"x 0 0 1\r\nflush_all\r\n",
        b"x\r\nflush_all\r\n",
        b"x\nflush_all\n",
        b"x\rflush_all\r",
        b"x v\r\nmd t:canary",
        b" ",
        b"x\0\r\nverbosity 1\r\n",
        b"x T0 I MS b",
    ];
    for identifier in identifiers {
        for left in (0..CAPACITY).rev() {
            let answer = caller.ask(identifier, &take(1)).unwrap();
            assert!(answer.value.granted(), "{identifier:?} {left}");
        }
        assert!(!caller.ask(identifier, &take(1)).unwrap().value.granted());
    }
    let after = memcached.stats();
    for counter in ["cmd_flush", "cmd_touch", "delete_hits", "delete_misses"] {
        assert_eq!(before[counter], after[counter], "{counter}");
    }
    assert_eq!(after["curr_items"], "9");
    assert_eq!(caller.left("canary"), 0);
    // Control: if the client did not encode the identifier, the server would execute the command.
    memcached.command("get x 0 0 1\r\nflush_all", "OK");
    assert_eq!(caller.left("canary"), CAPACITY);
}

#[test]
fn a_dead_server_is_not_the_others_fault() {
    let mut servers = [(); 2].map(|()| Memcached::start_tcp(&[]));
    let ports = [servers[0].port(), servers[1].port()];
    let list = format!("127.0.0.1:{},127.0.0.1:{}", ports[0], ports[1]);
    let caller = Caller::memcached(&list, PLAIN);
    let identifiers: Vec<_> = (0..100).map(|number| format!("id{number}")).collect();
    for identifier in &identifiers {
        assert!(caller.grants(identifier, &take(1)));
    }
    let items = |server: &Memcached| -> usize { server.stats()["curr_items"].parse().unwrap() };
    let kept = [items(&servers[0]), items(&servers[1])];
    assert_eq!(kept[0] + kept[1], 100);
    assert!(kept.iter().all(|&kept| kept > 20), "{kept:?}");
    servers[0].kill();
    let (mut lost, mut waited) = (0, 0);
    for identifier in &identifiers {
        match caller.ask(identifier.as_bytes(), &take(1)) {
            Ok(answer) => assert!(answer.value.granted()),
            Err(failure) => {
                assert!(failure.store.contains(&ports[0].to_string()), "{failure}");
                assert!(matches!(failure.cause, Cause::Connect(_) | Cause::Waiting));
                lost += 1;
                waited += usize::from(matches!(failure.cause, Cause::Waiting));
            }
        }
    }
    assert_eq!(lost, kept[0], "and no other");
    assert!(waited > 0, "its breaker has opened");
    let states = caller.host.breakers().states();
    let open = states.iter().filter(|state| state.open_until.is_some());
    assert_eq!((states.len(), open.count()), (2, 1));
}

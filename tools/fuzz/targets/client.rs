//! Tests random server addresses and passwords of a connected PHP client.
//!
//! The test checks that every accepted address can also be written as a DSN. It also checks that no
//! error message and no name contains the password.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stores::remote::redis::dsn::Dsn;

type Input = (String, u16, u32, Option<String>, Option<String>);

fuzz_target!(|input: Input| {
    let (host, port, database, user, password) = input;
    // This word marks the password, so that a leak can be recognised.
    let password = password.map(|password| format!("geheim{password}"));
    let shows = |text: &str| text.contains("geheim") && !host.to_lowercase().contains("geheim");
    match Dsn::of_client(&host, port, database, user.clone(), password.clone()) {
        Ok(dsn) => {
            let name = dsn.public_name();
            assert!(!shows(&name), "{name}");
            let again = Dsn::parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(again.public_name(), name);
            assert_eq!(
                (&again.endpoint, again.database, again.tls.is_some()),
                (&dsn.endpoint, dsn.database, dsn.tls.is_some())
            );
            assert_eq!(dsn.database, database);
            assert_eq!(dsn.user, user.filter(|user| !user.is_empty()));
            let taken = dsn
                .password
                .as_ref()
                .map(|password| password.expose().to_owned());
            assert_eq!(taken, password);
            let user = dsn.user.clone().unwrap_or_default();
            assert!(user.contains("geheim") || !shows(&format!("{dsn:?}")));
        }
        Err(error) => assert!(!shows(&format!("{error} {error:?}"))),
    }
});

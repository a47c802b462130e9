//! Tests random text as a DSN.
//!
//! Checks that the error for an invalid DSN does not repeat the DSN. Also checks that the public
//! name of a valid DSN is itself a DSN, without a password and with the same public name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stores::remote::redis::dsn::Dsn;

fuzz_target!(|text: &str| {
    match Dsn::parse(text) {
        Ok(dsn) => {
            let name = dsn.public_name();
            let again = Dsn::parse(&name).expect("a public name is a DSN");
            assert_eq!(again.public_name(), name);
            assert_eq!(
                (again.endpoint, again.database),
                (dsn.endpoint, dsn.database)
            );
            assert!(again.password.is_none() && again.user.is_none());
        }
        Err(error) => {
            let told = error.to_string();
            for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
                // Shorter words may be part of the message itself.
                assert!(word.len() < 12 || !told.contains(word), "{told}");
            }
        }
    }
});

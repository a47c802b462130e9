//! Tells the code which PHP it is built against.

use std::error::Error;
use std::process::Command;

/// PHP's releases from which on something is different, as `php-config --vernum` has them.
const RELEASES: [(u32, &str); 2] = [(80_300, "php83"), (80_400, "php84")];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=PHP_CONFIG");
    let config = std::env::var("PHP_CONFIG").unwrap_or_else(|_| "php-config".to_owned());
    let output = Command::new(&config).arg("--vernum").output();
    let output = output.map_err(|error| format!("{config}: {error}"))?.stdout;
    let version: u32 = String::from_utf8(output)?.trim().parse()?;
    for (first, name) in RELEASES {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if version >= first {
            println!("cargo::rustc-cfg={name}");
        }
    }
    Ok(())
}

//! Tells the code which PHP it is built against.

/// The engine's releases by their module API number, newest first.
const RELEASES: [(u32, &str); 2] = [(20_240_924, "php84"), (20_230_831, "php83")];

fn main() {
    println!("cargo::rerun-if-env-changed=PHP_CONFIG");
    for (_, release) in RELEASES {
        println!("cargo::rustc-check-cfg=cfg({release})");
    }
    for (number, release) in RELEASES {
        if api_number().is_some_and(|api| api >= number) {
            println!("cargo::rustc-cfg={release}");
        }
    }
}

fn api_number() -> Option<u32> {
    let config = std::env::var("PHP_CONFIG").unwrap_or_else(|_| "php-config".to_owned());
    let output = std::process::Command::new(config)
        .arg("--phpapi")
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

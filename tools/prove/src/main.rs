//! `prove FOLDER`: judges the logs in a folder.
//!
//! Exits with 0 if all rules hold and with 1 if a rule is broken. Exits with 2 if the logs prove
//! nothing. Logs prove nothing if they cannot be read, hold no grant, or have too large allowances.

use anyhow::bail;
use prove::log::Log;
use prove::verdict::Verdict;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    judge().unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::from(2)
    })
}

fn judge() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        bail!("usage: prove FOLDER");
    };
    let log = Log::read(Path::new(&folder)).map_err(anyhow::Error::msg)?;
    let mut verdict = Verdict::of(&log);
    println!("{verdict}");
    if verdict.is_convicted() {
        // Faults of rule 1 come first, so that others do not hide them.
        verdict.faults.sort();
        for fault in verdict.faults.iter().take(6) {
            println!("  {fault}");
        }
        return Ok(ExitCode::from(1));
    }
    if verdict.is_slack() || verdict.granted == 0 {
        return Ok(ExitCode::from(2));
    }
    Ok(ExitCode::SUCCESS)
}

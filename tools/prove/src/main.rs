//! `prove LOG`: judges a log, which is a file or a folder.
//!
//! Exits with 0 if all rules hold and with 1 if a rule is broken. Exits with 2 if the log proves
//! nothing. A log proves nothing if it cannot be read, holds no grant, or has too large allowances.

use anyhow::bail;
use prove::log::{self, Log};
use prove::permits::{self, Limits};
use prove::verdict::Verdict;
use std::fmt::Display;
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
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        bail!("usage: prove LOG");
    };
    let (rules, files) = log::read(Path::new(&path)).map_err(anyhow::Error::msg)?;
    let (is_convicted, is_evidence) = if let Some(limits) = Limits::from_rules(&rules) {
        let verdict = permits::Verdict::of(&files, &limits).map_err(anyhow::Error::msg)?;
        say(&verdict, verdict.is_convicted(), verdict.messages.clone());
        (verdict.is_convicted(), verdict.is_evidence())
    } else {
        let mut log = Log::from_rules(&rules).map_err(anyhow::Error::msg)?;
        log.add(&files).map_err(anyhow::Error::msg)?;
        let verdict = Verdict::of(&log);
        say(&verdict, verdict.is_convicted(), verdict.faults.clone());
        let is_evidence = !verdict.is_slack() && verdict.granted > 0;
        (verdict.is_convicted(), is_evidence)
    };
    Ok(match (is_convicted, is_evidence) {
        (true, _) => ExitCode::from(1),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(2),
    })
}

/// Prints the verdict, and its first faults if a rule was broken.
fn say(verdict: &impl Display, is_convicted: bool, mut faults: Vec<String>) {
    println!("{verdict}");
    if is_convicted {
        // Faults of rule 1 come first, so that others do not hide them.
        faults.sort();
        for fault in faults.iter().take(6) {
            println!("  {fault}");
        }
    }
}

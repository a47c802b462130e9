//! `prove FOLDER`: judges the logs in a folder. Ends with 0 when all rules hold, 1 when one is broken, and 2 when the
//! logs prove nothing: they cannot be read, are empty, or the rules allow too much.

use prove::log::Log;
use prove::verdict::Verdict;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: prove FOLDER");
        return ExitCode::from(2);
    };
    let log = match Log::read(Path::new(&folder)) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let verdict = Verdict::of(&log);
    println!("{verdict}");
    if verdict.is_convicted() {
        for fault in verdict.faults.iter().take(6) {
            println!("  {fault}");
        }
        ExitCode::from(1)
    } else if verdict.is_slack() || verdict.granted == 0 {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

//! The table of a history: time, host, worker, what.

use crate::history::History;
use crate::plan::Plan;
use crate::worker::Record;
use prove::call::{Outcome, TOKEN};

/// Describes a call that ended.
pub fn line(Record { bucket, call }: &Record) -> String {
    let outcome = match call.outcome {
        Outcome::Denied { retry_after } => {
            format!("denied, {:.6} s", retry_after.unwrap_or(0) as f64 / 1e9)
        }
        other => format!("{other:?}"),
    };
    let (tokens, floor, wait) = (call.cost / TOKEN, call.floor / TOKEN, call.wait);
    let length = (call.end - call.start) / 1000;
    let kind = call.kind;
    format!("b{bucket} {kind:?} {tokens} (floor {floor}, wait {wait}): {outcome}, {length} us")
}

/// Prints the table.
pub fn print(history: &History, plan: &Plan) {
    println!("{plan:#?}");
    println!("{:>16}  {:>4}  {:>6}  what", "seconds", "host", "worker");
    for (at, worker, what) in &history.lines {
        let (host, worker) = match *worker {
            usize::MAX => (String::new(), String::new()),
            worker => ((worker % plan.hosts).to_string(), worker.to_string()),
        };
        let seconds = *at as f64 / 1e9;
        println!("{seconds:>16.9}  {host:>4}  {worker:>6}  {what}");
    }
}

// This file is included by the targets that need a server. The server replies to every request with
// the same bytes and closes the connection.

use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use stores::remote::{StepRequest, Transport, Visit};
use gcra::{Put, Refill, Step, TICKS_PER_SECOND, Ticks, boot_clock};

static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

static SOCKET: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("tokenbucket-fuzz-{}.sock", std::process::id()));
    std::fs::remove_file(&path).ok();
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok() {
                let answer = ANSWER.lock().expect("no poison").clone();
                stream.write_all(&answer).ok();
            }
        }
    });
    path
});

/// Returns a visit to the only server. The visit ends after `ticks`.
fn visit<T: Transport>(store: &T, ticks: Ticks) -> Visit<'_, T> {
    Visit::to(store, b"", boot_clock() + ticks).expect("a server")
}

/// Returns three requests: a plain step, a step that charges denials and proposes a first state,
/// and a dry step.
fn requests() -> [StepRequest; 3] {
    let step = Step::new(1_000_000, 10_000_000);
    let request = |step, first, seen| StepRequest {
        first,
        seen,
        is_cached: true,
        ..StepRequest::new(b"name".to_vec(), step)
    };
    [
        request(step, None, None),
        request(
            Step {
                max_debt: 5_000_000,
                refill: Refill::Ticks(NonZero::new(1_000_000).expect("not 0")),
                ..step
            },
            Some(7_000),
            Some(5_000),
        ),
        request(step.dry(), None, Some(-5_000)),
    ]
}

/// Checks that arithmetic on the outcome does not overflow.
fn check(step: &Step, outcome: &gcra::Outcome) {
    let _ = step.retry_after(outcome.empty_at, outcome.now);
    let _ = step.reset_after(outcome.empty_at, outcome.now);
    let _ = step.available(outcome.empty_at, outcome.now);
}

const PUTS: [Put; 4] = [
    Put::refund(1_000_000, 10_000_000),
    Put::Reset { span: 10_000_000 },
    Put::Bootstrap { age: 5_000_000, span: gcra::store::UNKNOWN_SPAN },
    Put::Raise {
        age: -5_000_000,
        span: 10_000_000,
    },
];

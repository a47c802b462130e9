//! The segment of this process. It is created or found when the module starts. Workers inherit it.
//!
//! On USR2 a php-fpm master executes itself and starts its modules again. The master passes the
//! descriptor of its memfd and the nonce of the segment in the environment. So the new program
//! finds the old segment, and a reload resets no limit. A process ID could not replace the nonce,
//! because the ID changes when the master becomes a daemon.

use crate::ini::{self, SharedMemorySettings};
use crate::log::startup_warning;
use anyhow::{Context, ensure};
use segment::memory::{Backing, Layout, Segment, SegmentError};
use segment::slots::table::is_lock_free;
use segment::{Host, SharedMemory, host};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use zend::system::{self, Ending, Shared, Starting};

/// The environment variable that passes `descriptor:nonce` from one execution of a master to the
/// next.
const HANDOVER: &str = "TOKENBUCKET_SEGMENT";

static HOST: Shared<Host> = Shared::new();

/// The ID of the process that started the module, if the segment is passed on at an exec. 0 in a
/// worker, and 0 if the segment is not passed on.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

/// Returns the contents of this process's segment.
///
/// Returns `None` only before the module has started and after it has shut down.
#[inline]
pub fn host() -> Option<&'static Host> {
    HOST.get()
}

/// Returns the store in this process's segment. Returns `None` in the same cases as [`host`].
#[inline]
pub fn store() -> Option<&'static SharedMemory> {
    host().map(Host::slots)
}

/// Creates or finds the segment. Fails if no memory can be mapped, or if the processor has no
/// lock-free 128-bit compare-and-swap.
pub fn attach(starting: &Starting) -> anyhow::Result<()> {
    ensure!(
        is_lock_free(),
        "this processor has no lock-free 128-bit compare-and-swap"
    );
    let settings = ini::shared_memory();
    let contents = Host::new(settings.segment, |layout| {
        named(&settings, layout).map_or_else(|| private(starting, layout), Ok)
    });
    let host = contents.context("no shared memory")?;
    let host = if system::HAS_THREADS {
        host.counting_by_thread()
    } else {
        host
    };
    HOST.set(starting, host);
    host::share_addresses().context("no shared memory")?;
    Ok(())
}

/// Unmaps the segment from this process. Other processes keep their mappings.
///
/// This also runs in a master just before the master executes itself. In that case the segment's
/// file descriptor stays open.
pub fn detach(ending: &Ending) {
    host::release_addresses();
    let Some(host) = HOST.take(ending) else {
        return;
    };
    let segment = host.into_segment();
    if STARTED_BY.load(Relaxed) == 0 {
        drop(segment);
    } else {
        segment.leave();
    }
}

/// Returns the named segment. Returns `None` if the settings name no file. Warns and returns `None`
/// if the file cannot be used.
fn named(settings: &SharedMemorySettings, layout: Layout) -> Option<Segment> {
    let path = settings.path.as_ref()?;
    let existing = |size| settings.segment.layout_of(size);
    match Segment::named(path, settings.access, layout, existing) {
        Ok(segment) => Some(segment),
        Err(error) => {
            startup_warning(&format!(
                "the segment {} is refused ({error}); using private shared memory instead",
                path.display()
            ));
            None
        }
    }
}

/// Returns the segment that the master had before it executed itself, or a new private segment.
fn private(starting: &Starting, layout: Layout) -> Result<Segment, SegmentError> {
    let executes_itself = matches!(
        system::interface_name().as_str(),
        "fpm-fcgi" | "apache2handler"
    );
    if !executes_itself {
        return Segment::private(layout);
    }
    let adopted = handed_over().and_then(|(fd, nonce)| {
        Segment::adopt(fd, nonce, layout)
            .inspect_err(|error| {
                startup_warning(&format!(
                    "the segment from before the reload is refused ({error}); all buckets start full"
                ));
            })
            .ok()
    });
    let segment = match adopted {
        Some(segment) => segment,
        None => Segment::private(layout)?,
    };
    hand_over(starting, &segment);
    Ok(segment)
}

fn handed_over() -> Option<(i32, u64)> {
    let value = std::env::var(HANDOVER).ok()?;
    let (fd, nonce) = value.split_once(':')?;
    // The standard streams are never a segment.
    let fd = fd.parse().ok().filter(|&fd: &i32| fd > 2)?;
    Some((fd, u64::from_str_radix(nonce, 16).ok()?))
}

fn hand_over(starting: &Starting, segment: &Segment) {
    let Some(fd) = segment.descriptor() else {
        return;
    };
    if segment.keep_on_exec(true).is_ok() {
        system::set_environment(starting, HANDOVER, &format!("{fd}:{:x}", segment.nonce()));
        STARTED_BY.store(std::process::id(), Relaxed);
    }
}

/// Sets close-on-exec on the segment's descriptor in a worker. So programs that PHP code starts do
/// not inherit the descriptor.
///
/// This runs when a request begins and not after each fork, because a master also forks to become a
/// daemon.
pub fn request_begins() {
    if let Some(host) = host() {
        // PHP code of an earlier request may have closed a descriptor of the segment's file.
        host.permits().doubt_lock();
    }
    let started_by = STARTED_BY.load(Relaxed);
    if started_by == 0 || started_by == std::process::id() {
        return;
    }
    STARTED_BY.store(0, Relaxed);
    if let Some(host) = host() {
        // An error means that the descriptor is already closed, so programs cannot inherit it.
        host.segment().keep_on_exec(false).ok();
    }
}

/// Returns the kind of the segment's memory as a word, and the path of a named segment. The path is
/// empty for other segments.
pub fn backing(segment: &Segment) -> (&'static str, String) {
    match segment.backing() {
        Backing::Memfd(_) => ("memfd", String::new()),
        Backing::Anonymous => ("anonymous", String::new()),
        Backing::Named(path, _) => ("named", path.display().to_string()),
    }
}

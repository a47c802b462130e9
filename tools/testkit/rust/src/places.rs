//! The places of a run, which bound the load of all its steps together.
//!
//! `TEST_PLACES` is a folder of numbered files. A locked file is a place in use. The steps of
//! `scripts/test` share the folder, and `tools/testkit/php/places.php` uses it too.

use rustix::fs::{FlockOperation, flock};
use std::fs::{File, read_dir};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// Waits for places, and keeps them until this process and its forks end. Does nothing without
/// `TEST_PLACES`.
///
/// A process takes its places once: with some places taken, it could wait forever for more.
pub fn take_places(count: usize) {
    static TAKEN: OnceLock<Vec<File>> = OnceLock::new();
    TAKEN.get_or_init(|| {
        let folder = std::env::var_os("TEST_PLACES").filter(|folder| !folder.is_empty());
        folder.map_or_else(Vec::new, |folder| take(&folder.into(), count))
    });
}

fn take(folder: &PathBuf, count: usize) -> Vec<File> {
    let open = |path: PathBuf| File::options().write(true).open(path).unwrap();
    let paths = read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (mut free, door): (Vec<_>, Vec<_>) = paths.partition(|path| !path.ends_with("door"));
    // Only one process collects places, so two processes cannot wait for each other.
    let door: Vec<_> = door.into_iter().map(open).collect();
    flock(&door[0], FlockOperation::LockExclusive).unwrap();
    let count = count.min(free.len());
    let mut taken = Vec::new();
    loop {
        free.retain(|path| {
            let place = open(path.clone());
            let takes = taken.len() < count
                && flock(&place, FlockOperation::NonBlockingLockExclusive).is_ok();
            if takes {
                taken.push(place);
            }
            !takes
        });
        if taken.len() == count {
            return taken;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

//! Tests named segments. The first process creates the complete file, and every later process opens
//! that file.

use crate::{Folder, PRIVATE, empties, is_root, layout, mode_of, store};
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use tokenbucket_core::memory::{Access, Backing, Segment, SegmentError};

#[test]
fn a_second_opener_finds_the_buckets_of_the_first() {
    let folder = Folder::new();
    let first = Segment::named(&folder.file(), PRIVATE, layout()).unwrap();
    let nonce = first.nonce();
    assert!(matches!(first.backing(), Backing::Named(path) if *path == folder.file()));
    let first = store(first);
    assert!(empties(&first, b"key"));
    let second = store(Segment::named(&folder.file(), PRIVATE, layout()).unwrap());
    assert_eq!(second.segment().nonce(), nonce);
    assert!(!empties(&second, b"key"));
    // Drops both stores, so that no process has the file open, as after a restart. The file
    // remains.
    drop((first, second));
    let third = store(Segment::named(&folder.file(), PRIVATE, layout()).unwrap());
    assert_eq!(third.segment().nonce(), nonce);
    assert!(!empties(&third, b"key"));
}

#[test]
fn of_sixteen_who_make_it_at_once_one_wins() {
    for _ in 0..20 {
        let folder = Folder::new();
        let (path, start) = (folder.file(), Barrier::new(16));
        let nonces: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        Segment::named(&path, PRIVATE, layout()).unwrap().nonce()
                    })
                })
                .collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(nonces.iter().all(|nonce| *nonce == nonces[0]), "{nonces:?}");
        assert_eq!(folder.count(), 1);
    }
}

#[test]
fn every_page_is_there_and_nobody_else_may_touch_it() {
    let folder = Folder::new();
    let made = Segment::named(&folder.file(), PRIVATE, layout()).unwrap();
    let file = std::fs::metadata(folder.file()).unwrap();
    assert_eq!(file.size(), made.size() as u64);
    assert!(file.blocks() * 512 >= file.size(), "a hole is a SIGBUS");
    assert_eq!(mode_of(&folder.file()), 0o600);
}

#[test]
fn mode_and_group_are_as_asked_for_whatever_the_umask() {
    let folder = Folder::new();
    let group = if is_root() {
        12_345
    } else {
        rustix::process::getegid().as_raw()
    };
    let access = Access {
        mode: 0o666,
        group: Some(group),
    };
    Segment::named(&folder.file(), access, layout()).unwrap();
    assert_eq!(mode_of(&folder.file()), 0o666);
    assert_eq!(std::fs::metadata(folder.file()).unwrap().gid(), group);
    // A mode that is stricter than allowed is accepted.
    Segment::named(&folder.file(), access, layout()).unwrap();
}

#[test]
fn a_path_that_cannot_be_a_file_is_refused() {
    for path in ["segment", "./segment", "", "/", "/tmp/.."] {
        let refused = Segment::named(Path::new(path), PRIVATE, layout());
        assert!(matches!(refused, Err(SegmentError::Path)), "{path}");
    }
    let folder = Folder::new();
    let inside = folder.0.join("missing").join("segment");
    let refused = Segment::named(&inside, PRIVATE, layout()).unwrap_err();
    assert!(matches!(refused, SegmentError::NoFolder), "{refused:?}");
    assert_eq!(folder.count(), 0);
}

/// Creates a segment on a full disk that is mounted only for this thread.
#[test]
fn a_full_disk_is_an_error_and_leaves_nothing_behind() {
    let folder = Folder::new();
    let mounted = mount_a_small_disk(&folder.0);
    if let Err(why) = mounted {
        println!("skipped: no tmpfs of our own: {why}");
        return;
    }
    let refused = Segment::named(&folder.file(), PRIVATE, layout()).unwrap_err();
    assert!(
        matches!(refused, SegmentError::System("fallocate", Errno::NOSPC)),
        "{refused:?}"
    );
    assert_eq!(folder.count(), 0);
}

/// Mounts a small file system in a new mount namespace of this thread. The mount disappears when
/// the thread ends.
fn mount_a_small_disk(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let checked = |result: i32| match result {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
    let none = std::ptr::null();
    // SAFETY: this changes the thread's view of the file system, but nothing in its memory.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the strings end with a zero byte and outlive the call. The kernel reads no other
    // pointers.
    checked(unsafe { libc::mount(none, c"/".as_ptr(), none, private, none.cast()) })?;
    let (kind, options) = (c"tmpfs".as_ptr(), c"size=16k".as_ptr().cast());
    // SAFETY: the strings end with a zero byte and outlive the call.
    checked(unsafe { libc::mount(kind, path.as_ptr(), kind, 0, options) })
}

const LIMITED: &str = "TOKENBUCKET_TEST_FOLDER_OF_A_LIMITED_PROCESS";

/// Creates a segment in a separate process, because the limit applies to a whole process.
#[test]
fn a_limit_on_file_sizes_is_an_error_and_leaves_nothing_behind() {
    if let Some(folder) = std::env::var_os(LIMITED) {
        let path = Path::new(&folder).join("segment");
        let refused = Segment::named(&path, PRIVATE, layout()).unwrap_err();
        assert!(
            matches!(refused, SegmentError::System(_, Errno::FBIG)),
            "{refused:?}"
        );
        return;
    }
    let folder = Folder::new();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .arg("a_limit_on_file_sizes_is_an_error_and_leaves_nothing_behind")
        .env(LIMITED, &folder.0);
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        child.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: 16_384,
                rlim_max: 16_384,
            };
            // A process that exceeds this limit is killed.
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            Ok(())
        });
    }
    let told = child.output().unwrap();
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stdout)
    );
    assert_eq!(folder.count(), 0);
}

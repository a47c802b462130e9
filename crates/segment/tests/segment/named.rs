//! Tests named segments. The first process creates the complete file, and every later process opens
//! that file.

use crate::{Folder, PRIVATE, SETTINGS, empties, is_root, mode_of, named, named_with, store};
use rustix::io::Errno;
use segment::host::{Host, HostSettings, lines};
use segment::memory::{Access, Backing, SegmentError};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;

#[test]
fn a_second_opener_finds_the_buckets_of_the_first() {
    let folder = Folder::new();
    let first = named(&folder.file(), PRIVATE).unwrap();
    let nonce = first.nonce();
    assert!(matches!(first.backing(), Backing::Named(path, _) if *path == folder.file()));
    let first = store(first);
    assert!(empties(&first, b"key"));
    let second = store(named(&folder.file(), PRIVATE).unwrap());
    assert_eq!(second.segment().nonce(), nonce);
    assert!(!empties(&second, b"key"));
    // Drops both stores, so that no process has the file open, as after a restart. The file
    // remains.
    drop((first, second));
    let third = store(named(&folder.file(), PRIVATE).unwrap());
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
                        named(&path, PRIVATE).unwrap().nonce()
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
    let made = named(&folder.file(), PRIVATE).unwrap();
    let file = std::fs::metadata(folder.file()).unwrap();
    assert_eq!(file.size(), made.size() as u64);
    assert!(file.blocks() * 512 >= file.size(), "a hole is a SIGBUS");
    assert_eq!(mode_of(&folder.file()), 0o600);
}

/// Returns a group that this process may give to a file. For root, it is not the process's own
/// group.
fn allowed_group() -> u32 {
    if is_root() {
        12_345
    } else {
        rustix::process::getegid().as_raw()
    }
}

#[test]
fn mode_and_group_are_as_asked_for_whatever_the_umask() {
    let folder = Folder::new();
    let group = allowed_group();
    let access = Access {
        mode: 0o666,
        group: Some(group),
    };
    named(&folder.file(), access).unwrap();
    assert_eq!(mode_of(&folder.file()), 0o666);
    assert_eq!(std::fs::metadata(folder.file()).unwrap().gid(), group);
}

/// Returns the settings for a segment of this many bytes.
fn sized(bytes: usize) -> HostSettings {
    HostSettings {
        lines: lines(bytes),
        ..SETTINGS
    }
}

#[test]
fn an_existing_segment_keeps_its_size_its_mode_and_its_group() {
    let folder = Folder::new();
    let group = allowed_group();
    let access = Access {
        mode: 0o660,
        group: Some(group),
    };
    let open = |bytes, access| -> Host {
        let make = |_| named_with(&folder.file(), access, sized(bytes));
        Host::new(sized(bytes), make).unwrap()
    };
    let first = open(64 << 10, access);
    assert_eq!(first.usage().empty, 4096);
    for (number, bytes) in [4 << 10, 5000, 68 << 10, 1 << 20, 256 << 30]
        .into_iter()
        .enumerate()
    {
        let other = open(bytes, PRIVATE);
        assert_eq!(other.segment().size(), first.segment().size());
        assert_eq!(other.usage().empty + other.usage().live, 4096);
        let name = [b'k', u8::try_from(number).unwrap()];
        assert!(empties(&other, &name) && !empties(&first, &name));
    }
    assert_eq!(mode_of(&folder.file()), 0o660);
    assert_eq!(std::fs::metadata(folder.file()).unwrap().gid(), group);
}

#[test]
fn each_size_of_a_segment_is_that_of_one_number_of_lines() {
    for diagnostics in [false, true] {
        let of = |lines| HostSettings {
            lines,
            diagnostics,
            evict: false,
        };
        let all = (1..3000).chain((1 << 20) - 2..(1 << 20) + 3);
        for pages in all.chain((1 << 26) - 3..=1 << 26) {
            let size = of(64 * pages).layout().size() as u64;
            let found = of(64).layout_of(size).map(|layout| layout.size() as u64);
            assert_eq!(found, Some(size), "{pages}");
            assert!(size > of(64 * (pages - 1)).layout().size() as u64 || pages == 1);
            assert!(of(64).layout_of(size + 1).is_none());
        }
        for size in [0, 1, 4096, of(64).layout().size() as u64 - 4096, u64::MAX] {
            assert!(of(128).layout_of(size).is_none(), "{size}");
        }
    }
}

#[test]
fn a_path_that_cannot_be_a_file_is_refused() {
    for path in ["segment", "./segment", "", "/", "/tmp/.."] {
        let refused = named(Path::new(path), PRIVATE);
        assert!(matches!(refused, Err(SegmentError::Path)), "{path}");
    }
    let folder = Folder::new();
    let inside = folder.0.join("missing").join("segment");
    let refused = named(&inside, PRIVATE).unwrap_err();
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
    let refused = named(&folder.file(), PRIVATE).unwrap_err();
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
        let refused = named(&path, PRIVATE).unwrap_err();
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

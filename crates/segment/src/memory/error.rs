//! The reasons why a segment is refused or cannot be created.

use rustix::io::Errno;

/// The reason why a segment is refused or cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// A system call failed.
    #[error("{0}: {1}")]
    System(&'static str, #[source] Errno),
    /// The path is not a regular file.
    #[error("not a regular file")]
    NotRegular,
    /// The file belongs to another user, who could truncate it.
    #[error("owned by uid {0}, neither this user nor root")]
    Owner(u32),
    /// Every user may write to the file, and the settings do not allow that.
    #[error("mode {0:04o} lets every user write")]
    Mode(u32),
    /// The file has other hard links.
    #[error("has {0} hard links instead of one")]
    Links(u64),
    /// The file and the segment differ in size, or the segment does not have the size of the
    /// settings.
    #[error("size {0} instead of {1}")]
    Size(u64, u64),
    /// The file is not a segment, or no process has finished creating it.
    #[error("not a tokenbucket segment")]
    Magic,
    /// The segment was created by another release.
    #[error("layout version {0} instead of {1}")]
    Version(u64, u64),
    /// The segment was created with another setting for diagnostics.
    #[error("made with another track_identifiers")]
    Shape,
    /// The instants in the segment were measured before the last boot, or on another clock.
    #[error("made before the last boot, or under another clock; remove it")]
    ClockDomain,
    /// This process, or the one that created the segment, could not read the boot ID.
    #[error("/proc/sys shows the boot ID only to this process or to its creator (ProcSubset=pid)")]
    BootId,
    /// The size of the memfd could still change.
    #[error("not sealed")]
    Unsealed,
    /// The descriptor is not the segment that was handed over.
    #[error("another segment than the one handed over")]
    Nonce,
    /// The folder for the file is missing.
    #[error("its folder is missing")]
    NoFolder,
    /// The path is not absolute, or it names no file.
    #[error("not an absolute path of a file")]
    Path,
}

pub(super) fn system(what: &'static str) -> impl Fn(Errno) -> SegmentError {
    move |errno| SegmentError::System(what, errno)
}

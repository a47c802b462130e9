//! The reasons why a segment is refused or cannot be made.

use rustix::io::Errno;

/// The reason why a segment is refused or cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// A system call failed.
    #[error("{0}: {1}")]
    System(&'static str, #[source] Errno),
    /// It is not a regular file.
    #[error("not a regular file")]
    NotRegular,
    /// Its owner could truncate it.
    #[error("owned by uid {0}, neither this user nor root")]
    Owner(u32),
    /// Its mode is wider than the settings allow.
    #[error("mode {0:04o} is wider than allowed")]
    Mode(u32),
    /// A group other than the configured one may write to it.
    #[error("writable by gid {0}, another group than asked for")]
    Group(u32),
    /// It has another name somewhere.
    #[error("has {0} hard links instead of one")]
    Links(u64),
    /// It was made with other settings.
    #[error("size {0} instead of {1}: made with other settings")]
    Size(u64, u64),
    /// It is something else, or unfinished.
    #[error("not a tokenbucket segment")]
    Magic,
    /// It was made by another release.
    #[error("layout version {0} instead of {1}")]
    Version(u64, u64),
    /// It was made with other settings.
    #[error("made with other settings")]
    Shape,
    /// Its instants belong to another boot or another clock.
    #[error("made before the last boot, or under another clock; remove it")]
    ClockDomain,
    /// Its size could still change.
    #[error("not sealed")]
    Unsealed,
    /// Not the segment that was handed over.
    #[error("another segment than the one handed over")]
    Nonce,
    /// The folder for it is missing.
    #[error("its folder is missing")]
    NoFolder,
    /// The path is not absolute, or names no file.
    #[error("not an absolute path of a file")]
    Path,
}

pub(super) fn system(what: &'static str) -> impl Fn(Errno) -> SegmentError {
    move |errno| SegmentError::System(what, errno)
}

//! Why a segment could not be had.

use crate::host::VERSION;
use rustix::io::Errno;

/// Why a segment could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The system said no.
    #[error("{0}: {1}")]
    System(&'static str, #[source] Errno),
    /// It is no plain file.
    #[error("not a regular file")]
    NotRegular,
    /// Its owner could change its size under us.
    #[error("owned by uid {0}, neither this user nor root")]
    Owner(u32),
    /// More people may write to it than the settings say.
    #[error("mode {0:04o} is wider than allowed")]
    Mode(u32),
    /// Another group than the settings name may write to it.
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
    #[error("layout version {0} instead of {VERSION}")]
    Version(u64),
    /// It was made with other settings.
    #[error("made with other settings")]
    Geometry,
    /// Its instants mean nothing on this clock.
    #[error("made before the last boot, or under another clock; remove it")]
    ClockDomain,
    /// Somebody could still change its size.
    #[error("not sealed")]
    Unsealed,
    /// Not the segment that was handed over.
    #[error("another segment than the one handed over")]
    Nonce,
    /// There is no folder to make it in.
    #[error("its folder is missing")]
    NoFolder,
    /// The path cannot be a file's.
    #[error("not an absolute path of a file")]
    Path,
}

pub(super) fn system(what: &'static str) -> impl Fn(Errno) -> SegmentError {
    move |errno| SegmentError::System(what, errno)
}

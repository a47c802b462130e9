//! The folder of a server, for its sockets and its log.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Returns the user and the group that servers run as if root runs the tests: nobody and nogroup.
pub fn unprivileged() -> Option<(u32, u32)> {
    rustix::process::geteuid()
        .is_root()
        .then_some((65534, 65534))
}

/// A folder that belongs to the user of the server. Dropping the value removes the folder.
///
/// The folder is in the system's temporary folder, because the path of a socket has at most 107
/// bytes, and because another user must have access to the folder.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("tokenbucket-servers-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A killed process with the same id may have left its folder.
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        if let Some((user, group)) = unprivileged() {
            chown(&path, Some(user), Some(group)).unwrap();
        }
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

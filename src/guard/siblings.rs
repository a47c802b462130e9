//! Finds processes that serve requests beside this one, and share no private memory with it.
//!
//! A web server may start several processes of php-cgi, and a process manager several of a script
//! with a loop. Each of them creates a segment. Only their forked children share it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use zend::system::Starting;

/// The ID of the process that started the module.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

pub fn note_start(_: &Starting) {
    STARTED_BY.store(process::id(), Relaxed);
}

/// Reports whether a server has started this process, which has no children that serve requests. It
/// serves one request at a time, so the server starts more of them, or another one when it ends.
pub fn is_spawned_alone() -> bool {
    // A server passes the listening socket as the standard input.
    let input = fs::metadata("/proc/self/fd/0");
    STARTED_BY.load(Relaxed) == process::id() && input.is_ok_and(|it| it.file_type().is_socket())
}

/// Reports whether another process with the program, the user and the parent of the process that
/// started the module runs. Only processes whose command line `is_alike` accepts count.
pub fn exist(is_alike: impl Fn(&[u8]) -> bool) -> bool {
    let own = STARTED_BY.load(Relaxed);
    let Some(origin) = Origin::of(own) else {
        return false;
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|&id| id != own).any(|id| {
        Origin::of(id).is_some_and(|other| other == origin)
            && fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|command| is_alike(&command))
    })
}

/// Reports whether an argument of a command line is a script of this name, in any folder.
pub fn names_script(command: &[u8], script: &[u8]) -> bool {
    let mut arguments = command.split(|&byte| byte == 0);
    !script.is_empty() && arguments.any(|it| file_name(it) == file_name(script))
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The program, the user and the parent of a live process.
#[derive(PartialEq)]
struct Origin {
    program: Vec<u8>,
    user: u32,
    parent: u32,
}

impl Origin {
    fn of(process: u32) -> Option<Self> {
        let folder = format!("/proc/{process}");
        let user = fs::metadata(&folder).ok()?.uid();
        // "ID (PROGRAM) STATE PARENT …", where the program's name may contain any bytes.
        let stat = fs::read(folder + "/stat").ok()?;
        let start = stat.iter().position(|&byte| byte == b'(')?;
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let program = stat.get(start..end)?.to_vec();
        let mut fields = str::from_utf8(stat.get(end + 1..)?)
            .ok()?
            .split_ascii_whitespace();
        let is_zombie = fields.next()? == "Z";
        let parent = fields.next()?.parse().ok()?;
        (!is_zombie).then_some(Self {
            program,
            user,
            parent,
        })
    }
}

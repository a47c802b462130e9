//! The functions of the C library through which the product meets the world, defined anew.
//!
//! The product calls the C library for clocks, sleeps, sockets, chance and its process id. A
//! program's own definitions come before those of the library. So the product runs as it is
//! released, without a hook, and still sees nothing but the simulated world. Outside of a worker of
//! a world, each function is the real system call.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use crate::world::{MICRO, World, world};
use libc::{c_int, c_long, c_uint, c_void, nfds_t, pollfd, sigset_t, sockaddr, socklen_t, ssize_t};
use libc::{sockaddr_in, timespec};
use std::slice;

/// The least descriptor of a simulated socket. The kernel gives no such number to a program.
pub const FIRST_SOCKET: c_int = 1 << 24;

/// Returns a result as the C library does. An error sets this thread's error number.
fn result(result: Result<usize, c_int>) -> c_long {
    result.map_or_else(
        |error| {
            // SAFETY: the C library returns the place of this thread's error number.
            unsafe { *libc::__errno_location() = error };
            -1
        },
        // A count is at most that of the caller's buffer.
        |count| count as c_long,
    )
}

/// Returns the nanoseconds of a time, which may be null.
unsafe fn nanos(time: *const timespec) -> u64 {
    // SAFETY: the caller of the C library's function passes a valid time or null.
    let time = unsafe { time.as_ref() };
    time.map_or(u64::MAX / 4, |it| {
        it.tv_sec as u64 * 1_000_000_000 + it.tv_nsec as u64
    })
}

/// Defines functions of the C library with the number of their system call.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty, $call:ident, |$world:ident| $simulated:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller passes what the C library's function needs: memory for results,
            // buffers of their lengths, and addresses of the Internet in version 4.
            unsafe {
                match world() {
                    Some($world) => ($simulated) as $result,
                    None => libc::syscall(libc::$call $(, $argument)*) as $result,
                }
            }
        }
    )*};
}

functions! {
    fn clock_gettime(clock: c_int, time: *mut timespec) -> c_int, SYS_clock_gettime, |world| {
        let now = world.reads_clock(clock == libc::CLOCK_REALTIME);
        (*time).tv_sec = (now / 1_000_000_000) as i64;
        (*time).tv_nsec = (now % 1_000_000_000) as i64;
        0
    };
    fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int, SYS_nanosleep, |world| {
        world.sleeps(nanos(time))
    };
    fn clock_nanosleep(clock: c_int, flags: c_int, time: *const timespec, left: *mut timespec)
        -> c_int, SYS_clock_nanosleep, |world| world.sleeps(nanos(time));
    fn getpid() -> c_int, SYS_getpid, |world| world.current().process;
    fn getrandom(buffer: *mut c_void, count: usize, flags: c_uint) -> ssize_t, SYS_getrandom, |world| {
        slice::from_raw_parts_mut(buffer.cast::<u8>(), count).fill_with(|| world.chance.next() as u8);
        count
    };
    fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int, SYS_socket, |world| {
        world.socket()
    };
    fn connect(socket: c_int, to: *const sockaddr, length: socklen_t) -> c_int, SYS_connect, |world| {
        world.connect(socket, u32::from_be((*to.cast::<sockaddr_in>()).sin_addr.s_addr));
        result(Err(libc::EINPROGRESS))
    };
    fn setsockopt(socket: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t)
        -> c_int, SYS_setsockopt, |_world| 0;
    fn getsockopt(socket: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t)
        -> c_int, SYS_getsockopt, |world| {
        // The product asks for SO_ERROR only, which is an int.
        *value.cast::<c_int>() = world.socket_error(socket);
        0
    };
    fn ppoll(sockets: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t)
        -> c_int, SYS_ppoll, |_world| {
        let sockets = match count {
            0 => &mut [],
            _ => slice::from_raw_parts_mut(sockets, count as usize),
        };
        World::poll(sockets, nanos(timeout))
    };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    socket: c_int,
    bytes: *const c_void,
    count: usize,
    _: c_int,
) -> ssize_t {
    // SAFETY: the caller passes a buffer of this length. Only workers send.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), count) };
    world().map_or(-1, |world| result(world.send(socket, bytes)) as ssize_t)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(
    socket: c_int,
    buffer: *mut c_void,
    count: usize,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as above.
    let buffer = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), count) };
    let peeks = flags & libc::MSG_PEEK != 0;
    world().map_or(-1, |world| {
        result(world.receive(socket, buffer, peeks)) as ssize_t
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if descriptor < FIRST_SOCKET {
        // SAFETY: the caller owns the descriptor.
        return unsafe { libc::syscall(libc::SYS_close, descriptor) as c_int };
    }
    if let Some(world) = crate::world::any() {
        world.close(descriptor);
    }
    0
}

/// Keeps the destructors of a worker's thread-local values, which run when the worker ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_thread_atexit_impl(
    destructor: unsafe extern "C" fn(*mut c_void),
    value: *mut c_void,
    _library: *mut c_void,
) -> c_int {
    // The only thread ends with the process, so its own values need no destructor.
    if let Some(world) = world() {
        world.current().ends.push((destructor, value));
    }
    0
}

impl World {
    pub fn sleeps(&mut self, time: u64) -> c_int {
        // A worker that waits for another one sleeps again and again. With slow messages, these
        // would be most of the events.
        let late = 50 * MICRO + self.chance.below(20 * MICRO + self.plan.latency / 32);
        Self::wait(self.now + time + late);
        0
    }
}

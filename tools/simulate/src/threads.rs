//! Workers as coroutines, each with the thread-local values of a thread of its own.
//!
//! The product keeps connections, fleets and shards in thread-local values. Here all workers share
//! one thread, so the memory of these values is exchanged when another worker runs. A new worker
//! gets the initial values, as a new thread does. The scheduler uses none of its own.
#![allow(unsafe_code)]

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use libc::{c_int, c_void, dl_phdr_info};
use std::ptr::{copy_nonoverlapping, null, null_mut};
use std::slice;

/// A destructor of a thread-local value.
pub type Destructor = (unsafe extern "C" fn(*mut c_void), *mut c_void);
/// A worker yields the true instant at which it continues, unless it is woken before.
pub type Waiting = Yielder<(), u64>;

/// The program's thread-local values: their place in this thread, and their initial bytes.
struct Block {
    start: *mut u8,
    size: usize,
    image: *const u8,
    filled: usize,
}

/// Finds the thread-local values of the program, which is the first object.
unsafe extern "C" fn find(info: *mut dl_phdr_info, _size: usize, block: *mut c_void) -> c_int {
    // SAFETY: the loader passes valid headers, and `Threads::new` a block.
    unsafe {
        let (info, block) = (&*info, &mut *block.cast::<Block>());
        let headers = slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        if let Some(header) = headers.iter().find(|it| it.p_type == libc::PT_TLS) {
            block.start = info.dlpi_tls_data.cast();
            block.size = header.p_memsz as usize;
            block.image = (info.dlpi_addr + header.p_vaddr) as *const u8;
            block.filled = header.p_filesz as usize;
        }
    }
    1
}

/// The memory that all workers take turns in.
pub struct Threads {
    block: Block,
    /// The values of each worker while another one has the memory. The last ones are those of the
    /// scheduler.
    values: Vec<Vec<u8>>,
    /// The worker whose values are in place.
    owner: usize,
}

/// The stack of a worker.
pub struct Thread(Coroutine<(), u64, (), DefaultStack>);

impl Threads {
    pub fn new(workers: usize) -> Self {
        let (start, image) = (null_mut(), null());
        let mut block = Block {
            start,
            size: 0,
            image,
            filled: 0,
        };
        // SAFETY: `find` writes to `block`, which lives until the call returns.
        unsafe { libc::dl_iterate_phdr(Some(find), (&raw mut block).cast()) };
        assert!(!block.start.is_null(), "there are thread-local values");
        let values = vec![vec![0; block.size]; workers + 1];
        Self {
            block,
            values,
            owner: workers,
        }
    }

    /// Puts the values of a worker in place.
    pub fn enter(&mut self, worker: usize) {
        if self.owner != worker {
            let (start, size) = (self.block.start, self.block.size);
            // SAFETY: all vectors have `size` bytes, and so has the block. No reference to a value
            // is held, because no worker runs.
            unsafe {
                copy_nonoverlapping(start, self.values[self.owner].as_mut_ptr(), size);
                copy_nonoverlapping(self.values[worker].as_ptr(), start, size);
            }
            self.owner = worker;
        }
    }

    /// Puts the values of the scheduler in place.
    pub fn leave(&mut self) {
        self.enter(self.values.len() - 1);
    }

    /// Creates a worker with initial values, which must be another one's turn.
    pub fn spawn(&mut self, worker: usize, work: impl FnOnce(&Waiting) + 'static) -> Thread {
        self.leave();
        let Block { image, filled, .. } = self.block;
        let values = &mut self.values[worker];
        values.fill(0);
        // SAFETY: the image has `filled` bytes, which are at most those of the block.
        unsafe { copy_nonoverlapping(image, values.as_mut_ptr(), filled) };
        let stack = DefaultStack::new(128 * 1024).unwrap_or_else(|error| panic!("{error}"));
        Thread(Coroutine::with_stack(
            stack,
            move |yielder: &Waiting, ()| work(yielder),
        ))
    }

    /// Ends a worker that returned or was killed. `own` drops what it owned outside of its stack
    /// and its thread-local values.
    pub fn bury(&mut self, worker: usize, ends: Vec<Destructor>, own: impl FnOnce()) {
        self.enter(worker);
        own();
        for (destructor, value) in ends.into_iter().rev() {
            // SAFETY: the worker registered it for this value, which is in place again.
            unsafe { destructor(value) };
        }
        self.leave();
    }
}

impl Thread {
    /// Runs the worker until it waits. Returns the instant until which it waits, or `None` if it
    /// has ended. Its values must be in place.
    pub fn resume(&mut self) -> Option<u64> {
        match self.0.resume(()) {
            CoroutineResult::Yield(until) => Some(until),
            CoroutineResult::Return(()) => None,
        }
    }

    /// Ends the worker as `kill -9` does: nothing on its stack is dropped.
    pub fn kill(mut self) {
        // SAFETY: no reference to the stack is used any more, because the worker never runs again.
        // The memory that its values own is never freed.
        unsafe { self.0.force_reset() };
    }
}

//! The state behind the fake driver: devices, their memory, and streams that are threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::MEMORY;
use crate::driver::sys::{
    CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    CUDA_SUCCESS, CUcontext, CUresult,
};

/// How many devices the fake driver has.
pub(super) const DEVICES: usize = 96;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work of a stream; an error loses the device.
pub(super) type Task = Box<dyn FnOnce(&FakeDevice) -> Result<(), CUresult> + Send>;

/// A device and its one context.
pub(super) struct FakeDevice {
    pub(super) ordinal: usize,
    /// The code that every call answers once the context is lost.
    lost: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Live blocks: address and size.
    blocks: BTreeMap<u64, usize>,
    /// Blocks freed in stream order; their memory stays, so that a use after free is seen and not
    /// undefined.
    host_blocks: usize,
    used: usize,
    modules: usize,
    injected: Vec<(&'static str, usize, CUresult)>,
    calls: Vec<&'static str>,
    peers: Vec<usize>,
}

pub(super) fn device(ordinal: usize) -> &'static FakeDevice {
    static ALL: OnceLock<Vec<FakeDevice>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let new = |ordinal| FakeDevice {
            ordinal,
            lost: AtomicU32::new(CUDA_SUCCESS),
            state: Mutex::default(),
        };
        (0..DEVICES).map(new).collect()
    });
    &all[ordinal]
}

impl FakeDevice {
    pub(super) fn context(&'static self) -> CUcontext {
        CUcontext(std::ptr::from_ref(self).cast_mut().cast())
    }

    /// The device that a context handle stands for.
    pub(super) fn of(context: CUcontext) -> Option<&'static Self> {
        // SAFETY: the fake's context handles are null or addresses of its devices, which live for
        // ever.
        unsafe { context.0.cast::<Self>().as_ref() }
    }

    pub(super) fn lost(&self) -> Option<CUresult> {
        Some(self.lost.load(Ordering::SeqCst)).filter(|&code| code != CUDA_SUCCESS)
    }

    pub(super) fn lose(&self, code: CUresult) {
        let _ = self.lost.compare_exchange(CUDA_SUCCESS, code, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub(super) fn inject(&self, call: &'static str, skip: usize, code: CUresult) {
        lock(&self.state).injected.push((call, skip, code));
    }

    pub(super) fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut lock(&self.state).calls)
    }

    pub(super) fn live(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.blocks.len(), state.host_blocks)
    }

    pub(super) fn modules(&self) -> usize {
        lock(&self.state).modules
    }

    pub(super) fn count_module(&self, loaded: bool) {
        let modules = &mut lock(&self.state).modules;
        *modules = if loaded { *modules + 1 } else { *modules - 1 };
    }

    pub(super) fn count_host_block(&self, allocated: bool) {
        let blocks = &mut lock(&self.state).host_blocks;
        *blocks = if allocated { *blocks + 1 } else { *blocks - 1 };
    }

    /// Notes a call; answers the code that it must fail with, if any.
    pub(super) fn enter(&self, call: &'static str) -> Result<(), CUresult> {
        let mut state = lock(&self.state);
        state.calls.push(call);
        if let Some(code) = self.lost() {
            return Err(code);
        }
        let Some(at) = state.injected.iter().position(|(name, ..)| *name == call) else {
            return Ok(());
        };
        match &mut state.injected[at] {
            (_, 0, code) => {
                let code = *code;
                state.injected.remove(at);
                Err(code)
            }
            (_, skip, _) => {
                *skip -= 1;
                Ok(())
            }
        }
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<u64, CUresult> {
        let mut state = lock(&self.state);
        if bytes == 0 {
            return Err(crate::driver::sys::CUDA_ERROR_INVALID_VALUE);
        }
        if state.used.checked_add(bytes).is_none_or(|used| used > MEMORY) {
            return Err(CUDA_ERROR_OUT_OF_MEMORY);
        }
        state.used += bytes;
        // Never given back: a freed block keeps its address, so that nobody else can get it.
        let words: &'static mut [u128] =
            Box::leak(vec![0xEE_u128; bytes.div_ceil(16) + 16].into_boxed_slice());
        let address = (words.as_mut_ptr() as u64).next_multiple_of(256);
        state.blocks.insert(address, bytes);
        Ok(address)
    }

    pub(super) fn free(&self, address: u64) -> Result<(), CUresult> {
        let mut state = lock(&self.state);
        let bytes =
            state.blocks.remove(&address).ok_or(crate::driver::sys::CUDA_ERROR_INVALID_VALUE)?;
        state.used -= bytes;
        Ok(())
    }

    pub(super) fn used(&self) -> usize {
        lock(&self.state).used
    }

    /// Whether the range lies in one live block of this device.
    pub(super) fn valid(&self, address: u64, bytes: usize) -> Result<(), CUresult> {
        let state = lock(&self.state);
        let block = state.blocks.range(..=address).next_back();
        match block {
            Some((start, len)) if address + bytes as u64 <= start + *len as u64 => Ok(()),
            _ => Err(CUDA_ERROR_ILLEGAL_ADDRESS),
        }
    }

    pub(super) fn enable_peer(&self, peer: usize) -> Result<(), CUresult> {
        let mut state = lock(&self.state);
        if state.peers.contains(&peer) {
            return Err(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        }
        state.peers.push(peer);
        Ok(())
    }
}

/// A queue of work and the thread that runs it.
pub(super) struct FakeStream {
    pub(super) device: &'static FakeDevice,
    queue: Mutex<(VecDeque<Task>, u64)>,
    changed: Condvar,
    completed: AtomicU64,
}

impl FakeStream {
    pub(super) fn open(device: &'static FakeDevice) -> &'static Self {
        let stream: &'static Self = Box::leak(Box::new(Self {
            device,
            queue: Mutex::default(),
            changed: Condvar::new(),
            completed: AtomicU64::new(0),
        }));
        std::thread::spawn(|| stream.run());
        stream
    }

    fn run(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let task = loop {
                match queue.0.pop_front() {
                    Some(task) => break task,
                    None => {
                        queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner)
                    }
                }
            };
            drop(queue);
            // Nothing runs any more on a lost device, and nothing is ever reported complete.
            if self.device.lost().is_some() {
                continue;
            }
            match task(self.device) {
                Ok(()) => drop(self.completed.fetch_add(1, Ordering::SeqCst)),
                Err(code) => self.device.lose(code),
            }
        }
    }

    pub(super) fn push(&self, task: Task) {
        let mut queue = lock(&self.queue);
        queue.0.push_back(task);
        queue.1 += 1;
        self.changed.notify_one();
    }

    /// How much has been enqueued.
    pub(super) fn pushed(&self) -> u64 {
        lock(&self.queue).1
    }

    pub(super) fn passed(&self, number: u64) -> bool {
        self.completed.load(Ordering::SeqCst) >= number
    }
}

/// What an event was last recorded after.
#[derive(Default)]
pub(super) struct FakeEvent {
    pub(super) mark: Mutex<Option<(&'static FakeStream, u64)>>,
}

impl FakeEvent {
    pub(super) fn reached(mark: Option<(&'static FakeStream, u64)>) -> bool {
        mark.is_none_or(|(stream, number)| stream.passed(number))
    }
}

/// Waits, as a stream does, until `done`, or until the device is lost.
pub(super) fn wait_until(
    device: &FakeDevice,
    mut done: impl FnMut() -> bool,
) -> Result<(), CUresult> {
    while !done() {
        if let Some(code) = device.lost() {
            return Err(code);
        }
        std::thread::sleep(std::time::Duration::from_micros(20));
    }
    Ok(())
}

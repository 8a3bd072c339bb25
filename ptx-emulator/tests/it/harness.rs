//! Shortens tests: a module around a body, buffers in, buffers out.

use std::sync::Arc;

use ptx_emulator::{FaultKind, Launch, Memory, Module, Options, Program, Report, Stats};

/// A device with one program.
pub(crate) struct Device {
    pub(crate) memory: Arc<Memory>,
    pub(crate) program: Program,
}

/// `body` as the entry `k` with 64-bit parameters `k_param_0` .. `k_param_3`, and registers of every type declared.
pub(crate) fn entry(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n\
         .visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, .param .u64 k_param_3)\n{{\n\
         .reg .pred %p<16>; .reg .b16 %rs<32>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<64>; .reg .f64 %fd<32>;\n\
         {body}\n}}\n"
    )
}

impl Device {
    pub(crate) fn new(text: &str) -> Self {
        let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let memory = Arc::new(Memory::new());
        let program = module.load(&memory).unwrap();
        Self { memory, program }
    }

    pub(crate) fn alloc(&self, bytes: usize) -> u64 {
        self.memory.alloc(bytes as u64).unwrap()
    }

    pub(crate) fn upload<T: Pod>(&self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.bytes()).collect();
        let at = self.alloc(bytes.len());
        self.memory.write(at, &bytes).unwrap();
        at
    }

    pub(crate) fn download<T: Pod>(&self, at: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.memory.read(at, &mut bytes).unwrap();
        bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect()
    }

    /// Launches `k` with up to four 64-bit parameters.
    pub(crate) fn run(&self, launch: Launch, params: &[u64]) -> Result<Stats, Box<Report>> {
        self.run_with(launch, params, &Options::default())
    }

    pub(crate) fn run_with(
        &self,
        launch: Launch,
        params: &[u64],
        options: &Options,
    ) -> Result<Stats, Box<Report>> {
        let mut bytes = [0; 32];
        for (i, p) in params.iter().enumerate() {
            bytes[i * 8..i * 8 + 8].copy_from_slice(&p.to_le_bytes());
        }
        self.program.launch("k", &launch, &bytes, options)
    }
}

/// One block of `threads`.
pub(crate) fn block(threads: u32) -> Launch {
    Launch::new([1, 1, 1], [threads, 1, 1])
}

/// Runs `body` in one block; gives the fault that it must have.
pub(crate) fn fault(body: &str, launch: Launch, bytes: usize) -> FaultKind {
    let device = Device::new(&entry(body));
    let at = device.alloc(bytes);
    device.memory.fill(at, 0, bytes as u64).unwrap();
    match device.run(launch, &[at]) {
        Ok(_) => panic!("no fault in\n{body}"),
        Err(report) => report.kind,
    }
}

/// Plain numbers.
pub(crate) trait Pod: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! pod {
    ($($t:ty),*) => { $(
        impl Pod for $t {
            fn bytes(self) -> Vec<u8> { self.to_le_bytes().to_vec() }
            fn from_bytes(bytes: &[u8]) -> Self { Self::from_le_bytes(bytes.try_into().unwrap()) }
        }
    )* };
}
pod!(u8, u16, u32, u64, i32, i64, f32, f64);

//! Any text parses or gives an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = ptx_emulator::Module::parse(text);
});

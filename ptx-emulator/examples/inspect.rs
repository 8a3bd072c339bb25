//! Parses PTX files and lists their entries: `cargo run -p ptx-emulator --example inspect -- kernel.ptx`.

use ptx_emulator::Module;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        match Module::parse(&std::fs::read_to_string(&path)?) {
            Err(error) => println!("{path}: {error}"),
            Ok(module) => {
                println!("{path}:");
                for entry in module.entries().filter_map(|name| module.entry(name)) {
                    println!(
                        "  {}: {} parameters, {} bytes",
                        entry.name,
                        entry.params.len(),
                        entry.param_bytes
                    );
                }
            }
        }
    }
    Ok(())
}

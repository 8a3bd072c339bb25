//! What a kernel module costs the compiler: time that rustc spends in expanding a crate with a module of some 300 lines, less
//! that of the same crate without it. Measured by `-Z time-passes`, so that the way through rustc counts too.
//!
//! `cargo xtask bench expansion` compiles a small crate against this workspace in a folder below its target folder; it needs
//! cargo and no device. The attribute is compiled with optimisation (`build-override`), as the goal says, and without, as
//! cargo does by default.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Failure = Box<dyn Error>;

/// Lines that the measured module has at least.
const LINES: usize = 300;
/// Milliseconds that its expansion may take.
const GOAL: f64 = 50.0;
/// Compilations for each figure; the median counts.
const SAMPLES: usize = 9;

/// Three kernels and a helper as users write them; `@` stands for a number.
const KERNELS: &str = "
    /// Gaussian error linear unit by the tanh formula.
    pub fn gelu_@<const S: [i32; 2]>(x: Tile<f32, S>) -> Tile<f32, S> {
        let inner = (x + x * x * x * 0.044715) * 0.797_884_6;
        x * (tanh(inner) + 1.0) * 0.5
    }

    /// z = gelu(x y + bias), tile by tile.
    #[cutile::entry(specialize(BM = 64, BN = 64, BK = 32))]
    fn layer_@<const BM: i32, const BN: i32, const BK: i32>(
        z: &mut Tensor<f32, { [BM, BN] }>,
        x: &Tensor<f16, { [-1, -1] }>,
        y: &Tensor<f16, { [-1, -1] }>,
        bias: &Tensor<f32, { [-1] }>,
    ) {
        let px = x.partition(const_shape![BM, BK]);
        let py = y.partition(const_shape![BK, BN]);
        let pid = get_tile_block_id();
        let mut acc = constant(0.0f32, const_shape![BM, BN]);
        let steps = num_tiles(&px, 1);
        for k in 0..steps {
            let a = px.load([pid.0, k]);
            let b = py.load([k, pid.1]);
            acc = mma(a, b, acc);
        }
        let row = bias.partition(const_shape![BN]).load([pid.1]);
        let row = row.reshape(const_shape![1, BN]).broadcast(const_shape![BM, BN]);
        z.store(gelu_@(acc + row));
    }

    /// Softmax along rows.
    #[cutile::entry(specialize(BM = 4, BN = 128))]
    fn softmax_@<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, { [BM, BN] }>,
    ) {
        let tile: Tile<f32, { [BM, BN] }> = load_tile_like_2d(x, y);
        let high = reduce_max(tile, 1).reshape(const_shape![BM, 1]);
        let e = exp(tile - high.broadcast(const_shape![BM, BN]));
        let sum = reduce_sum(e, 1).reshape(const_shape![BM, 1]);
        y.store(e / sum.broadcast(const_shape![BM, BN]));
    }

    /// y = a x + y, with a bound for what is not finite.
    #[cutile::entry(specialize(S = [1024]))]
    fn saxpy_@<const S: [i32; 1]>(a: f32, bound: f32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, S>) {
        let tx = load_tile_like_1d(x, y);
        let ty = y.load();
        let sum = tx * a + ty;
        if bound > 0.0 {
            y.store(min_tile(max_tile(sum, ty), tx));
        } else {
            y.store(sum);
        }
    }
";

fn main() -> Result<(), Failure> {
    let (module, lines) = module();
    println!("a module of {lines} lines, medians of {SAMPLES} compilations");
    println!("{:34} {:>10} {:>12}", "attribute compiled", "ms", "of the goal");
    for (how, level) in [("with optimisation", 3), ("without (cargo's default)", 0)] {
        let folder = Folder::new(level)?;
        let plain = folder.expansion("")?;
        let with = folder.expansion(&module)?;
        let took = with - plain;
        println!("{how:34} {took:10.1} {:12.2}", took / GOAL);
    }
    Ok(())
}

/// The module's text and its lines.
fn module() -> (String, usize) {
    let mut text = String::from("#[cutile::module]\npub mod kernels {\n    use cutile::core::*;\n");
    let mut number = 0;
    while text.lines().count() < LINES {
        text += &KERNELS.replace('@', &number.to_string());
        number += 1;
    }
    text += "}\n";
    let lines = text.lines().count();
    (text, lines)
}

/// A crate that depends on ours, with a target folder of its own.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new(level: u32) -> Result<Folder, Failure> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
        let path = workspace.join(format!("target/expansion/opt-{level}"));
        fs::create_dir_all(path.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"measured\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             cutile = {{ path = {:?}, default-features = false }}\n\n\
             [profile.dev.build-override]\nopt-level = {level}\n",
            workspace.join("cutile")
        );
        fs::write(path.join("Cargo.toml"), manifest)?;
        fs::copy(workspace.join("Cargo.lock"), path.join("Cargo.lock"))?;
        Ok(Folder { path })
    }

    /// Median milliseconds that rustc spends on the expansion of a crate with this text.
    fn expansion(&self, text: &str) -> Result<f64, Failure> {
        let mut samples = Vec::new();
        for sample in 0..=SAMPLES {
            let mut source = String::from(text);
            writeln!(source, "// compilation {sample}")?;
            fs::write(self.path.join("src/lib.rs"), source)?;
            let took = self.compile()?;
            // The first one reads everything from disk.
            samples.extend((sample > 0).then_some(took));
        }
        samples.sort_by(f64::total_cmp);
        Ok(samples[samples.len() / 2])
    }

    fn compile(&self) -> Result<f64, Failure> {
        let output = Command::new("cargo")
            .args(["rustc", "--quiet", "--lib", "--profile", "check", "--", "-Ztime-passes"])
            .current_dir(&self.path)
            .env("CARGO_TARGET_DIR", self.path.join("target"))
            .env("CARGO_INCREMENTAL", "0")
            // `-Z` options are of nightly compilers; the stable one has them too.
            .env("RUSTC_BOOTSTRAP", "1")
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("the measured crate does not compile:\n{said}").into());
        }
        let pass = said.lines().find(|line| line.ends_with("expand_crate"));
        let seconds = pass
            .and_then(|line| line.split_once("time:")?.1.split(';').next()?.trim().parse().ok())
            .ok_or_else(|| format!("rustc names no time of `expand_crate`:\n{said}"))?;
        Ok(1e3 * f64::max(seconds, 0.0))
    }
}

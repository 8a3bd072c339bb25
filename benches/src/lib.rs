//! What the benchmarks have in common: settings, sampling, a table and JSON lines.
//!
//! A figure is a median over samples, given with its spread and, where there is one, with its ratio
//! to a reference measured in the same run. Nothing here judges.

use cuda_async::prelude::*;
use std::fs::File;
use std::io::{self, Write};
use std::time::Instant;

/// What a benchmark was asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    small: bool,
    json: Option<String>,
    only: Option<String>,
}

/// A command line that is not understood.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not understood; the benchmark takes `--small`, `--only NAME` and `--json FILE`")]
pub struct UnknownArgument(String);

/// Samples taken for each figure.
const SAMPLES: usize = 9;

impl Settings {
    /// Reads `--small`, `--only NAME` and `--json FILE`.
    pub fn from_arguments(
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<Settings, UnknownArgument> {
        let mut settings = Settings { small: false, json: None, only: None };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--small" => settings.small = true,
                "--json" => settings.json = arguments.next(),
                "--only" => settings.only = arguments.next(),
                "--" | "--bench" => {}
                _ => return Err(UnknownArgument(argument)),
            }
        }
        Ok(settings)
    }

    /// Whether the part of that name was asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == name)
    }

    /// f32 elements of a large vector: 1 GiB, or 1 MiB when small.
    pub fn elements(&self) -> usize {
        if self.small { 1 << 18 } else { 1 << 28 }
    }

    /// Rows and columns of the softmax.
    pub fn softmax_shape(&self) -> (usize, usize) {
        if self.small { (16, 4096) } else { (8192, 4096) }
    }

    /// Rows of the square matrices of the product.
    pub fn gemm_size(&self) -> usize {
        if self.small { 512 } else { 4096 }
    }

    /// Rows of the square matrices that `api::matmul` is given.
    pub fn matmul_sizes(&self) -> &'static [usize] {
        if self.small { &[100] } else { &[512, 1024, 2048, 4096] }
    }

    /// Times `run(launches)`: seconds a launch, sorted. The number of launches is chosen so that a
    /// sample takes about 30 ms; the first samples warm up and are not kept.
    pub fn samples(
        &self,
        mut run: impl FnMut(usize) -> Result<(), DeviceError>,
    ) -> Result<Vec<f64>, DeviceError> {
        let mut timed = |launches: usize| -> Result<f64, DeviceError> {
            let start = Instant::now();
            run(launches)?;
            Ok(start.elapsed().as_secs_f64())
        };
        let launches = if self.small {
            2
        } else {
            timed(2)?;
            let one = timed(4)? / 4.0;
            ((0.03 / one) as usize).clamp(4, 4000)
        };
        timed(launches)?;
        let mut all = Vec::new();
        for _ in 0..if self.small { 3 } else { SAMPLES } {
            all.push(timed(launches)? / launches as f64);
        }
        all.sort_by(f64::total_cmp);
        Ok(all)
    }
}

/// One measured figure.
#[derive(Clone, Debug)]
struct Figure {
    name: String,
    /// Bytes or operations a second.
    median: f64,
    low: f64,
    high: f64,
    unit: &'static str,
    seconds: f64,
}

/// Figures of one run.
#[derive(Debug)]
pub struct Figures {
    device: String,
    json: Option<File>,
    all: Vec<Figure>,
}

impl Figures {
    /// An empty table; opens the JSON file where one was asked for.
    pub fn new(settings: &Settings) -> Result<Figures, Box<dyn std::error::Error>> {
        let device = Device::default();
        let device = format!("{device} ({})", device.name()?);
        println!("device: {device}");
        let json = settings.json.as_ref().map(File::create).transpose()?;
        Ok(Figures { device, json, all: Vec::new() })
    }

    /// Adds a figure in bytes a second; `samples` are seconds a launch, sorted.
    pub fn bytes(&mut self, name: &str, bytes: usize, samples: Vec<f64>) {
        self.add(name, bytes as f64, "GB/s", samples);
    }

    /// Adds a figure in operations a second.
    pub fn operations(&mut self, name: &str, operations: usize, samples: Vec<f64>) {
        self.add(name, operations as f64 / 1e3, "TFLOP/s", samples);
    }

    fn add(&mut self, name: &str, amount: f64, unit: &'static str, samples: Vec<f64>) {
        let rate = |seconds: f64| amount / seconds / 1e9;
        let seconds = samples[samples.len() / 2];
        let figure = Figure {
            name: name.to_string(),
            median: rate(seconds),
            low: rate(samples[samples.len() - 1]),
            high: rate(samples[0]),
            unit,
            seconds,
        };
        println!(
            "{:44} {:9.1} {:8} ({:.1} to {:.1}; {:.1} us)",
            figure.name,
            figure.median,
            figure.unit,
            figure.low,
            figure.high,
            figure.seconds * 1e6
        );
        self.all.push(figure);
    }

    /// Prints ratios to the named reference (the median of its entries) and writes the JSON lines.
    pub fn finish(mut self, reference: &str) -> io::Result<()> {
        let mut base: Vec<f64> =
            self.all.iter().filter(|f| f.name == reference).map(|f| f.median).collect();
        base.sort_by(f64::total_cmp);
        let base = base.get(base.len() / 2).copied();
        let unit = self.all.iter().find(|f| f.name == reference).map(|f| f.unit);
        for f in &self.all {
            let ratio = base.filter(|_| unit == Some(f.unit)).map(|b| f.median / b);
            if let Some(ratio) = ratio {
                println!("{:44} {ratio:9.3} of {reference}", f.name);
            }
            if let Some(json) = &mut self.json {
                let line = serde_json::json!({
                    "device": self.device, "name": f.name, "unit": f.unit, "median": f.median,
                    "low": f.low, "high": f.high, "seconds": f.seconds, "ratio": ratio,
                    "reference": reference,
                });
                writeln!(json, "{line}")?;
            }
        }
        Ok(())
    }
}

//! What the examples read from disk: the digits and the weights of `async_mlp`.

use cutile::prelude::*;
use safetensors::SafeTensors;

/// Why an example stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A shipped file is not what it was.
    #[error("the shipped file {file} is damaged: {reason}; restore it from the repository")]
    Data {
        /// Its name.
        file: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The command line asks for something unknown.
    #[error("`{argument}`: {expected}")]
    Argument {
        /// What was given.
        argument: String,
        /// What is understood.
        expected: &'static str,
    },
}

const DIGITS: &str = "digits.safetensors";
const WEIGHTS: &str = "mlp.safetensors";

/// The held-out handwritten digits, in host memory.
#[derive(Clone, Debug)]
pub struct Digits {
    /// Row-major `[len, 64]`, values 0 to 1.
    pub images: Vec<f32>,
    /// The digit that each image shows.
    pub labels: Vec<u8>,
}

/// Pixels of one image.
pub const PIXELS: usize = 64;

impl Digits {
    /// Reads the 450 held-out images.
    pub fn held_out() -> Result<Digits, Failure> {
        let bytes = include_bytes!("../data/digits.safetensors");
        let file = SafeTensors::deserialize(bytes).map_err(|e| damaged(DIGITS, e))?;
        let images = file.tensor("test.images").map_err(|e| damaged(DIGITS, e))?;
        let labels = file.tensor("test.labels").map_err(|e| damaged(DIGITS, e))?;
        if images.data().len() != labels.data().len() * PIXELS {
            return Err(damaged(DIGITS, "images and labels differ in number"));
        }
        Ok(Digits {
            images: images.data().iter().map(|v| f32::from(*v) / 16.0).collect(),
            labels: labels.data().to_vec(),
        })
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The images in `n` contiguous parts whose sizes differ by at most one.
    pub fn shares(&self, n: usize) -> Vec<Digits> {
        let at = |i: usize| i * self.len() / n.max(1);
        let part = |i: usize| Digits {
            images: self.images[at(i) * PIXELS..at(i + 1) * PIXELS].to_vec(),
            labels: self.labels[at(i)..at(i + 1)].to_vec(),
        };
        (0..n).map(part).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// A layer's parameters on a device.
#[derive(Clone, Debug)]
pub struct Layer {
    /// `[inputs, outputs]`.
    pub weight: Arc<Tensor<f32>>,
    /// `[outputs]`.
    pub bias: Arc<Tensor<f32>>,
}

impl Layer {
    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.weight.shape()[1]
    }
}

/// The trained network on one device: 64 -> 128 -> 64 -> 10.
#[derive(Clone, Debug)]
pub struct Mlp {
    /// The layers, input side first.
    pub layers: [Layer; 3],
}

impl Mlp {
    /// Loads the shipped weights onto a device.
    pub async fn load(device: usize) -> Result<Mlp, Failure> {
        let bytes = include_bytes!("../data/mlp.safetensors");
        let file = SafeTensors::deserialize(bytes).map_err(|e| damaged(WEIGHTS, e))?;
        let mut layers = Vec::new();
        for i in 0..3 {
            layers.push(Layer {
                weight: parameter(&file, &format!("layer{i}.weight"), device).await?,
                bias: parameter(&file, &format!("layer{i}.bias"), device).await?,
            });
        }
        let layers = layers.try_into().expect("three layers were pushed");
        Ok(Mlp { layers })
    }
}

async fn parameter(
    file: &SafeTensors<'_>,
    name: &str,
    device: usize,
) -> Result<Arc<Tensor<f32>>, Failure> {
    let tensor = file.tensor(name).map_err(|e| damaged(WEIGHTS, e))?;
    let data: Vec<f32> = tensor
        .data()
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let upload = api::from_vec(data, tensor.shape()).arc().fallible();
    Ok(upload.schedule(global_policy(device)).await?)
}

fn damaged(file: &'static str, reason: impl ToString) -> Failure {
    Failure::Data { file, reason: reason.to_string() }
}

/// The `N` of `--rounds N`; 1 where it is not given.
pub fn rounds_from_arguments(
    arguments: impl IntoIterator<Item = String>,
) -> Result<usize, Failure> {
    let mut arguments = arguments.into_iter();
    let mut rounds = 1;
    while let Some(argument) = arguments.next() {
        let expected = "the example takes `--rounds N` with N of at least 1";
        if argument != "--rounds" {
            return Err(Failure::Argument { argument, expected });
        }
        let given = arguments.next().unwrap_or_default();
        rounds = given
            .parse()
            .ok()
            .filter(|n| *n >= 1)
            .ok_or(Failure::Argument { argument: given, expected })?;
    }
    Ok(rounds)
}

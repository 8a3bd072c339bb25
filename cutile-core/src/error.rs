//! What can be wrong with a tensor, a partition or a launch, as types. Failures of devices are
//! [`cuda_async::DeviceError`]; each type here becomes one by `into()` and can be got back with
//! [`DeviceError::downcast_ref`](cuda_async::DeviceError::downcast_ref).

use std::fmt;

use cuda_async::{DeviceError, DeviceId};

use crate::host::DType;

/// Why a tensor can't be made, reshaped or cut as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// More axes than a tensor can have.
    #[error("a tensor of shape {shape:?} has rank {}: ranks 0 to 6 are possible; merge axes", shape.len())]
    Rank {
        /// The shape given.
        shape: Vec<usize>,
    },
    /// More bytes than an address space holds.
    #[error(
        "a tensor of shape {shape:?} with {element_bytes} bytes an element is larger than any memory"
    )]
    TooLarge {
        /// The shape given.
        shape: Vec<usize>,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// The host has no room for the elements that it computes.
    #[error(
        "the host has no memory for the {bytes} bytes of a tensor of shape {shape:?}: work in smaller pieces"
    )]
    HostMemory {
        /// The shape given.
        shape: Vec<usize>,
        /// Bytes of all elements.
        bytes: usize,
    },
    /// Data and shape do not go together.
    #[error(
        "{given} elements were given for a tensor of shape {shape:?}, which has {}",
        shape.iter().product::<usize>()
    )]
    DataLength {
        /// How many elements were given.
        given: usize,
        /// The shape given.
        shape: Vec<usize>,
    },
    /// Another number of elements.
    #[error(
        "a tensor of shape {from:?} can't be reshaped to {to:?}: {} elements are not {}",
        from.iter().product::<usize>(), product(to)
    )]
    Reshape {
        /// The tensor's shape.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },
    /// Elements that are not in row-major order can't be reshaped where they are.
    #[error(
        "a tensor of shape {from:?} with strides {strides:?} can't be reshaped to {to:?} in place, \
         since its elements are not in row-major order: reshape before `transpose`"
    )]
    ReshapeStrided {
        /// The tensor's shape.
        from: Vec<usize>,
        /// The tensor's strides.
        strides: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },
    /// A sub-tensor shape of another rank.
    #[error(
        "a tensor of shape {tensor:?} can't be partitioned into sub-tensors of shape {tile:?}: \
         give one extent for each of its {} axes", tensor.len()
    )]
    PartitionRank {
        /// The tensor's shape.
        tensor: Vec<usize>,
        /// The sub-tensor shape given.
        tile: Vec<usize>,
    },
    /// A sub-tensor without elements.
    #[error(
        "a sub-tensor of shape {tile:?} has extent 0 along axis {axis}: every extent must be at least 1"
    )]
    PartitionZero {
        /// The sub-tensor shape given.
        tile: Vec<usize>,
        /// The axis.
        axis: usize,
    },
    /// Two tensors that must have one shape have two.
    #[error("`{function}` takes tensors of equal shape, but they are {left:?} and {right:?}")]
    ShapesDiffer {
        /// The function.
        function: &'static str,
        /// The first tensor's shape.
        left: Vec<usize>,
        /// The second tensor's shape.
        right: Vec<usize>,
    },
    /// Shapes that can't be multiplied as matrices.
    #[error("`matmul` takes an [m, k] and a [k, n] tensor, but they are {left:?} and {right:?}")]
    Matmul {
        /// The first tensor's shape.
        left: Vec<usize>,
        /// The second tensor's shape.
        right: Vec<usize>,
    },
    /// A count up to a number that the element type does not hold.
    #[error("`arange({n})` needs numbers up to {}, which {dtype} does not hold", n - 1)]
    Range {
        /// How many numbers were asked for.
        n: usize,
        /// The element type.
        dtype: DType,
    },
}

fn product(shape: &[usize]) -> String {
    match shape.iter().try_fold(1usize, |product, extent| product.checked_mul(*extent)) {
        Some(product) => product.to_string(),
        None => "so many".to_string(),
    }
}

/// Why a kernel was not launched. Nothing was submitted, and `recover()` gives the inputs back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}` was not launched: {reason}")]
pub struct LaunchError {
    /// The kernel's full path.
    pub kernel: &'static str,
    /// What is wrong.
    pub reason: LaunchReason,
}

/// What is wrong with a launch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchReason {
    /// A tensor or sub-tensor of another rank than the parameter's.
    #[error(
        "parameter `{parameter}` takes {what} of rank {expected}, but was given shape {given:?}"
    )]
    Rank {
        /// The parameter.
        parameter: String,
        /// `a tensor` or `sub-tensors`.
        what: &'static str,
        /// The rank in the kernel's signature.
        expected: usize,
        /// The shape given.
        given: Vec<usize>,
    },
    /// An extent that the kernel's signature fixes has another value.
    #[error(
        "{what} of parameter `{parameter}` along axis {axis} is {given}, but {origin} says {expected}"
    )]
    Extent {
        /// The parameter.
        parameter: String,
        /// `the extent` or `the sub-tensor's extent`.
        what: &'static str,
        /// The axis.
        axis: usize,
        /// The extent given.
        given: i64,
        /// The extent expected.
        expected: i64,
        /// Who says so: the kernel's signature, or the parameter that bound the const.
        origin: Box<ExtentOrigin>,
    },
    /// An expression in the kernel's signature has no value for these const parameters.
    #[error(
        "`{text}`, the extent of parameter `{parameter}` along axis {axis}, divides by zero or overflows for these const values"
    )]
    Expression {
        /// The parameter.
        parameter: String,
        /// The axis.
        axis: usize,
        /// The expression.
        text: String,
    },
    /// Partitions whose grids differ.
    #[error(
        "the partitions have different numbers of sub-tensors: {first_grid:?} for parameter `{first}`, \
         {other_grid:?} for `{other}`; they must agree, trailing ones apart"
    )]
    Grids {
        /// The first partitioned parameter.
        first: String,
        /// Its grid.
        first_grid: Vec<usize>,
        /// The partitioned parameter that disagrees.
        other: String,
        /// Its grid.
        other_grid: Vec<usize>,
    },
    /// No `&mut` parameter to take the grid from, and no `.grid(..)`.
    #[error(
        "it has no `&mut` parameter, so nothing says how many tile programs run: call `.grid([..])` on the launch"
    )]
    NoGrid,
    /// A grid with more axes than a tensor can have.
    #[error("a grid of {grid:?} has {} axes: up to {} are possible", grid.len(), crate::host::MAX_RANK)]
    GridRank {
        /// The grid given.
        grid: Vec<usize>,
    },
    /// More tile programs than a launch can have.
    #[error("a grid of {grid:?} has more than 2147483647 tile programs: use larger sub-tensors")]
    GridTooLarge {
        /// The grid.
        grid: Vec<usize>,
    },
    /// A tile index is an i32 in the kernel; a tensor extent too.
    #[error(
        "parameter `{parameter}` has extent {extent} along axis {axis}, more than 2147483647: reshape or split the tensor"
    )]
    ExtentTooLarge {
        /// The parameter.
        parameter: String,
        /// The axis.
        axis: usize,
        /// The extent.
        extent: usize,
    },
    /// A tensor on another device than the launch.
    #[error(
        "parameter `{parameter}` is on {found}, but the launch runs on {expected}: move it with `copy_to`, or schedule the launch on {found}"
    )]
    Device {
        /// The parameter.
        parameter: String,
        /// Where the launch runs.
        expected: DeviceId,
        /// Where the tensor is.
        found: DeviceId,
    },
    /// An argument of another element type or kind than the parameter's.
    #[error("parameter `{parameter}` takes {expected}, but was given {given}")]
    Type {
        /// The parameter.
        parameter: String,
        /// What the kernel's signature says.
        expected: String,
        /// What was given.
        given: String,
    },
    /// A const parameter outside what the kernel can take.
    #[error("const parameter `{parameter}` is {given}: {expected}")]
    Const {
        /// The const parameter.
        parameter: String,
        /// Its value.
        given: i64,
        /// What it may be.
        expected: &'static str,
    },
    /// Launcher and kernel disagree about the kernel's signature.
    #[error(
        "its launcher gives {given} {what}, but the kernel takes {expected}: \
         the program mixes two versions of cutile; rebuild it"
    )]
    Signature {
        /// What is counted.
        what: &'static str,
        /// How many the launcher gives.
        given: usize,
        /// How many the kernel takes.
        expected: usize,
    },
    /// The tensor or partition was invalid before it came to the launch.
    #[error("parameter `{parameter}`: {error}")]
    Tensor {
        /// The parameter.
        parameter: String,
        /// What is wrong with it.
        error: Box<TensorError>,
    },
    /// The embedded kernel can't be read.
    #[error("its embedded code can't be read: {0}")]
    Damaged(String),
    /// The kernel is wrong for these sizes.
    #[error("it is not possible for {specialisation}:\n{messages}")]
    Specialisation {
        /// Const values and element types.
        specialisation: String,
        /// What the compiler has to say, one message a line.
        messages: String,
    },
}

/// Who decides the value of an extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtentOrigin {
    /// A number in the kernel's signature.
    Signature,
    /// A const parameter that the launcher was given.
    Const(String),
    /// A const parameter that another argument bound.
    Bound {
        /// The const parameter.
        name: String,
        /// The parameter whose argument bound it.
        parameter: String,
    },
    /// An expression over const parameters in the kernel's signature.
    Expression(String),
}

impl fmt::Display for ExtentOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtentOrigin::Signature => f.write_str("the kernel's signature"),
            ExtentOrigin::Const(name) => write!(f, "the const argument `{name}`"),
            ExtentOrigin::Bound { name, parameter } => {
                write!(f, "`{name}`, bound by parameter `{parameter}`,")
            }
            ExtentOrigin::Expression(text) => write!(f, "`{text}` in the kernel's signature"),
        }
    }
}

/// Why no compiled form of a kernel was found for a GPU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}` is not built for {specialisation} on {gpu}: run `{command}`{detail}")]
pub struct MissingKernel {
    /// The kernel's full path.
    pub kernel: String,
    /// Element types and const values.
    pub specialisation: String,
    /// The GPU's name and architecture.
    pub gpu: String,
    /// The command that builds it.
    pub command: String,
    /// Why it was not compiled on the spot; empty, or begins with `; `.
    pub detail: String,
}

macro_rules! into_device_error {
    ($($error:ty),*) => {$(
        impl From<$error> for DeviceError {
            fn from(error: $error) -> Self {
                DeviceError::new(error)
            }
        }
    )*};
}
into_device_error!(TensorError, LaunchError, MissingKernel);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_error_comes_back_typed() {
        let error = TensorError::DataLength { given: 3, shape: vec![2, 2] };
        let wrapped = DeviceError::from(error.clone());
        assert_eq!(wrapped.downcast_ref::<TensorError>(), Some(&error));
        assert_eq!(
            wrapped.to_string(),
            "3 elements were given for a tensor of shape [2, 2], which has 4"
        );
    }

    #[test]
    fn an_overflowing_shape_can_be_displayed() {
        let to = vec![usize::MAX, 2];
        let error = TensorError::Reshape { from: vec![4], to };
        assert!(error.to_string().ends_with("4 elements are not so many"), "{error}");
    }
}

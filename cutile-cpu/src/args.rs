//! Arguments of a launch and their check against the kernel's parameters. Nothing here reads a
//! tensor's memory.

use crate::launch::program_count;
use cutile_ir::{Element, Function, MAX_RANK, Type};
use smallvec::SmallVec;

/// One number an axis: extents or strides.
pub type Axes64 = SmallVec<[i64; 4]>;

/// A scalar argument: its element type and its bits, in the low bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Element type; it must be the parameter's.
    pub element: Element,
    /// The value's bits as memory holds them, little-endian, in the low [`Element::bytes`] bytes.
    pub bits: u64,
}

macro_rules! scalar_from {
    ($($t:ty => $e:ident, |$v:ident| $bits:expr;)*) => {$(
        impl From<$t> for Scalar {
            fn from($v: $t) -> Scalar {
                Scalar { element: Element::$e, bits: $bits }
            }
        }
    )*};
}
scalar_from! {
    f64 => F64, |v| v.to_bits();
    f32 => F32, |v| v.to_bits().into();
    half::f16 => F16, |v| v.to_bits().into();
    half::bf16 => BF16, |v| v.to_bits().into();
    i8 => I8, |v| (v as u8).into();
    i16 => I16, |v| (v as u16).into();
    i32 => I32, |v| (v as u32).into();
    i64 => I64, |v| v as u64;
    u8 => U8, |v| v.into();
    u16 => U16, |v| v.into();
    u32 => U32, |v| v.into();
    u64 => U64, |v| v;
    bool => Bool, |v| v.into();
}

/// A tensor argument: where its elements lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorArg {
    /// Address of the element at index (0, 0, ..), aligned to the element. May be dangling when an
    /// extent is 0.
    pub base: *mut u8,
    /// Element type; it must be the parameter's.
    pub element: Element,
    /// Extents, outermost axis first.
    pub extents: Axes64,
    /// Distance between neighbours along each axis, in elements. Any value is legal; 1 along the
    /// innermost axis is fast.
    pub strides: Axes64,
}

impl TensorArg {
    /// A tensor in row-major order without gaps.
    pub fn contiguous(base: *mut u8, element: Element, extents: &[i64]) -> TensorArg {
        let mut strides = Axes64::from_elem(1, extents.len());
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] = strides[axis].wrapping_mul(extents[axis].max(1));
        }
        TensorArg { base, element, extents: extents.into(), strides }
    }
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// For a scalar parameter.
    Scalar(Scalar),
    /// For a tensor parameter, shared or partitioned.
    Tensor(TensorArg),
}

impl<T: Into<Scalar>> From<T> for Arg {
    fn from(v: T) -> Arg {
        Arg::Scalar(v.into())
    }
}

impl From<TensorArg> for Arg {
    fn from(t: TensorArg) -> Arg {
        Arg::Tensor(t)
    }
}

/// An argument list or a grid that does not suit the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// Wrong number of arguments.
    #[error("kernel `{kernel}` takes {expected} arguments, {given} were given")]
    Count {
        /// The kernel.
        kernel: String,
        /// Parameters of the kernel.
        expected: usize,
        /// Arguments given.
        given: usize,
    },
    /// An argument of another kind, element type, rank or fixed extent than its parameter.
    #[error("parameter `{name}` of kernel `{kernel}` is {expected}, the argument is {given}")]
    Mismatch {
        /// The kernel.
        kernel: String,
        /// The parameter.
        name: String,
        /// What the kernel declares.
        expected: String,
        /// What was given.
        given: String,
    },
    /// A tensor whose elements don't lie at multiples of their size.
    #[error(
        "parameter `{name}` of kernel `{kernel}`: the tensor begins at address {address:#x}, which is no \
         multiple of {element}'s {} bytes", .element.bytes()
    )]
    Misaligned {
        /// The kernel.
        kernel: String,
        /// The parameter.
        name: String,
        /// Address of the first element.
        address: usize,
        /// Element type.
        element: Element,
    },
    /// A grid of more axes than a tile program can see.
    #[error("a grid has at most {MAX_RANK} axes, this one has {rank}")]
    GridRank {
        /// Axes given.
        rank: usize,
    },
    /// An axis of the grid that a tile program's 32-bit position can't count.
    #[error("axis {axis} of the grid has {count} programs, at most 2147483647 are possible")]
    GridExtent {
        /// The axis.
        axis: usize,
        /// Programs asked for.
        count: u32,
    },
    /// More programs than can be counted.
    #[error("a grid has at most {limit} programs")]
    GridSize {
        /// The most programs.
        limit: u64,
    },
}

/// Checks arguments against a function's parameters.
pub(crate) fn check(function: &Function, args: &[Arg]) -> Result<(), ArgumentError> {
    let kernel = &function.name;
    if args.len() != function.params.len() {
        return Err(ArgumentError::Count {
            kernel: kernel.clone(),
            expected: function.params.len(),
            given: args.len(),
        });
    }
    for (param, arg) in function.params.iter().zip(args) {
        let ty = function.ty(param.value);
        if !suits(ty, arg) {
            return Err(ArgumentError::Mismatch {
                kernel: kernel.clone(),
                name: param.name.clone(),
                expected: describe_type(ty),
                given: describe(arg),
            });
        }
        if let Arg::Tensor(t) = arg
            && !(t.base as usize).is_multiple_of(t.element.bytes())
            && !t.extents.contains(&0)
        {
            return Err(ArgumentError::Misaligned {
                kernel: kernel.clone(),
                name: param.name.clone(),
                address: t.base as usize,
                element: t.element,
            });
        }
    }
    Ok(())
}

/// Checks a grid and counts its programs.
pub(crate) fn check_grid(grid: &[u32]) -> Result<u64, ArgumentError> {
    if grid.len() > MAX_RANK {
        return Err(ArgumentError::GridRank { rank: grid.len() });
    }
    match grid.iter().position(|n| *n > i32::MAX as u32) {
        Some(axis) => Err(ArgumentError::GridExtent { axis, count: grid[axis] }),
        None => program_count(grid),
    }
}

fn suits(ty: &Type, arg: &Arg) -> bool {
    match (ty, arg) {
        (Type::Scalar(e), Arg::Scalar(s)) => e.known() == Some(s.element),
        (Type::Tensor(t), Arg::Tensor(a)) => {
            t.element.known() == Some(a.element)
                && t.extents.len() == a.extents.len()
                && a.strides.len() == a.extents.len()
                && a.extents.iter().all(|n| *n >= 0)
                && t.extents
                    .iter()
                    .zip(&a.extents)
                    .all(|(fixed, n)| fixed.as_ref().is_none_or(|d| d.known() == Some(*n)))
        }
        _ => false,
    }
}

fn describe_type(ty: &Type) -> String {
    let element = |e: cutile_ir::ElementType| e.known().map_or("an open type", Element::name);
    match ty {
        Type::Scalar(e) => format!("a scalar {}", element(*e)),
        Type::Tensor(t) => {
            let extents: Vec<String> = t
                .extents
                .iter()
                .map(|d| d.as_ref().and_then(|d| d.known()).map_or("-1".into(), |n| n.to_string()))
                .collect();
            format!("a tensor {}[{}]", element(t.element), extents.join(", "))
        }
        Type::Tile(_) => "a tile".into(),
        Type::View(_) => "a view".into(),
    }
}

fn describe(arg: &Arg) -> String {
    match arg {
        Arg::Scalar(s) => format!("a scalar {}", s.element),
        Arg::Tensor(t) => {
            let extents: Vec<String> = t.extents.iter().map(i64::to_string).collect();
            let strides = if t.strides.len() == t.extents.len() {
                String::new()
            } else {
                format!(" with {} strides", t.strides.len())
            };
            format!("a tensor {}[{}]{strides}", t.element, extents.join(", "))
        }
    }
}

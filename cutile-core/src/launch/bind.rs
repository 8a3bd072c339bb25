//! Matches arguments with a kernel's signature: const parameters get their values, the grid is found, and everything that
//! can be wrong with a launch is found before anything is submitted. No device is asked.

use cuda_async::DeviceId;
use cutile_ir::{ConstKind, ElementType};
use smallvec::SmallVec;

use super::args::{Arg, ArgList};
use super::signature::{ExtentSpec, ParamKind, ParamSpec, Signature};
use crate::error::{ExtentOrigin, LaunchReason};
use crate::host::{self, DType, MAX_RANK, RawTensor, Shape};

/// Element types and const values: all that distinguishes one specialisation of a kernel from another.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Values {
    pub(crate) types: SmallVec<[DType; 4]>,
    pub(crate) consts: SmallVec<[i64; 12]>,
}

/// A launch that has passed every check.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) values: Values,
    /// Tile programs along each axis, without trailing ones.
    pub(crate) grid: Shape,
}

impl Bound {
    /// Whether there is nothing to run.
    pub(crate) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

/// What the launcher gives beside the arguments.
pub(crate) struct Given<'a> {
    pub(crate) types: &'a [DType],
    pub(crate) consts: &'a [i64],
    pub(crate) grid: Option<&'a Shape>,
}

/// Checks a launch and finds what depends on its arguments.
pub(crate) fn bind(
    signature: &Signature,
    given: &Given<'_>,
    args: &ArgList<'_>,
    device: DeviceId,
) -> Result<Bound, LaunchReason> {
    for (what, given, expected) in [
        ("arguments", args.len(), signature.params.len()),
        ("element types", given.types.len(), signature.types.len()),
        ("const arguments", given.consts.len(), signature.free.len()),
    ] {
        if given != expected {
            return Err(LaunchReason::Signature { what, given, expected });
        }
    }
    let types = SmallVec::from_slice(given.types);
    let mut known: SmallVec<[Option<i64>; 12]> = SmallVec::from_elem(None, signature.consts.len());
    for (slot, value) in signature.free.iter().zip(given.consts) {
        known[*slot] = Some(const_value(signature, *slot, *value)?);
    }
    for (param, arg) in signature.params.iter().zip(args) {
        check_kind(param, *arg, &types)?;
        check_place(param, *arg, device)?;
        bind_extents(signature, param, *arg, &mut known)?;
    }
    // Every slot is free or bound by some parameter.
    let consts: SmallVec<[i64; 12]> = known.into_iter().map(Option::unwrap_or_default).collect();
    for (param, arg) in signature.params.iter().zip(args) {
        check_expressions(signature, param, *arg, &consts)?;
    }
    let grid = match given.grid {
        Some(grid) => explicit_grid(grid)?,
        None => partition_grid(signature, args)?,
    };
    Ok(Bound { values: Values { types, consts }, grid: checked_grid(grid)? })
}

fn const_value(signature: &Signature, slot: usize, value: i64) -> Result<i64, LaunchReason> {
    let spec = &signature.consts[slot];
    let expected = match spec.kind {
        ConstKind::Bool if !(0..=1).contains(&value) => "a `bool` is 0 or 1",
        _ if i32::try_from(value).is_err() => "it must fit an i32",
        _ => return Ok(value),
    };
    Err(LaunchReason::Const { parameter: spec.name.clone(), given: value, expected })
}

fn check_kind(param: &ParamSpec, arg: Arg<'_>, types: &[DType]) -> Result<(), LaunchReason> {
    let element = match param.element {
        ElementType::Known(element) => element,
        ElementType::Param(parameter) => types[parameter.0 as usize],
    };
    let (fits, dtype) = match (arg, &param.kind) {
        (Arg::Scalar { dtype, .. }, kind) => (matches!(kind, ParamKind::Scalar), dtype),
        (Arg::Tensor(t), kind) => (matches!(kind, ParamKind::Shared { .. }), t.dtype),
        (Arg::Partition(t, _), kind) => (matches!(kind, ParamKind::Partitioned { .. }), t.dtype),
    };
    if fits && dtype == element {
        return Ok(());
    }
    let expected = match &param.kind {
        ParamKind::Scalar => format!("a scalar of type {element}"),
        ParamKind::Shared { .. } => format!("a tensor of {element}"),
        ParamKind::Partitioned { .. } => format!("a partition of a tensor of {element}"),
    };
    let given = match arg {
        Arg::Scalar { .. } => format!("a scalar of type {dtype}"),
        Arg::Tensor(_) => format!("a tensor of {dtype}"),
        Arg::Partition(..) => format!("a partition of a tensor of {dtype}"),
    };
    Err(LaunchReason::Type { parameter: param.name.clone(), expected, given })
}

/// What can be wrong with a tensor whatever the kernel is: an invalid shape, another device, extents beyond a tile index.
fn check_place(param: &ParamSpec, arg: Arg<'_>, device: DeviceId) -> Result<(), LaunchReason> {
    let Some(tensor) = arg.tensor() else { return Ok(()) };
    let parameter = || param.name.clone();
    tensor
        .check()
        .map_err(|error| LaunchReason::Tensor { parameter: parameter(), error: Box::new(error) })?;
    let found = tensor.buffer.device().id();
    if found != device {
        return Err(LaunchReason::Device { parameter: parameter(), expected: device, found });
    }
    let tile = match arg {
        Arg::Partition(tensor, tile) => {
            let grid = host::grid(&tensor.layout.shape, tile);
            grid.map_err(|error| LaunchReason::Tensor {
                parameter: parameter(),
                error: Box::new(error),
            })?;
            tile
        }
        _ => &[],
    };
    for extents in [&tensor.layout.shape[..], tile] {
        if let Some(axis) = extents.iter().position(|extent| i32::try_from(*extent).is_err()) {
            let extent = extents[axis];
            return Err(LaunchReason::ExtentTooLarge { parameter: parameter(), axis, extent });
        }
    }
    Ok(())
}

/// The shape that a parameter's extents are matched with, and what it is called.
fn given_extents<'a>(arg: Arg<'a>) -> (&'a [usize], &'static str, &'static str) {
    match arg {
        Arg::Scalar { .. } => (&[], "", ""),
        Arg::Tensor(RawTensor { layout, .. }) => (&layout.shape, "a tensor", "the extent"),
        Arg::Partition(_, tile) => (tile, "sub-tensors", "the sub-tensor's extent"),
    }
}

fn bind_extents(
    signature: &Signature,
    param: &ParamSpec,
    arg: Arg<'_>,
    known: &mut [Option<i64>],
) -> Result<(), LaunchReason> {
    let (given, what, extent) = given_extents(arg);
    let expected = param.extents();
    if given.len() != expected.len() {
        return Err(LaunchReason::Rank {
            parameter: param.name.clone(),
            what,
            expected: expected.len(),
            given: given.to_vec(),
        });
    }
    for (axis, (spec, given)) in expected.iter().zip(given).enumerate() {
        let given = *given as i64;
        let (expected, slot) = match spec {
            ExtentSpec::Any | ExtentSpec::Expression(_) => continue,
            ExtentSpec::Fixed(n) => (*n, None),
            ExtentSpec::Const(slot) => (*known[*slot].get_or_insert(given), Some(*slot)),
        };
        if expected != given {
            let origin = Box::new(match slot {
                None => ExtentOrigin::Signature,
                Some(slot) => origin(signature, slot),
            });
            let parameter = param.name.clone();
            return Err(LaunchReason::Extent {
                parameter,
                what: extent,
                axis,
                given,
                expected,
                origin,
            });
        }
    }
    Ok(())
}

fn origin(signature: &Signature, slot: usize) -> ExtentOrigin {
    let name = signature.consts[slot].name.clone();
    match signature.binder(slot) {
        Some(param) => ExtentOrigin::Bound { name, parameter: param.name.clone() },
        None => ExtentOrigin::Const(name),
    }
}

fn check_expressions(
    signature: &Signature,
    param: &ParamSpec,
    arg: Arg<'_>,
    consts: &[i64],
) -> Result<(), LaunchReason> {
    let (given, _, what) = given_extents(arg);
    for (axis, (spec, given)) in param.extents().iter().zip(given).enumerate() {
        let ExtentSpec::Expression(dim) = spec else { continue };
        let given = *given as i64;
        let text = cutile_ir::print::dim_text(dim, signature.entry());
        let Some(expected) = signature.evaluate(dim, consts) else {
            return Err(LaunchReason::Expression { parameter: param.name.clone(), axis, text });
        };
        if expected != given {
            let origin = Box::new(ExtentOrigin::Expression(text));
            let parameter = param.name.clone();
            return Err(LaunchReason::Extent { parameter, what, axis, given, expected, origin });
        }
    }
    Ok(())
}

fn explicit_grid(grid: &Shape) -> Result<Shape, LaunchReason> {
    if grid.len() > MAX_RANK {
        return Err(LaunchReason::GridRank { grid: grid.to_vec() });
    }
    Ok(without_trailing_ones(grid.clone()))
}

fn partition_grid(signature: &Signature, args: &ArgList<'_>) -> Result<Shape, LaunchReason> {
    let mut first: Option<(&ParamSpec, Shape)> = None;
    for (param, arg) in signature.params.iter().zip(args) {
        let Arg::Partition(tensor, tile) = arg else { continue };
        let parameter = || param.name.clone();
        let grid = host::grid(&tensor.layout.shape, tile).map_err(|error| {
            LaunchReason::Tensor { parameter: parameter(), error: Box::new(error) }
        })?;
        let grid = without_trailing_ones(grid);
        match &first {
            None => first = Some((param, grid)),
            Some((_, known)) if *known == grid => {}
            Some((known, known_grid)) => {
                return Err(LaunchReason::Grids {
                    first: known.name.clone(),
                    first_grid: known_grid.to_vec(),
                    other: parameter(),
                    other_grid: grid.to_vec(),
                });
            }
        }
    }
    first.map(|(_, grid)| grid).ok_or(LaunchReason::NoGrid)
}

fn without_trailing_ones(mut grid: Shape) -> Shape {
    while grid.last() == Some(&1) {
        grid.pop();
    }
    grid
}

fn checked_grid(grid: Shape) -> Result<Shape, LaunchReason> {
    let programs = grid.iter().try_fold(1usize, |product, extent| product.checked_mul(*extent));
    // A zero beside extents that overflow is still nothing to run.
    match programs {
        Some(n) if i32::try_from(n).is_ok() => Ok(grid),
        _ if grid.contains(&0) => Ok(grid),
        _ => Err(LaunchReason::GridTooLarge { grid: grid.to_vec() }),
    }
}

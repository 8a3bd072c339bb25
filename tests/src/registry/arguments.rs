//! Arguments for a kernel's signature: the same for every backend, the same in every run.

use std::fmt;

use cutile_bundle::key::{FactsClass, TensorFacts};
use cutile_ir::{Element, ElementClass, Function, MAX_RANK, ParamRole, Type};
use half::{bf16, f16};

use super::{Given, Value};

/// A tensor in memory of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    pub(super) element: Element,
    pub(super) extents: Vec<i64>,
    /// In elements.
    pub(super) strides: Vec<i64>,
    /// Of the first element, in bytes.
    pub(super) offset: usize,
    /// From the start of the memory to the end of the last element.
    pub(super) bytes: Vec<u8>,
    pub(super) written: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arg {
    Scalar { element: Element, bits: u64 },
    Tensor(Tensor),
}

/// One launch's arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) args: Vec<Arg>,
    pub(super) grid: Vec<u32>,
}

impl Case {
    pub(super) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.args.iter().filter_map(|arg| match arg {
            Arg::Tensor(tensor) => Some(tensor),
            Arg::Scalar { .. } => None,
        })
    }

    /// With it noted which tensors may be written.
    fn with_roles(mut self, f: &Function) -> Case {
        for (param, arg) in f.params.iter().zip(&mut self.args) {
            if let Arg::Tensor(tensor) = arg {
                tensor.written = matches!(param.role, ParamRole::Partitioned { .. });
            }
        }
        self
    }

    /// The compiled form that a launch with these arguments takes.
    pub(super) fn facts(&self) -> FactsClass {
        FactsClass::of(self.tensors().map(|tensor| TensorFacts {
            base: tensor.offset as u64,
            element_bytes: tensor.element.bytes() as u64,
            extents: &tensor.extents,
            strides: &tensor.strides,
        }))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grid {:?}", self.grid)?;
        for arg in &self.args {
            match arg {
                Arg::Scalar { element, bits } => write!(f, ", {element} {bits:#x}")?,
                Arg::Tensor(t) => write!(f, ", {} {:?} by {:?}", t.element, t.extents, t.strides)?,
            }
        }
        Ok(())
    }
}

/// How tensors lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// Rows begin at multiples of 16 bytes.
    Aligned,
    /// An element behind such a place, the axes in reverse order if there are several.
    General,
}

/// Where the arguments of one launch come from.
pub(super) enum Attempt<'a> {
    Made(Made),
    Given(&'a Given),
}

/// Extents and numbers that suit a signature.
pub(super) struct Made {
    number: u64,
    /// Extents of tensors that the signature leaves open, by axis.
    extents: [i64; MAX_RANK],
}

/// Programs along an axis, at most.
const PROGRAMS: i64 = 5;

impl<'a> Attempt<'a> {
    /// Small, ragged and whole shapes around the kernel's tiles, the cheapest first.
    pub(super) fn all(f: &Function) -> impl Iterator<Item = Attempt<'a>> + use<'a> {
        let tiles = tiles(f);
        let rank = tiles.iter().rposition(|extent| *extent > 0).map_or(1, |axis| axis + 1);
        let largest = tiles.iter().copied().max().unwrap_or(1).max(4);
        // Axes before the last two stay small: they multiply.
        let limit = |axis: usize, extent: i64| {
            if axis + 2 < rank { extent.min(tiles[axis] + 2) } else { extent }
        };
        let same = |n| std::array::from_fn(|axis| limit(axis, n));
        let each = |of: fn(i64, i64) -> i64| {
            std::array::from_fn(|axis| limit(axis, of(tiles[axis].max(1), axis as i64)))
        };
        let all = [
            same(1),
            same(largest + largest / 2 + 1),
            each(|tile, axis| tile + tile / 2 + 1 + axis),
            each(|tile, _| tile),
            same(largest),
            same(2 * largest + 3),
        ];
        (0..).zip(all).map(|(number, extents)| Attempt::Made(Made { number, extents }))
    }

    pub(super) fn arguments(&self, f: &Function, layout: Layout) -> Case {
        match self {
            Attempt::Made(made) => made.arguments(f, layout),
            Attempt::Given(given) => given.arguments(f, layout),
        }
    }
}

impl Made {
    /// The arguments, and the grid that the partitions among them give.
    fn arguments(&self, f: &Function, layout: Layout) -> Case {
        let mut noise = Noise(0x9e37_79b9_7f4a_7c15 ^ (self.number << 8 | 1));
        let grid = self.grid(partitions(f).next());
        let args = f.params.iter().map(|param| {
            let ty = f.ty(param.value);
            let element = ty.element().known().expect("a specialised kernel");
            match (&param.role, ty) {
                (ParamRole::Partitioned { tile }, _) => {
                    let extents = self.partitioned(&numbers(tile), &grid);
                    Arg::Tensor(Tensor::new(element, extents, layout, || noise.element(element)))
                }
                (ParamRole::Shared, Type::Tensor(tensor)) => {
                    let extents = tensor.extents.iter().enumerate().map(|(axis, extent)| {
                        extent.as_ref().map_or(self.extents[axis], |dim| dim.expect())
                    });
                    let extents = extents.collect();
                    Arg::Tensor(Tensor::new(element, extents, layout, || noise.element(element)))
                }
                _ => Arg::Scalar { element, bits: self.scalar(element) },
            }
        });
        Case { args: args.collect(), grid: launched(grid) }.with_roles(f)
    }

    /// Programs along each axis: as many as the first partition needs, or a few where there is none.
    fn grid(&self, partition: Option<Vec<i64>>) -> Vec<i64> {
        match partition {
            None => vec![1 + self.number as i64 % 3, 2],
            Some(tile) => tile
                .iter()
                .enumerate()
                .map(|(axis, tile)| ((self.extents[axis] + tile - 1) / tile).min(PROGRAMS))
                .collect(),
        }
    }

    /// Extents that give this grid, the last tile as ragged as the attempt is.
    fn partitioned(&self, tile: &[i64], grid: &[i64]) -> Vec<i64> {
        let axes = tile.iter().enumerate();
        axes.map(|(axis, tile)| {
            let programs = grid.get(axis).copied().unwrap_or(1);
            (programs - 1) * tile + 1 + (self.extents[axis] - 1) % tile
        })
        .collect()
    }

    fn scalar(&self, element: Element) -> u64 {
        let at = self.number as usize % 5;
        match element.class() {
            ElementClass::Float => encode(element, [0.5, 1.5, -2.0, 3.0, 0.25][at]),
            ElementClass::Bool => 1 - self.number % 2,
            ElementClass::Signed | ElementClass::Unsigned => [0, 1, 2, 1, 3][at],
        }
    }
}

/// For each axis the largest tile that the kernel has of any tensor; 0 for axes that no tensor has.
fn tiles(f: &Function) -> [i64; MAX_RANK] {
    let mut largest = [0; MAX_RANK];
    let mut take = |shape: &[i64]| {
        for (axis, extent) in shape.iter().enumerate() {
            largest[axis] = largest[axis].max(*extent);
        }
    };
    for value in &f.values {
        match &value.ty {
            Type::View(view) => take(&numbers(&view.shape)),
            Type::Tensor(tensor) => take(&vec![1; tensor.extents.len()]),
            _ => {}
        }
    }
    for param in &f.params {
        if let ParamRole::Partitioned { tile } = &param.role {
            take(&numbers(tile));
        }
    }
    largest
}

/// The tiles of the partitioned parameters.
fn partitions(f: &Function) -> impl Iterator<Item = Vec<i64>> {
    f.params.iter().filter_map(|param| match &param.role {
        ParamRole::Partitioned { tile } => Some(numbers(tile)),
        _ => None,
    })
}

/// A grid as launches give it.
fn launched(grid: Vec<i64>) -> Vec<u32> {
    let mut grid: Vec<u32> = grid.iter().map(|n| *n as u32).collect();
    while grid.last() == Some(&1) {
        grid.pop();
    }
    grid
}

impl Given {
    fn arguments(&self, f: &Function, layout: Layout) -> Case {
        assert_eq!(self.args.len(), f.params.len(), "{}", self.kernel);
        let args = self.args.iter().zip(&f.params).map(|(value, param)| {
            let element = f.ty(param.value).element().known().expect("a specialised kernel");
            match value {
                Value::Scalar(n) => Arg::Scalar { element, bits: whole(element, *n) },
                Value::Tensor(extents, numbers) => {
                    // Filled in row-major order, wherever the elements lie.
                    let mut tensor = Tensor::new(element, extents.to_vec(), layout, || 0);
                    let places: Vec<usize> = tensor.places().collect();
                    for (place, n) in places.into_iter().zip(numbers.iter().cycle()) {
                        let bits = whole(element, *n).to_le_bytes();
                        tensor.bytes[place..place + element.bytes()]
                            .copy_from_slice(&bits[..element.bytes()]);
                    }
                    Arg::Tensor(tensor)
                }
            }
        });
        let args: Vec<Arg> = args.collect();
        let first = f.params.iter().zip(&args).find_map(|(param, arg)| match (&param.role, arg) {
            (ParamRole::Partitioned { tile }, Arg::Tensor(tensor)) => {
                let axes = tensor.extents.iter().zip(numbers(tile));
                Some(axes.map(|(extent, tile)| (extent + tile - 1) / tile).collect())
            }
            _ => None,
        });
        let grid = first.map_or_else(|| self.grid.to_vec(), launched);
        Case { args, grid }.with_roles(f)
    }
}

fn numbers(shape: &cutile_ir::Shape) -> Vec<i64> {
    shape.iter().map(|dim| dim.expect()).collect()
}

impl Tensor {
    fn new(
        element: Element,
        extents: Vec<i64>,
        layout: Layout,
        mut next: impl FnMut() -> u64,
    ) -> Tensor {
        let width = element.bytes();
        // The order in which axes lie, the fastest first.
        let mut order: Vec<usize> = (0..extents.len()).rev().collect();
        if layout == Layout::General {
            order.reverse();
        }
        let (mut strides, mut distance) = (vec![1; extents.len()], 1);
        for (place, axis) in order.into_iter().enumerate() {
            strides[axis] = distance;
            distance *= extents[axis];
            if place == 0 && layout == Layout::Aligned {
                distance = (distance as usize * width).next_multiple_of(16) as i64 / width as i64;
            }
        }
        let last: i64 = extents.iter().zip(&strides).map(|(n, stride)| (n - 1) * stride).sum();
        let offset = if layout == Layout::General { width } else { 0 };
        let count = offset / width + last as usize + 1;
        let bytes = (0..count).flat_map(|_| next().to_le_bytes().into_iter().take(width));
        let bytes = bytes.collect();
        Tensor { element, extents, strides, offset, bytes, written: false }
    }

    /// Where each element is, in bytes, in row-major order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        let count: i64 = self.extents.iter().product();
        (0..count).map(|number| {
            let (mut rest, mut place) = (number, 0);
            for (extent, stride) in self.extents.iter().zip(&self.strides).rev() {
                place += rest % extent * stride;
                rest /= extent;
            }
            self.offset + place as usize * self.element.bytes()
        })
    }
}

/// Numbers that look random.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// Floats are small multiples of 1/4, so that sums of products are exact in every order; integers are small, and every fourth
    /// of them any.
    fn element(&mut self, element: Element) -> u64 {
        let random = self.next();
        match element.class() {
            ElementClass::Float => encode(element, (random % 15) as f64 / 4.0 - 1.75),
            ElementClass::Bool => random & 1,
            _ if random.is_multiple_of(4) => random >> 2,
            ElementClass::Unsigned => 1 + random % 9,
            ElementClass::Signed => (random as i64 % 19 - 9).cast_unsigned(),
        }
    }
}

/// The bits of a whole number.
fn whole(element: Element, n: i64) -> u64 {
    if element.is_float() { encode(element, n as f64) } else { n.cast_unsigned() }
}

/// The bits of a multiple of 1/4 below 4, which each float type holds; larger ones where the type does.
fn encode(element: Element, value: f64) -> u64 {
    match element {
        Element::F64 => value.to_bits(),
        Element::F16 => f16::from_f64(value).to_bits().into(),
        Element::BF16 => bf16::from_f64(value).to_bits().into(),
        // Sign, exponent and mantissa of an f16, with fewer bits of mantissa and, for e4m3, of exponent.
        Element::F8E5M2 => u64::from(f16::from_f64(value).to_bits() >> 8),
        Element::F8E4M3 => {
            let bits = f16::from_f64(value).to_bits();
            let magnitude = (bits & 0x7fff) >> 7;
            let moved = if magnitude == 0 { 0 } else { magnitude - (8 << 3) };
            u64::from(bits >> 8 & 0x80 | moved)
        }
        _ => (value as f32).to_bits().into(),
    }
}

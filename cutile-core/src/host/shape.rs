//! Shapes and strides of host-side tensors: pure arithmetic on extents, no memory and no devices.

use smallvec::SmallVec;

use crate::error::TensorError;

pub use cutile_ir::MAX_RANK;

/// Extents or strides of a tensor, outermost axis first; held in place up to rank 6.
pub type Shape = SmallVec<[usize; MAX_RANK]>;

/// What can be given as a shape: arrays, slices and vectors of `usize`. Rank 0 (`[]`) is one element; a zero extent is an
/// empty tensor. The rank is checked where the shape is used.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected extents as an array, slice or `Vec` of `usize`: `[2, 3]`, or `[n]` for one axis"
)]
pub trait IntoShape {
    /// The extents.
    fn into_shape(self) -> Shape;
}

impl<const N: usize> IntoShape for [usize; N] {
    fn into_shape(self) -> Shape {
        Shape::from_slice(&self)
    }
}

impl<const N: usize> IntoShape for &[usize; N] {
    fn into_shape(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl IntoShape for &[usize] {
    fn into_shape(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl IntoShape for Vec<usize> {
    fn into_shape(self) -> Shape {
        Shape::from_slice(&self)
    }
}

impl IntoShape for &Vec<usize> {
    fn into_shape(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl IntoShape for Shape {
    fn into_shape(self) -> Shape {
        self
    }
}

impl IntoShape for &Shape {
    fn into_shape(self) -> Shape {
        self.clone()
    }
}

/// Where the elements of a tensor stand in its buffer. Counted in elements, not bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Position of element 0.
    pub(crate) offset: usize,
    pub(crate) shape: Shape,
    pub(crate) strides: Shape,
}

impl Layout {
    /// Row-major and without gaps, for elements of so many bytes.
    pub(crate) fn contiguous(shape: Shape, element_bytes: usize) -> Result<Layout, TensorError> {
        check_rank(&shape)?;
        let too_large = || TensorError::TooLarge { shape: shape.to_vec(), element_bytes };
        let bytes = shape
            .iter()
            .try_fold(element_bytes, |product, extent| product.checked_mul((*extent).max(1)));
        bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(too_large)?;
        let strides = row_major(&shape);
        Ok(Layout { offset: 0, shape, strides })
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the elements stand in row-major order without gaps.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.shape.iter().zip(&self.strides).rev().all(|(extent, stride)| {
            let holds = *extent == 1 || *stride == expected;
            expected *= extent;
            holds
        }) || self.len() == 0
    }

    /// Elements from the first to the last one, both counted: what a copy of the whole must move.
    pub(crate) fn span(&self) -> usize {
        if self.len() == 0 {
            return 0;
        }
        1 + self
            .shape
            .iter()
            .zip(&self.strides)
            .map(|(extent, stride)| (extent - 1) * stride)
            .sum::<usize>()
    }

    /// The same elements in another shape of the same number of elements.
    pub(crate) fn reshape(&self, shape: Shape) -> Result<Layout, TensorError> {
        check_rank(&shape)?;
        let given = shape.iter().try_fold(1usize, |product, extent| product.checked_mul(*extent));
        if given != Some(self.len()) {
            return Err(TensorError::Reshape { from: self.shape.to_vec(), to: shape.to_vec() });
        }
        if !self.is_contiguous() {
            return Err(TensorError::ReshapeStrided {
                from: self.shape.to_vec(),
                strides: self.strides.to_vec(),
                to: shape.to_vec(),
            });
        }
        let strides = row_major(&shape);
        Ok(Layout { offset: self.offset, shape, strides })
    }

    /// The last two axes exchanged; below rank 2 nothing changes.
    pub(crate) fn transpose(mut self) -> Layout {
        let rank = self.shape.len();
        if rank >= 2 {
            self.shape.swap(rank - 2, rank - 1);
            self.strides.swap(rank - 2, rank - 1);
        }
        self
    }

    /// Calls `f` with each element's position relative to element 0, in row-major order.
    pub(crate) fn for_each_position(&self, mut f: impl FnMut(usize)) {
        if self.len() == 0 {
            return;
        }
        let mut index: Shape = SmallVec::from_elem(0, self.shape.len());
        let mut position = 0;
        loop {
            f(position);
            let mut axis = self.shape.len();
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                index[axis] += 1;
                position += self.strides[axis];
                if index[axis] < self.shape[axis] {
                    break;
                }
                position -= self.shape[axis] * self.strides[axis];
                index[axis] = 0;
            }
        }
    }
}

fn check_rank(shape: &[usize]) -> Result<(), TensorError> {
    if shape.len() > MAX_RANK {
        return Err(TensorError::Rank { shape: shape.to_vec() });
    }
    Ok(())
}

fn row_major(shape: &[usize]) -> Shape {
    let mut strides: Shape = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[usize]) -> Layout {
        Layout::contiguous(shape.into_shape(), 4).unwrap()
    }

    #[test]
    fn strides_are_row_major() {
        assert_eq!(layout(&[2, 3, 4]).strides[..], [12, 4, 1]);
        assert_eq!(layout(&[]).len(), 1);
        assert_eq!(layout(&[]).span(), 1);
        assert_eq!(layout(&[4, 0, 3]).len(), 0);
        assert_eq!(layout(&[4, 0, 3]).span(), 0);
        assert!(layout(&[4, 0, 3]).is_contiguous());
    }

    #[test]
    fn a_transposed_layout_walks_columns() {
        let t = layout(&[2, 3]).transpose();
        assert_eq!(t.shape[..], [3, 2]);
        assert!(!t.is_contiguous());
        let mut positions = Vec::new();
        t.for_each_position(|p| positions.push(p));
        assert_eq!(positions, [0, 3, 1, 4, 2, 5]);
        assert_eq!(t.span(), 6);
        assert_eq!(t.clone().transpose(), layout(&[2, 3]));
    }

    #[test]
    fn axes_of_extent_one_do_not_break_contiguity() {
        assert!(layout(&[1, 5]).transpose().is_contiguous());
        assert!(layout(&[5, 1]).transpose().is_contiguous());
        assert_eq!(layout(&[1, 5]).transpose().reshape([5].into_shape()).unwrap().shape[..], [5]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(matches!(
            Layout::contiguous([1; 7].into_shape(), 4),
            Err(TensorError::Rank { .. })
        ));
        for shape in [[usize::MAX, 2], [0, usize::MAX], [1 << 40, 1 << 40]] {
            let error = Layout::contiguous(shape.into_shape(), 4).unwrap_err();
            assert!(matches!(error, TensorError::TooLarge { .. }), "{error}");
        }
        assert!(matches!(
            layout(&[2, 3]).reshape([4].into_shape()),
            Err(TensorError::Reshape { .. })
        ));
        assert!(matches!(
            layout(&[2, 3]).transpose().reshape([6].into_shape()),
            Err(TensorError::ReshapeStrided { .. })
        ));
        let overflow = [usize::MAX, usize::MAX].into_shape();
        assert!(matches!(layout(&[1]).reshape(overflow), Err(TensorError::Reshape { .. })));
    }
}

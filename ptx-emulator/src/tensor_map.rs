//! Tensor maps as this emulator reads them.
//!
//! The driver's encoding is not documented, so a launch here takes maps that [`TensorMap::encode`] made, with the
//! parameters that `cuTensorMapEncodeTiled` takes.

/// Element types of a tensor map.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum ElementType { U8, U16, U32, I32, U64, I64, F16, F32, F64, Bf16 }

impl ElementType {
    const ALL: [ElementType; 10] = {
        use ElementType::*;
        [U8, U16, U32, I32, U64, I64, F16, F32, F64, Bf16]
    };

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            ElementType::U8 => 1,
            ElementType::U16 | ElementType::F16 | ElementType::Bf16 => 2,
            ElementType::U32 | ElementType::I32 | ElementType::F32 => 4,
            ElementType::U64 | ElementType::I64 | ElementType::F64 => 8,
        }
    }
}

/// How 16-byte chunks are permuted in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all.
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    const ALL: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

    /// Bytes within which chunks move; `u32::MAX` if they don't.
    pub fn span(self) -> u32 {
        match self {
            Swizzle::None => u32::MAX,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B128 => 128,
        }
    }

    /// Where the byte that would lie at `address` does lie: address bits 7.. are xored onto bits 4...
    pub(crate) fn apply(self, address: u32) -> u32 {
        let bits = match self {
            Swizzle::None => 0,
            Swizzle::B32 => 1,
            Swizzle::B64 => 3,
            Swizzle::B128 => 7,
        };
        address ^ ((address >> 7 & bits) << 4)
    }
}

/// A map that can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tensor map is invalid: {0}")]
pub struct TensorMapError(String);

/// A tiled tensor map. Dimension 0 is the innermost, with stride one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of an element.
    pub element: ElementType,
    /// Global address of the first element, a multiple of 16.
    pub address: u64,
    /// Extents in elements, one to five.
    pub extents: Vec<u64>,
    /// Distance in bytes between neighbours in dimensions 1.., multiples of 16.
    pub strides: Vec<u64>,
    /// Extents of the box that a copy moves, each at most 256.
    pub box_extents: Vec<u32>,
    /// Steps within the box, 1 to 8 a dimension: of dimension `i` every `element_strides[i]`-th element is moved. The
    /// first is ignored, as the hardware has no step in the innermost dimension.
    pub element_strides: Vec<u32>,
    /// Permutation in shared memory.
    pub swizzle: Swizzle,
    /// Elements outside become NaN instead of zero.
    pub nan_fill: bool,
}

const MAGIC: u32 = 0x7450_6d45;

impl TensorMap {
    /// The 128 bytes of the kernel parameter (which must lie at a multiple of 64).
    ///
    /// # Errors
    ///
    /// [`TensorMapError`] where the driver would refuse the parameters.
    pub fn encode(&self) -> Result<[u8; 128], TensorMapError> {
        self.check().map_err(TensorMapError)?;
        let mut out = [0; 128];
        out[..4].copy_from_slice(&MAGIC.to_le_bytes());
        let position = |found: Option<usize>| found.unwrap_or(0) as u8;
        out[4] = position(ElementType::ALL.iter().position(|e| *e == self.element));
        out[5] = self.extents.len() as u8;
        out[6] = position(Swizzle::ALL.iter().position(|s| *s == self.swizzle));
        out[7] = u8::from(self.nan_fill);
        out[8..16].copy_from_slice(&self.address.to_le_bytes());
        for (i, extent) in self.extents.iter().enumerate() {
            out[16 + 8 * i..24 + 8 * i].copy_from_slice(&extent.to_le_bytes());
        }
        for (i, stride) in self.strides.iter().enumerate() {
            out[56 + 8 * i..64 + 8 * i].copy_from_slice(&stride.to_le_bytes());
        }
        for (i, extent) in self.box_extents.iter().enumerate() {
            out[88 + 2 * i..90 + 2 * i].copy_from_slice(&(*extent as u16).to_le_bytes());
        }
        for (i, step) in self.element_strides.iter().enumerate() {
            out[98 + i] = *step as u8;
        }
        Ok(out)
    }

    fn check(&self) -> Result<(), String> {
        let rank = self.extents.len();
        if !(1..=5).contains(&rank)
            || self.strides.len() != rank - 1
            || self.box_extents.len() != rank
            || self.element_strides.len() != rank
        {
            return Err(format!(
                "rank {rank} with {} strides, {} box extents and {} element strides",
                self.strides.len(),
                self.box_extents.len(),
                self.element_strides.len()
            ));
        }
        if !self.address.is_multiple_of(16) {
            return Err(format!("the address {:#x} is not a multiple of 16", self.address));
        }
        if let Some(extent) = self.extents.iter().find(|e| **e == 0 || **e > 1 << 32) {
            return Err(format!("the extent {extent} is not in 1..=2^32"));
        }
        if let Some(stride) = self.strides.iter().find(|s| **s % 16 != 0 || **s >= 1 << 40) {
            return Err(format!("the stride {stride} is not a multiple of 16 below 2^40"));
        }
        if let Some(extent) = self.box_extents.iter().find(|e| **e == 0 || **e > 256) {
            return Err(format!("the box extent {extent} is not in 1..=256"));
        }
        if let Some(step) = self.element_strides.iter().find(|s| **s == 0 || **s > 8) {
            return Err(format!("the element stride {step} is not in 1..=8"));
        }
        let inner = self.box_extents[0] * self.element.bytes();
        if !inner.is_multiple_of(16) {
            return Err(format!("a box row of {inner} bytes is not a multiple of 16"));
        }
        if inner > self.swizzle.span() {
            return Err(format!(
                "a box row of {inner} bytes is longer than the swizzle's {}",
                self.swizzle.span()
            ));
        }
        Ok(())
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode(bytes: &[u8; 128]) -> Option<Self> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if word(0) as u32 != MAGIC {
            return None;
        }
        let rank = usize::from(bytes[5]);
        let map = Self {
            element: *ElementType::ALL.get(usize::from(bytes[4]))?,
            address: word(8),
            extents: (0..rank.min(5)).map(|i| word(16 + 8 * i)).collect(),
            strides: (0..rank.clamp(1, 5) - 1).map(|i| word(56 + 8 * i)).collect(),
            box_extents: (0..rank.min(5)).map(|i| word(88 + 2 * i) as u32 & 0xffff).collect(),
            element_strides: (0..rank.min(5)).map(|i| bytes[98 + i].into()).collect(),
            swizzle: *Swizzle::ALL.get(usize::from(bytes[6]))?,
            nan_fill: bytes[7] != 0,
        };
        map.check().is_ok().then_some(map)
    }

    /// Elements that are moved in each dimension of a box.
    pub(crate) fn moved(&self) -> Vec<u32> {
        let steps = self.element_strides.iter().enumerate();
        let steps = steps.map(|(i, step)| if i == 0 { 1 } else { *step });
        self.box_extents.iter().zip(steps).map(|(extent, step)| extent.div_ceil(step)).collect()
    }

    /// Bytes that a copy moves.
    pub(crate) fn box_bytes(&self) -> u32 {
        self.moved().iter().product::<u32>() * self.element.bytes()
    }

    /// Sixteen bytes of what elements outside become.
    pub(crate) fn fill(&self) -> [u8; 16] {
        // Of whatever type the elements are, the card (an H200) fills in this one pattern: a NaN of each of them.
        let [low, high] = if self.nan_fill { 0x7ff7u16.to_le_bytes() } else { [0; 2] };
        std::array::from_fn(|i| if i % 2 == 0 { low } else { high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            element: ElementType::Bf16,
            address: 0x7000_0000_0100,
            extents: vec![100, 30],
            strides: vec![208],
            box_extents: vec![64, 16],
            element_strides: vec![1, 2],
            swizzle: Swizzle::B128,
            nan_fill: true,
        }
    }

    #[test]
    fn encoding_comes_back() {
        assert_eq!(TensorMap::decode(&map().encode().unwrap()), Some(map()));
        assert_eq!(TensorMap::decode(&[0; 128]), None);
    }

    #[test]
    fn what_the_driver_refuses_is_refused() {
        for bad in [
            TensorMap { address: 8, ..map() },
            TensorMap { strides: vec![200], ..map() },
            TensorMap { box_extents: vec![128, 16], ..map() },
            TensorMap { box_extents: vec![63, 16], ..map() },
            TensorMap { box_extents: vec![64, 257], ..map() },
            TensorMap { extents: vec![0, 1], ..map() },
            TensorMap { strides: vec![], ..map() },
            TensorMap { element_strides: vec![1, 9], ..map() },
        ] {
            assert!(bad.encode().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn swizzles_permute_within_their_span() {
        assert_eq!(Swizzle::B128.apply(0x400 + 0x80 * 3), 0x400 + 0x80 * 3 + 0x30);
        assert_eq!(Swizzle::B64.apply(0x080), 0x090);
        assert_eq!(Swizzle::B32.apply(0x180), 0x190);
        assert_eq!(Swizzle::B32.apply(0x100), 0x100);
    }
}

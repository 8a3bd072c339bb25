//! How a kernel is called: the one description that the compiler writes and the launcher follows.
//!
//! A kernel takes a flat list of parameters, each with its natural alignment and in the order of [`KernelAbi::slots`]. No
//! launcher guesses a parameter: what a slot means stands here, and nothing here knows a driver.

use serde::{Deserialize, Serialize};

/// One parameter of the compiled kernel. `param` counts the parameters of the kernel as its author wrote them, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// Address of element 0 of a tensor parameter: the storage's address plus the tensor's offset. 8 bytes.
    Pointer {
        /// The tensor parameter.
        param: u16,
    },
    /// Extent of a tensor parameter along an axis, in elements. `i32`.
    Extent {
        /// The tensor parameter.
        param: u16,
        /// The axis, 0 outermost.
        axis: u8,
    },
    /// Distance between neighbours along an axis of a tensor parameter, in elements. `i64`.
    Stride {
        /// The tensor parameter.
        param: u16,
        /// The axis, 0 outermost.
        axis: u8,
    },
    /// A scalar parameter, by value.
    Scalar {
        /// The scalar parameter.
        param: u16,
        /// Its representation.
        kind: ScalarKind,
    },
    /// Number of tile programs along an axis of the grid; 1 for axes that the grid lacks. `u32`.
    Grid {
        /// The axis, 0 slowest.
        axis: u8,
    },
    /// Address of the fault record: what a failing check writes before it traps. 8 bytes.
    FaultRecord,
    /// The number under which the loader knows this kernel; a fault record names the kernel by it. `u32`.
    KernelId,
    /// A tensor map (the descriptor of a bulk tensor copy) of a tensor parameter, by value. 128 bytes, aligned to 64.
    TensorMap {
        /// The tensor parameter.
        param: u16,
        /// Which of the kernel's map descriptions ([`KernelAbi::tensor_maps`]) it is encoded from.
        map: u16,
    },
}

/// Representation of a scalar parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScalarKind {
    /// One byte, 0 or 1.
    Bool,
    /// 8 bits, also the 8-bit floats.
    B8,
    /// 16 bits: 16-bit integers, `f16`, `bf16`.
    B16,
    /// 32 bits: `i32`, `u32`, `f32`.
    B32,
    /// 64 bits: `i64`, `u64`, `f64`.
    B64,
}

impl ScalarKind {
    /// Size, which is the alignment too, in bytes.
    pub const fn size(self) -> usize {
        match self {
            ScalarKind::Bool | ScalarKind::B8 => 1,
            ScalarKind::B16 => 2,
            ScalarKind::B32 => 4,
            ScalarKind::B64 => 8,
        }
    }
}

impl Slot {
    /// Size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Slot::Pointer { .. } | Slot::Stride { .. } | Slot::FaultRecord => 8,
            Slot::Extent { .. } | Slot::Grid { .. } | Slot::KernelId => 4,
            Slot::Scalar { kind, .. } => kind.size(),
            Slot::TensorMap { .. } => 128,
        }
    }

    /// Alignment in bytes.
    pub const fn align(self) -> usize {
        match self {
            Slot::TensorMap { .. } => 64,
            other => other.size(),
        }
    }
}

/// How a tensor map is encoded at launch: a box of a tensor that one copy instruction moves.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TensorMapSpec {
    /// Extents of the box, in elements, outermost axis first.
    pub box_shape: Vec<u32>,
    /// Width in bytes of the shared-memory swizzle: 0 (none), 32, 64 or 128.
    pub swizzle: u16,
}

/// How the threads of a launch are arranged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct LaunchConfig {
    /// Threads in a block, all along x.
    pub threads: u32,
    /// Shared memory that the PTX itself declares, in bytes.
    pub static_shared: u32,
    /// Shared memory to be given at launch, in bytes; above 48 KiB the launcher raises the function's limit first.
    pub dynamic_shared: u32,
    /// Blocks in a cluster, along x; 1 for none. The grid is a multiple of it.
    pub cluster: u32,
    /// How many blocks are launched.
    pub blocks: Blocks,
    /// Compiled for programmatic dependent launch: it waits for its predecessor before it touches global memory.
    pub pdl: bool,
}

/// How many blocks a launch has, all along x.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// One for each tile program: the product of the grid's extents.
    PerTile,
    /// At most so many for each multiprocessor; each takes tile programs in turn.
    Persistent {
        /// Blocks that fit one multiprocessor at once.
        per_multiprocessor: u32,
    },
}

/// Where a check in the kernel stands, for the message of a fault.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FaultSite {
    /// What the kernel writes into the fault record.
    pub id: u32,
    /// Source file, as the author's compiler named it.
    pub file: String,
    /// Line in it, from 1.
    pub line: u32,
    /// What was found wrong, as a sentence for the user.
    pub text: String,
}

/// All that a launcher must know of a compiled kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct KernelAbi {
    /// Name of the entry in the PTX.
    pub entry: String,
    /// The parameters, in order.
    pub slots: Vec<Slot>,
    /// What [`Slot::TensorMap`] refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensor_maps: Vec<TensorMapSpec>,
    /// Threads, shared memory and their like.
    pub launch: LaunchConfig,
    /// Checks that can fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault_sites: Vec<FaultSite>,
}

impl KernelAbi {
    /// Offset of each slot in a packed parameter buffer, and the buffer's size, in bytes.
    pub fn layout(&self) -> (Vec<usize>, usize) {
        let mut end = 0usize;
        let offsets = self
            .slots
            .iter()
            .map(|slot| {
                let offset = end.next_multiple_of(slot.align());
                end = offset + slot.size();
                offset
            })
            .collect();
        (offsets, end)
    }

    /// The check with this number, if the kernel has it.
    pub fn fault_site(&self, id: u32) -> Option<&FaultSite> {
        self.fault_sites.iter().find(|site| site.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abi(slots: Vec<Slot>) -> KernelAbi {
        let launch = LaunchConfig {
            threads: 128,
            static_shared: 0,
            dynamic_shared: 0,
            cluster: 1,
            blocks: Blocks::PerTile,
            pdl: false,
        };
        KernelAbi {
            entry: "k".into(),
            slots,
            tensor_maps: Vec::new(),
            launch,
            fault_sites: Vec::new(),
        }
    }

    #[test]
    fn parameters_stand_at_their_natural_alignment() {
        let slots = vec![
            Slot::Scalar { param: 0, kind: ScalarKind::B16 },
            Slot::Extent { param: 1, axis: 0 },
            Slot::Pointer { param: 1 },
            Slot::Scalar { param: 2, kind: ScalarKind::Bool },
            Slot::TensorMap { param: 1, map: 0 },
            Slot::Grid { axis: 0 },
        ];
        assert_eq!(abi(slots).layout(), (vec![0, 4, 8, 16, 64, 192], 196));
        assert_eq!(abi(Vec::new()).layout(), (Vec::new(), 0));
    }

    #[test]
    fn survives_json() {
        let mut kernel = abi(vec![Slot::Pointer { param: 0 }, Slot::FaultRecord]);
        kernel.launch.blocks = Blocks::Persistent { per_multiprocessor: 2 };
        kernel.tensor_maps.push(TensorMapSpec { box_shape: vec![64, 64], swizzle: 128 });
        kernel.fault_sites.push(FaultSite {
            id: 3,
            file: "src/k.rs".into(),
            line: 9,
            text: "index out of range".into(),
        });
        let text = serde_json::to_string(&kernel).unwrap();
        assert_eq!(serde_json::from_str::<KernelAbi>(&text).unwrap(), kernel);
        assert_eq!(kernel.fault_site(3).unwrap().line, 9);
        assert_eq!(kernel.fault_site(4), None);
    }
}

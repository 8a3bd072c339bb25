//! What PTX opcodes do, as far as facts are counted: classes of collective instructions, loads and stores.

use serde::{Deserialize, Serialize};

/// Instructions that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstructionClass {
    /// `bar.sync`, `bar.arrive`, `bar.red`, `barrier.sync`, `barrier.cta..`: barriers of a block.
    Barrier,
    /// `bar.warp.sync`.
    WarpSync,
    /// `barrier.cluster..`.
    ClusterBarrier,
    /// `shfl..`.
    Shuffle,
    /// `vote..`, `match..`, `redux..`, `elect..`, `activemask`.
    Vote,
    /// `mma.sync..`, `wmma.mma..`.
    Mma,
    /// `wgmma.mma_async..`.
    Wgmma,
    /// `ldmatrix..`.
    LoadMatrix,
    /// `stmatrix..`.
    StoreMatrix,
    /// `cp.async.ca`, `cp.async.cg`: copies of 4 to 16 bytes to shared memory.
    AsyncCopy,
    /// `cp.async.bulk..`, tensor copies among them, without their commits and waits.
    BulkCopy,
    /// `mbarrier..`.
    Mbarrier,
    /// `atom..`, `red..`.
    Atomic,
    /// `trap`.
    Trap,
}

impl InstructionClass {
    /// The class of an opcode, if it is counted.
    pub fn of(opcode: &str) -> Option<InstructionClass> {
        use InstructionClass::*;
        let mut parts = opcode.split('.');
        let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Some(match (first, second) {
            ("bar", "warp") => WarpSync,
            ("barrier", "cluster") => ClusterBarrier,
            ("bar" | "barrier", _) => Barrier,
            ("shfl", _) => Shuffle,
            ("vote" | "match" | "redux" | "elect" | "activemask", _) => Vote,
            ("mma", _) | ("wmma", "mma") => Mma,
            ("wgmma", "mma_async") => Wgmma,
            ("ldmatrix", _) => LoadMatrix,
            ("stmatrix", _) => StoreMatrix,
            ("cp", "async") => match parts.next() {
                Some("ca" | "cg") => AsyncCopy,
                Some("bulk") if !opcode.contains("_group") => BulkCopy,
                _ => return None,
            },
            ("mbarrier", _) => Mbarrier,
            ("atom" | "red", _) => Atomic,
            ("trap", _) => Trap,
            _ => return None,
        })
    }
}

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// `.global`.
    Global,
    /// `.shared`, also a cluster's.
    Shared,
    /// `.local`: spilled or address-taken variables.
    Local,
    /// `.param`.
    Param,
    /// `.const`.
    Const,
    /// No space named: resolved at run time.
    Generic,
}

/// A load or a store of data. What is volatile or of system scope talks to the host (the fault record) and is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// Where it goes.
    pub space: Space,
    /// A store; else a load.
    pub store: bool,
    /// Bytes that one thread moves by it.
    pub bytes: u32,
}

impl Access {
    /// What an `ld..` or `st..` does, or a `cp.async` on its global side; `None` for others.
    pub fn of(opcode: &str, operands: &str) -> Option<Access> {
        let mut parts = opcode.split('.');
        let store = match parts.next()? {
            "ld" | "ldu" => false,
            "st" => true,
            "cp" if InstructionClass::of(opcode) == Some(InstructionClass::AsyncCopy) => {
                // `[shared], [global], bytes` and what follows.
                let bytes = operands.split(',').nth(2)?.trim().parse().ok()?;
                return Some(Access { space: Space::Global, store: false, bytes });
            }
            _ => return None,
        };
        if parts.clone().any(|part| matches!(part, "volatile" | "sys")) {
            return None;
        }
        let (mut space, mut lanes, mut bits) = (Space::Generic, 1, None);
        for part in parts {
            match part.split_once("::").map_or(part, |(head, _)| head) {
                "global" => space = Space::Global,
                "shared" => space = Space::Shared,
                "local" => space = Space::Local,
                "param" => space = Space::Param,
                "const" => space = Space::Const,
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                "v8" => lanes = 8,
                // The type is the last modifier; modifiers such as `L1` or `evict_first` do not look like one.
                part => bits = type_bits(part).or(bits),
            }
        }
        Some(Access { space, store, bytes: lanes * bits? / 8 })
    }
}

/// Bits of a PTX type name such as `b32`, `u64`, `f16x2`, `pred`.
pub(super) fn type_bits(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(['b', 'u', 's', 'f'])?;
    match digits {
        "16x2" => Some(32),
        _ => digits.parse().ok().filter(|bits| [8, 16, 32, 64, 128].contains(bits)),
    }
}

//! The decoded form: operands are row numbers or constants, types and modifiers are enums, text is gone.
//! Shared by decoder (which makes it) and executor (which only reads it).

use crate::num::Mode;
use crate::num::approx::Approx;
use crate::num::arith::FloatOp;
use crate::parse::ast::Type;

use super::async_op::AsyncOp;
use super::cvt::Cvt;
use super::matrix::MatrixOp;
use super::shared::Uses;

/// A row of a frame's register file: one 64-bit cell a lane, values zero-extended.
pub(crate) type Reg = u32;
/// A predicate of a frame: one 32-bit mask over lanes.
pub(crate) type Pred = u32;
/// Index into a function's code.
pub(crate) type Pc = u32;
/// Reconvergence point of paths that meet only where the function ends.
pub(crate) const NO_PC: Pc = u32::MAX;

/// A value operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Src {
    Reg(Reg),
    Imm(u64),
}

/// A run of entries in a function's operand pool.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct List {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

/// One decoded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    /// Guard predicate, and whether lanes with a clear bit execute.
    pub(crate) guard: Option<(Pred, bool)>,
    /// Line of the PTX text.
    pub(crate) line: u32,
    /// Index of the `.loc` in force, or `u32::MAX`.
    pub(crate) location: u32,
}

/// State spaces of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    /// Own block's window, or through a mapped address another block's of the cluster.
    Shared,
    Local,
    Const,
    /// Parameters of the entry.
    Param,
}

/// Where an address starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base {
    /// The offset is the whole address.
    Absolute,
    Reg(Reg),
    /// Variable number in the module's table of global and constant variables.
    Variable(u32),
    /// Variable number in the module's table of shared variables.
    Shared(u32),
    /// The frame's own part of local memory.
    Frame,
}

/// An address operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Addr {
    pub(crate) base: Base,
    pub(crate) offset: i64,
}

/// What memory order an access has, as far as checks tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Weak,
    /// Volatile, relaxed, MMIO: no race with other strong accesses, orders nothing.
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    /// Fences: one after the other for all threads.
    Sc,
}

/// A load or store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) addr: Addr,
    /// Bytes an element.
    pub(crate) bytes: u8,
    /// Loads: sign-extend to the register's width, in bits; 0 for zero-extension.
    pub(crate) extend: u8,
    pub(crate) order: Order,
    /// Registers loaded or values stored; an absent destination is `None` in the pool.
    pub(crate) list: List,
}

/// Atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomOp {
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Add,
    Inc,
    Dec,
    Min,
    Max,
}

/// `atom` and `red`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) op: AtomOp,
    pub(crate) ty: Type,
    pub(crate) space: Space,
    pub(crate) addr: Addr,
    pub(crate) order: Order,
    /// Destination registers (`atom`) then operands; vector forms have several of each.
    pub(crate) dst: List,
    pub(crate) src: List,
    pub(crate) compare: Option<Src>,
}

/// Comparisons.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cmp { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan }

/// Boolean combination of a comparison with a further predicate.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoolOp { And, Or, Xor }

/// A predicate source, perhaps negated or constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredSrc {
    Reg(Pred, bool),
    Const(bool),
}

/// A comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compare {
    pub(crate) cmp: Cmp,
    pub(crate) ty: Type,
    pub(crate) ftz: bool,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) combine: Option<(BoolOp, PredSrc)>,
}

/// Integer operations of one operand.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int1 { Neg, Abs, Not, Cnot, Popc, Clz, Brev, Bfind, BfindShift }

/// Integer operations of two operands.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int2 {
    Add, AddSat, Sub, SubSat, MulLo, MulHi, MulWide, Mul24Lo, Mul24Hi, Div, Rem, Min, Max, MinRelu, MaxRelu,
    And, Or, Xor, Shl, Shr, BmskClamp, BmskWrap, SzextClamp, SzextWrap,
}

/// Integer operations of three operands.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int3 {
    MadLo, MadHi, MadHiSat, MadWide, Mad24Lo, Mad24Hi, Mad24HiSat, Sad, Bfe, ShfLClamp, ShfLWrap, ShfRClamp, ShfRWrap,
    Prmt, PrmtF4e, PrmtB4e, PrmtRc8, PrmtEcl, PrmtEcr, PrmtRc16, Fns, Lop3(u8),
    Dp4a(bool, bool), Dp2aLo(bool, bool), Dp2aHi(bool, bool),
}

/// Single-precision operations in nearest rounding with nothing flushed: the fast path.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fast { Add, Sub, Mul, Fma, Div, Sqrt, Min, Max }

/// Sign operations.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign { Neg, Abs }

/// `testp` properties.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property { Finite, Infinite, Number, NotANumber, Normal, Subnormal }

/// Instructions of an extended-precision carry chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) op: CarryOp,
    pub(crate) ty: Type,
    /// Reads the carry (`addc`, `subc`, `madc`).
    pub(crate) reads: bool,
    /// Writes the carry (`.cc`).
    pub(crate) writes: bool,
    pub(crate) d: Reg,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

/// Operation of a carry-chain instruction.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryOp { Add, Sub, MadLo, MadHi }

/// Minimum and maximum of floats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloatMinMax {
    pub(crate) max: bool,
    pub(crate) nan: bool,
    pub(crate) ftz: bool,
    /// `.xorsign.abs`
    pub(crate) xorsign: bool,
    pub(crate) ty: Type,
    pub(crate) d: Reg,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) c: Option<Src>,
}

/// Special registers.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8), Ntid(u8), Ctaid(u8), Nctaid(u8),
    ClusterId(u8), NClusterId(u8), ClusterCtaId(u8), ClusterNctaId(u8), ClusterCtaRank, ClusterNctaRank, IsExplicitCluster,
    LaneId, WarpId, NWarpId, SmId, NSmId, GridId,
    MaskEq, MaskLe, MaskLt, MaskGe, MaskGt,
    Clock, ClockHi, Clock64, GlobalTimer, GlobalTimerLo, GlobalTimerHi,
    DynamicSharedSize, TotalSharedSize, Zero,
}

/// Barrier instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    /// All lanes of the warp must arrive together.
    pub(crate) aligned: bool,
    pub(crate) id: Src,
    pub(crate) count: Option<Src>,
}

/// What a barrier instruction does beyond arriving.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// Counts threads whose predicate holds.
    Popc(Reg, PredSrc),
    And(Pred, PredSrc),
    Or(Pred, PredSrc),
}

/// Shuffle modes.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shfl { Up, Down, Bfly, Idx }

/// Vote modes.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote { All, Any, Uni }

/// Warp-wide reductions.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redux { Add, Min, Max, And, Or, Xor, FMin(bool, bool), FMax(bool, bool) }

/// Instructions whose lanes exchange values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WarpOp {
    Shfl { mode: Shfl, d: Reg, p: Option<Pred>, a: Src, b: Src, c: Src, mask: Src },
    Vote { mode: Vote, d: Pred, p: PredSrc, mask: Src },
    Ballot { d: Reg, p: PredSrc, mask: Src },
    MatchAny { d: Reg, a: Src, mask: Src },
    MatchAll { d: Reg, p: Option<Pred>, a: Src, mask: Src },
    Redux { op: Redux, ty: Type, d: Reg, a: Src, mask: Src },
    Sync { mask: Src },
    Elect { d: Option<Reg>, p: Option<Pred>, mask: Src },
    ActiveMask { d: Reg },
}

/// Register-only instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Alu {
    Mov {
        d: Reg,
        a: Src,
    },
    Pack {
        d: Reg,
        list: List,
        bits: u8,
    },
    /// 128-bit pack: two rows from two words.
    Unpack {
        list: List,
        a: Src,
        bits: u8,
    },
    Special {
        d: Reg,
        what: Special,
    },
    VariableAddress {
        d: Reg,
        variable: u32,
        offset: i64,
    },
    SharedAddress {
        d: Reg,
        variable: u32,
        offset: i64,
    },
    FrameAddress {
        d: Reg,
        offset: i64,
    },
    Int1 {
        op: Int1,
        ty: Type,
        d: Reg,
        a: Src,
    },
    Int2 {
        op: Int2,
        ty: Type,
        d: Reg,
        a: Src,
        b: Src,
    },
    Int3 {
        op: Int3,
        ty: Type,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
    },
    Bfi {
        ty: Type,
        d: Reg,
        list: List,
    },
    Carry(Carry),
    Fast {
        op: Fast,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
    },
    Float {
        op: FloatOp,
        ty: Type,
        mode: Mode,
        d: Reg,
        list: List,
    },
    MinMax(FloatMinMax),
    Approx {
        f: Approx,
        ty: Type,
        ftz: bool,
        d: Reg,
        a: Src,
    },
    Sign {
        op: Sign,
        ty: Type,
        ftz: bool,
        d: Reg,
        a: Src,
    },
    CopySign {
        ty: Type,
        d: Reg,
        a: Src,
        b: Src,
    },
    Cvt {
        cvt: Cvt,
        d: Reg,
        a: Src,
        b: Option<Src>,
    },
    SetP {
        compare: Compare,
        p: Option<Pred>,
        q: Option<Pred>,
    },
    Set {
        compare: Compare,
        to: Type,
        d: Reg,
    },
    TestP {
        property: Property,
        ty: Type,
        p: Pred,
        a: Src,
    },
    Selp {
        d: Reg,
        a: Src,
        b: Src,
        p: PredSrc,
    },
    Slct {
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
        float: bool,
    },
    PredMov {
        d: Pred,
        a: PredSrc,
    },
    PredLogic {
        op: BoolOp,
        d: Pred,
        a: PredSrc,
        b: PredSrc,
    },
    Cvta {
        to_generic: bool,
        space: Space,
        d: Reg,
        a: Src,
    },
    IsSpace {
        p: Pred,
        space: Space,
        a: Src,
        /// `shared` counts the memory of the cluster's other blocks.
        cluster: bool,
    },
    Mapa {
        d: Reg,
        a: Src,
        rank: Src,
        generic: bool,
    },
    GetCtaRank {
        d: Reg,
        a: Src,
    },
}

/// Any decoded operation.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Alu(Alu),
    Branch {
        target: Pc,
        reconverge: Pc,
    },
    BranchIndexed {
        index: Src,
        targets: List,
        reconverge: Pc,
    },
    /// Index into the function's calls.
    Call(u32),
    Ret,
    Exit,
    Trap,
    Load(Access),
    Store(Access),
    Atomic(Atomic),
    Fence {
        order: Order,
    },
    Barrier(Barrier),
    Warp(WarpOp),
    Matrix(MatrixOp),
    Async(AsyncOp),
    Sleep,
    /// Hints: prefetch, discard and the like; the address is checked by nobody.
    Nothing,
}

/// A function that may be called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Callee {
    Function(u32),
    Indirect(Src),
    System(System),
}

/// Functions that the driver provides.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System { Vprintf, AssertFail, Malloc, Free }

/// A call: whom, and where its parameters lie in the caller's frame memory.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    /// Offset and bytes of each argument, in order.
    pub(crate) params: Vec<(u32, u32)>,
    /// Offset and bytes of each returned value.
    pub(crate) returns: Vec<(u32, u32)>,
}

/// A decoded function or entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) entry: bool,
    pub(crate) code: Vec<Inst>,
    /// Operand lists of all instructions.
    pub(crate) pool: Vec<Option<Src>>,
    pub(crate) calls: Vec<Call>,
    /// What it names outside itself.
    pub(crate) uses: Uses,
    /// `.loc` values: file, line, column.
    pub(crate) locations: Vec<(u32, u32, u32)>,
    pub(crate) registers: u32,
    pub(crate) predicates: u32,
    /// Bytes of local memory a thread and call.
    pub(crate) frame_bytes: u32,
    /// Where formal parameters lie: in the entry's parameter buffer, or in the frame of a function. Offset and bytes.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) returns: Vec<(u32, u32)>,
    pub(crate) param_bytes: u32,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) max_block: Option<[u32; 3]>,
    pub(crate) cluster: Option<[u32; 3]>,
}

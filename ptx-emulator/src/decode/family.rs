//! Which family decodes an instruction, by its name.

use crate::parse::ParseError;

use super::function::Builder;
use super::mods::Mods;
use super::{alu, async_op, compare, control, cvt, float, hint, matrix, memory, sync};

/// Decodes one instruction and emits it.
pub(crate) fn decode(b: &mut Builder<'_>, m: Mods<'_>) -> Result<(), ParseError> {
    match m.name() {
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "min" | "max" | "abs" | "neg" => {
            if float::is_float(&m) {
                float::arithmetic(b, m)
            } else {
                alu::arithmetic(b, m)
            }
        }
        "addc" | "subc" | "madc" => alu::carry(b, m),
        "rem" | "sad" | "mul24" | "mad24" => alu::arithmetic(b, m),
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "popc" | "clz" | "brev"
        | "bfind" => alu::bits(b, m),
        "bfe" | "bfi" | "bmsk" | "szext" | "shf" | "prmt" | "fns" | "lop3" | "dp4a" | "dp2a" => {
            alu::fields(b, m)
        }
        "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => float::unary(b, m),
        "copysign" | "testp" => float::special(b, m),
        "setp" | "set" | "selp" | "slct" => compare::decode(b, m),
        "cvt" => cvt::decode(b, m),
        "mov" => memory::mov(b, m),
        "ld" | "ldu" => memory::load(b, m),
        "st" => memory::store(b, m),
        "atom" | "red" => memory::atomic(b, m),
        "cvta" | "isspacep" | "mapa" | "getctarank" => memory::address(b, m),
        "prefetch" | "prefetchu" | "applypriority" | "discard" | "createpolicy" | "nanosleep"
        | "pmevent" => hint::decode(b, m),
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => control::decode(b, m),
        "bar" | "barrier" => sync::barrier(b, m),
        "membar" | "fence" => sync::fence(b, m),
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => sync::warp(b, m),
        "ldmatrix" | "stmatrix" | "movmatrix" | "mma" => matrix::decode(b, m),
        "wgmma" | "cp" | "mbarrier" | "griddepcontrol" | "setmaxnreg" | "tensormap" => {
            async_op::decode(b, m)
        }
        _ => Err(m.unknown()),
    }
}

//! Integer instructions, vectorised over the lanes of a warp.

use crate::decode::op::{Carry, CarryOp, Int1, Int2, Int3, Src};
use crate::num::convert::{mask as ones, sign_extend};
use crate::parse::ast::Type;

use super::frame::{Frame, ballot};

/// An integer type as cells hold it: zero-extended to 64 bits.
trait Int: Copy + Ord {
    const BITS: u32;
    fn of(cell: u64) -> Self;
    fn cell(self) -> u64;
    fn div(self, by: Self) -> Self;
    fn rem(self, by: Self) -> Self;
    /// Upper half of the double-width product.
    fn mul_high(self, by: Self) -> Self;
    /// Double-width product of a type of at most 32 bits, as a cell.
    fn mul_wide(self, by: Self) -> u64;
    fn shr(self, by: u32) -> Self;
}

macro_rules! int {
    ($($t:ty, $u:ty, $wide:ty);*) => { $(
        impl Int for $t {
            const BITS: u32 = <$t>::BITS;
            #[inline(always)]
            fn of(cell: u64) -> Self { cell as $t }
            #[inline(always)]
            fn cell(self) -> u64 { self as $u as u64 }
            // The result of a division by zero is unspecified; all ones is what the hardware gives.
            #[inline(always)]
            fn div(self, by: Self) -> Self { if by == 0 { !0 } else { self.wrapping_div(by) } }
            #[inline(always)]
            fn rem(self, by: Self) -> Self { if by == 0 { self } else { self.wrapping_rem(by) } }
            #[inline(always)]
            fn mul_high(self, by: Self) -> Self { ((self as $wide).wrapping_mul(by as $wide) >> <$t>::BITS) as $t }
            #[inline(always)]
            fn mul_wide(self, by: Self) -> u64 {
                let product = (self as $wide).wrapping_mul(by as $wide) as u64;
                product & ones(2 * <$t>::BITS.min(32))
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                // A shift by more than the width acts as one by the width.
                let half = by.min(<$t>::BITS) / 2;
                (self >> half) >> (by.min(<$t>::BITS) - half).min(<$t>::BITS - 1)
            }
        }
    )* };
}

int!(u16, u16, u32; i16, u16, i32; u32, u32, u64; i32, u32, i64; u64, u64, u128; i64, u64, i128);

/// Runs a generic function for an integer type.
macro_rules! for_type {
    ($ty:expr, $f:ident($($arg:expr),*)) => {
        match $ty {
            Type::U16 | Type::B16 => $f::<u16>($($arg),*),
            Type::S16 => $f::<i16>($($arg),*),
            Type::S32 => $f::<i32>($($arg),*),
            Type::U64 | Type::B64 => $f::<u64>($($arg),*),
            Type::S64 => $f::<i64>($($arg),*),
            _ => $f::<u32>($($arg),*),
        }
    };
}

/// `op d, a`
pub(super) fn one(f: &mut Frame, mask: u32, op: Int1, ty: Type, d: u32, a: Src) {
    for_type!(ty, one_typed(f, mask, op, d, a));
}

fn one_typed<T: Int>(f: &mut Frame, mask: u32, op: Int1, d: u32, a: Src) {
    let a = f.get(a);
    let all = ones(T::BITS);
    let bits = T::BITS;
    match op {
        Int1::Neg => f.put(d, mask, |i| a[i].wrapping_neg() & all),
        Int1::Abs => f.put(d, mask, |i| sign_extend(a[i], bits).unsigned_abs() & all),
        Int1::Not => f.put(d, mask, |i| !a[i] & all),
        Int1::Cnot => f.put(d, mask, |i| u64::from(a[i] & all == 0)),
        Int1::Popc => f.put(d, mask, |i| u64::from((a[i] & all).count_ones())),
        Int1::Clz => {
            f.put(d, mask, |i| u64::from((a[i] & all).leading_zeros()) - u64::from(64 - bits))
        }
        Int1::Brev => f.put(d, mask, |i| a[i].reverse_bits() >> (64 - bits)),
        Int1::Bfind | Int1::BfindShift => {
            // Position of the most significant bit that differs from the sign; all ones if there is none.
            let signed = T::of(all) < T::of(0);
            f.put(d, mask, |i| {
                let x = if signed && sign_extend(a[i], bits) < 0 { !a[i] } else { a[i] } & all;
                if x == 0 {
                    return 0xffff_ffff;
                }
                let top = 63 - u64::from(x.leading_zeros());
                if op == Int1::BfindShift { u64::from(bits) - 1 - top } else { top }
            });
        }
    }
}

/// `op d, a, b`
pub(super) fn two(f: &mut Frame, mask: u32, op: Int2, ty: Type, d: u32, a: Src, b: Src) {
    for_type!(ty, two_typed(f, mask, op, d, a, b));
}

fn two_typed<T: Int>(f: &mut Frame, mask: u32, op: Int2, d: u32, a: Src, b: Src) {
    let (a, b) = (f.get(a), f.get(b));
    let all = ones(T::BITS);
    let t = T::of;
    match op {
        Int2::Add => f.put(d, mask, |i| a[i].wrapping_add(b[i]) & all),
        Int2::Sub => f.put(d, mask, |i| a[i].wrapping_sub(b[i]) & all),
        Int2::AddSat => {
            f.put(d, mask, |i| u64::from((a[i] as i32).saturating_add(b[i] as i32) as u32))
        }
        Int2::SubSat => {
            f.put(d, mask, |i| u64::from((a[i] as i32).saturating_sub(b[i] as i32) as u32))
        }
        Int2::MulLo => f.put(d, mask, |i| a[i].wrapping_mul(b[i]) & all),
        Int2::MulHi => f.put(d, mask, |i| t(a[i]).mul_high(t(b[i])).cell()),
        Int2::MulWide => f.put(d, mask, |i| t(a[i]).mul_wide(t(b[i]))),
        Int2::Mul24Lo => f.put(d, mask, |i| mul24::<T>(a[i], b[i]) as u64 & all),
        Int2::Mul24Hi => f.put(d, mask, |i| (mul24::<T>(a[i], b[i]) >> 16) as u64 & all),
        Int2::Div => f.put(d, mask, |i| t(a[i]).div(t(b[i])).cell()),
        Int2::Rem => f.put(d, mask, |i| t(a[i]).rem(t(b[i])).cell()),
        Int2::Min => f.put(d, mask, |i| t(a[i]).min(t(b[i])).cell()),
        Int2::Max => f.put(d, mask, |i| t(a[i]).max(t(b[i])).cell()),
        Int2::MinRelu => f.put(d, mask, |i| t(a[i]).min(t(b[i])).max(t(0)).cell()),
        Int2::MaxRelu => f.put(d, mask, |i| t(a[i]).max(t(b[i])).max(t(0)).cell()),
        Int2::And => f.put(d, mask, |i| a[i] & b[i]),
        Int2::Or => f.put(d, mask, |i| a[i] | b[i]),
        Int2::Xor => f.put(d, mask, |i| (a[i] ^ b[i]) & all),
        Int2::Shl => f.put(d, mask, |i| a[i].checked_shl(b[i] as u32).unwrap_or(0) & all),
        Int2::Shr => f.put(d, mask, |i| t(a[i]).shr(b[i] as u32).cell()),
        Int2::BmskClamp => f.put(d, mask, |i| bit_mask(a[i] as u32, b[i] as u32)),
        Int2::BmskWrap => f.put(d, mask, |i| bit_mask(a[i] as u32 & 31, b[i] as u32 & 31)),
        Int2::SzextClamp | Int2::SzextWrap => {
            let signed = t(all) < t(0);
            let wrap = op == Int2::SzextWrap;
            f.put(d, mask, |i| {
                let bits = if wrap { b[i] as u32 & 31 } else { (b[i] as u32).min(32) };
                extend(a[i] as u32, bits, signed)
            });
        }
    }
}

/// Product of the lower 24 bits, 48 bits wide.
fn mul24<T: Int>(a: u64, b: u64) -> i64 {
    if T::of(ones(T::BITS)) < T::of(0) {
        sign_extend(a, 24).wrapping_mul(sign_extend(b, 24))
    } else {
        ((a & 0xff_ffff) * (b & 0xff_ffff)) as i64
    }
}

/// `bits` ones from position `at` up.
fn bit_mask(at: u32, bits: u32) -> u64 {
    let run = if bits == 0 { 0 } else { ones(bits.min(32)) };
    run.checked_shl(at).unwrap_or(0) & 0xffff_ffff
}

fn extend(value: u32, bits: u32, signed: bool) -> u64 {
    if bits == 0 {
        return 0;
    }
    let kept = u64::from(value) & ones(bits);
    if signed { sign_extend(kept, bits) as u64 & 0xffff_ffff } else { kept }
}

/// `op d, a, b, c`
pub(super) fn three(f: &mut Frame, mask: u32, op: Int3, ty: Type, d: u32, [a, b, c]: [Src; 3]) {
    match op {
        Int3::MadLo
        | Int3::MadHi
        | Int3::MadWide
        | Int3::Sad
        | Int3::Bfe
        | Int3::Mad24Lo
        | Int3::Mad24Hi => {
            for_type!(ty, three_typed(f, mask, op, d, a, b, c));
        }
        _ => {
            let (a, b, c) = (f.get(a), f.get(b), f.get(c));
            f.put(d, mask, |i| {
                word_op(op, a[i] as u32, b[i] as u32, c[i] as u32, [a[i], b[i], c[i]])
            });
        }
    }
}

fn three_typed<T: Int>(f: &mut Frame, mask: u32, op: Int3, d: u32, a: Src, b: Src, c: Src) {
    let (a, b, c) = (f.get(a), f.get(b), f.get(c));
    let all = ones(T::BITS);
    let t = T::of;
    match op {
        Int3::MadLo => f.put(d, mask, |i| a[i].wrapping_mul(b[i]).wrapping_add(c[i]) & all),
        Int3::MadHi => {
            f.put(d, mask, |i| t(a[i]).mul_high(t(b[i])).cell().wrapping_add(c[i]) & all)
        }
        Int3::MadWide => {
            let wide = ones(2 * T::BITS.min(32));
            f.put(d, mask, |i| t(a[i]).mul_wide(t(b[i])).wrapping_add(c[i]) & wide);
        }
        Int3::Mad24Lo => {
            f.put(d, mask, |i| (mul24::<T>(a[i], b[i]) as u64).wrapping_add(c[i]) & all)
        }
        Int3::Mad24Hi => {
            f.put(d, mask, |i| ((mul24::<T>(a[i], b[i]) >> 16) as u64).wrapping_add(c[i]) & all)
        }
        Int3::Sad => f.put(d, mask, |i| {
            let (x, y) = (t(a[i]), t(b[i]));
            x.max(y).cell().wrapping_sub(x.min(y).cell()).wrapping_add(c[i]) & all
        }),
        _ => {
            let signed = t(all) < t(0);
            f.put(d, mask, |i| {
                bit_field(a[i], b[i] as u32 & 0xff, c[i] as u32 & 0xff, T::BITS, signed)
            });
        }
    }
}

/// `bfe`: the field of `len` bits at `at`, extended by its sign bit or zero.
fn bit_field(value: u64, at: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let value = value & ones(bits);
    let sign = if !signed || len == 0 { 0 } else { value >> (at + len - 1).min(bits - 1) & 1 };
    let field = if len == 0 { 0 } else { value.checked_shr(at).unwrap_or(0) & ones(len.min(64)) };
    // Bits past the top of the value, or of the field, repeat the sign.
    let valid = len.min(bits.saturating_sub(at));
    let fill = if valid >= 64 { 0 } else { u64::MAX << valid };
    (if sign == 1 { field | fill } else { field }) & ones(bits)
}

/// `bfi f, a, b, at, len`
pub(super) fn insert(f: &mut Frame, mask: u32, ty: Type, d: u32, [a, b, at, len]: [Src; 4]) {
    let (a, b, at, len) = (f.get(a), f.get(b), f.get(at), f.get(len));
    let bits = ty.bits();
    f.put(d, mask, |i| {
        let (at, len) = (at[i] as u32 & 0xff, len[i] as u32 & 0xff);
        let run = if len == 0 { 0 } else { ones(len.min(64)) };
        let window = run.checked_shl(at).unwrap_or(0) & ones(bits);
        (b[i] & !window & ones(bits)) | (a[i].checked_shl(at).unwrap_or(0) & window)
    });
}

fn word_op(op: Int3, a: u32, b: u32, c: u32, cells: [u64; 3]) -> u64 {
    let joined = u64::from(b) << 32 | u64::from(a);
    u64::from(match op {
        Int3::MadHiSat => {
            let high = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as i32;
            high.saturating_add(c as i32) as u32
        }
        Int3::Mad24HiSat => {
            let high = (mul24::<i32>(cells[0], cells[1]) >> 16) as i32;
            high.saturating_add(c as i32) as u32
        }
        Int3::ShfLClamp => ((u128::from(joined) << c.min(32)) >> 32) as u32,
        Int3::ShfLWrap => ((u128::from(joined) << (c & 31)) >> 32) as u32,
        Int3::ShfRClamp => (joined >> c.min(32)) as u32,
        Int3::ShfRWrap => (joined >> (c & 31)) as u32,
        Int3::Prmt => permute(joined, c),
        Int3::PrmtF4e => permute(joined, [0x3210, 0x4321, 0x5432, 0x6543][c as usize & 3]),
        Int3::PrmtB4e => permute(joined, [0x5670, 0x6701, 0x7012, 0x0123][c as usize & 3]),
        Int3::PrmtRc8 => permute(joined, [0x0000, 0x1111, 0x2222, 0x3333][c as usize & 3]),
        Int3::PrmtEcl => permute(joined, [0x3210, 0x3211, 0x3222, 0x3333][c as usize & 3]),
        Int3::PrmtEcr => permute(joined, [0x0000, 0x1110, 0x2210, 0x3210][c as usize & 3]),
        Int3::PrmtRc16 => permute(joined, [0x1010, 0x3232, 0x1010, 0x3232][c as usize & 3]),
        Int3::Fns => find_nth_set(a, b, c as i32),
        Int3::Lop3(table) => return logic(table, cells),
        Int3::Dp4a(x, y) => dot4(a, x, b, y, c),
        Int3::Dp2aLo(x, y) => dot2(a, x, b, y, c),
        Int3::Dp2aHi(x, y) => dot2(a, x, b >> 16, y, c),
        _ => 0,
    })
}

/// `prmt` in its default mode: each nibble of the selector picks a byte, or replicates its sign.
fn permute(joined: u64, selector: u32) -> u32 {
    let mut out = 0;
    for i in 0..4 {
        let nibble = selector >> (4 * i) & 15;
        let byte = (joined >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 == 0 {
            byte
        } else if byte & 0x80 != 0 {
            0xff
        } else {
            0
        };
        out |= u32::from(byte) << (8 * i);
    }
    out
}

/// `fns`: position of the n-th set bit of `mask` from `base` up (n > 0) or down (n < 0).
fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let step = offset.signum();
    let mut left = offset.unsigned_abs();
    let mut at = base as i32;
    while (0..32).contains(&at) {
        if mask >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += step;
    }
    u32::MAX
}

/// `lop3`: each result bit is looked up by the three operand bits.
fn logic(table: u8, [a, b, c]: [u64; 3]) -> u64 {
    let mut out = 0;
    for i in 0..8u8 {
        if table >> i & 1 == 1 {
            let pick = |x: u64, bit: u8| if i >> bit & 1 == 1 { x } else { !x };
            out |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    out & 0xffff_ffff
}

fn byte(word: u32, at: u32, signed: bool) -> i32 {
    let byte = (word >> (8 * at)) as u8;
    if signed { i32::from(byte as i8) } else { i32::from(byte) }
}

fn dot4(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
    (0..4).fold(c, |sum, i| sum.wrapping_add((byte(a, i, a_signed) * byte(b, i, b_signed)) as u32))
}

fn dot2(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
    (0..2).fold(c, |sum, i| {
        let half = (a >> (16 * i)) as u16;
        let half = if a_signed { i32::from(half as i16) } else { i32::from(half) };
        sum.wrapping_add((half * byte(b, i, b_signed)) as u32)
    })
}

/// An instruction of a carry chain. Subtraction's flag is the borrow.
pub(super) fn carry(f: &mut Frame, mask: u32, inst: Carry) {
    let Carry { op, ty, reads, writes, d, a, b, c } = inst;
    let (a, b, c) = (f.get(a), f.get(b), f.get(c));
    let bits = ty.bits();
    let flags = if reads { f.carry } else { 0 };
    let wide = |i: usize| -> u128 {
        let flag = u128::from(flags >> i & 1);
        let (x, y, z) = (u128::from(a[i]), u128::from(b[i]), u128::from(c[i]));
        match op {
            CarryOp::Add => x + y + flag,
            CarryOp::Sub => x.wrapping_sub(y).wrapping_sub(flag),
            CarryOp::MadLo => u128::from(a[i].wrapping_mul(b[i]) & ones(bits)) + z + flag,
            CarryOp::MadHi if ty.signed() => {
                let product =
                    i128::from(sign_extend(a[i], bits)) * i128::from(sign_extend(b[i], bits));
                u128::from((product >> bits) as u64 & ones(bits)) + z + flag
            }
            CarryOp::MadHi => ((x * y) >> bits) + z + flag,
        }
    };
    let out = ballot(|i| wide(i) >> bits & 1 == 1);
    f.put(d, mask, |i| wide(i) as u64 & ones(bits));
    if writes {
        f.carry = (f.carry & !mask) | (out & mask);
    }
}

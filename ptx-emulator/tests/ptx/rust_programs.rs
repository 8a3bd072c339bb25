//! Ordinary Rust, compiled for the host as a module of the tests, and for the GPU to `rust.ptx`. Each program maps a
//! thread's number to 64 bits.

#[derive(Clone, Copy)]
enum Shape {
    Circle(f32),
    Rectangle(f32, f32),
    Triangle { base: f32, height: f32 },
    Nothing,
}

#[inline(never)]
fn area(shape: &Shape) -> f32 {
    match *shape {
        Shape::Circle(r) => 3.0 * r * r,
        Shape::Rectangle(a, b) => a * b,
        Shape::Triangle { base, height } => base * height / 2.0,
        Shape::Nothing => -1.0,
    }
}

/// Enums in a local array, matched by a function that is called.
#[inline(always)]
pub(crate) fn shapes(t: u32) -> u64 {
    let x = t as f32;
    let all = [
        Shape::Circle(x),
        Shape::Rectangle(x, x + 1.0),
        Shape::Triangle { base: x, height: 3.0 },
        Shape::Nothing,
    ];
    let mut sum = 0.0;
    let mut i = 0;
    while i < 1 + t % 4 {
        // SAFETY: the index is masked below the length.
        sum += area(unsafe { all.get_unchecked(((i + t) & 3) as usize) });
        i += 1;
    }
    u64::from(sum.to_bits())
}

/// Insertion sort of a local array by data-dependent indices.
#[inline(always)]
pub(crate) fn sorting(t: u32) -> u64 {
    let mut a = [0u32; 16];
    let mut state = t.wrapping_mul(2_654_435_761).wrapping_add(1);
    for x in a.iter_mut() {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *x = state % 100;
    }
    let mut i = 1;
    while i < 16 {
        let x = a[i & 15];
        let mut j = i;
        while j > 0 && a[(j - 1) & 15] > x {
            a[j & 15] = a[(j - 1) & 15];
            j -= 1;
        }
        a[j & 15] = x;
        i += 1;
    }
    a.iter().fold(0u64, |h, x| h.wrapping_mul(31).wrapping_add(u64::from(*x)))
}

#[inline(never)]
fn ackermann(m: u32, n: u32) -> u32 {
    if m == 0 {
        n + 1
    } else if n == 0 {
        ackermann(m - 1, 1)
    } else {
        ackermann(m - 1, ackermann(m, n - 1))
    }
}

/// Recursion that differs between lanes.
#[inline(always)]
pub(crate) fn recursion(t: u32) -> u64 {
    u64::from(ackermann(t % 3, t % 7))
}

#[inline(never)]
fn twice(x: u64) -> u64 {
    x.wrapping_mul(2)
}

#[inline(never)]
fn square(x: u64) -> u64 {
    x.wrapping_mul(x)
}

#[inline(never)]
fn reverse(x: u64) -> u64 {
    x.reverse_bits()
}

/// Calls through pointers that differ between lanes.
#[inline(always)]
pub(crate) fn pointers(t: u32) -> u64 {
    let table: [fn(u64) -> u64; 4] = [twice, square, reverse, twice];
    let mut x = u64::from(t) + 3;
    let mut i = 0;
    while i < 3 {
        // SAFETY: the index is masked below the length.
        x = unsafe { table.get_unchecked(((t >> i) & 3) as usize) }(x);
        i += 1;
    }
    x
}

/// 128-bit arithmetic: carries, wide products, shifts.
#[inline(always)]
pub(crate) fn wide(t: u32) -> u64 {
    let a = u128::from(t).wrapping_mul(0x1234_5678_9abc_def0_0fed_cba9_8765_4321);
    let b = (a << (t & 63)) ^ (a >> 7);
    let c = b.wrapping_add(a).wrapping_sub(u128::from(t) << 100);
    let d = (c as i128).wrapping_mul(-3);
    (d ^ (d >> 64)) as u64 ^ u64::from(d < 0) ^ u64::from(c.leading_zeros())
}

/// Bit tricks, rotations, saturating and checked arithmetic.
#[inline(always)]
pub(crate) fn bits(t: u32) -> u64 {
    let x = t.wrapping_mul(0x9e37_79b9);
    let s = (x as i32).saturating_sub(0x7000_0000) as u32;
    let c = x.checked_add(0x8000_0000).map_or(1, |v| v.rotate_left(t & 31));
    let p = (x as u8).wrapping_shl(3) as u32 | u32::from(x as u16).count_zeros() << 8;
    let m = x.swap_bytes() ^ x.trailing_zeros() ^ (x as i32).rem_euclid(13) as u32;
    u64::from(s ^ c) << 32 | u64::from(p ^ m)
}

/// Floating point: conversions both ways, comparisons, classification.
#[inline(always)]
pub(crate) fn floats(t: u32) -> u64 {
    let x = (t as f64 - 100.0) / 7.0;
    let y = x as f32;
    let i = (y * 1e6) as i32;
    let j = (x * 1e30) as u8;
    let k = (y as f64).max(x).min(5.0).abs();
    let z = if y.is_sign_negative() { f32::NAN } else { y };
    let w = z.max(1.5).to_bits() ^ (z < 3.0) as u32 ^ ((z.is_nan() as u32) << 7);
    u64::from(i as u32) ^ u64::from(j) ^ k.to_bits() ^ u64::from(w)
}

/// Byte slices walked by an iterator chain.
#[inline(always)]
pub(crate) fn bytes(t: u32) -> u64 {
    let text = *b"the quick brown fox jumps over the lazy dog";
    let from = (t % 20) as usize;
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for (i, c) in text.iter().skip(from).step_by(1 + (t % 3) as usize).enumerate() {
        let c = if c.is_ascii_lowercase() && i % 2 == 0 { c.to_ascii_uppercase() } else { *c };
        hash = (hash ^ u64::from(c)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

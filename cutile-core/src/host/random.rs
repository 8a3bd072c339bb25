//! Random numbers by position: Philox-4x32-10, so that the element at a position is the same on every device and for every
//! tiling. Only the generator and the two distributions; who fills a tensor with them is not said here.
//!
//! The generator is that of J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Element `i` of a
//! tensor takes its words from the block with counter `(i / n, 0)`, where `n` is the number of elements that one block of
//! four words serves.

use super::element::HostFloat;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Four random words for a counter and a key.
pub(crate) fn philox(counter: u64, seed: u64) -> [u32; 4] {
    philox_block([counter as u32, (counter >> 32) as u32, 0, 0], [seed as u32, (seed >> 32) as u32])
}

fn philox_block(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(MULTIPLIERS[0]) * u64::from(c[0]);
        let b = u64::from(MULTIPLIERS[1]) * u64::from(c[2]);
        c = [
            (b >> 32) as u32 ^ c[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ c[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    c
}

/// Appends the uniform numbers in [0, 1) at the first positions.
pub(crate) fn uniforms<T: HostFloat>(elements: &mut Vec<T>, count: usize, seed: u64) {
    by_block(elements, count, 4 / T::UNIFORM_WORDS, seed, |words, i| {
        let first = i * T::UNIFORM_WORDS;
        T::uniform(&words[first..first + T::UNIFORM_WORDS])
    })
}

/// Appends the standard normal numbers at the first positions, by the Box-Muller transform: two neighbours share a pair of uniforms.
pub(crate) fn normals<T: HostFloat>(elements: &mut Vec<T>, count: usize, seed: u64) {
    let number = |words: &[u32]| match T::UNIFORM_WORDS {
        2 => f64::uniform(words),
        _ => f64::from(words[0]) / 4_294_967_296.0,
    };
    by_block(elements, count, 4 / T::UNIFORM_WORDS, seed, |words, i| {
        let pair = &words[i / 2 * 2 * T::UNIFORM_WORDS..][..2 * T::UNIFORM_WORDS];
        // 1 - u lies in (0, 1], where the logarithm is finite.
        let radius = (-2.0 * (-number(pair)).ln_1p()).sqrt();
        let angle = std::f64::consts::TAU * number(&pair[T::UNIFORM_WORDS..]);
        T::from_f64(radius * if i.is_multiple_of(2) { angle.cos() } else { angle.sin() })
    })
}

/// Appends `count` elements, so many from each block of words: `element` gets the words and the element's number in the block.
fn by_block<T>(
    elements: &mut Vec<T>,
    count: usize,
    per_block: usize,
    seed: u64,
    element: impl Fn(&[u32; 4], usize) -> T,
) {
    for first in (0..count).step_by(per_block) {
        let words = philox((first / per_block) as u64, seed);
        let here = per_block.min(count - first);
        elements.extend((0..here).map(|i| element(&words, i)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniforms<T: HostFloat>(count: usize, seed: u64) -> Vec<T> {
        let mut elements = Vec::new();
        super::uniforms(&mut elements, count, seed);
        elements
    }

    fn normals<T: HostFloat>(count: usize, seed: u64) -> Vec<T> {
        let mut elements = Vec::new();
        super::normals(&mut elements, count, seed);
        elements
    }

    /// Known answers published with the authors' reference implementation (Random123, `kat_vectors`).
    #[test]
    fn known_answers() {
        assert_eq!(
            philox_block([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox_block([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox_block(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
        let widened = |numbers: Vec<f32>| numbers.into_iter().map(f64::from).collect::<Vec<_>>();
        for uniform in [uniforms::<f64>(100_000, 7), widened(uniforms(100_000, 7))] {
            assert!((mean(&uniform) - 0.5).abs() < 0.005);
        }
        for normal in [normals::<f64>(100_000, 7), widened(normals(100_000, 7))] {
            assert!(mean(&normal).abs() < 0.02);
            let squares: Vec<f64> = normal.iter().map(|v| v * v).collect();
            assert!((mean(&squares) - 1.0).abs() < 0.02);
            let neighbours: Vec<f64> =
                normal.chunks_exact(2).map(|pair| pair[0] * pair[1]).collect();
            assert!(mean(&neighbours).abs() < 0.02);
        }
    }

    #[test]
    fn more_numbers_begin_with_the_same() {
        let many = normals::<f32>(11, 3);
        assert!((0..11).all(|n| normals::<f32>(n, 3) == many[..n]));
        assert!((0..11).all(|n| uniforms::<f64>(n, 3) == uniforms::<f64>(11, 3)[..n]));
    }

    #[test]
    fn neighbours_and_seeds_differ() {
        let first = uniforms::<f32>(8, 1);
        assert_ne!(first, uniforms::<f32>(8, 2));
        assert!((1..8).all(|i| first[i] != first[0]));
    }
}

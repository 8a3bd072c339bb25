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

/// The uniform number in [0, 1) at a position.
pub(crate) fn uniform<T: HostFloat>(position: u64, seed: u64) -> T {
    let per_block = (4 / T::UNIFORM_WORDS) as u64;
    let words = philox(position / per_block, seed);
    let first = (position % per_block) as usize * T::UNIFORM_WORDS;
    T::uniform(&words[first..first + T::UNIFORM_WORDS])
}

/// The standard normal number at a position, by the Box-Muller transform: two neighbours share a pair of uniforms.
pub(crate) fn normal<T: HostFloat>(position: u64, seed: u64) -> T {
    let pairs_per_block = (2 / T::UNIFORM_WORDS) as u64;
    let pair = position / 2;
    let words = philox(pair / pairs_per_block, seed);
    let first = (pair % pairs_per_block) as usize * 2 * T::UNIFORM_WORDS;
    let number = |at: usize| match T::UNIFORM_WORDS {
        2 => f64::uniform(&words[at..at + 2]),
        _ => f64::from(words[at]) / 4_294_967_296.0,
    };
    // 1 - u lies in (0, 1], where the logarithm is finite.
    let radius = (-2.0 * (-number(first)).ln_1p()).sqrt();
    let angle = std::f64::consts::TAU * number(first + T::UNIFORM_WORDS);
    T::from_f64(radius * if position.is_multiple_of(2) { angle.cos() } else { angle.sin() })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let n = 100_000;
        let mean = |f: &dyn Fn(u64) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        assert!((mean(&|i| uniform::<f64>(i, 7)) - 0.5).abs() < 0.005);
        assert!((mean(&|i| f64::from(uniform::<f32>(i, 7))) - 0.5).abs() < 0.005);
        assert!(mean(&|i| normal::<f64>(i, 7)).abs() < 0.02);
        assert!((mean(&|i| normal::<f64>(i, 7).powi(2)) - 1.0).abs() < 0.02);
        assert!((mean(&|i| f64::from(normal::<f32>(i, 7)).powi(2)) - 1.0).abs() < 0.02);
        assert!(mean(&|i| normal::<f64>(i, 7) * normal::<f64>(i ^ 1, 7)).abs() < 0.02);
    }

    #[test]
    fn neighbours_and_seeds_differ() {
        let first: Vec<f32> = (0..8).map(|i| uniform(i, 1)).collect();
        let second: Vec<f32> = (0..8).map(|i| uniform(i, 2)).collect();
        assert_ne!(first, second);
        assert!((1..8).all(|i| first[i] != first[0]));
    }
}

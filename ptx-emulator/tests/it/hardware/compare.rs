//! How results compare: to the bit, within an approximation's error, or within the bound of a rounded sum.

use super::cases::{Case, Kind, inputs};

/// A hash of all words of a result.
pub(super) fn hash(values: &[u64]) -> u64 {
    values.iter().fold(0xcbf2_9ce4_8422_2325, |h, v| {
        (h ^ v).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}

/// The inputs without their signs: what the case gives for them is the sum of the products' magnitudes.
pub(super) fn magnitudes(case: &Case, words: &[u64]) -> Vec<u64> {
    words.iter().enumerate().map(|(i, w)| w & case.pools[i % 3].magnitude()).collect()
}

/// The values of a word: of type 0 two singles, 1 four halves, 2 a bfloat, 3 a double.
fn values(half: u8, bits: u64) -> Vec<f64> {
    match half {
        0 => [bits as u32, (bits >> 32) as u32].map(|b| f64::from(f32::from_bits(b))).to_vec(),
        1 => (0..4).map(|i| half::f16::from_bits((bits >> (16 * i)) as u16).to_f64()).collect(),
        2 => vec![half::bf16::from_bits(bits as u16).to_f64()],
        _ => vec![f64::from_bits(bits)],
    }
}

/// Whether a word of the card and one of the emulator agree; `size` is the word of magnitudes, for sums.
fn close(kind: Kind, card: u64, found: u64, size: u64) -> bool {
    let near = |half: u8, bound: &dyn Fn(f64, f64, f64) -> f64| {
        let values = [card, found, size].map(|bits| values(half, bits));
        (0..values[0].len()).all(|i| {
            let [x, y, size] = [0, 1, 2].map(|k| values[k][i]);
            x.is_nan() && y.is_nan() || x == y || (x - y).abs() <= bound(x, y, size)
        })
    };
    match kind {
        Kind::Exact => card == found,
        Kind::Approx { half, relative, absolute } => {
            near(half, &|x, y, _| absolute.max(relative * x.abs().max(y.abs())))
        }
        Kind::Sum { half, slack } => {
            let rounding = match half {
                0 => 2f64.powi(-24),
                1 => 2f64.powi(-11),
                _ => 2f64.powi(-53),
            };
            near(half, &|x, y, size| slack * size + rounding * x.abs().max(y.abs()))
        }
    }
}

/// Whether all words of a case agree.
pub(super) fn agrees(case: &Case, card: &[u64], found: &[u64], sizes: &[u64]) -> bool {
    card.len() == found.len() && differing(case, card, found, sizes).is_empty()
}

fn differing(case: &Case, card: &[u64], found: &[u64], sizes: &[u64]) -> Vec<usize> {
    let size = |i: usize| sizes.get(i).copied().unwrap_or(0);
    (0..found.len()).filter(|&i| !close(case.kind, card[i], found[i], size(i))).collect()
}

/// Prints where a case differs; true if it does not.
pub(super) fn report(case: &Case, card: &[u64], found: &[u64], sizes: &[u64]) -> bool {
    let size = |i: usize| sizes.get(i).copied().unwrap_or(0);
    let bad = differing(case, card, found, sizes);
    if let Kind::Sum { half, .. } = case.kind {
        let worst = (0..found.len())
            .flat_map(|i| {
                let [x, y, size] = [card[i], found[i], size(i)].map(|w| values(half, w));
                (0..x.len()).map(move |k| (x[k] - y[k]).abs() / size[k].max(f64::MIN_POSITIVE))
            })
            .fold(0.0, f64::max);
        println!("{}: largest difference 2^{:.1} of the magnitudes", case.name, worst.log2());
    }
    if bad.is_empty() {
        return true;
    }
    println!("{}: {} of {} words differ", case.name, bad.len(), found.len());
    let input = inputs(case);
    for &i in bad.iter().take(4) {
        let first = i / case.shape.results * case.shape.words;
        let [a, b, c] = [0, 1, 2].map(|k| input[first + k]);
        println!(
            "  word {i}: a {a:016x} b {b:016x} c {c:016x}: card {:016x} here {:016x}",
            card[i], found[i]
        );
    }
    false
}

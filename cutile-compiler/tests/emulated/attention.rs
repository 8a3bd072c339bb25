//! Everything together: attention in one pass over the keys, with ragged queries and keys.

use crate::harness::*;

/// Softmax of q k^T, times v: running maximum, sum and output for each query, rescaled as keys come.
const ATTENTION: &str = "
entry @att(%o: partitioned f32[?, ?] by [64, 64], %q: tensor bf16[?, 64], %k: tensor bf16[?, 64], %v: tensor bf16[?, 64]) {
    %po = partition %o : view f32[64, 64]
    %pq = partition %q : view bf16[64, 64]
    %pk = partition %k : view bf16[32, 64]
    %pv = partition %v : view bf16[32, 64]
    %i = program_id 0 : i32
    %j = program_id 1 : i32
    %zero = constant 0 : i32
    %one = constant 1 : i32
    %n = tile_count %pk 0 : i32
    %tq = load %pq [%i, %zero] clip : bf16[64, 64]
    %acc0 = constant 0.0 : f32[64, 64]
    %m0 = constant -1e30 : f32[64]
    %l0 = constant 0.0 : f32[64]
    %acc, %m, %l = for %zero %n %one [%acc0, %m0, %l0] (%t: i32, %a: f32[64, 64], %mi: f32[64], %li: f32[64]) {
        %tk = load %pk [%t, %zero] clip : bf16[32, 64]
        %kt = permute [1, 0] %tk : bf16[64, 32]
        %s0 = constant 0.0 : f32[64, 32]
        %s = mma %tq %kt %s0 : f32[64, 32]
        %mx = reduce max 1 %s : f32[64]
        %mn = binary max %mx %mi : f32[64]
        %mn1 = reshape %mn : f32[64, 1]
        %mb = broadcast %mn1 : f32[64, 32]
        %d = binary sub %s %mb : f32[64, 32]
        %p = unary exp %d : f32[64, 32]
        %c = binary sub %mi %mn : f32[64]
        %ce = unary exp %c : f32[64]
        %ls = reduce sum 1 %p : f32[64]
        %lc = binary mul %li %ce : f32[64]
        %ln = binary add %lc %ls : f32[64]
        %ce1 = reshape %ce : f32[64, 1]
        %ceb = broadcast %ce1 : f32[64, 64]
        %as = binary mul %a %ceb : f32[64, 64]
        %pb = convert %p : bf16[64, 32]
        %tv = load %pv [%t, %zero] clip : bf16[32, 64]
        %an = mma %pb %tv %as : f32[64, 64]
        yield %an, %mn, %ln
    } : f32[64, 64], f32[64], f32[64]
    %l1 = reshape %l : f32[64, 1]
    %lb = broadcast %l1 : f32[64, 64]
    %r = binary div %acc %lb : f32[64, 64]
    store %r %po [%i, %j]
    yield
}
";

fn bf16(v: f32) -> u16 {
    (v.to_bits() >> 16) as u16
}

fn wide(v: u16) -> f64 {
    f32::from_bits(u32::from(v) << 16).into()
}

#[test]
fn attention_with_ragged_queries_and_keys() {
    let (queries, keys, depth) = (70usize, 50usize, 64usize);
    let make =
        |n: usize, seed: u32| noise(n * depth, seed).into_iter().map(bf16).collect::<Vec<u16>>();
    let (q, k, v) = (make(queries, 1), make(keys, 2), make(keys, 3));
    let shape = |n: usize| [n as i64, depth as i64];
    let args = [
        tensor(&vec![f32::NAN; queries * depth], &shape(queries)),
        tensor(&q, &shape(queries)),
        tensor(&k, &shape(keys)),
        tensor(&v, &shape(keys)),
    ];
    run(ATTENTION, &[2, 1], &args, |o| {
        let got = o.tensors[0].values::<f32>();
        for i in 0..queries {
            let scores: Vec<f64> = (0..keys)
                .map(|j| (0..depth).map(|d| wide(q[i * depth + d]) * wide(k[j * depth + d])).sum())
                .collect();
            let max = scores.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for d in 0..depth {
                let want =
                    (0..keys).map(|j| weights[j] * wide(v[j * depth + d])).sum::<f64>() / sum;
                // Weights are rounded to bf16 before the product: 2^-9 each, averaged.
                assert!(
                    (f64::from(got[i * depth + d]) - want).abs() < 4e-3,
                    "{i} {d}: {} {want}",
                    got[i * depth + d]
                );
            }
        }
    });
}

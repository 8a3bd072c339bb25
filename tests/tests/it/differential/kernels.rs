//! Kernels of every family, small enough to be compared everywhere.

#[cutile::module]
pub(super) mod battery {
    use cutile::core::*;

    /// The F-th function of one f32 operand.
    #[cutile::entry(
        specialize(S = [16, 32], F = 0), specialize(S = [16, 32], F = 1),
        specialize(S = [16, 32], F = 2), specialize(S = [16, 32], F = 3),
        specialize(S = [16, 32], F = 4), specialize(S = [16, 32], F = 5),
        specialize(S = [16, 32], F = 6), specialize(S = [16, 32], F = 7),
        specialize(S = [16, 32], F = 8), specialize(S = [16, 32], F = 9),
        specialize(S = [16, 32], F = 10), specialize(S = [16, 32], F = 11),
        specialize(S = [16, 32], F = 12)
    )]
    fn math<const S: [i32; 2], const F: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, S>,
    ) {
        let t: Tile<f32, S> = load_tile_like_2d(x, y);
        let r: Tile<f32, S> = if F == 0 {
            exp(t)
        } else if F == 1 {
            exp2(t)
        } else if F == 2 {
            log(t)
        } else if F == 3 {
            log2(t)
        } else if F == 4 {
            sqrt(t)
        } else if F == 5 {
            rsqrt(t)
        } else if F == 6 {
            tanh(t)
        } else if F == 7 {
            sin(t)
        } else if F == 8 {
            cos(t)
        } else if F == 9 {
            erf(t)
        } else if F == 10 {
            sigmoid(t)
        } else if F == 11 {
            floor(t) + ceil(t) * 0.5 + trunc(t) * 0.25
        } else {
            round(t) + round_even(t) * 0.5 + abs(t) * 0.25
        };
        y.store(r);
    }

    /// The F-th operator of two f32 operands.
    #[cutile::entry(
        specialize(S = [16, 32], F = 0), specialize(S = [16, 32], F = 1),
        specialize(S = [16, 32], F = 2), specialize(S = [16, 32], F = 3),
        specialize(S = [16, 32], F = 4), specialize(S = [16, 32], F = 5),
        specialize(S = [16, 32], F = 6), specialize(S = [16, 32], F = 7)
    )]
    fn floats<const S: [i32; 2], const F: i32>(
        a: &Tensor<f32, { [-1, -1] }>,
        b: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, S>,
    ) {
        let t: Tile<f32, S> = load_tile_like_2d(a, y);
        let u: Tile<f32, S> = load_tile_like_2d(b, y);
        let r: Tile<f32, S> = if F == 0 {
            t * 3.0 + u
        } else if F == 1 {
            t - u * t
        } else if F == 2 {
            t / u
        } else if F == 3 {
            min(t, u) + max(t, u) * 2.0
        } else if F == 4 {
            minimum(t, u) - maximum(t, u) * 2.0
        } else if F == 5 {
            fma(t, u, t)
        } else if F == 6 {
            select(gt_tile(t, u), t, u) + select(ne_tile(t, t), u, t)
        } else {
            t % u
        };
        y.store(r);
    }

    /// The F-th operator of two integer operands.
    #[cutile::entry(
        specialize(T = i32, S = [16, 32], F = 0), specialize(T = i32, S = [16, 32], F = 1),
        specialize(T = i32, S = [16, 32], F = 2), specialize(T = i32, S = [16, 32], F = 3),
        specialize(T = i32, S = [16, 32], F = 4), specialize(T = u8, S = [16, 32], F = 0),
        specialize(T = u8, S = [16, 32], F = 1), specialize(T = u8, S = [16, 32], F = 2),
        specialize(T = u8, S = [16, 32], F = 3), specialize(T = u8, S = [16, 32], F = 4),
        specialize(T = i64, S = [16, 32], F = 0), specialize(T = i64, S = [16, 32], F = 1),
        specialize(T = i64, S = [16, 32], F = 2), specialize(T = i64, S = [16, 32], F = 3),
        specialize(T = i64, S = [16, 32], F = 4)
    )]
    fn integers<T: Number, const S: [i32; 2], const F: i32>(
        a: &Tensor<T, { [-1, -1] }>,
        b: &Tensor<T, { [-1, -1] }>,
        y: &mut Tensor<T, S>,
    ) {
        let t: Tile<T, S> = load_tile_like_2d(a, y);
        let u: Tile<T, S> = load_tile_like_2d(b, y);
        let r: Tile<T, S> = if F == 0 {
            t * u + t - u
        } else if F == 1 {
            t / u
        } else if F == 2 {
            t % u
        } else if F == 3 {
            (t & u) ^ (t | u)
        } else {
            max(min(t, u), t >> u)
        };
        y.store(r);
    }

    /// f32 through narrower types and back, and to integers.
    #[cutile::entry(specialize(S = [16, 32]))]
    fn conversions<const S: [i32; 2]>(
        x: &Tensor<f32, { [-1, -1] }>,
        halves: &mut Tensor<f32, S>,
        brains: &mut Tensor<f32, S>,
        whole: &mut Tensor<i32, S>,
        bytes: &mut Tensor<u8, S>,
    ) {
        let t: Tile<f32, S> = load_tile_like_2d(x, halves);
        let h: Tile<f16, S> = convert(t);
        let b: Tile<bf16, S> = convert(t);
        halves.store(convert(h * h));
        brains.store(convert(b + b));
        whole.store(convert(t));
        bytes.store(convert(t));
    }

    /// Every reduction along the rows, and the largest along the columns.
    #[cutile::entry(specialize(BM = 4, BN = 64), specialize(BM = 3, BN = 100))]
    fn reductions<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        sums: &mut Tensor<f32, { [BM] }>,
        products: &mut Tensor<f32, { [BM] }>,
        largest: &mut Tensor<f32, { [BM] }>,
        smallest: &mut Tensor<f32, { [BM] }>,
        places: &mut Tensor<i32, { [BM] }>,
    ) {
        let pid = get_tile_block_id();
        let t = x.partition(const_shape![BM, BN]).load([pid.0, 0]);
        sums.store(reduce_sum(t, 1));
        products.store(reduce_prod(t * 0.25 + 1.0, 1));
        largest.store(reduce_max(t, 1));
        smallest.store(reduce_minimum(t, 1));
        places.store(reduce_argmax(t, 1) * 1000 + reduce_argmin(t, 1));
    }

    /// Sums along the columns.
    #[cutile::entry(specialize(BM = 32, BN = 16))]
    fn columns<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        sums: &mut Tensor<f32, { [BN] }>,
    ) {
        let pid = get_tile_block_id();
        let view = x.partition(const_shape![BM, BN]);
        let mut total: Tile<f32, { [BN] }> = zeros(const_shape![BN]);
        for i in 0..view.grid()[0] {
            total = total + reduce_sum(view.load([i, pid.0]), 0);
        }
        sums.store(total);
    }

    /// Softmax of whole rows.
    #[cutile::entry(specialize(BM = 4, BN = 128))]
    fn softmax<const BM: i32, const BN: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, { [BM, BN] }>,
    ) {
        let t: Tile<f32, { [BM, BN] }> = load_tile_like_2d(x, y);
        let m = reduce_max(t, 1).reshape(const_shape![BM, 1]).broadcast(const_shape![BM, BN]);
        let e = exp(t - m);
        let s = reduce_sum(e, 1).reshape(const_shape![BM, 1]).broadcast(const_shape![BM, BN]);
        y.store(e / s);
    }

    /// z = x * y with accumulation in f32, any K.
    #[cutile::entry(
        specialize(T = f32, BM = 32, BN = 32, BK = 16),
        specialize(T = f16, BM = 32, BN = 32, BK = 16),
        specialize(T = bf16, BM = 64, BN = 64, BK = 32)
    )]
    fn product<T: Element, const BM: i32, const BN: i32, const BK: i32>(
        z: &mut Tensor<f32, { [BM, BN] }>,
        x: &Tensor<T, { [-1, -1] }>,
        y: &Tensor<T, { [-1, -1] }>,
    ) {
        let px = x.partition(const_shape![BM, BK]);
        let py = y.partition(const_shape![BK, BN]);
        let pid = get_tile_block_id();
        let mut acc: Tile<f32, { [BM, BN] }> = zeros(const_shape![BM, BN]);
        for i in 0..px.grid()[1] {
            acc = mma(px.load([pid.0, i]), py.load([i, pid.1]), acc);
        }
        z.store(acc);
    }

    /// Transposed, through a reshape and a broadcast.
    #[cutile::entry(specialize(B = 16), specialize(B = 12))]
    fn shapes<const B: i32>(x: &Tensor<f32, { [-1, -1] }>, y: &mut Tensor<f32, { [B, B] }>) {
        let pid = get_tile_block_id();
        let t = x.partition(const_shape![B, B]).load([pid.1, pid.0]);
        let row: Tile<f32, { [B] }> = convert(iota::<i32, _>(const_shape![B]));
        let rows = row.reshape(const_shape![1, B]).broadcast(const_shape![B, B]);
        y.store(transpose(t) + rows);
    }

    /// A loop that stops at a run-time count and skips odd turns; a padded load.
    #[cutile::entry(specialize(N = 32))]
    fn control<const N: i32>(turns: i32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [N] }>) {
        let view = x.partition(const_shape![N]);
        let mut acc: Tile<f32, { [N] }> = zeros(const_shape![N]);
        let mut i = 0;
        while i < turns {
            i += 1;
            if i % 2 == 1 && i > 1 {
                continue;
            }
            if i > 7 {
                break;
            }
            acc = acc * 0.5 + view.load_padded([i - 1], -1.0);
        }
        y.store(acc);
    }

    /// Each program's place in a grid of three axes.
    #[cutile::entry(specialize(S = [2, 2, 4]))]
    fn places<const S: [i32; 3]>(y: &mut Tensor<i32, S>) {
        let (a, b, c) = get_tile_block_id();
        let n = get_num_tile_blocks();
        y.store(broadcast_scalar((a * n.1 + b) * n.2 + c, y.shape()));
    }
}

//! The kernels, in our own language. Which shapes and tiles they are launched with is said in `api/`.
//!
//! Declared for every program: f32, and the products of 16-bit floats. Other elements are recorded by programs that use them, so
//! that nobody waits for kernels that nobody launches.

/// Functions of one or two elements. Tensors come flattened, so one kernel serves every shape.
#[cutile_macros::module(crate = cutile_core)]
pub mod elementwise {
    use cutile_core::core::*;

    /// z = x + y.
    #[cutile_macros::entry(specialize(T = f32, N = 1024))]
    fn add<T: Number, const N: i32>(
        x: &Tensor<T, { [-1] }>,
        y: &Tensor<T, { [-1] }>,
        z: &mut Tensor<T, { [N] }>,
    ) {
        z.store(load_tile_like_1d(x, z) + load_tile_like_1d(y, z));
    }

    /// z = x - y.
    #[cutile_macros::entry(specialize(T = f32, N = 1024))]
    fn sub<T: Number, const N: i32>(
        x: &Tensor<T, { [-1] }>,
        y: &Tensor<T, { [-1] }>,
        z: &mut Tensor<T, { [N] }>,
    ) {
        z.store(load_tile_like_1d(x, z) - load_tile_like_1d(y, z));
    }

    /// z = x * y.
    #[cutile_macros::entry(specialize(T = f32, N = 1024))]
    fn mul<T: Number, const N: i32>(
        x: &Tensor<T, { [-1] }>,
        y: &Tensor<T, { [-1] }>,
        z: &mut Tensor<T, { [N] }>,
    ) {
        z.store(load_tile_like_1d(x, z) * load_tile_like_1d(y, z));
    }

    /// z = x / y.
    #[cutile_macros::entry(specialize(T = f32, N = 1024))]
    fn div<T: Number, const N: i32>(
        x: &Tensor<T, { [-1] }>,
        y: &Tensor<T, { [-1] }>,
        z: &mut Tensor<T, { [N] }>,
    ) {
        z.store(load_tile_like_1d(x, z) / load_tile_like_1d(y, z));
    }

    /// The larger of x and y; NaN where either is.
    #[cutile_macros::entry(specialize(T = f32, N = 1024))]
    fn maximum<T: Number, const N: i32>(
        x: &Tensor<T, { [-1] }>,
        y: &Tensor<T, { [-1] }>,
        z: &mut Tensor<T, { [N] }>,
    ) {
        let a = load_tile_like_1d(x, z);
        let b = load_tile_like_1d(y, z);
        // `max` ignores NaN; a NaN is what differs from itself, and no integer does.
        z.store(select(a != a, a, select(b != b, b, max(a, b))));
    }

    /// z = x where x is not below 0, else 0. NaN stays.
    #[cutile_macros::entry(specialize(T = f32, N = 1024))]
    fn relu<T: Number, const N: i32>(x: &Tensor<T, { [-1] }>, z: &mut Tensor<T, { [N] }>) {
        let a = load_tile_like_1d(x, z);
        let zero: Tile<T, { [N] }> = zeros(const_shape![N]);
        z.store(select(a < zero, zero, a));
    }
}

/// Copies that change the order of elements in memory.
#[cutile_macros::module(crate = cutile_core)]
pub mod reorder {
    use cutile_core::core::*;

    /// z = x, element by element, whatever the strides of x are.
    #[cutile_macros::entry(specialize(T = f32, S = [1, 32, 32]))]
    fn copy<T: Element, const S: [i32; 3]>(x: &Tensor<T, { [-1, -1, -1] }>, z: &mut Tensor<T, S>) {
        let tile: Tile<T, S> = load_tile_like_3d(x, z);
        z.store(tile);
    }
}

/// Reductions of whole tensors, in two stages with a fixed order: the result is the same from run to run.
#[cutile_macros::module(crate = cutile_core)]
pub mod reduce {
    use cutile_core::core::*;

    /// Elements that are loaded at once.
    const TILE: i32 = 1024;

    /// The sum of every tile whose number is the program's, modulo the number of programs, in the type of `z`.
    #[cutile_macros::entry(specialize(T = f32, A = f32))]
    fn partial_sums<T: Element, A: Number>(x: &Tensor<T, { [-1] }>, z: &mut Tensor<A, { [1] }>) {
        let tiles = x.partition(const_shape![TILE]);
        let program = get_tile_block_id().0;
        let programs = get_num_tile_blocks().0;
        let mut sum: Tile<A, { [] }> = zeros(const_shape![]);
        for i in (program..num_tiles(&tiles, 0)).step_by(programs) {
            sum = sum + reduce_sum(convert::<A>(tiles.load([i])), 0);
        }
        z.store(sum.reshape(const_shape![1]));
    }

    /// The sum of all elements of `x`, by one program, in the type of `x`; `z` may be narrower.
    #[cutile_macros::entry(specialize(A = f32, T = f32))]
    fn total<A: Number, T: Element>(x: &Tensor<A, { [-1] }>, z: &mut Tensor<T, { [1] }>) {
        let tiles = x.partition(const_shape![TILE]);
        let mut sum: Tile<A, { [] }> = zeros(const_shape![]);
        for i in 0..num_tiles(&tiles, 0) {
            sum = sum + reduce_sum(tiles.load([i]), 0);
        }
        z.store(convert::<T>(sum).reshape(const_shape![1]));
    }
}

/// Matrix products: one tile of the result for each program, which walks along the shared axis.
#[cutile_macros::module(crate = cutile_core)]
pub mod matmul {
    use cutile_core::core::*;

    /// Extent of a tile along the shared axis.
    const BK: i32 = 32;
    /// The same for f64.
    const BK_DOUBLE: i32 = 8;
    /// The same for products without matrix instructions, which hold a tile of rank 3.
    const BK_INTEGER: i32 = 8;

    /// c = a * b in f64, by short steps: a longer step's operands would not fit into registers.
    #[cutile_macros::entry()]
    fn double_precision<const BM: i32, const BN: i32>(
        a: &Tensor<f64, { [-1, -1] }>,
        b: &Tensor<f64, { [-1, -1] }>,
        c: &mut Tensor<f64, { [BM, BN] }>,
    ) {
        let rows = a.partition(const_shape![BM, BK_DOUBLE]);
        let columns = b.partition(const_shape![BK_DOUBLE, BN]);
        let (i, j, _) = get_tile_block_id();
        let mut sum: Tile<f64, { [BM, BN] }> = zeros(const_shape![BM, BN]);
        for k in 0..num_tiles(&rows, 1) {
            sum = mma(rows.load([i, k]), columns.load([k, j]), sum);
        }
        c.store(sum);
    }

    /// c = a * b, summed in f32.
    #[cutile_macros::entry(
        specialize(T = f32, BM = 32, BN = 32),
        specialize(T = f32, BM = 64, BN = 64),
        specialize(T = f32, BM = 128, BN = 128),
        specialize(T = f16, BM = 32, BN = 32),
        specialize(T = f16, BM = 64, BN = 64),
        specialize(T = f16, BM = 128, BN = 128),
        specialize(T = bf16, BM = 32, BN = 32),
        specialize(T = bf16, BM = 64, BN = 64),
        specialize(T = bf16, BM = 128, BN = 128)
    )]
    fn summed_in_f32<T: Float, const BM: i32, const BN: i32>(
        a: &Tensor<T, { [-1, -1] }>,
        b: &Tensor<T, { [-1, -1] }>,
        c: &mut Tensor<T, { [BM, BN] }>,
    ) {
        let rows = a.partition(const_shape![BM, BK]);
        let columns = b.partition(const_shape![BK, BN]);
        let (i, j, _) = get_tile_block_id();
        let mut sum: Tile<f32, { [BM, BN] }> = zeros(const_shape![BM, BN]);
        for k in 0..num_tiles(&rows, 1) {
            sum = mma(rows.load([i, k]), columns.load([k, j]), sum);
        }
        c.store(convert::<T>(sum));
    }

    /// c = a * b for integers, which wrap.
    #[cutile_macros::entry()]
    fn integer<T: Integer, const BM: i32, const BN: i32>(
        a: &Tensor<T, { [-1, -1] }>,
        b: &Tensor<T, { [-1, -1] }>,
        c: &mut Tensor<T, { [BM, BN] }>,
    ) {
        let rows = a.partition(const_shape![BM, BK_INTEGER]);
        let columns = b.partition(const_shape![BK_INTEGER, BN]);
        let (i, j, _) = get_tile_block_id();
        let mut sum: Tile<T, { [BM, BN] }> = zeros(const_shape![BM, BN]);
        for k in 0..num_tiles(&rows, 1) {
            let x = rows.load([i, k]).reshape(const_shape![BM, BK_INTEGER, 1]);
            let y = columns.load([k, j]).reshape(const_shape![1, BK_INTEGER, BN]);
            let x = x.broadcast(const_shape![BM, BK_INTEGER, BN]);
            let y = y.broadcast(const_shape![BM, BK_INTEGER, BN]);
            sum = sum + reduce_sum(x * y, 1);
        }
        c.store(sum);
    }
}

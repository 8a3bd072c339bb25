//! How many warps a block has: a small table by what the kernel does and how large its tiles are.

use super::matrix::{self, Sizes};
use cutile_ir::op::{MatrixOp, MemoryOp, OpKind};
use cutile_ir::{Function, TileType, Type};

/// The extents of a tile.
pub fn extents(tile: &TileType) -> Vec<u32> {
    tile.numbers().iter().map(|n| *n as u32).collect()
}

/// The sizes of a product whose operands are these values' types.
pub fn product_sizes(f: &Function, op: &MatrixOp) -> Option<Sizes> {
    let MatrixOp::Mma { a, b, .. } = op;
    let (a, b) = (extents(f.ty(*a).as_tile()?), extents(f.ty(*b).as_tile()?));
    match (&a[..], &b[..]) {
        ([m, k], [_, n]) => Some(Sizes { m: *m, n: *n, k: *k }),
        _ => None,
    }
}

/// Warps of a block, a power of two.
pub fn warps(f: &Function) -> u32 {
    let mut products = 0;
    f.body.for_each_op(&mut |op| {
        if let OpKind::Matrix(m) = &op.kind
            && let Some(sizes) = product_sizes(f, m)
        {
            products = products.max(matrix::warps(sizes));
        }
    });
    products.max(if products > 0 { 1 } else { memory_warps(f) })
}

/// For kernels that live from memory: two 16-byte accesses a thread for the largest tile, but blocks of moderate size;
/// larger ones only where a thread's registers would not hold its part of a row.
fn memory_warps(f: &Function) -> u32 {
    let mut largest = 1;
    let mut narrowest = 16;
    f.body.for_each_op(&mut |op| {
        let moved =
            matches!(&op.kind, OpKind::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. }));
        let tiles = op.results.iter().copied().chain(match &op.kind {
            OpKind::Memory(MemoryOp::Store { tile, .. }) => Some(*tile),
            _ => None,
        });
        for tile in tiles.filter_map(|v| f.ty(v).as_tile()) {
            largest = largest.max(extents(tile).iter().product::<u32>());
            if moved && tile.element.expect().bytes() < narrowest {
                narrowest = tile.element.expect().bytes();
            }
        }
    });
    let vector = (16 / narrowest as u32).max(1);
    let wanted = largest.div_ceil(64 * vector).next_power_of_two();
    let needed = largest.div_ceil(32 * 32).next_power_of_two().min(32);
    wanted.clamp(1, 8).max(needed)
}

/// The tile type of a value, if it is a tile.
pub fn tile_of(f: &Function, v: cutile_ir::Value) -> Option<&TileType> {
    match f.ty(v) {
        Type::Tile(t) => Some(t),
        _ => None,
    }
}

//! TMA: tensor copies of every rank, element, swizzle, step and fill, and their reductions.

use super::async_cases::wait;
use super::bulk_cases::{start, tile_out};
use super::cases::{Kind, List, Map, Pool, Shape};
use ptx_emulator::{ElementType, Swizzle};

const MAP: &str = "mov.b64 %w3, map; cvta.param.u64 %w3, %w3;";

/// A dense tensor map of the input, its rows `pitch` bytes apart.
fn map(element: ElementType, extents: &[u64], pitch: u64, box_extents: &[u32]) -> Map {
    let mut strides = Vec::new();
    let mut stride = pitch;
    for extent in &extents[1..] {
        strides.push(stride);
        stride *= extent;
    }
    Map {
        output: false,
        element,
        offset: 0,
        extents: extents.to_vec(),
        strides,
        box_extents: box_extents.to_vec(),
        element_strides: vec![1; extents.len()],
        swizzle: Swizzle::None,
        nan_fill: false,
        promotion: 0,
    }
}

/// Bytes that a copy moves.
fn bytes(map: &Map) -> u32 {
    let steps = map.element_strides.iter().enumerate().map(|(i, s)| if i == 0 { 1 } else { *s });
    map.element.bytes()
        * map.box_extents.iter().zip(steps).map(|(b, s)| b.div_ceil(s)).product::<u32>()
}

fn coordinates(at: &[i32]) -> String {
    at.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}

fn words_for(bytes: u32) -> usize {
    (bytes as usize).div_ceil(1024)
}

/// Input words a thread: 16 KiB for a block.
const WORDS: usize = 16;

fn load(l: &mut List, name: &str, map: Map, at: &[i32], pool: Pool) {
    let (rank, bytes) = (map.extents.len(), bytes(&map));
    let body = format!(
        "{} {MAP} @%k0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t1], {bytes}; @%k0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%t2], [%w3, {{{}}}], [%t1]; {} {}",
        start(words_for(bytes) + 1),
        coordinates(at),
        wait("0", "0"),
        tile_out(0, words_for(bytes) + 1)
    );
    let shape = Shape { map: Some(map), ..Shape::block(128, WORDS, words_for(bytes) + 1) };
    l.push(&format!("tma load {name} at {at:?}"), &body, [pool; 3], Kind::Exact, shape);
}

/// The output is the tensor, and what no element of the box covers stays as it was. The hardware takes no negative
/// coordinates here: boxes that have some are only loaded.
fn store(l: &mut List, name: &str, map: Map, at: &[i32], pool: Pool) {
    if at.iter().all(|c| *c >= 0) {
        put(l, name, map, at, pool);
    }
}

fn put(l: &mut List, name: &str, map: Map, at: &[i32], pool: Pool) {
    let (rank, bytes) = (map.extents.len(), bytes(&map));
    let body = format!(
        "{} {MAP} @%k0 cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%w3, {{{}}}], [%t2]; @%k0 cp.async.bulk.commit_group; @%k0 cp.async.bulk.wait_group 0;",
        start(words_for(bytes)),
        coordinates(at)
    );
    let rows = map.extents.last().zip(map.strides.last()).map_or(1024, |(n, pitch)| n * pitch);
    let results = words_for(rows as u32);
    let shape =
        Shape { map: Some(Map { output: true, ..map }), ..Shape::block(128, WORDS, results) };
    l.push(&format!("tma store {name} at {at:?}"), &body, [pool; 3], Kind::Exact, shape);
}

/// Reduces the tile into the input, and gives that.
fn reduce(l: &mut List, op: &str, map: Map, at: &[i32], pool: Pool) {
    let (rank, bytes) = (map.extents.len(), bytes(&map));
    let mut body = format!(
        "{} {MAP} @%k0 cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op}.tile.bulk_group [%w3, {{{}}}], [%t2]; @%k0 cp.async.bulk.commit_group; @%k0 cp.async.bulk.wait_group 0; bar.sync 0; mad.wide.u32 %w2, %v0, 8, %w0;",
        start(words_for(bytes) + 1),
        coordinates(at)
    );
    for i in 0..WORDS {
        body += &format!(
            " ld.relaxed.gpu.global.u64 %at, [%w2+{}]; st.global.u64 [%out+{}], %at;",
            1024 * i,
            8 * i
        );
    }
    let name = format!("tma reduce {op} {:?} at {at:?}", map.element);
    let shape = Shape { map: Some(map), ..Shape::block(128, WORDS, WORDS) };
    l.push(&name, &body, [pool; 3], Kind::Exact, shape);
}

const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

/// Copies at which the card stops with an illegal instruction.
pub(super) fn refused(l: &mut List) {
    for (element, at) in
        [(ElementType::U8, [1, 0]), (ElementType::U32, [-1, 3]), (ElementType::U32, [1, 0])]
    {
        let map =
            map(element, &[u64::from(120 / element.bytes()), 9], 144, &[48 / element.bytes(), 11]);
        load(l, &format!("{element:?}"), map.clone(), &at, Pool::Int);
        put(l, &format!("{element:?}"), map, &at, Pool::Int);
    }
    for at in [[-4, 3], [12, -2]] {
        put(l, "U32", map(ElementType::U32, &[30, 9], 144, &[12, 11]), &at, Pool::Int);
    }
}

fn pool(element: ElementType) -> Pool {
    match element {
        ElementType::F16 => Pool::F16,
        ElementType::Bf16 => Pool::Bf16,
        ElementType::F32 => Pool::F32,
        ElementType::F64 => Pool::F64,
        _ => Pool::Int,
    }
}

/// Copies of all elements in every swizzle, inside and across the tensor's borders; ranks, steps within the box, reductions.
pub(super) fn copies(l: &mut List) {
    use ElementType::{Bf16, F16, F32, F64, I32, I64, U8, U16, U32, U64};
    elements(l, &[U8, U16, U32, I32, U64, I64, F16, F32, F64, Bf16]);
    ranks(l);
    steps(l);
    reductions(l);
}

fn elements(l: &mut List, all: &[ElementType]) {
    for &element in all {
        let per = 16 / element.bytes();
        for swizzle in SWIZZLES {
            // A tensor of 9 rows of a little less than eight chunks; a box of as many chunks as the swizzle spans.
            let chunks = if swizzle == Swizzle::None { 3 } else { swizzle.span() / 16 };
            let float = matches!(
                element,
                ElementType::F16 | ElementType::F32 | ElementType::F64 | ElementType::Bf16
            );
            // Copies begin at multiples of sixteen bytes: the hardware takes no others.
            for (nan, at, rest) in [
                (false, [0, 0], per / 2),
                (false, [-1, 3], per / 2),
                (true, [3, -2], per / 2),
                (true, [6, 4], per / 2),
                (true, [7, -1], 1),
                (false, [5, 2], per - 1),
                (true, [-2, 8], 0),
            ] {
                let nan_fill = nan && float;
                let extents = [u64::from(7 * per + rest), 9];
                let at = [at[0] * per as i32, at[1]];
                let map =
                    Map { swizzle, nan_fill, ..map(element, &extents, 144, &[chunks * per, 11]) };
                let name = format!(
                    "{element:?} {swizzle:?} of {}{}",
                    extents[0],
                    if nan_fill { " nan" } else { "" }
                );
                load(l, &name, map.clone(), &at, pool(element));
                store(l, &name, map, &at, pool(element));
            }
        }
    }
}

/// One to five dimensions, boxes inside, across each border and outside.
fn ranks(l: &mut List) {
    let extents = [13u64, 5, 4, 3, 2];
    let boxes = [8u32, 3, 2, 2, 2];
    for rank in 1..=5 {
        for swizzle in [Swizzle::None, Swizzle::B32] {
            for (promotion, start) in [0i32, -1, 1, 2, 4, 100, -100].into_iter().enumerate() {
                let far = start.abs() == 100;
                let mut at = vec![if far { 0 } else { start }; rank];
                at[0] = 4 * start;
                // Promotion in the second-level cache changes no result.
                let promotion = promotion as u32 % 4;
                let map = Map {
                    swizzle,
                    promotion,
                    ..map(ElementType::U32, &extents[..rank], 64, &boxes[..rank])
                };
                let name = format!("rank {rank} {swizzle:?} promotion {promotion}");
                load(l, &name, map.clone(), &at, Pool::Int);
                store(l, &name, map, &at, Pool::Int);
            }
        }
    }
    for (rows, columns) in [(1, 64), (33, 16), (64, 8), (2, 256), (128, 16)] {
        let map = map(ElementType::U16, &[100, 60], 208, &[columns, rows]);
        load(l, &format!("box {columns} x {rows}"), map, &[8, 7], Pool::Int);
    }
}

/// Every second, third .. element of the outer dimensions.
fn steps(l: &mut List) {
    for steps in [[1, 2, 1], [1, 1, 2], [1, 3, 2], [2, 2, 2], [1, 8, 1], [4, 1, 1]] {
        for at in [[0, 0, 0], [4, 1, 1], [-4, -1, -1], [8, 7, 3]] {
            let map = Map {
                element_strides: steps.to_vec(),
                ..map(ElementType::U32, &[13, 10, 5], 64, &[8, 7, 4])
            };
            let name = format!("steps {steps:?}");
            load(l, &name, map.clone(), &at, Pool::Int);
            store(l, &name, map, &at, Pool::Int);
        }
    }
}

fn reductions(l: &mut List) {
    use ElementType::*;
    let numbers = ["add", "min", "max"];
    for (element, ops) in [
        (U32, &["add", "min", "max", "and", "or", "xor", "inc", "dec"][..]),
        (I32, &["add", "min", "max", "and", "or", "xor"]),
        (U64, &["add", "min", "max", "and", "or", "xor"]),
        (I64, &["min", "max"]),
        (F16, &numbers),
        (Bf16, &numbers),
        (F32, &numbers[..1]),
    ] {
        let per = 16 / element.bytes();
        for op in ops {
            let plain = map(element, &[u64::from(3 * per + per / 2), 5], 80, &[2 * per, 4]);
            reduce(l, op, plain.clone(), &[per as i32, 1], pool(element));
            reduce(l, op, plain, &[2 * per as i32, 2], pool(element));
        }
    }
    // Across the tensor's borders, and swizzled.
    for at in [[0, 2], [8, 3]] {
        let plain = Map { swizzle: Swizzle::B32, ..map(U32, &[14, 5], 80, &[8, 4]) };
        reduce(l, "add", plain, &at, Pool::Int);
    }
}

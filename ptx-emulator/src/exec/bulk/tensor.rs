//! Plans tensor copies: which chunk of a box lies where, and which elements exist.

use crate::decode::bulk::{Effect, TensorCopy};
use crate::decode::op::{AtomOp, Function, Space, Src};
use crate::memory::address;
use crate::parse::ast::Type;
use crate::report::Fault;
use crate::tensor_map::{ElementType, TensorMap};

use super::super::frame::{Frame, lanes};
use super::super::memory::{self, READ, WRITE};
use super::super::race;
use super::super::state::Cluster;
use super::super::warp::Warp;
use super::{CHUNK, Chunk, Far, Job, completion, issue, join_far, misuse, shared_place, targets};

/// Issues a tensor copy in each lane.
pub(in crate::exec) fn tensor(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    function: &Function,
    op: &TensorCopy,
    active: u32,
) -> Result<(), Box<Fault>> {
    let maps = memory::addresses(cluster, f, op.map);
    let shared = memory::addresses(cluster, f, op.shared);
    for lane in lanes(active) {
        let at = if op.map_in_params {
            address::to_generic(Space::Param, maps[lane])
        } else {
            maps[lane]
        };
        let map = read_map(cluster, warp, at, lane)?;
        let pool = &function.pool
            [op.coordinates.at as usize..(op.coordinates.at + op.coordinates.len) as usize];
        let coordinates: Vec<i64> = pool
            .iter()
            .map(|c| i64::from(f.lane(c.unwrap_or(Src::Imm(0)), lane) as u32 as i32))
            .collect();
        if coordinates.len() != map.extents.len() {
            let message = format!(
                "a tensor map of rank {} is used with {} coordinates",
                map.extents.len(),
                coordinates.len()
            );
            return Err(misuse(message, lane));
        }
        let access = if op.load { WRITE } else { READ };
        let (block, start) = shared_place(cluster, warp, shared[lane], 128, access, lane)?;
        let last = shared[lane] + u64::from(map.box_bytes() - CHUNK);
        shared_place(cluster, warp, last, CHUNK, access, lane)?;
        let near = targets(cluster, block, op.multicast.map(|m| f.lane(m, lane)), lane)?;
        let (chunks, far) = plan(cluster, warp, &map, &coordinates, start, op.load, lane)?;
        let mbarrier = completion(cluster, warp, f, op.completion, &near, (block, lane))?;
        let effect = op.reduce.map_or(Effect::Copy, |reduce| {
            Effect::Reduce(reduce, element_type(map.element, reduce))
        });
        let job = Job {
            chunks,
            far,
            near,
            load: op.load,
            fill: map.fill(),
            effect,
            value: false,
            bytes: map.box_bytes(),
            mbarrier,
            owner: (race::number(cluster, warp), lane as u8, warp.bulk.committed[lane]),
        };
        issue(cluster, warp, job, lane)?;
    }
    Ok(())
}

/// The type in which a reduction of such elements computes.
fn element_type(element: ElementType, op: AtomOp) -> Type {
    let bitwise = matches!(op, AtomOp::And | AtomOp::Or | AtomOp::Xor);
    match element {
        ElementType::U8 => Type::U8,
        ElementType::U16 => Type::U16,
        ElementType::F16 => Type::F16,
        ElementType::Bf16 => Type::Bf16,
        ElementType::F32 if !bitwise => Type::F32,
        ElementType::I32 => Type::S32,
        ElementType::U32 | ElementType::F32 => Type::U32,
        ElementType::I64 => Type::S64,
        ElementType::F64 if !bitwise => Type::F64,
        ElementType::U64 | ElementType::F64 => Type::U64,
    }
}

fn read_map(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    at: u64,
    lane: usize,
) -> Result<TensorMap, Box<Fault>> {
    if !at.is_multiple_of(64) {
        return Err(misuse(format!("the tensor map at {at:#x} is not aligned to 64 bytes"), lane));
    }
    let mut bytes = [0; 128];
    for (step, word) in bytes.chunks_exact_mut(8).enumerate() {
        let place =
            memory::locate(cluster, warp, Space::Generic, at + 8 * step as u64, 8, READ, lane)?;
        word.copy_from_slice(&memory::read(cluster, warp, place, 0, 8, lane)?.to_le_bytes());
    }
    TensorMap::decode(&bytes).ok_or_else(|| {
        misuse(format!("what lies at {at:#x} is no tensor map that this emulator's `TensorMap::encode` made"), lane)
    })
}

/// The chunks of a box, in the order of shared memory.
fn plan(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    map: &TensorMap,
    start: &[i64],
    shared: u32,
    load: bool,
    lane: usize,
) -> Result<(Vec<Chunk>, Far), Box<Fault>> {
    let width = map.element.bytes();
    let row = map.box_extents[0] * width;
    let rows = map.box_extents[1..].iter().product::<u32>();
    let per_chunk = i64::from(CHUNK / width);
    let mut chunks = Vec::with_capacity((rows * row / CHUNK) as usize);
    let mut far = Far::Nothing;
    for r in 0..rows {
        let mut rest = r;
        let mut inside = true;
        let mut offset = 0u64;
        let axes = map.box_extents.iter().zip(&map.extents).zip(start).skip(1).zip(&map.strides);
        for (((extent, size), first), stride) in axes {
            let at = first + i64::from(rest % extent);
            rest /= extent;
            inside &= at >= 0 && (at as u64) < *size;
            offset = offset.wrapping_add((at as u64).wrapping_mul(*stride));
        }
        for c in 0..row / CHUNK {
            let at = shared + r * row + c * CHUNK;
            let at = map.swizzle.apply(at);
            let x = start[0] + i64::from(c) * per_chunk;
            let end = map.extents[0] as i64;
            let partial_front = x < 0 && x + per_chunk > 0;
            let valid =
                if inside && x >= 0 { (end - x).clamp(0, per_chunk) as u32 * width } else { 0 };
            if inside && partial_front {
                // Elements before the first lie in a chunk with elements behind it: element by element.
                front_chunk(
                    cluster,
                    warp,
                    map,
                    (x, offset, at),
                    (&mut chunks, &mut far),
                    (load, lane),
                )?;
                continue;
            }
            if valid == 0 {
                if load {
                    chunks.push(Chunk { shared: at, far: 0, valid: 0 });
                }
                continue;
            }
            let global = map.address.wrapping_add(offset).wrapping_add(x as u64 * u64::from(width));
            let access = if load { READ } else { WRITE };
            let place = memory::locate(cluster, warp, Space::Global, global, width, access, lane)?;
            memory::locate(
                cluster,
                warp,
                Space::Global,
                global + u64::from(valid - width),
                width,
                access,
                lane,
            )?;
            let offset = join_far(cluster, &mut far, place, lane)?;
            chunks.push(Chunk { shared: at, far: offset, valid: valid as u8 });
        }
    }
    Ok((chunks, far))
}

/// A chunk whose first elements lie before the tensor's first: filled, then its existing elements one by one.
fn front_chunk(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    map: &TensorMap,
    (x, offset, at): (i64, u64, u32),
    (chunks, far): (&mut Vec<Chunk>, &mut Far),
    (load, lane): (bool, usize),
) -> Result<(), Box<Fault>> {
    let width = map.element.bytes();
    if load {
        chunks.push(Chunk { shared: at, far: 0, valid: 0 });
    }
    for e in 0..i64::from(CHUNK / width) {
        if x + e < 0 || x + e >= map.extents[0] as i64 {
            continue;
        }
        let global =
            map.address.wrapping_add(offset).wrapping_add((x + e) as u64 * u64::from(width));
        let access = if load { READ } else { WRITE };
        let place = memory::locate(cluster, warp, Space::Global, global, width, access, lane)?;
        let offset = join_far(cluster, far, place, lane)?;
        chunks.push(Chunk { shared: at + e as u32 * width, far: offset, valid: width as u8 });
    }
    Ok(())
}

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
        let coordinates = start_of_box(f, function, op, &map, lane)?;
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

/// Coordinates of a box's first element, and what the hardware asks of them.
fn start_of_box(
    f: &Frame,
    function: &Function,
    op: &TensorCopy,
    map: &TensorMap,
    lane: usize,
) -> Result<Vec<i64>, Box<Fault>> {
    let pool = &function.pool
        [op.coordinates.at as usize..(op.coordinates.at + op.coordinates.len) as usize];
    let coordinates: Vec<i64> = pool
        .iter()
        .map(|c| i64::from(f.lane(c.unwrap_or(Src::Imm(0)), lane) as u32 as i32))
        .collect();
    let rank = map.extents.len();
    if coordinates.len() != rank {
        let found = coordinates.len();
        let message = format!("a tensor map of rank {rank} is used with {found} coordinates");
        return Err(misuse(message, lane));
    }
    let first = coordinates[0] * i64::from(map.element.bytes());
    if first % i64::from(CHUNK) != 0 {
        let message = format!(
            "a tensor copy begins {first} bytes into the innermost dimension, not at a multiple of {CHUNK}"
        );
        return Err(misuse(message, lane));
    }
    if let Some(negative) = coordinates.iter().find(|c| !op.load && **c < 0) {
        let message =
            format!("a tensor copy to global memory begins at the negative coordinate {negative}");
        return Err(misuse(message, lane));
    }
    Ok(coordinates)
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
    let moved = map.moved();
    let rows = moved[1..].iter().product::<u32>();
    let per_chunk = i64::from(CHUNK / width);
    let mut chunks = Vec::with_capacity((rows * row / CHUNK) as usize);
    let mut far = Far::Nothing;
    for r in 0..rows {
        let mut rest = r;
        let mut inside = true;
        let mut offset = 0u64;
        for (axis, stride) in map.strides.iter().enumerate().map(|(i, stride)| (i + 1, stride)) {
            let (size, step) = (&map.extents[axis], map.element_strides[axis]);
            let at = start[axis] + i64::from(rest % moved[axis] * step);
            rest /= moved[axis];
            inside &= at >= 0 && (at as u64) < *size;
            offset = offset.wrapping_add((at as u64).wrapping_mul(*stride));
        }
        for c in 0..row / CHUNK {
            let at = shared + r * row + c * CHUNK;
            let at = map.swizzle.apply(at);
            let x = start[0] + i64::from(c) * per_chunk;
            let end = map.extents[0] as i64;
            let valid =
                if inside && x >= 0 { (end - x).clamp(0, per_chunk) as u32 * width } else { 0 };
            if valid == 0 {
                if load {
                    chunks.push(Chunk { shared: at, far: 0, valid: 0 });
                }
                continue;
            }
            // What is written is written in whole chunks: the padding behind a row's last element changes too.
            let valid = if load { valid } else { CHUNK };
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

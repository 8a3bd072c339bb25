//! Plans one-dimensional copies and values stored asynchronously.

use crate::decode::bulk::{AsyncValue, BulkCopy, Completion, Effect};
use crate::decode::op::{Function, Space};
use crate::report::Fault;

use super::super::frame::{Frame, lanes};
use super::super::memory::{self, READ, WRITE};
use super::super::race;
use super::super::state::Cluster;
use super::super::warp::Warp;
use super::{CHUNK, Chunk, Far, Job, completion, issue, join_far, misuse, shared_place, targets};

/// Issues a one-dimensional copy in each lane.
pub(in crate::exec) fn copy(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    op: &BulkCopy,
    active: u32,
) -> Result<(), Box<Fault>> {
    let to = memory::addresses(cluster, f, op.to);
    let from = memory::addresses(cluster, f, op.from);
    let load = op.to_space == Space::Shared;
    for lane in lanes(active) {
        let bytes = f.lane(op.bytes, lane) as u32;
        if !bytes.is_multiple_of(CHUNK) || bytes == 0 {
            return Err(misuse(
                format!("a bulk copy of {bytes} bytes is not a positive multiple of {CHUNK}"),
                lane,
            ));
        }
        let (near_at, far_at) = if load { (to[lane], from[lane]) } else { (from[lane], to[lane]) };
        let far_space = if load { op.from_space } else { op.to_space };
        let near_access = if load { WRITE } else { READ };
        let far_access = if load { READ } else { WRITE };
        let (block, start) = shared_place(cluster, warp, near_at, CHUNK, near_access, lane)?;
        shared_place(cluster, warp, near_at + u64::from(bytes - CHUNK), CHUNK, near_access, lane)?;
        let near = targets(cluster, block, op.multicast.map(|m| f.lane(m, lane)), lane)?;
        let mut far = Far::Nothing;
        let mut chunks = Vec::with_capacity((bytes / CHUNK) as usize);
        for step in (0..bytes).step_by(CHUNK as usize) {
            let at = far_at + u64::from(step);
            let place = memory::locate(cluster, warp, far_space, at, CHUNK, far_access, lane)?;
            let offset = join_far(cluster, &mut far, place, lane)?;
            chunks.push(Chunk { shared: start + step, far: offset, valid: CHUNK as u8 });
        }
        let mbarrier = completion(cluster, warp, f, op.completion, &near, (block, lane))?;
        let job = Job {
            chunks,
            far,
            near,
            load,
            fill: [0; 16],
            effect: op.effect,
            value: false,
            bytes,
            mbarrier,
            owner: (race::number(cluster, warp), lane as u8, warp.bulk.committed[lane]),
        };
        issue(cluster, warp, job, lane)?;
    }
    Ok(())
}

/// `st.async` and `red.async`: a value that arrives at a block's shared memory and reports there.
pub(in crate::exec) fn value(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    f: &Frame,
    function: &Function,
    op: &AsyncValue,
    active: u32,
) -> Result<(), Box<Fault>> {
    let at = memory::addresses(cluster, f, op.to);
    let width = op.ty.bytes();
    let bytes = width * op.values.len;
    for lane in lanes(active) {
        let (block, start) = shared_place(cluster, warp, at[lane], bytes, WRITE, lane)?;
        let mut fill = [0; 16];
        for i in 0..op.values.len {
            let value = function.pool[(op.values.at + i) as usize].map_or(0, |s| f.lane(s, lane));
            let from = (i * width) as usize;
            fill[from..from + width as usize]
                .copy_from_slice(&value.to_le_bytes()[..width as usize]);
        }
        let near = vec![block];
        let mbarrier =
            completion(cluster, warp, f, Completion::Mbarrier(op.mbarrier), &near, (block, lane))?;
        let job = Job {
            chunks: vec![Chunk { shared: start, far: 0, valid: bytes as u8 }],
            far: Far::Nothing,
            near,
            load: true,
            fill,
            effect: op.reduce.map_or(Effect::Copy, |reduce| Effect::Reduce(reduce, op.ty)),
            value: true,
            bytes,
            mbarrier,
            owner: (race::number(cluster, warp), lane as u8, warp.bulk.committed[lane]),
        };
        issue(cluster, warp, job, lane)?;
    }
    Ok(())
}

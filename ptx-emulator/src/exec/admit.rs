//! Whether a launch can start: what a driver would refuse.

use crate::decode::shared;
use crate::report::FaultKind;

use super::Launch;
use super::grid::Job;

/// Bytes of static shared memory that an entry may have on any target.
const MAX_STATIC: u32 = 48 << 10;

/// Checks a launch with the cluster shape that it will have.
pub(super) fn check(job: &Job<'_>, launch: &Launch, cluster: [u32; 3]) -> Result<(), FaultKind> {
    shape(job, launch, cluster).map_err(FaultKind::InvalidLaunch)?;
    shared_memory(job, launch)
}

fn shared_memory(job: &Job<'_>, launch: &Launch) -> Result<(), FaultKind> {
    let layout = &job.code.layouts[job.entry as usize];
    let target = &job.code.target;
    let (fixed, dynamic, most) = (layout.fixed, launch.dynamic_shared, shared::limit(target));
    let too_much =
        |limit| FaultKind::SharedMemory { fixed, dynamic, limit, target: target.clone() };
    if fixed > MAX_STATIC {
        return Err(too_much(MAX_STATIC));
    }
    let start = layout.dynamic_at - crate::memory::address::SHARED_START;
    let total = if dynamic == 0 { fixed } else { start.saturating_add(dynamic) };
    if total > most { Err(too_much(most)) } else { Ok(()) }
}

fn shape(job: &Job<'_>, launch: &Launch, cluster: [u32; 3]) -> Result<(), String> {
    let entry = &job.code.functions[job.entry as usize];
    let Launch { grid, block, .. } = *launch;
    if !entry.entry {
        return Err(format!("`{}` is a function, not an entry", entry.name));
    }
    if grid.contains(&0) || block.contains(&0) || cluster.contains(&0) {
        return Err(format!(
            "grid {grid:?}, block {block:?} and cluster {cluster:?} must not have a zero"
        ));
    }
    if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
        return Err(format!("grid {grid:?} is larger than (2^31 - 1, 65535, 65535)"));
    }
    let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
    if threads > 1024 || block[2] > 64 {
        return Err(format!("block {block:?} is larger than 1024 threads, or than 64 in z"));
    }
    if let Some(required) = entry.required_block.filter(|r| *r != block) {
        return Err(format!("block {block:?} is not the {required:?} that `.reqntid` requires"));
    }
    let limit = |extent: [u32; 3]| extent.iter().map(|&n| u64::from(n)).product::<u64>();
    if let Some(max) = entry.max_block.filter(|max| threads > limit(*max)) {
        return Err(format!("block {block:?} has more threads than `.maxntid` {max:?} allows"));
    }
    if limit(cluster) > 16 || (0..3).any(|axis| grid[axis] % cluster[axis] != 0) {
        return Err(format!(
            "cluster {cluster:?} has more than 16 blocks or does not divide the grid {grid:?}"
        ));
    }
    if let Some(required) = entry.cluster.filter(|r| *r != cluster) {
        return Err(format!(
            "cluster {cluster:?} is not the {required:?} that `.reqnctapercluster` requires"
        ));
    }
    // The buffer may be padded to the alignment of its widest parameter.
    let padded = (entry.param_bytes as usize).next_multiple_of(64);
    if !(entry.param_bytes as usize..=padded).contains(&job.params.len()) {
        return Err(format!(
            "{} bytes of parameters are given, the entry takes {}",
            job.params.len(),
            entry.param_bytes
        ));
    }
    Ok(())
}

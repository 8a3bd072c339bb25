//! A warp: its lanes, and the paths along which they run.
//!
//! Lanes that go on together form a path. A branch on which they disagree makes the path a parent that waits at the
//! branch's immediate post-dominator, and a child for each way; a call makes it wait for its callee in the same way. A
//! parent goes on when all its children have arrived, returned or exited. Several children may be ready at once: one
//! that spins does not starve the others.

use crate::decode::op::{NO_PC, Pc};

use super::frame::{Frame, LANES, lanes};

/// No path, no parent.
pub(super) const NONE: u32 = u32::MAX;
/// In a path's `resumed`: the scheduler ended its wait, nothing has come.
pub(super) const TIMED_OUT: u64 = u64::MAX;
/// Deepest nesting of calls.
const MAX_DEPTH: usize = 256;

/// What a path does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Ready,
    /// Waits for its children.
    Parent(u32),
    Waits(Wait),
    /// A free slot.
    Free,
}

/// What a path waits for. Each is checked again whenever the warp is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wait {
    /// The block's barrier with this number, beyond this many completions.
    Barrier { id: u8, passed: u64 },
    /// The cluster's barrier, beyond this many completions.
    Cluster { passed: u64 },
    /// The memory barrier object at this place, to leave this phase.
    Mbarrier { block: u32, at: u32, phase: u64 },
    /// Bulk copies of these lanes, all but the latest groups.
    Bulk { lanes: u32, left: u32, read: bool },
}

/// Lanes that run together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) pc: Pc,
    pub(super) mask: u32,
    /// Where it joins its parent.
    pub(super) meet: Pc,
    pub(super) frame: u32,
    pub(super) parent: u32,
    pub(super) state: State,
    /// The phase whose completion let the path execute its instruction a second time.
    pub(super) resumed: Option<u64>,
    /// The `try_wait` that failed last.
    pub(super) tried: Pc,
}

/// The bytes of local memory of each lane.
pub(super) type Local = Vec<Vec<u8>>;

/// A warp.
#[derive(Debug, Default)]
pub(super) struct Warp {
    /// Number of its block in the cluster.
    pub(super) block: u32,
    /// Number in the block.
    pub(super) index: u32,
    /// Lanes that exist.
    pub(super) lanes: u32,
    /// Lanes that have exited.
    pub(super) exited: u32,
    pub(super) tid: [[u32; LANES]; 3],
    pub(super) paths: Vec<Path>,
    pub(super) frames: Vec<Frame>,
    /// For each frame: the path that called it and the number of the call in its function.
    pub(super) callers: Vec<(u32, u32)>,
    pub(super) free_frames: Vec<u32>,
    pub(super) current: u32,
    pub(super) local: Local,
    /// The allocation that the last global access hit.
    pub(super) last_allocation: usize,
    /// Asynchronous copies of each lane.
    pub(super) copies: super::async_copy::Copies,
    pub(super) bulk: super::bulk::Groups,
    pub(super) wgmma: super::wgmma::InFlight,
    /// Line of the instruction that accesses memory.
    pub(super) line: u32,
    /// Warp-instructions and thread-instructions executed.
    pub(super) counts: (u64, u64),
    /// Lanes that have arrived at the cluster barrier and not yet waited, and its completed phases at that time.
    pub(super) cluster_arrived: u32,
    pub(super) cluster_phase: u64,
    /// Lanes that have executed `griddepcontrol.wait` (all in an independent launch).
    pub(super) dependency_met: u32,
}

impl Warp {
    /// Lanes that have not exited.
    pub(super) fn live(&self) -> u32 {
        self.lanes & !self.exited
    }

    pub(super) fn done(&self) -> bool {
        self.live() == 0
    }

    /// Takes a slot for a path.
    pub(super) fn add_path(&mut self, path: Path) -> u32 {
        match self.paths.iter().position(|p| p.state == State::Free) {
            Some(at) => {
                self.paths[at] = path;
                at as u32
            }
            None => {
                self.paths.push(path);
                self.paths.len() as u32 - 1
            }
        }
    }

    /// Splits path `p`, which stands before `fall`, into the lanes `taken`, which go to `target`, and the others.
    pub(super) fn diverge(&mut self, p: u32, taken: u32, target: Pc, fall: Pc, meet: Pc) {
        let path = self.paths[p as usize];
        let rest = path.mask & !taken;
        if meet == path.meet && path.parent != NONE {
            // Both ways join where this path would: no new parent is needed.
            self.paths[p as usize].mask = rest;
            self.paths[p as usize].pc = fall;
            let sibling = self.add_path(Path { pc: target, mask: taken, ..path });
            self.add_child(path.parent, 1);
            self.current = sibling;
            return;
        }
        self.paths[p as usize].pc = meet;
        self.paths[p as usize].state = State::Parent(2);
        let child = Path { meet, parent: p, state: State::Ready, ..path };
        self.add_path(Path { pc: fall, mask: rest, ..child });
        self.current = self.add_path(Path { pc: target, mask: taken, ..child });
    }

    fn add_child(&mut self, parent: u32, count: u32) {
        if let State::Parent(children) = &mut self.paths[parent as usize].state {
            *children += count;
        }
    }

    /// Ends a path; its parent may go on.
    pub(super) fn arrive(&mut self, p: u32) {
        let path = self.paths[p as usize];
        self.paths[p as usize].state = State::Free;
        if path.parent == NONE {
            return;
        }
        let parent = &mut self.paths[path.parent as usize];
        let last = match &mut parent.state {
            State::Parent(children) => {
                *children -= 1;
                *children == 0
            }
            _ => false,
        };
        let returned = parent.frame != path.frame;
        if returned && !self.paths.iter().any(|q| q.state != State::Free && q.frame == path.frame) {
            self.free_frames.push(path.frame);
        }
        if last {
            let parent = &mut self.paths[path.parent as usize];
            if parent.mask == 0 {
                self.arrive(path.parent);
            } else {
                parent.state = State::Ready;
                self.current = path.parent;
            }
        }
    }

    /// Takes `gone` from a path and all that wait for it up to `stop`, excluded.
    fn remove_lanes(&mut self, p: u32, gone: u32, stop: u32) {
        let mut at = p;
        while at != stop && at != NONE {
            let path = &mut self.paths[at as usize];
            path.mask &= !gone;
            at = path.parent;
        }
        if self.paths[p as usize].mask == 0 {
            self.arrive(p);
        }
    }

    /// Lanes leave the kernel.
    pub(super) fn exit(&mut self, p: u32, gone: u32) {
        self.exited |= gone;
        self.remove_lanes(p, gone, NONE);
    }

    /// Lanes return from the function of frame `frame`.
    pub(super) fn ret(&mut self, p: u32, gone: u32, frame: u32) {
        let (caller, _) = self.callers[frame as usize];
        self.remove_lanes(p, gone, caller);
    }

    /// Starts a call by path `p`, which goes on at `pc` afterwards. Gives false if calls are nested too deep.
    pub(super) fn call(&mut self, p: u32, mask: u32, call: u32, frame: Frame, pc: Pc) -> bool {
        let mut depth = 0;
        let mut at = self.paths[p as usize].frame;
        while self.callers[at as usize].0 != NONE {
            depth += 1;
            at = self.paths[self.callers[at as usize].0 as usize].frame;
        }
        if depth >= MAX_DEPTH {
            return false;
        }
        let slot = match self.free_frames.pop() {
            Some(slot) => {
                self.frames[slot as usize] = frame;
                self.callers[slot as usize] = (p, call);
                slot
            }
            None => {
                self.frames.push(frame);
                self.callers.push((p, call));
                self.frames.len() as u32 - 1
            }
        };
        let path = &mut self.paths[p as usize];
        path.pc = pc;
        match &mut path.state {
            // A second target of one indirect call.
            State::Parent(children) => *children += 1,
            state => *state = State::Parent(1),
        }
        let callee = Path {
            pc: 0,
            mask,
            meet: NO_PC,
            frame: slot,
            parent: p,
            state: State::Ready,
            resumed: None,
            tried: NO_PC,
        };
        self.current = self.add_path(callee);
        true
    }

    /// Makes another ready path the current one, if there is one.
    pub(super) fn rotate(&mut self) {
        let count = self.paths.len() as u32;
        for step in 1..count {
            let at = (self.current + step) % count;
            if self.paths[at as usize].state == State::Ready {
                self.current = at;
                return;
            }
        }
    }

    /// Makes local memory of every lane at least `bytes` long.
    pub(super) fn reserve_local(&mut self, bytes: u32) {
        self.local.resize(LANES, Vec::new());
        let live = self.lanes;
        for lane in lanes(live) {
            if self.local[lane].len() < bytes as usize {
                self.local[lane].resize(bytes as usize, 0);
            }
        }
    }
}

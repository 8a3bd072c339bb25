//! Immediate post-dominators of a function's instructions: where diverged lanes meet again.

use super::op::{Inst, NO_PC, Op, Pc, Src};

/// The flow graph of a function.
pub(crate) struct Graph {
    /// First instruction of each block, ascending.
    pub(crate) starts: Vec<Pc>,
    /// Successor blocks.
    pub(crate) successors: Vec<Vec<u32>>,
    /// Blocks that may leave the function by `ret` or `exit`. A block that ends in `trap` does not: nobody meets after it,
    /// and a check that can trap must not keep the lanes that passed from meeting.
    pub(crate) leaves: Vec<bool>,
}

impl Graph {
    /// For each block the first instruction of its immediate post-dominator, `NO_PC` where that is the function's end.
    ///
    /// Blocks from which the function is never left meet where they meet on their way to a trap, or on their way round.
    pub(crate) fn reconvergence(&self) -> Vec<Pc> {
        let blocks = self.successors.len();
        let mut meeting = vec![None; blocks];
        let mut leaves = self.leaves.clone();
        loop {
            let dominators = self.post_dominators(&leaves, &meeting);
            for (block, dominator) in dominators.into_iter().enumerate() {
                if let Some(dominator) = dominator {
                    meeting[block] = Some(self.starts.get(dominator).copied().unwrap_or(NO_PC));
                }
            }
            let Some(last) = meeting.iter().rposition(Option::is_none) else { break };
            let ends = |block: usize| meeting[block].is_none() && self.successors[block].is_empty();
            leaves = (0..blocks).map(ends).collect();
            if !leaves.contains(&true) {
                leaves[last] = true;
            }
        }
        meeting.into_iter().flatten().collect()
    }

    /// The immediate post-dominator of each block that has none yet and can reach one that `leaves`; the number of blocks
    /// stands for the end.
    ///
    /// The iterative algorithm of Cooper, Harvey and Kennedy on the reversed graph, with one virtual exit.
    fn post_dominators(&self, leaves: &[bool], known: &[Option<Pc>]) -> Vec<Option<usize>> {
        let blocks = self.successors.len();
        let exit = blocks;
        let mut predecessors = vec![Vec::new(); blocks + 1];
        for from in (0..blocks).filter(|&from| known[from].is_none()) {
            for &to in &self.successors[from] {
                predecessors[to as usize].push(from);
            }
            if leaves[from] {
                predecessors[exit].push(from);
            }
        }
        let order = post_order(exit, &predecessors);
        let mut rank = vec![usize::MAX; blocks + 1];
        for (at, &block) in order.iter().enumerate() {
            rank[block] = at;
        }
        let mut dominator = vec![usize::MAX; blocks + 1];
        dominator[exit] = exit;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev().filter(|&&b| b != exit) {
                let targets = &self.successors[block];
                let mut new = if leaves[block] { exit } else { usize::MAX };
                for &target in targets {
                    let target = target as usize;
                    if dominator[target] == usize::MAX {
                        continue;
                    }
                    new = if new == usize::MAX {
                        target
                    } else {
                        meet(&dominator, &rank, new, target)
                    };
                }
                if new != dominator[block] {
                    dominator[block] = new;
                    changed = true;
                }
            }
        }
        dominator.truncate(blocks);
        dominator.into_iter().map(|d| (d != usize::MAX).then_some(d)).collect()
    }
}

/// Basic blocks of `code`, and the block of each instruction.
pub(crate) fn flow_graph(code: &[Inst], pool: &[Option<Src>]) -> (Graph, Vec<u32>) {
    let targets = |inst: &Inst| -> Vec<Pc> {
        match &inst.op {
            Op::Branch { target, .. } => vec![*target],
            Op::BranchIndexed { targets, .. } => pool
                [targets.at as usize..(targets.at + targets.len) as usize]
                .iter()
                .filter_map(
                    |entry| if let Some(Src::Imm(pc)) = entry { Some(*pc as Pc) } else { None },
                )
                .collect(),
            _ => Vec::new(),
        }
    };
    let ends = |inst: &Inst| {
        matches!(
            inst.op,
            Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Ret | Op::Exit | Op::Trap
        )
    };
    let mut leader = vec![false; code.len() + 1];
    leader[0] = true;
    for (at, inst) in code.iter().enumerate() {
        if ends(inst) {
            leader[at + 1] = true;
        }
        for target in targets(inst) {
            leader[target as usize] = true;
        }
    }
    let mut block_of = vec![0u32; code.len()];
    let mut starts = Vec::new();
    for at in 0..code.len() {
        if leader[at] {
            starts.push(at as Pc);
        }
        block_of[at] = starts.len() as u32 - 1;
    }
    let mut successors = Vec::with_capacity(starts.len());
    let mut leaves = Vec::with_capacity(starts.len());
    for block in 0..starts.len() {
        let end = starts.get(block + 1).map_or(code.len(), |&s| s as usize);
        let last = &code[end - 1];
        let mut next: Vec<u32> =
            targets(last).iter().filter_map(|&pc| block_of.get(pc as usize).copied()).collect();
        let falls = last.guard.is_some() || !ends(last);
        if falls && end < code.len() {
            next.push(block as u32 + 1);
        }
        successors.push(next);
        leaves.push(matches!(last.op, Op::Ret | Op::Exit) || (falls && end == code.len()));
    }
    (Graph { starts, successors, leaves }, block_of)
}

fn meet(dominator: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] < rank[b] {
            a = dominator[a];
        }
        while rank[b] < rank[a] {
            b = dominator[b];
        }
    }
    a
}

fn post_order(root: usize, next: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; next.len()];
    let mut out = Vec::new();
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((block, at)) = stack.pop() {
        match next[block].get(at) {
            None => out.push(block),
            Some(&to) => {
                stack.push((block, at + 1));
                if !seen[to] {
                    seen[to] = true;
                    stack.push((to, 0));
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(successors: &[&[u32]]) -> Vec<Pc> {
        let starts = (0..successors.len() as u32).map(|b| b * 10).collect();
        let leaves = successors.iter().map(|s| s.is_empty()).collect();
        Graph { starts, successors: successors.iter().map(|s| s.to_vec()).collect(), leaves }
            .reconvergence()
    }

    #[test]
    fn diamond_meets_at_its_join() {
        assert_eq!(graph(&[&[1, 2], &[3], &[3], &[]]), [30, 30, 30, NO_PC]);
    }

    #[test]
    fn loop_meets_after_it() {
        assert_eq!(graph(&[&[1], &[1, 2], &[]]), [10, 20, NO_PC]);
    }

    #[test]
    fn early_exit_meets_nowhere() {
        assert_eq!(graph(&[&[1, 2], &[], &[3], &[]]), [NO_PC, NO_PC, 30, NO_PC]);
    }

    #[test]
    fn a_trap_does_not_keep_lanes_apart() {
        let successors = vec![vec![1, 3], vec![2, 3], vec![], vec![]];
        let graph =
            Graph { starts: vec![0, 1, 2, 3], successors, leaves: vec![false, false, false, true] };
        assert_eq!(graph.reconvergence(), [3, 3, NO_PC, NO_PC]);
    }

    #[test]
    fn lanes_meet_on_their_way_to_a_trap_or_round_a_loop() {
        let graph = |successors: Vec<Vec<u32>>, leaves| {
            Graph { starts: (0..4).collect(), successors, leaves }.reconvergence()
        };
        // A diamond whose join traps; a diamond whose join starts again.
        let trap = vec![vec![1, 2], vec![3], vec![3], vec![]];
        assert_eq!(graph(trap, vec![false; 4]), [3, 3, 3, NO_PC]);
        let round = vec![vec![1, 2], vec![3], vec![3], vec![0]];
        assert_eq!(graph(round, vec![false; 4]), [3, 3, 3, NO_PC]);
        // A trap beside the way out is still nobody's meeting point.
        let beside = vec![vec![1, 3], vec![2, 3], vec![], vec![]];
        assert_eq!(graph(beside, vec![false, false, false, true]), [3, 3, NO_PC, NO_PC]);
    }

    #[test]
    fn endless_loop_has_no_meeting_point() {
        assert_eq!(graph(&[&[1, 2], &[1], &[]]), [20, NO_PC, NO_PC]);
    }
}

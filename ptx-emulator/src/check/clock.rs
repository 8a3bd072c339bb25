//! Vector clocks over the warps of a cluster, and over the warps of other clusters as far as something was heard of
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What a warp (or a barrier, or a released location) knows: how far each warp had come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clock {
    own: Vec<u32>,
    /// Clocks of other clusters by the cluster's number.
    foreign: Option<Arc<BTreeMap<u32, Arc<Vec<u32>>>>>,
}

fn join_values(into: &mut Vec<u32>, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    for (mine, theirs) in into.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

impl Clock {
    /// How far `warp` of the own cluster is known to have come.
    #[inline]
    pub(crate) fn of(&self, warp: u32) -> u32 {
        self.own.get(warp as usize).copied().unwrap_or(0)
    }

    /// How far `warp` of another cluster is known to have come.
    pub(crate) fn of_foreign(&self, cluster: u32, warp: u32) -> u32 {
        let known = self.foreign.as_ref().and_then(|f| f.get(&cluster));
        known.and_then(|clock| clock.get(warp as usize)).copied().unwrap_or(0)
    }

    /// Sets the entry of a warp of the own cluster.
    pub(crate) fn set(&mut self, warp: u32, value: u32) {
        let at = warp as usize;
        if self.own.len() <= at {
            self.own.resize(at + 1, 0);
        }
        self.own[at] = value;
    }

    /// Learns all that `other`, a clock of the same cluster, knows.
    pub(crate) fn join(&mut self, other: &Clock) {
        join_values(&mut self.own, &other.own);
        if let Some(theirs) = &other.foreign {
            match &mut self.foreign {
                None => self.foreign = Some(theirs.clone()),
                Some(mine) if Arc::ptr_eq(mine, theirs) => {}
                Some(mine) => merge(Arc::make_mut(mine), theirs),
            }
        }
    }

    /// Learns all that `other`, a clock of cluster `from`, knows; `own` is the number of this clock's cluster.
    pub(crate) fn join_foreign(&mut self, own: u32, from: u32, other: &Clock) {
        if own == from {
            return self.join(other);
        }
        let mine = Arc::make_mut(self.foreign.get_or_insert_with(Default::default));
        join_values(Arc::make_mut(mine.entry(from).or_default()), &other.own);
        let Some(theirs) = &other.foreign else { return };
        let back = theirs.get(&own).cloned();
        merge(mine, theirs);
        mine.remove(&own);
        if let Some(back) = back {
            join_values(&mut self.own, &back);
        }
    }
}

fn merge(mine: &mut BTreeMap<u32, Arc<Vec<u32>>>, theirs: &BTreeMap<u32, Arc<Vec<u32>>>) {
    for (cluster, clock) in theirs {
        join_values(Arc::make_mut(mine.entry(*cluster).or_default()), clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_travels_through_a_third_cluster() {
        let (mut a, mut b, mut c) = (Clock::default(), Clock::default(), Clock::default());
        a.set(3, 7);
        b.join_foreign(1, 0, &a);
        c.join_foreign(2, 1, &b);
        assert_eq!(c.of_foreign(0, 3), 7);
        let mut back = Clock::default();
        back.join_foreign(0, 2, &c);
        assert_eq!(back.of(3), 7);
        assert_eq!(back.of_foreign(0, 3), 0);
    }
}

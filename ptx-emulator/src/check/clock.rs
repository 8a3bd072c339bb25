//! Vector clocks over the lanes of a cluster's warps and of the asynchronous agents beside them, and over those of other
//! clusters as far as something was heard of them.
//!
//! A clock holds one number a slot (a warp, or an agent of one) that is known of all its lanes, and numbers of single
//! lanes only where more is known of them. While the lanes of every warp go together there are none of the latter, and a
//! clock costs what one over warps would.

use std::collections::BTreeMap;
use std::sync::Arc;

const LANES: usize = 32;
/// Every lane of a slot.
pub(crate) const ALL: u32 = u32::MAX;

/// How far each lane of each slot is known to have come.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ticks {
    /// Of all lanes of a slot.
    floor: Vec<u32>,
    /// Of single lanes, where that is more, in order of slots.
    beyond: Vec<(u32, Box<[u32; LANES]>)>,
}

impl Ticks {
    #[inline]
    fn of(&self, slot: u32, lane: u8) -> u32 {
        let floor = self.floor.get(slot as usize).copied().unwrap_or(0);
        if self.beyond.is_empty() {
            return floor;
        }
        match self.beyond.binary_search_by_key(&slot, |(s, _)| *s) {
            Ok(at) => floor.max(self.beyond[at].1[usize::from(lane)]),
            Err(_) => floor,
        }
    }

    fn raise(&mut self, slot: u32, lanes: u32, tick: u32) {
        let index = slot as usize;
        if self.floor.len() <= index {
            self.floor.resize(index + 1, 0);
        }
        let floor = &mut self.floor[index];
        if *floor >= tick {
            return;
        }
        if lanes == ALL {
            *floor = tick;
            self.settle(slot);
            return;
        }
        let base = *floor;
        let known = self.single(slot, base);
        for (lane, known) in known.iter_mut().enumerate() {
            if lanes >> lane & 1 == 1 {
                *known = (*known).max(tick);
            }
        }
        self.settle(slot);
    }

    /// The numbers of single lanes of a slot.
    fn single(&mut self, slot: u32, base: u32) -> &mut [u32; LANES] {
        let at = match self.beyond.binary_search_by_key(&slot, |(s, _)| *s) {
            Ok(at) => at,
            Err(at) => {
                self.beyond.insert(at, (slot, Box::new([base; LANES])));
                at
            }
        };
        &mut self.beyond[at].1
    }

    /// What is known of all lanes of a slot need not be told of single ones.
    fn settle(&mut self, slot: u32) {
        let Ok(at) = self.beyond.binary_search_by_key(&slot, |(s, _)| *s) else { return };
        let floor = &mut self.floor[slot as usize];
        let (mut low, mut high) = (u32::MAX, 0);
        for &tick in self.beyond[at].1.iter() {
            (low, high) = (low.min(tick), high.max(tick));
        }
        *floor = (*floor).max(low);
        if high <= *floor {
            self.beyond.remove(at);
        }
    }

    fn join(&mut self, other: &Ticks) {
        if self.floor.len() < other.floor.len() {
            self.floor.resize(other.floor.len(), 0);
        }
        for (mine, theirs) in self.floor.iter_mut().zip(&other.floor) {
            *mine = (*mine).max(*theirs);
        }
        for (slot, theirs) in &other.beyond {
            let base = self.floor[*slot as usize];
            let mine = self.single(*slot, base);
            for (mine, theirs) in mine.iter_mut().zip(theirs.iter()) {
                *mine = (*mine).max(*theirs);
            }
        }
        if !self.beyond.is_empty() {
            let slots: Vec<u32> = self.beyond.iter().map(|(slot, _)| *slot).collect();
            slots.into_iter().for_each(|slot| self.settle(slot));
        }
    }
}

/// What a lane (or a barrier, or a released location) knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clock {
    own: Ticks,
    /// Other clusters by number.
    foreign: Option<Arc<BTreeMap<u32, Arc<Ticks>>>>,
    /// Of all that, what lies behind sequentially consistent fences that are known of.
    sealed: Option<Arc<Clock>>,
}

impl Clock {
    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.foreign.is_none() && self.own.beyond.is_empty() && self.own.floor.is_empty()
    }

    /// How far a lane of a slot of the own cluster is known to have come.
    #[inline]
    pub(crate) fn of(&self, slot: u32, lane: u8) -> u32 {
        self.own.of(slot, lane)
    }

    /// How far a lane of a slot of another cluster is known to have come.
    pub(crate) fn of_foreign(&self, cluster: u32, slot: u32, lane: u8) -> u32 {
        let known = self.foreign.as_ref().and_then(|f| f.get(&cluster));
        known.map_or(0, |ticks| ticks.of(slot, lane))
    }

    /// Learns that these lanes of a slot of the own cluster have come so far.
    #[inline]
    pub(crate) fn raise(&mut self, slot: u32, lanes: u32, tick: u32) {
        self.own.raise(slot, lanes, tick);
    }

    /// The same of a slot of cluster `from`, in a clock of cluster `own`.
    pub(crate) fn raise_foreign(
        &mut self,
        own: u32,
        from: u32,
        (slot, lanes, tick): (u32, u32, u32),
    ) {
        if own == from {
            return self.raise(slot, lanes, tick);
        }
        let foreign = Arc::make_mut(self.foreign.get_or_insert_with(Default::default));
        Arc::make_mut(foreign.entry(from).or_default()).raise(slot, lanes, tick);
    }

    /// What lies behind sequentially consistent fences that are known of.
    pub(crate) fn sealed(&self) -> Option<Arc<Clock>> {
        self.sealed.clone()
    }

    /// Learns of a sequentially consistent fence before which this was known.
    pub(crate) fn seal(&mut self, known: &Clock) {
        let known = Clock { sealed: None, ..known.clone() };
        Arc::make_mut(self.sealed.get_or_insert_with(Default::default)).join(&known);
    }

    /// Learns all that `other`, a clock of the same cluster, knows.
    pub(crate) fn join(&mut self, other: &Clock) {
        self.own.join(&other.own);
        if let Some(theirs) = &other.sealed {
            match &mut self.sealed {
                None => self.sealed = Some(theirs.clone()),
                Some(mine) if Arc::ptr_eq(mine, theirs) => {}
                Some(mine) => Arc::make_mut(mine).join(theirs),
            }
        }
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
        Arc::make_mut(mine.entry(from).or_default()).join(&other.own);
        let Some(theirs) = &other.foreign else { return };
        let back = theirs.get(&own).cloned();
        merge(mine, theirs);
        mine.remove(&own);
        if let Some(back) = back {
            self.own.join(&back);
        }
    }
}

fn merge(mine: &mut BTreeMap<u32, Arc<Ticks>>, theirs: &BTreeMap<u32, Arc<Ticks>>) {
    for (cluster, ticks) in theirs {
        Arc::make_mut(mine.entry(*cluster).or_default()).join(ticks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_travels_through_a_third_cluster() {
        let (mut a, mut b, mut c) = (Clock::default(), Clock::default(), Clock::default());
        a.raise(3, ALL, 7);
        b.join_foreign(1, 0, &a);
        c.join_foreign(2, 1, &b);
        assert_eq!(c.of_foreign(0, 3, 0), 7);
        let mut back = Clock::default();
        back.join_foreign(0, 2, &c);
        assert_eq!(back.of(3, 31), 7);
        assert_eq!(back.of_foreign(0, 3, 0), 0);
    }

    #[test]
    fn single_lanes_are_told_apart_until_all_have_come_as_far() {
        let mut clock = Clock::default();
        clock.raise(2, ALL, 4);
        clock.raise(2, 1 << 5, 9);
        assert_eq!([clock.of(2, 5), clock.of(2, 6), clock.of(1, 5)], [9, 4, 0]);
        clock.raise(2, !(1 << 5), 8);
        assert_eq!([clock.of(2, 5), clock.of(2, 6)], [9, 8]);
        let mut other = Clock::default();
        other.raise(2, 1, 20);
        other.join(&clock);
        assert_eq!([other.of(2, 0), other.of(2, 5), other.of(2, 6)], [20, 9, 8]);
        other.raise(2, ALL, 20);
        assert!(other.own.beyond.is_empty(), "nothing of single lanes is left to tell");
        other.raise_foreign(0, 1, (7, 2, 3));
        assert_eq!([other.of_foreign(1, 7, 1), other.of_foreign(1, 7, 0)], [3, 0]);
    }
}

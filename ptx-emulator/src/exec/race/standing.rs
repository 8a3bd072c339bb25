//! What the lanes of one warp know, and what each has made ready to be known.
//!
//! Lanes that know the same share one clock: one for the whole warp while it converges, and again after `bar.warp.sync`.
//! All lanes count with the warp's tick. What a lane did itself it always knows, so its own ticks are in no clock of its
//! own; they are added when it publishes.

use std::sync::Arc;

use crate::check::clock::{ALL, Clock};

use super::super::frame::{LANES, lanes};
use super::order::NOBODY;

/// Groups of lanes whose unacquired knowledge is told apart.
const MAX_HEARD: usize = 64;

/// What lanes knew at a fence, and the tick up to which each knew its own doings.
#[derive(Clone, Debug)]
pub(super) struct Fenced {
    lanes: u32,
    pub(super) clock: Arc<Clock>,
    pub(super) tick: u32,
}

/// A warp's standing.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// Lanes that know the same. Together all.
    groups: Vec<(u32, Clock)>,
    /// Stamp of what any lane does now, from 1. At the end of its range it stays, and races are missed.
    pub(super) tick: u32,
    /// Lanes that the warp does not have.
    absent: u32,
    /// What each lane's latest release fence made ready.
    fenced: Vec<Fenced>,
    /// What lanes have read of released locations and not yet acquired.
    heard: Vec<(u32, Clock)>,
    /// What each lane's latest proxy fence covers.
    proxied: Vec<Fenced>,
    /// How many groups of its own asynchronous copies each lane knows to be complete.
    pub(super) copied: Option<Box<[u32; LANES]>>,
}

/// By which slots a warp and its asynchronous copies go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    pub(super) warp: u32,
    pub(super) copies: u32,
}

impl Standing {
    /// Of a warp with these lanes.
    pub(super) fn new(present: u32) -> Self {
        Self {
            groups: vec![(ALL, Clock::default())],
            tick: 1,
            absent: !present,
            fenced: Vec::new(),
            heard: Vec::new(),
            proxied: Vec::new(),
            copied: None,
        }
    }

    /// Lanes with those that do not exist, so that a whole warp is every lane.
    #[inline]
    fn whole(&self, lanes: u32) -> u32 {
        if lanes | self.absent == ALL { ALL } else { lanes }
    }

    /// What a lane knows of others.
    #[inline]
    pub(super) fn clock(&self, lane: usize) -> &Clock {
        let own = |(lanes, _): &&(u32, Clock)| lanes >> lane & 1 == 1;
        let found = if self.groups.len() == 1 { None } else { self.groups.iter().find(own) };
        &found.unwrap_or(&self.groups[0]).1
    }

    /// How many groups of its own copies a lane knows to be complete.
    pub(super) fn copied(&self, lane: usize) -> u32 {
        self.copied.as_ref().map_or(0, |copied| copied[lane])
    }

    /// Adds to `into` all that these lanes know, themselves included. What they do from now on is later.
    pub(super) fn publish(&mut self, lanes: u32, slots: Slots, into: &mut Clock) {
        for (of, clock) in &self.groups {
            if of & lanes != 0 {
                into.join(clock);
            }
        }
        self.add_own(lanes, slots, into);
        self.tick = self.tick.saturating_add(1);
    }

    /// Adds what lanes know of themselves.
    fn add_own(&self, mask: u32, slots: Slots, into: &mut Clock) {
        into.raise(slots.warp, self.whole(mask), self.tick);
        self.add_copies(mask, slots, into);
    }

    /// Adds the copies of their own that lanes know to be complete.
    fn add_copies(&self, mask: u32, slots: Slots, into: &mut Clock) {
        if let Some(copied) = &self.copied {
            let first = copied[mask.trailing_zeros() as usize % LANES];
            if lanes(mask).all(|lane| copied[lane] == first) {
                into.raise(slots.copies, self.whole(mask), first);
            } else {
                lanes(mask).for_each(|lane| into.raise(slots.copies, 1 << lane, copied[lane]));
            }
        }
    }

    /// These lanes learn what `known` knows.
    pub(super) fn acquire(&mut self, mask: u32, known: &Clock) {
        self.learn(mask, |clock| clock.join(known));
    }

    /// Changes the clocks of these lanes, and of no others.
    pub(super) fn learn(&mut self, mask: u32, change: impl Fn(&mut Clock)) {
        let mask = self.whole(mask);
        for at in 0..self.groups.len() {
            let (lanes, clock) = &mut self.groups[at];
            let inside = *lanes & mask;
            if inside == 0 {
                continue;
            }
            if inside == *lanes {
                change(clock);
                continue;
            }
            *lanes &= !mask;
            let mut split = clock.clone();
            change(&mut split);
            self.groups.push((inside, split));
        }
    }

    /// `bar.warp.sync`: these lanes learn all that any of them knows.
    pub(super) fn sync(&mut self, mask: u32, slots: Slots) {
        let mask = self.whole(mask);
        let mut merged = match self.groups.iter_mut().find(|(lanes, _)| lanes & mask != 0) {
            Some((lanes, clock)) if lanes.count_ones() == (*lanes & mask).count_ones() => {
                std::mem::take(clock)
            }
            Some((_, clock)) => clock.clone(),
            None => return,
        };
        if self.groups.len() > 1 {
            for (lanes, clock) in &mut self.groups {
                if *lanes & mask != 0 {
                    merged.join(clock);
                    *lanes &= !mask;
                }
            }
            self.groups.retain(|(lanes, _)| *lanes != 0);
        } else {
            self.groups[0].0 &= !mask;
            if self.groups[0].0 == 0 {
                self.groups.clear();
            }
        }
        self.add_own(mask, slots, &mut merged);
        self.tick = self.tick.saturating_add(1);
        self.groups.push((mask, merged));
    }

    fn fence(&mut self, mask: u32, slots: Slots) -> Vec<Fenced> {
        let tick = self.tick;
        let mut fresh = Vec::new();
        for (lanes, clock) in self.groups.iter().filter(|(lanes, _)| lanes & mask != 0) {
            let lanes = lanes & mask;
            let mut clock = clock.clone();
            self.add_copies(lanes, slots, &mut clock);
            fresh.push(Fenced { lanes, clock: Arc::new(clock), tick });
        }
        self.tick = self.tick.saturating_add(1);
        fresh
    }

    /// A release fence of these lanes.
    pub(super) fn release(&mut self, mask: u32, slots: Slots) {
        let fresh = self.fence(mask, slots);
        replace(&mut self.fenced, mask, fresh);
    }

    /// A sequentially consistent fence of these lanes: what they know by now, whoever learns of the fence may publish.
    pub(super) fn seal(&mut self, mask: u32, slots: Slots) {
        for at in 0..self.groups.len() {
            let lanes = self.groups[at].0 & mask;
            if lanes != 0 {
                let mut known = self.groups[at].1.clone();
                self.add_own(lanes, slots, &mut known);
                self.learn(lanes, |clock| clock.seal(&known));
            }
        }
        self.tick = self.tick.saturating_add(1);
    }

    /// Gives `publish` all that strong writes of these lanes publish: what is known, and the lanes of this warp that have
    /// come to a tick.
    pub(super) fn offer(&self, mask: u32, mut publish: impl FnMut(&Clock, u32, u32)) {
        for fence in self.fenced.iter().filter(|f| f.lanes & mask != 0) {
            publish(&fence.clock, self.whole(fence.lanes & mask), fence.tick);
        }
        for (_, clock) in self.groups.iter().filter(|(lanes, _)| lanes & mask != 0) {
            if let Some(sealed) = clock.sealed() {
                publish(&sealed, 0, 0);
            }
        }
    }

    /// `fence.proxy.async` of these lanes.
    pub(super) fn proxy_fence(&mut self, mask: u32, slots: Slots) {
        let fresh = self.fence(mask, slots);
        replace(&mut self.proxied, mask, fresh);
    }

    /// The latest proxy fence of a lane.
    pub(super) fn proxied(&self, lane: usize) -> Option<&Fenced> {
        self.proxied.iter().find(|f| f.lanes >> lane & 1 == 1)
    }

    /// All latest proxy fences.
    pub(super) fn proxy_fences(&self) -> &[Fenced] {
        &self.proxied
    }

    /// Lanes read a released location. Its clock is nobody's own.
    pub(super) fn hear(&mut self, mask: u32, location: &Clock) {
        match self.heard.iter_mut().find(|(lanes, _)| *lanes == mask) {
            Some((_, clock)) => clock.join(location),
            None => self.heard.push((mask, location.clone())),
        }
        if self.heard.len() > MAX_HEARD {
            let mut all = Clock::default();
            let mut lanes = 0;
            for (mask, clock) in self.heard.drain(..) {
                lanes |= mask;
                all.join(&clock);
            }
            self.heard.push((lanes, all));
        }
    }

    /// An acquire fence of these lanes, of cluster `own`.
    pub(super) fn acquire_heard(&mut self, mask: u32, own: u32) {
        let mut heard = std::mem::take(&mut self.heard);
        for (lanes, clock) in &mut heard {
            if *lanes & mask != 0 {
                self.learn(*lanes & mask, |known| known.join_foreign(own, NOBODY, clock));
                *lanes &= !mask;
            }
        }
        heard.retain(|(lanes, _)| *lanes != 0);
        self.heard = heard;
    }
}

fn replace(fences: &mut Vec<Fenced>, mask: u32, fresh: Vec<Fenced>) {
    fences.iter_mut().for_each(|fence| fence.lanes &= !mask);
    fences.retain(|fence| fence.lanes != 0);
    fences.extend(fresh);
}

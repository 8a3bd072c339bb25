//! The ports of a group: where its lanes come from and go to, and which room of the frame holds what
//! only the group needs.

use super::allocate::ALIGN;
use super::group::{Dst, Operand, Pending};
use super::lower::Lower;
use super::*;
use cutile_ir::Value;

pub(super) struct GroupBuilder {
    /// All results are known to be valid equally far: members need no buffers of their own.
    together: bool,
    chunk: usize,
    ports: Vec<Port>,
    /// The port of each member.
    members: Vec<u16>,
    chunk_end: usize,
    /// Rooms of chunks that are free again: offset, bytes.
    free: Vec<(u32, usize)>,
}

impl GroupBuilder {
    pub(super) fn new(p: &Pending, rects: &[Rect]) -> GroupBuilder {
        GroupBuilder {
            together: rects.len() == 1,
            chunk: CHUNK.min(p.shape.iter().product()),
            ports: Vec::new(),
            members: vec![NO_PORT; p.ops.len()],
            chunk_end: 0,
            free: Vec::new(),
        }
    }

    pub(super) fn build(
        mut self,
        l: &mut Lower<'_>,
        p: &Pending,
        needed: &[bool],
        escapes: &[Option<Buffer>],
        rects: Vec<Rect>,
    ) -> Group {
        let start = l.buffers.advance();
        let mut last_use = vec![0; p.ops.len()];
        for (i, op) in p.ops.iter().enumerate().filter(|(i, _)| needed[*i]) {
            for s in &op.src {
                if let Operand::Member(j) = s {
                    last_use[*j] = i;
                }
            }
        }
        let mut ops = Vec::new();
        for (i, op) in p.ops.iter().enumerate().filter(|(i, _)| needed[*i]) {
            l.buffers.advance();
            let mut src = [NO_PORT; 3];
            for (s, port) in op.src.iter().zip(&mut src) {
                *port = self.source(l, s);
            }
            let dst = match &op.dst {
                Dst::Member(v) => self.inner(l, i, *v, escapes[i]),
                Dst::Target(b, bytes) => {
                    l.buffers.touch_at(*b, start);
                    l.buffers.touch(*b);
                    self.port(*bytes, PortKind::Target(*b))
                }
                Dst::Store { site, tensor, bytes } => {
                    self.port(*bytes, PortKind::Store { site: *site, tensor: *tensor })
                }
            };
            // Rooms are free only after the operation's result has its own.
            for s in &op.src {
                if let Operand::Member(j) = s
                    && last_use[*j] == i
                {
                    self.release(self.members[*j]);
                }
            }
            let (valid, check) = (op.valid.clone(), op.check.clone());
            ops.push(LaneOp { kernel: op.kernel, dst, src, valid, check });
        }
        l.buffers.advance();
        for port in &self.ports {
            match &port.kind {
                PortKind::Inner { chunk: None, buffer } | PortKind::Target(buffer) => {
                    l.buffers.touch_at(*buffer, start);
                    l.buffers.touch(*buffer);
                }
                PortKind::Source { root: Root::Buffer(b, _), .. } => {
                    l.buffers.touch_at(*b, start);
                    l.buffers.touch(*b);
                }
                _ => {}
            }
        }
        l.chunk_bytes = l.chunk_bytes.max(self.chunk_end);
        Group { shape: p.shape.clone(), ports: self.ports, ops, rects }
    }

    fn port(&mut self, bytes: usize, kind: PortKind) -> u16 {
        self.ports.push(Port { bytes, kind });
        self.ports.len() as u16 - 1
    }

    fn source(&mut self, l: &mut Lower<'_>, s: &Operand) -> u16 {
        match s {
            Operand::Member(i) => {
                let port = self.members[*i];
                if let PortKind::Inner { chunk: Some(_), buffer } = self.ports[port as usize].kind
                    && !self.together
                {
                    l.buffers.touch(buffer);
                }
                port
            }
            Operand::Uniform(slot, bytes) => {
                let same = |p: &Port| {
                    matches!(p.kind, PortKind::Uniform(s) if s == *slot) && p.bytes == *bytes
                };
                match self.ports.iter().position(same) {
                    Some(i) => i as u16,
                    None => self.port(*bytes, PortKind::Uniform(*slot)),
                }
            }
            Operand::Source(t, bytes) => {
                let same = |p: &Port| {
                    matches!(&p.kind, PortKind::Source { root, map, .. }
                        if *root == t.root && *map == t.map)
                };
                if let Some(i) = self.ports.iter().position(same) {
                    return i as u16;
                }
                // Consecutive elements are read where they are; others are collected first.
                let in_place = t.as_whole().is_some();
                let chunk = (!in_place).then(|| self.new_room(*bytes));
                let (root, map) = (t.root.clone(), t.map.clone());
                self.port(*bytes, PortKind::Source { root, map, chunk })
            }
        }
    }

    fn inner(&mut self, l: &mut Lower<'_>, i: usize, v: Value, escape: Option<Buffer>) -> u16 {
        let bytes = l.element(v).bytes();
        let kind = match escape {
            Some(buffer) => PortKind::Inner { chunk: None, buffer },
            None => {
                let chunk = Some(self.room(bytes));
                let buffer = if self.together { 0 } else { l.new_buffer(v) };
                if !self.together {
                    l.buffers.touch(buffer);
                }
                PortKind::Inner { chunk, buffer }
            }
        };
        self.members[i] = self.port(bytes, kind);
        self.members[i]
    }

    /// Room for a chunk; an offset into the chunks' part of the frame.
    fn room(&mut self, bytes: usize) -> u32 {
        let size = (self.chunk * bytes).next_multiple_of(ALIGN);
        if let Some(i) = self.free.iter().position(|(_, s)| *s == size) {
            return self.free.swap_remove(i).0;
        }
        self.new_room(bytes)
    }

    /// Room that no operation of the group writes: sources are collected before the first one.
    fn new_room(&mut self, bytes: usize) -> u32 {
        let at = self.chunk_end as u32;
        self.chunk_end += (self.chunk * bytes).next_multiple_of(ALIGN);
        at
    }

    fn release(&mut self, port: u16) {
        let Port { bytes, kind: PortKind::Inner { chunk: Some(at), .. } } =
            self.ports[port as usize]
        else {
            return;
        };
        let size = (self.chunk * bytes).next_multiple_of(ALIGN);
        if !self.free.contains(&(at, size)) {
            self.free.push((at, size));
        }
    }
}

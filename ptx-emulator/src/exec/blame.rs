//! From a fault to a report: which thread, which line of PTX, which line of the source.

use crate::report::{Fault, FaultKind, Report, Source};

use super::barrier;
use super::state::{Cluster, Grid};
use super::warp::{Path, State, Wait, Warp};

/// Waiting paths that a deadlock's report lists.
const SHOWN: usize = 12;

/// A fault of something that a warp began earlier, at that line.
#[derive(Debug)]
pub(super) struct Late {
    /// Number of the warp in its cluster.
    pub(super) warp: u32,
    pub(super) line: u32,
    pub(super) fault: Box<Fault>,
}

impl Grid<'_> {
    /// Where a line of PTX comes from.
    fn source(&self, line: u32) -> Option<Source> {
        self.code.functions.iter().find_map(|function| {
            let inst = function.code.iter().find(|inst| inst.line == line)?;
            self.code.source(function, inst.location)
        })
    }

    /// A line of PTX and where it comes from, in words.
    pub(super) fn place(&self, line: u32) -> String {
        match self.source(line) {
            Some(Source { file, line: source, column }) => {
                format!("at PTX line {line} ({file}:{source}:{column})")
            }
            None => format!("at PTX line {line}"),
        }
    }

    /// The line of the instruction at which a path stands, or for which it waits.
    fn line(&self, warp: &Warp, path: &Path) -> Option<u32> {
        let frame = warp.frames.get(path.frame as usize)?;
        let function = &self.code.functions[frame.function as usize];
        // Most waits let the path go on behind the instruction; these execute it again.
        let behind = match path.state {
            State::Waits(Wait::Mbarrier { .. }) => false,
            State::Waits(_) => path.resumed.is_none(),
            _ => false,
        };
        let pc = path.pc.checked_sub(u32::from(behind))?;
        function.code.get(pc as usize).map(|inst| inst.line)
    }

    /// The report of a fault at a line.
    pub(super) fn report(
        &self,
        text: &str,
        (cluster, warp): (u32, u32),
        line: Option<u32>,
        fault: Fault,
    ) -> Box<Report> {
        let instruction = line
            .and_then(|line| text.lines().nth((line as usize).saturating_sub(1)))
            .map(|line| line.trim().to_owned());
        Box::new(Report {
            kind: fault.kind,
            kernel: self.code.functions[self.entry as usize].name.clone(),
            thread: fault.lane.map(|lane| self.thread(cluster, warp, lane)),
            ptx_line: line,
            instruction,
            source: line.and_then(|line| self.source(line)),
        })
    }

    /// The report of a fault of the instruction at which a warp stands.
    pub(super) fn report_current(
        &self,
        text: &str,
        (cluster, number): (u32, u32),
        warp: &Warp,
        fault: Fault,
    ) -> Box<Report> {
        let path = warp.paths.get(warp.current as usize);
        let line = path.and_then(|path| self.line(warp, path));
        self.report(text, (cluster, number), line, fault)
    }

    /// Nobody can go on: who waits for what. The first to wait stands for all.
    pub(super) fn deadlock(
        &self,
        text: &str,
        number: u32,
        cluster: &Cluster<'_>,
        warps: &[Warp],
    ) -> Box<Report> {
        let mut waits = Vec::new();
        let mut first = None;
        for (at, warp) in (0..).zip(warps).filter(|(_, warp)| !warp.done()) {
            for path in &warp.paths {
                let State::Waits(wait) = path.state else { continue };
                let block = cluster.blocks[warp.block as usize].index;
                let what = barrier::describe(cluster, warp, wait);
                let line = self.line(warp, path);
                first = first.or(Some((at, path.mask.trailing_zeros() % 32, line)));
                waits.push(format!(
                    "warp {} of block {block:?}, lanes {:#010x}, {}: waits for {what}",
                    warp.index,
                    path.mask,
                    self.place(line.unwrap_or(0))
                ));
            }
        }
        if waits.len() > SHOWN {
            let more = waits.len() - SHOWN;
            waits.truncate(SHOWN);
            waits.push(format!("and {more} more"));
        }
        let (warp, lane, line) = first.unwrap_or((0, 0, None));
        let fault = Fault { kind: FaultKind::Deadlock(waits), lane: Some(lane) };
        self.report(text, (number, warp), line, fault)
    }
}

//! What a queued item belongs to: which buffers it touches, and where its failure goes.
//!
//! It holds no handle on the buffers: as on CUDA, their memory is freed in stream order while work
//! that uses it may still be queued before the free.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::backend::Work;
use crate::error::{DeviceError, Result};
use crate::memory::{AccessKind, Poison};
use crate::stream::FaultCell;

pub(super) struct HostWork {
    touched: SmallVec<[(Arc<Poison>, AccessKind); 8]>,
    fault: Option<Arc<FaultCell>>,
}

impl HostWork {
    pub(super) fn new(work: &mut Work) -> Self {
        let touched = work.accesses.iter().map(|access| (access.buffer.trace(), access.kind));
        HostWork { touched: touched.collect(), fault: work.fault.take() }
    }

    /// Work of nobody, on nothing that anybody can see.
    pub(super) fn none() -> Self {
        HostWork { touched: SmallVec::new(), fault: None }
    }

    /// Fails if a buffer has been left undefined since it was declared.
    pub(super) fn check(&self) -> Result<()> {
        self.touched.iter().try_for_each(|(poison, _)| poison.check())
    }

    /// The operation fails, and what it may have written is undefined.
    pub(super) fn fail(&self, error: &DeviceError) {
        for (poison, kind) in &self.touched {
            if *kind == AccessKind::Write {
                poison.set(error);
            }
        }
        if let Some(fault) = &self.fault {
            fault.set(error);
        }
    }
}

//! Which devices this process has, found once.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::backend::Backend;
use crate::config::{Choice, config};
use crate::cuda::{self, Presence};
use crate::device::{Device, DeviceId, DeviceKind};
use crate::error::{DeviceError, ErrorKind, Result};
use crate::host::{HostBackend, HostOptions};

/// The kind of the default devices, decided once.
fn kind() -> DeviceKind {
    static KIND: OnceLock<DeviceKind> = OnceLock::new();
    *KIND.get_or_init(|| match config().map(|config| config.choice) {
        Ok(Choice::Cuda) => DeviceKind::Cuda,
        Ok(Choice::Emulator) => DeviceKind::Emulator,
        Ok(Choice::Host) | Err(_) => DeviceKind::Host,
        Ok(Choice::Automatic) => match cuda::presence() {
            Presence::Absent { .. } | Presence::Devices(0) => DeviceKind::Host,
            // A driver that fails is reported by the first operation, not hidden.
            Presence::Devices(_) | Presence::Broken(_) => DeviceKind::Cuda,
        },
    })
}

/// Device `index` of the default kind. Number 0 is what nearly every operation asks for.
pub(super) fn chosen(index: usize) -> Device {
    static FIRST: OnceLock<Device> = OnceLock::new();
    if index == 0 {
        return *FIRST.get_or_init(|| named(DeviceId::new(kind(), 0)));
    }
    named(DeviceId::new(kind(), index))
}

/// How many devices of the default kind there are.
pub(super) fn count() -> usize {
    count_of(kind()).unwrap_or(0)
}

fn count_of(kind: DeviceKind) -> Result<usize> {
    match kind {
        DeviceKind::Host | DeviceKind::Emulator => Ok(config()?.host_devices),
        DeviceKind::Cuda => match cuda::presence() {
            Presence::Devices(count) => Ok(*count),
            Presence::Broken(error) => Err(error.clone()),
            Presence::Absent { reason } => Err(ErrorKind::CudaUnavailable {
                reason: reason.clone(),
                advice: "install the NVIDIA driver, or set CUTILE_DEVICE=host to run on the CPU",
            }
            .into()),
        },
    }
}

/// The device of that name, made on first use; one that can't be had carries the reason.
pub(super) fn named(id: DeviceId) -> Device {
    static DEVICES: OnceLock<Mutex<HashMap<DeviceId, Device>>> = OnceLock::new();
    let devices = DEVICES.get_or_init(Mutex::default);
    let mut devices = devices.lock().unwrap_or_else(PoisonError::into_inner);
    *devices.entry(id).or_insert_with(|| Device::with_backend(id, open(id)))
}

fn open(id: DeviceId) -> Result<Box<dyn Backend>> {
    let count = count_of(id.kind())?;
    if id.index() >= count {
        return Err(DeviceError::from(ErrorKind::NoSuchDevice { device: id, count }));
    }
    match id.kind() {
        DeviceKind::Cuda => cuda::open(id),
        DeviceKind::Host | DeviceKind::Emulator => {
            let memory = config()?.host_memory;
            let options = HostOptions { memory, kind: id.kind(), ..HostOptions::default() };
            Ok(Box::new(HostBackend::new(id, options)))
        }
    }
}

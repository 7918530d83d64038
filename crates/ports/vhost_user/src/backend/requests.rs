//! What the driver's process asks for, message by message.
//!
//! Whatever is not offered (logging of written pages, in-flight records, device state, memory
//! slots, configuration) is refused; the peer's library does not ask for what was not offered.

use std::fs::File;

use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserShMemConfig, VhostUserSharedMsg,
    VhostUserSingleMemoryRegion, VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{
    Error, GpuBackend, Result, VhostUserBackendReqHandlerMut, VhostUserProtocolFeatures,
};

use super::state::Device;
use super::vring::Vring;
use crate::features::{PROTOCOL, protocol};
use crate::layout::Addresses;
use crate::memory::{Memory, Region};

impl Device {
    fn vring(&mut self, index: usize) -> Result<&mut Vring> {
        self.vrings.get_mut(index).ok_or(Error::InvalidParam)
    }
}

impl VhostUserBackendReqHandlerMut for Device {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.forget();
        Ok(())
    }

    fn reset_device(&mut self) -> Result<()> {
        self.forget();
        Ok(())
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(self.offered())
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.offered() != 0 {
            return Err(Error::FeatureMismatch);
        }
        if features == self.features {
            return Ok(());
        }
        self.recall_all();
        self.features = features;
        if features & PROTOCOL == 0 {
            // Without the message that enables a ring, all are.
            self.vrings.iter_mut().for_each(|vring| vring.enable(true));
        }
        self.set_features_known();
        self.update_all();
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _: Option<bool>,
    ) -> Result<Option<Vec<u64>>> {
        self.recall_all();
        // What was mapped goes before what is new comes.
        self.memory = None;
        let mapped = regions.iter().zip(files).map(|(region, file)| {
            let VhostUserMemoryRegion {
                guest_phys_addr, memory_size, user_addr, mmap_offset, ..
            } = *region;
            Region::map(file, mmap_offset, memory_size, guest_phys_addr, user_addr)
        });
        let memory = mapped.collect::<std::result::Result<_, _>>().and_then(Memory::new);
        match memory {
            Ok(memory) => {
                self.status.set_fact("guest-memory-bytes", memory.len_bytes().to_string());
                self.memory = Some(memory);
                self.update_all();
                Ok(None)
            }
            Err(error) => {
                self.status.set_fact("last-refused-memory", error.to_string());
                Err(Error::InvalidParam)
            }
        }
    }

    fn set_vring_num(&mut self, index: u32, size: u32) -> Result<()> {
        self.vring(index as usize)?.set_size(size);
        self.update(index as usize)
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        flags: VhostUserVringAddrFlags,
        descriptors: u64,
        used: u64,
        available: u64,
        _: u64,
    ) -> Result<()> {
        if flags.contains(VhostUserVringAddrFlags::VHOST_VRING_F_LOG) {
            return Err(Error::InvalidOperation("logging of dirty pages is not supported"));
        }
        let at = Addresses { descriptors, available, used };
        self.vring(index as usize)?.set_addresses(at);
        self.update(index as usize)
    }

    fn set_vring_base(&mut self, index: u32, base: u32) -> Result<()> {
        self.vring(index as usize)?.set_base(base as u16);
        self.update(index as usize)
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        let base = self.vring(index as usize)?.stop();
        self.tell();
        Ok(VhostUserVringState::new(index, base.into()))
    }

    fn set_vring_kick(&mut self, index: u8, _: Option<File>) -> Result<()> {
        // The worker polls: what would wake it is closed.
        self.vring(index.into())?.start();
        self.update(index.into())
    }

    fn set_vring_call(&mut self, index: u8, file: Option<File>) -> Result<()> {
        if !self.vring(index.into())?.set_call(file) {
            return Err(Error::InvalidParam);
        }
        self.update(index.into())
    }

    fn set_vring_err(&mut self, index: u8, file: Option<File>) -> Result<()> {
        if !self.vring(index.into())?.set_error(file) {
            return Err(Error::InvalidParam);
        }
        self.update(index.into())
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(protocol())
    }

    fn set_protocol_features(&mut self, features: u64) -> Result<()> {
        if features & !protocol().bits() != 0 {
            return Err(Error::FeatureMismatch);
        }
        self.acknowledges = features & VhostUserProtocolFeatures::REPLY_ACK.bits() != 0;
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        // Of pairs, as QEMU and DPDK understand it for network devices.
        Ok(self.pairs() as u64)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        self.vring(index as usize)?.enable(enable);
        self.update(index as usize)
    }

    fn get_config(&mut self, _: u32, _: u32, _: VhostUserConfigFlags) -> Result<Vec<u8>> {
        Err(NOT_OFFERED)
    }

    fn set_config(&mut self, _: u32, _: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn set_gpu_socket(&mut self, _: GpuBackend) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_shared_object(&mut self, _: VhostUserSharedMsg) -> Result<File> {
        Err(NOT_OFFERED)
    }

    fn get_inflight_fd(&mut self, _: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        Err(NOT_OFFERED)
    }

    fn set_inflight_fd(&mut self, _: &VhostUserInflight, _: File) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Err(NOT_OFFERED)
    }

    fn add_mem_region(
        &mut self,
        _: &VhostUserSingleMemoryRegion,
        _: File,
        _: Option<bool>,
    ) -> Result<Option<u64>> {
        Err(NOT_OFFERED)
    }

    fn remove_mem_region(&mut self, _: &VhostUserSingleMemoryRegion) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn set_device_state_fd(
        &mut self,
        _: VhostTransferStateDirection,
        _: VhostTransferStatePhase,
        _: File,
    ) -> Result<Option<File>> {
        Err(NOT_OFFERED)
    }

    fn check_device_state(&mut self) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        Err(NOT_OFFERED)
    }

    fn set_log_base(&mut self, _: &VhostUserLog, _: File) -> Result<()> {
        Err(NOT_OFFERED)
    }
}

const NOT_OFFERED: Error = Error::InvalidOperation("not offered by this device");

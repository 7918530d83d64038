//! A driver that sets its rings up as it should, or nearly, and then writes garbage into them, or
//! sends garbage instead of messages.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserVirtioFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// A hostile driver on a separate thread, because it may wait for an answer while the test polls.
pub struct Hostile {
    work: SyncSender<Vec<u8>>,
    /// Whether its driver connects no more.
    is_over: Arc<Mutex<bool>>,
}

impl Hostile {
    pub fn new(path: PathBuf) -> Hostile {
        let (work, inbox) = sync_channel::<Vec<u8>>(1);
        let is_over = Arc::new(Mutex::new(false));
        let mut driver = Driver::new(path, Arc::clone(&is_over));
        thread::spawn(move || inbox.into_iter().for_each(|bytes| driver.misbehave(&bytes)));
        Hostile { work, is_over }
    }

    /// Makes the driver misbehave, unless it is still busy.
    pub fn misbehave(&mut self, bytes: &[u8]) {
        let _ = self.work.try_send(bytes.to_vec());
    }
}

/// Its driver may still be busy, and have more to do: it would come to who opens the socket next,
/// before the peer that belongs there.
impl Drop for Hostile {
    fn drop(&mut self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// A driver that continues after any answer.
struct Driver {
    path: PathBuf,
    is_over: Arc<Mutex<bool>>,
    memory: File,
    /// Connection with configured rings; `None` after it was closed.
    frontend: Option<Frontend>,
    turn: usize,
}

impl Driver {
    fn new(path: PathBuf, is_over: Arc<Mutex<bool>>) -> Driver {
        let memory = tempfile::tempfile().expect("a file");
        memory.set_len(MEMORY_BYTES).expect("room");
        Driver { path, is_over, memory, frontend: None, turn: 0 }
    }

    /// Connects, if it is not over.
    fn connect(&self) -> Option<UnixStream> {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_over { None } else { UnixStream::connect(&self.path).ok() }
    }

    /// Writes random data: usually into the rings, sometimes to the socket.
    fn misbehave(&mut self, bytes: &[u8]) {
        self.turn += 1;
        if self.turn.is_multiple_of(3) {
            self.frontend = None;
            if let Some(mut stream) = self.connect() {
                // A header that is nearly right, and then anything.
                let mut message = vec![bytes[0] % 45, 0, 0, 0, 1 + (bytes[0] & 8), 0, 0, 0];
                message.extend_from_slice(&[bytes.len() as u8, 0, 0, 0]);
                message.extend_from_slice(bytes);
                let _ = stream.write_all(&message);
            }
            return;
        }
        let wrong = bytes.iter().fold(0u64, |sum, byte| sum << 3 ^ u64::from(*byte));
        if self.frontend.is_none() || bytes[0] < 64 {
            let shift = if bytes[0] & 3 == 0 { wrong } else { 0 };
            // One at a time is served.
            self.frontend = None;
            self.frontend = self.set_up(shift);
        }
        for (at, part) in bytes.chunks(8).enumerate() {
            let place = (wrong >> (at % 48)) % (2 * RING_BYTES);
            let _ = self.memory.write_all_at(part, place);
        }
        // And indices that run on by a little, so that there is something to follow.
        for ring in 0..2 {
            let index = u16::from(bytes[0]).wrapping_mul(self.turn as u16);
            let at = ring * RING_BYTES + AVAILABLE + 2;
            let _ = self.memory.write_all_at(&index.to_le_bytes(), at);
        }
    }

    /// Configures the rings with addresses that are wrong by `shift`; `None` if that is refused.
    fn set_up(&self, shift: u64) -> Option<Frontend> {
        let stream = self.connect()?;
        let mut frontend = Frontend::from_stream(stream, 2);
        let features = frontend.get_features().ok()?;
        frontend.set_owner().ok()?;
        frontend.set_features(features).ok()?;
        if features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() != 0 {
            let protocol = frontend.get_protocol_features().ok()?;
            frontend.set_protocol_features(protocol).ok()?;
        }
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: shift % 3 * 4096,
            memory_size: MEMORY_BYTES,
            userspace_addr: START,
            mmap_offset: 0,
            mmap_handle: self.memory.as_raw_fd(),
        };
        frontend.set_mem_table(&[region]).ok()?;
        for ring in 0..2 {
            let at = START + ring as u64 * RING_BYTES + shift % 5 * 16;
            let call = EventFd::new(EFD_NONBLOCK).ok()?;
            frontend.set_vring_num(ring, if shift == 0 { SIZE } else { shift as u16 }).ok()?;
            frontend.set_vring_base(ring, shift as u16).ok()?;
            let places = VringConfigData {
                queue_max_size: SIZE,
                queue_size: SIZE,
                flags: 0,
                desc_table_addr: at,
                used_ring_addr: at + USED + shift % 7,
                avail_ring_addr: at + AVAILABLE,
                log_addr: None,
            };
            frontend.set_vring_addr(ring, &places).ok()?;
            frontend.set_vring_call(ring, &call).ok()?;
            frontend.set_vring_kick(ring, &call).ok()?;
            frontend.set_vring_enable(ring, true).ok()?;
        }
        Some(frontend)
    }
}

const SIZE: u16 = 64;
const START: u64 = 0x7000_0000;
const AVAILABLE: u64 = 0x400;
const USED: u64 = 0x800;
const RING_BYTES: u64 = 0x1000;
const MEMORY_BYTES: u64 = 0x10000;

//! The driver: connects, negotiates, shares memory, and lends its rings to the workers.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use engine::{LONG_FRAME_BYTES_MAX, Link};
use vhost::vhost_user::message::VhostUserHeaderFlag;
use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserProtocolFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

use crate::control::{NO_PEER, Status, Stop};
use crate::driver::{Arena, GUEST_START, Plan, Receiving, Terms, Transmitting, USER_START};
use crate::drops::Broken;
use crate::exchange::Lender;
use crate::features::{self, EVENT_IDX, MQ, Offloads, PROTOCOL};
use crate::header::{HEADER_BYTES_MAX, Header};
use crate::queue::Stops;
use crate::socket::{Meeting, pause, wait_for};
use crate::walk::PIECES_MAX;

/// State of a driver that connects to one device after the other.
pub struct Driver {
    /// Lender of the receive ring of each pair.
    pub receiving: Vec<Lender<Receiving>>,
    /// Lender of the transmit ring of each pair.
    pub transmitting: Vec<Lender<Transmitting>>,
    /// Number of workers; pair `n` belongs to worker `n` modulo this number.
    pub workers: usize,
    /// Number of descriptors of each ring.
    pub ring_size: u16,
    /// Size of a receive buffer in bytes; by default sufficient for the longest frame.
    pub buffer_bytes: Option<u32>,
    /// True if either side may leave checksums and cutting to the other.
    pub offloads: bool,
    /// Longest frame in bytes.
    pub frame_bytes_max: usize,
    /// Published status.
    pub status: Arc<Status>,
}

/// Failure of a device's set-up.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Protocol(#[from] vhost::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Memory(#[from] crate::memory::MemoryError),
    #[error("{0}")]
    Layout(#[from] crate::layout::LayoutError),
    #[error("a worker does not poll")]
    Worker,
}

impl Driver {
    /// Connects to one device after the other until the port is closed.
    pub fn serve(mut self, meeting: &Meeting, stop: &Stop) {
        while let Some(stream) = meeting.next(stop) {
            match stream {
                Ok(stream) => {
                    self.status.set_peer(&stream);
                    let why = match self.converse(stream, stop) {
                        Ok(()) => "the peer disconnected".to_owned(),
                        Err(failure) => failure.to_string(),
                    };
                    self.recall_all();
                    self.status.set_fact("last-disconnect", why);
                    self.status.set_alone(NO_PEER);
                }
                Err(why) => self.status.set_alone(&why),
            }
            if !pause(RETRY, stop) {
                break;
            }
        }
        self.recall_all();
    }

    /// Sets a device up and waits until it disconnects.
    fn converse(&mut self, stream: UnixStream, stop: &Stop) -> Result<(), Failure> {
        stop.watch(Some(stream.try_clone()?));
        self.status.set_alone("the device is being set up");
        let set_up = self.set_up(&stream);
        let ended = set_up.map(|_frontend| {
            // Nothing is asked any more: what can be read is the end.
            wait_for(stream.as_fd(), stop);
        });
        stop.watch(None);
        ended
    }

    fn set_up(&mut self, stream: &UnixStream) -> Result<Frontend, Failure> {
        let size = self.ring_size;
        let whole = HEADER_BYTES_MAX + self.frame_bytes_max;
        let wished = self.buffer_bytes.map_or(whole, |bytes| bytes as usize);
        let holds_long = [wished, whole].map(|bytes| holds_long(bytes, size));
        let accept = |offered| features::accepted(offered, self.offloads, holds_long);
        let Asked { mut frontend, features, pairs } =
            Asked::of(stream, self.receiving.len(), accept)?;
        let header = Header::new(features);
        let receive_bytes = if header.is_mergeable() { wished } else { whole };
        let arena = Arena::new(Plan { pairs, size, receive_bytes, transmit_bytes: whole })?;
        frontend.set_mem_table(&[VhostUserMemoryRegionInfo {
            guest_phys_addr: GUEST_START,
            memory_size: arena.bytes(),
            userspace_addr: USER_START,
            mmap_offset: 0,
            mmap_handle: arena.file.as_raw_fd(),
        }])?;
        for pair in 0..pairs {
            let terms = |kick| Terms {
                header,
                receives: Offloads::to_driver(features),
                sends: Offloads::to_device(features),
                event_index: features & EVENT_IDX != 0,
                kick,
                frame_bytes_max: self.frame_bytes_max,
            };
            let kicks = [EventFd::new(EFD_NONBLOCK)?, EventFd::new(EFD_NONBLOCK)?];
            let [receive, transmit] = [&kicks[0], &kicks[1]].map(EventFd::try_clone);
            let receiving = arena.receiving(pair, terms(receive?))?;
            let transmitting = arena.transmitting(pair, terms(transmit?))?;
            for (ring, kick) in (2 * pair..).zip(&kicks) {
                tell(&mut frontend, &arena, ring, size, kick)?;
            }
            self.receiving[pair].lend(Box::new(receiving)).map_err(|_| Failure::Worker)?;
            self.transmitting[pair].lend(Box::new(transmitting)).map_err(|_| Failure::Worker)?;
        }
        if features & PROTOCOL != 0 {
            for ring in 0..2 * pairs {
                frontend.set_vring_enable(ring, true)?;
            }
        }
        self.status.set_fact("features", features::names(features));
        self.status.set_fact("queues-receiving", pairs.to_string());
        self.status.set_fact("queues-transmitting", pairs.to_string());
        self.status.set_fact("shared-memory-bytes", arena.bytes().to_string());
        self.status.set_link(if pairs < self.workers {
            let workers = self.workers;
            Link::Down(format!(
                "the device has queues for {pairs} of {workers} workers: configure more queues \
                 there"
            ))
        } else {
            Link::Up
        });
        Ok(frontend)
    }

    fn recall_all(&mut self) {
        let receiving = self
            .receiving
            .iter_mut()
            .map(|lender| lender.recall(PATIENCE).and_then(|ring| ring.broken()));
        let transmitting = self
            .transmitting
            .iter_mut()
            .map(|lender| lender.recall(PATIENCE).and_then(|ring| ring.broken()));
        let broken: Vec<Broken> = receiving.chain(transmitting).flatten().collect();
        if let Some(why) = broken.first() {
            self.status.set_fact("last-broken-ring", why.to_string());
        }
    }
}

/// Parameters negotiated with a device.
struct Asked {
    frontend: Frontend,
    features: u64,
    pairs: usize,
}

impl Asked {
    fn of(
        stream: &UnixStream,
        wished: usize,
        accept: impl Fn(u64) -> u64,
    ) -> Result<Asked, Failure> {
        // One to learn how many queues there are: a `Frontend` takes the number for one of rings,
        // while network devices tell pairs.
        let mut scout = Frontend::from_stream(stream.try_clone()?, 2 * wished as u64);
        let features = accept(scout.get_features()?);
        let mut protocol = VhostUserProtocolFeatures::empty();
        let mut pairs = 1;
        if features & PROTOCOL != 0 {
            protocol = scout.get_protocol_features()? & features::protocol();
            scout.set_protocol_features(protocol)?;
            if protocol.contains(VhostUserProtocolFeatures::MQ) && features & MQ != 0 {
                pairs = wished.min(scout.get_queue_num()?.max(1) as usize);
            }
        }
        let features = if pairs > 1 { features } else { features & !MQ };
        let mut frontend = Frontend::from_stream(stream.try_clone()?, 2 * pairs as u64);
        frontend.get_features()?;
        frontend.set_owner()?;
        frontend.set_features(features)?;
        if features & PROTOCOL != 0 {
            frontend.get_protocol_features()?;
            frontend.set_protocol_features(protocol)?;
            if protocol.contains(VhostUserProtocolFeatures::REPLY_ACK) {
                frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
            }
        }
        Ok(Asked { frontend, features, pairs })
    }
}

/// Returns true if a ring with buffers of this size holds two long segments, and one of these is in
/// no more buffers than either side follows.
fn holds_long(buffer_bytes: usize, ring_size: u16) -> bool {
    let buffers = (HEADER_BYTES_MAX + LONG_FRAME_BYTES_MAX).div_ceil(buffer_bytes.max(1));
    buffers <= PIECES_MAX && 2 * buffers <= usize::from(ring_size)
}

/// Describes a ring to the device.
fn tell(
    frontend: &mut Frontend,
    arena: &Arena,
    ring: usize,
    size: u16,
    kick: &EventFd,
) -> Result<(), Failure> {
    let at = arena.addresses(ring);
    frontend.set_vring_num(ring, size)?;
    frontend.set_vring_base(ring, 0)?;
    frontend.set_vring_addr(
        ring,
        &VringConfigData {
            queue_max_size: size,
            queue_size: size,
            flags: 0,
            desc_table_addr: at.descriptors,
            used_ring_addr: at.used,
            avail_ring_addr: at.available,
            log_addr: None,
        },
    )?;
    // Nobody waits for it, but some devices wait for it before they begin.
    frontend.set_vring_call(ring, &EventFd::new(EFD_NONBLOCK)?)?;
    frontend.set_vring_kick(ring, kick)?;
    Ok(())
}

/// Time limit for a worker to return a ring; a polling worker needs the time of a burst.
const PATIENCE: Duration = Duration::from_secs(1);

/// Interval between two attempts to reach a device.
const RETRY: Duration = Duration::from_millis(100);

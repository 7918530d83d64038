//! An AF_XDP socket on one queue: its memory, its four rings, and its place at the interface.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};

use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpDesc, XdpOptionsFlags,
    XdpRingOffset, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with, sockopt,
};

use crate::config::ZeroCopy;
use crate::explain::{Refused, Step};
use crate::memory::{Mapping, Umem};
use crate::ring::{Consumer, Places, Producer};
use crate::transmitter::Transmitter;

/// Parameters of a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Number of the interface.
    pub index: u32,
    /// Queue of the interface.
    pub queue: u32,
    /// Number of entries of each ring.
    pub ring_frames: u32,
    /// Size of a chunk in bytes.
    pub chunk_bytes: u32,
    /// Whether the driver uses the memory directly (zero copy).
    pub zero_copy: ZeroCopy,
    /// Whether frames may come whose checksum is only begun.
    pub has_begun: bool,
}

/// A bound AF_XDP socket.
pub(crate) struct Socket {
    /// Transmit side.
    pub transmitter: Transmitter,
    received: Consumer<XdpDesc>,
    fill: Producer<u64>,
    /// Memory of the chunks; the first half is for reception, the second for transmission.
    pub umem: Umem,
    fd: Arc<OwnedFd>,
    zero_copy: bool,
    /// Whether frames may come whose checksum is only begun.
    pub has_begun: bool,
    /// Memory of the rings; after the ends in the order of fields, so that it is unmapped after
    /// them.
    _mappings: [Mapping; 4],
}

impl Socket {
    /// Opens a socket and binds it. All chunks for reception are passed to the kernel.
    ///
    /// # Errors
    /// The step that the kernel refused.
    pub fn open(wanted: Wanted) -> Result<Socket, Refused> {
        let fd = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None);
        let fd = fd.map_err(|error| Step::Socket.refused(error))?;
        let frames = wanted.ring_frames;
        let umem = Umem::new(2 * frames as usize, wanted.chunk_bytes as usize);
        let umem = umem.map_err(|error| Step::Memory.refused(error))?;
        register(&fd, &umem).map_err(|error| Step::Memory.refused(error))?;
        let rings = Rings::make(&fd, frames).map_err(|error| Step::Rings.refused(error))?;
        bind_to(&fd, wanted)?;
        let options = sockopt::xdp_options(&fd).map_err(|error| Step::Rings.refused(error))?;
        let fd = Arc::new(fd);
        let Rings { mut fill, completed, received, send, mappings } = rings;
        let chunk = |index: u32| u64::from(index) * u64::from(wanted.chunk_bytes);
        (0..frames).for_each(|index| {
            fill.push(chunk(index));
        });
        fill.publish();
        let zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        let free = (frames..2 * frames).rev().map(chunk).collect();
        let transmitter = Transmitter::new(fd.clone(), send, completed, free, zero_copy);
        let has_begun = wanted.has_begun;
        Ok(Socket {
            transmitter,
            received,
            fill,
            umem,
            fd,
            zero_copy,
            has_begun,
            _mappings: mappings,
        })
    }

    /// Returns true if the driver uses this memory without copying.
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Returns a weak handle to the socket, to read its statistics while it exists.
    pub fn handle(&self) -> Weak<OwnedFd> {
        Arc::downgrade(&self.fd)
    }

    /// Returns the descriptor of the socket.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Reads up to `limit` waiting frames: `take` gets the bytes of each frame, or `None` for a
    /// descriptor outside of the memory, and returns whether the frame counts.
    #[inline]
    pub fn receive(&mut self, limit: usize, mut take: impl FnMut(Option<&[u8]>) -> bool) {
        let (mut counted, mut taken) = (0, false);
        while counted < limit {
            let Some(descriptor) = self.received.next() else { break };
            taken = true;
            counted += usize::from(take(self.umem.frame(descriptor.addr, descriptor.len)));
            // There is a place: the ring is as long as there are chunks on the way in.
            self.fill.push(self.umem.chunk_of(descriptor.addr));
        }
        if taken {
            self.received.release();
            self.fill.publish();
        }
        if self.zero_copy && self.fill.needs_wakeup() {
            // The driver ran out of chunks and waits to be told of new ones.
            let _ = recv(&self.fd, &mut [0u8; 0][..], RecvFlags::DONTWAIT);
        }
    }
}

/// The rings of a socket.
struct Rings {
    fill: Producer<u64>,
    completed: Consumer<u64>,
    received: Consumer<XdpDesc>,
    send: Producer<XdpDesc>,
    mappings: [Mapping; 4],
}

impl Rings {
    fn make(fd: &OwnedFd, frames: u32) -> std::io::Result<Rings> {
        sockopt::set_xdp_umem_fill_ring_size(fd, frames)?;
        sockopt::set_xdp_umem_completion_ring_size(fd, frames)?;
        sockopt::set_xdp_rx_ring_size(fd, frames)?;
        sockopt::set_xdp_tx_ring_size(fd, frames)?;
        let offsets = sockopt::xdp_mmap_offsets(fd)?;
        let (fill_map, fill) = ring::<u64>(fd, XDP_UMEM_PGOFF_FILL_RING, &offsets.fr, frames)?;
        let (done_map, done) =
            ring::<u64>(fd, XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, frames)?;
        let (in_map, incoming) = ring::<XdpDesc>(fd, XDP_PGOFF_RX_RING, &offsets.rx, frames)?;
        let (out_map, outgoing) = ring::<XdpDesc>(fd, XDP_PGOFF_TX_RING, &offsets.tx, frames)?;
        // SAFETY: the places lie in the four mappings, which go last; the size is a power of two (a
        // key is checked for it); each ring gets one end here, and the kernel is the other.
        let (fill, completed, received, send) = unsafe {
            (
                Producer::new(fill),
                Consumer::new(done),
                Consumer::new(incoming),
                Producer::new(outgoing),
            )
        };
        let mappings = [fill_map, done_map, in_map, out_map];
        Ok(Rings { fill, completed, received, send, mappings })
    }
}

/// Maps a ring and returns pointers to its parts.
fn ring<T>(
    fd: &OwnedFd,
    page_offset: u64,
    offsets: &XdpRingOffset,
    size: u32,
) -> std::io::Result<(Mapping, Places<T>)> {
    let entries_bytes = u64::from(size) * size_of::<T>() as u64;
    let len = offsets.desc.checked_add(entries_bytes).and_then(|len| usize::try_from(len).ok());
    let len = len.ok_or(std::io::ErrorKind::InvalidData)?;
    let mapping = Mapping::of_socket(fd.as_fd(), page_offset, len)?;
    let outside = || std::io::Error::from(std::io::ErrorKind::InvalidData);
    let places = Places {
        producer: mapping.place(offsets.producer, 1).ok_or_else(outside)?,
        consumer: mapping.place(offsets.consumer, 1).ok_or_else(outside)?,
        flags: offsets.flags.and_then(|flags| mapping.place(flags, 1)),
        entries: mapping.place(offsets.desc, size as usize).ok_or_else(outside)?,
        size,
    };
    Ok((mapping, places))
}

fn register(fd: &OwnedFd, umem: &Umem) -> std::io::Result<()> {
    let (addr, len) = umem.extent();
    let register = XdpUmemReg {
        addr,
        len,
        chunk_size: umem.chunk_bytes() as u32,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    Ok(sockopt::set_xdp_umem_reg(fd, register)?)
}

fn bind_to(fd: &OwnedFd, wanted: Wanted) -> Result<(), Refused> {
    let copying = match wanted.zero_copy {
        ZeroCopy::Auto => SocketAddrXdpFlags::empty(),
        ZeroCopy::Yes => SocketAddrXdpFlags::XDP_ZEROCOPY,
        ZeroCopy::No => SocketAddrXdpFlags::XDP_COPY,
    };
    let flags = copying | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
    let address = SocketAddrXdp::new(flags, wanted.index, wanted.queue);
    bind(fd, &address).map_err(|error| Step::Bind(wanted.queue).refused(error))
}

/// Bytes of each chunk that the kernel reserves for received frames (`XDP_PACKET_HEADROOM`).
pub(crate) const CHUNK_HEADROOM_BYTES: u32 = 256;

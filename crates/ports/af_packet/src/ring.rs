//! The receive ring that a queue shares with the kernel, in blocks or in frames.
//!
//! ```text
//! blocks (TPACKET_V3)   | head | frame | frame | …   | | head | frame …       a status for each block
//! frames (TPACKET_V2)   | head frame | head frame | head frame | …           a status for each frame
//! frame                 | head | … | virtio_net_hdr 10 | bytes from the MAC address on |
//! ```
//! A frame that is longer than a slot waits in the queue of the socket, and its slot says so.
//! A status word says whose a block or frame is; acquire and release order its bytes with it. What
//! the kernel writes is trusted to lie within the ring, and checked all the same.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{tpacket_req, tpacket_req3, tpacket2_hdr, tpacket3_hdr};
use offload::{HEADER_LEN, Header};

use crate::config::Ring;
use crate::sys::{self, Mapping, set_option};

/// A frame in the ring.
pub(crate) struct Arrived<'a> {
    /// Bytes that the kernel kept of the frame.
    pub(crate) bytes: &'a [u8],
    /// Original length of the frame in bytes.
    pub(crate) whole_len: usize,
    /// VLAN tag that the kernel removed.
    pub(crate) tag: Option<[u8; 4]>,
    /// Work that the kernel left to the network card (`virtio_net_hdr`, VIRTIO 1.2, section 5.1.6;
    /// numbers in host byte order, which is that of the format on the machines that there are).
    pub(crate) header: Header,
}

/// The receive ring of a queue.
pub(crate) enum ReceiveRing {
    /// Ring of blocks (TPACKET_V3).
    Blocks(BlockRing),
    /// Ring of single frames (TPACKET_V2).
    Frames(FrameRing),
}

impl ReceiveRing {
    /// Creates the ring of a socket that is not bound yet.
    pub(crate) fn new(
        socket: &OwnedFd,
        kind: Ring,
        ring_bytes: usize,
        frame_bytes_max: usize,
    ) -> io::Result<ReceiveRing> {
        let version = match kind {
            Ring::Blocks => libc::tpacket_versions::TPACKET_V3,
            Ring::Frames => libc::tpacket_versions::TPACKET_V2,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(version as i32))?;
        // Before the ring is made: it tells of put-off checksums and long segments.
        set_option(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        match kind {
            Ring::Blocks => BlockRing::new(socket, ring_bytes).map(ReceiveRing::Blocks),
            Ring::Frames => {
                FrameRing::new(socket, ring_bytes, frame_bytes_max).map(ReceiveRing::Frames)
            }
        }
    }
}

impl ReceiveRing {
    /// Discards the waiting frames and returns their number; the kernel must no longer write to the
    /// ring.
    pub(crate) fn waiting(&mut self) -> u64 {
        match self {
            ReceiveRing::Blocks(ring) => ring.count() + u64::from(ring.unclosed()),
            ReceiveRing::Frames(ring) => ring.count(),
        }
    }
}

/// Access to frames one by one, and release of their slots.
pub(crate) trait Frames {
    /// Returns the next waiting frame.
    fn next_frame(&mut self) -> Option<Arrived<'_>>;

    /// Discards all waiting frames and returns their number.
    fn count(&mut self) -> u64 {
        let mut count = 0;
        while self.next_frame().is_some() {
            count += 1;
        }
        count
    }
}

/// Ring of blocks of frames.
pub(crate) struct BlockRing {
    memory: Mapping,
    block: usize,
    /// Number of unread frames of the current block; the kernel owns the block when it is not
    /// `open`.
    left: u32,
    offset: usize,
    open: bool,
}

impl BlockRing {
    fn new(socket: &OwnedFd, ring_bytes: usize) -> io::Result<BlockRing> {
        let blocks = (ring_bytes / BLOCK_BYTES).max(4);
        let request = tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: NOMINAL_FRAME_BYTES as u32,
            tp_frame_nr: (blocks * BLOCK_BYTES / NOMINAL_FRAME_BYTES) as u32,
            tp_retire_blk_tov: BLOCK_TIMEOUT_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::of(socket, blocks * BLOCK_BYTES)?;
        Ok(BlockRing { memory, block: 0, left: 0, offset: 0, open: false })
    }

    #[inline(always)]
    fn status(&self) -> &AtomicU32 {
        // SAFETY: blocks start at multiples of their size, and the block index is kept below their
        // number; the word at this place is written by the kernel and by this thread.
        unsafe { word(&self.memory, self.block * BLOCK_BYTES + BLOCK_STATUS) }
    }

    /// Returns a word of the block's head.
    #[inline(always)]
    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { word(&self.memory, self.block * BLOCK_BYTES + at) }
    }

    #[inline(always)]
    fn head(&self, at: usize) -> u32 {
        self.word(at).load(Ordering::Relaxed)
    }

    /// Returns the number of frames in the block that the kernel is still filling.
    fn unclosed(&self) -> u32 {
        self.head(BLOCK_FRAMES)
    }

    /// Continues with the next block that the kernel has closed; returns false if there is none.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        loop {
            if self.open {
                // The kernel counts from 0 when it begins the block, which may be later.
                self.word(BLOCK_FRAMES).store(0, Ordering::Relaxed);
                self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
                self.block = (self.block + 1) % (self.memory.len() / BLOCK_BYTES);
                self.open = false;
            }
            if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return false;
            }
            self.open = true;
            self.left = self.head(BLOCK_FRAMES);
            self.offset = self.head(BLOCK_FIRST) as usize;
            if self.left > 0 {
                return true;
            }
        }
    }
}

impl Frames for BlockRing {
    #[inline(always)]
    fn next_frame(&mut self) -> Option<Arrived<'_>> {
        if self.left == 0 && !self.advance() {
            return None;
        }
        self.left -= 1;
        let base = self.block * BLOCK_BYTES;
        let at = self.offset;
        if at + size_of::<tpacket3_hdr>() > BLOCK_BYTES {
            self.left = 0;
            return None;
        }
        // SAFETY: the head lies within the block, which is ours until its status is given back.
        let head =
            unsafe { self.memory.start().add(base + at).cast::<tpacket3_hdr>().read_unaligned() };
        self.offset = at + head.tp_next_offset as usize;
        let room = BLOCK_BYTES - at;
        let tag = head.hv1.tp_vlan_tci as u16;
        let tag = tag_of(head.tp_status, head.hv1.tp_vlan_tpid, tag);
        let (mac, kept) = (usize::from(head.tp_mac), head.tp_snaplen as usize);
        Some(arrived(&self.memory, base + at, room, mac, kept, head.tp_len as usize, tag))
    }
}

/// Ring of slots for one frame each.
pub(crate) struct FrameRing {
    memory: Mapping,
    place_bytes: usize,
    place: usize,
    /// True if the previous slot is not returned to the kernel yet.
    held: bool,
    /// Where frames wait that are longer than a slot.
    socket: OwnedFd,
    /// Such a frame behind its header.
    longer: Box<[u8]>,
}

impl FrameRing {
    fn new(socket: &OwnedFd, ring_bytes: usize, frame_bytes_max: usize) -> io::Result<FrameRing> {
        // Long segments are queued beside the ring, in room that needs CAP_NET_ADMIN.
        set_option(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1_i32)?;
        let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &LONGER_BYTES);
        let place_bytes = (PLACE_HEAD_BYTES + frame_bytes_max).next_power_of_two();
        let block_bytes = BLOCK_BYTES.max(place_bytes);
        let blocks = (ring_bytes / block_bytes).max(4);
        let request = tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: place_bytes as u32,
            tp_frame_nr: (blocks * block_bytes / place_bytes) as u32,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::of(socket, blocks * block_bytes)?;
        let (socket, longer) = (socket.try_clone()?, vec![0; HEADER_LEN + LONGEST].into());
        Ok(FrameRing { memory, place_bytes, place: 0, held: false, socket, longer })
    }

    #[inline(always)]
    fn status(&self) -> &AtomicU32 {
        // SAFETY: places start at multiples of their size, a power of two, and the index is kept
        // below their number; the word is written by the kernel and by this thread.
        unsafe { word(&self.memory, self.place * self.place_bytes) }
    }

    /// Returns the previous slot to the kernel.
    #[inline(always)]
    pub(crate) fn release(&mut self) {
        if self.held {
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.place = (self.place + 1) % (self.memory.len() / self.place_bytes);
            self.held = false;
        }
    }
}

impl Frames for FrameRing {
    #[inline(always)]
    fn next_frame(&mut self) -> Option<Arrived<'_>> {
        self.release();
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.held = true;
        let at = self.place * self.place_bytes;
        // SAFETY: the head stands at the beginning of the place, which is ours until released.
        let head = unsafe { self.memory.start().add(at).cast::<tpacket2_hdr>().read_unaligned() };
        let tag = tag_of(head.tp_status, head.tp_vlan_tpid, head.tp_vlan_tci);
        let (mac, kept) = (usize::from(head.tp_mac), head.tp_snaplen as usize);
        let room = self.place_bytes;
        if head.tp_status & libc::TP_STATUS_COPY != 0
            && let Some(len) = sys::receive(&self.socket, &mut self.longer)
            && let Some((header, bytes)) = self.longer[..len].split_first_chunk()
        {
            let (header, whole_len) = (Header::parse(header), head.tp_len as usize);
            return Some(Arrived { bytes, whole_len, tag, header });
        }
        Some(arrived(&self.memory, at, room, mac, kept, head.tp_len as usize, tag))
    }
}

/// Returns the VLAN tag that the kernel removed, as it was in the frame.
#[inline(always)]
fn tag_of(status: u32, tpid: u16, tci: u16) -> Option<[u8; 4]> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let [tpid, tci] = [if known { tpid } else { C_TAG }, tci].map(u16::to_be_bytes);
    Some([tpid[0], tpid[1], tci[0], tci[1]])
}

/// Returns the frame whose head is at `at`, in a slot with `room` bytes from there.
#[inline(always)]
fn arrived(
    memory: &Mapping,
    at: usize,
    room: usize,
    mac: usize,
    kept: usize,
    whole_len: usize,
    tag: Option<[u8; 4]>,
) -> Arrived<'_> {
    let mac = mac.clamp(HEADER_LEN, room);
    let kept = kept.min(room - mac);
    // SAFETY: from the place's start on there are `room` bytes of the mapping, which the kernel
    // leaves alone until the status is given back; that needs `&mut` of the ring that lends these.
    let (head, bytes) = unsafe {
        let start = memory.start().add(at + mac - HEADER_LEN).as_ptr();
        let head = start.cast::<[u8; HEADER_LEN]>().read();
        (head, std::slice::from_raw_parts(start.add(HEADER_LEN), kept))
    };
    Arrived { bytes, whole_len, tag, header: Header::parse(&head) }
}

/// Returns a word that is shared with the kernel.
///
/// # Safety
/// `at` is a multiple of four and at least four bytes before the end of the mapping.
#[inline(always)]
unsafe fn word(memory: &Mapping, at: usize) -> &AtomicU32 {
    debug_assert!(at.is_multiple_of(4) && at + 4 <= memory.len());
    // SAFETY: by the caller; all access from here is atomic.
    unsafe { AtomicU32::from_ptr(memory.start().add(at).cast().as_ptr()) }
}

/// Size of a block in bytes; the longest segment has about half of it.
const BLOCK_BYTES: usize = 128 << 10;
/// Nominal frame size for the kernel's calculation; frames in blocks have variable length.
const NOMINAL_FRAME_BYTES: usize = 2048;
/// Time after which a block that contains a frame is closed, full or not, in milliseconds: the
/// shortest possible.
const BLOCK_TIMEOUT_MS: u32 = 1;
/// Longest frame beside a ring of frames, in bytes.
const LONGEST: usize = (64 << 10) + 64;
/// Room for such frames, in bytes.
const LONGER_BYTES: i32 = 8 << 20;
/// Offsets of the words in the head of a block (`tpacket_block_desc`).
const BLOCK_STATUS: usize = 8;
const BLOCK_FRAMES: usize = 12;
const BLOCK_FIRST: usize = 16;
/// Bytes in front of a frame in its slot: head, address, alignment and `virtio_net_hdr`, rounded
/// up.
const PLACE_HEAD_BYTES: usize = libc::TPACKET2_HDRLEN + 64;
/// EtherType of a customer VLAN tag (IEEE 802.1Q).
const C_TAG: u16 = 0x8100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_blocks_are_where_the_kernel_puts_them() {
        use std::mem::offset_of;
        assert_eq!(offset_of!(libc::tpacket_block_desc, hdr), BLOCK_STATUS);
        let in_head = |at| BLOCK_STATUS + at;
        assert_eq!(in_head(offset_of!(libc::tpacket_hdr_v1, num_pkts)), BLOCK_FRAMES);
        assert_eq!(in_head(offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt)), BLOCK_FIRST);
    }

    #[test]
    fn tags_are_put_together_again() {
        let valid = libc::TP_STATUS_VLAN_VALID;
        assert_eq!(tag_of(0, 0x88a8, 5), None);
        assert_eq!(tag_of(valid, 0x88a8, 5), Some([0x81, 0, 0, 5]), "an old kernel");
        let known = valid | libc::TP_STATUS_VLAN_TPID_VALID;
        assert_eq!(tag_of(known, 0x88a8, 0x2005), Some([0x88, 0xa8, 0x20, 5]));
    }
}
